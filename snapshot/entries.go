package snapshot

import (
	"context"
	"fmt"
	"slices"

	"dtstore/manifest"
	"dtstore/table"
)

// Filter says which entries are wanted. The zero value wants all.
type Filter struct {
	// Bounds tells from the bounds of some partitions whether a wanted one may be among them;
	// nil means it may. It saves reading manifests.
	Bounds func(manifest.Stats) bool
	// Partition tells whether a partition is wanted; nil means every one. It is asked once for
	// each partition of a manifest.
	Partition func(table.Partition) bool
	// Buckets are the wanted ones; nil means all.
	Buckets []table.Bucket
}

// InPartitions returns the filter that wants the given partitions of a table with the schema s.
func InPartitions(s *table.Schema, wanted ...table.Partition) (Filter, error) {
	types := s.PartitionTypes()
	rows := make([]table.Row, len(wanted))
	set := make(map[table.Partition]bool, len(wanted))
	for i, p := range wanted {
		row, err := s.PartitionRow(p)
		if err != nil {
			return Filter{}, fmt.Errorf("partition of %d bytes: %w", len(p), err)
		}
		rows[i], set[p] = row, true
	}
	return Filter{
		Partition: func(p table.Partition) bool { return set[p] },
		Bounds: func(s manifest.Stats) bool {
			columns, err := s.Decode(types)
			if err != nil {
				return true // what cannot be read excludes nothing
			}
			return slices.ContainsFunc(rows, func(row table.Row) bool { return within(types, columns, row) })
		},
	}, nil
}

// within tells whether a row can lie in the bounds of the columns.
func within(types []table.Type, columns []manifest.Column, row table.Row) bool {
	for i, v := range row {
		c := columns[i]
		switch {
		case v.IsNull():
			if c.Nulls != nil && *c.Nulls == 0 {
				return false
			}
		case c.Min.IsNull() || c.Max.IsNull():
			// No bounds: either unknown, or every value is null. Only the latter could
			// exclude v, and cannot be told apart here.
		case table.Compare(types[i], v, c.Min) < 0, table.Compare(types[i], v, c.Max) > 0:
			return false
		}
	}
	return true
}

// Entries returns the live files of s that f wants, in the order in which they were added. They
// are shared with the cache: not to be modified.
func (t *Table) Entries(ctx context.Context, s *Snapshot, f Filter) ([]manifest.Entry, error) {
	if f.Bounds == nil && f.Partition == nil && f.Buckets == nil {
		return t.live(ctx, s)
	}
	return t.pick(ctx, s, f)
}

// live is all live files of a snapshot. Its lists have names of their own, and so the answer is
// kept by them: point queries ask for it again and again.
func (t *Table) live(ctx context.Context, s *Snapshot) ([]manifest.Entry, error) {
	key := t.key("live", s.BaseList+" "+s.DeltaList)
	if c, ok := t.cache.get(key); ok {
		return c.entries, nil
	}
	live, err := t.pick(ctx, s, Filter{})
	if err != nil {
		return nil, err
	}
	live = slices.Clip(live)
	if n := entriesBytes(live); n <= t.cache.limit/4 { // a large table's manifests must not make room for it
		t.cache.put(&cached{key: key, bytes: n, entries: live})
	}
	return live, nil
}

// pick reads the manifests, and folds what f wants.
func (t *Table) pick(ctx context.Context, s *Snapshot, f Filter) ([]manifest.Entry, error) {
	list, err := t.manifests(ctx, s)
	if err != nil {
		return nil, err
	}
	var all []manifest.Entry
	for _, m := range list {
		if !f.mayHold(m) {
			continue
		}
		entries, err := t.readManifest(ctx, m)
		if err != nil {
			return nil, err
		}
		all = f.pick(all, entries)
	}
	live, err := manifest.Fold(all)
	if err != nil {
		return nil, fmt.Errorf("live files of %s snapshot %d: %w", t.path, s.ID, err)
	}
	return live, nil
}

// DeltaEntries returns what the commit of s itself added and deleted.
func (t *Table) DeltaEntries(ctx context.Context, s *Snapshot) ([]manifest.Entry, error) {
	list, err := t.readList(ctx, s.DeltaList, s.DeltaListSize)
	if err != nil {
		return nil, err
	}
	var all []manifest.Entry
	for _, m := range list {
		entries, err := t.readManifest(ctx, m)
		if err != nil {
			return nil, err
		}
		all = append(all, entries...)
	}
	return all, nil
}

// mayHold tells whether an entry of m may be wanted. A file's deletion has the partition and
// bucket of its addition, so they are left out together.
func (f Filter) mayHold(m manifest.ListEntry) bool {
	if f.Buckets != nil && m.MinBucket != nil && m.MaxBucket != nil &&
		!slices.ContainsFunc(f.Buckets, func(b table.Bucket) bool { return int(b) >= *m.MinBucket && int(b) <= *m.MaxBucket }) {
		return false
	}
	return f.Bounds == nil || f.Bounds(m.Partitions)
}

// pick appends the wanted ones of entries to dst.
func (f Filter) pick(dst, entries []manifest.Entry) []manifest.Entry {
	if f.Partition == nil && f.Buckets == nil {
		return append(dst, entries...)
	}
	wanted := map[table.Partition]bool{}
	for i := range entries {
		e := &entries[i]
		if f.Buckets != nil && !slices.Contains(f.Buckets, e.Bucket) {
			continue
		}
		if f.Partition != nil {
			want, known := wanted[e.Partition]
			if !known {
				want = f.Partition(e.Partition)
				wanted[e.Partition] = want
			}
			if !want {
				continue
			}
		}
		dst = append(dst, *e)
	}
	return dst
}

// manifests returns all manifests of s, oldest first.
func (t *Table) manifests(ctx context.Context, s *Snapshot) ([]manifest.ListEntry, error) {
	base, err := t.readList(ctx, s.BaseList, s.BaseListSize)
	if err != nil {
		return nil, err
	}
	delta, err := t.readList(ctx, s.DeltaList, s.DeltaListSize)
	if err != nil {
		return nil, err
	}
	return slices.Concat(base, delta), nil
}

// readList reads a manifest list; size is its length if that is known, and then checked: a file
// cut off between two blocks looks whole.
func (t *Table) readList(ctx context.Context, name string, size *int64) ([]manifest.ListEntry, error) {
	key := t.key("manifest", name)
	if c, ok := t.cache.get(key); ok {
		return c.list, nil
	}
	b, err := t.store.Get(ctx, key)
	if err != nil {
		return nil, fmt.Errorf("read manifest list %s of %s: %w", name, t.path, err)
	}
	if size != nil && *size != int64(len(b)) {
		return nil, fmt.Errorf("read manifest list %s of %s: %d bytes instead of %d", name, t.path, len(b), *size)
	}
	list, err := manifest.DecodeList(b)
	if err != nil {
		return nil, fmt.Errorf("read manifest list %s of %s: %w", name, t.path, err)
	}
	for _, m := range list {
		if err := checkName(m.Name); err != nil {
			return nil, fmt.Errorf("read manifest list %s of %s: %w", name, t.path, err)
		}
	}
	t.cache.put(&cached{key: key, bytes: listBytes(list), list: list})
	return list, nil
}

func (t *Table) readManifest(ctx context.Context, m manifest.ListEntry) ([]manifest.Entry, error) {
	key := t.key("manifest", m.Name)
	if c, ok := t.cache.get(key); ok {
		return c.entries, nil
	}
	b, err := t.store.Get(ctx, key)
	if err != nil {
		return nil, fmt.Errorf("read manifest %s of %s: %w", m.Name, t.path, err)
	}
	if m.Size != int64(len(b)) {
		return nil, fmt.Errorf("read manifest %s of %s: %d bytes instead of %d", m.Name, t.path, len(b), m.Size)
	}
	entries, err := manifest.DecodeEntries(b)
	if err != nil {
		return nil, fmt.Errorf("read manifest %s of %s: %w", m.Name, t.path, err)
	}
	if m.Added+m.Deleted != int64(len(entries)) {
		return nil, fmt.Errorf("read manifest %s of %s: %d entries instead of %d", m.Name, t.path, len(entries), m.Added+m.Deleted)
	}
	for i := range entries {
		for _, name := range append([]string{entries[i].File.Name}, entries[i].File.ExtraFiles...) {
			if err := checkName(name); err != nil {
				return nil, fmt.Errorf("read manifest %s of %s: %w", m.Name, t.path, err)
			}
		}
	}
	t.cache.put(&cached{key: key, bytes: entriesBytes(entries), entries: entries})
	return entries, nil
}
