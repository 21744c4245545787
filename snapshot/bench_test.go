package snapshot_test

import (
	"fmt"
	"testing"

	"dtstore/manifest"
	"dtstore/objstore"
	"dtstore/snapshot"
	"dtstore/table"
)

// wide makes a table of 20,000 files in 2,000 partitions, ten commits of one file in each.
func wide(tb testing.TB) (objstore.Store, manifest.Entry) {
	tb.Helper()
	store, err := objstore.OpenDir(tb.TempDir())
	if err != nil {
		tb.Fatal(err)
	}
	putSchema(tb, store, logID, true)
	tab := open(store)
	if _, err := tab.Create(tb.Context(), logID, 2, 0); err != nil {
		tb.Fatal(err)
	}
	var one manifest.Entry
	for i := range 10 {
		from := table.Offset(i * 2000)
		c := flush(0, from, from+2000, 0)
		e := c.Add[0]
		nulls := int64(0)
		e.File.ValueStats = manifest.Stats{Min: make([]byte, 84), Max: make([]byte, 84), NullCounts: []*int64{&nulls, &nulls, &nulls, &nulls, &nulls, &nulls, &nulls, &nulls}}
		c.Add = nil
		for p := range 2000 {
			f := e
			f.Partition = intPartition(int64(p))
			f.File.Name = fmt.Sprintf("data-59f60cb9-44af-48cc-b5ad-59e85c663c8f-%d-%d.parquet", i, p)
			f.File.Rows, f.File.MinSeq, f.File.MaxSeq = 1, table.Sequence(int(from)+p), table.Sequence(int(from)+p)
			c.Add = append(c.Add, f)
			one = f
		}
		mustCommit(tb, tab, c)
	}
	return store, one
}

func plan(tb testing.TB, tab *snapshot.Table, s *table.Schema, one manifest.Entry) {
	cur, err := tab.Latest(tb.Context())
	if err != nil {
		tb.Fatal(err)
	}
	f, err := snapshot.InPartitions(s, one.Partition)
	if err != nil {
		tb.Fatal(err)
	}
	live, err := tab.Entries(tb.Context(), cur, f)
	if err != nil || len(live) != 10 {
		tb.Fatalf("%d files, %v", len(live), err)
	}
}

var partitioned = &table.Schema{
	Fields:        []table.Field{{Name: "k", Type: table.Type{Kind: table.BigInt, NotNull: true}}, {Name: "p", Type: table.Type{Kind: table.Int, NotNull: true}}},
	PartitionKeys: []string{"p"}, PrimaryKeys: []string{"p", "k"},
}

// BenchmarkPlan asks for one partition of 2,000, in a table of 20,000 files; the manifests span
// all partitions, so that none can be passed over.
func BenchmarkPlan(b *testing.B) {
	store, one := wide(b)
	b.Run("cold", func(b *testing.B) {
		for b.Loop() {
			plan(b, snapshot.Open(store, path), partitioned, one)
		}
	})
	b.Run("warm", func(b *testing.B) {
		tab := snapshot.Open(store, path)
		for b.Loop() {
			plan(b, tab, partitioned, one)
		}
	})
}

// BenchmarkCommit flushes one file, on a directory, into a table that grows.
func BenchmarkCommit(b *testing.B) {
	store, err := objstore.OpenDir(b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	tab := create(b, store)
	for i := 0; b.Loop(); i++ {
		mustCommit(b, tab, flush(0, table.Offset(i), table.Offset(i+1), 0))
	}
}

// TestPartitions finds the files of a partition, and passes over manifests of others.
func TestPartitions(t *testing.T) {
	store := &counter{Store: objstore.NewMem()}
	putSchema(t, store, logID, true)
	tab := open(store)
	if _, err := tab.Create(t.Context(), logID, 2, 0); err != nil {
		t.Fatal(err)
	}
	var one manifest.Entry
	for p := range 20 {
		c := flush(0, table.Offset(p), table.Offset(p+1), 0)
		c.Add[0].Partition = intPartition(int64(p))
		if p == 7 {
			one = c.Add[0]
		}
		mustCommit(t, tab, c)
	}
	cold := snapshot.Open(store, path)
	cur, err := cold.Latest(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	f, err := snapshot.InPartitions(partitioned, one.Partition)
	if err != nil {
		t.Fatal(err)
	}
	store.gets = 0
	live, err := cold.Entries(t.Context(), cur, f)
	if err != nil || len(live) != 1 || live[0].File.Name != one.File.Name {
		t.Fatalf("%v, %v", live, err)
	}
	if store.gets != 3 {
		t.Errorf("%d objects read, 2 lists and 1 manifest would do", store.gets)
	}
}
