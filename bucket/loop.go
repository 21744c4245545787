package bucket

import (
	"context"
	"errors"
	"sync"
	"time"

	"dtstore/logstore"
	"dtstore/manifest"
	"dtstore/memtable"
	"dtstore/table"
)

// loop is one bucket: the only goroutine that writes its memtable.
type loop struct {
	k      *keeper
	bucket table.Bucket

	freeze chan freezing
	reset  chan struct{} // the committer was fenced or does not know: forget and replay

	mu      sync.Mutex // guards the rest; held for moments
	covered table.Offset
	base    table.Sequence
	frozen  []*frozen         // oldest first; not committed yet
	kept    []*memtable.Table // oldest first, before frozen: committed while a reader of an older snapshot waited
	readers int               // who wait for this bucket to catch up
	active  *memtable.Table   // nil before the first position is known
	stopped error             // why this bucket does not go on
	changed chan struct{}     // closed and replaced whenever something above changes
}

// frozen is a memtable on its way to a snapshot.
type frozen struct {
	mem     *memtable.Table
	base    table.Sequence
	entries []manifest.Entry // its files, once written
	written bool
}

// freezing asks the loop to freeze what it holds.
type freezing struct {
	upTo  table.Offset // only when the log was applied so far
	force bool         // also a memtable without rows, if it is past covered offsets
	done  chan error
}

func newLoop(k *keeper, b table.Bucket) *loop {
	return &loop{k: k, bucket: b, freeze: make(chan freezing), reset: make(chan struct{}, 1), changed: make(chan struct{})}
}

// update changes the guarded state and wakes whoever waits for it.
func (l *loop) update(f func()) {
	l.mu.Lock()
	f()
	close(l.changed)
	l.changed = make(chan struct{})
	l.mu.Unlock()
	l.k.wake()
}

// run goes on until ctx ends. Each round starts at the tip's position.
func (l *loop) run(ctx context.Context) {
	for pause := firstPause; ctx.Err() == nil; {
		started := time.Now()
		err := l.round(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case errors.Is(err, errReset):
			l.k.log.Warn("bucket replays its log from the latest snapshot", "table", l.k.name(), "bucket", l.bucket)
			continue
		case fatal(err):
			l.k.log.Error("bucket stopped", "table", l.k.name(), "bucket", l.bucket, "err", err)
			l.stop(ctx, err)
			return
		}
		l.k.log.Warn("bucket waits and tries again", "table", l.k.name(), "bucket", l.bucket, "err", err)
		if time.Since(started) > time.Minute {
			pause = firstPause
		}
		if !l.idle(ctx, pause, err) {
			return
		}
		pause = min(pause*2, lastPause)
	}
}

// Pauses between tries while Kafka or the store is away.
const (
	firstPause = 100 * time.Millisecond
	lastPause  = 5 * time.Second
)

var errReset = errors.New("bucket reset")

// fatal says whether trying again cannot help: a log that does not fit the
// snapshots, or a record that cannot be decoded.
func fatal(err error) bool {
	return errors.Is(err, logstore.ErrBadRecord) || errors.Is(err, logstore.ErrTrimmed) || errors.Is(err, logstore.ErrAhead) || errors.Is(err, errIdentity)
}

// idle answers freeze requests with err during a pause; false when ctx ended.
func (l *loop) idle(ctx context.Context, pause time.Duration, err error) bool {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return false
		case <-timer.C:
			return true
		case <-l.reset:
		case f := <-l.freeze:
			f.done <- err
		}
	}
}

// stop keeps answering until ctx ends: this bucket takes no more writes, and
// says why. What was applied before the fault can still be flushed.
func (l *loop) stop(ctx context.Context, err error) {
	l.update(func() { l.stopped = err })
	for {
		select {
		case <-ctx.Done():
			return
		case <-l.reset:
		case f := <-l.freeze:
			if l.active != nil && l.active.Len() > 0 {
				l.freezeActive()
			}
			f.done <- err
		}
	}
}

// batch is what the reading goroutine hands to the loop.
type batch struct {
	changes []table.Change
	next    table.Offset
	err     error
}

// round reads the log from the tip's position on. It returns errReset when the
// committer asks for it.
func (l *loop) round(ctx context.Context) error {
	select { // a reset that came before this round has had its effect
	case <-l.reset:
	default:
	}
	pos, err := l.k.position(ctx)
	if err != nil {
		return err
	}
	at := pos.covered[l.bucket]
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	in, err := l.k.o.log.Read(ctx, l.k.table().Topic, l.bucket, at.To)
	if err != nil {
		return l.logError(at.To, err)
	}
	l.begin(at.To, at.Base)
	batches := make(chan batch, 2)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		defer in.Close()
		l.pump(ctx, in, batches)
	}()
	defer func() { cancel(); <-ended }()
	return l.apply(ctx, batches)
}

// begin forgets everything and starts anew at a position.
func (l *loop) begin(at table.Offset, base table.Sequence) {
	var bytes int64
	l.update(func() {
		for _, f := range l.frozen {
			bytes += f.mem.Bytes()
		}
		if l.active != nil {
			bytes += l.active.Bytes()
		}
		l.frozen, l.kept, l.stopped = nil, nil, nil
		l.covered, l.base = at, base
		l.active = memtable.New(l.k.table().Schema, at)
	})
	l.k.o.free(bytes)
}

// pump decodes the log for the loop. Other tables' records are skipped.
func (l *loop) pump(ctx context.Context, in *logstore.Reader, out chan<- batch) {
	t := l.k.table()
	codec := logstore.NewCodec(t.Schema, t.Topic.ID)
	for {
		got, err := in.Next(ctx)
		b := batch{next: got.Next, err: err}
		if err == nil {
			b.changes = make([]table.Change, 0, len(got.Records))
			for _, rec := range got.Records {
				if rec.Control {
					continue
				}
				c, _, err := codec.Decode(rec)
				if errors.Is(err, logstore.ErrForeign) {
					continue
				}
				if err != nil {
					b.next, b.err = rec.Offset, recordError(t.Topic, l.bucket, err)
					break
				}
				b.changes = append(b.changes, c)
			}
		}
		select {
		case out <- b:
		case <-ctx.Done():
			return
		}
		if b.err != nil {
			return
		}
	}
}

func (l *loop) apply(ctx context.Context, batches <-chan batch) (err error) {
	var waiting []freezing
	defer func() {
		for _, f := range waiting {
			f.done <- err
		}
	}()
	for {
		in := batches
		if l.crowded() {
			in = nil // the flush is behind: read no further until it has caught up
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-l.reset:
			return errReset
		case <-l.roomy():
		case f := <-l.freeze:
			waiting = append(waiting, f)
		case b := <-in:
			if b.err != nil {
				// What came before it is kept and flushed: only the rest is in the way.
				l.take(b)
				return l.logError(b.next, b.err)
			}
			l.take(b)
		}
		waiting = l.answer(waiting)
	}
}

// take applies a batch and freezes the memtable when it is full.
func (l *loop) take(b batch) {
	before := l.active.Bytes()
	for _, c := range b.changes {
		l.active.Apply(c)
	}
	if b.next > l.active.Span().To {
		l.active.Advance(b.next)
	}
	after := l.active.Bytes()
	held := l.k.o.held.Add(after - before)
	if after >= l.k.o.opts.FlushBytes || held > l.k.o.opts.MemoryBytes && after > l.k.o.opts.FlushBytes/8 {
		l.freezeActive()
		l.k.request(nil)
	} else if held > l.k.o.opts.MemoryBytes {
		l.k.o.relieve()
	}
	l.update(func() {})
}

// freezeActive puts a new memtable in place.
func (l *loop) freezeActive() {
	l.active.Freeze()
	l.update(func() {
		l.frozen = append(l.frozen, &frozen{mem: l.active, base: l.base})
		l.active = memtable.New(l.k.table().Schema, l.active.Span().To)
	})
}

// answer serves the freeze requests whose offset the log was applied to.
func (l *loop) answer(waiting []freezing) []freezing {
	var rest []freezing
	for _, f := range waiting {
		span := l.active.Span()
		if span.To < f.upTo && !l.crowded() {
			rest = append(rest, f)
			continue
		}
		if l.active.Len() > 0 || f.force && !span.Empty() {
			l.freezeActive()
		}
		f.done <- nil
	}
	return rest
}

// maxFrozen memtables may wait for a flush before the loop reads no further.
const maxFrozen = 2

func (l *loop) crowded() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.frozen) > maxFrozen
}

// roomy is closed at the next change of state.
func (l *loop) roomy() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.frozen) <= maxFrozen {
		return nil
	}
	return l.changed
}

// unflushed is the frozen memtables, oldest first.
func (l *loop) unflushed() []*frozen {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]*frozen(nil), l.frozen...)
}

// committed lets go of the memtables that a snapshot covers now.
func (l *loop) committed(to table.Offset) {
	var bytes int64
	l.update(func() {
		for len(l.frozen) > 0 && l.frozen[0].mem.Span().To <= to {
			bytes += l.frozen[0].mem.Bytes()
			if l.readers > 0 {
				l.kept = append(l.kept, l.frozen[0].mem)
			}
			l.frozen = l.frozen[1:]
		}
		l.covered = to
	})
	l.k.o.free(bytes)
}

// forget makes the loop start anew from the tip (seam C2). Its frozen
// memtables are gone at once, so that nobody commits them again.
func (l *loop) forget() {
	var bytes int64
	l.update(func() {
		for _, f := range l.frozen {
			bytes += f.mem.Bytes()
		}
		l.frozen, l.kept = nil, nil
	})
	l.k.o.free(bytes)
	select {
	case l.reset <- struct{}{}:
	default:
	}
}

// tail gives the memtables that hold a span, oldest first. If they begin early
// enough and only lag behind, behind is closed at the loop's next step.
func (l *loop) tail(span table.Span) (tables []*memtable.Table, behind <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.active == nil || l.stopped != nil {
		return nil, nil
	}
	all := make([]*memtable.Table, 0, len(l.kept)+len(l.frozen)+1)
	all = append(all, l.kept...)
	for _, f := range l.frozen {
		all = append(all, f.mem)
	}
	all = append(all, l.active)
	for len(all) > 1 && all[0].Span().To <= span.From {
		all = all[1:]
	}
	switch {
	case all[0].Span().From > span.From:
		return nil, nil
	case all[len(all)-1].Span().To < span.To:
		return nil, l.changed
	}
	return all, nil
}

// recordError puts the place of a record that cannot be decoded into what
// clients see.
func recordError(t logstore.Topic, b table.Bucket, err error) error {
	e := table.Errorf("XX001", "topic %s partition %d: %w", t.Name, b, err)
	var inner *table.Error
	if errors.As(err, &inner) {
		e = e.WithHint("%s", inner.Hint)
	}
	return e
}

// read counts a reader who waits, from before it looks until it has the
// memtables: what is committed meanwhile is kept for it, for its snapshot is an
// older one and the log would have to be read again.
func (l *loop) read() (done func()) {
	l.mu.Lock()
	l.readers++
	l.mu.Unlock()
	return func() {
		l.mu.Lock()
		if l.readers--; l.readers == 0 {
			l.kept = nil
		}
		l.mu.Unlock()
	}
}

// logError puts the bucket's place into an error of its log.
func (l *loop) logError(at table.Offset, err error) error {
	topic := l.k.table().Topic.Name
	switch {
	case errors.Is(err, logstore.ErrTrimmed):
		return table.Errorf("XX001", "topic %s partition %d: the log no longer has offset %d, where the latest snapshot ends: %w", topic, l.bucket, at, err).
			WithHint("Changes between the snapshot and the log's start are gone from the log. If they are not needed, drop the table or repair its snapshot's offsets.")
	case errors.Is(err, logstore.ErrAhead):
		return table.Errorf("XX001", "topic %s partition %d: the log ends before offset %d, which the latest snapshot covers: %w", topic, l.bucket, at, err).
			WithHint("This is not the log that the snapshot was made from, or it lost its end. Nothing is written until that is repaired.")
	}
	return err
}
