package session_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
)

func exec1(t testing.TB, c *pgx.Conn, q string, args ...any) string {
	t.Helper()
	tag, err := c.Exec(context.Background(), q, args...)
	if err != nil {
		t.Fatalf("%s: %v", q, err)
	}
	return tag.String()
}

func rows(t testing.TB, c *pgx.Conn, q string, args ...any) string {
	t.Helper()
	r, err := c.Query(context.Background(), q, args...)
	if err != nil {
		t.Fatalf("%s: %v", q, err)
	}
	var out []string
	for r.Next() {
		v, err := r.Values()
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, strings.Trim(fmt.Sprint(v), "[]"))
	}
	if err := r.Err(); err != nil {
		t.Fatalf("%s: %v", q, err)
	}
	return strings.Join(out, "; ")
}

func TestFirstTable(t *testing.T) {
	t.Parallel()
	h := open(t, options{})
	c := h.connect()
	exec1(t, c, "CREATE TABLE t (id bigint primary key, v int, s text)")
	if tag := exec1(t, c, "INSERT INTO t VALUES (1, 10, 'a'), (2, 20, 'b'), (3, 30, NULL)"); tag != "INSERT 0 3" {
		t.Fatal(tag)
	}
	check := func(want string) {
		t.Helper()
		if got := rows(t, c, "SELECT * FROM t ORDER BY id"); got != want {
			t.Fatalf("%s, want %s", got, want)
		}
	}
	check("1 10 a; 2 20 b; 3 30 <nil>")
	if tag := exec1(t, c, "UPDATE t SET v = v + 1 WHERE id >= $1", 2); tag != "UPDATE 2" {
		t.Fatal(tag)
	}
	check("1 10 a; 2 21 b; 3 31 <nil>")
	exec1(t, c, "CHECKPOINT")
	check("1 10 a; 2 21 b; 3 31 <nil>")
	if tag := exec1(t, c, "DELETE FROM t WHERE id = 1"); tag != "DELETE 1" {
		t.Fatal(tag)
	}
	check("2 21 b; 3 31 <nil>")
	if got := rows(t, c, "SELECT v, s FROM t WHERE id = $1", 2); got != "21 b" {
		t.Fatal(got)
	}
	exec1(t, c, "CHECKPOINT")
	check("2 21 b; 3 31 <nil>")
	exec1(t, c, "ALTER TABLE t COMPACT")
	check("2 21 b; 3 31 <nil>")
	exec1(t, c, "BEGIN")
	exec1(t, c, "INSERT INTO t VALUES (9, 90, 'z')")
	check("2 21 b; 3 31 <nil>; 9 90 z")
	exec1(t, c, "ROLLBACK")
	check("2 21 b; 3 31 <nil>")
	h.stop()
	h2 := open(t, options{dir: h.dir})
	c = h2.connect()
	check("2 21 b; 3 31 <nil>")
	exec1(t, c, "DROP TABLE t")
}
