package snapshot

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"dtstore/manifest"
	"dtstore/objstore"
)

// use collects what snapshots name. Names are unique for ever, so a name in its place is enough.
type use struct {
	files map[string]bool // "manifest/x", "index/x", "statistics/x"
	data  map[string]bool // "bucket-b/x"
}

func newUse() *use { return &use{map[string]bool{}, map[string]bool{}} }

func dataName(e *manifest.Entry, file string) string {
	if e.Bucket == -2 {
		return "bucket-postpone/" + file
	}
	return "bucket-" + strconv.Itoa(int(e.Bucket)) + "/" + file
}

func (u *use) addData(e *manifest.Entry) {
	u.data[dataName(e, e.File.Name)] = true
	for _, x := range e.File.ExtraFiles {
		u.data[dataName(e, x)] = true
	}
}

// isData tells whether rel, a key within the table's folder, is a data file of u.
func (u *use) isData(rel string) bool {
	name, ok := bucketFile(rel)
	return ok && u.data[name]
}

// names tells whether rel is named by the snapshots of u.
func (u *use) names(rel string) bool { return u.files[rel] || u.isData(rel) }

// bucketFile returns the last two segments of a key, "bucket-b/x", if it lies in a bucket.
func bucketFile(rel string) (string, bool) {
	i := strings.LastIndexByte(rel, '/')
	if i < 0 {
		return "", false
	}
	name := rel[strings.LastIndexByte(rel[:i], '/')+1:]
	return name, strings.HasPrefix(name, "bucket-")
}

// listRef names a manifest list, with its bytes if known.
type listRef struct {
	name string
	size *int64
}

// lists returns the manifest lists that s names.
func (s *Snapshot) lists() []listRef {
	out := []listRef{{s.BaseList, s.BaseListSize}, {s.DeltaList, s.DeltaListSize}}
	if s.ChangelogList != nil {
		out = append(out, listRef{*s.ChangelogList, s.ChangelogSize})
	}
	return out
}

// use adds all that s names, deleted files too. With lenient, what is missing is passed over: it
// has been removed.
func (t *Table) use(ctx context.Context, u *use, s *Snapshot, lenient bool) error {
	if err := t.useManifests(ctx, u, s, lenient); err != nil {
		return err
	}
	for _, l := range s.lists() {
		list, err := t.readList(ctx, l.name, l.size)
		if lenient && errors.Is(err, objstore.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		for _, m := range list {
			entries, err := t.readManifest(ctx, m)
			if lenient && errors.Is(err, objstore.ErrNotExist) {
				continue
			}
			if err != nil {
				return err
			}
			for i := range entries {
				u.addData(&entries[i])
			}
		}
	}
	return nil
}

// useManifests adds the lists, manifests and other metadata files that s names.
func (t *Table) useManifests(ctx context.Context, u *use, s *Snapshot, lenient bool) error {
	if s.IndexManifest != nil {
		u.files["manifest/"+*s.IndexManifest] = true
	}
	if s.Statistics != nil {
		u.files["statistics/"+*s.Statistics] = true
	}
	for _, l := range s.lists() {
		u.files["manifest/"+l.name] = true
		list, err := t.readList(ctx, l.name, l.size)
		if lenient && errors.Is(err, objstore.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		for _, m := range list {
			u.files["manifest/"+m.Name] = true
		}
	}
	return nil
}

// useLive adds what a reader of s needs.
func (t *Table) useLive(ctx context.Context, u *use, s *Snapshot) error {
	if err := t.useManifests(ctx, u, s, false); err != nil {
		return err
	}
	live, err := t.Entries(ctx, s, Filter{})
	if err != nil {
		return err
	}
	for i := range live {
		u.addData(&live[i])
	}
	return nil
}

// useTags adds what readers of the table's tags need. A tag is a snapshot under another name.
func (t *Table) useTags(ctx context.Context, u *use) error {
	for o, err := range t.store.List(ctx, t.key("tag", "tag-")) {
		if err != nil {
			return fmt.Errorf("list tags of %s: %w", t.path, err)
		}
		b, err := t.store.Get(ctx, o.Key)
		if errors.Is(err, objstore.ErrNotExist) {
			continue
		}
		if err != nil {
			return fmt.Errorf("read tag %s: %w", o.Key, err)
		}
		s, err := Decode(b)
		if err != nil {
			return fmt.Errorf("read tag %s: %w", o.Key, err)
		}
		if err := t.useLive(ctx, u, s); err != nil {
			return err
		}
	}
	return nil
}

// Sweep removes what no snapshot and no tag names and was put before olderThan, and returns the
// keys (paimon-format 12.8). Younger files may belong to a commit that is under way. Looked at
// are manifests, statistics and the files in buckets; a table with branches or index files, which
// we do not read, is left alone.
func (t *Table) Sweep(ctx context.Context, olderThan time.Time) ([]string, error) {
	// Candidates are listed before the snapshots are: what comes to be named in between was
	// not there then, or is found to be named.
	var candidates []string
	for o, err := range t.store.List(ctx, t.path+"/") {
		if err != nil {
			return nil, fmt.Errorf("sweep %s: %w", t.path, err)
		}
		rel := strings.TrimPrefix(o.Key, t.path+"/")
		if strings.HasPrefix(rel, "branch/") || strings.HasPrefix(rel, "index/") || strings.HasPrefix(rel, "changelog/") {
			return nil, nil
		}
		_, inBucket := bucketFile(rel)
		if (inBucket || strings.HasPrefix(rel, "manifest/") || strings.HasPrefix(rel, "statistics/")) && o.Modified.Before(olderThan) {
			candidates = append(candidates, o.Key)
		}
	}
	u, err := t.allUsed(ctx)
	if err != nil {
		return nil, fmt.Errorf("sweep %s: %w", t.path, err)
	}
	var removed []string
	for _, key := range candidates {
		if u.names(strings.TrimPrefix(key, t.path+"/")) {
			continue
		}
		if err := t.store.Delete(ctx, key); err != nil {
			return removed, fmt.Errorf("sweep %s: %w", t.path, err)
		}
		removed = append(removed, key)
	}
	return removed, nil
}

// allUsed collects what all snapshots and tags name. A snapshot that expires meanwhile takes
// nothing with it that another needs.
func (t *Table) allUsed(ctx context.Context) (*use, error) {
	u := newUse()
	if err := t.useTags(ctx, u); err != nil {
		return nil, err
	}
	h, err := t.list(ctx)
	if err != nil {
		return nil, err
	}
	for _, id := range h.ids {
		s, err := t.Read(ctx, id)
		if errors.Is(err, objstore.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if err := t.use(ctx, u, s, false); err != nil {
			if _, again := t.Read(ctx, id); errors.Is(again, objstore.ErrNotExist) {
				continue // it expired while it was read
			}
			return nil, err
		}
	}
	return u, nil
}
