package memtable_test

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"dtstore/memtable"
	"dtstore/table"
)

func schema(keyed bool) *table.Schema {
	s := &table.Schema{
		Fields: []table.Field{
			{ID: 0, Name: "p", Type: table.Type{Kind: table.VarChar, Length: 10, NotNull: true}},
			{ID: 1, Name: "k", Type: table.Type{Kind: table.BigInt, NotNull: true}},
			{ID: 2, Name: "v", Type: table.Type{Kind: table.BigInt}},
		},
		PartitionKeys: []string{"p"},
	}
	if keyed {
		s.PrimaryKeys = []string{"p", "k"}
	}
	return s
}

func row(p string, k, v int64) table.Row {
	return table.Row{table.StringOf(p), table.IntOf(k), table.IntOf(v)}
}

// TestAgainstMap applies a random log with holes and compares every reading,
// at many horizons, with a plain map.
func TestAgainstMap(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	s := schema(true)
	mem := memtable.New(s, 100)
	var log []table.Change
	at := table.Offset(100)
	for range 2000 {
		at += table.Offset(r.IntN(3))
		c := table.Change{Offset: at, Kind: table.Insert, After: row(string(rune('a'+r.IntN(3))), r.Int64N(40)-20, r.Int64())}
		if r.IntN(4) == 0 {
			c.Kind, c.Before, c.After = table.Delete, c.After, nil
		}
		mem.Apply(c)
		log = append(log, c)
		at++
		if r.IntN(10) == 0 {
			at += 2
			mem.Advance(at)
		}
	}
	if got := mem.Span(); got != (table.Span{From: 100, To: at}) {
		t.Fatalf("span %v, want to %d", got, at)
	}
	check := func() {
		for range 20 {
			below := table.Offset(100 + r.Int64N(int64(at)))
			want := map[table.Key]table.Change{}
			for _, c := range log {
				if c.Offset < below {
					want[s.Key(c.Row())] = c
				}
			}
			var last table.Key
			n := 0
			for k, c := range mem.Scan(below) {
				if n > 0 && k <= last {
					t.Fatalf("keys out of order below %d", below)
				}
				if w := want[k]; w.Offset != c.Offset || w.Kind != c.Kind {
					t.Fatalf("below %d: %v, want %v", below, c, w)
				}
				last = k
				n++
			}
			if n != len(want) {
				t.Fatalf("below %d: %d keys, want %d", below, n, len(want))
			}
			for k, w := range want {
				if c, ok := mem.Get(k, below); !ok || c.Offset != w.Offset {
					t.Fatalf("get below %d: %v %v, want %v", below, c, ok, w)
				}
			}
			if _, ok := mem.Get(s.Key(row("zz", 1, 1)), below); ok {
				t.Fatal("found a key that was never there")
			}
		}
	}
	check()
	mem.Freeze()
	check()
	newest := map[table.Key]table.Offset{}
	for _, c := range log {
		newest[s.Key(c.Row())] = c.Offset
	}
	n := 0
	for p, it := range mem.Runs(1000) {
		var last table.TrimmedKey
		for {
			kv, err := it.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			if s.Partition(kv.Row) != p || kv.Key <= last && last != "" {
				t.Fatalf("row %v out of place", kv)
			}
			if want := table.Sequence(newest[s.Key(kv.Row)]) + 1000; kv.Seq != want {
				t.Fatalf("sequence %d, want %d", kv.Seq, want)
			}
			last = kv.Key
			n++
		}
	}
	if n != len(newest) {
		t.Fatalf("%d rows in the runs, want %d", n, len(newest))
	}
}

func TestAppendTable(t *testing.T) {
	s := schema(false)
	mem := memtable.New(s, 0)
	for i := range int64(6) {
		mem.Apply(table.Change{Offset: table.Offset(i), After: row([]string{"a", "b"}[i%2], 7, i)})
	}
	var got []string
	for _, c := range mem.Scan(5) {
		got = append(got, fmt.Sprint(c.After[2].Int()))
	}
	if strings.Join(got, " ") != "0 1 2 3 4" {
		t.Fatalf("scan below 5: %v", got)
	}
	mem.Freeze()
	got = nil
	for _, it := range mem.Runs(10) {
		for kv, err := it.Next(); err == nil; kv, err = it.Next() {
			got = append(got, fmt.Sprintf("%d@%d", kv.Row[2].Int(), kv.Seq))
		}
	}
	if want := []string{"0@10", "2@12", "4@14", "1@11", "3@13", "5@15"}; !slices.Equal(got, want) {
		t.Fatalf("runs %v, want %v", got, want)
	}
}

// TestReadersWhileWriting lets readers scan while changes come in: each sees
// exactly the state below its horizon.
func TestReadersWhileWriting(t *testing.T) {
	s := schema(true)
	mem := memtable.New(s, 0)
	var wg sync.WaitGroup
	done := make(chan struct{})
	for range 4 {
		wg.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				below := mem.Span().To
				n := 0
				for _, c := range mem.Scan(below) {
					if c.Offset >= below {
						t.Errorf("offset %d below %d", c.Offset, below)
					}
					n++
				}
				if want := min(int(below), 50); n != want {
					t.Errorf("%d keys below %d", n, below)
				}
			}
		})
	}
	for i := range int64(5000) {
		mem.Apply(table.Change{Offset: table.Offset(i), After: row("a", i%50, i)})
	}
	close(done)
	wg.Wait()
}

func TestPanics(t *testing.T) {
	for name, f := range map[string]func(*memtable.Table){
		"back":         func(m *memtable.Table) { m.Apply(table.Change{Offset: 4, After: row("a", 1, 1)}) },
		"advance back": func(m *memtable.Table) { m.Advance(3) },
		"frozen":       func(m *memtable.Table) { m.Freeze(); m.Apply(table.Change{Offset: 9, After: row("a", 1, 1)}) },
		"runs":         func(m *memtable.Table) { m.Runs(0) },
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Fatal("no panic")
				}
			}()
			f(memtable.New(schema(true), 5))
		})
	}
}

// TestOrders applies keys in several orders, that begin all lists and the tree,
// and reads at every horizon.
func TestOrders(t *testing.T) {
	s := schema(true)
	for name, keys := range map[string][]int64{
		"ascending":  {1, 2, 3, 4, 5, 6, 7, 8},
		"descending": {8, 7, 6, 5, 4, 3, 2, 1},
		"again":      {1, 2, 3, 1, 2, 3, 1, 2, 3, 1, 2, 3, 1, 2, 3, 1, 2, 3},
		"one":        {5, 5, 5, 5, 5, 5, 5},
		"mixed":      {5, 1, 9, 5, 0, 7, 5, 3, 2, 5, 9, 1, 4, 4, 0, 8, 5},
	} {
		t.Run(name, func(t *testing.T) {
			mem := memtable.New(s, 0)
			for i, k := range keys {
				mem.Apply(table.Change{Offset: table.Offset(i), After: row("a", k, int64(i))})
			}
			if mem.Len() != len(keys) {
				t.Errorf("%d versions instead of %d", mem.Len(), len(keys))
			}
			for below := range table.Offset(len(keys) + 1) {
				want := map[int64]table.Offset{}
				for i, k := range keys[:below] {
					want[k] = table.Offset(i)
				}
				last := table.Key("")
				n := 0
				for k, c := range mem.Scan(below) {
					if k <= last {
						t.Fatalf("below %d: keys out of order", below)
					}
					if w := want[c.After[1].Int()]; w != c.Offset {
						t.Fatalf("below %d: key %d of offset %d, not %d", below, c.After[1].Int(), c.Offset, w)
					}
					last = k
					n++
				}
				if n != len(want) {
					t.Fatalf("below %d: %d keys instead of %d", below, n, len(want))
				}
				for k := range int64(11) {
					c, ok := mem.Get(s.Key(row("a", k, 0)), below)
					if w, there := want[k]; ok != there || ok && c.Offset != w {
						t.Fatalf("below %d: key %d: %v %v, want %d %v", below, k, c.Offset, ok, w, there)
					}
				}
			}
		})
	}
}

// BenchmarkApply takes in a bulk load in key order, and rows in random order.
func BenchmarkApply(b *testing.B) {
	const n = 200_000
	r := rand.New(rand.NewPCG(1, 1))
	rows := make([]table.Row, n)
	for i := range rows {
		rows[i] = row("a", int64(i), int64(i))
	}
	for _, order := range []string{"ascending", "random"} {
		b.Run(order, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				mem := memtable.New(schema(true), 0)
				for i := range rows {
					mem.Apply(table.Change{Offset: table.Offset(i), After: rows[i]})
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/row")
		})
		r.Shuffle(n, func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
	}
}

// BenchmarkScan reads a memtable that a load in key order has filled.
func BenchmarkScan(b *testing.B) {
	const n = 200_000
	mem := memtable.New(schema(true), 0)
	for i := range int64(n) {
		mem.Apply(table.Change{Offset: table.Offset(i), After: row("a", i, i)})
	}
	for b.Loop() {
		rows := 0
		for range mem.Scan(n) {
			rows++
		}
		if rows != n {
			b.Fatal(rows)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/row")
}
