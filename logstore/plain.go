package logstore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"dtstore/table"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

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
