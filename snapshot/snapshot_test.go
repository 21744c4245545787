package snapshot_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"dtstore/manifest"
	"dtstore/objstore"
	"dtstore/snapshot"
	"dtstore/table"

	"github.com/google/uuid"
)

const (
	path  = "public.db/t"
	logID = snapshot.LogID("5b1c2a52-0000-4000-8000-000000000001")
)

// putSchema writes schema-0 of a table with the key k and, if partitioned, the partition column p.
func putSchema(t testing.TB, store objstore.Store, log snapshot.LogID, partitioned bool) {
	t.Helper()
	part, pk := `[]`, `["k"]`
	if partitioned {
		part, pk = `["p"]`, `["p", "k"]`
	}
	text := fmt.Sprintf(`{"version": 3, "id": 0, "fields": [{"id": 0, "name": "k", "type": "BIGINT NOT NULL"}, {"id": 1, "name": "p", "type": "INT NOT NULL"},
		{"id": 2, "name": "v", "type": {"type": "ARRAY", "element": "INT"}}], "highestFieldId": 2, "partitionKeys": %s, "primaryKeys": %s,
		"options": {"bucket": "2", "dtstore.topic-id": %q}}`, part, pk, log)
	if err := store.Put(t.Context(), path+"/schema/schema-0", []byte(text)); err != nil {
		t.Fatal(err)
	}
}

// open returns a table that does not pause.
func open(store objstore.Store) *snapshot.Table {
	t := snapshot.Open(store, path)
	t.SetClock(time.Now, func(ctx context.Context, _ int) error { return ctx.Err() })
	return t
}

// intKey is the serialized BinaryRow of one BIGINT.
func intKey(n int64) []byte {
	return table.AppendSerialized(nil, []table.Type{{Kind: table.BigInt, NotNull: true}}, table.Row{table.IntOf(n)})
}

func intPartition(n int64) table.Partition {
	return table.Partition(table.AppendSerialized(nil, []table.Type{{Kind: table.Int}}, table.Row{table.IntOf(n)}))
}

// file returns an entry that adds rows seq, seq+1, … with the keys [lo, hi].
func file(name string, bucket table.Bucket, level int, seq, rows int64, lo, hi int64) manifest.Entry {
	none, source := int64(0), min(level, 1)
	empty := manifest.Stats{Min: []byte(table.EmptyPartition), Max: []byte(table.EmptyPartition), NullCounts: []*int64{}}
	return manifest.Entry{
		Partition: table.EmptyPartition, Bucket: bucket, TotalBuckets: 2,
		File: manifest.File{
			Name: name, Size: 100, Rows: rows, MinKey: intKey(lo), MaxKey: intKey(hi), KeyStats: empty, ValueStats: empty,
			MinSeq: table.Sequence(seq), MaxSeq: table.Sequence(seq + rows - 1), Level: level, ExtraFiles: []string{}, DeleteRows: &none, Source: &source,
		},
	}
}

// flush is the commit of one file with the offsets [from, to) of a bucket.
func flush(bucket table.Bucket, from, to table.Offset, base table.Sequence) snapshot.Commit {
	id := uuid.NewString()
	c := snapshot.Commit{ID: id, User: "user", Log: logID, Kind: "APPEND", Advances: []snapshot.Advance{{Bucket: bucket, Span: table.Span{From: from, To: to}, Base: base}}}
	if to > from {
		c.Add = []manifest.Entry{file("data-"+id+"-0.parquet", bucket, 0, int64(base)+int64(from), int64(to-from), int64(from), int64(to))}
	}
	return c
}

func create(t testing.TB, store objstore.Store) *snapshot.Table {
	t.Helper()
	putSchema(t, store, logID, false)
	tab := open(store)
	if _, err := tab.Create(t.Context(), logID, 2, 0); err != nil {
		t.Fatal(err)
	}
	return tab
}

func mustCommit(t testing.TB, tab *snapshot.Table, c snapshot.Commit) *snapshot.Snapshot {
	t.Helper()
	s, err := tab.Commit(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestLife(t *testing.T) {
	ctx, store := t.Context(), objstore.NewMem()
	tab := open(store)
	if _, err := tab.Latest(ctx); !errors.Is(err, snapshot.ErrNone) {
		t.Fatalf("latest of nothing: %v", err)
	}
	tab = create(t, store)
	again, err := open(store).Create(ctx, logID, 2, 0)
	if err != nil || again.ID != 1 {
		t.Fatalf("create again: %v, %v", again, err)
	}
	if _, err := open(store).Create(ctx, "other", 2, 0); table.SQLState(err) != "42P07" {
		t.Fatalf("create another: %v", err)
	}
	mustCommit(t, tab, flush(0, 0, 10, 0))
	mustCommit(t, tab, flush(1, 0, 5, 0))
	s := mustCommit(t, open(store), flush(0, 10, 20, 0))
	if s.ID != 4 || s.TotalRecords != 25 || s.DeltaRecords != 10 {
		t.Fatalf("snapshot %d with %d and %d rows", s.ID, s.TotalRecords, s.DeltaRecords)
	}
	log, covered, foreign, err := tab.Position(ctx, s)
	if err != nil || log != logID || foreign || covered[0].To != 20 || covered[1].To != 5 {
		t.Fatalf("position: %v %v %v %v", log, covered, foreign, err)
	}
	entries, err := tab.Entries(ctx, s, snapshot.Filter{})
	if err != nil || len(entries) != 3 {
		t.Fatalf("entries: %d, %v", len(entries), err)
	}
	one, err := tab.Entries(ctx, s, snapshot.Filter{Buckets: []table.Bucket{1}})
	if err != nil || len(one) != 1 || one[0].Bucket != 1 {
		t.Fatalf("entries of bucket 1: %v, %v", one, err)
	}
	if err := tab.Drop(ctx, logID); err != nil {
		t.Fatal(err)
	}
	if _, err := tab.Latest(ctx); !errors.Is(err, snapshot.ErrDropped) || !errors.Is(err, snapshot.ErrNone) {
		t.Fatalf("latest of a dropped one: %v", err)
	}
	var left []string
	for o, err := range store.List(ctx, "") {
		if err != nil {
			t.Fatal(err)
		}
		left = append(left, o.Key)
	}
	if strings.Join(left, " ") != path+"/snapshot/dropped" {
		t.Fatalf("left: %v", left)
	}
	if _, err := tab.Commit(ctx, flush(0, 20, 30, 0)); !errors.Is(err, snapshot.ErrFenced) || !errors.Is(err, snapshot.ErrDropped) {
		t.Fatalf("commit to a dropped one: %v", err)
	}
	putSchema(t, store, "second", false)
	first, err := open(store).Create(ctx, "second", 2, 0)
	if err != nil || first.ID != 6 {
		t.Fatalf("create after drop: %v, %v", first, err)
	}
}
