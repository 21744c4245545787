package logstore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

// gatherer sends what arrives while a round trip runs together in the next
// one (seam A3b). One goroutine, run, forms and sends rounds; it waits for a
// broker, never for a last stable offset or a marker.
type gatherer struct {
	l    *Log
	kick chan struct{} // holds one token when there may be work

	// gate is held from a round's checks until its keys are recorded: nothing
	// is appended between the two.
	gate sync.Mutex

	mu     sync.Mutex // guards the rest, and pending.taken
	queue  []*pending // in order of arrival
	lanes  map[tp]*lane
	shared []*producer    // transactional producers taking turns
	big    chan *producer // those of appends past batchBytes
	closed bool
	// answered is when a broker last answered, or had nothing to answer.
	answered time.Time
}

// lane is one log partition as the gatherer sees it. Only the gatherer, or the
// resolver of its stuck batch, touches what is not guarded.
type lane struct {
	at    tp
	topic Topic
	pid   int64 // -1: none yet
	epoch int16
	seq   int32
	buf   []byte // of the last batch, for the next; nil while it may be in use
	stuck bool   // its last batch is not answered yet; guarded by gatherer.mu
}

func (g *gatherer) init(l *Log) {
	g.l, g.kick, g.lanes = l, make(chan struct{}, 1), map[tp]*lane{}
	g.big = make(chan *producer, bigProducers)
}

// initProducers names the transactional producers and ends what a predecessor
// left open under the same names.
func (g *gatherer) initProducers(ctx context.Context) error {
	name := func(s string) string { return g.l.opts.Prefix + "dtstore-" + g.l.opts.InstanceID + "-" + s }
	all := []*producer{newProducer(g.l, name("a"), sharedTimeout), newProducer(g.l, name("b"), sharedTimeout)}
	g.shared = all[:2:2]
	for i := range bigProducers {
		p := newProducer(g.l, name(fmt.Sprintf("big%d", i)), bigTimeout)
		all = append(all, p)
		g.big <- p
	}
	errs := make([]error, len(all))
	var wg sync.WaitGroup
	for i, p := range all {
		wg.Go(func() { errs[i] = p.ready(ctx) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

func (g *gatherer) wake() {
	select {
	case g.kick <- struct{}{}:
	default:
	}
}

// send queues an append and waits for its outcome.
func (g *gatherer) send(ctx context.Context, p *pending) outcome {
	g.mu.Lock()
	if g.closed {
		g.mu.Unlock()
		return outcome{err: no(ErrClosed)}
	}
	p.queued = time.Now()
	if len(g.queue) == 0 {
		g.answered = p.queued
	}
	g.queue = append(g.queue, p)
	g.mu.Unlock()
	g.wake()

	timer := time.NewTimer(g.l.opts.Timeout)
	defer timer.Stop()
	ended := ctx.Done()
	for {
		var cause error
		select {
		case out := <-p.done:
			return out
		case <-ended:
			cause, ended = context.Cause(ctx), nil
		case <-timer.C:
		}
		left, outcome := g.leave(p, cause)
		if outcome != nil {
			return *outcome
		}
		timer.Reset(left)
	}
}

// leave takes an append out of the queue, because its caller goes (cause) or
// the broker seems to be away. Otherwise it says how long to wait on: for its
// turn while the broker answers others, for its own answer once it was sent.
func (g *gatherer) leave(p *pending, cause error) (left time.Duration, _ *outcome) {
	g.mu.Lock()
	defer g.mu.Unlock()
	i := slices.Index(g.queue, p)
	since := p.sent
	if i >= 0 {
		since = g.answered
		for _, pp := range p.parts {
			if ln := g.lanes[pp.at]; ln != nil && ln.stuck {
				since = p.queued // its own broker does not answer
			}
		}
	}
	left = g.l.opts.Timeout - time.Since(since)
	away := g.l.unavailable(context.DeadlineExceeded)
	switch {
	case i < 0 && left > 0, i >= 0 && left > 0 && cause == nil:
		return left, nil
	case i < 0:
		p.left = true
		return 0, &outcome{err: unknown(away)}
	case cause == nil:
		cause = away
	}
	g.queue = slices.Delete(g.queue, i, i+1)
	return 0, &outcome{err: no(cause)}
}

func (g *gatherer) run() {
	for {
		select {
		case <-g.l.ctx.Done():
			g.mu.Lock()
			g.closed = true
			left := g.queue
			g.queue = nil
			g.mu.Unlock()
			for _, p := range left {
				p.done <- outcome{err: no(ErrClosed)}
			}
			return
		case <-g.kick:
		}
		for g.l.ctx.Err() == nil {
			plain, txn, slot := g.take()
			if len(plain) == 0 && len(txn) == 0 {
				break
			}
			if len(plain) > 0 {
				g.sendPlain(plain)
			}
			if len(txn) > 0 {
				g.sendShared(slot, txn)
			}
		}
	}
}

// take picks what goes out now, in order of arrival: what touches no stuck
// lane and fits its batches. Appends of several buckets need a free producer.
func (g *gatherer) take() (plain, txn []*pending, slot *producer) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.queue) == 0 {
		return nil, nil, nil
	}
	for _, s := range g.shared {
		if !s.busy && (slot == nil || s.settled && !slot.settled) {
			slot = s
		}
	}
	used := make(map[tp]int, 8)
	total, alone := 0, false
	rest := g.queue[:0]
	now := time.Now()
	for _, p := range g.queue {
		switch {
		case p.txn && (slot == nil || alone || p.alone && len(txn) > 0), !g.fits(p, used, total):
			rest = append(rest, p)
			continue
		case p.txn:
			alone = p.alone
			txn = append(txn, p)
		default:
			plain = append(plain, p)
		}
		p.sent = now
		for _, pp := range p.parts {
			used[pp.at] += pp.bytes
		}
		total += p.bytes
	}
	clear(g.queue[len(rest):])
	g.queue = rest
	if len(txn) > 0 {
		slot.busy, slot.settled = true, false
	}
	return plain, txn, slot
}

func (g *gatherer) fits(p *pending, used map[tp]int, total int) bool {
	if total > 0 && total+p.bytes > roundBytes {
		return false
	}
	for _, pp := range p.parts {
		if used[pp.at] > 0 && batchHead+used[pp.at]+pp.bytes > batchBytes {
			return false
		}
		if ln := g.lanes[pp.at]; ln != nil && ln.stuck {
			return false
		}
	}
	for _, c := range p.a.Checks {
		if g.stuckCheck(c) {
			return false
		}
	}
	return true
}

// stuckCheck says whether a check's bucket has a batch that may yet land.
// The caller holds mu.
func (g *gatherer) stuckCheck(c Check) bool {
	id, _ := parseUUID(string(c.Topic))
	ln := g.lanes[tp{id, int32(c.Bucket)}]
	return ln != nil && ln.stuck
}

// admit runs the checks of a round, in order, each also against the keys that
// the round writes before it, and answers those that fail.
func (g *gatherer) admit(round []*pending) []*pending {
	checked := false
	for _, p := range round {
		checked = checked || len(p.a.Checks) > 0
	}
	if !checked {
		return round
	}
	written := map[QueueKey]struct{}{}
	passed := round[:0]
	for _, p := range round {
		hits := g.l.keys.conflicts(p.a.Checks)
		for _, c := range p.a.Checks {
			if _, ok := written[QueueKey{c.Topic, c.Key}]; ok {
				hits = append(hits, c)
			}
		}
		if len(hits) > 0 {
			p.done <- outcome{err: &ConflictError{hits}}
			continue
		}
		for i, pp := range p.parts {
			for _, k := range pp.keys {
				written[QueueKey{p.a.Parts[i].Topic.ID, k}] = struct{}{}
			}
		}
		passed = append(passed, p)
	}
	return passed
}

// heard notes that a broker answered.
func (g *gatherer) heard() {
	g.mu.Lock()
	g.answered = time.Now()
	g.mu.Unlock()
}

func fail(round []*pending, err error) {
	for _, p := range round {
		p.done <- outcome{err: err}
	}
}

func (g *gatherer) lane(at tp, t Topic) *lane {
	g.mu.Lock()
	defer g.mu.Unlock()
	ln := g.lanes[at]
	if ln == nil {
		ln = &lane{at: at, topic: t, pid: -1}
		g.lanes[at] = ln
	}
	return ln
}

// drop forgets a deleted topic's lanes.
func (g *gatherer) drop(id uuid) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for at, ln := range g.lanes {
		if at.id == id && !ln.stuck {
			delete(g.lanes, at)
		}
	}
}
