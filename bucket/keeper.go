package bucket

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"dtstore/catalog"
	"dtstore/snapshot"
	"dtstore/table"
)

// keeper keeps one table.
type keeper struct {
	o       *Owner
	log     *slog.Logger
	history *snapshot.Table
	current atomic.Pointer[catalog.Table]
	loops   []*loop

	cancel   context.CancelCauseFunc
	ctx      context.Context
	running  sync.WaitGroup
	requests chan request
	compact  chan struct{} // something was flushed: look whether to compact
	merging  chan struct{} // one place: who compacts this table
	runs     atomic.Int64  // most sorted runs of any bucket, as last seen
	foreign  atomic.Bool   // another engine committed above our snapshots
	marks    marks         // the committer's: what was covered when

	mu      sync.Mutex    // guards failed, jammed and changed
	failed  error         // why the last flush failed; nil after one that worked
	jammed  error         // why the last compaction failed; nil after one that worked
	changed chan struct{} // closed and replaced at each change of state of any bucket
}

// request asks the committer for a flush.
type request struct {
	horizon []table.Offset
	force   bool
	done    chan error // nil: nobody waits
}

func newKeeper(o *Owner, t *catalog.Table) *keeper {
	k := &keeper{o: o, log: o.opts.Logger, history: o.catalog.History(t),
		requests: make(chan request, 1), compact: make(chan struct{}, 1), merging: make(chan struct{}, 1), changed: make(chan struct{})}
	k.current.Store(t)
	for b := range t.Schema.LogPartitions() {
		k.loops = append(k.loops, newLoop(k, table.Bucket(b)))
	}
	return k
}

func (k *keeper) table() *catalog.Table { return k.current.Load() }

func (k *keeper) name() string { return k.table().Database + "." + k.table().Name }

func (k *keeper) start() {
	k.ctx, k.cancel = context.WithCancelCause(context.Background())
	for _, l := range k.loops {
		k.running.Go(func() { l.run(k.ctx) })
	}
	k.running.Go(func() { k.commits(k.ctx) })
	k.running.Go(func() { k.compactions(k.ctx) })
	k.running.Go(func() { k.sweeps(k.ctx) })
}

// errReleased: the table was dropped, or the server stops.
var errReleased error = table.Errorf("55000", "the table is not kept here any more: it was dropped, or the server is stopping")

// stop ends all goroutines of the table and lets its memtables go.
func (k *keeper) stop() {
	k.cancel(errReleased)
	k.running.Wait()
	k.o.free(k.bytes())
}

func (k *keeper) bytes() int64 {
	var n int64
	for _, l := range k.loops {
		n += l.status().Bytes
	}
	return n
}

func (l *loop) status() Status {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := Status{Bucket: l.bucket, Covered: l.covered, Err: l.stopped}
	for _, f := range l.frozen {
		s.Rows, s.Bytes = s.Rows+f.mem.Len(), s.Bytes+f.mem.Bytes()
	}
	if l.active != nil {
		s.Rows, s.Bytes, s.Applied = s.Rows+l.active.Len(), s.Bytes+l.active.Bytes(), l.active.Span().To
	}
	return s
}

// wake tells those who wait for a change of the table's state.
func (k *keeper) wake() {
	k.mu.Lock()
	close(k.changed)
	k.changed = make(chan struct{})
	k.mu.Unlock()
}

// position reads where the latest snapshot ends, and checks that it was made
// from this table's log.
func (k *keeper) position(ctx context.Context) (positions, error) {
	s, err := k.history.Latest(ctx)
	if err != nil {
		return positions{}, fmt.Errorf("latest snapshot of %s: %w", k.name(), err)
	}
	pos, err := positionOf(ctx, k.history, s)
	if err != nil {
		return positions{}, fmt.Errorf("log position of %s: %w", k.name(), err)
	}
	if string(pos.log) != string(k.table().Topic.ID) {
		return positions{}, table.Errorf("XX001", "table %s has topic %s, its snapshot %d was made from topic %s: %w", k.name(), k.table().Topic.ID, s.ID, pos.log, errIdentity)
	}
	k.foreign.Store(pos.foreign)
	return pos, nil
}

// request asks for a flush and does not wait; one that is asked for already
// will do.
func (k *keeper) request(horizon []table.Offset) {
	select {
	case k.requests <- request{horizon: horizon}:
	default:
	}
}

// flush freezes what the buckets hold, and returns when it is committed. With
// force, snapshots cover the horizon then.
func (k *keeper) flush(ctx context.Context, horizon []table.Offset, force bool) error {
	r := request{horizon: horizon, force: force, done: make(chan error, 1)}
	select {
	case k.requests <- r:
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-k.ctx.Done():
		return errReleased
	}
	select {
	case err := <-r.done:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-k.ctx.Done():
		return errReleased
	}
}

// stopTrigger is how many sorted runs of a bucket hold its writers back.
func (k *keeper) stopTrigger() int64 { return int64(settingsOf(k.table()).stop) }

// roomPatience is how long a writer waits for a flush that keeps failing.
const roomPatience = 10 * time.Second

// room waits until some buckets of the table can take more changes.
func (k *keeper) room(ctx context.Context, buckets []table.Bucket) error {
	var patience <-chan time.Time
	for {
		k.mu.Lock()
		changed, failed := k.changed, cmp.Or(k.failed, k.jammed)
		k.mu.Unlock()
		full := k.runs.Load() > k.stopTrigger() || k.o.held.Load() > 2*k.o.opts.MemoryBytes
		for _, b := range buckets {
			if int(b) >= len(k.loops) {
				continue
			}
			l := k.loops[b]
			l.mu.Lock()
			stopped, behind := l.stopped, len(l.frozen) > maxFrozen
			l.mu.Unlock()
			if stopped != nil {
				return stopped
			}
			full = full || behind
		}
		if k.foreign.Load() {
			return table.Errorf("0A000", "table %s was written by another engine, and writing after that is not supported yet", k.name()).
				WithHint("Reads are right. To write, make a new table and INSERT INTO it SELECT from this one.")
		}
		if !full {
			return nil
		}
		if patience == nil {
			patience = time.After(roomPatience)
			if k.runs.Load() > k.stopTrigger() {
				k.lookToCompact()
			}
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-k.ctx.Done():
			return errReleased
		case <-patience:
			if failed != nil {
				return table.Errorf("53400", "table %s takes no more changes, since writing its files fails: %w", k.name(), failed).
					WithHint("What was acknowledged is safe in the log. Mend the cause; it is tried again by itself.")
			}
			patience = time.After(roomPatience)
		}
	}
}
