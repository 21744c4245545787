package session

import (
	"context"
	"errors"
	"math"
	"slices"

	"github.com/google/uuid"

	"dtstore/catalog"
	"dtstore/logstore"
	"dtstore/memtable"
	"dtstore/table"
)

// buffer holds a transaction's changes until COMMIT. Each change has a number,
// rising over the transaction; a mark is the next number.
type buffer struct {
	srv    *Server
	next   mark
	tables map[logstore.TopicID]*buffered
	order  []*buffered // as they were first touched
	ticket *logstore.Ticket
}

type mark = table.Offset

// buffered is the changes of one table.
type buffered struct {
	t     *catalog.Table
	ops   []op
	mem   map[table.Bucket]*memtable.Table // the first keyed of them, by key: see byKey
	keyed int
	read  map[table.Key]readRow // keys that an UPDATE or DELETE read from the table
	bytes int64
	spool *spool // not nil: rows go there, beyond the memory limit
}

// op is one change with its number in Offset.
type op struct {
	bucket table.Bucket
	change table.Change
}

// readRow is what a key was before the transaction, as an UPDATE or DELETE
// found it below a horizon.
type readRow struct {
	before  table.Row // nil: there was none
	bucket  table.Bucket
	horizon table.Offset
	at      mark
}

func newBuffer(s *Server) *buffer { return &buffer{srv: s, tables: map[logstore.TopicID]*buffered{}} }

func (b *buffer) close() {
	for _, t := range b.order {
		if t.spool != nil {
			t.spool.close()
		}
	}
	b.tables, b.order = map[logstore.TopicID]*buffered{}, nil
}

func (b *buffer) empty() bool {
	for _, bt := range b.order {
		if len(bt.ops) > 0 || bt.spool != nil {
			return false
		}
	}
	return true
}

func (b *buffer) mark() mark { return b.next }

// of gives the table's part.
func (b *buffer) of(t *catalog.Table) *buffered {
	bt := b.tables[t.Topic.ID]
	if bt == nil {
		bt = &buffered{t: t, read: map[table.Key]readRow{}}
		b.tables[t.Topic.ID] = bt
		b.order = append(b.order, bt)
	}
	return bt
}

// overlay is the transaction's own changes of a table, for its SELECTs.
func (b *buffer) overlay(t *catalog.Table) (map[table.Bucket]*memtable.Table, error) {
	bt := b.tables[t.Topic.ID]
	if bt == nil {
		return nil, nil
	}
	if bt.spool != nil {
		return nil, table.Errorf("0A000", "this transaction holds too many rows of table %s.%s in memory to read the table", t.Database, t.Name).
			WithHint("COMMIT first; then the table can be read.")
	}
	return bt.byKey(), nil
}

// opBytes is about what an op holds beside its row's text.
const opBytes, cellBytes = 160, 40

// add takes in one change.
func (b *buffer) add(t *catalog.Table, c table.Change) error {
	bt := b.of(t)
	row := c.Row()
	c.Offset = b.next
	b.next++
	bucket := t.Schema.BucketOf(row)
	if bt.spool != nil {
		if c.Kind != table.Insert {
			return bt.tooMany(b.srv.BufferBytes)
		}
		return bt.spool.add(bucket, c)
	}
	bt.put(op{bucket, c})
	if bt.bytes > b.srv.BufferBytes {
		return b.overflow(bt)
	}
	return nil
}

func (bt *buffered) put(o op) {
	if len(bt.ops) == cap(bt.ops) {
		bt.ops = slices.Grow(bt.ops, max(1, len(bt.ops))) // append alone would copy a large load five times
	}
	bt.ops = append(bt.ops, o)
	row := o.change.Row()
	bt.bytes += opBytes + int64(len(row))*cellBytes
	for _, v := range row {
		bt.bytes += int64(v.Bytes())
	}
}

// byKey is the changes by key. It is made when somebody asks: a statement that
// only inserts mostly needs none.
func (bt *buffered) byKey() map[table.Bucket]*memtable.Table {
	if bt.mem == nil {
		bt.mem = map[table.Bucket]*memtable.Table{}
	}
	for _, o := range bt.ops[bt.keyed:] {
		m := bt.mem[o.bucket]
		if m == nil {
			m = memtable.New(bt.t.Schema, 0)
			bt.mem[o.bucket] = m
		}
		m.Apply(o.change)
	}
	bt.keyed = len(bt.ops)
	return bt.mem
}

// overflow moves a table's rows to the disk, if all of them are plain inserts
// (COPY, INSERT … SELECT). Changes that were read first must fit memory eight
// times the size: each keeps its key to be checked at COMMIT.
func (b *buffer) overflow(bt *buffered) error {
	for _, o := range bt.ops {
		if o.change.Kind != table.Insert {
			if bt.bytes <= 8*b.srv.BufferBytes {
				return nil
			}
			return bt.tooMany(8 * b.srv.BufferBytes)
		}
	}
	sp, err := newSpool(b.srv.Spool, bt.t)
	if err != nil {
		return err
	}
	bt.spool = sp
	for _, o := range bt.ops {
		if err := sp.add(o.bucket, o.change); err != nil {
			return err
		}
	}
	bt.ops, bt.mem, bt.keyed = nil, nil, 0
	return nil
}

// unspool takes the rows back into memory.
func (bt *buffered) unspool() error {
	ops, err := bt.spool.ops()
	if err != nil {
		return err
	}
	bt.spool.close()
	bt.spool, bt.bytes = nil, 0
	for _, o := range ops {
		bt.put(o)
	}
	return nil
}

func (bt *buffered) tooMany(limit int64) error {
	return table.Errorf("54000", "the transaction changes too many rows of table %s.%s (more than %d MB of them)", bt.t.Database, bt.t.Name, limit>>20).
		WithHint("Change them in several transactions, each with its own WHERE.")
}

// reads notes that a statement read a key below a horizon; before is the row it
// found, nil for none. Only the first reading counts, and none of a key that
// the transaction had changed itself.
func (b *buffer) reads(t *catalog.Table, key table.Key, bucket table.Bucket, before table.Row, horizon table.Offset) {
	bt := b.of(t)
	if _, ok := bt.read[key]; ok {
		return
	}
	if m := bt.byKey()[bucket]; m != nil {
		if _, ok := m.Get(key, math.MaxInt64); ok {
			return
		}
	}
	bt.read[key] = readRow{before, bucket, horizon, b.next}
	bt.bytes += opBytes + int64(len(key))
}

// rollback forgets the changes from a mark on.
func (b *buffer) rollback(m mark) error {
	if m == b.next {
		return nil
	}
	for _, bt := range b.order {
		if bt.spool != nil {
			if err := bt.spool.truncate(m); err != nil {
				return err
			}
			if bt.spool.bytes() <= b.srv.BufferBytes/2 { // the table can be read again
				if err := bt.unspool(); err != nil {
					return err
				}
			}
			continue
		}
		n := len(bt.ops)
		for n > 0 && bt.ops[n-1].change.Offset >= m {
			n--
		}
		ops := bt.ops[:n]
		bt.bytes = int64(len(bt.read)) * opBytes
		bt.ops, bt.mem, bt.keyed = nil, nil, 0
		for _, o := range ops {
			bt.put(o)
		}
		for k, r := range bt.read {
			if r.at >= m {
				delete(bt.read, k)
			}
		}
	}
	return nil // the numbers go on rising: a memtable takes no lower one
}

// rising says whether the changes are inserts of rising keys (or into an append
// table), that nothing was read for: they are net as they are.
func (bt *buffered) rising() bool {
	if len(bt.read) > 0 {
		return false
	}
	var last table.Key
	for i, o := range bt.ops {
		if o.change.Kind != table.Insert {
			return false
		}
		if !bt.t.Schema.Keyed() || len(bt.ops) == 1 {
			continue
		}
		k := bt.t.Schema.Key(o.change.After)
		if i > 0 && k <= last {
			return false
		}
		last = k
	}
	return true
}

// folded is the table's net changes (seam A7): one for each key, deletions
// before additions; of an append table all rows.
func (bt *buffered) folded() []table.Change {
	if bt.rising() {
		out := make([]table.Change, len(bt.ops))
		for i, o := range bt.ops {
			out[i] = table.Change{Kind: table.Insert, After: o.change.After}
		}
		return out
	}
	var gone, come []table.Change
	byKey := bt.byKey()
	buckets := make([]table.Bucket, 0, len(byKey))
	for b := range byKey {
		buckets = append(buckets, b)
	}
	slices.Sort(buckets)
	for _, b := range buckets {
		for k, c := range byKey[b].Scan(math.MaxInt64) {
			before := bt.read[k].before
			switch {
			case c.Kind != table.Delete && before != nil:
				come = append(come, table.Change{Kind: table.UpdateAfter, Before: before, After: c.After})
			case c.Kind != table.Delete:
				come = append(come, table.Change{Kind: table.Insert, After: c.After})
			case before != nil:
				gone = append(gone, table.Change{Kind: table.Delete, Before: before})
			default:
				gone = append(gone, c)
			}
		}
	}
	return append(gone, come...)
}

// commit appends everything as one, and answers when readers see it. single
// says how an unknown outcome is called: 40003 for one statement, 08007 for
// COMMIT.
func (b *buffer) commit(ctx context.Context, t *tx, single bool) error {
	if b.empty() {
		return nil
	}
	a := logstore.Append{ID: uuid.NewString(), Ticket: b.ticket}
	var touched []logstore.TopicPartition
	codecs := make([]*logstore.Codec, 0, len(b.order))
	type piece struct {
		bt      *buffered
		bucket  table.Bucket
		changes []table.Change
	}
	var pieces []piece
	for _, bt := range b.order {
		codecs = append(codecs, b.srv.codecs.of(bt.t))
		if bt.spool != nil {
			for _, bucket := range bt.spool.buckets() {
				touched = append(touched, logstore.TopicPartition{Topic: bt.t.Topic.ID, Partition: bucket})
				pieces = append(pieces, piece{bt: bt, bucket: bucket})
			}
			continue
		}
		byBucket := map[table.Bucket][]table.Change{}
		if all := bt.folded(); bt.t.Schema.LogPartitions() == 1 {
			byBucket[0] = all
		} else {
			for _, c := range all {
				bucket := bt.t.Schema.BucketOf(c.Row())
				byBucket[bucket] = append(byBucket[bucket], c)
			}
		}
		for bucket := range table.Bucket(bt.t.Schema.LogPartitions()) {
			if len(byBucket[bucket]) > 0 {
				touched = append(touched, logstore.TopicPartition{Topic: bt.t.Topic.ID, Partition: bucket})
				pieces = append(pieces, piece{bt, bucket, byBucket[bucket]})
			}
		}
		for key, r := range bt.read {
			a.Checks = append(a.Checks, logstore.Check{Topic: bt.t.Topic.ID, Bucket: r.bucket, Key: key, Horizon: r.horizon})
		}
	}
	for _, bt := range b.order {
		var buckets []table.Bucket
		for _, p := range pieces {
			if p.bt == bt {
				buckets = append(buckets, p.bucket)
			}
		}
		if len(buckets) > 0 {
			if err := b.srv.Keeper.Room(ctx, bt.t.Topic.ID, buckets); err != nil {
				return err
			}
		}
	}
	for _, p := range pieces {
		codec := codecs[slices.Index(b.order, p.bt)]
		part := logstore.Part{Topic: p.bt.t.Topic, Bucket: p.bucket}
		if p.bt.spool != nil {
			part.More = p.bt.spool.records(p.bucket, codec, a.ID, touched)
			a.Parts, a.Keys = append(a.Parts, part), append(a.Keys, nil)
			continue
		}
		var keys []table.Key
		part.Records = make([]logstore.Record, 0, len(p.changes))
		if p.bt.t.Schema.Keyed() {
			keys = make([]table.Key, 0, len(p.changes))
		}
		for i, c := range p.changes {
			part.Records = append(part.Records, codec.Encode(c, a.ID, i == 0, touched))
			if p.bt.t.Schema.Keyed() {
				keys = append(keys, p.bt.t.Schema.Key(c.Row()))
			}
		}
		a.Parts, a.Keys = append(a.Parts, part), append(a.Keys, keys)
	}
	if len(a.Parts) == 0 {
		return nil
	}
	_, err := b.srv.Log.Append(ctx, a)
	return b.srv.appendError(err, single)
}

// appendError puts an outcome into the words of SQL.
func (s *Server) appendError(err error, single bool) error {
	switch {
	case err == nil, isConflict(err):
		return err
	case errors.Is(err, logstore.ErrUnknown):
		code := "08007"
		if single {
			code = "40003"
		}
		return table.Errorf(code, "it is not known whether the changes were written: %w", err).
			WithHint("Look for them before sending them again.")
	case errors.Is(err, logstore.ErrNo):
		var e *table.Error
		if errors.As(err, &e) {
			return err
		}
		return table.Errorf("57P03", "the changes were not written: %w", err).WithHint("Nothing was changed; the statement may be sent again.")
	}
	return err
}

func isConflict(err error) bool { return errors.Is(err, logstore.ErrConflict) }

// lockKeys queues for every key that the buffer changes or reads, so that the
// next round meets no other writer (seam A6).
func (s *Server) lockKeys(ctx context.Context, b *buffer, conflict error) (*logstore.Ticket, error) {
	if b.ticket != nil {
		b.ticket.Unlock() // it goes round once more, with the keys it met now
		b.ticket = nil
	}
	seen := map[logstore.QueueKey]bool{}
	for _, bt := range b.order {
		for k := range bt.read {
			seen[logstore.QueueKey{Topic: bt.t.Topic.ID, Key: k}] = true
		}
	}
	var c *logstore.ConflictError
	if errors.As(conflict, &c) {
		for _, k := range c.Keys {
			seen[logstore.QueueKey{Topic: k.Topic, Key: k.Key}] = true
		}
	}
	keys := make([]logstore.QueueKey, 0, len(seen))
	for k := range seen {
		keys = append(keys, k)
	}
	return s.Log.Keys().Lock(ctx, keys)
}
