//go:build peers

package interop_test

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"dtstore/table"
	"dtstore/tests/agree"
	"dtstore/tests/dtest"
)

var share = flag.Int("share", 10, "every so-manieth filter goes to Flink and pypaimon before compaction, another after it")

// mine says whether filter i is asked before (part 0) or after compaction.
func mine(i, part int) bool { return i%*share == part*(*share/2) }

// filter is one condition, in everybody's words.
type filter struct {
	ours, flink string
	pypaimon    [][]string
}

// filters of a table: for each column a value that is there, by equality and
// as a bound, and NULL; then keys and partitions with values.
//
// Left out is what the peers are known to get wrong or mean otherwise: TIME
// (Flink knows TIME(0) only), ranges of bytes (Paimon's Java loses rows of its
// own files), floats above a bound (NaN is above all here, beside all there),
// infinities (no literals of Flink's) and zeros of floats (-0 and 0 are two
// values to Paimon's statistics).
func filters(r *rand.Rand, f *fixture) (out []filter) {
	rows := make([][]string, 0, len(f.rows))
	keys := make([]string, 0, len(f.rows))
	for k := range f.rows {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	for _, k := range keys {
		rows = append(rows, f.rows[k])
	}
	one := func(i int) string { // a value of column i
		for range 100 {
			v := rows[r.IntN(len(rows))][i]
			if v != agree.Null && len(v) < 100 && !strings.ContainsAny(v, "\n\t\\") {
				return v
			}
		}
		return ""
	}
	words := map[string]string{"=": "equal", "<": "less_than", ">=": "greater_or_equal"}
	cond := func(i int, op string) (filter, bool) {
		c, v := f.columns[i], one(i)
		float := c.typ.Kind == table.Float || c.typ.Kind == table.Double
		bytes := c.typ.Kind == table.Binary || c.typ.Kind == table.VarBinary
		switch {
		case v == "" && c.typ.Kind != table.VarChar, c.typ.Kind == table.Time, bytes && op != "=", float && (op == ">=" || v == "NaN" || strings.HasSuffix(v, "Infinity") || v == "0" || v == "-0"):
			return filter{}, false
		}
		return filter{c.name + " " + op + " " + ours(c.typ, v), "`" + c.name + "` " + op + " " + flinks(c.typ, v), [][]string{{c.name, words[op], v}}}, true
	}
	and := func(a, b filter) filter {
		return filter{a.ours + " AND " + b.ours, a.flink + " AND " + b.flink, append(slices.Clone(a.pypaimon), b.pypaimon...)}
	}
	for i, c := range f.columns {
		for _, op := range []string{"=", "<", ">="} {
			if x, ok := cond(i, op); ok {
				out = append(out, x)
			}
		}
		if i%4 == 3 && !c.typ.NotNull {
			out = append(out, filter{c.name + " IS NULL", "`" + c.name + "` IS NULL", [][]string{{c.name, "is_null"}}})
		}
	}
	for _, name := range slices.Concat(f.key, f.partitions) {
		for _, op := range []string{"=", ">="} {
			a, ok := cond(f.index(name), op)
			b, also := cond(r.IntN(len(f.columns)), "<")
			if ok && also {
				out = append(out, and(a, b))
			}
		}
	}
	if len(f.key) > 1 { // a whole key
		row := rows[r.IntN(len(rows))]
		var whole filter
		for i, name := range f.key {
			c := f.columns[f.index(name)]
			v := row[f.index(name)]
			x := filter{c.name + " = " + ours(c.typ, v), "`" + c.name + "` = " + flinks(c.typ, v), [][]string{{c.name, "equal", v}}}
			if v == "NaN" || v == "-0" || v == "0" && c.typ.Kind == table.Double || strings.Contains(v, "\n") {
				return out
			}
			if i == 0 {
				whole = x
			} else {
				whole = and(whole, x)
			}
		}
		out = append(out, whole)
	}
	return out
}

// TestSameRows writes every type in every kind of table over several
// checkpoints, and has Flink, pypaimon and ourselves read it: everything, and
// by filters; before and after COMPACT. At the end Flink commits on top.
func TestSameRows(t *testing.T) {
	const seed = 20240229
	t.Log("seed", seed)
	r := rand.New(rand.NewPCG(seed, seed))
	dir := t.TempDir()
	warehouse := filepath.Join(dir, "warehouse")
	s := dtest.Start(t, dtest.Options{Data: filepath.Join(dir, "data"), Args: []string{"--warehouse", warehouse, "--checkpoint-interval", "1h"}})
	c := connect(t, s)
	tables := fixtures()
	for _, f := range tables {
		c.must(f.create())
	}
	for round := range 4 {
		for _, f := range tables {
			if f.key != nil && round > 0 {
				for _, statement := range f.change(r) {
					c.must(statement)
				}
			}
			c.must(f.insert(r, 24, round == 0))
		}
		if round < 3 {
			c.must("CHECKPOINT")
		}
	}
	for _, f := range tables { // with a tail
		sameAsModel(t, c, f)
	}
	c.must("CHECKPOINT")
	for _, f := range tables {
		sameAsModel(t, c, f)
	}
	before := filepath.Join(dir, "before")
	if err := os.CopyFS(before, os.DirFS(warehouse)); err != nil {
		t.Fatal(err)
	}
	for _, f := range tables {
		c.must("ALTER TABLE " + f.name + " COMPACT")
		sameAsModel(t, c, f)
	}
	conditions := map[string][]filter{}
	n := 0
	for _, f := range tables {
		conditions[f.name] = filters(r, f)
		n += len(conditions[f.name])
	}
	t.Logf("%d tables, %d filters", len(tables), n)
	if n / *share * 2 < 100 {
		t.Errorf("only %d filters", n)
	}
	answers := ourAnswers(t, c, tables, conditions)
	for part, w := range []struct{ name, path string }{{"before", before}, {"after", warehouse}} {
		t.Run("pypaimon "+w.name, func(t *testing.T) { samePypaimon(t, w.path, part, tables, conditions, answers) })
	}
	t.Run("Flink", func(t *testing.T) {
		fl := newFlink()
		for part, w := range []struct{ name, path string }{{"before", before}, {"after", warehouse}} {
			fl.do("CREATE CATALOG %s_compact WITH ('type' = 'paimon', 'warehouse' = 'file:%s')", w.name, w.path)
			for _, f := range tables {
				sameFlink(fl, w.name, part, f, conditions[f.name], answers[f.name])
			}
		}
		golden(t, fl)
		fl.do("INSERT INTO after_compact.`public`.words VALUES ('flink', 1), ('flink 2', 2)")
		fl.do("INSERT INTO after_compact.`public`.words VALUES ('flink', 10)")
		fl.run(t)
	})
	t.Run("on top", func(t *testing.T) { onTop(t, s, c, tables, warehouse) })
}

func sameAsModel(t *testing.T, c *client, f *fixture) {
	t.Helper()
	if diff := agree.Diff(c.rows(f.types(), "SELECT * FROM "+f.name), f.want(t)); diff != "" {
		t.Errorf("%s: + ours, - what was written:%s", f.name, diff)
	}
	if n := c.rows([]table.Type{{Kind: table.BigInt}}, "SELECT count(*) FROM "+f.name); n[0] != fmt.Sprint(len(f.rows)) {
		t.Errorf("%s: count %s, not %d", f.name, n[0], len(f.rows))
	}
}

// ourAnswers are what we say: [0] all rows, then one for each filter, checked
// against the same condition over all rows.
func ourAnswers(t *testing.T, c *client, tables []*fixture, conditions map[string][]filter) map[string][][]string {
	out := map[string][][]string{}
	for _, f := range tables {
		out[f.name] = append(out[f.name], f.want(t))
		for _, x := range conditions[f.name] {
			got := c.rows(f.types(), "SELECT * FROM "+f.name+" WHERE "+x.ours)
			want := c.rows(f.types(), "WITH x AS MATERIALIZED (SELECT * FROM "+f.name+" OFFSET 0) SELECT * FROM x WHERE "+x.ours)
			if diff := agree.Diff(got, want); diff != "" {
				t.Errorf("%s WHERE %s: + pruned, - not pruned:%s", f.name, x.ours, diff)
			}
			out[f.name] = append(out[f.name], want)
		}
	}
	return out
}

// perJob reads go into one job of Flink.
const perJob = 40

// sameFlink asks for all rows, and by the share's filters.
func sameFlink(fl *flink, when string, part int, f *fixture, conditions []filter, answers [][]string) {
	from := fmt.Sprintf("%s_compact.`public`.`%s`", when, f.name)
	var columns, reads []string
	for _, c := range f.columns {
		columns = append(columns, "`"+c.name+"`")
	}
	types := append([]table.Type{{Kind: table.Int}}, f.types()...)
	for i := range answers {
		sql := fmt.Sprintf("SELECT %d, %s FROM %s", i, strings.Join(columns, ", "), from)
		if i == 0 {
			reads = append(reads, sql)
		} else if mine(i, part) {
			reads = append(reads, sql+" WHERE "+conditions[i-1].flink)
		}
	}
	got := map[string][]string{}
	asked := 0
	for job := range slices.Chunk(reads, perJob) {
		asked += len(job)
		last := asked == len(reads)
		fl.query(strings.Join(job, "\nUNION ALL "), func(t *testing.T, rows []string) {
			for _, line := range rows {
				_, cells := flinkRow(line)
				row, err := agree.Row(types, cells)
				if err != nil {
					t.Fatal(err)
				}
				n, row, _ := strings.Cut(row, "\t")
				got[n] = append(got[n], row)
			}
			if !last {
				return
			}
			for i, want := range answers {
				what := "all rows"
				if i > 0 {
					if what = conditions[i-1].flink; !mine(i, part) {
						continue
					}
				}
				if diff := agree.Diff(got[fmt.Sprint(i)], want); diff != "" {
					t.Errorf("%s compaction, %s, %s: + Flink's, - ours:%s", when, f.name, what, diff)
				}
			}
		})
	}
}

func samePypaimon(t *testing.T, warehouse string, part int, tables []*fixture, conditions map[string][]filter, answers map[string][][]string) {
	var requests []request
	var wants [][]string
	var asked []*fixture
	add := func(f *fixture, where [][]string, want []string) {
		requests = append(requests, request{Table: "public." + f.name, Where: where})
		wants, asked = append(wants, want), append(asked, f)
	}
	for _, f := range tables {
		if answers[f.name] == nil {
			continue
		}
		add(f, nil, answers[f.name][0])
		for i, x := range conditions[f.name] {
			finer := slices.ContainsFunc(x.pypaimon, func(p []string) bool { return nanos(f.columns[f.index(p[0])]) }) // no such literal in Python
			if mine(i+1, part) && !finer {
				add(f, x.pypaimon, answers[f.name][i+1])
			}
		}
	}
	for at, rows := range pypaimon(t, warehouse, nil, requests) {
		f := asked[at]
		var got []string
		for _, row := range rows {
			cells := make([]*string, len(f.columns))
			for j, c := range f.columns {
				cells[j] = row[c.name]
			}
			line, err := agree.Row(f.types(), cells)
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, line)
		}
		if diff := agree.Diff(f.micros(got), f.micros(wants[at])); diff != "" {
			t.Errorf("%s %v: + pypaimon's, - ours:%s", f.name, requests[at].Where, diff)
		}
	}
}

func nanos(c column) bool { return c.typ.IsTimestamp() && c.typ.Precision == 9 }

// micros cuts TIMESTAMP(9) to microseconds, as pypaimon does where it merges.
func (f *fixture) micros(rows []string) []string {
	i := slices.IndexFunc(f.columns, nanos)
	if i < 0 {
		return rows
	}
	out := make([]string, len(rows))
	for n, row := range rows {
		cells := strings.Split(row, "\t")
		if len(cells[i]) > len("2000-01-01 00:00:00.123456") {
			cells[i] = strings.TrimRight(strings.TrimRight(cells[i][:len("2000-01-01 00:00:00.123456")], "0"), ".")
		}
		out[n] = strings.Join(cells, "\t")
	}
	return out
}

// golden has Flink read the tables of other writers, where only it can say
// what their rows are.
func golden(t *testing.T, fl *flink) {
	root := filepath.Join(dtest.Root(t), "testdata", "paimon", "tables")
	warehouse := filepath.Join(t.TempDir(), "golden")
	if err := os.CopyFS(warehouse, os.DirFS(root)); err != nil {
		t.Fatal(err)
	}
	c := connect(t, dtest.Start(t, dtest.Options{Args: []string{"--warehouse", warehouse}}))
	fl.do("CREATE CATALOG golden WITH ('type' = 'paimon', 'warehouse' = 'file:%s')", warehouse)
	for _, name := range []string{"append_with_bitmap_no_embedding", "pk_table_scan_and_read_mor", "append_complex_data", "append_with_multiple_ts_precision_and_timezone"} {
		data, err := os.ReadFile(filepath.Join(warehouse, name+".db", name, "schema", "schema-0"))
		if err != nil {
			t.Fatal(err)
		}
		s, err := agree.Schema(data)
		if err != nil {
			t.Fatal(err)
		}
		var types []table.Type
		var columns []string
		for _, f := range s.Fields {
			if f.Type.Kind == table.TimestampLTZ && f.Type.Precision > 6 {
				continue // the client protocol's timestamptz ends at microseconds
			}
			types = append(types, f.Type)
			columns = append(columns, f.Name)
		}
		list := strings.Join(columns, ", ")
		ours := c.rows(types, fmt.Sprintf("SELECT %s FROM %s.%s", list, name, name))
		fl.query(fmt.Sprintf("SELECT %s FROM golden.%s.%s", list, name, name), func(t *testing.T, rows []string) {
			var got []string
			for _, line := range rows {
				_, cells := flinkRow(line)
				row, err := agree.Row(types, cells)
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, row)
			}
			if diff := agree.Diff(got, ours); diff != "" {
				t.Errorf("golden %s: + Flink's, - ours:%s", name, diff)
			}
		})
	}
}

// onTop goes on above Flink's commits (seam E4): reads are right at once. A
// write is refused until the owner has raised its sequence numbers above
// Flink's, and then wins over Flink's rows, for other readers too.
func onTop(t *testing.T, s *dtest.Server, c *client, tables []*fixture, warehouse string) {
	f := tables[slices.IndexFunc(tables, func(f *fixture) bool { return f.name == "words" })]
	f.rows["flink"], f.rows["flink 2"] = []string{"flink", "10"}, []string{"flink 2", "2"}
	sameAsModel(t, c, f)
	if got := c.rows(f.types(), "SELECT * FROM words WHERE s = 'flink'"); len(got) != 1 || got[0] != "flink\t10" {
		t.Errorf("by key: %q", got)
	}
	for _, step := range []struct {
		sql   string
		model func()
	}{
		{"INSERT INTO words VALUES ('ours', 1), ('flink 2', 22)", func() { f.rows["ours"], f.rows["flink 2"] = []string{"ours", "1"}, []string{"flink 2", "22"} }},
		{"UPDATE words SET n = n + 1 WHERE s = 'flink 2'", func() { f.rows["flink 2"] = []string{"flink 2", "23"} }},
		{"DELETE FROM words WHERE s = 'flink'", func() { delete(f.rows, "flink") }},
	} {
		for end := time.Now().Add(30 * time.Second); ; time.Sleep(100 * time.Millisecond) {
			err := c.exec(step.sql)
			if err == nil {
				break
			}
			if refused(t, err, "0A000"); t.Failed() || time.Now().After(end) {
				t.Fatal(err)
			}
		}
		step.model()
		sameAsModel(t, c, f)
		c.must("CHECKPOINT")
		sameAsModel(t, c, f)
	}
	samePypaimon(t, warehouse, -1, tables, nil, map[string][][]string{f.name: {f.want(t)}})
	c.must("ALTER TABLE words COMPACT")
	sameAsModel(t, c, f)
	samePypaimon(t, warehouse, -1, tables, nil, map[string][][]string{f.name: {f.want(t)}})
	if out := s.Output(); strings.Contains(out, "panic") {
		t.Errorf("the server's output:\n%s", out)
	}
}

func refused(t testing.TB, err error, code string) {
	t.Helper()
	var e *pgconn.PgError
	if !errors.As(err, &e) || e.Code != code || e.Hint == "" {
		t.Errorf("%v, not %s with a hint", err, code)
	}
}
