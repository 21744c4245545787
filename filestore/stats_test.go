package filestore_test

import (
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/cockroachdb/datadriven"
	"github.com/parquet-go/parquet-go"

	"dtstore/filestore"
	"dtstore/manifest"
	"dtstore/merge"
	"dtstore/table"
)

// bounds writes one column of an append table and gives what its manifest
// entry says of it.
func bounds(t testing.TB, typ string, values ...table.Value) (lo, hi table.Value, nulls int64) {
	t.Helper()
	s := schemaOf(t, nil, "v "+typ)
	store, p := open(t, s, filestore.Options{})
	var rows []table.KeyValue
	for i, v := range values {
		rows = append(rows, table.KeyValue{Seq: table.Sequence(i), Row: table.Row{v}})
	}
	st := write(t, store, p, rows)[0].File.ValueStats
	low, err := table.DecodeSerialized(s.Types(), st.Min)
	if err != nil {
		t.Fatal(err)
	}
	high, err := table.DecodeSerialized(s.Types(), st.Max)
	if err != nil {
		t.Fatal(err)
	}
	return low[0], high[0], *st.NullCounts[0]
}

// TestBoundsOfStrings: a bound is valid UTF-8, of at most 16 characters, and
// on the right side of every value, or absent.
func TestBoundsOfStrings(t *testing.T) {
	check := func(values ...string) (table.Value, table.Value) {
		t.Helper()
		var cells []table.Value
		for _, v := range values {
			cells = append(cells, table.StringOf(v))
		}
		lo, hi, _ := bounds(t, "STRING", cells...)
		if lo.IsNull() != hi.IsNull() {
			t.Fatalf("%q: one bound only", values)
		}
		if lo.IsNull() {
			return lo, hi
		}
		for _, b := range []table.Value{lo, hi} {
			if !utf8.ValidString(b.Str()) || utf8.RuneCountInString(b.Str()) > 16 {
				t.Fatalf("%q: bound %q", values, b.Str())
			}
		}
		for _, v := range values {
			if lo.Str() > v || hi.Str() < v {
				t.Fatalf("%q: bounds %q %q", v, lo.Str(), hi.Str())
			}
		}
		return lo, hi
	}
	if _, hi := check(strings.Repeat("a", 15) + "\U0010ffff\U0010ffff\U0010ffffx"); hi.Str() != strings.Repeat("a", 14)+"b" {
		t.Errorf("bound %q", hi.Str())
	}
	if _, hi := check(strings.Repeat("\ud7ff", 20)); hi.Str() != strings.Repeat("\ud7ff", 15)+"\ue000" {
		t.Errorf("bound %q", hi.Str())
	}
	check(strings.Repeat("🦆", 20))
	check("", "x", strings.Repeat("日本", 9))
	if lo, _ := check(strings.Repeat("\U0010ffff", 17)); !lo.IsNull() {
		t.Error("nothing is above that value")
	}
	if _, hi := check(strings.Repeat("z", 16)); hi.Str() != strings.Repeat("z", 16) {
		t.Errorf("a value of 16 characters is its own bound, not %q", hi.Str())
	}
	r := rand.New(rand.NewPCG(1, 1))
	runes := []rune{0, 'a', 'z', 0x7f, 0x80, 0x7ff, 0xd7ff, 0xe000, 0xffff, 0x10000, 0x10fffe, 0x10ffff}
	for range 40 {
		var values []string
		for range 1 + r.IntN(4) {
			var v []rune
			for range r.IntN(20) {
				v = append(v, runes[r.IntN(len(runes))])
			}
			values = append(values, string(v))
		}
		check(values...)
	}
}

func TestBoundsOfDecimals(t *testing.T) {
	for _, typ := range []string{"DECIMAL(9, 2)", "DECIMAL(18, 4)", "DECIMAL(20, 2)", "DECIMAL(38, 10)"} {
		lo, hi, nulls := bounds(t, typ, table.DecimalOfInt(-5), table.Null(), table.DecimalOfInt(-1), table.DecimalOfInt(0), table.DecimalOfInt(3))
		parsed, err := table.ParseType(typ)
		if err != nil {
			t.Fatal(err)
		}
		if !table.Equal(parsed, lo, table.DecimalOfInt(-5)) || !table.Equal(parsed, hi, table.DecimalOfInt(3)) || nulls != 1 {
			t.Errorf("%s: %v %v %d", typ, lo, hi, nulls)
		}
	}
}

func TestBoundsOfFloats(t *testing.T) {
	for _, typ := range []string{"FLOAT", "DOUBLE"} {
		lo, hi, _ := bounds(t, typ, table.FloatOf(0), table.FloatOf(-1))
		if lo.Float() != -1 || hi.Float() != 0 || math.Signbit(hi.Float()) {
			t.Errorf("%s: %v %v", typ, lo.Float(), hi.Float())
		}
		lo, hi, _ = bounds(t, typ, table.FloatOf(0))
		if !math.Signbit(lo.Float()) || math.Signbit(hi.Float()) {
			t.Errorf("%s: zero is bounded by -0.0 and +0.0, not %v %v", typ, lo.Float(), hi.Float())
		}
		lo, hi, _ = bounds(t, typ, table.FloatOf(1), table.FloatOf(math.NaN()), table.FloatOf(2))
		if !lo.IsNull() || !hi.IsNull() {
			t.Errorf("%s: NaN has no bounds, not %v %v", typ, lo.Float(), hi.Float())
		}
		lo, hi, _ = bounds(t, typ, table.FloatOf(math.Inf(-1)), table.FloatOf(math.Inf(1)))
		if !math.IsInf(lo.Float(), -1) || !math.IsInf(hi.Float(), 1) {
			t.Errorf("%s: %v %v", typ, lo.Float(), hi.Float())
		}
	}
}

func TestBoundsAbsent(t *testing.T) {
	for typ, v := range map[string]table.Value{
		"BYTES": table.StringOf("x"), "BINARY(3)": table.StringOf("xyz"), "TIMESTAMP(9)": table.TimestampOf(1, 2),
		"TIMESTAMP(7) WITH LOCAL TIME ZONE": table.TimestampOf(1, 0), "INT": table.Null(), "STRING": table.Null(),
	} {
		lo, hi, nulls := bounds(t, typ, v, table.Null())
		if !lo.IsNull() || !hi.IsNull() || nulls < 1 {
			t.Errorf("%s: %v %v %d", typ, lo, hi, nulls)
		}
	}
	lo, hi, _ := bounds(t, "TIMESTAMP(6)", table.TimestampOf(-1, 0), table.TimestampOf(-62135596800000000, 0), table.TimestampOf(7, 0))
	if lo.Micros() != -62135596800000000 || hi.Micros() != 7 {
		t.Errorf("times before 1970: %v %v", lo.Micros(), hi.Micros())
	}
}

// TestNoIndexWithoutBounds: a column whose bounds are left out has no column
// index, which Java would take for bounds of zero; all others have one.
func TestNoIndexWithoutBounds(t *testing.T) {
	s := schemaOf(t, []string{"k"}, "k DOUBLE NOT NULL", "i INT", "f FLOAT", "d DOUBLE", "b BYTES", "w DECIMAL(38, 10)", "n DECIMAL(9, 2)", "t TIMESTAMP(9)", "s STRING")
	store, p := open(t, s, filestore.Options{})
	e := write(t, store, p, keyed(s, []table.Row{{table.FloatOf(1.5), table.IntOf(1), table.FloatOf(1), table.FloatOf(2), table.StringOf("\xff"), table.DecimalOf(0, 7), table.DecimalOf(0, 7),
		table.TimestampOf(1, 1), table.StringOf("x")}}, 0))[0]
	path, release, err := store.Local(t.Context(), p, e)
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	pq, err := parquet.OpenFile(f, e.File.Size)
	if err != nil {
		t.Fatal(err)
	}
	var with []string
	for _, c := range pq.Metadata().RowGroups[0].Columns {
		if c.ColumnIndexOffset > 0 {
			with = append(with, c.MetaData.PathInSchema[0])
		}
		if c.OffsetIndexOffset == 0 {
			t.Errorf("%v has no offset index", c.MetaData.PathInSchema)
		}
	}
	if got, want := strings.Join(with, " "), "_SEQUENCE_NUMBER _VALUE_KIND i n s"; got != want {
		t.Errorf("column indexes of %s, not of %s", got, want)
	}
	kv, ok, err := store.Lookup(t.Context(), p, e, s.TrimmedKey(table.Row{table.FloatOf(1.5)}))
	if err != nil || !ok || kv.Row[8].Str() != "x" {
		t.Errorf("lookup %v %v", ok, err)
	}
}

// TestKeyBoundsWhole: the key bounds are never cut, the key statistics at 128
// characters.
func TestKeyBoundsWhole(t *testing.T) {
	s := schemaOf(t, []string{"id"}, "id STRING NOT NULL")
	store, p := open(t, s, filestore.Options{})
	long := strings.Repeat("k", 100_000)
	e := write(t, store, p, keyed(s, []table.Row{{table.StringOf("a" + long)}, {table.StringOf("b" + long)}}, 0))[0]
	min, err := table.DecodeSerialized(s.Types(), e.File.MinKey)
	if err != nil || min[0].Str() != "a"+long {
		t.Errorf("min key %v %v", len(min[0].Str()), err)
	}
	max, err := table.DecodeSerialized(s.Types(), e.File.KeyStats.Max)
	if err != nil || max[0].Str() != "b"+strings.Repeat("k", 126)+"l" {
		t.Errorf("max of key stats %q %v", max[0].Str(), err)
	}
	kv, ok, err := store.Lookup(t.Context(), p, e, s.TrimmedKey(table.Row{table.StringOf("b" + long)}))
	if err != nil || !ok || kv.Row[0].Str() != "b"+long {
		t.Errorf("lookup %v %v", ok, err)
	}
}

func TestWriteRefuses(t *testing.T) {
	s := schemaOf(t, []string{"id"}, "id INT NOT NULL", "v INT NOT NULL", "d DECIMAL(20, 0)")
	row := func(id, v int64) table.Row { return table.Row{table.IntOf(id), table.IntOf(v), table.Null()} }
	for name, rows := range map[string][]table.KeyValue{
		"descending": {keyed(s, []table.Row{row(2, 0)}, 0)[0], keyed(s, []table.Row{row(1, 0)}, 0)[0]},
		"twice":      {keyed(s, []table.Row{row(2, 0)}, 0)[0], keyed(s, []table.Row{row(2, 0)}, 0)[0]},
		"null":       keyed(s, []table.Row{{table.IntOf(1), table.Null(), table.Null()}}, 0),
		"overflow":   keyed(s, []table.Row{row(1, 1<<40)}, 0),
		"decimal":    keyed(s, []table.Row{{table.IntOf(1), table.IntOf(1), table.DecimalOf(1<<50, 0)}}, 0),
		"short":      keyed(s, []table.Row{row(1, 0)[:2]}, 0),
	} {
		store, p := open(t, s, filestore.Options{TargetFileBytes: 1})
		// Rows before the bad one fill files, which must go again.
		var all []table.KeyValue
		for i := range 5000 {
			all = append(all, keyed(s, []table.Row{row(int64(i)-10000, 0)}, 0)...)
		}
		if _, err := store.WriteRun(t.Context(), p, 0, 0, merge.Slice(append(all, rows...))); err == nil {
			t.Errorf("%s: written", name)
		}
		dir, release, err := store.Local(t.Context(), p, manifest.Entry{File: manifest.File{Name: "x.parquet"}})
		if err == nil {
			release()
			t.Errorf("%s: there is %s", name, dir)
		}
	}
}

// TestRollAndClean rolls at the target size and leaves only named files.
func TestRollAndClean(t *testing.T) {
	s := flights(t)
	store, p := open(t, s, filestore.Options{TargetFileBytes: 100 << 10})
	e, err := store.WriteRun(t.Context(), p, 3, 1, newFlightRun(s, 60_000, 0, 1, 5))
	if err != nil {
		t.Fatal(err)
	}
	if len(e) < 3 {
		t.Fatalf("%d files", len(e))
	}
	var rows int64
	for i, x := range e {
		rows += x.File.Rows
		if i < len(e)-1 && (x.File.Size < 90<<10 || x.File.Size > 200<<10) {
			t.Errorf("file %d has %d bytes", i, x.File.Size)
		}
		if !strings.HasSuffix(x.File.Name, fmt.Sprintf("-%d.parquet", i)) || x.File.Level != 3 || *x.File.Source != 1 || x.TotalBuckets != 1 {
			t.Errorf("entry %+v", x)
		}
		path, release, err := store.Local(t.Context(), p, x)
		if err != nil {
			t.Fatal(err)
		}
		release()
		if info, err := os.Stat(path); err != nil || info.Size() != x.File.Size {
			t.Error(err, info)
		}
		if i == 0 {
			names, _ := filepath.Glob(filepath.Dir(path) + "/*")
			hidden, _ := filepath.Glob(filepath.Dir(path) + "/.*")
			if len(names) != len(e) || len(hidden) != 0 {
				t.Errorf("%v %v", names, hidden)
			}
		}
	}
	if rows != 60_000 {
		t.Error(rows)
	}
	it, err := store.ReadRun(t.Context(), p, manifest.SortedRun{Files: e}, filestore.ReadOptions{})
	want, _ := collectFlights(s, 60_000)
	sameRows(t, s, drain(t, it, err), want)
}

func collectFlights(s *table.Schema, n int) (rows []table.KeyValue, err error) {
	it := newFlightRun(s, n, 0, 1, 5)
	for {
		kv, err := it.Next()
		if err == io.EOF {
			return rows, nil
		}
		rows = append(rows, *kv)
	}
}

// TestPartitionPath prints the folders of partitions.
func TestPartitionPath(t *testing.T) {
	datadriven.RunTest(t, "testdata/partition", func(t *testing.T, d *datadriven.TestData) string {
		s := &table.Schema{Options: map[string]string{}}
		var out strings.Builder
		for _, arg := range d.CmdArgs {
			s.Options[arg.Key] = arg.Vals[0]
		}
		typ, err := table.ParseType(d.Cmd)
		if d.Cmd == "TIMESTAMP" {
			typ, err = table.ParseType("TIMESTAMP(" + s.Options["precision"] + ")")
		} else if d.Cmd == "DECIMAL" {
			typ, err = table.ParseType("DECIMAL(10, 3)")
		}
		if err != nil {
			t.Fatal(err)
		}
		s.Fields = []table.Field{{Name: "p=q", Type: typ}}
		s.PartitionKeys = []string{"p=q"}
		for line := range strings.Lines(d.Input) {
			text := strings.TrimSuffix(line, "\n")
			v := table.Null()
			if text != "NULL" {
				text = strings.ReplaceAll(strings.Trim(text, "|"), `\n`, "\n")
				if v, err = table.ParseText(typ, text, time.UTC); err != nil {
					t.Fatal(err)
				}
			}
			path, err := filestore.PartitionPath(s, s.Partition(table.Row{v}))
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintln(&out, path)
		}
		return out.String()
	})
}
