package snapshot

import (
	"context"
	"errors"
	"fmt"

	"dtstore/manifest"
	"dtstore/table"
)

// Create puts the first snapshot of a table whose schema is there and whose log is new: no
// files, and each of its buckets covered up to offset 0 with base 0 (seam C3). Whoever finds a
// schema without a snapshot calls it: the second of two callers with the same log gets what the
// first has put. A table with another log in its place is an error (42P07).
//
// Numbers go on after those of a table that was dropped here before, and what its DROP left
// undone is done first (C4), but for its schema: that has been replaced already. ErrDropped if it
// was the table with this very log.
func (t *Table) Create(ctx context.Context, log LogID, buckets int, schemaID int64) (*Snapshot, error) {
	if log == "" || buckets < 1 {
		return nil, fmt.Errorf("create %s: log %q, %d buckets", t.path, log, buckets)
	}
	c := &creation{t: t, log: log, buckets: buckets, schemaID: schemaID, id: t.newID()}
	var cause error
	for try := range maxTries {
		if try > 0 {
			if err := t.pause(ctx, try); err != nil {
				return nil, fmt.Errorf("create %s: %w", t.path, errors.Join(err, cause))
			}
		}
		s, err := c.once(ctx)
		if err == nil {
			t.publishHints(ctx, s)
			_ = t.store.PutIfAbsent(ctx, t.key("snapshot", "EARLIEST"), fmt.Append(nil, s.ID))
			return s, nil
		}
		cause = err
		if te := (*table.Error)(nil); errors.As(err, &te) || errors.Is(err, ErrDropped) || errors.Is(err, ErrNone) || ctx.Err() != nil {
			break
		}
	}
	return nil, fmt.Errorf("create %s: %w", t.path, cause)
}

// creation is one call of Create.
type creation struct {
	t        *Table
	log      LogID
	buckets  int
	schemaID int64
	id       string
}

func (c *creation) once(ctx context.Context) (*Snapshot, error) {
	t := c.t
	cur, err := t.newest(ctx)
	switch {
	case err == nil && cur.Dropped():
		if log, _, _ := cur.Log(); log == c.log {
			return nil, fmt.Errorf("%w at snapshot %d", ErrDropped, cur.ID)
		}
		if err := t.finishDrop(ctx, cur, nil, false); err != nil {
			return nil, err
		}
		return nil, errors.New("a DROP was finished first")
	case err == nil:
		// Of another engine's snapshots on top, the nearest of ours says whose table it is.
		log, _, _, err := t.Position(ctx, cur)
		if err != nil {
			return nil, err
		}
		if log != c.log {
			return nil, table.Errorf("42P07", "table %s exists already, with the log %s", t.path, log)
		}
		return cur, nil
	case !errors.Is(err, ErrNone):
		return nil, err
	}
	next, err := c.build(ctx)
	if err != nil {
		return nil, err
	}
	if err := t.store.PutIfAbsent(ctx, t.snapshotKey(next.ID), next.raw); err != nil {
		return nil, fmt.Errorf("put snapshot %d: %w", next.ID, err)
	}
	if err := t.inChain(ctx, next, nil); err != nil {
		return nil, err
	}
	t.remember(next)
	return next, nil
}

// build writes the empty lists of the first snapshot.
func (c *creation) build(ctx context.Context) (*Snapshot, error) {
	t := c.t
	first := table.SnapshotID(1)
	d, err := t.readDropped(ctx)
	if err != nil {
		return nil, err
	}
	if d != nil {
		first = d.ID + 1
	}
	if d != nil && d.TopicID == c.log {
		return nil, fmt.Errorf("%w at snapshot %d", ErrDropped, d.ID)
	}
	// Looked at after the mark: a caller who slept over a DROP and a CREATE must not put the
	// first snapshot of a table that is gone.
	switch log, ok, err := t.schemaLog(ctx); {
	case err != nil:
		return nil, err
	case !ok:
		return nil, fmt.Errorf("%w: no schema with a topic id", ErrNone)
	case log != c.log:
		return nil, table.Errorf("42P07", "table %s exists already, with the log %s", t.path, log)
	}
	empty, err := manifest.EncodeList(nil)
	if err != nil {
		return nil, err
	}
	size := int64(len(empty))
	next := &Snapshot{
		ID: first, SchemaID: c.schemaID, BaseListSize: &size, DeltaListSize: &size,
		CommitUser: c.id, CommitIdentifier: int64(first), CommitKind: "APPEND", TimeMillis: t.now().UnixMilli(),
	}
	name := t.newID()
	for i, list := range []*string{&next.BaseList, &next.DeltaList} {
		*list = fmt.Sprintf("manifest-list-%s-%d", name, i)
		if err := t.store.Put(ctx, t.key("manifest", *list), empty); err != nil {
			return nil, fmt.Errorf("put %s of %s: %w", *list, t.path, err)
		}
	}
	covered := map[table.Bucket]Covered{}
	for b := range c.buckets {
		covered[table.Bucket(b)] = Covered{}
	}
	return next, next.stamp(c.log, covered, c.id, "", nil)
}

// Drop ends the table: after it nobody commits to it, its files are gone, and snapshot/dropped
// remains, which keeps a later table of this name from using its numbers (seam C4). The topic is
// the caller's to delete. It may be called again after an error, and then finishes; a table that
// is another by now is an error, [FencedError].
//
// One caller at a time: a store cannot delete a file only if it is still the same, so a second one
// that slept between two calls might delete the schema of the next table of this name.
//
// Drop is a commit: it puts a last snapshot that says so. From then on every reader and committer
// sees it; what follows is only cleaning up.
func (t *Table) Drop(ctx context.Context, log LogID) error {
	var cause error
	for try := range maxTries {
		if try > 0 {
			if err := t.pause(ctx, try); err != nil {
				return fmt.Errorf("drop %s: %w", t.path, errors.Join(err, cause))
			}
		}
		done, err := t.dropOnce(ctx, log)
		if done {
			return err
		}
		cause = err
		if ctx.Err() != nil || errors.Is(err, ErrFenced) {
			break
		}
	}
	return fmt.Errorf("drop %s: %w", t.path, cause)
}

func (t *Table) dropOnce(ctx context.Context, log LogID) (done bool, err error) {
	cur, err := t.newest(ctx)
	if errors.Is(err, ErrNone) {
		return t.dropEmpty(ctx, log)
	}
	if err != nil {
		return false, err
	}
	if cur.Dropped() {
		id, _, _ := cur.Log()
		if id != log {
			return false, &FencedError{Table: t.path, Reason: fmt.Sprintf("the table's log was %s, not %s", id, log), cause: ErrDropped}
		}
		if err := t.finishDrop(ctx, cur, nil, true); err != nil {
			return false, err
		}
		return true, nil
	}
	id, covered, _, err := t.Position(ctx, cur)
	if err != nil {
		return false, err
	}
	if id != log {
		return false, &FencedError{Table: t.path, Reason: fmt.Sprintf("the table's log is %s, not %s", id, log)}
	}
	// What is in the folder before the mark is put is this table's; what comes later may be
	// the next one's.
	files, err := t.dataFiles(ctx)
	if err != nil {
		return false, err
	}
	mark := &Snapshot{
		ID: cur.ID + 1, SchemaID: cur.SchemaID, BaseList: cur.BaseList, BaseListSize: cur.BaseListSize, DeltaList: cur.DeltaList, DeltaListSize: cur.DeltaListSize,
		CommitUser: t.newID(), CommitIdentifier: int64(cur.ID + 1), CommitKind: "OVERWRITE", TimeMillis: max(t.now().UnixMilli(), cur.TimeMillis),
		TotalRecords: cur.TotalRecords, DeltaRecords: 0,
	}
	if err := mark.stamp(log, covered, mark.CommitUser, cur.CommitID(), map[string]string{propDropped: "true"}); err != nil {
		return false, err
	}
	if err := t.store.PutIfAbsent(ctx, t.snapshotKey(mark.ID), mark.raw); err != nil {
		return false, fmt.Errorf("put snapshot %d: %w", mark.ID, err)
	}
	if err := t.inChain(ctx, mark, cur); err != nil {
		return false, err
	}
	if err := t.finishDrop(ctx, mark, files, true); err != nil {
		return false, err
	}
	return true, nil
}

// dropEmpty drops a table that has no snapshot: one whose DROP was finished before, or whose
// CREATE did not get that far. The latter gets its first snapshot now, so that there is something
// to mark.
func (t *Table) dropEmpty(ctx context.Context, log LogID) (done bool, err error) {
	id, ok, err := t.schemaLog(ctx)
	if err != nil {
		return false, err
	}
	if !ok || id != log {
		return true, nil
	}
	c := &creation{t: t, log: log, buckets: 1, id: t.newID()}
	if _, err := c.once(ctx); err != nil {
		return false, err
	}
	return false, errors.New("the table had no snapshot")
}
