package snapshot

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"dtstore/manifest"
	"dtstore/objstore"
	"dtstore/table"
)

// Advance says that a commit covers the offsets Span of a bucket, whose changes were numbered
// with Base.
type Advance struct {
	Bucket table.Bucket
	Span   table.Span
	Base   table.Sequence
}

// Commit is the next state of a table, as a change of the latest one. Flushes advance buckets
// and add files; compactions remove files and add others.
type Commit struct {
	ID       string // uuid; of this commit alone, also if it failed
	User     string // uuid of the process
	Log      LogID  // the table that is meant
	Kind     string // APPEND, COMPACT or OVERWRITE
	SchemaID int64
	Advances []Advance        // at most one for each bucket
	Add      []manifest.Entry // their files exist and are durable
	Remove   []manifest.Entry
	// Properties go into the snapshot beside ours.
	Properties map[string]string
}

// maxTries bounds how often a commit is tried; with its pauses, some six seconds.
const maxTries = 10

// Commit publishes c as the next snapshot (architecture 4, seam C1 to C7). An error that is not
// ErrUnknown means that c is not in the table and never will be:
//
//   - ErrFenced ([FencedError] has the buckets): an advanced bucket does not end at From with that
//     base, or the table is another one (then ErrDropped too, if it is gone);
//   - ErrConflict: a removed file is not live, or added files overlap;
//   - any other: the store failed before anything was published.
//
// After none of them files are deleted: those that c names are the caller's, who leaves them to
// the sweep (C2).
//
// A commit that is tried again in a later call, with the same ID, is found if it landed within
// the last 64 snapshots, advances or removes something, and so cannot pass its own checks twice.
func (t *Table) Commit(ctx context.Context, c Commit) (*Snapshot, error) {
	if err := c.validate(); err != nil {
		return nil, fmt.Errorf("commit %s to %s: %w", c.ID, t.path, err)
	}
	a := &attempt{t: t, c: c, merged: map[string][]manifest.ListEntry{}}
	var cause error
	for try := range maxTries {
		if try > 0 {
			if err := t.pause(ctx, try); err != nil {
				cause = err
				break
			}
		}
		s, err := a.once(ctx)
		if err == nil {
			t.publishHints(ctx, s)
			return s, nil
		}
		cause = err
		if ctx.Err() != nil || isFinal(err) {
			break
		}
	}
	// A fence or a conflict is found only after every put of this call has been accounted for.
	if errors.Is(cause, ErrUnknown) || errors.Is(cause, ErrFenced) || errors.Is(cause, ErrConflict) {
		t.discardOnUnknown(ctx, a, cause)
		return nil, cause
	}
	if len(a.puts) > 0 {
		err := fmt.Errorf("commit %s to %s: %w: %w", c.ID, t.path, ErrUnknown, cause)
		t.discardOnUnknown(ctx, a, err)
		return nil, err
	}
	return nil, fmt.Errorf("commit %s to %s: %w", c.ID, t.path, cause)
}

func isFinal(err error) bool {
	return errors.Is(err, ErrFenced) || errors.Is(err, ErrConflict) || errors.Is(err, ErrUnknown) ||
		errors.Is(err, ErrDropped) || errors.Is(err, ErrNone)
}

// validate refuses what only a bug of the caller's can make.
func (c *Commit) validate() error {
	if c.ID == "" || c.Log == "" || c.User == "" {
		return errors.New("no id, user or log")
	}
	switch c.Kind {
	case "APPEND", "COMPACT", "OVERWRITE":
	default:
		return fmt.Errorf("kind %q", c.Kind)
	}
	seen := map[table.Bucket]Advance{}
	for _, a := range c.Advances {
		if _, twice := seen[a.Bucket]; twice {
			return fmt.Errorf("bucket %d advances twice", a.Bucket)
		}
		if a.Span.From < 0 || a.Span.To < a.Span.From {
			return fmt.Errorf("bucket %d advances over %v", a.Bucket, a.Span)
		}
		seen[a.Bucket] = a
	}
	for i := range c.Add {
		e := &c.Add[i]
		a, ok := seen[e.Bucket]
		if !ok || e.File.Level != 0 || e.File.Source == nil || *e.File.Source != 0 || e.File.Rows == 0 {
			continue
		}
		if from, to := a.Base+table.Sequence(a.Span.From), a.Base+table.Sequence(a.Span.To); e.File.MinSeq < from || e.File.MaxSeq >= to {
			return fmt.Errorf("file %s has sequences %d to %d, its bucket advances over [%d,%d)", e.File.Name, e.File.MinSeq, e.File.MaxSeq, from, to)
		}
	}
	return nil
}

// attempt is one call of Commit.
type attempt struct {
	t *Table
	c Commit

	puts    []put // whose outcome is not known to be no
	written []string
	delta   []manifest.ListEntry // the manifests of c, once written
	list    listFile             // their list, once written
	merged  map[string][]manifest.ListEntry
}

// put is a snapshot that was sent to the store, and what it was made from.
type put struct{ base, next *Snapshot }

// once tries to publish c on top of the latest snapshot.
func (a *attempt) once(ctx context.Context) (*Snapshot, error) {
	t := a.t
	cur, err := t.Latest(ctx)
	if err != nil {
		return nil, a.gone(err)
	}
	if done, err := a.settle(ctx, cur); done != nil || err != nil {
		return done, err
	}
	covered, err := a.check(ctx, cur)
	if err != nil {
		if done, findErr := a.find(ctx, cur, err); done != nil || findErr != nil {
			return done, findErr
		}
		return nil, err
	}
	next, err := a.build(ctx, cur, covered)
	if err != nil {
		return nil, err
	}
	a.puts = append(a.puts, put{cur, next})
	if err := a.publish(ctx, next); err != nil {
		if errors.Is(err, objstore.ErrExist) {
			a.puts = a.puts[:len(a.puts)-1] // this one has lost; an earlier one may have won
		}
		return nil, fmt.Errorf("put snapshot %d: %w", next.ID, err)
	}
	if err := t.inChain(ctx, next, cur); err != nil {
		return nil, a.outcome(next, err)
	}
	t.remember(next)
	return next, nil
}

func (a *attempt) publish(ctx context.Context, next *Snapshot) error {
	if a.t.broken.absent {
		return a.t.store.Put(ctx, a.t.snapshotKey(next.ID), next.raw)
	}
	return a.t.store.PutIfAbsent(ctx, a.t.snapshotKey(next.ID), next.raw)
}

// gone makes of an error of Latest what it means for c.
func (a *attempt) gone(err error) error {
	if !errors.Is(err, ErrDropped) && !errors.Is(err, ErrNone) {
		return err
	}
	if len(a.puts) > 0 { // it may have landed before the table was dropped
		return fmt.Errorf("commit %s to %s: %w: %w", a.c.ID, a.t.path, ErrUnknown, err)
	}
	return a.fenced(a.buckets(), err.Error(), err)
}

func (a *attempt) fenced(buckets []table.Bucket, reason string, cause error) error {
	slices.Sort(buckets)
	return &FencedError{Table: a.t.path, Buckets: buckets, Reason: reason, cause: cause}
}

// buckets returns those that c advances or changes.
func (a *attempt) buckets() []table.Bucket {
	var out []table.Bucket
	for _, adv := range a.c.Advances {
		out = append(out, adv.Bucket)
	}
	for _, entries := range [][]manifest.Entry{a.c.Add, a.c.Remove} {
		for i := range entries {
			if b := entries[i].Bucket; !slices.Contains(out, b) {
				out = append(out, b)
			}
		}
	}
	return out
}

// settle finds out about the puts of earlier tries: whether one of them landed and is in the
// chain, so that c is done. A put landed only if the number it took has our commit.
//
// A put whose number is still free may land later. Nothing is lost by trying again: whatever is
// tried next takes the same number or, if that is taken by then, finds the put here.
func (a *attempt) settle(ctx context.Context, cur *Snapshot) (*Snapshot, error) {
	if a.t.broken.look {
		return nil, nil
	}
	var open []put
	for _, p := range a.puts {
		there, err := a.t.Read(ctx, p.next.ID)
		switch {
		case errors.Is(err, objstore.ErrNotExist):
			if p.next.ID <= cur.ID { // it was taken, by us or by others, and has been freed
				return nil, fmt.Errorf("commit %s to %s: %w: snapshot %d has expired", a.c.ID, a.t.path, ErrUnknown, p.next.ID)
			}
			open = append(open, p)
		case err != nil:
			return nil, err
		case there.CommitID() == a.c.ID:
			if err := a.t.inChain(ctx, there, p.base); err != nil {
				return nil, a.outcome(there, err)
			}
			a.t.remember(there)
			return there, nil
		}
	}
	a.puts = open
	return nil, nil
}

// findDepth bounds how many snapshots find reads.
const findDepth = 64

// find looks for c below cur, after its check failed: an earlier call with the same ID may have
// done it. c is not at or below a snapshot that ends where c begins, and that is where find
// stops; a table's other snapshots are not read.
func (a *attempt) find(ctx context.Context, cur *Snapshot, failed error) (*Snapshot, error) {
	if a.t.broken.look || !(errors.Is(failed, ErrFenced) || errors.Is(failed, ErrConflict)) {
		return nil, nil
	}
	var above *Snapshot
	for s, depth := cur, 0; depth < findDepth; depth++ {
		log, covered, ours := s.Log()
		if ours && log != a.c.Log {
			return nil, nil
		}
		if s.CommitID() == a.c.ID {
			if above != nil && !isChild(above, s) {
				return nil, nil // a stray in a freed place
			}
			return s, nil
		}
		if ours && a.beginsAt(covered) {
			return nil, nil
		}
		below, err := a.t.Read(ctx, s.ID-1)
		if errors.Is(err, objstore.ErrNotExist) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		above, s = s, below
	}
	return nil, nil
}

// beginsAt tells whether no advance of c is covered yet; false if c advances nothing.
func (a *attempt) beginsAt(covered map[table.Bucket]Covered) bool {
	some := false
	for _, adv := range a.c.Advances {
		if adv.Span.Empty() {
			continue
		}
		if covered[adv.Bucket].To > adv.Span.From {
			return false
		}
		some = true
	}
	return some
}

// outcome makes of an error of inChain what it means for c.
func (a *attempt) outcome(next *Snapshot, err error) error {
	if stray := (*strayError)(nil); errors.As(err, &stray) {
		a.puts = slices.DeleteFunc(a.puts, func(p put) bool { return p.next.ID == next.ID })
		if len(a.puts) > 0 {
			return fmt.Errorf("commit %s to %s: %w: %w", a.c.ID, a.t.path, ErrUnknown, err)
		}
		return a.fenced(a.buckets(), err.Error(), nil)
	}
	return fmt.Errorf("commit %s to %s: %w: %w", a.c.ID, a.t.path, ErrUnknown, err)
}

// publishHints tells other readers of s. None of it decides anything, so that it fails is no
// error: LATEST and the consumer that holds back other engines' expiry (seam E3) are put anew
// by the next commit.
func (t *Table) publishHints(ctx context.Context, s *Snapshot) {
	id := strconv.FormatInt(int64(s.ID), 10)
	_ = t.store.Put(ctx, t.key("snapshot", "LATEST"), []byte(id))
	_ = t.store.Put(ctx, t.key("consumer", ownConsumer), []byte("{\n  \"nextSnapshot\" : "+id+"\n}"))
}

const ownConsumer = "consumer-dtstore"

// discardOnUnknown is what a careless committer would do. Only the simulation does it.
func (t *Table) discardOnUnknown(ctx context.Context, a *attempt, err error) {
	if !t.broken.deletions || !errors.Is(err, ErrUnknown) {
		return
	}
	for _, key := range a.written {
		_ = t.store.Delete(ctx, key)
	}
}
