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

// producer is one transactional id in the classic protocol: its epoch stays
// until it is made ready again, and EndTxn may be repeated until answered.
type producer struct {
	l       *Log
	id      string
	timeout time.Duration
	busy    bool // guarded by gatherer.mu; the rest belongs to who set it
	settled bool // its last transaction is visible everywhere; guarded likewise

	pid   int64 // -1: must be made ready, which also ends what it left open
	epoch int16
	seq   map[tp]int32
}

func newProducer(l *Log, id string, timeout time.Duration) *producer {
	return &producer{l: l, id: id, timeout: timeout, settled: true, pid: -1, seq: map[tp]int32{}}
}

// ready makes sure of a producer id. That aborts an open transaction of the
// id's former life and fences what of it is still under way.
func (p *producer) ready(ctx context.Context) error {
	for try := 0; p.pid < 0; try++ {
		req := kmsg.NewPtrInitProducerIDRequest()
		req.TransactionalID = &p.id
		req.TransactionTimeoutMillis = int32(p.timeout.Milliseconds())
		req.ProducerID, req.ProducerEpoch = -1, -1
		resp, err := req.RequestWith(ctx, p.l.txcl)
		if err == nil {
			err = kerr.ErrorForCode(resp.ErrorCode)
		}
		switch {
		case err == nil:
			p.pid, p.epoch = resp.ProducerID, resp.ProducerEpoch
			clear(p.seq)
		case errors.Is(err, kerr.InvalidTransactionTimeout) && p.timeout > sharedTimeout:
			p.timeout = max(sharedTimeout, p.timeout/2) // the broker's maximum is lower
		case !retriable(err) || !pause(ctx, try):
			return fmt.Errorf("transactional id %s: %w", p.id, p.l.unavailable(err))
		}
	}
	return nil
}

// enlist tells the coordinator which log partitions the transaction touches;
// the first call begins it.
func (p *producer) enlist(ctx context.Context, parts []tp, topics []Topic) error {
	req := kmsg.NewPtrAddPartitionsToTxnRequest()
	req.TransactionalID, req.ProducerID, req.ProducerEpoch = p.id, p.pid, p.epoch
	at := map[string]int{}
	for i, t := range topics {
		j, ok := at[t.Name]
		if !ok {
			j = len(req.Topics)
			at[t.Name] = j
			rt := kmsg.NewAddPartitionsToTxnRequestTopic()
			rt.Topic = t.Name
			req.Topics = append(req.Topics, rt)
		}
		if !slices.Contains(req.Topics[j].Partitions, parts[i].part) {
			req.Topics[j].Partitions = append(req.Topics[j].Partitions, parts[i].part)
		}
	}
	for try := 0; ; try++ {
		resp, err := req.RequestWith(ctx, p.l.txcl)
		if err != nil {
			return p.l.unavailable(err)
		}
		var first error
		for _, rt := range resp.Topics {
			for _, rp := range rt.Partitions {
				err := kerr.ErrorForCode(rp.ErrorCode)
				if err != nil && (first == nil || errors.Is(first, kerr.OperationNotAttempted)) {
					first = fmt.Errorf("topic %s partition %d: %w", rt.Topic, rp.Partition, err)
				}
			}
		}
		// The last transaction's markers may still be on their way.
		if first == nil || !retriable(first) || !pause(ctx, min(try, 2)) {
			return first
		}
	}
}

// write sends batches of the transaction, each log partition at most once.
func (p *producer) write(ctx context.Context, batches []*produceBatch) error {
	for _, b := range batches {
		restamp(b.data, p.pid, p.epoch, p.seq[b.at])
	}
	for try := 0; ; try++ {
		var open []*produceBatch
		for _, b := range batches {
			if !b.final {
				open = append(open, b)
			}
		}
		p.l.produce(ctx, open, p, try > 0)
		var again error
		for _, b := range open {
			switch {
			case b.answered && b.err == nil:
				b.final = true
				p.seq[b.at] = int32((int64(p.seq[b.at]) + int64(b.count)) & 0x7fffffff)
			case b.answered && errors.Is(b.err, kerr.UnknownServerError) && p.l.opts.Embedded != nil,
				b.answered && !retriable(b.err), errors.Is(b.err, ErrNoTopic):
				return fmt.Errorf("append to %s: %w", b.topic.Name, b.err)
			default:
				again = b.err
			}
		}
		if again == nil {
			return nil
		}
		if !pause(ctx, try) {
			return p.l.unavailable(again)
		}
	}
}

// end asks for a commit or an abort until it is answered or ctx ends.
// decided is false when the answer leaves it open which it was.
func (p *producer) end(ctx context.Context, commit bool) (decided bool, err error) {
	for try := 0; ; try++ {
		req := kmsg.NewPtrEndTxnRequest()
		req.TransactionalID, req.ProducerID, req.ProducerEpoch, req.Commit = p.id, p.pid, p.epoch, commit
		resp, err := req.RequestWith(ctx, p.l.txcl)
		answered := err == nil
		if answered {
			err = kerr.ErrorForCode(resp.ErrorCode)
		}
		switch {
		case err == nil:
			return true, nil
		case answered && errors.Is(err, kerr.UnknownServerError) && p.l.opts.Embedded != nil,
			answered && !retriable(err):
			return false, fmt.Errorf("end transaction %s: %w", p.id, err)
		case !pause(ctx, try):
			return false, fmt.Errorf("end transaction %s: %w", p.id, p.l.unavailable(err))
		}
	}
}

// sendShared writes one transaction for all members, and leaves its end to a
// goroutine of its own.
func (g *gatherer) sendShared(slot *producer, round []*pending) {
	if err := g.l.broken(); err != nil {
		fail(round, err)
		g.release(slot, true)
		return
	}
	g.gate.Lock()
	if round = g.admit(round); len(round) == 0 {
		g.gate.Unlock()
		g.release(slot, true)
		return
	}
	ctx, cancel := context.WithTimeout(g.l.ctx, min(2*time.Second, g.l.opts.Timeout*2/3))
	spans, err := g.writeShared(ctx, slot, round)
	cancel()
	if err != nil {
		g.gate.Unlock()
		g.retryShared(round, err)
		g.l.start(func() { g.abandon(slot) })
		return
	}
	for i, p := range round {
		for j, pp := range p.parts {
			g.l.keys.record(pp.at, spans[i][j].Span.To, pp.keys)
		}
	}
	g.gate.Unlock()
	g.heard()
	if !g.l.start(func() { g.release(slot, g.commitShared(slot, round, spans)) }) {
		fail(round, no(ErrClosed)) // nobody will commit it
	}
}

// writeShared appends the members' records; the spans say where.
func (g *gatherer) writeShared(ctx context.Context, slot *producer, round []*pending) ([][]Appended, error) {
	if err := slot.ready(ctx); err != nil {
		return nil, err
	}
	type place struct{ i, j, from, to int }
	var parts []tp
	var topics []Topic
	writers := map[tp]*batchWriter{}
	places := map[tp][]place{}
	now := time.Now().UnixMilli()
	spans := make([][]Appended, len(round))
	for i, p := range round {
		spans[i] = make([]Appended, len(p.parts))
		for j, pp := range p.parts {
			part := &p.a.Parts[j]
			spans[i][j] = Appended{Topic: part.Topic.ID, Bucket: part.Bucket}
			w := writers[pp.at]
			if w == nil {
				w = &batchWriter{}
				w.reset(make([]byte, 0, batchHead+pp.bytes), now)
				writers[pp.at] = w
				parts, topics = append(parts, pp.at), append(topics, part.Topic)
			}
			from := int(w.count)
			for k := range part.Records {
				w.add(&part.Records[k])
			}
			places[pp.at] = append(places[pp.at], place{i, j, from, int(w.count)})
		}
	}
	if err := slot.enlist(ctx, parts, topics); err != nil {
		return nil, err
	}
	batches := make([]*produceBatch, len(parts))
	for i, at := range parts {
		w := writers[at]
		batches[i] = &produceBatch{topic: topics[i], at: at, count: w.count, data: w.finish(0, 0, 0, attrTxn)}
	}
	if err := slot.write(ctx, batches); err != nil {
		return nil, err
	}
	for _, b := range batches {
		for _, pl := range places[b.at] {
			spans[pl.i][pl.j].Span = table.Span{From: b.offset + table.Offset(pl.from), To: b.offset + table.Offset(pl.to)}
		}
	}
	return spans, nil
}

// hopeless says whether trying again must end alike.
func hopeless(err error) bool {
	return errors.Is(err, ErrNoTopic) || errors.Is(err, kerr.MessageTooLarge) || errors.Is(err, kerr.RecordListTooLarge) ||
		errors.Is(err, kerr.TopicAuthorizationFailed) || errors.Is(err, kerr.TransactionalIDAuthorizationFailed)
}

// retryShared: the transaction was never committed, nor will be. Several
// members are tried alone; one alone fails, unless a broker only moved.
func (g *gatherer) retryShared(round []*pending, cause error) {
	g.l.opts.Logger.Warn("shared transaction aborted", "appends", len(round), "error", cause)
	var again []*pending
	for _, p := range round {
		if p.tries++; len(round) == 1 && (p.tries > 2 || hopeless(cause)) {
			p.done <- outcome{err: no(cause)}
			continue
		}
		p.alone = true
		again = append(again, p)
	}
	g.mu.Lock()
	again = slices.DeleteFunc(again, func(p *pending) bool { return p.left })
	if !g.closed {
		g.queue, again = append(again, g.queue...), nil
	}
	g.mu.Unlock()
	fail(again, no(ErrClosed))
	g.wake()
}

// commitShared ends the transaction, answers the members, and waits until it
// is visible everywhere, which a next transaction of this id would too.
func (g *gatherer) commitShared(slot *producer, round []*pending, spans [][]Appended) (settled bool) {
	var parts []Written
	for i, p := range round {
		for j := range p.parts {
			parts = append(parts, Written{p.a.Parts[j].Topic, p.a.Parts[j].Bucket, spans[i][j].Span})
		}
	}
	c, err := g.l.finish(slot, parts, round[0].a.ID)
	for i, p := range round {
		p.done <- outcome{spans: spans[i], err: err}
	}
	return g.l.seeThrough(c, err)
}

// seeThrough keeps a commit listed until no vector can cut it.
func (l *Log) seeThrough(c *commit, err error) bool {
	if err != nil {
		return true
	}
	short, cancel := context.WithTimeout(l.ctx, 30*time.Millisecond)
	defer cancel()
	for _, w := range c.parts {
		if l.stable.wait(short, w.at, w.end) == nil {
			continue
		}
		l.start(func() { // some other transaction is in the way
			for _, w := range c.parts {
				if l.stable.wait(l.ctx, w.at, w.end) != nil {
					return
				}
			}
			l.commit.end(c, true)
		})
		return false
	}
	l.commit.end(c, true)
	return true
}

// finish commits a transaction whose records were all answered. nil: it is
// committed. ErrNo: aborted. ErrUnknown: neither could be learnt before the
// log was closed or broke. It goes on for as long as that takes.
func (l *Log) finish(p *producer, parts []Written, id string) (*commit, error) {
	note := Note{ProducerID: p.pid, ProducerEpoch: p.epoch, Parts: parts}
	if e := l.opts.Embedded; e != nil {
		if err := e.Note(l.ctx, note); err != nil {
			p.pid = -1
			return nil, unknown(err)
		}
	}
	c := l.commit.begin(parts)
	decided, err := p.end(l.ctx, true)
	if e := l.opts.Embedded; e != nil {
		if broken := e.Broken(); broken != nil || errors.Is(err, kerr.UnknownServerError) {
			p.pid = -1
			l.commit.end(c, false)
			return c, unknown(errors.Join(broken, err))
		}
		if decided {
			l.start(func() { _ = e.Ended(l.ctx, note) }) // a note too many only costs the seal a look
		}
	}
	if decided {
		return c, nil
	}
	l.opts.Logger.Warn("commit without a clear answer", "id", id, "error", err)
	p.pid = -1
	yes, lookErr := l.lookBack(p, parts, id)
	switch {
	case lookErr != nil:
		l.commit.end(c, false)
		return c, unknown(errors.Join(err, lookErr))
	case !yes:
		l.commit.end(c, false)
		return c, no(err)
	}
	return c, nil
}

// lookBack finds out how a transaction ended: making the producer ready again
// ends it one way or the other, and then the log shows its records or does not.
func (l *Log) lookBack(p *producer, parts []Written, id string) (yes bool, err error) {
	for {
		ctx, cancel := context.WithTimeout(l.ctx, l.opts.Timeout)
		err = p.ready(ctx)
		if err == nil {
			first := parts[0]
			u, _ := parseUUID(string(first.Topic.ID))
			if err = l.stable.wait(ctx, tp{u, int32(first.Bucket)}, first.Span.To); err == nil {
				yes, err = l.landed(ctx, first, id)
			}
		}
		cancel()
		if err == nil || errors.Is(err, ErrNoTopic) || errors.Is(err, ErrTrimmed) || !pause(l.ctx, 6) {
			return yes, err
		}
	}
}

// abandon aborts a producer's transaction; until that is done it stays busy.
func (g *gatherer) abandon(p *producer) {
	if p.pid >= 0 {
		ctx, cancel := context.WithTimeout(g.l.ctx, g.l.opts.Timeout)
		_, _ = p.end(ctx, false) // making it ready aborts too
		cancel()
	}
	p.pid = -1 // also fences a produce request that is still under way
	for g.l.ctx.Err() == nil && p.ready(g.l.ctx) != nil {
	}
	g.release(p, true)
}

func (g *gatherer) release(p *producer, settled bool) {
	g.mu.Lock()
	p.busy, p.settled = false, settled
	g.mu.Unlock()
	g.wake()
}
