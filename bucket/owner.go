package bucket

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"dtstore/catalog"
	"dtstore/filestore"
	"dtstore/logstore"
	"dtstore/memtable"
	"dtstore/snapshot"
	"dtstore/table"
)

// Log is what an Owner needs of the log.
type Log interface {
	Read(ctx context.Context, t logstore.Topic, b table.Bucket, from table.Offset) (*logstore.Reader, error)
	Trim(ctx context.Context, t logstore.Topic, below map[table.Bucket]table.Offset) error
}

// Options of an Owner. The zero value is what we would run ourselves.
type Options struct {
	Checkpoint  time.Duration // between snapshots of a table that changes; 0 means 1 min
	FlushBytes  int64         // memtable size that is flushed early; 0 means 64 MiB
	MemoryBytes int64         // all memtables together; above it they are flushed and writers wait; 0 means 512 MiB
	Sweep       time.Duration // between sweeps of a table; 0 means a day
	User        string        // commitUser: one uuid per process
	Logger      *slog.Logger  // nil: none
	Now         func() time.Time

	// SyncLog makes what was read of some log partitions durable, before a
	// snapshot says that it covers them: readers of the embedded log see rows that
	// are not on the disk yet, and after a power cut the log must not end below
	// what a snapshot covers. nil: a real broker.
	SyncLog func(ctx context.Context, t logstore.Topic, buckets []table.Bucket) error
}

// Validate reports every fault of the options.
func (o Options) Validate() error {
	var errs []error
	for name, d := range map[string]time.Duration{"checkpoint interval": o.Checkpoint, "sweep interval": o.Sweep} {
		if d < 0 {
			errs = append(errs, fmt.Errorf("%s: %v is negative", name, d))
		}
	}
	for name, n := range map[string]int64{"flush bytes": o.FlushBytes, "memtable memory": o.MemoryBytes} {
		if n < 0 {
			errs = append(errs, fmt.Errorf("%s: %d is negative", name, n))
		}
	}
	return errors.Join(errs...)
}

func (o Options) defaults() Options {
	if o.Checkpoint == 0 {
		o.Checkpoint = time.Minute
	}
	if o.FlushBytes == 0 {
		o.FlushBytes = 64 << 20
	}
	if o.MemoryBytes == 0 {
		o.MemoryBytes = 512 << 20
	}
	if o.Sweep == 0 {
		o.Sweep = 24 * time.Hour
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return o
}

// Owner keeps the buckets of the tables it was given.
type Owner struct {
	catalog *catalog.Catalog
	log     Log
	files   *filestore.Store
	opts    Options

	held     atomic.Int64  // bytes in all memtables
	compacts chan struct{} // a place for each compaction that may run at a time

	mu      sync.Mutex // guards keepers, pins and closed
	keepers map[logstore.TopicID]*keeper
	pins    map[pin]int
	closed  bool
}

type pin struct {
	path string
	id   table.SnapshotID
}

// New makes an Owner without tables.
func New(c *catalog.Catalog, log Log, files *filestore.Store, o Options) (*Owner, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	return &Owner{catalog: c, log: log, files: files, opts: o.defaults(), compacts: make(chan struct{}, 1),
		keepers: map[logstore.TopicID]*keeper{}, pins: map[pin]int{}}, nil
}

// Adopt starts keeping a table of ours, or takes its new options over. Foreign
// tables are left alone.
func (o *Owner) Adopt(t *catalog.Table) {
	if t.Foreign || t.Unreadable != nil {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return
	}
	if k := o.keepers[t.Topic.ID]; k != nil {
		k.current.Store(t)
		return
	}
	k := newKeeper(o, t)
	o.keepers[t.Topic.ID] = k
	k.start()
}

// Release stops keeping a table, without a last flush, and waits until nothing
// of it runs any more. DROP calls it first.
func (o *Owner) Release(id logstore.TopicID) {
	o.mu.Lock()
	k := o.keepers[id]
	delete(o.keepers, id)
	o.mu.Unlock()
	if k != nil {
		k.stop()
	}
}

func (o *Owner) keeper(id logstore.TopicID) *keeper {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.keepers[id]
}

func (o *Owner) all() []*keeper {
	o.mu.Lock()
	defer o.mu.Unlock()
	ks := make([]*keeper, 0, len(o.keepers))
	for _, k := range o.keepers {
		ks = append(ks, k)
	}
	return ks
}

// Close stops keeping all tables, without a last flush: see Drain.
func (o *Owner) Close() {
	o.mu.Lock()
	o.closed = true
	ks := o.keepers
	o.keepers = map[logstore.TopicID]*keeper{}
	o.mu.Unlock()
	var wg sync.WaitGroup
	for _, k := range ks {
		wg.Go(k.stop)
	}
	wg.Wait()
}

// Drain flushes and commits what all memtables hold.
func (o *Owner) Drain(ctx context.Context) error {
	var mu sync.Mutex
	var errs []error
	var wg sync.WaitGroup
	for _, k := range o.all() {
		wg.Go(func() {
			if err := k.flush(ctx, nil, false); err != nil {
				mu.Lock()
				errs = append(errs, fmt.Errorf("flush %s: %w", k.name(), err))
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

// tailPatience is how long a reader waits for a bucket's loop that makes no
// step; the log itself is read then.
const tailPatience = 200 * time.Millisecond

// Tail gives memtables, oldest first, that together hold a span of a bucket's
// log; false if the bucket is not owned or they do not cover it. It waits for a
// loop that only lags behind: applying what is on its way is cheaper than
// reading the log a second time.
func (o *Owner) Tail(ctx context.Context, id logstore.TopicID, b table.Bucket, span table.Span) ([]*memtable.Table, bool) {
	k := o.keeper(id)
	if k == nil || int(b) >= len(k.loops) {
		return nil, false
	}
	defer k.loops[b].read()()
	for {
		tables, behind := k.loops[b].tail(span)
		if behind == nil {
			return tables, tables != nil
		}
		timer := time.NewTimer(tailPatience)
		select {
		case <-behind:
			timer.Stop()
		case <-timer.C:
			return nil, false
		case <-ctx.Done():
			timer.Stop()
			return nil, false
		}
	}
}

// Checkpoint returns when snapshots cover the horizon of a table, flushing
// what this process owns. A table that is not owned here is waited for.
func (o *Owner) Checkpoint(ctx context.Context, t *catalog.Table, horizon []table.Offset) error {
	if k := o.keeper(t.Topic.ID); k != nil {
		return k.flush(ctx, horizon, true)
	}
	history := o.catalog.History(t)
	for {
		s, err := history.Latest(ctx)
		if err != nil {
			return err
		}
		pos, err := positionOf(ctx, history, s)
		if err != nil {
			return err
		}
		if pos.covers(horizon) {
			return nil
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// Room returns when some buckets of a table can take more changes: memtables
// are not behind and runs have not piled up. It fails if one of the buckets is
// stopped, or if flushing or compacting keeps failing.
func (o *Owner) Room(ctx context.Context, id logstore.TopicID, buckets []table.Bucket) error {
	if k := o.keeper(id); k != nil {
		return k.room(ctx, buckets)
	}
	return nil
}

// free says that memtables gave bytes back, and wakes writers that may have
// waited for them, of whatever table.
func (o *Owner) free(bytes int64) {
	if bytes == 0 {
		return
	}
	limit := 2 * o.opts.MemoryBytes
	if now := o.held.Add(-bytes); now <= limit && now+bytes > limit {
		for _, k := range o.all() {
			k.wake()
		}
	}
}

// relieve asks the table with the most unflushed bytes to flush.
func (o *Owner) relieve() {
	var most *keeper
	var bytes int64
	for _, k := range o.all() {
		if n := k.bytes(); n > bytes {
			most, bytes = k, n
		}
	}
	if most != nil {
		most.request(nil)
	}
}

// Pin keeps a snapshot of a table from this process' expiry until release is
// called.
func (o *Owner) Pin(path string, id table.SnapshotID) (release func()) {
	p := pin{path, id}
	o.mu.Lock()
	o.pins[p]++
	o.mu.Unlock()
	var once sync.Once
	return func() {
		once.Do(func() {
			o.mu.Lock()
			if o.pins[p]--; o.pins[p] == 0 {
				delete(o.pins, p)
			}
			o.mu.Unlock()
		})
	}
}

func (o *Owner) pinned(path string) func(table.SnapshotID) bool {
	return func(id table.SnapshotID) bool {
		o.mu.Lock()
		defer o.mu.Unlock()
		return o.pins[pin{path, id}] > 0
	}
}

// Status is what a bucket is at, for people.
type Status struct {
	Bucket  table.Bucket
	Covered table.Offset // the latest snapshot reaches so far
	Applied table.Offset // the memtables reach so far
	Rows    int          // versions that no snapshot has
	Bytes   int64
	Err     error // why it stopped
}

// Status of a table's buckets; false if it is not owned here.
func (o *Owner) Status(id logstore.TopicID) ([]Status, bool) {
	k := o.keeper(id)
	if k == nil {
		return nil, false
	}
	out := make([]Status, len(k.loops))
	for i, l := range k.loops {
		out[i] = l.status()
	}
	return out, true
}

var errIdentity = errors.New("the log is not the one that the snapshots were made from")

// positions is where the buckets' logs are covered up to.
type positions struct {
	snapshot *snapshot.Snapshot
	covered  map[table.Bucket]snapshot.Covered
	foreign  bool // another engine committed above
	log      snapshot.LogID
}

func (p positions) covers(horizon []table.Offset) bool {
	for b, at := range horizon {
		if p.covered[table.Bucket(b)].To < at {
			return false
		}
	}
	return true
}

// ahead says whether some bucket is covered further than in p0.
func (p positions) ahead(p0 positions) bool {
	for b, c := range p.covered {
		if old, ok := p0.covered[b]; !ok || c.To > old.To {
			return true
		}
	}
	return false
}

func positionOf(ctx context.Context, h *snapshot.Table, s *snapshot.Snapshot) (positions, error) {
	log, covered, foreign, err := h.Position(ctx, s)
	if err != nil {
		return positions{}, err
	}
	return positions{s, covered, foreign, log}, nil
}
