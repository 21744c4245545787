//go:build peers

package drivers_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgconn/ctxwatch"
	"github.com/jackc/pgx/v5/pgtype"

	"dtstore/tests/dtest"
)

func connectPgx(t *testing.T, s *dtest.Server, mode pgx.QueryExecMode) *pgx.Conn {
	t.Helper()
	cfg, err := pgx.ParseConfig(s.URL())
	if err != nil {
		t.Fatal(err)
	}
	cfg.DefaultQueryExecMode = mode
	c, err := pgx.ConnectConfig(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close(context.Background()) })
	return c
}

func code(err error) string {
	var e *pgconn.PgError
	if errors.As(err, &e) {
		return e.Code
	}
	return fmt.Sprint(err)
}

func must(t *testing.T, c *pgx.Conn, sql string, args ...any) pgconn.CommandTag {
	t.Helper()
	tag, err := c.Exec(t.Context(), sql, args...)
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return tag
}

var modes = []pgx.QueryExecMode{pgx.QueryExecModeCacheStatement, pgx.QueryExecModeCacheDescribe, pgx.QueryExecModeDescribeExec, pgx.QueryExecModeExec, pgx.QueryExecModeSimpleProtocol}

// record is a row of every type that pgx has a Go value for.
type record struct {
	ID int32
	Bo *bool
	Si *int16
	Bi *int64
	Re *float32
	Dp *float64
	N  pgtype.Numeric
	Vc *string
	By []byte
	Da pgtype.Date
	Ti pgtype.Time
	Ts *time.Time
	Tz *time.Time
}

func ptr[T any](v T) *T { return &v }

func numeric(t *testing.T, s string) (n pgtype.Numeric) {
	t.Helper()
	if err := n.Scan(s); err != nil {
		t.Fatal(err)
	}
	return n
}

func (r *record) args() []any {
	return []any{r.ID, r.Bo, r.Si, r.Bi, r.Re, r.Dp, r.N, r.Vc, r.By, r.Da, r.Ti, r.Ts, r.Tz}
}

func (r *record) String() string {
	n, _ := r.N.Value()
	ts, tz := "NULL", "NULL"
	if r.Ts != nil {
		ts = r.Ts.UTC().Format(time.RFC3339Nano)
	}
	if r.Tz != nil {
		tz = r.Tz.UTC().Format(time.RFC3339Nano)
	}
	show := func(v any) string {
		switch v := v.(type) {
		case *bool:
			if v != nil {
				return fmt.Sprint(*v)
			}
		case *int16:
			if v != nil {
				return fmt.Sprint(*v)
			}
		case *int64:
			if v != nil {
				return fmt.Sprint(*v)
			}
		case *float32:
			if v != nil {
				return fmt.Sprint(*v)
			}
		case *float64:
			if v != nil {
				return fmt.Sprint(*v)
			}
		case *string:
			if v != nil {
				return *v
			}
		}
		return "NULL"
	}
	return fmt.Sprintln(r.ID, show(r.Bo), show(r.Si), show(r.Bi), show(r.Re), show(r.Dp), n, show(r.Vc), r.By == nil, fmt.Sprintf("%x", r.By), r.Da.Valid, r.Da.Time.Format(time.DateOnly), r.Ti, ts, tz)
}

func TestPgx(t *testing.T) {
	s := dtest.Start(t, dtest.Options{})
	setup := connectPgx(t, s, pgx.QueryExecModeSimpleProtocol)
	must(t, setup, "CREATE TABLE orders (id bigint PRIMARY KEY, customer text, amount numeric(10,2), placed timestamptz); CREATE TABLE stock (item text PRIMARY KEY, n int)")
	must(t, setup, "CREATE TABLE types (id int PRIMARY KEY, bo boolean, si smallint, bi bigint, re real, dp float8, n numeric(38,10), vc varchar(20), by bytea, da date, ti time, ts timestamp, tz timestamptz)")
	for _, m := range modes {
		t.Run("tour/"+m.String(), func(t *testing.T) { pgxTour(t, connectPgx(t, s, m)) })
		t.Run("types/"+m.String(), func(t *testing.T) { pgxTypes(t, connectPgx(t, s, m)) })
	}
	t.Run("batch", func(t *testing.T) { pgxBatch(t, connectPgx(t, s, pgx.QueryExecModeCacheStatement)) })
	t.Run("copy", func(t *testing.T) { pgxCopy(t, connectPgx(t, s, pgx.QueryExecModeCacheStatement)) })
	t.Run("transactions", func(t *testing.T) { pgxTransactions(t, connectPgx(t, s, pgx.QueryExecModeCacheStatement)) })
	t.Run("errors", func(t *testing.T) { pgxErrors(t, connectPgx(t, s, pgx.QueryExecModeCacheStatement)) })
	t.Run("stream", func(t *testing.T) {
		pgxStream(t, connectPgx(t, s, pgx.QueryExecModeCacheStatement), connectPgx(t, s, pgx.QueryExecModeSimpleProtocol))
	})
}

func pgxTour(t *testing.T, c *pgx.Conn) {
	must(t, c, "DELETE FROM orders")
	tag := must(t, c, "INSERT INTO orders VALUES ($1, $2, $3, $4), (2, 'bob', 99.99, $5)", int64(1), "ann", "12.50", time.Date(2024, 5, 14, 10, 0, 0, 0, time.UTC), time.Date(2024, 5, 14, 10, 5, 0, 0, time.UTC))
	if tag.String() != "INSERT 0 2" {
		t.Error(tag)
	}
	if tag := must(t, c, "UPDATE orders SET amount = amount * 2 WHERE customer = $1", "ann"); tag.RowsAffected() != 1 {
		t.Error(tag)
	}
	for range 10 { // prepared and re-used
		var amount string
		if err := c.QueryRow(t.Context(), "SELECT amount::text FROM orders WHERE id = $1", int64(1)).Scan(&amount); err != nil || amount != "25.00" {
			t.Fatal(amount, err)
		}
	}
	rows, err := c.Query(t.Context(), "SELECT id FROM orders WHERE id = any($1) ORDER BY id", []int64{2, 1, 7})
	ids, err2 := pgx.CollectRows(rows, pgx.RowTo[int64])
	if err != nil || err2 != nil || fmt.Sprint(ids) != "[1 2]" {
		t.Error(ids, err, err2)
	}
	must(t, c, "INSERT INTO stock VALUES ('lamp', 10)")
	err = pgx.BeginFunc(t.Context(), c, func(tx pgx.Tx) error {
		if _, err := tx.Exec(t.Context(), "INSERT INTO orders VALUES ($1, 'cid', 40, NULL)", int64(3)); err != nil {
			return err
		}
		_, err := tx.Exec(t.Context(), "UPDATE stock SET n = n - $1 WHERE item = $2", int32(1), "lamp")
		return err
	})
	var n int32
	if err := errors.Join(err, c.QueryRow(t.Context(), "SELECT n FROM stock WHERE item = 'lamp'").Scan(&n)); err != nil || n != 9 {
		t.Error(n, err)
	}
}

func pgxTypes(t *testing.T, c *pgx.Conn) {
	must(t, c, "DELETE FROM types")
	must(t, c, "SET TIME ZONE 'Asia/Kolkata'")
	want := []record{
		{1, ptr(true), ptr(int16(math.MinInt16)), ptr(int64(math.MinInt64)), ptr(float32(0.1)), ptr(math.Inf(-1)), numeric(t, "1234567890123456789012345678.0123456789"), ptr("é✓ '\\"),
			[]byte{0, 255, '\\'}, pgtype.Date{Time: time.Date(1969, 12, 31, 0, 0, 0, 0, time.UTC), Valid: true}, pgtype.Time{Microseconds: 86399999000, Valid: true},
			ptr(time.Date(1900, 1, 1, 0, 0, 0, 1000, time.UTC)), ptr(time.Date(1969, 12, 31, 23, 59, 59, 999999000, time.UTC))},
		{2, ptr(false), ptr(int16(0)), ptr(int64(math.MaxInt64)), ptr(float32(math.Inf(1))), ptr(math.NaN()), numeric(t, "-0.0000000001"), ptr(""), []byte{},
			pgtype.Date{Time: time.Date(-43, 3, 15, 0, 0, 0, 0, time.UTC), Valid: true}, pgtype.Time{Valid: true}, ptr(time.Date(-1, 1, 1, 0, 0, 0, 0, time.UTC)), ptr(time.Date(2024, 5, 14, 0, 0, 0, 0, time.UTC))},
		{ID: 3},
	}
	for _, r := range want {
		must(t, c, "INSERT INTO types VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)", r.args()...)
	}
	for _, text := range []string{"SELECT * FROM types ORDER BY id", "SELECT * FROM types WHERE id IN (1, 2, 3) AND id > 0 ORDER BY id"} {
		rows, err := c.Query(t.Context(), text)
		if err != nil {
			t.Fatal(err)
		}
		got, err := pgx.CollectRows(rows, pgx.RowToStructByPos[record])
		if err != nil {
			t.Fatal(err)
		}
		if len(got) != len(want) {
			t.Fatalf("%d rows", len(got))
		}
		for i := range got {
			if got[i].String() != want[i].String() {
				t.Errorf("got  %vwant %v", &got[i], &want[i])
			}
		}
	}
	// a whole key, which is looked up without the engine
	rows, _ := c.Query(t.Context(), "SELECT * FROM types WHERE id = $1", int32(1))
	one, err := pgx.CollectExactlyOneRow(rows, pgx.RowToStructByPos[record])
	if err != nil || one.String() != want[0].String() {
		t.Errorf("%v %v", err, &one)
	}
	var n int
	err = c.QueryRow(t.Context(), "SELECT count(*) FROM types WHERE vc = any($1) AND n = $2 AND da = $3 AND tz = $4 AND by = $5",
		[]string{"é✓ '\\", "x"}, want[0].N, want[0].Da, want[0].Tz, want[0].By).Scan(&n)
	if err != nil || n != 1 {
		t.Error(n, err)
	}
}

func pgxBatch(t *testing.T, c *pgx.Conn) {
	b := &pgx.Batch{}
	for i := range 100 {
		b.Queue("INSERT INTO stock VALUES ($1, $2)", fmt.Sprint("b", i), i)
	}
	var sum int64
	b.Queue("SELECT sum(n) FROM stock WHERE item LIKE 'b%'").QueryRow(func(r pgx.Row) error { return r.Scan(&sum) })
	if err := c.SendBatch(t.Context(), b).Close(); err != nil || sum != 4950 {
		t.Error(sum, err)
	}
	b = &pgx.Batch{} // one transaction
	b.Queue("INSERT INTO stock VALUES ('undone', 1)")
	b.Queue("SELECT 1 / $1::int", 0)
	if err := c.SendBatch(t.Context(), b).Close(); code(err) != "22012" {
		t.Error(err)
	}
	var n int
	if err := c.QueryRow(t.Context(), "SELECT count(*) FROM stock WHERE item = 'undone'").Scan(&n); err != nil || n != 0 {
		t.Error(n, err)
	}
}

func pgxCopy(t *testing.T, c *pgx.Conn) {
	must(t, c, "DELETE FROM types")
	want := record{9, ptr(true), ptr(int16(1)), ptr(int64(2)), ptr(float32(1.5)), ptr(2.5), numeric(t, "-9999999999999999999999999999.0000000001"), ptr("v"), []byte{1},
		pgtype.Date{Time: time.Date(2024, 2, 29, 0, 0, 0, 0, time.UTC), Valid: true}, pgtype.Time{Microseconds: 1000, Valid: true}, ptr(time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)), ptr(time.Unix(1, 0))}
	empty := record{ID: 10}
	columns := []string{"id", "bo", "si", "bi", "re", "dp", "n", "vc", "by", "da", "ti", "ts", "tz"}
	n, err := c.CopyFrom(t.Context(), pgx.Identifier{"types"}, columns, pgx.CopyFromRows([][]any{want.args(), empty.args()}))
	if err != nil || n != 2 {
		t.Fatal(n, err)
	}
	rows, _ := c.Query(t.Context(), "SELECT * FROM types ORDER BY id")
	got, err := pgx.CollectRows(rows, pgx.RowToStructByPos[record])
	if err != nil || len(got) != 2 || got[0].String() != want.String() || got[1].String() != empty.String() {
		t.Error(err, got)
	}
	if _, err := c.CopyFrom(t.Context(), pgx.Identifier{"stock"}, []string{"item", "n"}, pgx.CopyFromRows([][]any{{"c1", int32(1)}, {nil, int32(2)}})); code(err) != "23502" {
		t.Error(err)
	}
}

func pgxTransactions(t *testing.T, c *pgx.Conn) {
	ctx := t.Context()
	for _, level := range []pgx.TxIsoLevel{pgx.ReadCommitted, pgx.RepeatableRead} {
		tx, err := c.BeginTx(ctx, pgx.TxOptions{IsoLevel: level})
		if err != nil {
			t.Fatal(err)
		}
		var shown string
		if err := tx.QueryRow(ctx, "SHOW transaction_isolation").Scan(&shown); err != nil || shown != string(level) {
			t.Error(shown, err)
		}
		if _, err := tx.Exec(ctx, "SELECT 1/0"); code(err) != "22012" {
			t.Error(err)
		}
		if _, err := tx.Exec(ctx, "SELECT 1"); code(err) != "25P02" {
			t.Error(err)
		}
		if err := tx.Commit(ctx); !errors.Is(err, pgx.ErrTxCommitRollback) {
			t.Error("COMMIT of a failed transaction:", err)
		}
	}
	tx, err := c.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.Serializable, AccessMode: pgx.ReadOnly})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(ctx, "DELETE FROM stock"); code(err) != "25006" {
		t.Error(err)
	}
	tx.Rollback(ctx)
	tx, _ = c.Begin(ctx)
	inner, err := tx.Begin(ctx) // a savepoint
	if err != nil {
		t.Fatal(err)
	}
	inner.Exec(ctx, "INSERT INTO stock VALUES ('inner', 1)")
	inner.Rollback(ctx)
	if err := tx.Commit(ctx); err != nil {
		t.Error(err)
	}
	var n int
	if err := c.QueryRow(ctx, "SELECT count(*) FROM stock WHERE item = 'inner'").Scan(&n); err != nil || n != 0 {
		t.Error(n, err)
	}
}

func pgxErrors(t *testing.T, c *pgx.Conn) {
	for text, want := range map[string]string{"SELEC 1": "42601", "SELECT * FROM nope": "42P01", "SELECT nope FROM stock": "42703", "SELECT 'x'::int": "22P02", "SELECT 1/0": "22012",
		"INSERT INTO stock VALUES (NULL, 1)": "23502", "TRUNCATE stock": "0A000", "INSERT INTO stock VALUES ('x', 1) RETURNING n": "0A000", "SET nope = 1": "42704"} {
		for _, m := range modes {
			if _, err := c.Exec(t.Context(), text, m); code(err) != want {
				t.Errorf("%s (%v): %v, want %s", text, m, err, want)
			}
		}
	}
	var e *pgconn.PgError
	if _, err := c.Exec(t.Context(), "SELECT nn FROM stock"); !errors.As(err, &e) || e.Position != 8 || e.Hint == "" {
		t.Errorf("%+v", e)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	cfg := c.Config()
	cfg.BuildContextWatcherHandler = func(pc *pgconn.PgConn) ctxwatch.Handler {
		return &pgconn.CancelRequestContextWatcherHandler{Conn: pc, CancelRequestDelay: 0, DeadlineDelay: 10 * time.Second}
	}
	d, err := pgx.ConnectConfig(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close(context.Background())
	if _, err := d.Exec(ctx, "SELECT count(*) FROM generate_series(1, 100000) a, generate_series(1, 100000) b, generate_series(1, 100) c"); code(err) != "57014" {
		t.Error(err)
	}
	if err := d.Ping(t.Context()); err != nil {
		t.Error("after a cancel:", err)
	}
	if _, err := d.LoadType(t.Context(), "_text"); err != nil {
		t.Error(err)
	}
}

func pgxStream(t *testing.T, c, w *pgx.Conn) {
	must(t, w, "CREATE TABLE feed (id int PRIMARY KEY, v text)")
	must(t, w, "INSERT INTO feed VALUES (1, 'a')")
	must(t, c, "SET execution.runtime_mode = streaming")
	rows, err := c.Query(t.Context(), "SELECT id, v FROM feed WHERE id < $1", 100)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for rows.Next() {
		var kind string
		var id int
		var v *string
		if err := rows.Scan(&kind, &id, &v); err != nil {
			t.Fatal(err)
		}
		got = append(got, fmt.Sprint(kind, id))
		switch len(got) {
		case 1:
			must(t, w, "UPDATE feed SET v = 'b'")
		case 3:
			must(t, w, "DELETE FROM feed")
		case 4:
			if err := c.PgConn().CancelRequest(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
	if fmt.Sprint(got) != "[+I1 -U1 +U1 -D1]" || code(rows.Err()) != "57014" {
		t.Error(got, rows.Err())
	}
	if err := c.Ping(t.Context()); err != nil {
		t.Error("after a cancel:", err)
	}
}
