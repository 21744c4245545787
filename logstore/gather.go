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

// flight is one plain batch on its way.
type flight struct {
	produceBatch
	lane    *lane
	members []member
}

// member is an append's share of a batch: records [from, to).
type member struct {
	p        *pending
	from, to int32
}

// sendPlain sends one batch per log partition and answers the members.
func (g *gatherer) sendPlain(round []*pending) {
	if err := g.l.broken(); err != nil {
		fail(round, err)
		return
	}
	g.gate.Lock()
	flights := g.encode(g.admit(round))
	ctx, cancel := context.WithTimeout(g.l.ctx, min(2*time.Second, g.l.opts.Timeout*2/3))
	g.deliver(ctx, flights)
	cancel()
	var landed []*flight
	for _, f := range flights {
		if f.err == nil {
			g.record(f)
			landed = append(landed, f)
		}
	}
	g.gate.Unlock()
	if len(landed) > 0 {
		g.heard()
	}
	g.settle(landed)
	for _, f := range flights {
		switch {
		case f.err == nil:
		case f.final:
			f.answer(f.err)
		case !f.maybe: // nothing ever left: a clear no
			f.answer(no(g.l.unavailable(f.err)))
		default:
			g.mu.Lock()
			f.lane.stuck = true
			g.mu.Unlock()
			if !g.l.start(func() { g.resolve(f) }) {
				f.answer(unknown(ErrClosed))
			}
		}
	}
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

func (f *flight) answer(err error) {
	for _, m := range f.members {
		if err != nil {
			m.p.done <- outcome{err: err}
			continue
		}
		m.p.done <- outcome{spans: []Appended{{
			Topic: m.p.a.Parts[0].Topic.ID, Bucket: m.p.a.Parts[0].Bucket,
			Span: table.Span{From: f.offset + table.Offset(m.from), To: f.offset + table.Offset(m.to)},
		}}}
	}
}

// encode makes one batch per log partition: each append whole, in order.
func (g *gatherer) encode(round []*pending) []*flight {
	var flights []*flight
	byLane := make(map[tp]*flight, 8)
	writers := make(map[tp]*batchWriter, 8)
	now := time.Now().UnixMilli()
	for _, p := range round {
		at := p.parts[0].at
		f, w := byLane[at], writers[at]
		if f == nil {
			ln := g.lane(at, p.a.Parts[0].Topic)
			f = &flight{lane: ln}
			f.topic, f.at = ln.topic, at
			w = &batchWriter{}
			w.reset(slices.Grow(ln.buf, min(p.bytes+batchHead, batchBytes)), now)
			ln.buf = nil
			byLane[at], writers[at] = f, w
			flights = append(flights, f)
		}
		from := w.count
		for i := range p.a.Parts[0].Records {
			w.add(&p.a.Parts[0].Records[i])
		}
		f.members = append(f.members, member{p, from, w.count})
	}
	for at, f := range byLane {
		f.count = writers[at].count
		f.data = writers[at].finish(f.lane.pid, f.lane.epoch, f.lane.seq, 0)
	}
	return flights
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

// deliver sends the batches until each is answered or ctx ends.
func (g *gatherer) deliver(ctx context.Context, flights []*flight) {
	for try := 0; ; try++ {
		var open []*produceBatch
		for _, f := range flights {
			if f.final {
				continue
			}
			if f.lane.pid < 0 && !g.identify(ctx, f) {
				continue
			}
			open = append(open, &f.produceBatch)
		}
		g.l.produce(ctx, open, nil, try > 0)
		again := false
		for _, f := range flights {
			again = !g.judge(f) || again
		}
		if !again || !pause(ctx, try) {
			return
		}
	}
}

// identify gives the lane a producer id; it begins at sequence 0.
func (g *gatherer) identify(ctx context.Context, f *flight) bool {
	req := kmsg.NewPtrInitProducerIDRequest()
	req.ProducerID, req.ProducerEpoch = -1, -1
	resp, err := req.RequestWith(ctx, g.l.cl)
	if err == nil {
		err = kerr.ErrorForCode(resp.ErrorCode)
	}
	if err != nil {
		f.err = fmt.Errorf("producer id: %w", err)
		return false
	}
	f.lane.pid, f.lane.epoch, f.lane.seq = resp.ProducerID, resp.ProducerEpoch, 0
	restamp(f.data, f.lane.pid, f.lane.epoch, 0)
	return true
}

// judge looks at an answer: true if the batch's outcome is known.
func (g *gatherer) judge(f *flight) bool {
	if f.final {
		return true
	}
	err := f.err
	switch {
	case err == nil && f.answered:
		f.final = true
		f.lane.seq = int32((int64(f.lane.seq) + int64(f.count)) & 0x7fffffff)
		if cap(f.data) <= 1<<20 {
			f.lane.buf = f.data
		}
	case !f.answered:
		return false
	case errors.Is(err, kerr.UnknownServerError) && g.l.opts.Embedded != nil:
		// Sent again it would be acknowledged with nothing on disk.
		f.final, f.err = true, unknown(fmt.Errorf("append to %s: %w", f.topic.Name, err))
	case lostProducer(err):
		f.lane.pid = -1
		if f.maybe {
			f.final, f.err = true, unknown(fmt.Errorf("append to %s: %w", f.topic.Name, err))
		}
		return f.final
	case retriable(err):
		return false
	default:
		f.final, f.err = true, no(fmt.Errorf("append to %s: %w", f.topic.Name, err))
		if errors.Is(err, ErrNoTopic) && f.maybe {
			f.err = unknown(err)
		}
	}
	return f.final
}

// lostProducer: the broker does not know the producer, or another sequence.
func lostProducer(err error) bool {
	return errors.Is(err, kerr.OutOfOrderSequenceNumber) || errors.Is(err, kerr.UnknownProducerID) ||
		errors.Is(err, kerr.InvalidProducerEpoch) || errors.Is(err, kerr.InvalidProducerIDMapping) ||
		errors.Is(err, kerr.DuplicateSequenceNumber) || errors.Is(err, kerr.InvalidTxnState)
}

// record notes the keys of a batch that landed. The caller holds gate, or the
// lane is stuck.
func (g *gatherer) record(f *flight) {
	for _, m := range f.members {
		g.l.keys.record(f.at, f.offset+table.Offset(m.to), m.p.parts[0].keys)
	}
}

// settle syncs what the embedded log answered, then tells the members.
func (g *gatherer) settle(landed []*flight) {
	if len(landed) == 0 {
		return
	}
	var err error
	if e := g.l.opts.Embedded; e != nil {
		parts := make([]Written, len(landed))
		for i, f := range landed {
			parts[i] = Written{f.topic, table.Bucket(f.at.part), table.Span{From: f.offset, To: f.offset + table.Offset(f.count)}}
		}
		if err = e.Sync(g.l.ctx, parts); err == nil {
			err = e.Broken()
		}
		if err != nil {
			err = unknown(err)
		}
	}
	for _, f := range landed {
		f.answer(err)
	}
}

// resolve sends a batch that got no answer again and again: it may have
// landed, or may yet. Until it is known the lane takes nothing else.
func (g *gatherer) resolve(f *flight) {
	g.l.opts.Logger.Warn("append without an answer", "topic", f.topic.Name, "bucket", f.at.part, "error", f.err)
	for !f.final && g.l.ctx.Err() == nil {
		ctx, cancel := context.WithTimeout(g.l.ctx, 10*time.Second)
		g.deliver(ctx, []*flight{f})
		cancel()
	}
	switch {
	case !f.final:
		f.answer(unknown(ErrClosed))
	case f.err == nil:
		g.record(f)
		g.settle([]*flight{f})
	default:
		f.answer(f.err)
	}
	g.mu.Lock()
	f.lane.stuck = false
	g.mu.Unlock()
	g.wake()
}
