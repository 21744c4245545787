package logstore

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// ErrClaimed: another server works on the same Kafka with the same prefix.
var ErrClaimed = errors.New("claimed by another server")

// Times of the group that a claim is.
const (
	// claimSession is how long a claim outlives a server that was killed.
	// Brokers take no less by default (group.min.session.timeout.ms).
	claimSession = 6 * time.Second
	claimBeat    = claimSession / 3
	// claimWait is how long a start waits for a killed server's claim to end.
	claimWait = claimSession + 3*time.Second
	claimLook = 500 * time.Millisecond
	// coordinatorWait is how long a broker that was just started may take to
	// load its groups.
	coordinatorWait = 15 * time.Second
)

// claimProtocol is the type and name of the group's protocol: not "consumer",
// since nothing is assigned.
const claimProtocol = "dtstore"

// Claim is this server's hold on all topics of one Kafka and prefix: it is the
// only member of the consumer group <prefix>dtstore, and static, so that the
// same instance takes its own claim over at once after a kill.
//
// A claim keeps honest servers apart. It is no fence: snapshots are.
type Claim struct {
	l          *Log
	group      string
	member     string // the coordinator's name for us
	generation int32

	cancel context.CancelFunc
	done   chan struct{} // the heart has stopped
	lost   chan struct{} // closed when another server has the claim
	once   sync.Once
	err    error // why; set before lost is closed
}

// Claim takes the claim. If another instance has it, that one gets the time
// that a killed server's claim lasts; if it is still there then, the error is
// ErrClaimed.
func (l *Log) Claim(ctx context.Context) (*Claim, error) {
	c := &Claim{l: l, group: l.opts.Prefix + "dtstore", done: make(chan struct{}), lost: make(chan struct{})}
	if err := c.take(ctx, claimWait); err != nil {
		return nil, err
	}
	beat, cancel := context.WithCancel(l.ctx)
	c.cancel = cancel
	if !l.start(func() { defer close(c.done); c.beat(beat) }) {
		cancel()
		return nil, ErrClosed
	}
	return c, nil
}

// Lost is closed once another server has the claim: this one must stop. Err
// says which.
func (c *Claim) Lost() <-chan struct{} { return c.lost }

// Err is why the claim was lost, after Lost was closed.
func (c *Claim) Err() error {
	select {
	case <-c.lost:
		return c.err
	default:
		return nil
	}
}

// Release lets the next server start at once. Call it after the last write.
func (c *Claim) Release(ctx context.Context) error {
	c.cancel()
	<-c.done
	if c.Err() != nil {
		return nil // another's by now
	}
	return c.leave(ctx)
}

func (c *Claim) lose(err error) {
	c.once.Do(func() { c.err = err; close(c.lost) })
}

// take joins the group as its only member.
func (c *Claim) take(ctx context.Context, patience time.Duration) error {
	deadline := time.Now().Add(patience)
	told := false
	for {
		other, err := c.other(ctx)
		if err != nil {
			return err
		}
		if other == "" {
			return c.join(ctx)
		}
		if time.Now().After(deadline) {
			return c.claimed(other)
		}
		if !told {
			c.l.opts.Logger.Info("another server has claimed this Kafka and prefix; waiting whether it still lives", "group", c.group, "other", other, "for", patience)
			told = true
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(claimLook):
		}
	}
}

func (c *Claim) claimed(other string) error {
	return fmt.Errorf("kafka at %s, topic prefix %q: %w (%s); stop that one, or give this one a prefix of its own with --topic-prefix",
		strings.Join(c.l.opts.Brokers, ","), c.l.opts.Prefix, ErrClaimed, other)
}

// other describes a member of the group that is not this instance, "" if there
// is none.
func (c *Claim) other(ctx context.Context) (string, error) {
	req := kmsg.NewPtrDescribeGroupsRequest()
	req.Groups = []string{c.group}
	began := time.Now()
	for try := 0; ; try++ {
		resp, err := req.RequestWith(ctx, c.l.cl)
		if err == nil && len(resp.Groups) != 1 {
			err = fmt.Errorf("%d answers for one group", len(resp.Groups))
		}
		if err == nil {
			err = kerr.ErrorForCode(resp.Groups[0].ErrorCode)
		}
		switch {
		case errors.Is(err, kerr.GroupIDNotFound):
			return "", nil
		case err != nil && loading(err) && time.Since(began) < coordinatorWait && pause(ctx, try):
			continue
		case err != nil:
			return "", fmt.Errorf("describe group %s: %w", c.group, c.l.unavailable(err))
		}
		for _, m := range resp.Groups[0].Members {
			if m.InstanceID == nil || *m.InstanceID != c.l.opts.InstanceID {
				id := m.MemberID
				if m.InstanceID != nil {
					id = *m.InstanceID
				}
				return fmt.Sprintf("instance %s at %s", id, strings.TrimPrefix(m.ClientHost, "/")), nil
			}
		}
		return "", nil
	}
}

// join becomes a member, and the leader: if another has come first, it leaves
// again.
func (c *Claim) join(ctx context.Context) error {
	began := time.Now()
	for try := 0; ; try++ {
		resp, err := c.ask(ctx)
		switch {
		case err == nil:
			c.member, c.generation = resp.MemberID, resp.Generation
			if resp.LeaderID != resp.MemberID {
				return errors.Join(c.claimed("member "+resp.LeaderID), c.leave(ctx))
			}
			err = c.sync(ctx, resp)
			if err == nil {
				return nil
			}
		case errors.Is(err, kerr.MemberIDRequired):
			c.member = resp.MemberID
			continue
		case errors.Is(err, kerr.UnknownMemberID):
			c.member = ""
		case errors.Is(err, kerr.FencedInstanceID):
			return c.claimed("the same instance id in another process: is the data folder a copy? Delete server.json in it")
		}
		again := loading(err) || errors.Is(err, kerr.UnknownMemberID) || errors.Is(err, kerr.RebalanceInProgress) || errors.Is(err, kerr.IllegalGeneration)
		if !again || time.Since(began) > coordinatorWait || !pause(ctx, try) {
			return fmt.Errorf("join group %s: %w", c.group, c.l.unavailable(err))
		}
	}
}

// loading says whether a broker answered that it will know later. A broker
// that does not answer was asked again already.
func loading(err error) bool {
	var answer *kerr.Error
	return errors.As(err, &answer) && answer.Retriable
}

func (c *Claim) ask(ctx context.Context) (*kmsg.JoinGroupResponse, error) {
	req := kmsg.NewPtrJoinGroupRequest()
	req.Group, req.MemberID, req.InstanceID = c.group, c.member, &c.l.opts.InstanceID
	req.SessionTimeoutMillis = int32(claimSession.Milliseconds())
	req.RebalanceTimeoutMillis = int32(claimSession.Milliseconds())
	req.ProtocolType = claimProtocol
	p := kmsg.NewJoinGroupRequestProtocol()
	p.Name = claimProtocol
	req.Protocols = append(req.Protocols, p)
	resp, err := req.RequestWith(ctx, c.l.cl)
	if err != nil {
		return nil, err
	}
	return resp, kerr.ErrorForCode(resp.ErrorCode)
}

// sync ends the rebalance, as its leader.
func (c *Claim) sync(ctx context.Context, joined *kmsg.JoinGroupResponse) error {
	req := kmsg.NewPtrSyncGroupRequest()
	req.Group, req.MemberID, req.InstanceID, req.Generation = c.group, c.member, &c.l.opts.InstanceID, c.generation
	req.ProtocolType, req.Protocol = kmsg.StringPtr(claimProtocol), kmsg.StringPtr(claimProtocol)
	for _, m := range joined.Members {
		a := kmsg.NewSyncGroupRequestGroupAssignment()
		a.MemberID = m.MemberID
		req.GroupAssignment = append(req.GroupAssignment, a)
	}
	resp, err := req.RequestWith(ctx, c.l.cl)
	if err != nil {
		return err
	}
	return kerr.ErrorForCode(resp.ErrorCode)
}

// beat keeps the claim until ctx ends.
func (c *Claim) beat(ctx context.Context) {
	tick := time.NewTicker(claimBeat)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		err := c.heartbeat(ctx)
		switch {
		case err == nil:
			continue
		case errors.Is(err, kerr.FencedInstanceID):
			c.lose(c.claimed("the same instance id in another process"))
			return
		case errors.Is(err, kerr.RebalanceInProgress):
			err = c.join(ctx) // another has come, and leaves when it sees us
		case errors.Is(err, kerr.UnknownMemberID), errors.Is(err, kerr.IllegalGeneration):
			// We slept past the session: the claim is another's if there is one.
			c.member = ""
			err = c.take(ctx, 0)
		}
		if errors.Is(err, ErrClaimed) {
			c.lose(err)
			return
		}
		if err != nil && ctx.Err() == nil {
			c.l.opts.Logger.Warn("the claim of this Kafka and prefix could not be renewed", "group", c.group, "err", err)
		}
	}
}

func (c *Claim) heartbeat(ctx context.Context) error {
	req := kmsg.NewPtrHeartbeatRequest()
	req.Group, req.MemberID, req.InstanceID, req.Generation = c.group, c.member, &c.l.opts.InstanceID, c.generation
	resp, err := req.RequestWith(ctx, c.l.cl)
	if err != nil {
		return err
	}
	return kerr.ErrorForCode(resp.ErrorCode)
}

func (c *Claim) leave(ctx context.Context) error {
	req := kmsg.NewPtrLeaveGroupRequest()
	req.Group, req.MemberID = c.group, c.member
	m := kmsg.NewLeaveGroupRequestMember()
	m.MemberID, m.InstanceID = c.member, &c.l.opts.InstanceID
	req.Members = append(req.Members, m)
	resp, err := req.RequestWith(ctx, c.l.cl)
	if err == nil {
		err = kerr.ErrorForCode(resp.ErrorCode)
	}
	if err == nil && len(resp.Members) == 1 {
		err = kerr.ErrorForCode(resp.Members[0].ErrorCode)
	}
	if err != nil && !errors.Is(err, kerr.UnknownMemberID) && !errors.Is(err, kerr.FencedInstanceID) {
		return fmt.Errorf("leave group %s: %w", c.group, err)
	}
	return nil
}
