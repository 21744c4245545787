package snapshot

import (
	"context"
	"errors"
	"fmt"

	"dtstore/objstore"
)

// strayError says that a snapshot was put in a number that had been freed, and was taken back.
type strayError struct{ reason string }

func (e *strayError) Error() string { return e.reason }

// isChild tells whether above was made on top of below.
func isChild(above, below *Snapshot) bool {
	parent, ours := above.Properties[propParent]
	return !ours || parent == below.CommitID()
}

// baseTries bounds how often the base is asked for.
const baseTries = 5

// inChain finds out whether next, which has just been put on top of base (nil if it is a first
// one) or was found in its place, is part of the table's history: nil if it is.
//
// A put-if-absent also succeeds on a number that was freed: by expiry, or by DROP (seam C4). If
// base is still there, unchanged, next's number has not been freed, as numbers are freed in
// ascending order. If base is gone, either it was freed before the put, and next is a stray that
// must be taken back, or after it, by somebody who saw next in its place. What is above tells:
//
//   - nothing is above, so next is the newest, and the newest is never freed but by DROP;
//   - the snapshot right above was made on top of next, as its dtstore.parent says; or was not;
//   - there are some above but not right above: the history has no holes, so next is a stray.
//
// Taking back needs no luck: nobody else puts or deletes this number, except an expiry that
// clears strays, and readers look from the newest downwards.
//
// A *strayError means that next is not in the table; any other error that nobody knows.
func (t *Table) inChain(ctx context.Context, next, base *Snapshot) error {
	if t.broken.base {
		return nil
	}
	if base != nil {
		for try := 1; ; try++ {
			ok, err := t.unchanged(ctx, base)
			if err == nil && ok {
				return nil
			}
			if err == nil {
				break
			}
			if try == baseTries {
				return err
			}
			if err := t.pause(ctx, try); err != nil {
				return err
			}
		}
	}
	h, err := t.list(ctx)
	if err != nil {
		return err
	}
	if h.dropped != nil && next.ID <= h.dropped.ID {
		// Put before the DROP or after it: in neither case is it of use to anybody.
		if err := t.store.Delete(ctx, t.snapshotKey(next.ID)); err != nil {
			return fmt.Errorf("take back snapshot %d of %s: %w", next.ID, t.path, err)
		}
		return fmt.Errorf("%w at snapshot %d, snapshot %d was put before or after", ErrDropped, h.dropped.ID, next.ID)
	}
	if len(h.ids) == 0 {
		return fmt.Errorf("snapshot %d went away after it was put", next.ID)
	}
	newest := h.ids[len(h.ids)-1]
	if newest == next.ID {
		return nil
	}
	stray := &strayError{fmt.Sprintf("the table was at snapshot %d already when %d was put", newest, next.ID)}
	above, err := t.Read(ctx, next.ID+1)
	if errors.Is(err, objstore.ErrNotExist) {
		// It was there once, as newer ones are, so it has been freed; and next before it, if
		// it was in the history. takeBack looks whether next is still there.
		return t.takeBack(ctx, next, stray)
	}
	if err != nil {
		return err
	}
	switch _, ours := above.Properties[propParent]; {
	case !ours:
		return fmt.Errorf("snapshot %d was made by another engine, on top of %d or of what was there before", above.ID, next.ID)
	case isChild(above, next):
		return nil
	}
	return t.takeBack(ctx, next, stray)
}

// takeBack removes next if it is still there, and returns why.
func (t *Table) takeBack(ctx context.Context, next *Snapshot, why *strayError) error {
	there, err := t.Read(ctx, next.ID)
	switch {
	case errors.Is(err, objstore.ErrNotExist):
		return fmt.Errorf("snapshot %d went away after it was put", next.ID)
	case err != nil:
		return err
	case there.CommitID() != next.CommitID():
		return why
	}
	if err := t.store.Delete(ctx, t.snapshotKey(next.ID)); err != nil {
		return fmt.Errorf("take back snapshot %d of %s: %w", next.ID, t.path, err)
	}
	return why
}
