package snapshot

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"dtstore/manifest"
	"dtstore/objstore"
	"dtstore/table"
)

// ExpireOptions say which snapshots go. Now is required; the other zero values are Paimon's
// defaults.
type ExpireOptions struct {
	RetainMin int           // so many newest stay; 0 means 10
	Retained  time.Duration // what was the latest state within it stays; 0 means 1 h
	Now       time.Time
	// Pinned tells of a snapshot that somebody reads; it and those after it stay. nil: none.
	Pinned func(table.SnapshotID) bool
	// DataKey returns the key of a data file, for which the table's folder is listed if it is nil.
	DataKey func(manifest.Entry) string
}

// Expired says what an expiry removed.
type Expired struct {
	Snapshots []table.SnapshotID // ascending
	Files     []string           // keys of data files, manifests and lists
}

// expireLimit bounds how many snapshots go in one call.
const expireLimit = 100

// Expire removes the oldest snapshots and the files that only they had (paimon-format 12.6,
// seam E5). Never removed are the newest RetainMin, the newest that has our key, those pinned,
// those younger than Retained, those that another consumer still reads, and what tags hold.
//
// Data files go first, then manifests, then the snapshots in ascending order: broken off at any
// call, what is left is a history without holes, and the next call goes on. On an error, what was
// removed so far is returned too.
func (t *Table) Expire(ctx context.Context, o ExpireOptions) (Expired, error) {
	var done Expired
	h, err := t.list(ctx)
	if err != nil {
		return done, err
	}
	chain := h.chain()
	if len(chain) < len(h.ids) {
		// A hole is real only if its number is free now: the listing may have missed one
		// that was put meanwhile. Numbers are freed in ascending order, so below a free one
		// there are only strays.
		_, err := t.store.Stat(ctx, t.snapshotKey(chain[0]-1))
		if !errors.Is(err, objstore.ErrNotExist) {
			return done, err
		}
	}
	end, err := t.expireEnd(ctx, chain, o)
	if err != nil || end <= 0 {
		return done, err
	}
	if newest, err := t.newest(ctx); err != nil || newest.Dropped() {
		return done, err
	}
	keep := newUse()
	first, err := t.Read(ctx, chain[end])
	if err != nil {
		return done, err
	}
	if err := t.useTags(ctx, keep); err != nil {
		return done, err
	}
	if err := t.useLive(ctx, keep, first); err != nil {
		return done, err
	}
	gone, err := t.collectGone(ctx, chain[:end], first, keep, o)
	if err != nil {
		return done, err
	}
	for _, key := range gone {
		if err := t.store.Delete(ctx, key); err != nil {
			return done, fmt.Errorf("expire snapshots of %s: %w", t.path, err)
		}
		done.Files = append(done.Files, key)
	}
	// Strays below the history go with the oldest.
	for _, id := range append(h.ids[:len(h.ids)-len(chain):len(h.ids)-len(chain)], chain[:end]...) {
		if err := t.store.Delete(ctx, t.snapshotKey(id)); err != nil {
			return done, fmt.Errorf("expire snapshot %d of %s: %w", id, t.path, err)
		}
		done.Snapshots = append(done.Snapshots, id)
	}
	_ = t.store.Put(ctx, t.key("snapshot", "EARLIEST"), fmt.Append(nil, chain[end]))
	return done, nil
}

// expireEnd returns how many of chain go.
func (t *Table) expireEnd(ctx context.Context, chain []table.SnapshotID, o ExpireOptions) (int, error) {
	if o.RetainMin == 0 {
		o.RetainMin = 10
	}
	if o.Retained == 0 {
		o.Retained = time.Hour
	}
	end := min(len(chain)-max(o.RetainMin, 1), expireLimit)
	if end <= 0 {
		return 0, nil
	}
	consumers, err := t.consumers(ctx)
	if err != nil {
		return 0, err
	}
	for i, id := range chain[:end] {
		if (o.Pinned != nil && o.Pinned(id)) || id >= consumers {
			end = i
			break
		}
	}
	// The newest with our key: it stays, and nothing above it is in question.
	ours := end
	for i := len(chain) - 1; i >= 0; i-- {
		s, err := t.Read(ctx, chain[i])
		if err != nil {
			return 0, err
		}
		if _, _, ok := s.Log(); ok {
			ours = i
			break
		}
		ours = 0 // none seen yet: if none is, all stay
	}
	end = min(end, ours)
	before := o.Now.Add(-o.Retained).UnixMilli()
	for i := range end {
		// chain[i] was the latest state until the next one came.
		s, err := t.Read(ctx, chain[i+1])
		if err != nil {
			return 0, err
		}
		if s.TimeMillis > before {
			return i, nil
		}
	}
	return end, nil
}

// consumers returns the lowest snapshot that a consumer other than ours has yet to read.
func (t *Table) consumers(ctx context.Context) (table.SnapshotID, error) {
	lowest := table.SnapshotID(1<<63 - 1)
	prefix := t.key("consumer", "")
	for o, err := range t.store.List(ctx, prefix) {
		if err != nil {
			return 0, fmt.Errorf("list consumers of %s: %w", t.path, err)
		}
		name := strings.TrimPrefix(o.Key, prefix)
		if name == ownConsumer || !strings.HasPrefix(name, "consumer-") {
			continue
		}
		b, err := t.store.Get(ctx, o.Key)
		if errors.Is(err, objstore.ErrNotExist) {
			continue
		}
		if err != nil {
			return 0, fmt.Errorf("read %s of %s: %w", name, t.path, err)
		}
		var c struct {
			NextSnapshot table.SnapshotID `json:"nextSnapshot"`
		}
		if err := json.Unmarshal(b, &c); err != nil {
			return 0, fmt.Errorf("read %s of %s: %w", name, t.path, err)
		}
		lowest = min(lowest, c.NextSnapshot)
	}
	return lowest, nil
}

// collectGone returns the keys that only the expired snapshots use, in the order of removal.
func (t *Table) collectGone(ctx context.Context, expired []table.SnapshotID, first *Snapshot, keep *use, o ExpireOptions) ([]string, error) {
	gone := newUse()
	var data []string
	seen := map[string]bool{}
	add := func(key string) {
		if !seen[key] {
			seen[key] = true
			data = append(data, key)
		}
	}
	deltas := make([]*Snapshot, 0, len(expired)+1)
	for _, id := range expired {
		s, err := t.Read(ctx, id)
		if err != nil {
			return nil, err
		}
		deltas = append(deltas, s)
		if err := t.useManifests(ctx, gone, s, true); err != nil {
			return nil, err
		}
	}
	// A file that a commit deleted was last read in the snapshot below it: so the deletions of
	// the oldest that stays count too.
	for _, s := range append(deltas, first) {
		entries, err := t.DeltaEntries(ctx, s)
		if errors.Is(err, objstore.ErrNotExist) && s != first {
			continue // an expiry that was broken off has been here
		}
		if err != nil {
			return nil, err
		}
		for i := range entries {
			e := &entries[i]
			if e.Kind != manifest.Delete || keep.data[dataName(e, e.File.Name)] {
				continue
			}
			gone.addData(e)
			if o.DataKey != nil {
				key := o.DataKey(*e)
				add(key)
				folder := key[:strings.LastIndexByte(key, '/')+1]
				for _, x := range e.File.ExtraFiles {
					add(folder + x)
				}
			}
		}
	}
	if o.DataKey == nil && len(gone.data) > 0 {
		for obj, err := range t.store.List(ctx, t.path+"/") {
			if err != nil {
				return nil, fmt.Errorf("list files of %s: %w", t.path, err)
			}
			if rel := strings.TrimPrefix(obj.Key, t.path+"/"); gone.isData(rel) {
				add(obj.Key)
			}
		}
	}
	var files []string
	for name := range gone.files {
		if !keep.files[name] {
			files = append(files, t.path+"/"+name)
		}
	}
	slices.SortFunc(files, func(a, b string) int { return cmp.Or(t.rank(a)-t.rank(b), strings.Compare(a, b)) })
	return append(data, files...), nil
}
