package filestore_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"dtstore/filestore"
	"dtstore/manifest"
	"dtstore/table"
)

// keySchemas are keys of every shape that masks and lookups treat apart.
var keySchemas = map[string][]string{
	"int":       {"k INT NOT NULL"},
	"bigint":    {"k BIGINT NOT NULL"},
	"string":    {"k STRING NOT NULL"},
	"bytes":     {"k BYTES NOT NULL"},
	"date":      {"k DATE NOT NULL"},
	"millis":    {"k TIMESTAMP(3) NOT NULL"},
	"micros":    {"k TIMESTAMP(6) NOT NULL"},
	"nanos":     {"k TIMESTAMP(9) NOT NULL"},
	"decimal9":  {"k DECIMAL(9, 2) NOT NULL"},
	"decimal18": {"k DECIMAL(18, 2) NOT NULL"},
	"decimal38": {"k DECIMAL(38, 2) NOT NULL"},
	"double":    {"k DOUBLE NOT NULL"},
	"boolean":   {"k BOOLEAN NOT NULL", "n INT NOT NULL"},
	"composite": {"k SMALLINT NOT NULL", "n STRING NOT NULL", "m BIGINT NOT NULL"},
}

// keyValue makes the i-th key value of a type; i orders values loosely, and
// negative ones come too.
func keyValue(t table.Type, i int) table.Value {
	switch {
	case t.IsString() || t.IsBinary():
		return table.StringOf(fmt.Sprintf("key number %05d, and a tail", i))
	case t.Kind == table.Double:
		return table.FloatOf(float64(i)/8 - 100)
	case t.Kind == table.Boolean:
		return table.BoolOf(i%2 == 1)
	case t.Kind == table.SmallInt:
		return table.IntOf(int64(i%5 - 2))
	case t.Kind == table.Decimal:
		return table.DecimalOfInt(int64(i - 500))
	case t.IsTimestamp():
		us := int64(i-500) * 1_234_000
		if t.Precision > 6 {
			return table.TimestampOf(us, i%1000)
		}
		return table.TimestampOf(us, 0)
	}
	return table.IntOf(int64(i - 500))
}

// lsm is a random bucket and what it should hold.
type lsm struct {
	store *filestore.Store
	place filestore.Place
	runs  []manifest.SortedRun
	model map[table.TrimmedKey]table.KeyValue // the newest row of each key
}

// newLSM writes a bucket: a level-5 run of several files, and smaller runs
// above it. Sequence numbers of runs are disjoint or, if mixed, interleaved.
func newLSM(t *testing.T, pk []string, mixed bool, seed uint64, opts filestore.Options) lsm {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 11))
	var names []string
	for _, c := range pk {
		names = append(names, strings.Fields(c)[0])
	}
	s := schemaOf(t, names, append(slices.Clone(pk), "v INT", "w STRING")...)
	store, p := open(t, s, opts)
	l := lsm{store, p, nil, map[table.TrimmedKey]table.KeyValue{}}
	seq := table.Sequence(100)
	for run := range 5 {
		rows := map[table.TrimmedKey]table.KeyValue{}
		n := []int{6000, 1500, 1, 40, 900}[run]
		low, span := 0, 6000
		if run == 3 { // a run beside the others, that overlaps with none but the first
			low, span = 7000, 500
		}
		for range n {
			i := low + r.IntN(span)
			row := make(table.Row, len(s.Fields))
			for f := range s.Fields {
				row[f] = keyValue(s.Fields[f].Type, i)
			}
			row[len(row)-2] = table.IntOf(r.Int64N(1000))
			row[len(row)-1] = []table.Value{table.Null(), table.StringOf(fmt.Sprint("w", i, run))}[r.IntN(2)]
			kind := table.Insert
			if run > 0 && r.IntN(4) == 0 {
				kind = table.Delete
			}
			seq++
			kv := table.KeyValue{Key: s.TrimmedKey(row), Seq: seq, Kind: kind, Row: row}
			if mixed {
				kv.Seq = table.Sequence(r.Int64N(1 << 40))
			}
			if _, dup := rows[kv.Key]; !dup {
				rows[kv.Key] = kv
			}
		}
		var sorted []table.KeyValue
		for _, kv := range rows {
			sorted = append(sorted, kv)
			if old, ok := l.model[kv.Key]; !ok || kv.Seq > old.Seq {
				l.model[kv.Key] = kv
			}
		}
		slices.SortFunc(sorted, func(a, b table.KeyValue) int { return strings.Compare(string(a.Key), string(b.Key)) })
		entries := write(t, store, p, sorted)
		level := 0
		if run == 0 {
			level = 5
			for i := range entries {
				entries[i].File.Level = 5
			}
		} else if len(entries) > 1 {
			level = 5 - run
		}
		l.runs = append([]manifest.SortedRun{{Level: level, Files: entries}}, l.runs...)
	}
	return l
}

// live are the rows that the model has.
func (l lsm) live() []table.KeyValue {
	var want []table.KeyValue
	for _, kv := range l.model {
		if !kv.Kind.Retract() {
			want = append(want, kv)
		}
	}
	slices.SortFunc(want, func(a, b table.KeyValue) int { return strings.Compare(string(a.Key), string(b.Key)) })
	return want
}

func TestMaskAgainstModel(t *testing.T) {
	for name, pk := range keySchemas {
		for _, mixed := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/mixed=%v", name, mixed), func(t *testing.T) {
				l := newLSM(t, pk, mixed, 5, filestore.Options{TargetFileBytes: 40 << 10})
				want := l.live()
				sameRows(t, l.place.Schema, maskedRows(t, l.store, l.place, l.runs), want)
				sameRows(t, l.place.Schema, mergedRows(t, l.store, l.place, l.runs), want)
			})
		}
	}
}

// TestLookupAgainstModel finds each key in the first run that has it, and no
// key that is not there.
func TestLookupAgainstModel(t *testing.T) {
	for name, pk := range keySchemas {
		t.Run(name, func(t *testing.T) {
			l := newLSM(t, pk, false, 6, filestore.Options{TargetFileBytes: 200 << 10})
			find := func(key table.TrimmedKey) (table.KeyValue, bool) {
				for _, run := range l.runs {
					for _, e := range run.Files {
						kv, ok, err := l.store.Lookup(t.Context(), l.place, e, key)
						if err != nil {
							t.Fatal(err)
						}
						if ok {
							return kv, true
						}
					}
				}
				return table.KeyValue{}, false
			}
			n := 0
			for key, want := range l.model {
				if n++; n%7 != 0 {
					continue
				}
				got, ok := find(key)
				if !ok {
					t.Fatalf("key %x is not found", key)
				}
				sameRows(t, l.place.Schema, []table.KeyValue{got}, []table.KeyValue{want})
			}
			for i := range 200 {
				row := make(table.Row, len(l.place.Schema.Fields))
				for f := range l.place.Schema.Fields {
					row[f] = keyValue(l.place.Schema.Fields[f].Type, 5900+i*13)
				}
				key := l.place.Schema.TrimmedKey(row)
				_, has := l.model[key]
				if _, ok := find(key); ok != has {
					t.Fatalf("key %x: found %v, there %v", key, ok, has)
				}
			}
		})
	}
}

// TestReadBounds reads key ranges as a full read would have them.
func TestReadBounds(t *testing.T) {
	for name, pk := range keySchemas {
		t.Run(name, func(t *testing.T) {
			l := newLSM(t, pk, false, 8, filestore.Options{TargetFileBytes: 60 << 10})
			run := l.runs[len(l.runs)-1]
			it, err := l.store.ReadRun(t.Context(), l.place, run, filestore.ReadOptions{})
			all := drain(t, it, err)
			r := rand.New(rand.NewPCG(9, 9))
			for range 30 {
				i, j := r.IntN(len(all)), r.IntN(len(all)+1)
				opts := filestore.ReadOptions{From: all[i].Key, Columns: []int{len(pk)}}
				if r.IntN(3) == 0 {
					opts.From += "\x00"
				}
				if j < len(all) {
					opts.To = all[j].Key
				}
				var want []table.KeyValue
				for _, kv := range all {
					if kv.Key >= opts.From && (opts.To == "" || kv.Key < opts.To) {
						kv.Row = slices.Clone(kv.Row)
						kv.Row[len(pk)+1] = table.Null() // not asked for
						want = append(want, kv)
					}
				}
				it, err := l.store.ReadRun(t.Context(), l.place, run, opts)
				sameRows(t, l.place.Schema, drain(t, it, err), want)
			}
		})
	}
}

func TestRaw(t *testing.T) {
	s := schemaOf(t, []string{"id"}, "id INT NOT NULL")
	store, p := open(t, s, filestore.Options{})
	run := func(kind table.RowKind, ids ...int64) manifest.SortedRun {
		var rows []table.Row
		for _, id := range ids {
			rows = append(rows, table.Row{table.IntOf(id)})
		}
		kvs := keyed(s, rows, 0)
		kvs[0].Kind = kind
		return manifest.SortedRun{Files: write(t, store, p, kvs)}
	}
	unknown := run(table.Insert, 20)
	unknown.Files[0].File.DeleteRows = nil
	for _, c := range []struct {
		runs []manifest.SortedRun
		want bool
	}{
		{nil, true},
		{[]manifest.SortedRun{run(table.Insert, 1, 3)}, true},
		{[]manifest.SortedRun{run(table.Insert, 1, 3), run(table.UpdateAfter, 4, 9)}, true},
		{[]manifest.SortedRun{run(table.Insert, 1, 3), run(table.Insert, 2)}, false}, // no common key, but it must be merged to know
		{[]manifest.SortedRun{run(table.Delete, 1, 3)}, false},                       // R2
		{[]manifest.SortedRun{unknown}, false},                                       // null is not 0
	} {
		got, err := filestore.Raw(s, c.runs)
		if err != nil || got != c.want {
			t.Errorf("%v: %v %v", c.runs, got, err)
		}
	}
}

// TestConcurrentReaders reads one bucket in every way at once.
func TestConcurrentReaders(t *testing.T) {
	l := newLSM(t, keySchemas["composite"], true, 3, filestore.Options{MemoryBytes: 1 << 20})
	want := l.live()
	var keys []table.TrimmedKey
	for k := range l.model {
		keys = append(keys, k)
	}
	var wg sync.WaitGroup
	for i := range 6 {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(uint64(i), 1))
			for range 150 {
				key := keys[r.IntN(len(keys))]
				best := table.Sequence(-1)
				for _, run := range l.runs {
					for _, e := range run.Files {
						kv, ok, err := l.store.Lookup(t.Context(), l.place, e, key)
						if err != nil {
							t.Error(err)
							return
						}
						if ok {
							best = max(best, kv.Seq)
						}
					}
				}
				if best != l.model[key].Seq {
					t.Errorf("key %x: sequence %d, want %d", key, best, l.model[key].Seq)
				}
			}
			if m, err := l.store.Mask(t.Context(), l.place, l.runs); err != nil || len(m) == 0 {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	sameRows(t, l.place.Schema, maskedRows(t, l.store, l.place, l.runs), want)
}
