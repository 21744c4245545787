package bucket

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"dtstore/catalog"
	"dtstore/compaction"
	"dtstore/manifest"
	"dtstore/snapshot"
	"dtstore/table"
)

// lookToCompact tells the compactor that there may be work.
func (k *keeper) lookToCompact() {
	select {
	case k.compact <- struct{}{}:
	default:
	}
}

// compactions merges runs in the background, a unit at a time.
func (k *keeper) compactions(ctx context.Context) {
	k.lookToCompact()
	pause := firstPause
	for {
		select {
		case <-ctx.Done():
			return
		case <-k.compact:
		}
		_, err := k.compactSome(ctx, k.pick)
		k.mu.Lock()
		k.jammed = err
		k.mu.Unlock()
		k.wake()
		if err == nil || ctx.Err() != nil {
			pause = firstPause
			continue
		}
		k.log.Warn("compaction failed; it is tried again", "table", k.name(), "err", err, "in", pause)
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
		pause = min(pause*2, lastPause)
		k.lookToCompact()
	}
}

// CompactReport says what a compaction did.
type CompactReport struct {
	Snapshot    table.SnapshotID // the newest that it committed, or found
	Buckets     int              // partitions' buckets that were rewritten
	FilesBefore int
	FilesAfter  int
	RowsBefore  int64 // physical rows of the files taken
	RowsAfter   int64
	BytesBefore int64
	BytesAfter  int64
}

func (r *CompactReport) add(res compaction.Result) {
	r.Buckets++
	r.FilesBefore += len(res.Remove)
	r.FilesAfter += len(res.Add)
	before, after := res.Rows()
	r.RowsBefore += before
	r.RowsAfter += after
	for _, e := range res.Remove {
		r.BytesBefore += e.File.Size
	}
	for _, e := range res.Add {
		r.BytesAfter += e.File.Size
	}
}

// Compact merges every bucket of a table into one run (of an append table, the
// small files of each partition), flushing first what this process owns. It
// runs on any server: the commit decides.
func (o *Owner) Compact(ctx context.Context, t *catalog.Table) (CompactReport, error) {
	k := o.keeper(t.Topic.ID)
	if k == nil {
		k = newKeeper(o, t) // never started: only its compaction is used
		k.ctx = ctx
	} else if err := k.flush(ctx, nil, true); err != nil {
		return CompactReport{}, err
	}
	return k.compactSome(ctx, k.full)
}

// picker chooses units from the runs of one bucket, newest first.
type picker func(runs []manifest.SortedRun) []compaction.Unit

func (k *keeper) pick(runs []manifest.SortedRun) []compaction.Unit {
	s := settingsOf(k.table())
	if !k.table().Schema.Keyed() {
		return compaction.PickAppend(runs, s.target, appendTrigger)
	}
	if u, ok := (compaction.Policy{Trigger: s.trigger}).Pick(runs); ok {
		return []compaction.Unit{u}
	}
	return nil
}

// appendTrigger small files of an append table are joined in the background.
const appendTrigger = 10

func (k *keeper) full(runs []manifest.SortedRun) []compaction.Unit {
	s := settingsOf(k.table())
	if !k.table().Schema.Keyed() {
		return compaction.PickAppend(runs, s.target, 2)
	}
	if u, ok := (compaction.Policy{Trigger: s.trigger}).Full(runs); ok {
		return []compaction.Unit{u}
	}
	return nil
}

// conflictTries bounds how often a unit is picked again because its files were
// compacted by somebody else.
const conflictTries = 10

// compactSome does the units that pick names in each bucket, once over all
// buckets, and commits each. One compaction runs per table and process.
func (k *keeper) compactSome(ctx context.Context, pick picker) (CompactReport, error) {
	var report CompactReport
	select {
	case k.merging <- struct{}{}:
		defer func() { <-k.merging }()
	case <-ctx.Done():
		return report, context.Cause(ctx)
	}
	done := map[manifest.Group]bool{}
	for conflicts := 0; ; {
		s, groups, err := k.groups(ctx)
		if err != nil {
			return report, err
		}
		report.Snapshot = max(report.Snapshot, s.ID)
		g, units, ok := next(groups, done, pick)
		if !ok {
			return report, nil
		}
		res, err := k.merge(ctx, g, units)
		if err != nil {
			return report, err
		}
		s, err = k.commitCompact(ctx, res)
		if errors.Is(err, snapshot.ErrConflict) && conflicts < conflictTries {
			conflicts++
			continue
		}
		if err != nil {
			return report, fmt.Errorf("compact %s: %w", k.name(), err)
		}
		done[g.group] = true
		report.Snapshot = s.ID
		report.add(res)
		k.log.Info("compacted", "table", k.name(), "bucket", g.group.Bucket, "snapshot", s.ID, "files before", len(res.Remove), "files after", len(res.Add))
	}
}

// grouped is one bucket's runs.
type grouped struct {
	group manifest.Group
	runs  []manifest.SortedRun
}

// groups reads the runs of all buckets from the latest snapshot, and notes the
// most runs of any.
func (k *keeper) groups(ctx context.Context) (*snapshot.Snapshot, []grouped, error) {
	s, err := k.history.Latest(ctx)
	if err != nil {
		return nil, nil, err
	}
	live, err := k.history.Entries(ctx, s, snapshot.Filter{})
	if err != nil {
		return nil, nil, err
	}
	byGroup := map[manifest.Group][]manifest.Entry{}
	for _, e := range live {
		byGroup[e.Group()] = append(byGroup[e.Group()], e)
	}
	var out []grouped
	most := 0
	for g, entries := range byGroup {
		runs, err := manifest.Runs(k.table().Schema, entries)
		if err != nil {
			return nil, nil, fmt.Errorf("runs of %s: %w", k.name(), err)
		}
		if k.table().Schema.Keyed() {
			most = max(most, len(runs))
		}
		out = append(out, grouped{g, runs})
	}
	slices.SortFunc(out, func(a, b grouped) int {
		return cmp.Or(-cmp.Compare(len(a.runs), len(b.runs)), cmp.Compare(a.group.Partition, b.group.Partition), cmp.Compare(a.group.Bucket, b.group.Bucket))
	})
	k.runs.Store(int64(most))
	k.wake()
	return s, out, nil
}

// next is the first bucket, most runs first, that was not done and has work.
func next(groups []grouped, done map[manifest.Group]bool, pick picker) (grouped, []compaction.Unit, bool) {
	for _, g := range groups {
		if done[g.group] {
			continue
		}
		if units := pick(g.runs); len(units) > 0 {
			return g, units, true
		}
	}
	return grouped{}, nil, false
}

// merge does the units of one bucket. Only so many run at a time in the
// process, whatever the number of tables.
func (k *keeper) merge(ctx context.Context, g grouped, units []compaction.Unit) (compaction.Result, error) {
	select {
	case k.o.compacts <- struct{}{}:
		defer func() { <-k.o.compacts }()
	case <-ctx.Done():
		return compaction.Result{}, context.Cause(ctx)
	}
	var all compaction.Result
	for _, u := range units {
		res, err := compaction.Run(ctx, k.o.files, k.place(g.group.Partition, g.group.Bucket), u, settingsOf(k.table()).target)
		if err != nil {
			return compaction.Result{}, err
		}
		all.Add, all.Remove = append(all.Add, res.Add...), append(all.Remove, res.Remove...)
	}
	return all, nil
}

func (k *keeper) commitCompact(ctx context.Context, res compaction.Result) (*snapshot.Snapshot, error) {
	t := k.table()
	return k.history.Commit(ctx, snapshot.Commit{ID: uuid.NewString(), User: k.o.opts.User, Log: snapshot.LogID(t.Topic.ID), Kind: "COMPACT",
		SchemaID: t.Schema.ID, Add: res.Add, Remove: res.Remove})
}
