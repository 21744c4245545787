package snapshot_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"dtstore/manifest"
	"dtstore/objstore"
	"dtstore/snapshot"
	"dtstore/table"
)

var bigintKeyed = &table.Schema{Fields: []table.Field{{Name: "k", Type: table.Type{Kind: table.BigInt, NotNull: true}}}, PrimaryKeys: []string{"k"}}

// TestFenced: each mismatch is named by its bucket, and the others can be committed without it.
func TestFenced(t *testing.T) {
	tab := create(t, objstore.NewMem())
	mustCommit(t, tab, flush(0, 0, 10, 0))
	two := flush(0, 0, 10, 0)
	two.Advances = append(two.Advances, snapshot.Advance{Bucket: 1, Span: table.Span{From: 0, To: 5}})
	other := flush(1, 0, 5, 0)
	other.Log = "another"
	for _, c := range []struct {
		name    string
		commit  snapshot.Commit
		buckets []table.Bucket
	}{
		{"behind", flush(0, 5, 12, 0), []table.Bucket{0}},
		{"ahead", flush(0, 11, 12, 0), []table.Bucket{0}},
		{"base", flush(0, 10, 12, 7), []table.Bucket{0}},
		{"no such bucket", flush(9, 0, 1, 0), []table.Bucket{9}},
		{"one of two", two, []table.Bucket{0}},
		{"another table", other, []table.Bucket{1}},
	} {
		_, err := tab.Commit(t.Context(), c.commit)
		var fenced *snapshot.FencedError
		if !errors.As(err, &fenced) || !errors.Is(err, snapshot.ErrFenced) || !slices.Equal(fenced.Buckets, c.buckets) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	s := mustCommit(t, tab, flush(1, 0, 5, 0))
	if s.ID != 3 {
		t.Errorf("the refused ones made snapshots: at %d", s.ID)
	}
}

// TestConflict: what is removed must be live, and levels ≥ 1 stay disjoint.
func TestConflict(t *testing.T) {
	tab := create(t, objstore.NewMem())
	a, b := flush(0, 0, 10, 0), flush(0, 10, 20, 0)
	mustCommit(t, tab, a)
	mustCommit(t, tab, b)
	compact := func(id string, remove []manifest.Entry, add ...manifest.Entry) snapshot.Commit {
		return snapshot.Commit{ID: id, User: "u", Log: logID, Kind: "COMPACT", Remove: remove, Add: add}
	}
	s := mustCommit(t, tab, compact("c1", a.Add, file("one", 0, 1, 0, 10, 0, 9)))
	if s.TotalRecords != 20 || s.DeltaRecords != 0 || s.CommitKind != "COMPACT" {
		t.Errorf("snapshot %+v", s)
	}
	for _, c := range []snapshot.Commit{
		compact("c2", a.Add, file("two", 0, 2, 0, 10, 0, 9)),
		compact("c3", b.Add, file("two", 0, 1, 10, 10, 5, 19)),
		compact("c4", nil, file("one", 0, 1, 0, 10, 0, 9)),
	} {
		if _, err := tab.Commit(t.Context(), c); !errors.Is(err, snapshot.ErrConflict) {
			t.Errorf("%s: %v", c.ID, err)
		}
	}
	mustCommit(t, tab, compact("c5", b.Add, file("two", 0, 1, 10, 10, 10, 19)))
	// Done already, by an earlier call that did not hear of it.
	again, err := tab.Commit(t.Context(), compact("c1", a.Add, file("one", 0, 1, 0, 10, 0, 9)))
	if err != nil || again.ID != s.ID {
		t.Errorf("again: %v, %v", again, err)
	}
}

// TestFoundLater: a commit tried again by a later call is found by its id, without reading the
// whole history.
func TestFoundLater(t *testing.T) {
	store := &counter{Store: objstore.NewMem()}
	tab := create(t, store)
	first := flush(0, 0, 1, 0)
	mustCommit(t, tab, first)
	for i := range 1000 {
		mustCommit(t, tab, flush(1, table.Offset(i), table.Offset(i+1), 0))
	}
	store.gets = 0
	mustCommit(t, tab, flush(0, 1, 2, 0))
	if store.gets > 10 {
		t.Errorf("a commit on 1,000 snapshots read %d objects", store.gets)
	}
	last := flush(0, 2, 3, 0)
	want := mustCommit(t, tab, last)
	got, err := open(store).Commit(t.Context(), last)
	if err != nil || got.ID != want.ID {
		t.Errorf("again: %v, %v", got, err)
	}
	store.gets = 0
	if _, err := open(store).Commit(t.Context(), first); !errors.Is(err, snapshot.ErrFenced) || store.gets > 200 {
		t.Errorf("far behind: %v after %d reads", err, store.gets)
	}
}

// TestForeign: another engine's commit on top raises the bases, and ours follow.
func TestForeign(t *testing.T) {
	ctx, store := t.Context(), objstore.NewMem()
	tab := create(t, store)
	cur := mustCommit(t, tab, flush(0, 0, 10, 0))
	foreignCommit(t, store, bigintKeyed, cur, []manifest.Entry{file("theirs", 0, 0, 10, 90, 0, 5)}, func() string { return "f1" })
	s, err := open(store).Latest(ctx)
	if err != nil || s.ID != 3 {
		t.Fatalf("latest: %v, %v", s, err)
	}
	log, covered, foreign, err := tab.Position(ctx, s)
	if err != nil || log != logID || !foreign || covered[0] != (snapshot.Covered{To: 10, Base: 90}) || covered[1] != (snapshot.Covered{}) {
		t.Fatalf("position: %v %v %v %v", log, covered, foreign, err)
	}
	if _, err := tab.Commit(ctx, flush(0, 10, 20, 0)); !errors.Is(err, snapshot.ErrFenced) {
		t.Errorf("with the old base: %v", err)
	}
	next := mustCommit(t, tab, flush(0, 10, 20, 90))
	_, covered, foreign, err = tab.Position(ctx, next)
	if err != nil || foreign || covered[0] != (snapshot.Covered{To: 20, Base: 90}) {
		t.Errorf("position: %v %v %v", covered, foreign, err)
	}
	if delta, err := tab.DeltaEntries(ctx, s); err != nil || len(delta) != 1 || delta[0].File.Name != "theirs" {
		t.Errorf("delta: %v, %v", delta, err)
	}
	// Nothing of ours is left: no guess.
	foreignCommit(t, store, bigintKeyed, next, []manifest.Entry{file("theirs2", 0, 0, 200, 1, 0, 5)}, func() string { return "f2" })
	top, err := tab.Latest(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for id := table.SnapshotID(1); id < top.ID; id++ {
		if err := store.Delete(ctx, fmt.Sprintf("%s/snapshot/snapshot-%d", path, id)); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, _, err := tab.Position(ctx, top); table.SQLState(err) != "55000" {
		t.Errorf("position without ours: %v", err)
	}
}

// TestExpire removes what only old snapshots use, and nothing that it must not.
func TestExpire(t *testing.T) {
	ctx, store := t.Context(), objstore.NewMem()
	putSchema(t, store, logID, false)
	tab := open(store)
	now := time.UnixMilli(1_000_000)
	tab.SetClock(func() time.Time { now = now.Add(time.Minute); return now }, nil)
	if _, err := tab.Create(ctx, logID, 2, 0); err != nil {
		t.Fatal(err)
	}
	put := func(entries ...manifest.Entry) {
		for _, e := range entries {
			if err := store.Put(ctx, dataKey(e), []byte("x")); err != nil {
				t.Fatal(err)
			}
		}
	}
	var level0 []manifest.Entry
	for i := range 4 {
		c := flush(0, table.Offset(i*10), table.Offset(i*10+10), 0)
		put(c.Add...)
		level0 = append(level0, c.Add...)
		mustCommit(t, tab, c) // snapshots 2 to 5
	}
	merged := file("merged", 0, 1, 0, 30, 0, 30)
	put(merged)
	moved := level0[3]
	moved.File.Level = 2
	mustCommit(t, tab, snapshot.Commit{ID: "c6", User: "u", Log: logID, Kind: "COMPACT", Remove: level0, Add: []manifest.Entry{merged, moved}}) // 6
	for i := range 4 {
		c := flush(1, 0, 0, 0) // nothing new
		c.ID = fmt.Sprint("empty", i)
		mustCommit(t, tab, c) // 7 to 10
	}
	expire := func(o snapshot.ExpireOptions) snapshot.Expired {
		t.Helper()
		if o.Now.IsZero() {
			o.Now = now.Add(24 * time.Hour)
		}
		done, err := tab.Expire(ctx, o)
		if err != nil {
			t.Fatal(err)
		}
		return done
	}
	for name, o := range map[string]snapshot.ExpireOptions{
		"default number": {},
		"number":         {RetainMin: 10},
		"young":          {RetainMin: 1, Now: now, Retained: time.Hour},
		"pinned":         {RetainMin: 1, Pinned: func(id table.SnapshotID) bool { return id == 1 }},
	} {
		if done := expire(o); len(done.Snapshots) > 0 || len(done.Files) > 0 {
			t.Errorf("%s: %v", name, done)
		}
	}
	if done := expire(snapshot.ExpireOptions{RetainMin: 3, Pinned: func(id table.SnapshotID) bool { return id == 3 }}); fmt.Sprint(done.Snapshots) != "[1 2]" {
		t.Errorf("up to the pinned one: %v", done.Snapshots)
	}
	if err := store.Put(ctx, path+"/consumer/consumer-x", []byte(`{"nextSnapshot" : 5}`)); err != nil {
		t.Fatal(err)
	}
	if done := expire(snapshot.ExpireOptions{RetainMin: 3}); fmt.Sprint(done.Snapshots) != "[3 4]" {
		t.Errorf("up to the consumer's: %v", done.Snapshots)
	}
	if err := store.Delete(ctx, path+"/consumer/consumer-x"); err != nil {
		t.Fatal(err)
	}
	done := expire(snapshot.ExpireOptions{RetainMin: 4})
	if fmt.Sprint(done.Snapshots) != "[5 6]" {
		t.Errorf("expired %v", done.Snapshots)
	}
	for _, e := range level0[:3] {
		if _, err := store.Stat(ctx, dataKey(e)); !errors.Is(err, objstore.ErrNotExist) {
			t.Errorf("file %s is still there: %v", e.File.Name, err)
		}
	}
	for _, e := range []manifest.Entry{merged, moved} {
		if _, err := store.Stat(ctx, dataKey(e)); err != nil {
			t.Errorf("file %s: %v", e.File.Name, err)
		}
	}
	ids, err := tab.List(ctx)
	if err != nil || fmt.Sprint(ids) != "[7 8 9 10]" {
		t.Errorf("left: %v, %v", ids, err)
	}
	for _, id := range ids {
		s, err := open(store).Read(ctx, id)
		if err != nil {
			t.Fatal(err)
		}
		if live, err := snapshot.Open(store, path).Entries(ctx, s, snapshot.Filter{}); err != nil || len(live) != 2 {
			t.Errorf("snapshot %d: %d files, %v", id, len(live), err)
		}
	}
	// Above all of ours another engine goes on: the newest of ours stays.
	s, err := tab.Latest(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 5 {
		foreignCommit(t, store, bigintKeyed, s, []manifest.Entry{file(fmt.Sprint("theirs", i), 0, 0, int64(1000+i), 1, 0, 5)}, func() string { return fmt.Sprint("f", i) })
		if s, err = tab.Latest(ctx); err != nil {
			t.Fatal(err)
		}
	}
	if done := expire(snapshot.ExpireOptions{RetainMin: 1}); fmt.Sprint(done.Snapshots) != "[7 8 9]" {
		t.Errorf("below the newest of ours: %v", done.Snapshots)
	}
}

// TestSweep removes what nobody names and what is old, and nothing else.
func TestSweep(t *testing.T) {
	ctx, store := t.Context(), objstore.NewMem()
	tab := create(t, store)
	c := flush(0, 0, 10, 0)
	c.Add[0].File.ExtraFiles = []string{c.Add[0].File.Name + ".index"}
	mustCommit(t, tab, c)
	kept := []string{dataKey(c.Add[0]), dataKey(c.Add[0]) + ".index", path + "/README"}
	orphans := []string{path + "/bucket-0/data-x.parquet", path + "/bucket-1/" + c.Add[0].File.Name, path + "/manifest/manifest-x-0", path + "/p=1/bucket-0/data-y.parquet"}
	for _, key := range slices.Concat(kept, orphans) {
		if err := store.Put(ctx, key, nil); err != nil {
			t.Fatal(err)
		}
	}
	if removed, err := tab.Sweep(ctx, time.Now().Add(-time.Hour)); err != nil || len(removed) > 0 {
		t.Fatalf("young files: %v, %v", removed, err)
	}
	removed, err := tab.Sweep(ctx, time.Now().Add(time.Hour))
	if err != nil || strings.Join(removed, " ") != strings.Join(slices.Sorted(slices.Values(orphans)), " ") {
		t.Fatalf("removed %v, %v", removed, err)
	}
	s, err := open(store).Latest(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if live, err := snapshot.Open(store, path).Entries(ctx, s, snapshot.Filter{}); err != nil || len(live) != 1 {
		t.Errorf("after it: %v, %v", live, err)
	}
}

// TestMerge: manifests are joined as they pile up, and no file is lost by it.
func TestMerge(t *testing.T) {
	defer snapshot.MergeManifestsAt(5)()
	ctx, store := t.Context(), objstore.NewMem()
	tab := create(t, store)
	var level0 []manifest.Entry
	for i := range 60 {
		c := flush(0, table.Offset(i), table.Offset(i+1), 0)
		level0 = append(level0, c.Add...)
		mustCommit(t, tab, c)
		if i%7 == 6 {
			lo := int64(i - 6)
			mustCommit(t, tab, snapshot.Commit{ID: fmt.Sprint("c", i), User: "u", Log: logID, Kind: "COMPACT", Remove: level0, Add: []manifest.Entry{file(fmt.Sprint("m", i), 0, 1, lo, 7, lo*10, lo*10+69)}})
			level0 = nil
		}
	}
	s, err := open(store).Latest(ctx)
	if err != nil {
		t.Fatal(err)
	}
	live, err := snapshot.Open(store, path).Entries(ctx, s, snapshot.Filter{})
	if err != nil || len(live) != 8+4 || s.TotalRecords != 60 {
		t.Fatalf("%d live files, %d rows, %v", len(live), s.TotalRecords, err)
	}
	b, err := store.Get(ctx, path+"/manifest/"+s.BaseList)
	if err != nil {
		t.Fatal(err)
	}
	if list, err := manifest.DecodeList(b); err != nil || len(list) > 6 {
		t.Errorf("%d manifests, %v", len(list), err)
	}
}
