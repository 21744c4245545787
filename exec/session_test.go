package exec_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"dtstore/exec"
	"dtstore/table"
)

func prepare(t *testing.T, s *exec.Session, sql string, declared ...exec.Type) *exec.Statement {
	t.Helper()
	st, err := s.Prepare(t.Context(), sql, declared)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(st.Close)
	return st
}

// A result without end gives its first rows at once, several streams of a
// session live side by side, and closing one stops it.
func TestStreams(t *testing.T) {
	e := open(t, exec.Options{Threads: 2})
	s := session(t, e)
	var streams []*exec.Stream
	for range 3 {
		st := prepare(t, s, "SELECT i FROM range(9223372036854775807) r(i)")
		rows, err := st.Run(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		streams = append(streams, rows)
	}
	for round := range 5 {
		for _, rows := range streams {
			batch, err := rows.Next(t.Context())
			if err != nil || len(batch) == 0 {
				t.Fatal(round, err)
			}
		}
		if out, err := query(t.Context(), e, s, "SELECT 1"); err != nil || !strings.HasSuffix(out, "\n1\n") {
			t.Fatal(out, err)
		}
	}
	for _, rows := range streams {
		rows.Close()
		if _, err := rows.Next(t.Context()); !errors.Is(err, io.EOF) {
			t.Error("after Close:", err)
		}
	}
}

// A statement that is run again ends the stream that it had.
func TestRunAgain(t *testing.T) {
	e := open(t, exec.Options{})
	s := session(t, e)
	st := prepare(t, s, "SELECT $1::bigint + i FROM range(3) r(i)")
	for i := range 3 {
		rows, err := st.Run(t.Context(), []exec.Arg{{Type: exec.Type{ID: exec.Int8}, Value: table.IntOf(int64(i * 10))}})
		if err != nil {
			t.Fatal(err)
		}
		batch, err := rows.Next(t.Context())
		if err != nil || len(batch) != 3 || batch[2][0].Int() != int64(i*10+2) {
			t.Fatal(batch, err)
		}
	}
	if _, err := st.Run(t.Context(), nil); table.SQLState(err) != "08P01" {
		t.Error("missing parameter:", err)
	}
}

// endless yields the same rows for ever; the first call says that it runs.
type endless struct {
	once    sync.Once
	started chan struct{}
	rows    []table.Row
}

func (s *endless) Next(context.Context) (exec.Batch, error) {
	s.once.Do(func() { close(s.started) })
	return s.rows, nil
}

func (s *endless) Close() {}

func TestCancel(t *testing.T) {
	e := open(t, exec.Options{Threads: 2})
	s := session(t, e)
	rows := make([]table.Row, 2048)
	for i := range rows {
		rows[i] = table.Row{table.IntOf(int64(i))}
	}
	for name, cancel := range map[string]func(context.CancelCauseFunc){
		"context": func(c context.CancelCauseFunc) {
			c(table.Errorf("57014", "canceling statement due to statement timeout"))
		},
		"interrupt": func(context.CancelCauseFunc) { s.Interrupt() },
	} {
		ctx, stop := context.WithCancelCause(t.Context())
		source := &endless{started: make(chan struct{}), rows: rows}
		h, err := e.Register(t.Context(), exec.Relation{Columns: []exec.Column{{Name: "i", Type: table.Type{Kind: table.BigInt}}},
			Open: func(context.Context, []int) (exec.Source, error) { return source, nil }})
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			<-source.started
			cancel(stop)
		}()
		st := prepare(t, s, "SELECT sum(i) FROM "+h.SQL())
		result, err := st.Run(ctx, nil)
		if err == nil {
			_, err = result.Next(ctx)
		}
		if table.SQLState(err) != "57014" {
			t.Errorf("%s: %v", name, err)
		}
		if name == "context" && (err == nil || !strings.Contains(err.Error(), "timeout")) {
			t.Errorf("%s: %v", name, err)
		}
		stop(nil)
		st.Close()
		h.Close()
		if _, err := query(t.Context(), e, s, "SELECT 1"); err != nil {
			t.Errorf("after %s: %v", name, err)
		}
	}
}

func TestMemoryIsBounded(t *testing.T) {
	e := open(t, exec.Options{Threads: 1, MemoryBytes: 64 << 20})
	s := session(t, e)
	_, err := query(t.Context(), e, s, "SELECT max(len(l)) FROM (SELECT array_agg(i::text) AS l FROM range(20000000) r(i)) x")
	if err == nil {
		_, err = query(t.Context(), e, s, "SELECT count(*) FROM (SELECT i::text || 'abcdefghijklmnop' AS k, count(*) FROM generate_series(1, 20000000) r(i) GROUP BY 1) x")
	}
	if table.SQLState(err) != "0A000" && table.SQLState(err) != "53200" {
		t.Fatalf("%v %s", err, table.SQLState(err))
	}
	_, err = query(t.Context(), e, s, "SELECT count(*) FROM (SELECT DISTINCT i::text || 'abcdefghijklmnop' AS k FROM generate_series(1, 5000000) r(i)) x")
	if table.SQLState(err) != "53200" {
		t.Fatalf("%v %s", err, table.SQLState(err))
	}
	if _, err := query(t.Context(), e, s, "SELECT 1"); err != nil {
		t.Error(err)
	}
	spilling := open(t, exec.Options{Threads: 1, MemoryBytes: 64 << 20, SpoolDir: t.TempDir()})
	out, err := query(t.Context(), spilling, session(t, spilling), "SELECT count(*) FROM (SELECT i FROM generate_series(1, 5000000) r(i) ORDER BY i * 7919 % 1000003, i OFFSET 10) x")
	if err != nil || !strings.HasSuffix(out, "\n4999990\n") {
		t.Error(out, err)
	}
}

func TestTimeZones(t *testing.T) {
	e := open(t, exec.Options{})
	a, b := session(t, e), session(t, e)
	if err := a.SetTimeZone("Asia/Tokyo"); err != nil {
		t.Fatal(err)
	}
	if err := b.SetTimeZone("No/Where"); table.SQLState(err) != "22023" {
		t.Error(err)
	}
	const q = "SELECT timestamptz '2020-01-01 00:00:00+00'::text, date_trunc('day', timestamptz '2020-01-01 20:00:00+00') = timestamptz '2020-01-01 15:00:00+00'"
	for s, want := range map[*exec.Session]string{a: "2020-01-01 09:00:00+09 | t", b: "2020-01-01 00:00:00+00 | f"} {
		out, err := query(t.Context(), e, s, q)
		if err != nil || !strings.Contains(out, want) {
			t.Errorf("%s %v, want %s", out, err, want)
		}
	}
}

func TestIdentity(t *testing.T) {
	e := open(t, exec.Options{Database: "shop", User: "owner"})
	s := session(t, e)
	s.SetIdentity(exec.Identity{User: "bob", SearchPath: []string{"sales", "public"}, PID: 42})
	const q = "SELECT current_user, session_user, current_schema(), current_schemas(true), pg_backend_pid(), current_database(), current_setting('server_version')"
	out, err := query(t.Context(), e, s, q)
	if err != nil || !strings.Contains(out, "bob | bob | sales | {pg_catalog,sales,public} | 42 | shop | 15.0") {
		t.Error(out, err)
	}
	s.Close()
	out, err = query(t.Context(), e, session(t, e), q) // on the same connection
	if err != nil || !strings.Contains(out, "owner | owner | public | {pg_catalog,public} | 0 | shop") {
		t.Error(out, err)
	}
}

// Parameters of every type arrive as they are.
func TestArguments(t *testing.T) {
	e := open(t, exec.Options{})
	s := session(t, e)
	id := func(i exec.TypeID) exec.Type { return exec.Type{ID: i} }
	ints := exec.Type{ID: exec.List, Elem: &exec.Type{ID: exec.Int8}}
	texts := exec.Type{ID: exec.List, Elem: &exec.Type{ID: exec.Text}}
	for _, a := range []struct {
		typ  exec.Type
		v    exec.Value
		want string
	}{
		{id(exec.Bool), table.BoolOf(true), "t"}, {id(exec.Int2), table.IntOf(-7), "-7"}, {id(exec.Int4), table.IntOf(1 << 30), "1073741824"},
		{id(exec.Int8), table.IntOf(-1 << 60), "-1152921504606846976"}, {id(exec.Float4), table.FloatOf(0.5), "0.5"}, {id(exec.Float8), table.FloatOf(1e300), "1e+300"},
		{exec.Type{ID: exec.Numeric, Precision: 12, Scale: 4}, table.DecimalOfInt(-12345678), "-1234.5678"}, {id(exec.Text), table.StringOf("a'b\x01é"), "a'b\x01é"},
		{id(exec.Bytea), table.BytesOf([]byte{0, 255}), `\x00ff`}, {id(exec.Date), table.IntOf(18262), "2020-01-01"}, {id(exec.Time), table.IntOf(3_600_000_001), "3600000001us"},
		{id(exec.Timestamp), table.TimestampOf(-1, 0), "1969-12-31 23:59:59.999999"}, {id(exec.TimestampTZ), table.TimestampOf(0, 0), "1970-01-01 00:00:00+00"},
		{id(exec.Interval), exec.IntervalOf(-1, 2, -3), "-1mon 2d -3us"}, {id(exec.UUID), table.DecimalOf(-1, 5), "ffffffffffffffff0000000000000005"},
		{ints, exec.ListOf(*ints.Elem, []exec.Value{table.IntOf(1), table.Null(), table.IntOf(-3)}), "{1,NULL,-3}"},
		{texts, exec.ListOf(*texts.Elem, []exec.Value{table.StringOf("x"), table.StringOf("")}), "{x,}"}, {ints, exec.ListOf(*ints.Elem, nil), "{}"},
		{id(exec.JSON), table.StringOf(`{"a": 1}`), `{"a": 1}`}, {id(exec.Int4), table.Null(), "NULL"},
	} {
		st := prepare(t, s, "SELECT $1", a.typ)
		if got := st.Params()[0]; got.ID != a.typ.ID {
			t.Errorf("%v is %v", a.typ, got)
		}
		rows, err := st.Run(t.Context(), []exec.Arg{{Type: a.typ, Value: a.v}})
		if err != nil {
			t.Errorf("%v: %v", a.typ, err)
			continue
		}
		batch, err := rows.Next(t.Context())
		if err != nil {
			t.Errorf("%v: %v", a.typ, err)
			continue
		}
		got := show(st.Columns()[0].Type, batch[0][0])
		if a.typ.ID == exec.Numeric {
			got = strings.TrimRight(got, "0") // it has the scale that Prepare chose
		}
		if got != a.want {
			t.Errorf("%v: %q, want %q", a.typ, got, a.want)
		}
		st.Close()
	}
	// A numeric is compared as it is, not rounded to the column's scale first.
	st := prepare(t, s, "SELECT d > $1 FROM (VALUES (1.23::DECIMAL(10,2))) v(d)")
	rows, err := st.Run(t.Context(), []exec.Arg{{Type: exec.Type{ID: exec.Numeric, Precision: 4, Scale: 3}, Value: table.DecimalOfInt(1234)}})
	if err != nil {
		t.Fatal(err)
	}
	if batch, err := rows.Next(t.Context()); err != nil || batch[0][0].Bool() {
		t.Error("1.23 > 1.234", err)
	}
}

func TestExplain(t *testing.T) {
	e := open(t, exec.Options{})
	s := session(t, e)
	for _, analyze := range []bool{false, true} {
		lines, err := s.Explain(t.Context(), "SELECT count(*) FROM range(10)", analyze, nil)
		if err != nil || len(lines) < 3 {
			t.Error(lines, err)
		}
	}
}

// Whatever the bytes, Parse gives a tree or an error of the client's.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"SELECT 1", "SELECT $1 FROM t /* x", "select 'a' || E'\\'' || $$x$$", "WITH a AS (SELECT 1) SELECT * FROM a, b.c.d AS x(y)", "VALUES (1)", "SELECT\x00", "SELECT '\xff'", "((((", "SELECT a.b.c.d.e, *, t.* FROM a.b.t"} {
		f.Add(s)
	}
	e := open(f, exec.Options{Threads: 1})
	f.Fuzz(func(t *testing.T, text string) {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		tree, err := e.Parse(ctx, text)
		if err != nil {
			if code := table.SQLState(err); code == "XX000" {
				t.Errorf("%q: %v", text, err)
			}
			return
		}
		if _, err := tree.Render(func(r *exec.Ref) (string, error) { return "dt_rows(0)", nil }); err != nil {
			t.Errorf("%q: %v", text, err)
		}
	})
}
