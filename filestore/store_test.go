package filestore_test

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"dtstore/filestore"
	"dtstore/manifest"
	"dtstore/merge"
	"dtstore/objstore"
	"dtstore/table"
)

// schemaOf makes a schema from "name TYPE" columns; pk names the key.
func schemaOf(t testing.TB, pk []string, columns ...string) *table.Schema {
	t.Helper()
	s := &table.Schema{PrimaryKeys: pk, Options: map[string]string{"bucket": "1"}}
	for i, c := range columns {
		name, text, _ := strings.Cut(c, " ")
		typ, err := table.ParseType(text)
		if err != nil {
			t.Fatal(err)
		}
		s.Fields = append(s.Fields, table.Field{ID: i, Name: name, Type: typ})
	}
	s.HighestFieldID = len(columns) - 1
	return s
}

// open gives a store in a fresh directory and a place in it.
func open(t testing.TB, s *table.Schema, opts filestore.Options) (*filestore.Store, filestore.Place) {
	t.Helper()
	dir, err := objstore.OpenDir(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	store, err := filestore.Open(dir, opts)
	if err != nil {
		t.Fatal(err)
	}
	return store, filestore.Place{Path: "db.db/t", Schema: s, Partition: table.EmptyPartition}
}

// keyed turns rows into the rows of a run: sorted, one for a key.
func keyed(s *table.Schema, rows []table.Row, seq table.Sequence) []table.KeyValue {
	var kvs []table.KeyValue
	for i, r := range rows {
		kvs = append(kvs, table.KeyValue{Key: s.TrimmedKey(r), Seq: seq + table.Sequence(i), Row: r})
	}
	slices.SortStableFunc(kvs, func(a, b table.KeyValue) int { return strings.Compare(string(a.Key), string(b.Key)) })
	return kvs
}

func write(t testing.TB, store *filestore.Store, p filestore.Place, rows []table.KeyValue) []manifest.Entry {
	t.Helper()
	entries, err := store.WriteRun(t.Context(), p, 0, 0, merge.Slice(rows))
	if err != nil {
		t.Fatal(err)
	}
	return entries
}

// drain reads all rows, copying them.
func drain(t testing.TB, it merge.Iterator, err error) []table.KeyValue {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	defer it.Close()
	var out []table.KeyValue
	for {
		kv, err := it.Next()
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		c := *kv
		c.Row = slices.Clone(kv.Row)
		out = append(out, c)
	}
}

func sameRows(t testing.TB, s *table.Schema, got, want []table.KeyValue) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%d rows, want %d", len(got), len(want))
	}
	for i := range got {
		if got[i].Key != want[i].Key || s.Keyed() && (got[i].Seq != want[i].Seq || got[i].Kind != want[i].Kind) {
			t.Fatalf("row %d: key %x seq %d %v, want %x %d %v", i, got[i].Key, got[i].Seq, got[i].Kind, want[i].Key, want[i].Seq, want[i].Kind)
		}
		for c, f := range s.Fields {
			if !table.Equal(f.Type, got[i].Row[c], want[i].Row[c]) {
				t.Fatalf("row %d column %s: %s, want %s", i, f.Name, text(f.Type, got[i].Row[c]), text(f.Type, want[i].Row[c]))
			}
		}
	}
}

func text(t table.Type, v table.Value) string {
	if v.IsNull() {
		return "NULL"
	}
	return fmt.Sprintf("%q", table.Text(t, v))
}

// allTypes has a column of every type, at every physical width.
var allTypes = []string{
	"b BOOLEAN", "i8 TINYINT", "i16 SMALLINT", "i32 INT", "i64 BIGINT", "f FLOAT", "d DOUBLE",
	"d5 DECIMAL(5, 2)", "d9 DECIMAL(9, 0)", "d18 DECIMAL(18, 4)", "d20 DECIMAL(20, 2)", "d38 DECIMAL(38, 10)",
	"c CHAR(5)", "v VARCHAR(20)", "s STRING", "bin BINARY(3)", "vb VARBINARY(9)", "bytes BYTES",
	"day DATE", "tm TIME(3)", "t0 TIMESTAMP(0)", "t3 TIMESTAMP(3)", "t6 TIMESTAMP(6)", "t9 TIMESTAMP(9)",
	"z3 TIMESTAMP(3) WITH LOCAL TIME ZONE", "z6 TIMESTAMP(6) WITH LOCAL TIME ZONE", "z9 TIMESTAMP(9) WITH LOCAL TIME ZONE",
}

// randomValue draws a value of a type, often an extreme one.
func randomValue(r *rand.Rand, t table.Type) table.Value {
	pick := func(vs ...int64) int64 { return vs[r.IntN(len(vs))] }
	switch t.Kind {
	case table.Boolean:
		return table.BoolOf(r.IntN(2) == 1)
	case table.TinyInt:
		return table.IntOf(pick(0, -128, 127, int64(int8(r.Uint32()))))
	case table.SmallInt:
		return table.IntOf(pick(0, -32768, 32767, int64(int16(r.Uint32()))))
	case table.Int:
		return table.IntOf(pick(0, -1<<31, 1<<31-1, int64(int32(r.Uint32()))))
	case table.BigInt:
		return table.IntOf(pick(0, -1<<63, 1<<63-1, int64(r.Uint64())))
	case table.Date:
		return table.IntOf(pick(0, -1, -719162, 2932896, int64(r.IntN(40000)-20000)))
	case table.Time:
		return table.IntOf(pick(0, 86399999, int64(r.IntN(86400000))))
	case table.Float:
		return table.FloatOf(float64(float32([]float64{0, -1.5, 3.25e10, r.NormFloat64()}[r.IntN(4)])))
	case table.Double:
		return table.FloatOf([]float64{0, -1.5, 1e300, r.NormFloat64()}[r.IntN(4)])
	case table.Decimal:
		digits := 1 + r.IntN(t.Precision)
		hi, lo := int64(0), uint64(0)
		for range digits {
			hi, lo, _ = table.MulPow10(hi, lo, 1)
			lo += uint64(r.IntN(10)) // may lose a carry, which is as good
		}
		if r.IntN(2) == 0 {
			hi, lo = ^hi, ^lo
		}
		return table.DecimalOf(hi, lo)
	case table.Timestamp, table.TimestampLTZ:
		us := pick(0, -1, -62135596800000000, 253402300799999999, r.Int64N(4e15)-2e15)
		switch {
		case t.Precision == 0:
			us = us / 1e6 * 1e6
		case t.Precision <= 3:
			us = us / 1000 * 1000
		case t.Precision > 6:
			return table.TimestampOf(us, r.IntN(1000))
		}
		return table.TimestampOf(us, 0)
	case table.Binary, table.VarBinary:
		b := make([]byte, r.IntN(9))
		for i := range b {
			b[i] = byte(r.Uint32())
		}
		return table.BytesOf(b)
	}
	words := []string{"", "a", "zebra", "naïve", "日本語", "🙂🙂", "x\x00y", strings.Repeat("long ", 4)}
	return table.StringOf(words[r.IntN(len(words))] + []string{"", fmt.Sprint(r.IntN(1e6))}[r.IntN(2)])
}

// nulls says in which rows of n a column is NULL.
var nullPatterns = map[string]func(i, n int) bool{
	"none":      func(int, int) bool { return false },
	"all":       func(int, int) bool { return true },
	"first":     func(i, n int) bool { return i == 0 },
	"last":      func(i, n int) bool { return i == n-1 },
	"alternate": func(i, n int) bool { return i%2 == 0 },
	"threes":    func(i, n int) bool { return i%4 != 3 },
	"blocks":    func(i, n int) bool { return i/700%2 == 0 },
}

func TestRoundTrip(t *testing.T) {
	for _, codec := range []string{"zstd", "snappy", "gzip", "none"} {
		for name, null := range nullPatterns {
			for _, n := range []int{1, 3, 100, 5000} {
				if codec != "zstd" && n != 100 {
					continue
				}
				t.Run(fmt.Sprintf("%s/%s/%d", codec, name, n), func(t *testing.T) {
					r := rand.New(rand.NewPCG(uint64(n), 7))
					s := schemaOf(t, []string{"id"}, append([]string{"id BIGINT NOT NULL"}, allTypes...)...)
					s.Options["file.compression"] = codec
					var rows []table.Row
					for i := range n {
						row := table.Row{table.IntOf(int64(i*3 - n))}
						for _, f := range s.Fields[1:] {
							v := table.Null()
							if !null(i, n) {
								v = randomValue(r, f.Type)
							}
							row = append(row, v)
						}
						rows = append(rows, row)
					}
					store, p := open(t, s, filestore.Options{})
					want := keyed(s, rows, 10)
					for i := range want {
						want[i].Kind = []table.RowKind{table.Insert, table.UpdateAfter, table.Delete}[i%3]
					}
					e := write(t, store, p, want)
					if len(e) != 1 || e[0].File.Rows != int64(n) || *e[0].File.DeleteRows != int64(n/3) {
						t.Fatalf("entries %+v", e)
					}
					for _, reuse := range []bool{false, true} {
						it, err := store.ReadFile(t.Context(), p, e[0], filestore.ReadOptions{Reuse: reuse})
						sameRows(t, s, drain(t, it, err), want)
					}
					for _, i := range []int{0, n / 2, n - 1} {
						kv, ok, err := store.Lookup(t.Context(), p, e[0], want[i].Key)
						if err != nil || !ok {
							t.Fatalf("lookup row %d: %v %v", i, ok, err)
						}
						sameRows(t, s, []table.KeyValue{kv}, want[i:i+1])
					}
				})
			}
		}
	}
}

func TestAppendRoundTrip(t *testing.T) {
	s := schemaOf(t, nil, allTypes...)
	r := rand.New(rand.NewPCG(1, 2))
	var rows []table.KeyValue
	for i := range 3000 {
		var row table.Row
		for _, f := range s.Fields {
			row = append(row, randomValue(r, f.Type))
		}
		rows = append(rows, table.KeyValue{Seq: table.Sequence(i), Row: row})
	}
	store, p := open(t, s, filestore.Options{})
	e := write(t, store, p, rows)
	it, err := store.ReadRun(t.Context(), p, manifest.SortedRun{Files: e}, filestore.ReadOptions{})
	sameRows(t, s, drain(t, it, err), rows)
	if e[0].File.MinSeq != 0 || e[0].File.MaxSeq != 2999 || string(e[0].File.MinKey) != string(table.EmptyPartition) {
		t.Errorf("entry %+v", e[0].File)
	}
}
