package wire_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"dtstore/wire"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

func pgxConn(t *testing.T, addr string, change func(*pgx.ConnConfig)) *pgx.Conn {
	t.Helper()
	cfg, err := pgx.ParseConfig("postgres://u@" + addr + "/d?sslmode=prefer")
	if err != nil {
		t.Fatal(err)
	}
	if change != nil {
		change(cfg)
	}
	c, err := pgx.ConnectConfig(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close(context.Background()) })
	return c
}

// TestPgx drives the server with a real driver, in each of its modes.
func TestPgx(t *testing.T) {
	addr, _, _ := start(t, wire.Options{})
	for _, mode := range []pgx.QueryExecMode{
		pgx.QueryExecModeCacheStatement, pgx.QueryExecModeCacheDescribe, pgx.QueryExecModeDescribeExec, pgx.QueryExecModeExec, pgx.QueryExecModeSimpleProtocol,
	} {
		t.Run(mode.String(), func(t *testing.T) {
			c := pgxConn(t, addr, func(cfg *pgx.ConnConfig) { cfg.DefaultQueryExecMode = mode })
			for range 2 {
				rows, err := c.Query(t.Context(), "rows 3")
				if err != nil {
					t.Fatal(err)
				}
				n := 0
				for ; rows.Next(); n++ {
					var id int64
					var name string
					if err := rows.Scan(&id, &name); err != nil || int(id) != n {
						t.Fatalf("row %d: %d %q, %v", n, id, name, err)
					}
				}
				if rows.Err() != nil || n != 3 || rows.CommandTag().RowsAffected() != 3 {
					t.Fatalf("%d rows, tag %s, %v", n, rows.CommandTag(), rows.Err())
				}
			}
			_, err := c.Exec(t.Context(), "error 22012 division by zero")
			var pe *pgconn.PgError
			if !errors.As(err, &pe) || pe.Code != "22012" || pe.Hint != "a hint" || pe.Position != 7 {
				t.Errorf("got %v", err)
			}
			if err := c.Ping(t.Context()); err != nil {
				t.Error(err)
			}
			if mode != pgx.QueryExecModeSimpleProtocol {
				var s string
				if err := c.QueryRow(t.Context(), "select $1", "é😀").Scan(&s); err != nil || s != "é😀" {
					t.Errorf("parameter came back as %q, %v", s, err)
				}
			}
		})
	}
}

func TestPgxTypes(t *testing.T) {
	addr, _, _ := start(t, wire.Options{})
	c := pgxConn(t, addr, nil)
	var out [2][]any
	for format := range out {
		rows, err := c.Query(t.Context(), "types", pgx.QueryResultFormats{int16(format)})
		if err != nil {
			t.Fatal(err)
		}
		for rows.Next() {
			if out[format], err = rows.Values(); err != nil {
				t.Fatal(err)
			}
		}
		if rows.Err() != nil {
			t.Fatal(rows.Err())
		}
	}
	for i, c := range oneOfEach {
		a, b := out[0][i], out[1][i]
		if c.column.Name == "ns" || c.column.Name == "iv2" {
			continue // nanoseconds are in the text alone; pgx has no int2vector
		}
		if ta, ok := a.(time.Time); ok {
			if !ta.Equal(b.(time.Time)) {
				t.Errorf("%s: text %v, binary %v", c.column.Name, a, b)
			}
			continue
		}
		if as, bs := showValue(a), showValue(b); as != bs {
			t.Errorf("%s: text %s, binary %s", c.column.Name, as, bs)
		}
	}
}

func showValue(v any) string {
	if list, ok := v.([]any); ok {
		var parts []string
		for _, e := range list {
			if ts, ok := e.(time.Time); ok {
				e = ts.UTC().String()
			}
			parts = append(parts, showValue(e))
		}
		return strings.Join(parts, " ")
	}
	return strings.TrimSpace(strings.ReplaceAll(sprint(v), "+0000 +0000", "+0000 UTC"))
}

func TestPgxBatchAndTransaction(t *testing.T) {
	addr, shop, _ := start(t, wire.Options{})
	c := pgxConn(t, addr, nil)
	var b pgx.Batch
	b.Queue("insert 1")
	b.Queue("insert 2")
	b.Queue("rows 2")
	if err := c.SendBatch(t.Context(), &b).Close(); err != nil {
		t.Fatal(err)
	}
	b = pgx.Batch{}
	b.Queue("insert 3")
	b.Queue("error 22012 division by zero")
	if err := c.SendBatch(t.Context(), &b).Close(); err == nil {
		t.Error("a batch with an error succeeded")
	}
	tx, err := c.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), "insert 4"); err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), "error 22012 division by zero"); err == nil {
		t.Error("no error")
	}
	if err := tx.Commit(t.Context()); !errors.Is(err, pgx.ErrTxCommitRollback) {
		t.Errorf("commit of a failed transaction: %v", err)
	}
	shop.mu.Lock()
	defer shop.mu.Unlock()
	if got := sprint(shop.committed); got != "[1 2]" {
		t.Errorf("committed %s", got)
	}
}

func TestPgxCopy(t *testing.T) {
	addr, shop, _ := start(t, wire.Options{})
	c := pgxConn(t, addr, nil)
	data := strings.Repeat("7\tseven\n", 50_000)
	tag, err := c.PgConn().CopyFrom(t.Context(), strings.NewReader(data), "copyin text")
	if err != nil || tag.RowsAffected() != 50_000 {
		t.Fatalf("%s, %v", tag, err)
	}
	shop.mu.Lock()
	if len(shop.committed) != 50_000 {
		t.Errorf("committed %d", len(shop.committed))
	}
	shop.mu.Unlock()
	// An error in the middle of a stream that the client goes on sending.
	data = strings.Repeat("7\tseven\n", 10) + "x\tx\n" + strings.Repeat("7\tseven\n", 500_000)
	var pe *pgconn.PgError
	if _, err := c.PgConn().CopyFrom(t.Context(), strings.NewReader(data), "copyin text"); !errors.As(err, &pe) || pe.Where != `COPY t, line 11, column id: "x"` {
		t.Errorf("got %v", err)
	}
	var buf bytes.Buffer
	if _, err := c.PgConn().CopyTo(t.Context(), &buf, "copyout csv 20000"); err != nil || strings.Count(buf.String(), "\n") != 20_000 {
		t.Errorf("%d lines, %v", strings.Count(buf.String(), "\n"), err)
	}
	if err := c.Ping(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestPgxCancel(t *testing.T) {
	addr, shop, _ := start(t, wire.Options{})
	c := pgxConn(t, addr, nil)
	go func() {
		<-shop.started
		c.PgConn().CancelRequest(context.Background())
	}()
	var pe *pgconn.PgError
	if _, err := c.Exec(t.Context(), "wait"); !errors.As(err, &pe) || pe.Code != "57014" {
		t.Errorf("got %v", err)
	}
	if err := c.Ping(t.Context()); err != nil {
		t.Error(err)
	}
}
