package session_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

func (h *house) pgx(mode pgx.QueryExecMode) *pgx.Conn {
	h.t.Helper()
	cfg, err := pgx.ParseConfig(fmt.Sprintf("postgres://tester@%s/dtstore", h.addr))
	if err != nil {
		h.t.Fatal(err)
	}
	cfg.DefaultQueryExecMode = mode
	c, err := pgx.ConnectConfig(context.Background(), cfg)
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() { c.Close(context.Background()) })
	return c
}

func sqlState(err error) string {
	var e *pgconn.PgError
	if errors.As(err, &e) {
		return e.Code
	}
	return ""
}

// TestNoUpdateIsLost has 16 sessions add 1 to shared keys, in single statements
// of both protocols and in transactions that are run again after 40001 (seam A6).
func TestNoUpdateIsLost(t *testing.T) {
	t.Parallel()
	const sessions, rounds, keys = 16, 12, 3
	h := open(t, options{})
	c := h.connect()
	exec1(t, c, "CREATE TABLE n (id int primary key, n bigint) WITH ('bucket' = '2')")
	exec1(t, c, "INSERT INTO n VALUES (0, 0), (1, 0), (2, 0)")
	ctx, cancel := context.WithTimeout(context.Background(), 90*time.Second)
	defer cancel()
	var wg sync.WaitGroup
	slowest := make([]time.Duration, sessions)
	for s := range sessions {
		mode := []pgx.QueryExecMode{pgx.QueryExecModeSimpleProtocol, pgx.QueryExecModeCacheStatement, pgx.QueryExecModeExec}[s%3]
		c := h.pgx(mode)
		wg.Go(func() {
			for i := range rounds {
				began := time.Now()
				key, other := (s+i)%keys, (s+i+1)%keys
				var err error
				if s%4 == 0 {
					err = transaction(ctx, c, key, other)
				} else {
					_, err = c.Exec(ctx, "UPDATE n SET n = n + 1 WHERE id = $1 OR id = $2", key, other)
				}
				if err != nil {
					t.Errorf("session %d round %d: %v", s, i, err)
					return
				}
				slowest[s] = max(slowest[s], time.Since(began))
			}
		})
	}
	wg.Wait()
	want := fmt.Sprint(2 * sessions * rounds)
	if got := rows(t, c, "SELECT sum(n)::bigint FROM n"); got != want {
		t.Fatalf("sum %s, want %s", got, want)
	}
	t.Logf("slowest of each session: %v", slowest)
	exec1(t, c, "CHECKPOINT")
	if got := rows(t, c, "SELECT sum(n)::bigint FROM n"); got != want {
		t.Fatalf("after CHECKPOINT: sum %s, want %s", got, want)
	}
}

func transaction(ctx context.Context, c *pgx.Conn, keys ...int) error {
	for {
		err := pgx.BeginFunc(ctx, c, func(tx pgx.Tx) error {
			for _, k := range keys {
				if _, err := tx.Exec(ctx, "UPDATE n SET n = n + 1 WHERE id = $1", k); err != nil {
					return err
				}
			}
			return nil
		})
		if sqlState(err) != "40001" {
			return err
		}
	}
}

// TestConflictOfTransactions: a key that an UPDATE read is checked at COMMIT,
// whatever else is written meanwhile does no harm.
func TestConflictOfTransactions(t *testing.T) {
	t.Parallel()
	h := open(t, options{bufferBytes: 64 << 10})
	a, b := h.connect(), h.connect()
	exec1(t, a, "CREATE TABLE n (id int primary key, n bigint)")
	exec1(t, a, "INSERT INTO n SELECT g, 0 FROM generate_series(1, 20) AS g")
	step := func(other string, want string) {
		t.Helper()
		exec1(t, a, "BEGIN")
		exec1(t, a, "UPDATE n SET n = n + 1 WHERE id = 1")
		if other == "COPY" {
			var in strings.Builder
			for i := range 3000 {
				fmt.Fprintf(&in, "%d\t%d\n", i, i)
			}
			if _, err := b.PgConn().CopyFrom(context.Background(), strings.NewReader(in.String()), "COPY n FROM STDIN"); err != nil {
				t.Fatal(err)
			}
		} else {
			exec1(t, b, other)
		}
		_, err := a.Exec(context.Background(), "COMMIT")
		if sqlState(err) != want {
			t.Errorf("COMMIT after %s: %v, want %q", other, err, want)
		}
	}
	step("UPDATE n SET n = 5 WHERE id = 2", "")
	step("INSERT INTO n VALUES (30, 0), (31, 1)", "")
	step("CHECKPOINT", "")
	step("UPDATE n SET n = 5 WHERE id = 1", "40001")
	step("DELETE FROM n WHERE id = 1", "40001")
	exec1(t, a, "INSERT INTO n VALUES (1, 0)")
	step("INSERT INTO n VALUES (1, 9)", "40001")
	step("COPY", "40001") // spooled: its keys are not remembered one by one
	if got := rows(t, a, "SELECT n FROM n WHERE id = 1"); got != "1" {
		t.Error(got)
	}
	// A key that a move needs free is checked too.
	exec1(t, a, "BEGIN")
	exec1(t, a, "UPDATE n SET id = 5000 WHERE id = 2")
	exec1(t, b, "INSERT INTO n VALUES (5000, 7)")
	if _, err := a.Exec(context.Background(), "COMMIT"); sqlState(err) != "40001" {
		t.Errorf("COMMIT of a move onto a key that came meanwhile: %v", err)
	}
	if got := rows(t, a, "SELECT id, n FROM n WHERE id IN (2, 5000) ORDER BY id"); got != "2 2; 5000 7" {
		t.Error(got)
	}
	// REPEATABLE READ conflicts with what came after its first statement.
	exec1(t, a, "BEGIN ISOLATION LEVEL REPEATABLE READ")
	rows(t, a, "SELECT count(*) FROM n")
	exec1(t, b, "UPDATE n SET n = n + 1 WHERE id = 3")
	exec1(t, a, "UPDATE n SET n = n + 1 WHERE id = 3")
	if _, err := a.Exec(context.Background(), "COMMIT"); sqlState(err) != "40001" {
		t.Errorf("COMMIT of REPEATABLE READ: %v", err)
	}
}
