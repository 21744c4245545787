package snapshot

import (
	"context"
	"fmt"
	"slices"

	"dtstore/manifest"
	"dtstore/table"
)

// check tells whether c may come on top of cur, and returns what is covered before it.
func (a *attempt) check(ctx context.Context, cur *Snapshot) (map[table.Bucket]Covered, error) {
	log, covered, _, err := a.t.Position(ctx, cur)
	if err != nil {
		return nil, err
	}
	if !a.t.broken.fence {
		if log != a.c.Log {
			return nil, a.fenced(a.buckets(), fmt.Sprintf("the table's log is %s, not %s", log, a.c.Log), nil)
		}
		if buckets, reason := mismatch(covered, a.c.Advances); len(buckets) > 0 {
			return nil, a.fenced(buckets, reason, nil)
		}
	}
	return covered, a.checkFiles(ctx, cur)
}

// mismatch returns the buckets that do not end where their advance begins, and why the first
// does not.
func mismatch(covered map[table.Bucket]Covered, advances []Advance) (buckets []table.Bucket, reason string) {
	for _, adv := range advances {
		c, ok := covered[adv.Bucket]
		if ok && c.To == adv.Span.From && c.Base == adv.Base {
			continue
		}
		if len(buckets) == 0 {
			reason = fmt.Sprintf("bucket %d is covered up to %d with base %d, the commit begins at %d with base %d", adv.Bucket, c.To, c.Base, adv.Span.From, adv.Base)
			if !ok {
				reason = fmt.Sprintf("the table has no bucket %d", adv.Bucket)
			}
		}
		buckets = append(buckets, adv.Bucket)
	}
	return buckets, reason
}

// checkFiles looks whether the removed files are live in cur and whether levels ≥ 1 stay
// disjoint (invariant 5, seam C7). A commit that removes nothing and adds to level 0 alone
// cannot break either: then no manifest is read.
func (a *attempt) checkFiles(ctx context.Context, cur *Snapshot) error {
	groups := map[manifest.Group]bool{} // true: the result must be looked at
	for i := range a.c.Remove {
		groups[a.c.Remove[i].Group()] = false
	}
	for i := range a.c.Add {
		if e := &a.c.Add[i]; e.File.Level > 0 || len(a.c.Remove) > 0 {
			groups[e.Group()] = groups[e.Group()] || e.File.Level > 0
		}
	}
	if len(groups) == 0 {
		return nil
	}
	schema, err := a.t.schema(ctx, a.c.SchemaID)
	if err != nil {
		return err
	}
	var partitions []table.Partition
	var buckets []table.Bucket
	for g := range groups {
		if !slices.Contains(partitions, g.Partition) {
			partitions = append(partitions, g.Partition)
		}
		if !slices.Contains(buckets, g.Bucket) {
			buckets = append(buckets, g.Bucket)
		}
	}
	f, err := InPartitions(schema, partitions...)
	if err != nil {
		return err
	}
	f.Buckets = buckets
	live, err := a.t.Entries(ctx, cur, f)
	if err != nil {
		return err
	}
	result, err := a.apply(live)
	if err != nil {
		return fmt.Errorf("commit %s to %s: %w: %w", a.c.ID, a.t.path, ErrConflict, err)
	}
	byGroup := map[manifest.Group][]manifest.Entry{}
	for _, e := range result {
		if groups[e.Group()] {
			byGroup[e.Group()] = append(byGroup[e.Group()], e)
		}
	}
	for _, entries := range byGroup {
		if _, err := manifest.Runs(schema, entries); err != nil {
			return fmt.Errorf("commit %s to %s: %w: %w", a.c.ID, a.t.path, ErrConflict, err)
		}
	}
	return nil
}

// apply returns live with c's changes, or says which of them cannot be.
func (a *attempt) apply(live []manifest.Entry) ([]manifest.Entry, error) {
	byID := make(map[string]manifest.Entry, len(live)+len(a.c.Add))
	for _, e := range live {
		byID[e.Identity()] = e
	}
	for _, e := range a.c.Remove {
		id := e.Identity()
		if _, ok := byID[id]; !ok && !a.t.broken.live {
			return nil, fmt.Errorf("file %s of bucket %d level %d is not live", e.File.Name, e.Bucket, e.File.Level)
		}
		delete(byID, id)
	}
	for _, e := range a.c.Add {
		id := e.Identity()
		if _, ok := byID[id]; ok && !a.t.broken.live {
			return nil, fmt.Errorf("file %s of bucket %d level %d is live already", e.File.Name, e.Bucket, e.File.Level)
		}
		e.Kind = manifest.Add
		byID[id] = e
	}
	out := make([]manifest.Entry, 0, len(byID))
	for _, e := range byID {
		out = append(out, e)
	}
	return out, nil
}
