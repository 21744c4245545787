package compaction_test

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"slices"
	"testing"

	"dtstore/compaction"
	"dtstore/filestore"
	"dtstore/manifest"
	"dtstore/merge"
	"dtstore/objstore"
	"dtstore/table"
)

func schema(keyed bool) *table.Schema {
	s := &table.Schema{Options: map[string]string{"bucket": "1"}, HighestFieldID: 1, Fields: []table.Field{
		{ID: 0, Name: "k", Type: table.Type{Kind: table.BigInt, NotNull: keyed}}, {ID: 1, Name: "v", Type: table.Type{Kind: table.VarChar, Length: table.MaxLength}}}}
	if keyed {
		s.PrimaryKeys = []string{"k"}
	} else {
		s.Options["bucket"] = "-1"
	}
	return s
}

// bucket is one bucket's files beside a map of what they mean.
type bucket struct {
	t     *testing.T
	s     *table.Schema
	files *filestore.Store
	place filestore.Place
	live  []manifest.Entry
	model map[int64]string
	seq   table.Sequence
}

func newBucket(t *testing.T, keyed bool) *bucket {
	store, err := objstore.OpenDir(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	files, err := filestore.Open(store, filestore.Options{TargetFileBytes: 3000})
	if err != nil {
		t.Fatal(err)
	}
	s := schema(keyed)
	return &bucket{t: t, s: s, files: files, place: filestore.Place{Path: "d.db/t", Schema: s, Partition: table.EmptyPartition}, model: map[int64]string{}}
}

// flush writes a run of random changes to level 0.
func (b *bucket) flush(r *rand.Rand, n, keys int) {
	changes := map[int64]table.KeyValue{}
	low, width := r.Int64N(int64(keys)), int64(keys) // a window of the keys, or all
	if r.IntN(2) == 0 {
		width = 1 + width/10
	}
	for range n {
		k := low + r.Int64N(width)
		kv := table.KeyValue{Seq: b.seq, Row: table.Row{table.IntOf(k), table.StringOf(string(rune('a' + r.IntN(26))))}}
		if r.IntN(4) == 0 {
			kv.Kind = table.Delete
		}
		kv.Key = b.s.TrimmedKey(kv.Row)
		b.seq++
		changes[k] = kv
		if kv.Kind == table.Delete {
			delete(b.model, k)
		} else {
			b.model[k] = kv.Row[1].Str()
		}
	}
	var run []table.KeyValue
	for _, kv := range changes {
		run = append(run, kv)
	}
	slices.SortFunc(run, func(x, y table.KeyValue) int {
		if x.Key < y.Key {
			return -1
		}
		return 1
	})
	entries, err := b.files.WriteRun(context.Background(), b.place, 0, 0, merge.Slice(run))
	if err != nil {
		b.t.Fatal(err)
	}
	b.live = append(b.live, entries...)
}

// apply does what the COMPACT commit would.
func (b *bucket) apply(res compaction.Result) {
	var err error
	if b.live, err = manifest.Fold(b.live, append(slices.Clone(res.Remove), res.Add...)...); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bucket) runs() []manifest.SortedRun {
	runs, err := manifest.Runs(b.s, b.live) // fails if a level ≥ 1 overlaps (invariant 5)
	if err != nil {
		b.t.Fatal(err)
	}
	return runs
}

// check reads all runs merged and compares with the map.
func (b *bucket) check() {
	b.t.Helper()
	var its []merge.Iterator
	for _, run := range slices.Backward(b.runs()) {
		it, err := b.files.ReadRun(context.Background(), b.place, run, filestore.ReadOptions{})
		if err != nil {
			b.t.Fatal(err)
		}
		its = append(its, it)
	}
	got := map[int64]string{}
	all := merge.DropRetractions(merge.New(its))
	for {
		kv, err := all.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			b.t.Fatal(err)
		}
		got[kv.Row[0].Int()] = kv.Row[1].Str()
	}
	if len(got) != len(b.model) {
		b.t.Fatalf("%d rows, want %d", len(got), len(b.model))
	}
	for k, v := range b.model {
		if got[k] != v {
			b.t.Fatalf("key %d is %q, want %q", k, got[k], v)
		}
	}
}

// TestRun flushes and compacts at random: after each step the rows are the
// map's, levels ≥ 1 are disjoint, and a full compaction leaves no deletion.
func TestRun(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	upgraded := 0
	for range 12 {
		b := newBucket(t, true)
		keys := 20 + r.IntN(2000)
		for range 25 {
			b.flush(r, 1+r.IntN(400), keys)
			p := compaction.Policy{Trigger: 2 + r.IntN(4)}
			pick := p.Pick
			full := r.IntN(8) == 0
			if full {
				pick = p.Full
			}
			u, ok := pick(b.runs())
			if ok {
				res, err := compaction.Run(t.Context(), b.files, b.place, u, int64(500+r.IntN(3000)))
				if err != nil {
					t.Fatal(err)
				}
				for _, e := range res.Add {
					if e.File.Level != u.Output || e.File.Level == 0 {
						t.Fatalf("file %s at level %d, output is %d", e.File.Name, e.File.Level, u.Output)
					}
					if *e.File.Source == 0 {
						upgraded++
					}
					if u.DropRetractions && *e.File.DeleteRows > 0 {
						t.Fatalf("file %s keeps %d deletions", e.File.Name, *e.File.DeleteRows)
					}
				}
				b.apply(res)
			}
			b.check()
		}
	}
	if upgraded == 0 {
		t.Fatal("no file was moved as it is: the test tests little")
	}
}

// TestJoin joins small files of an append table: no row is lost, doubled or out
// of order.
func TestJoin(t *testing.T) {
	b := newBucket(t, false)
	var want []int64
	for i := range int64(30) {
		row := table.KeyValue{Seq: table.Sequence(i), Row: table.Row{table.IntOf(i), table.StringOf("x")}}
		entries, err := b.files.WriteRun(t.Context(), b.place, 0, 0, merge.Slice([]table.KeyValue{row}))
		if err != nil {
			t.Fatal(err)
		}
		b.live = append(b.live, entries...)
		want = append(want, i)
	}
	units := compaction.PickAppend(b.runs(), 1<<20, 2)
	if len(units) != 1 {
		t.Fatalf("%d units", len(units))
	}
	res, err := compaction.Run(t.Context(), b.files, b.place, units[0], 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	b.apply(res)
	if len(b.live) != 1 || b.live[0].File.MinSeq != 0 || b.live[0].File.MaxSeq != 29 {
		t.Fatalf("%d files, %+v", len(b.live), b.live[0].File)
	}
	it, err := b.files.ReadFile(t.Context(), b.place, b.live[0], filestore.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var got []int64
	for kv, err := it.Next(); err == nil; kv, err = it.Next() {
		got = append(got, kv.Row[0].Int())
	}
	if !slices.Equal(got, want) {
		t.Fatalf("%v", got)
	}
}
