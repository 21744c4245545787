package snapshot

import (
	"context"
	"fmt"
	"maps"
	"strconv"
	"strings"

	"dtstore/manifest"
	"dtstore/table"
)

// listFile is a manifest list that has been written.
type listFile struct {
	name string
	size int64
}

// build writes the manifests and lists of the snapshot that puts c on top of cur, and returns
// it, not yet published.
func (a *attempt) build(ctx context.Context, cur *Snapshot, covered map[table.Bucket]Covered) (*Snapshot, error) {
	t, c := a.t, &a.c
	covered = maps.Clone(covered)
	for _, adv := range c.Advances {
		covered[adv.Bucket] = Covered{adv.Span.To, adv.Base}
	}
	base, err := a.base(ctx, cur)
	if err != nil {
		return nil, err
	}
	if err := a.writeDelta(ctx); err != nil {
		return nil, err
	}
	next := &Snapshot{
		ID:            cur.ID + 1,
		SchemaID:      max(cur.SchemaID, c.SchemaID),
		BaseList:      base.name,
		BaseListSize:  &base.size,
		DeltaList:     a.list.name,
		DeltaListSize: &a.list.size,
		IndexManifest: cur.IndexManifest,
		CommitUser:    c.User,
		CommitKind:    c.Kind,
		TimeMillis:    max(t.now().UnixMilli(), cur.TimeMillis),
		Watermark:     cur.Watermark,
		NextRowID:     cur.NextRowID,
	}
	next.CommitIdentifier = int64(next.ID)
	if next.SchemaID == cur.SchemaID {
		next.Statistics = cur.Statistics
	}
	for i := range c.Add {
		next.DeltaRecords += c.Add[i].File.Rows
	}
	for i := range c.Remove {
		next.DeltaRecords -= c.Remove[i].File.Rows
	}
	next.TotalRecords = cur.TotalRecords + next.DeltaRecords
	return next, next.stamp(c.Log, covered, c.ID, cur.CommitID(), c.Properties)
}

// stamp sets our properties and encodes s.
func (s *Snapshot) stamp(log LogID, covered map[table.Bucket]Covered, id, parent string, more map[string]string) error {
	text, err := encodeLog(log, covered)
	if err != nil {
		return fmt.Errorf("snapshot %d: %w", s.ID, err)
	}
	s.Properties = maps.Clone(more)
	if s.Properties == nil {
		s.Properties = map[string]string{}
	}
	s.Properties[propVersion] = strconv.Itoa(ourVersion)
	s.Properties[propLog] = text
	s.Properties[propCommit] = id
	s.Properties[propParent] = parent
	s.log = &logRecord{log, covered}
	s.raw, err = s.Encode()
	return err
}

// writeDelta writes the manifests of c and their list, once.
func (a *attempt) writeDelta(ctx context.Context) error {
	if a.list.name != "" {
		return nil
	}
	entries := make([]manifest.Entry, 0, len(a.c.Add)+len(a.c.Remove))
	for _, e := range a.c.Remove {
		e.Kind = manifest.Delete
		entries = append(entries, e)
	}
	for _, e := range a.c.Add {
		e.Kind = manifest.Add
		entries = append(entries, e)
	}
	var err error
	if a.delta, err = a.writeManifests(ctx, entries); err != nil {
		return err
	}
	a.list, err = a.writeList(ctx, a.delta)
	return err
}

// base writes the list of everything up to cur, in which small manifests have been merged.
func (a *attempt) base(ctx context.Context, cur *Snapshot) (listFile, error) {
	list, err := a.t.manifests(ctx, cur)
	if err != nil {
		return listFile{}, err
	}
	parts, full := manifest.PlanMerge(list, mergeOptions)
	if full {
		list, err = a.mergeAll(ctx, parts[0], parts[1])
	} else {
		list, err = a.mergeParts(ctx, parts)
	}
	if err != nil {
		return listFile{}, err
	}
	return a.writeList(ctx, list)
}

// mergeOptions are Paimon's defaults.
var mergeOptions manifest.MergeOptions

// mergeParts joins the manifests of each part that has several.
func (a *attempt) mergeParts(ctx context.Context, parts [][]manifest.ListEntry) ([]manifest.ListEntry, error) {
	var out []manifest.ListEntry
	for _, part := range parts {
		if len(part) == 1 {
			out = append(out, part[0])
			continue
		}
		joined, err := a.join(ctx, part)
		if err != nil {
			return nil, err
		}
		out = append(out, joined...)
	}
	return out, nil
}

// join writes the entries of several manifests as few. A later try of the same commit finds
// what an earlier one wrote.
func (a *attempt) join(ctx context.Context, part []manifest.ListEntry) ([]manifest.ListEntry, error) {
	names := make([]string, len(part))
	for i, m := range part {
		names[i] = m.Name
	}
	key := strings.Join(names, "/")
	if done, ok := a.merged[key]; ok {
		return done, nil
	}
	entries, err := a.read(ctx, part)
	if err != nil {
		return nil, err
	}
	if entries, err = manifest.Merged(entries); err != nil {
		return nil, fmt.Errorf("merge manifests of %s: %w", a.t.path, err)
	}
	done, err := a.writeManifests(ctx, entries)
	if err != nil {
		return nil, err
	}
	a.merged[key] = done
	return done, nil
}

// mergeAll joins the manifests join into additions alone. The large ones that only add stay as
// they are, unless a deletion among join is of one of their files.
func (a *attempt) mergeAll(ctx context.Context, join, large []manifest.ListEntry) ([]manifest.ListEntry, error) {
	entries, err := a.read(ctx, join)
	if err != nil {
		return nil, err
	}
	if entries, err = manifest.Merged(entries); err != nil {
		return nil, fmt.Errorf("merge manifests of %s: %w", a.t.path, err)
	}
	lone := map[string]bool{}
	for i := range entries {
		if entries[i].Kind == manifest.Delete {
			lone[entries[i].Identity()] = true
		}
	}
	var out []manifest.ListEntry
	for _, m := range large {
		if len(lone) == 0 {
			out = append(out, m)
			continue
		}
		more, err := a.t.readManifest(ctx, m)
		if err != nil {
			return nil, err
		}
		hit := false
		for i := range more {
			if hit = lone[more[i].Identity()]; hit {
				break
			}
		}
		if hit {
			join = append(join[:len(join):len(join)], m)
		} else {
			out = append(out, m)
		}
	}
	joined, err := a.join(ctx, join)
	if err != nil {
		return nil, err
	}
	return append(out, joined...), nil
}

func (a *attempt) read(ctx context.Context, list []manifest.ListEntry) ([]manifest.Entry, error) {
	var out []manifest.Entry
	for _, m := range list {
		entries, err := a.t.readManifest(ctx, m)
		if err != nil {
			return nil, err
		}
		out = append(out, entries...)
	}
	return out, nil
}

// entriesPerManifest keeps a manifest near its target of 8 MiB: an entry of a table with some
// ten columns takes 100 to 250 bytes, compressed.
const entriesPerManifest = 40_000

// writeManifests writes entries, none if there are none.
func (a *attempt) writeManifests(ctx context.Context, entries []manifest.Entry) ([]manifest.ListEntry, error) {
	if len(entries) == 0 {
		return nil, nil
	}
	schema, err := a.t.schema(ctx, a.c.SchemaID)
	if err != nil {
		return nil, err
	}
	var out []manifest.ListEntry
	id := a.t.newID()
	for n := 0; len(entries) > 0; n++ {
		some := entries[:min(len(entries), entriesPerManifest)]
		entries = entries[len(some):]
		b, err := manifest.EncodeEntries(some)
		if err != nil {
			return nil, err
		}
		name := fmt.Sprintf("manifest-%s-%d", id, n)
		m, err := manifest.Summarize(schema, name, int64(len(b)), some)
		if err != nil {
			return nil, err
		}
		if err := a.put(ctx, name, b); err != nil {
			return nil, err
		}
		a.t.cache.put(&cached{key: a.t.key("manifest", name), bytes: entriesBytes(some), entries: some})
		out = append(out, m)
	}
	return out, nil
}

func (a *attempt) writeList(ctx context.Context, list []manifest.ListEntry) (listFile, error) {
	b, err := manifest.EncodeList(list)
	if err != nil {
		return listFile{}, err
	}
	f := listFile{"manifest-list-" + a.t.newID() + "-0", int64(len(b))}
	if err := a.put(ctx, f.name, b); err != nil {
		return listFile{}, err
	}
	a.t.cache.put(&cached{key: a.t.key("manifest", f.name), bytes: listBytes(list), list: list})
	return f, nil
}

func (a *attempt) put(ctx context.Context, name string, b []byte) error {
	key := a.t.key("manifest", name)
	a.written = append(a.written, key)
	if err := a.t.store.Put(ctx, key, b); err != nil {
		return fmt.Errorf("put %s of %s: %w", name, a.t.path, err)
	}
	return nil
}
