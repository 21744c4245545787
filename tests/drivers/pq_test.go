//go:build peers

package drivers_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/lib/pq"

	"dtstore/tests/dtest"
)

func pqCode(err error) string {
	var e *pq.Error
	if errors.As(err, &e) {
		return string(e.Code)
	}
	return fmt.Sprint(err)
}

func TestPq(t *testing.T) {
	s := dtest.Start(t, dtest.Options{})
	db, err := sql.Open("postgres", s.URL()+"?sslmode=disable")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	exec := func(text string, args ...any) sql.Result {
		t.Helper()
		r, err := db.Exec(text, args...)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		return r
	}
	exec("CREATE TABLE orders (id bigint PRIMARY KEY, customer text, amount numeric(10,2), placed timestamptz, by bytea, dp float8)")
	placed := time.Date(1969, 5, 14, 10, 0, 0, 123456000, time.UTC)
	r := exec("INSERT INTO orders VALUES ($1, $2, $3, $4, $5, $6), (2, NULL, NULL, NULL, NULL, 'NaN')", 1, "ann", "12.50", placed, []byte{0, 255}, 0.1)
	if n, err := r.RowsAffected(); n != 2 || err != nil {
		t.Error(n, err)
	}
	exec("UPDATE orders SET amount = amount * 2 WHERE customer = $1", "ann")
	st, err := db.Prepare("SELECT customer, amount, placed, by, dp FROM orders WHERE id = $1")
	if err != nil {
		t.Fatal(err)
	}
	for range 10 {
		var customer, amount string
		var at time.Time
		var by []byte
		var dp float64
		if err := st.QueryRow(1).Scan(&customer, &amount, &at, &by, &dp); err != nil || customer != "ann" || amount != "25.00" || !at.Equal(placed) || string(by) != "\x00\xff" || dp != 0.1 {
			t.Fatal(customer, amount, at, by, dp, err)
		}
	}
	var n int
	if err := db.QueryRow("SELECT count(*) FROM orders WHERE id = ANY($1) OR customer = ANY($2)", pq.Array([]int64{2, 5}), pq.Array([]string{"ann", `a"b`})).Scan(&n); err != nil || n != 2 {
		t.Error(n, err)
	}
	var ids pq.Int64Array
	if err := db.QueryRow("SELECT array_agg(id ORDER BY id) FROM orders").Scan(&ids); err != nil || fmt.Sprint(ids) != "[1 2]" {
		t.Error(ids, err)
	}

	tx, err := db.BeginTx(t.Context(), &sql.TxOptions{Isolation: sql.LevelRepeatableRead})
	if err != nil {
		t.Fatal(err)
	}
	in, err := tx.Prepare(pq.CopyIn("orders", "id", "customer"))
	if err != nil {
		t.Fatal(err)
	}
	for i := 10; i < 20; i++ {
		if _, err := in.Exec(i, fmt.Sprint("c\t", i)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := in.Exec(); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(in.Close(), tx.Commit()); err != nil {
		t.Fatal(err)
	}
	if err := db.QueryRow("SELECT count(*) FROM orders WHERE customer LIKE 'c%'").Scan(&n); err != nil || n != 10 {
		t.Error(n, err)
	}

	tx, _ = db.Begin()
	if _, err := tx.Exec("SELECT 1/0"); pqCode(err) != "22012" {
		t.Error(err)
	}
	if _, err := tx.Exec("SELECT 1"); pqCode(err) != "25P02" {
		t.Error(err)
	}
	if err := tx.Commit(); err == nil {
		t.Error("COMMIT of a failed transaction is said to have worked")
	}
	ro, err := db.BeginTx(t.Context(), &sql.TxOptions{Isolation: sql.LevelSerializable, ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ro.Exec("DELETE FROM orders"); pqCode(err) != "25006" {
		t.Error(err)
	}
	ro.Rollback()

	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if _, err := db.ExecContext(ctx, "SELECT count(*) FROM generate_series(1, 100000) a, generate_series(1, 100000) b, generate_series(1, 100) c"); pqCode(err) != "57014" && !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	pqStream(t, db)
}

// pqStream reads an endless SELECT, which lib/pq gives row by row.
func pqStream(t *testing.T, db *sql.DB) {
	c, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.ExecContext(t.Context(), "SET execution.runtime_mode = streaming"); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	rows, err := c.QueryContext(ctx, "SELECT id FROM orders WHERE id < 3")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for rows.Next() {
		var kind string
		var id int
		if err := rows.Scan(&kind, &id); err != nil {
			t.Fatal(err)
		}
		got = append(got, fmt.Sprint(kind, id))
		switch len(got) {
		case 2:
			if _, err := db.Exec("DELETE FROM orders WHERE id = 2"); err != nil {
				t.Fatal(err)
			}
		case 3:
			cancel()
		}
	}
	if fmt.Sprint(got) != "[+I1 +I2 -D2]" || rows.Err() == nil {
		t.Error(got, rows.Err())
	}
}
