package snapshot

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"dtstore/objstore"
	"dtstore/table"
)

// finishDrop removes what a dropped table leaves, in an order in which it can be broken off at
// any call and begun again: snapshot/dropped first, so that its numbers stay used up; then its
// files; its snapshots last and ascending, as expiry does.
//
// files are the table's, listed before it was marked. If nil, an earlier DROP was broken off: then
// only what its snapshots name is removed, since what else lies there may be the next table's
// already, and a sweep takes the rest.
//
// schemas says to remove the schema files too, if they are still those of the marked table.
func (t *Table) finishDrop(ctx context.Context, mark *Snapshot, files []string, schemas bool) error {
	log, _, _ := mark.Log()
	d, err := t.readDropped(ctx)
	if err != nil && !errors.Is(err, errDamaged) {
		return err
	}
	if d == nil || d.ID < mark.ID {
		b, err := json.Marshal(droppedFile{mark.ID, log})
		if err != nil {
			return err
		}
		if err := t.store.Put(ctx, t.key("snapshot", "dropped"), b); err != nil {
			return fmt.Errorf("mark %s as dropped: %w", t.path, err)
		}
	}
	ids, err := t.idsUpTo(ctx, mark.ID)
	if err != nil {
		return err
	}
	if files == nil {
		if files, err = t.namedBy(ctx, ids); err != nil {
			return err
		}
	}
	if schemas {
		more, err := t.schemaFiles(ctx, log)
		if err != nil {
			return err
		}
		files = append(files, more...)
	}
	files = append(files, t.key("consumer", ownConsumer), t.key("snapshot", "LATEST"), t.key("snapshot", "EARLIEST"))
	for _, key := range files {
		if err := t.store.Delete(ctx, key); err != nil {
			return fmt.Errorf("drop %s: %w", t.path, err)
		}
	}
	for _, id := range ids {
		if err := t.store.Delete(ctx, t.snapshotKey(id)); err != nil {
			return fmt.Errorf("drop %s: %w", t.path, err)
		}
	}
	t.removeFolders(ctx, files)
	return nil
}

// schemaFiles lists the schemas if the newest is of the table with that log.
func (t *Table) schemaFiles(ctx context.Context, log LogID) ([]string, error) {
	id, ok, err := t.schemaLog(ctx)
	if err != nil || !ok || id != log {
		return nil, err
	}
	var out []string
	for o, err := range t.store.List(ctx, t.key("schema", "")) {
		if err != nil {
			return nil, fmt.Errorf("list schemas of %s: %w", t.path, err)
		}
		out = append(out, o.Key)
	}
	return out, nil
}

// removeFolders removes the folders of files, where nothing else lies in them; innermost first.
// That one stays is no harm.
func (t *Table) removeFolders(ctx context.Context, files []string) {
	folders := map[string]bool{}
	for _, key := range files {
		for i := strings.LastIndexByte(key, '/'); i > len(t.path); i = strings.LastIndexByte(key[:i], '/') {
			folders[key[:i+1]] = true
		}
	}
	delete(folders, t.key("snapshot", ""))
	var order []string
	for f := range folders {
		order = append(order, f)
	}
	slices.SortFunc(order, func(a, b string) int { return strings.Count(b, "/") - strings.Count(a, "/") })
	for _, f := range order {
		_ = t.store.Delete(ctx, f)
	}
}

// idsUpTo lists the snapshots up to last, also those that list leaves out.
func (t *Table) idsUpTo(ctx context.Context, last table.SnapshotID) ([]table.SnapshotID, error) {
	var ids []table.SnapshotID
	prefix := t.key("snapshot", "")
	for o, err := range t.store.List(ctx, prefix) {
		if err != nil {
			return nil, fmt.Errorf("list snapshots of %s: %w", t.path, err)
		}
		if id, ok := snapshotID(strings.TrimPrefix(o.Key, prefix)); ok && id <= last {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids, nil
}

// dataFiles lists everything in the table's folder but schemas and snapshots.
func (t *Table) dataFiles(ctx context.Context) ([]string, error) {
	out := []string{}
	for o, err := range t.store.List(ctx, t.path+"/") {
		if err != nil {
			return nil, fmt.Errorf("list files of %s: %w", t.path, err)
		}
		rel := strings.TrimPrefix(o.Key, t.path+"/")
		if !strings.HasPrefix(rel, "schema/") && !strings.HasPrefix(rel, "snapshot/") {
			out = append(out, o.Key)
		}
	}
	return out, nil
}

// namedBy returns the keys of all that the snapshots name.
func (t *Table) namedBy(ctx context.Context, ids []table.SnapshotID) ([]string, error) {
	u := newUse()
	for _, id := range ids {
		s, err := t.Read(ctx, id)
		if errors.Is(err, objstore.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		// What an earlier pass has removed is missing now.
		if err := t.use(ctx, u, s, true); err != nil {
			return nil, err
		}
	}
	var out []string
	for o, err := range t.store.List(ctx, t.path+"/") {
		if err != nil {
			return nil, fmt.Errorf("list files of %s: %w", t.path, err)
		}
		if u.names(strings.TrimPrefix(o.Key, t.path+"/")) {
			out = append(out, o.Key)
		}
	}
	// Data before what names it: the next pass must find it.
	slices.SortStableFunc(out, func(a, b string) int { return t.rank(a) - t.rank(b) })
	return out, nil
}

// rank orders the kinds of files for removal: data, manifests, lists.
func (t *Table) rank(key string) int {
	name := strings.TrimPrefix(key, t.path+"/manifest/")
	switch {
	case name == key:
		return 0
	case strings.HasPrefix(name, "manifest-list-"):
		return 2
	}
	return 1
}

// schemaLog returns the topic id in the newest schema file; false if there is no schema, or it
// has none.
func (t *Table) schemaLog(ctx context.Context) (LogID, bool, error) {
	newest, key := int64(-1), ""
	prefix := t.key("schema", "schema-")
	for o, err := range t.store.List(ctx, prefix) {
		if err != nil {
			return "", false, fmt.Errorf("list schemas of %s: %w", t.path, err)
		}
		var id int64
		if _, err := fmt.Sscanf(strings.TrimPrefix(o.Key, prefix), "%d", &id); err == nil && id > newest {
			newest, key = id, o.Key
		}
	}
	if newest < 0 {
		return "", false, nil
	}
	b, err := t.store.Get(ctx, key)
	if errors.Is(err, objstore.ErrNotExist) {
		return "", false, nil
	}
	if err != nil {
		return "", false, fmt.Errorf("read schema %d of %s: %w", newest, t.path, err)
	}
	var file struct {
		Options map[string]string `json:"options"`
	}
	if err := json.Unmarshal(b, &file); err != nil {
		return "", false, fmt.Errorf("read schema %d of %s: %w", newest, t.path, err)
	}
	id, ok := file.Options["dtstore.topic-id"]
	return LogID(id), ok, nil
}
