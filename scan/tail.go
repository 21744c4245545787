package scan

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"

	"dtstore/logstore"
	"dtstore/memtable"
	"dtstore/planner"
	"dtstore/table"
)

// Target is the table that is read.
type Target struct {
	Path   string // folder in the warehouse
	Schema *table.Schema
	Topic  logstore.Topic

	// Overlay is a transaction's own changes, by bucket: newer than everything.
	Overlay map[table.Bucket]*memtable.Table
}

// Log reads one bucket's log, read-committed, from an offset.
type Log interface {
	Read(ctx context.Context, t logstore.Topic, b table.Bucket, from table.Offset) (*logstore.Reader, error)
}

// Memory has tails of the buckets that this process owns.
type Memory interface {
	// Tail gives memtables, oldest first, that together hold the whole span of
	// a bucket's log; false if they do not.
	Tail(ctx context.Context, topic logstore.TopicID, b table.Bucket, span table.Span) ([]*memtable.Table, bool)
}

// layer is a memtable as seen in a span of the log. It may hold older changes
// too: of a keyed table they are only what files say as well, of an append
// table they would be rows twice.
type layer struct {
	mem  *memtable.Table
	span table.Span
}

// scan is memtable.Scan of what lies in the span.
func (l layer) scan(keyed bool) iter.Seq2[table.Key, table.Change] {
	all := l.mem.Scan(l.span.To)
	if keyed || l.mem.Span().From >= l.span.From {
		return all
	}
	return func(yield func(table.Key, table.Change) bool) {
		for k, c := range all {
			if c.Offset >= l.span.From && !yield(k, c) {
				return
			}
		}
	}
}

// tail is the changes of one bucket that are newer than the snapshot's: layers,
// oldest first.
type tail []layer

// len is at most how many changes there are.
func (t tail) len() int {
	n := 0
	for _, l := range t {
		n += l.mem.Len()
	}
	return n
}

// newest is the newest change of a key in the tail.
func (t tail) newest(k table.Key) (table.Change, bool) {
	for _, l := range slices.Backward(t) {
		if c, ok := l.mem.Get(k, l.span.To); ok {
			return c, true
		}
	}
	return table.Change{}, false
}

// changes yields the newest change of each key, in key order; of an append
// table all, in offset order.
func (t tail) changes(keyed bool) iter.Seq2[table.Key, table.Change] {
	switch {
	case len(t) == 1:
		return t[0].scan(keyed)
	case !keyed:
		return func(yield func(table.Key, table.Change) bool) {
			for _, l := range t {
				for k, c := range l.scan(keyed) {
					if !yield(k, c) {
						return
					}
				}
			}
		}
	}
	return func(yield func(table.Key, table.Change) bool) {
		heads := make([]head, len(t))
		for i, l := range t {
			next, stop := iter.Pull2(l.scan(keyed))
			defer stop()
			heads[i].next = next
			heads[i].advance()
		}
		for {
			best := -1
			for i := range heads { // the younger layer wins a tie
				if heads[i].ok && (best < 0 || heads[i].key <= heads[best].key) {
					best = i
				}
			}
			if best < 0 {
				return
			}
			key, c := heads[best].key, heads[best].change
			for i := range heads {
				if heads[i].ok && heads[i].key == key {
					heads[i].advance()
				}
			}
			if !yield(key, c) {
				return
			}
		}
	}
}

type head struct {
	next   func() (table.Key, table.Change, bool)
	key    table.Key
	change table.Change
	ok     bool
}

func (h *head) advance() { h.key, h.change, h.ok = h.next() }

// tails gets all tails of a plan, with the transaction's own changes on top.
func (r *Reader) tails(ctx context.Context, t Target, p planner.Plan) (map[table.Bucket]tail, error) {
	out := map[table.Bucket]tail{}
	for _, pt := range p.Tails {
		tl, err := r.tail(ctx, t, pt)
		if err != nil {
			return nil, err
		}
		out[pt.Bucket] = tl
	}
	for b, m := range t.Overlay {
		out[b] = append(out[b], layer{m, table.Span{To: math.MaxInt64}})
	}
	return out, nil
}

// tail gets one bucket's tail: from memory, else from the log.
func (r *Reader) tail(ctx context.Context, t Target, pt planner.Tail) (tail, error) {
	if r.memory != nil {
		if tables, ok := r.memory.Tail(ctx, t.Topic.ID, pt.Bucket, pt.Span); ok {
			out := make(tail, len(tables))
			for i, m := range tables {
				out[i] = layer{m, pt.Span}
			}
			return out, nil
		}
	}
	m := memtable.New(t.Schema, pt.Span.From)
	err := r.read(ctx, t, pt.Bucket, pt.Span, func(changes []table.Change, next table.Offset) error {
		for _, c := range changes {
			if c.Offset >= pt.Span.To {
				break
			}
			m.Apply(c)
		}
		if m.Bytes() > r.tailBytes {
			return table.Errorf("54000", "the log of %s holds more than %d MB that no snapshot covers", t.Topic.Name, r.tailBytes>>20).
				WithHint("Run CHECKPOINT on the server that owns the table, or start it: it flushes the log into files.")
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	m.Freeze()
	return tail{{m, pt.Span}}, nil
}

// read yields the changes of a span of a bucket's log, batch by batch, with
// the position after each. A span whose To is math.MaxInt64 has no end.
func (r *Reader) read(ctx context.Context, t Target, b table.Bucket, span table.Span, yield func([]table.Change, table.Offset) error) error {
	in, err := r.log.Read(ctx, t.Topic, b, span.From)
	if err != nil {
		return readError(t, b, span.From, err)
	}
	defer in.Close()
	codec := logstore.NewCodec(t.Schema, t.Topic.ID)
	var changes []table.Change
	for at := span.From; at < span.To; {
		batch, err := in.Next(ctx)
		if err != nil {
			return readError(t, b, at, err)
		}
		changes = changes[:0]
		for _, rec := range batch.Records {
			if rec.Control {
				continue
			}
			c, _, err := codec.Decode(rec)
			if errors.Is(err, logstore.ErrForeign) {
				continue
			}
			if err != nil {
				return recordError(t, b, err)
			}
			changes = append(changes, c)
		}
		at = batch.Next
		if err := yield(changes, at); err != nil {
			return err
		}
	}
	return nil
}

// readError names the log, and says 72000 where it no longer has the offset.
func readError(t Target, b table.Bucket, at table.Offset, err error) error {
	if errors.Is(err, logstore.ErrTrimmed) {
		return table.Errorf("72000", "the log %s no longer has offset %d of bucket %d: %w", t.Topic.Name, at, b, err).
			WithHint("Start again from a newer snapshot; the table option log.retention says how long the log is kept.")
	}
	if errors.Is(err, logstore.ErrNoTopic) {
		return table.Errorf("42P01", "the log %s is gone: the table was dropped: %w", t.Topic.Name, err)
	}
	return fmt.Errorf("read log %s bucket %d from %d: %w", t.Topic.Name, b, at, err)
}

// recordError puts the place of a record that cannot be decoded into what the
// client sees.
func recordError(t Target, b table.Bucket, err error) error {
	e := table.Errorf("XX001", "topic %s partition %d: %w", t.Topic.Name, b, err)
	var inner *table.Error
	if errors.As(err, &inner) {
		e = e.WithHint("%s", inner.Hint)
	}
	return e
}

// Follow reads all buckets of a table's log on from the given offsets until
// ctx ends, and hands over each bucket's changes in order. yield is called from
// one goroutine at a time; after its error all reading ends.
func (r *Reader) Follow(ctx context.Context, t Target, from []table.Offset, yield func(b table.Bucket, changes []table.Change, next table.Offset) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	type batch struct {
		bucket  table.Bucket
		changes []table.Change
		next    table.Offset
	}
	out := make(chan batch)
	ended := make(chan error, len(from))
	for b, at := range from {
		go func() {
			ended <- r.read(ctx, t, table.Bucket(b), table.Span{From: at, To: math.MaxInt64}, func(changes []table.Change, next table.Offset) error {
				if len(changes) == 0 {
					return nil
				}
				select {
				case out <- batch{table.Bucket(b), append([]table.Change(nil), changes...), next}:
					return nil
				case <-ctx.Done():
					return context.Cause(ctx)
				}
			})
		}()
	}
	var first error
	for open := len(from); open > 0; {
		select {
		case x := <-out:
			if first != nil {
				continue
			}
			if err := yield(x.bucket, x.changes, x.next); err != nil {
				first = err
				cancel(err)
			}
		case err := <-ended:
			open--
			if first == nil && err != nil {
				first = err
				cancel(err)
			}
		}
	}
	return first
}

// trimmedOf is the part of a key after the partition columns.
func trimmedOf(s *table.Schema, c table.Change) table.TrimmedKey { return s.TrimmedKey(c.Row()) }

func inKeys(k table.TrimmedKey, bounds [2]table.TrimmedKey) bool {
	return k >= bounds[0] && (bounds[1] == "" || k < bounds[1])
}
