package planner_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"dtstore/manifest"
	"dtstore/planner"
	"dtstore/table"
)

func parse(t testing.TB, text string) table.Type {
	t.Helper()
	typ, err := table.ParseType(text)
	if err != nil {
		t.Fatal(err)
	}
	return typ
}

func schema(t testing.TB, cols, pk, part string, options map[string]string) *table.Schema {
	t.Helper()
	s := &table.Schema{Options: options, PrimaryKeys: strings.Fields(pk), PartitionKeys: strings.Fields(part)}
	for i, c := range strings.Split(cols, ";") {
		name, typ, _ := strings.Cut(strings.TrimSpace(c), " ")
		s.Fields = append(s.Fields, table.Field{ID: i, Name: name, Type: parse(t, typ)})
	}
	return s
}

// TestBind is the table of what a literal may prune with.
func TestBind(t *testing.T) {
	s := schema(t, "i INT; b BIGINT; d DECIMAL(10,1); f FLOAT; g DOUBLE; s STRING; dt DATE; ts TIMESTAMP(3); tz TIMESTAMP(6) WITH LOCAL TIME ZONE; tm TIME(3); o BOOLEAN; y BYTES", "", "", nil)
	tokyo, err := time.LoadLocation("Asia/Tokyo")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		col  string
		kind planner.LiteralKind
		text string
		typ  string
		want string // "" drops the predicate
	}{
		{"i", planner.LiteralInt, "5", "", "5"}, {"i", planner.LiteralInt, "5000000000", "", ""}, {"i", planner.LiteralDecimal, "5.0", "", "5"},
		{"i", planner.LiteralDecimal, "5.5", "", ""}, {"i", planner.LiteralString, "5", "", "5"}, {"i", planner.LiteralString, "5.0", "", ""}, {"i", planner.LiteralFloat, "1e2", "", "100"},
		{"i", planner.LiteralInt, "5", "BIGINT", "5"}, {"i", planner.LiteralBool, "true", "", ""}, {"i", planner.LiteralNull, "", "", ""},
		{"d", planner.LiteralDecimal, "2.50", "", "2.5"}, {"d", planner.LiteralDecimal, "2.55", "", ""}, {"d", planner.LiteralInt, "3", "", "3.0"},
		{"f", planner.LiteralDecimal, "0.5", "", "0.5"}, {"f", planner.LiteralDecimal, "0.1", "", ""}, {"g", planner.LiteralDecimal, "0.1", "", "0.1"},
		{"s", planner.LiteralString, "x", "", "x"}, {"s", planner.LiteralInt, "5", "", ""}, {"s", planner.LiteralString, "x", "DATE", ""},
		{"dt", planner.LiteralString, "2024-01-01", "DATE", "2024-01-01"}, {"dt", planner.LiteralString, "2024-01-01", "TIMESTAMP", ""},
		{"ts", planner.LiteralString, "2024-01-01 10:00:00.123", "", "2024-01-01 10:00:00.123"}, {"ts", planner.LiteralString, "2024-01-01 10:00:00.1234", "", ""},
		{"ts", planner.LiteralString, "2024-01-01", "DATE", "2024-01-01 00:00:00"}, {"ts", planner.LiteralString, "2024-01-01 00:00:00+01", "TIMESTAMPTZ", ""},
		{"tz", planner.LiteralString, "2024-01-01 09:00:00", "", "2024-01-01 00:00:00+00"}, {"tz", planner.LiteralString, "2024-01-01", "DATE", ""},
		{"tm", planner.LiteralString, "10:00:00.5", "TIME", "10:00:00.5"}, {"tm", planner.LiteralString, "10:00:00.0005", "", ""},
		{"o", planner.LiteralBool, "true", "", "t"}, {"y", planner.LiteralString, `\x00ff`, "", `\x00ff`}, {"nope", planner.LiteralInt, "1", "", ""},
	} {
		p, ok := planner.Bind(s, c.col, planner.Equal, []planner.Literal{{Kind: c.kind, Text: c.text, Type: c.typ}}, tokyo)
		got := ""
		if ok {
			got = table.Text(s.Fields[p.Field].Type, p.Args[0])
		}
		if got != c.want {
			t.Errorf("%s = %s (%s): %q, want %q", c.col, c.text, c.typ, got, c.want)
		}
	}
}

// holds evaluates a predicate on a row, written apart from the package's own
// evaluation: it compares through ordered keys.
func holds(s *table.Schema, p planner.Predicate, row table.Row) bool {
	t, v := s.Fields[p.Field].Type, row[p.Field]
	if v.IsNull() || p.Op == planner.IsNull || p.Op == planner.IsNotNull {
		return v.IsNull() == (p.Op == planner.IsNull) && (p.Op == planner.IsNull || p.Op == planner.IsNotNull)
	}
	cmp := func(a table.Value) int {
		if (t.Kind == table.Double) && a.Float() == v.Float() {
			return 0
		}
		return strings.Compare(string(table.AppendOrdered(nil, t, v)), string(table.AppendOrdered(nil, t, a)))
	}
	switch p.Op {
	case planner.Equal:
		return cmp(p.Args[0]) == 0
	case planner.NotEqual:
		return cmp(p.Args[0]) != 0
	case planner.Less:
		return cmp(p.Args[0]) < 0
	case planner.LessEqual:
		return cmp(p.Args[0]) <= 0
	case planner.Greater:
		return cmp(p.Args[0]) > 0
	case planner.GreaterEqual:
		return cmp(p.Args[0]) >= 0
	case planner.Between:
		return cmp(p.Args[0]) >= 0 && cmp(p.Args[1]) <= 0
	case planner.StartsWith:
		return strings.HasPrefix(v.Str(), p.Args[0].Str())
	}
	return slices.ContainsFunc(p.Args, func(a table.Value) bool { return cmp(a) == 0 })
}

func randomValue(r *rand.Rand, t table.Type) table.Value {
	if !t.NotNull && r.IntN(6) == 0 {
		return table.Null()
	}
	switch {
	case t.IsString():
		return table.StringOf(strings.Repeat(string(rune('a'+r.IntN(3))), r.IntN(3)) + string(rune('a'+r.IntN(4))))
	case t.Kind == table.Double:
		return table.FloatOf([]float64{0, math.Copysign(0, -1), 1, -1, 2.5, math.NaN(), math.Inf(1), math.Inf(-1)}[r.IntN(8)])
	case t.Kind == table.Decimal:
		return table.DecimalOfInt(r.Int64N(20) - 10)
	}
	return table.IntOf(r.Int64N(12) - 6)
}

func randomPredicates(r *rand.Rand, s *table.Schema) []planner.Predicate {
	var out []planner.Predicate
	for range 1 + r.IntN(3) {
		f := r.IntN(len(s.Fields))
		p := planner.Predicate{Field: f, Op: planner.Op(r.IntN(11))}
		t := s.Fields[f].Type
		t.NotNull = true
		n := map[planner.Op]int{planner.IsNull: 0, planner.IsNotNull: 0, planner.In: r.IntN(4), planner.Between: 2}
		args, ok := n[p.Op]
		if !ok {
			args = 1
		}
		if p.Op == planner.StartsWith && !t.IsString() {
			p.Op = planner.Equal
		}
		for range args {
			p.Args = append(p.Args, randomValue(r, t))
		}
		out = append(out, p)
	}
	return out
}

// TestPruningKeepsMatches makes random files with honest statistics and random
// predicates: whatever row satisfies all of them, its file, partition, bucket,
// key range and look-up are kept.
func TestPruningKeepsMatches(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 3))
	kept, dropped := 0, 0
	for range 3000 {
		s := schema(t, "p INT NOT NULL; a STRING NOT NULL; b INT NOT NULL; d DOUBLE NOT NULL; v DOUBLE; w STRING; m DECIMAL(5,1); n INT", "p a b d", "p", map[string]string{"bucket": "3"})
		if r.IntN(2) == 0 {
			s = schema(t, "p INT NOT NULL; a STRING NOT NULL; b INT NOT NULL; d DOUBLE NOT NULL; v DOUBLE; w STRING; m DECIMAL(5,1); n INT", "p a b", "p", map[string]string{"bucket": "3"})
		}
		rows := make([]table.Row, 1+r.IntN(4))
		bucket := table.Bucket(-1)
		part := randomValue(r, s.Fields[0].Type)
		for i := range rows {
			for {
				row := table.Row{part}
				for _, f := range s.Fields[1:] {
					row = append(row, randomValue(r, f.Type))
				}
				if b := s.BucketOf(row); bucket < 0 || b == bucket {
					bucket, rows[i] = b, row
					break
				}
			}
		}
		e := fileOf(s, rows, bucket)
		for range 20 {
			preds := randomPredicates(r, s)
			plan, err := planner.Make(planner.Request{Schema: s, Predicates: preds, Horizon: []table.Offset{5, 5, 5}}, []manifest.Entry{e})
			if err != nil {
				t.Fatal(err)
			}
			from, to := planner.KeyRange(s, preds)
			for _, row := range rows {
				if !slices.ContainsFunc(preds, func(p planner.Predicate) bool { return !holds(s, p, row) }) {
					kept++
					what := fmt.Sprintf("row %v, predicates %v", texts(s, row), describe(s, preds))
					if len(plan.Splits) == 0 || plan.Splits[0].Skip[e.File.Name] {
						t.Fatalf("file dropped: %s", what)
					}
					if k := s.TrimmedKey(row); k < from || to != "" && k >= to {
						t.Fatalf("key out of range: %s", what)
					}
					if !slices.ContainsFunc(plan.Tails, func(tl planner.Tail) bool { return tl.Bucket == bucket }) {
						t.Fatalf("tail dropped: %s", what)
					}
					if plan.Lookups != nil && !slices.ContainsFunc(plan.Lookups, func(l planner.Lookup) bool { return l.Key == s.Key(row) }) {
						t.Fatalf("look-up misses: %s", what)
					}
				}
			}
			if len(plan.Splits) == 0 || plan.Splits[0].Skip != nil {
				dropped++
			}
		}
	}
	if kept < 1000 || dropped < 1000 {
		t.Fatalf("the test tests little: %d kept, %d dropped", kept, dropped)
	}
}

func fileOf(s *table.Schema, rows []table.Row, bucket table.Bucket) manifest.Entry {
	rows = slices.Clone(rows)
	slices.SortFunc(rows, func(a, b table.Row) int { return strings.Compare(string(s.TrimmedKey(a)), string(s.TrimmedKey(b))) })
	lo, hi := make(table.Row, len(s.Fields)), make(table.Row, len(s.Fields))
	var nulls []*int64
	for i, f := range s.Fields {
		n := int64(0)
		for _, row := range rows {
			v := row[i]
			switch {
			case v.IsNull():
				n++
			case f.Type.Kind == table.Double && math.IsNaN(v.Float()):
				// Parquet writers leave NaN out of the bounds.
			default:
				if lo[i].IsNull() || table.Compare(f.Type, v, lo[i]) < 0 {
					lo[i] = v
				}
				if hi[i].IsNull() || table.Compare(f.Type, v, hi[i]) > 0 {
					hi[i] = v
				}
			}
		}
		nulls = append(nulls, &n)
	}
	none := int64(0)
	return manifest.Entry{Partition: s.Partition(rows[0]), Bucket: bucket, TotalBuckets: s.Buckets(), File: manifest.File{
		Name: "f", Rows: int64(len(rows)), MinKey: s.BinaryKey(rows[0]), MaxKey: s.BinaryKey(rows[len(rows)-1]), DeleteRows: &none,
		ValueStats: manifest.Stats{Min: table.AppendSerialized(nil, s.Types(), lo), Max: table.AppendSerialized(nil, s.Types(), hi), NullCounts: nulls},
	}}
}

func texts(s *table.Schema, row table.Row) (out []string) {
	for i, v := range row {
		out = append(out, s.Fields[i].Name+"="+table.Text(s.Fields[i].Type, v))
	}
	return out
}

func describe(s *table.Schema, preds []planner.Predicate) (out []string) {
	for _, p := range preds {
		d := s.Fields[p.Field].Name + " " + p.Op.String()
		for _, a := range p.Args {
			d += " " + table.Text(s.Fields[p.Field].Type, a)
		}
		out = append(out, d)
	}
	return out
}

// TestSkipKeepsMask: a file that a value predicate drops stays in the runs.
func TestSkipKeepsMask(t *testing.T) {
	s := schema(t, "k INT NOT NULL; v INT", "k", "", map[string]string{"bucket": "1"})
	old := fileOf(s, []table.Row{{table.IntOf(1), table.IntOf(1)}}, 0)
	young := fileOf(s, []table.Row{{table.IntOf(1), table.IntOf(9)}}, 0)
	young.File.Name, young.File.MaxSeq = "g", 7
	p, err := planner.Make(planner.Request{Schema: s, Predicates: []planner.Predicate{{Field: 1, Op: planner.Equal, Args: []table.Value{table.IntOf(1)}}}}, []manifest.Entry{old, young})
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Splits) != 1 || len(p.Splits[0].Runs) != 2 || !p.Splits[0].Skip["g"] || p.Splits[0].Skip["f"] {
		t.Fatalf("%+v", p)
	}
}

// TestRescaledBuckets: pruning goes by the bucket count of the file.
func TestRescaledBuckets(t *testing.T) {
	s := schema(t, "k INT NOT NULL", "k", "", map[string]string{"bucket": "4"})
	for k := range int64(100) {
		row := table.Row{table.IntOf(k)}
		for _, total := range []int{2, 4, -1} {
			e := fileOf(s, []table.Row{row}, 0)
			if e.TotalBuckets = total; total > 0 {
				e.Bucket = table.BucketOfHash(table.Hash(table.AppendBinaryRow(nil, s.KeyTypes(), row)), total)
			}
			p, err := planner.Make(planner.Request{Schema: s, Predicates: []planner.Predicate{{Op: planner.Equal, Args: row}}}, []manifest.Entry{e})
			if err != nil || len(p.Splits) != 1 {
				t.Fatalf("key %d of %d buckets: %v, %v", k, total, p, err)
			}
		}
	}
}
