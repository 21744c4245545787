// Package golden_test has the real server read tables that other
// implementations of the format wrote: every table of testdata/paimon is read
// right or refused by what it needs, never read wrongly.
//
// testdata/outcomes lists what becomes of each, testdata/rows the tables whose
// rows stand in a README only. psql_test.go asks the same through psql, in the
// suite of the peers.
package golden_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"dtstore/table"
	"dtstore/tests/agree"
	"dtstore/tests/dtest"
)

// readable are the tables that must be read.
var readable = strings.Fields(`g.types_pk g.upserts g.parts g.parts_append g.append_bucket g.compacted g.dynamic_bucket g.gz g.sn g.cl_input g.cl_lookup g.history
	append_with_bitmap_no_embedding.append_with_bitmap_no_embedding pk_table_scan_and_read_mor.pk_table_scan_and_read_mor append_complex_data.append_complex_data
	append_with_multiple_ts_precision_and_timezone.append_with_multiple_ts_precision_and_timezone`)

// warehouse is a copy of every golden table; names are DATABASE.TABLE in order.
func warehouse(t testing.TB) (dir string, names []string) {
	t.Helper()
	dir = t.TempDir()
	golden := filepath.Join(dtest.Root(t), "testdata", "paimon")
	for _, from := range []string{filepath.Join(golden, "flink131"), filepath.Join(golden, "tables")} {
		dbs, err := filepath.Glob(filepath.Join(from, "*.db"))
		if err != nil {
			t.Fatal(err)
		}
		for _, db := range dbs {
			if err := os.CopyFS(filepath.Join(dir, filepath.Base(db)), os.DirFS(db)); err != nil {
				t.Fatal(err)
			}
			tables, err := os.ReadDir(db)
			if err != nil {
				t.Fatal(err)
			}
			for _, tb := range tables {
				names = append(names, strings.TrimSuffix(filepath.Base(db), ".db")+"."+tb.Name())
			}
		}
	}
	slices.Sort(names)
	return dir, names
}

// client is a connection with the results' text forms.
type client struct {
	t    testing.TB
	conn *pgx.Conn
}

func connect(t testing.TB, s *dtest.Server) *client {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), s.URL())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(context.Background()) })
	return &client{t, conn}
}

// query gives the rows' text cells, nil for NULL.
func (c *client) query(sql string) (rows [][]*string, err error) {
	results, err := c.conn.PgConn().Exec(c.t.Context(), sql).ReadAll()
	if err != nil {
		return nil, err
	}
	for _, row := range results[len(results)-1].Rows {
		cells := make([]*string, len(row))
		for i, v := range row {
			if v != nil {
				s := string(v)
				cells[i] = &s
			}
		}
		rows = append(rows, cells)
	}
	return rows, nil
}

// lines are a query's rows as psql -At -P null=null would print them, in any
// order; an error is one line.
func (c *client) lines(sql string) []string {
	rows, err := c.query(sql)
	if err != nil {
		return []string{failure(err)}
	}
	out := make([]string, len(rows))
	for i, row := range rows {
		cells := make([]string, len(row))
		for j, v := range row {
			if cells[j] = "null"; v != nil {
				cells[j] = *v
			}
		}
		out[i] = strings.Join(cells, "|")
	}
	return out
}

func failure(err error) string {
	var e *pgconn.PgError
	if !errors.As(err, &e) {
		return err.Error()
	}
	out := e.Code + " " + e.Message
	if e.Hint != "" {
		out += "\n  HINT: " + e.Hint
	}
	return out
}

func TestGolden(t *testing.T) {
	dir, names := warehouse(t)
	c := connect(t, dtest.Start(t, dtest.Options{Args: []string{"--warehouse", dir}}))

	t.Run("outcomes", func(t *testing.T) {
		if len(names) != 41 {
			t.Errorf("%d tables, not 41", len(names))
		}
		datadriven.RunTest(t, "testdata/outcomes", func(t *testing.T, _ *datadriven.TestData) string {
			var b strings.Builder
			for _, name := range names {
				rows, err := c.query("SELECT * FROM " + name)
				if (err == nil) != slices.Contains(readable, name) || err != nil && !strings.HasPrefix(failure(err), "0A000") {
					t.Errorf("%s: %v", name, err)
				}
				if err != nil {
					fmt.Fprintf(&b, "%s: %s\n", name, failure(err))
				} else {
					fmt.Fprintf(&b, "%s: %d rows\n", name, len(rows))
				}
			}
			return b.String()
		})
	})
	t.Run("expected", func(t *testing.T) {
		for _, name := range readable {
			if db, tb, _ := strings.Cut(name, "."); db == "g" {
				expected(t, c, dir, tb)
			}
		}
	})
	t.Run("rows", func(t *testing.T) {
		datadriven.RunTest(t, "testdata/rows", func(t *testing.T, d *datadriven.TestData) string {
			lines := c.lines(d.Input)
			if d.Cmd == "sorted" {
				slices.Sort(lines)
			}
			if len(lines) == 0 {
				return "(no rows)"
			}
			return strings.Join(lines, "\n") + "\n"
		})
	})
	t.Run("filters", func(t *testing.T) {
		for _, name := range readable {
			t.Run(name, func(t *testing.T) { filters(t, c, dir, name) })
		}
	})
	t.Run("read only", func(t *testing.T) {
		for _, name := range readable {
			for _, statement := range []string{"INSERT INTO %s SELECT * FROM %[1]s", "DELETE FROM %s", "ALTER TABLE %s COMPACT"} {
				statement = fmt.Sprintf(statement, name)
				if got := strings.Join(c.lines(statement), "\n"); !strings.HasPrefix(got, "0A000") || !strings.Contains(got, "HINT") {
					t.Errorf("%s: %s", statement, got)
				}
			}
		}
	})
}

// expected compares a table with what Flink said of it.
func expected(t *testing.T, c *client, dir, name string) {
	t.Helper()
	types := columnTypes(t, filepath.Join(dir, "g.db", name))
	expectedTSV(t, name, types, strings.ReplaceAll(strings.Join(c.lines("SELECT * FROM g."+name), "\n"), "|", "\t"))
}

// expectedTSV compares rows, a line each with tabs between the cells, with
// those of Flink.
func expectedTSV(t *testing.T, name string, types []table.Type, got string) {
	t.Helper()
	want, err := os.ReadFile(filepath.Join(dtest.Root(t), "testdata", "paimon", "flink131", "expected", name+".tsv"))
	if err != nil {
		t.Fatal(err)
	}
	if diff := agree.Diff(canonical(t, types, got), canonical(t, types, string(want))); diff != "" {
		t.Errorf("%s: + ours, - Flink's:%s", name, diff)
	}
}

func canonical(t *testing.T, types []table.Type, tsv string) []string {
	t.Helper()
	rows, err := agree.TSV(types, tsv)
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

// columnTypes are those of a table's newest schema.
func columnTypes(t testing.TB, path string) []table.Type {
	t.Helper()
	s := newestSchema(t, path)
	types := make([]table.Type, len(s.Fields))
	for i, f := range s.Fields {
		types[i] = f.Type
	}
	return types
}

func newestSchema(t testing.TB, path string) *table.Schema {
	t.Helper()
	for id := 9; id >= 0; id-- {
		data, err := os.ReadFile(filepath.Join(path, "schema", fmt.Sprintf("schema-%d", id)))
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		s, err := agree.Schema(data)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	t.Fatalf("%s has no schema", path)
	return nil
}

// filters asks for rows by every value of every column, and by keys, and
// compares with the same condition over all rows, which are read first so that
// nothing is pruned by it.
func filters(t *testing.T, c *client, dir, name string) {
	db, tb, _ := strings.Cut(name, ".")
	s := newestSchema(t, filepath.Join(dir, db+".db", tb))
	rows, err := c.query("SELECT * FROM " + name)
	if err != nil {
		t.Fatal(err)
	}
	for i, f := range s.Fields {
		wheres := []string{f.Name + " IS NULL", f.Name + " IS NOT NULL"}
		seen := map[string]bool{}
		for _, row := range rows {
			if row[i] == nil || seen[*row[i]] {
				continue
			}
			seen[*row[i]] = true
			for _, op := range []string{"=", "<", ">="} {
				wheres = append(wheres, f.Name+" "+op+" "+quote(*row[i]))
			}
			mustFind(t, c, name, f.Name+" = "+quote(*row[i]))
		}
		for _, where := range wheres {
			same(t, c, name, where)
		}
	}
	if s.Keyed() {
		for _, row := range rows {
			var where []string
			for _, k := range s.PrimaryIndexes() {
				where = append(where, s.Fields[k].Name+" = "+quote(*row[k]))
			}
			if got := same(t, c, name, strings.Join(where, " AND ")); len(got) != 1 {
				t.Errorf("%s WHERE %s: %d rows", name, where, len(got))
			}
		}
	}
}

// mustFind fails if a value that was read is not found again.
func mustFind(t *testing.T, c *client, name, where string) {
	t.Helper()
	if got := c.lines("SELECT 1 FROM " + name + " WHERE " + where + " LIMIT 1"); len(got) != 1 || got[0] != "1" {
		t.Errorf("%s WHERE %s found %q", name, where, got)
	}
}

func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

// same checks a filter against a full read, rows and count.
func same(t *testing.T, c *client, name, where string) []string {
	t.Helper()
	got := c.lines("SELECT * FROM " + name + " WHERE " + where)
	if strings.ContainsAny(strings.Join(got, ""), "\n") {
		t.Errorf("%s WHERE %s: %s", name, where, got)
	}
	want := c.lines("WITH x AS MATERIALIZED (SELECT * FROM " + name + " OFFSET 0) SELECT * FROM x WHERE " + where)
	if diff := agree.Diff(got, want); diff != "" {
		t.Errorf("%s WHERE %s:%s", name, where, diff)
	}
	if n := c.lines("SELECT count(*) FROM " + name + " WHERE " + where); n[0] != fmt.Sprint(len(want)) {
		t.Errorf("%s WHERE %s: count %s of %d rows", name, where, n[0], len(want))
	}
	return got
}
