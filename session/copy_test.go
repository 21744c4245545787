package session_test

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// TestCopyBeyondMemory loads more than a transaction keeps in memory: rows go
// to the disk, in order, and come out whole or not at all.
func TestCopyBeyondMemory(t *testing.T) {
	t.Parallel()
	h := open(t, options{bufferBytes: 32 << 10})
	c, other := h.connect(), h.connect()
	exec1(t, c, "CREATE TABLE t (id int primary key, v int, s text) WITH ('bucket' = '3')")
	exec1(t, c, "CREATE TABLE log (id int, s text)")
	ctx := context.Background()
	load := func(from, to, v int) {
		t.Helper()
		var b strings.Builder
		for i := from; i < to; i++ {
			fmt.Fprintf(&b, "%d\t%d\t%s\n", i, v, strings.Repeat("x", 50))
		}
		if tag, err := c.PgConn().CopyFrom(ctx, strings.NewReader(b.String()), "COPY t FROM STDIN"); err != nil || tag.RowsAffected() != int64(to-from) {
			t.Fatal(tag, err)
		}
	}
	count := func(c *pgx.Conn, want string) {
		t.Helper()
		if got := rows(t, c, "SELECT count(*), coalesce(sum(v), 0)::int FROM t"); got != want {
			t.Fatalf("%s, want %s", got, want)
		}
	}
	load(0, 3000, 1)
	count(other, "3000 3000")
	load(1000, 2000, 2) // over some of them
	count(other, "3000 4000")
	exec1(t, c, "CHECKPOINT")
	count(other, "3000 4000")

	exec1(t, c, "BEGIN")
	exec1(t, c, "INSERT INTO t VALUES (-1, 5, 'first')")
	exec1(t, c, "SAVEPOINT a")
	load(5000, 7000, 1)
	failsWith(t, c, "SELECT count(*) FROM t", "0A000", "t")
	exec1(t, c, "ROLLBACK TO a")
	count(c, "3001 4005") // what is left fits memory
	load(5000, 7000, 1)
	exec1(t, c, "SAVEPOINT b")
	load(7000, 9000, 1)
	failsWith(t, c, "UPDATE t SET v = 0", "0A000")
	exec1(t, c, "ROLLBACK TO b")
	exec1(t, c, "INSERT INTO t VALUES (5000, 10, 'later wins'), (-2, 1, 'x')")
	if got := rows(t, c, "SELECT count(*) FROM log"); got != "0" {
		t.Fatal(got)
	}
	exec1(t, c, "INSERT INTO log VALUES (1, 'of two tables')")
	count(other, "3000 4000")
	exec1(t, c, "COMMIT")
	count(other, "5002 6015")
	if got := rows(t, c, "SELECT v, s FROM t WHERE id = 5000"); got != "10 later wins" {
		t.Fatal(got)
	}
	exec1(t, c, "BEGIN")
	load(20000, 23000, 1)
	exec1(t, c, "ROLLBACK")
	count(other, "5002 6015")

	// A row that is refused in the middle leaves nothing.
	var b strings.Builder
	for i := range 3000 {
		fmt.Fprintf(&b, "%d\t1\tx\n", 30000+i)
	}
	b.WriteString("x\t1\tx\n")
	_, err := c.PgConn().CopyFrom(ctx, strings.NewReader(b.String()), "COPY t FROM STDIN")
	if sqlState(err) != "22P02" {
		t.Fatal(err)
	}
	count(other, "5002 6015")
	if got := exec1(t, c, "INSERT INTO t SELECT g, 1, repeat('y', 40) FROM generate_series(40000, 43999) AS g"); got != "INSERT 0 4000" {
		t.Fatal(got)
	}
	count(other, "9002 10015")
	exec1(t, c, "ALTER TABLE t COMPACT")
	count(other, "9002 10015")
	// Many changes that were read do not go to the disk: they have a limit.
	failsWith(t, c, "UPDATE t SET v = v + 1", "54000", "WHERE")
	count(other, "9002 10015")
}

// TestCopyFormats goes through every format both ways.
func TestCopyFormats(t *testing.T) {
	t.Parallel()
	h := open(t, options{})
	c := h.connect()
	ctx := context.Background()
	exec1(t, c, "CREATE TABLE t (id int primary key, v bigint, n numeric(20,5), s text, b bytea, d date, ts timestamp, tz timestamptz, f double precision, o boolean, tm time)")
	day := time.Date(1969, 12, 31, 0, 0, 0, 0, time.UTC)
	n, err := c.CopyFrom(ctx, pgx.Identifier{"t"}, []string{"id", "v", "n", "s", "b", "d", "ts", "tz", "f", "o"}, pgx.CopyFromRows([][]any{
		{1, int64(-5), "-12345.67890", "tab\tquote\"back\\", []byte{0, 255, '\\'}, day, day.Add(time.Microsecond), day.Add(time.Hour), 0.1, true},
		{2, nil, nil, nil, nil, nil, nil, nil, nil, nil},
		{3, int64(7), "0", "", []byte{}, day, day, day, 1e300, false},
	}))
	if err != nil || n != 3 {
		t.Fatal(n, err)
	}
	exec1(t, c, "UPDATE t SET tm = '12:34:56.789' WHERE id = 1")
	want := rows(t, c, "SELECT * FROM t ORDER BY id")
	for _, format := range []string{"", "(FORMAT csv)", "(FORMAT csv, HEADER, DELIMITER ';', QUOTE '''', NULL 'nil', FORCE_QUOTE *)", "(FORMAT binary)", "(DELIMITER '|', NULL '')"} {
		var b bytes.Buffer
		if _, err := c.PgConn().CopyTo(ctx, &b, "COPY t TO STDOUT "+format); err != nil {
			t.Fatal(format, err)
		}
		exec1(t, c, "DELETE FROM t")
		in := strings.Replace(format, ", FORCE_QUOTE *", "", 1)
		if _, err := c.PgConn().CopyFrom(ctx, &b, "COPY t FROM STDIN "+in); err != nil {
			t.Fatal(format, err)
		}
		if got := rows(t, c, "SELECT * FROM t ORDER BY id"); got != want {
			if format == "(DELIMITER '|', NULL '')" {
				continue // an empty text is NULL there
			}
			t.Errorf("%s: %s\nwant %s", format, got, want)
		}
	}
	// A client that gives up in the middle.
	_, err = c.PgConn().CopyFrom(ctx, &failing{}, "COPY t FROM STDIN")
	if err == nil {
		t.Error("a failed COPY succeeded")
	}
	if got := rows(t, c, "SELECT count(*) FROM t WHERE id = 77"); got != "0" {
		t.Error(got)
	}
}

// failing gives one row and then an error.
type failing struct{ n int }

func (f *failing) Read(p []byte) (int, error) {
	if f.n++; f.n > 1 {
		return 0, fmt.Errorf("the file is damaged")
	}
	return copy(p, "77\t\\N\t\\N\t\\N\t\\N\t\\N\t\\N\t\\N\t\\N\t\\N\t\\N\n"), nil
}
