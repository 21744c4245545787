package logstore

import (
	"context"
	"fmt"
	"iter"
	"time"

	"dtstore/table"
)

// Part is what an append writes to one bucket.
type Part struct {
	Topic   Topic
	Bucket  table.Bucket
	Records []Record
	// More yields further records, after Records, for statements that do not
	// fit memory; such an append is a transaction of its own. It may be called
	// once, from another goroutine. The last error ends the append with ErrNo.
	More iter.Seq2[[]Record, error]
}

// Check is a key that a statement read: the append is a conflict if the key
// has a change at or above the horizon.
type Check struct {
	Topic   TopicID
	Bucket  table.Bucket
	Key     table.Key
	Horizon table.Offset
}

// Append is one statement's or transaction's changes: they become visible
// together or not at all.
type Append struct {
	ID     string // the commit's uuid, which every record carries
	Parts  []Part // at most one per bucket
	Checks []Check
	// Keys has, for each part, the key of each record of Records (nil for append
	// tables): what other statements' checks look at.
	Keys [][]table.Key
	// Ticket of the KeyQueue, if the statement was sent round again.
	Ticket *Ticket
}

// Appended says where a part went: the first offset and the one past the last.
// In a shared transaction or a part of several batches, others' records may
// lie between.
type Appended struct {
	Topic  TopicID
	Bucket table.Bucket
	Span   table.Span
}

// Keys is the queue for statements that met a conflict (seam A6, second round).
func (l *Log) Keys() *KeyQueue { return &l.queue }

// appendKeys are all keys that the append writes or checks.
func appendKeys(a *Append) iter.Seq[QueueKey] {
	return func(yield func(QueueKey) bool) {
		for _, c := range a.Checks {
			if !yield(QueueKey{c.Topic, c.Key}) {
				return
			}
		}
		for i, keys := range a.Keys {
			for _, k := range keys {
				if k != "" && !yield(QueueKey{a.Parts[i].Topic.ID, k}) {
					return
				}
			}
		}
	}
}

// outcome is what the gatherer tells a waiting append.
type outcome struct {
	spans []Appended
	err   error
}

// pending is an append on its way.
type pending struct {
	a      *Append
	parts  []pendingPart
	bytes  int  // of all parts
	txn    bool // touches several buckets
	big    bool // a transaction of its own
	alone  bool // its shared transaction was aborted: it goes alone
	tries  int
	queued time.Time    // when it entered the queue
	sent   time.Time    // when it last left the queue; guarded by gatherer.mu
	left   bool         // its caller was told "unknown"; guarded by gatherer.mu
	done   chan outcome // has room for the one outcome
}

type pendingPart struct {
	at    tp
	bytes int // bound on its records in a batch
	keys  []table.Key
}

// Append writes the parts and returns once readers can see them: when every
// touched bucket's last stable offset is past its records.
//
// nil: they are written and visible. ErrConflict: a check failed, nothing was
// written. ErrNo: certainly not written. ErrUnknown: written, perhaps.
// A ctx that ends before anything was sent is ErrNo; after that the outcome is
// waited for, up to the timeout.
func (l *Log) Append(ctx context.Context, a Append) ([]Appended, error) {
	p, err := l.prepare(&a)
	if err != nil {
		return nil, no(err)
	}
	if p == nil {
		return nil, l.checkOnly(&a)
	}
	if err := l.waitTurn(ctx, p); err != nil {
		return nil, err
	}
	if a.Ticket == nil && len(a.Keys) > 0 && !p.big && l.queue.busy(&a, nil) {
		// Somebody's second round: queue behind it, then behind nobody.
		t, err := l.queue.Lock(ctx, queueKeys(&a))
		if err != nil {
			return nil, no(err)
		}
		defer t.Unlock()
	}
	var out outcome
	if p.big {
		out = l.appendBig(ctx, p)
	} else {
		out = l.gather.send(ctx, p)
	}
	if out.err != nil {
		return nil, out.err
	}
	return out.spans, l.awaitVisible(ctx, out)
}

func queueKeys(a *Append) []QueueKey {
	var keys []QueueKey
	for k := range appendKeys(a) {
		keys = append(keys, k)
	}
	return keys
}

// waitTurn refuses early what cannot be written now.
func (l *Log) waitTurn(ctx context.Context, p *pending) error {
	if err := ctx.Err(); err != nil {
		return no(context.Cause(ctx))
	}
	if l.ctx.Err() != nil {
		return no(ErrClosed)
	}
	return l.broken()
}

// broken is ErrNo with the reason when the embedded log can write no more.
func (l *Log) broken() error {
	if l.opts.Embedded == nil {
		return nil
	}
	if err := l.opts.Embedded.Broken(); err != nil {
		return no(table.Errorf("58030", "the embedded log cannot write any more: %w", err).
			WithHint("Restart the server; it repairs the log when it starts. Check the disk first."))
	}
	return nil
}

// checkOnly is an append without records: its checks alone.
func (l *Log) checkOnly(a *Append) error {
	l.gather.gate.Lock()
	defer l.gather.gate.Unlock()
	if hits := l.keys.conflicts(a.Checks); len(hits) > 0 {
		return &ConflictError{hits}
	}
	return nil
}

// prepare measures an append and decides how it travels; nil if it writes
// nothing.
func (l *Log) prepare(a *Append) (*pending, error) {
	p := &pending{a: a, done: make(chan outcome, 1)}
	parts := a.Parts[:0:0]
	keys := a.Keys[:0:0]
	for i := range a.Parts {
		part := &a.Parts[i]
		if len(part.Records) == 0 && part.More == nil {
			continue
		}
		id, ok := parseUUID(string(part.Topic.ID))
		if !ok {
			return nil, fmt.Errorf("topic %s has the id %q: %w", part.Topic.Name, part.Topic.ID, ErrNoTopic)
		}
		pp := pendingPart{at: tp{id, int32(part.Bucket)}}
		if i < len(a.Keys) {
			pp.keys = a.Keys[i]
		}
		for j := range part.Records {
			n := maxRecordBytes(&part.Records[j])
			if batchHead+n > topicBytes {
				return nil, table.Errorf("54000", "a row of topic %s takes %d bytes in the log, the limit is %d", part.Topic.Name, n, topicBytes).
					WithHint("Split the value over several rows, or store a reference to it.")
			}
			pp.bytes += n
		}
		for _, q := range p.parts {
			if q.at == pp.at {
				panic(fmt.Sprintf("logstore: append %s has two parts for %s bucket %d", a.ID, part.Topic.Name, part.Bucket))
			}
		}
		p.bytes += pp.bytes
		p.big = p.big || part.More != nil
		p.parts = append(p.parts, pp)
		parts, keys = append(parts, *part), append(keys, pp.keys)
	}
	if len(p.parts) == 0 {
		return nil, nil
	}
	a.Parts, a.Keys = parts, keys
	p.txn = len(p.parts) > 1
	p.big = p.big || batchHead+p.bytes > batchBytes && (p.txn || len(parts[0].Records) > 1)
	return p, nil
}

// awaitVisible waits until the records are below every last stable offset.
func (l *Log) awaitVisible(ctx context.Context, out outcome) error {
	start := time.Now()
	for _, s := range out.spans {
		id, _ := parseUUID(string(s.Topic))
		if err := l.stable.wait(ctx, tp{id, int32(s.Bucket)}, s.Span.To); err != nil {
			return unknown(fmt.Errorf("written at %v of topic %s bucket %d, but not visible after %v: %w",
				s.Span, s.Topic, s.Bucket, time.Since(start).Round(time.Millisecond), err))
		}
	}
	return nil
}
