//go:build peers

package psql_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"dtstore/tests/dtest"
)

// captureSchema is what of capture-schema.sql can be had here: the queries name
// these relations.
const captureSchema = `
CREATE TABLE orders (id bigint PRIMARY KEY COMMENT 'the id', customer varchar(20) NOT NULL, amount numeric(10,2), ts timestamp(3), payload text, tags text) COMMENT 'the orders';
CREATE TABLE items (order_id bigint, sku text, qty int, PRIMARY KEY (order_id, sku));
CREATE SCHEMA sales;
CREATE TABLE sales.t1 (a int, b text);
CREATE TABLE part (id int, dt date, PRIMARY KEY (id, dt)) PARTITIONED BY (dt);
`

// statement is one captured text, with where it stands.
type statement struct {
	file, command string
	line          int
	text          string
}

// captured reads a file of testdata/psql-queries: a comment line before each text.
func captured(t *testing.T, path string) []statement {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var out []statement
	cur := statement{file: filepath.Base(path)}
	flush := func() {
		cur.text = strings.TrimSpace(cur.text)
		if strings.Trim(cur.text, ";") != "" {
			out = append(out, cur)
		}
		cur.text = ""
	}
	for i, line := range strings.Split(string(b), "\n") {
		switch {
		case strings.HasPrefix(line, "-- psql command: "):
			flush()
			cur.command = strings.TrimPrefix(line, "-- psql command: ")
		case strings.HasPrefix(line, "-- "):
			flush()
			cur.line = i + 2
		default:
			cur.text += line + "\n"
		}
	}
	flush()
	return out
}

var (
	captureOID = regexp.MustCompile(`\b16[34]\d\d\b`)
	parameter  = regexp.MustCompile(`\$\d+`)
	uncommon   = regexp.MustCompile(`(?i)\b(seq1|big_orders|mv|f1|mood|comp|part_2020)\b`)
)

// TestCaptured sends every catalog query that psql 15, 17 and 18 and the drivers
// were seen to send, over the simple protocol: none may fail.
func TestCaptured(t *testing.T) {
	s := dtest.Start(t, dtest.Options{})
	c, err := pgconn.Connect(t.Context(), s.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(t.Context())
	if _, err := c.Exec(t.Context(), captureSchema).ReadAll(); err != nil {
		t.Fatal(err)
	}
	oids := map[string]string{}
	for _, name := range []string{"orders", "items"} {
		r, err := c.Exec(t.Context(), "SELECT '"+name+"'::regclass::oid").ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		oids[name] = string(r[0].Rows[0][0])
	}
	root := filepath.Join(dtest.Root(t), "testdata", "psql-queries")
	var files []string
	for _, p := range []string{"psql*-server15.sql", "drivers/*.sql"} {
		more, err := filepath.Glob(filepath.Join(root, p))
		if err != nil || len(more) == 0 {
			t.Fatalf("no %s: %v", p, err)
		}
		files = append(files, more...)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			n, slowest := 0, time.Duration(0)
			for _, st := range captured(t, file) {
				name := "orders"
				if strings.Contains(st.command, "items") {
					name = "items"
				}
				text := captureOID.ReplaceAllString(st.text, oids[name])
				began := time.Now()
				if err := send(t, c, text); err != nil {
					t.Errorf("%s:%d (%s): %v\n%s", st.file, st.line, st.command, err, text)
				}
				slowest = max(slowest, time.Since(began))
				n++
			}
			t.Logf("%d queries, the slowest took %v", n, slowest.Round(time.Millisecond))
		})
	}
}

// send runs one text; what has parameters is sent prepared, with NULLs.
func send(t *testing.T, c *pgconn.PgConn, text string) error {
	n := 0
	for _, p := range parameter.FindAllString(text, -1) {
		var k int
		fmt.Sscanf(p, "$%d", &k)
		n = max(n, k)
	}
	if n == 0 {
		_, err := c.Exec(t.Context(), text).ReadAll()
		if uncommon.MatchString(text) && err != nil {
			if pg, ok := err.(*pgconn.PgError); ok && (pg.Code == "42P01" || pg.Code == "42883" || pg.Code == "42704") {
				return nil // an object of the capture that cannot be had here
			}
		}
		return err
	}
	return c.ExecParams(t.Context(), text, make([][]byte, n), nil, nil, nil).Read().Err
}
