package exec_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"dtstore/exec"
	"dtstore/table"
)

func text() table.Type { return table.Type{Kind: table.VarChar, Length: table.MaxLength} }

// over replaces every table by one relation.
func over(sql string) func(*exec.Ref) (string, error) {
	return func(*exec.Ref) (string, error) { return sql, nil }
}

func relationOf(columns []exec.Column, rows []table.Row) exec.Relation {
	return exec.Relation{Columns: columns, Open: func(context.Context, []int) (exec.Source, error) { return exec.Rows(rows), nil }}
}

// Every type of ours goes into DuckDB and comes back as it was.
func TestRoundTrip(t *testing.T) {
	e := open(t, exec.Options{})
	s := session(t, e)
	types := []table.Type{
		{Kind: table.Boolean}, {Kind: table.TinyInt}, {Kind: table.SmallInt}, {Kind: table.Int}, {Kind: table.BigInt}, {Kind: table.Float}, {Kind: table.Double},
		{Kind: table.Decimal, Precision: 4, Scale: 2}, {Kind: table.Decimal, Precision: 9, Scale: 0}, {Kind: table.Decimal, Precision: 18, Scale: 18}, {Kind: table.Decimal, Precision: 38, Scale: 10},
		{Kind: table.Char, Length: 3}, text(), {Kind: table.VarBinary, Length: 9}, {Kind: table.Date}, {Kind: table.Timestamp, Precision: 6}, {Kind: table.Timestamp, Precision: 9}, {Kind: table.TimestampLTZ, Precision: 3},
	}
	const seed = 7
	rng := rand.New(rand.NewPCG(seed, seed))
	t.Log("seed", seed)
	random := func(typ table.Type) table.Value {
		if rng.IntN(5) == 0 {
			return table.Null()
		}
		n := rng.Int64() >> rng.IntN(63)
		if rng.IntN(2) == 0 {
			n = -n
		}
		switch typ.Kind {
		case table.Boolean:
			return table.BoolOf(n&1 == 0)
		case table.TinyInt:
			return table.IntOf(int64(int8(n)))
		case table.SmallInt:
			return table.IntOf(int64(int16(n)))
		case table.Int, table.Date:
			return table.IntOf(int64(int32(n)) / 1000)
		case table.Float:
			return table.FloatOf(float64(float32(rng.NormFloat64())))
		case table.Double:
			return table.FloatOf([]float64{rng.NormFloat64(), math.Inf(1), math.NaN(), math.Copysign(0, -1)}[rng.IntN(4)])
		case table.Decimal:
			if typ.Precision == 38 {
				return table.DecimalOf(n>>10, uint64(rng.Int64()))
			}
			return table.DecimalOfInt(n % int64(math.Pow10(typ.Precision)))
		case table.Char, table.VarChar:
			return table.StringOf(strings.Repeat("é", rng.IntN(20)))
		case table.VarBinary:
			return table.BytesOf([]byte(strings.Repeat("\x00\xff", rng.IntN(20))))
		case table.Timestamp, table.TimestampLTZ:
			nanos := 0
			if typ.Precision > 6 {
				nanos = rng.IntN(1000)
			}
			return table.TimestampOf(n/2000, nanos)
		}
		return table.IntOf(n)
	}
	var columns []exec.Column
	for i, typ := range types {
		columns = append(columns, exec.Column{Name: fmt.Sprintf("c%d", i), Type: typ})
	}
	rows := make([]table.Row, 5000)
	for i := range rows {
		for _, typ := range types {
			rows[i] = append(rows[i], random(typ))
		}
	}
	h, err := e.Register(t.Context(), relationOf(columns, rows))
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	st, err := s.Prepare(t.Context(), "SELECT * FROM "+h.SQL(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	stream, err := st.Run(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for {
		batch, err := stream.Next(t.Context())
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, got := range batch {
			for c, typ := range types {
				if !table.Equal(typ, got[c], rows[n][c]) {
					t.Fatalf("row %d %v: %s, want %s", n, typ, table.Text(typ, got[c]), table.Text(typ, rows[n][c]))
				}
			}
			n++
		}
	}
	if n != len(rows) {
		t.Fatalf("%d rows of %d", n, len(rows))
	}
	for i, c := range st.Columns() {
		if want := exec.TypeOf(types[i]); c.Type != want && types[i].Kind != table.Decimal {
			t.Errorf("%v is described as %v", types[i], c.Type)
		}
	}
}

// counting is a source of n rows (i, 'v…'), shared by threads.
type counting struct {
	next, end int64
	opened    *atomic.Int64
	at        atomic.Int64
	fail      error
	failAt    int64
}

func (c *counting) Next(ctx context.Context) (exec.Batch, error) {
	from := c.at.Add(8192) - 8192
	if c.fail != nil && from >= c.failAt {
		return nil, c.fail
	}
	if from >= c.end {
		return nil, io.EOF
	}
	var b exec.Batch
	for i := from; i < min(from+8192, c.end); i++ {
		b = append(b, table.Row{table.IntOf(i), table.StringOf("value of a row")})
	}
	return b, nil
}

func (c *counting) Close() { c.opened.Add(-1) }

func numbers(n int64, threads int, opened *atomic.Int64, change func(*counting)) exec.Relation {
	return exec.Relation{Rows: n, Threads: threads,
		Columns: []exec.Column{{Name: "i", Type: table.Type{Kind: table.BigInt}}, {Name: "s", Type: text()}},
		Open: func(context.Context, []int) (exec.Source, error) {
			opened.Add(1)
			c := &counting{end: n, opened: opened}
			if change != nil {
				change(c)
			}
			return c, nil
		}}
}

func TestRelation(t *testing.T) {
	e := open(t, exec.Options{Threads: 2})
	s := session(t, e)
	var opened atomic.Int64
	h, err := e.Register(t.Context(), numbers(100_000, 2, &opened, nil))
	if err != nil {
		t.Fatal(err)
	}
	for q, want := range map[string]string{
		"SELECT count(*) FROM t":                                                  "100000",
		"SELECT sum(i)::text FROM t":                                              "4999950000",
		"SELECT max(s), count(*) FROM t WHERE i < 10":                             "value of a row | 10",
		"SELECT count(*) FROM t a JOIN t b USING (i)":                             "100000",
		"WITH c AS (SELECT * FROM t) SELECT count(*) FROM c a, c b WHERE a.i=b.i": "100000",
		"SELECT i FROM t ORDER BY i DESC LIMIT 1":                                 "99999",
		"SELECT (SELECT count(*) FROM t WHERE i < x.i) FROM t x WHERE x.i = 7":    "7",
		"SELECT count(*) FROM public.t WHERE public.t.i = 1":                      "1",
	} {
		got, err := queryOver(t.Context(), e, s, q, over(h.SQL()))
		if _, rows, _ := strings.Cut(got, "\n"); err != nil || strings.TrimSpace(rows) != want {
			t.Errorf("%s\ngot %q, %v; want %s", q, got, err, want)
		}
	}
	h.Close()
	if _, err := queryOver(t.Context(), e, s, "SELECT 1 FROM t", over(h.SQL())); table.SQLState(err) != "55000" {
		t.Error("closed relation:", err)
	}
	if n := opened.Load(); n != 0 {
		t.Errorf("%d sources are open", n)
	}
}

func TestRelationFaults(t *testing.T) {
	e := open(t, exec.Options{Threads: 2})
	s := session(t, e)
	var opened atomic.Int64
	run := func(ctx context.Context, change func(*counting)) error {
		h, err := e.Register(ctx, numbers(1_000_000, 2, &opened, change))
		if err != nil {
			return err
		}
		defer h.Close()
		_, err = queryOver(ctx, e, s, "SELECT sum(i) FROM t", over(h.SQL()))
		return err
	}
	err := run(t.Context(), func(c *counting) {
		c.fail, c.failAt = table.Errorf("72000", "snapshot too old: %s", "x"), 100_000
	})
	if table.SQLState(err) != "72000" || err.Error() != "snapshot too old: x" {
		t.Errorf("%v %s", err, table.SQLState(err))
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	err = run(ctx, func(c *counting) { cancel(table.Errorf("57014", "statement timeout")); c.failAt = 0 })
	if table.SQLState(err) != "57014" || err.Error() != "statement timeout" {
		t.Errorf("%v %s", err, table.SQLState(err))
	}
	if n := opened.Load(); n != 0 {
		t.Errorf("%d sources are open", n)
	}
	if got, err := query(t.Context(), e, s, "SELECT 1"); err != nil {
		t.Error("the session is gone:", got, err)
	}
}

// writeParquet makes files with an engine that may write.
func writeParquet(t testing.TB, dir string, files, rows int) []exec.File {
	t.Helper()
	var out []exec.File
	for i := range files {
		path := filepath.Join(dir, fmt.Sprintf("f%d.parquet", i))
		exec.CopyOut(t, fmt.Sprintf("SELECT i::BIGINT AS k, (i * 7 %% 1000)::INTEGER AS v, 'name ' || i AS s, (i %% 5000)::DECIMAL(10,2) AS d FROM range(%d, %d) r(i)", i*rows/2, i*rows/2+rows), path)
		out = append(out, exec.File{Path: path, Rows: int64(rows)})
	}
	return out
}

func parquetColumns() []exec.Column {
	return []exec.Column{{Name: "k", Type: table.Type{Kind: table.BigInt}}, {Name: "v", Type: table.Type{Kind: table.Int}}, {Name: "s", Type: text()},
		{Name: "d", Type: table.Type{Kind: table.Decimal, Precision: 10, Scale: 2}}}
}

func TestParquet(t *testing.T) {
	dir := t.TempDir()
	files := writeParquet(t, dir, 3, 10_000)
	e := open(t, exec.Options{Readable: []string{dir}})
	s := session(t, e)
	check := func(p exec.ParquetScan, q, want string) {
		t.Helper()
		h, err := e.Parquet(t.Context(), p)
		if err != nil {
			t.Fatal(err)
		}
		defer h.Close()
		got, err := queryOver(t.Context(), e, s, q, over(h.SQL()))
		if _, rows, _ := strings.Cut(got, "\n"); err != nil || strings.TrimSpace(rows) != want {
			t.Errorf("%s: %q, %v; want %s", q, rows, err, want)
		}
	}
	scan := exec.ParquetScan{Files: files, Columns: parquetColumns()}
	check(scan, "SELECT count(*), count(DISTINCT k) FROM t", "30000 | 20000")
	for i := range 5000 { // the older half of the overlap of files 0 and 1
		files[0].Dead = append(files[0].Dead, uint32(5000+i))
	}
	files[1].Dead = []uint32{0, 63, 64, 9999}
	check(scan, "SELECT count(*) FROM t", "24996")
	check(scan, "SELECT count(*) FROM t WHERE k BETWEEN 5000 AND 9999", "4997")
	check(scan, "SELECT s FROM t WHERE k = 5001", "name 5001")
	check(scan, "SELECT count(*) FROM t WHERE k = 5063", "0")
	scan.Hidden = &exec.Hidden{Key: []int{0}, Keys: exec.Relation{Columns: []exec.Column{{Name: "k", Type: table.Type{Kind: table.BigInt}}},
		Open: func(context.Context, []int) (exec.Source, error) {
			return exec.Rows([]table.Row{{table.IntOf(1)}, {table.IntOf(5001)}, {table.IntOf(-9)}}), nil
		}}}
	check(scan, "SELECT count(*) FROM t", "24994")
	check(exec.ParquetScan{Columns: parquetColumns()}, "SELECT count(*), max(s) FROM t", "0 | NULL")
	// Files elsewhere cannot be read, even by our own relations.
	other := writeParquet(t, t.TempDir(), 1, 10)
	h, err := e.Parquet(t.Context(), exec.ParquetScan{Files: other, Columns: parquetColumns()})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	if _, err := queryOver(t.Context(), e, s, "SELECT * FROM t", over(h.SQL())); table.SQLState(err) != "42501" {
		t.Error("a file outside is read:", err)
	}
}
