package logstore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"dtstore/table"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// readerGrace is how long a waiting append leaves it to the bucket's own
// reader to see the last stable offset move before it asks itself.
const readerGrace = 3 * time.Millisecond

// stable knows, of each log partition, a lower bound of the last stable
// offset, and wakes those who wait for it to pass an offset. Readers feed it
// with each answer; what no reader feeds, one goroutine asks for, for all
// waiting appends together.
type stable struct {
	l    *Log
	kick chan struct{}

	mu      sync.Mutex // guards the rest
	parts   map[tp]*stablePart
	waiting map[tp]*stablePart // those with waiters
}

type stablePart struct {
	lso     table.Offset
	readers int // that follow it now, with the broker answering
	waiters []*waiter
}

type waiter struct {
	need  table.Offset // the last stable offset must reach it
	since time.Time
	done  chan error // has room for the one answer
}

func (s *stable) init(l *Log) {
	s.l, s.kick, s.parts = l, make(chan struct{}, 1), map[tp]*stablePart{}
	s.waiting = map[tp]*stablePart{}
}

func (s *stable) part(at tp) *stablePart {
	p := s.parts[at]
	if p == nil {
		p = &stablePart{}
		s.parts[at] = p
	}
	return p
}

// known is the last stable offset as far as we know; it is never too high.
func (s *stable) known(at tp) table.Offset {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p := s.parts[at]; p != nil {
		return p.lso
	}
	return 0
}

// advance notes that a broker reported a last stable offset.
func (s *stable) advance(at tp, lso table.Offset) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.part(at)
	if lso <= p.lso {
		return
	}
	p.lso = lso
	if len(p.waiters) == 0 {
		return
	}
	defer s.tidy(at, p)
	p.waiters = slices.DeleteFunc(p.waiters, func(w *waiter) bool {
		if w.need > lso {
			return false
		}
		w.done <- nil
		return true
	})
}

// vector is the last stable offsets of the topics' log partitions, if readers
// follow every one of them. Whatever this process acknowledged is below.
func (s *stable) vector(topics []Topic) ([][]table.Offset, bool) {
	out := make([][]table.Offset, len(topics))
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, t := range topics {
		id, ok := parseUUID(string(t.ID))
		if !ok {
			return nil, false
		}
		out[i] = make([]table.Offset, t.Partitions)
		for p := range out[i] {
			part := s.parts[tp{id, int32(p)}]
			if part == nil || part.readers == 0 {
				return nil, false
			}
			out[i][p] = part.lso
		}
	}
	return out, true
}

// follow counts the readers of a log partition.
func (s *stable) follow(at tp, n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.part(at).readers += n
}

// wait returns nil once the last stable offset reaches need.
func (s *stable) wait(ctx context.Context, at tp, need table.Offset) error {
	s.mu.Lock()
	p := s.part(at)
	if p.lso >= need {
		s.mu.Unlock()
		return nil
	}
	w := &waiter{need: need, since: time.Now(), done: make(chan error, 1)}
	p.waiters = append(p.waiters, w)
	s.waiting[at] = p
	s.mu.Unlock()
	select {
	case s.kick <- struct{}{}:
	default:
	}
	var err error
	select {
	case err := <-w.done:
		return err
	case <-ctx.Done():
		err = context.Cause(ctx)
	case <-s.l.ctx.Done():
		err = ErrClosed
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	p.waiters = slices.DeleteFunc(p.waiters, func(x *waiter) bool { return x == w })
	s.tidy(at, p)
	return err
}

// tidy drops a log partition that nobody waits for any more. The caller holds mu.
func (s *stable) tidy(at tp, p *stablePart) {
	if len(p.waiters) == 0 {
		p.waiters = nil
		delete(s.waiting, at)
	}
}

// fail answers everybody who waits for a log partition.
func (s *stable) fail(at tp, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.part(at)
	for _, w := range p.waiters {
		w.done <- err
	}
	p.waiters = nil
	s.tidy(at, p)
}

// due gives what to ask now, each with the offset waited for, and whether
// anybody waits at all.
func (s *stable) due(now time.Time) (ask map[tp]table.Offset, waiting bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for at, p := range s.waiting {
		for _, w := range p.waiters {
			waiting = true
			if p.readers > 0 && now.Sub(w.since) < readerGrace {
				continue
			}
			if ask == nil {
				ask = map[tp]table.Offset{}
			}
			ask[at] = max(ask[at], w.need)
		}
	}
	return ask, waiting
}

// run asks while anybody waits: at once, then with growing pauses while
// nothing moves.
func (s *stable) run() {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	idle := 0
	for {
		ask, waiting := s.due(time.Now())
		if len(ask) > 0 {
			s.ask(ask)
			ask, waiting = s.due(time.Now())
		}
		switch {
		case !waiting:
			idle = 0
			timer.Reset(time.Hour)
		case len(ask) == 0:
			timer.Reset(readerGrace)
		default:
			timer.Reset(min(20*time.Millisecond, 300*time.Microsecond<<min(idle, 7)))
			idle++
		}
		select {
		case <-s.l.ctx.Done():
			return
		case <-s.kick:
			idle = 0
		case <-timer.C:
		}
	}
}

// ask fetches nothing from each log partition, by topic id: the answer carries
// its last stable offset, or that the topic is another one by now.
func (s *stable) ask(parts map[tp]table.Offset) {
	ctx, cancel := context.WithTimeout(s.l.ctx, s.l.opts.Timeout)
	defer cancel()
	byLeader := map[int32][]fetchPart{}
	for at, need := range parts {
		leader, err := s.l.meta.leaderOf(at)
		if errors.Is(err, ErrNoTopic) {
			s.fail(at, err)
		}
		if err != nil {
			continue
		}
		byLeader[leader] = append(byLeader[leader], fetchPart{at: at, from: need, maxBytes: 1})
	}
	for leader, ps := range byLeader {
		resp, err := fetchFrom(ctx, s.l.cl, leader, ps, 0)
		if err != nil {
			continue // asked again soon
		}
		for _, rt := range resp.Topics {
			for i := range rt.Partitions {
				s.answer(ctx, tp{rt.TopicID, rt.Partitions[i].Partition}, &rt.Partitions[i])
			}
		}
	}
}

func (s *stable) answer(ctx context.Context, at tp, rp *kmsg.FetchResponseTopicPartition) {
	switch err := kerr.ErrorForCode(rp.ErrorCode); {
	case err == nil:
		s.advance(at, table.Offset(rp.LastStableOffset))
	case errors.Is(err, kerr.OffsetOutOfRange): // trimmed: it was visible once
		if t, ok := s.l.meta.cached(at.id); ok {
			if v, err := s.l.listOffsets(ctx, []Topic{t}, listEnd, true); err == nil && int(at.part) < len(v[0]) {
				s.advance(at, v[0][at.part])
			}
		}
	default:
		if err := s.l.meta.refresh(ctx, at.id); errors.Is(err, ErrNoTopic) {
			s.fail(at, err)
		}
	}
}

// fetchPart is one log partition of a fetch request.
type fetchPart struct {
	at       tp
	from     table.Offset
	maxBytes int32
}

// fetchFrom asks one broker for committed records of some log partitions.
func fetchFrom(ctx context.Context, cl requester, leader int32, parts []fetchPart, wait time.Duration) (*kmsg.FetchResponse, error) {
	req := kmsg.NewPtrFetchRequest()
	req.MaxWaitMillis, req.MinBytes, req.MaxBytes = int32(wait.Milliseconds()), 1, fetchBytes
	if wait == 0 {
		req.MinBytes = 0
	}
	req.IsolationLevel, req.SessionID, req.SessionEpoch = 1, 0, -1
	at := make(map[uuid]int, len(parts))
	for _, p := range parts {
		i, ok := at[p.at.id]
		if !ok {
			i = len(req.Topics)
			at[p.at.id] = i
			rt := kmsg.NewFetchRequestTopic()
			rt.TopicID = p.at.id
			req.Topics = append(req.Topics, rt)
		}
		rp := kmsg.NewFetchRequestTopicPartition()
		rp.Partition, rp.CurrentLeaderEpoch, rp.LastFetchedEpoch = p.at.part, -1, -1
		rp.FetchOffset, rp.PartitionMaxBytes, rp.LogStartOffset = int64(p.from), p.maxBytes, -1
		req.Topics[i].Partitions = append(req.Topics[i].Partitions, rp)
	}
	kresp, err := cl.Broker(int(leader)).Request(ctx, req)
	if err != nil {
		return nil, err
	}
	resp := kresp.(*kmsg.FetchResponse)
	if resp.Version < 13 {
		return nil, fmt.Errorf("the broker knows no topic ids in fetches (version %d): Kafka 3.1 or later is needed", resp.Version)
	}
	if err := kerr.ErrorForCode(resp.ErrorCode); err != nil {
		return nil, err
	}
	return resp, nil
}
