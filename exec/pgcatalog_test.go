package exec_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dtstore/exec"
	"dtstore/sql"
	"dtstore/table"
)

// captured reads the queries of a file of testdata/psql-queries.
func captured(t *testing.T, path string) []string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	var cur []string
	flush := func() {
		if q := strings.TrimSpace(strings.Join(cur, "\n")); q != "" {
			out = append(out, q)
		}
		cur = nil
	}
	for line := range strings.Lines(string(b)) {
		line = strings.TrimRight(line, "\n")
		if strings.HasPrefix(line, "-- query ") || strings.HasPrefix(line, "-- psql command:") {
			flush()
			continue
		}
		if len(out) == 0 && len(cur) == 0 && strings.HasPrefix(line, "-- ") {
			continue
		}
		cur = append(cur, line)
	}
	flush()
	return out
}

func shop() exec.CatalogSource {
	text := table.Type{Kind: table.VarChar, Length: table.MaxLength}
	bigint := table.Type{Kind: table.BigInt, NotNull: true}
	return exec.CatalogSource{
		Schemas: []exec.SchemaInfo{{Name: "public"}, {Name: "sales", Comment: "what was sold"}},
		Tables: []exec.TableInfo{
			{Schema: "public", Name: "orders", Comment: "the orders", PrimaryKey: []string{"id"}, Columns: []exec.ColumnInfo{
				{Name: "id", Type: bigint, Comment: "the id"}, {Name: "customer", Type: table.Type{Kind: table.VarChar, Length: 20, NotNull: true}},
				{Name: "amount", Type: table.Type{Kind: table.Decimal, Precision: 10, Scale: 2}, Default: "0"}, {Name: "ts", Type: table.Type{Kind: table.Timestamp, Precision: 3}}}},
			{Schema: "public", Name: "items", PrimaryKey: []string{"order_id", "sku"}, Columns: []exec.ColumnInfo{
				{Name: "order_id", Type: bigint}, {Name: "sku", Type: text}, {Name: "qty", Type: table.Type{Kind: table.Int}}}},
			{Schema: "sales", Name: "t1", Columns: []exec.ColumnInfo{{Name: "a", Type: table.Type{Kind: table.Int}}, {Name: "B", Type: text}}},
		},
	}
}

// runCatalog runs a captured text as a session would; it says whether it was a
// query at all.
func runCatalog(t *testing.T, e *exec.Engine, s *exec.Session, text string) (bool, string, error) {
	t.Helper()
	statements, err := sql.Parse(text)
	if err != nil {
		return false, "", nil // other statements are the parser's own business
	}
	out := ""
	for _, st := range statements {
		q, ok := st.(*sql.Query)
		if !ok {
			return false, "", nil
		}
		rewritten, err := sql.Rewrite(q.Text, sql.RewriteOptions{Setting: func(name string) (string, bool) {
			v, ok := map[string]string{"search_path": `"$user", public`, "server_version_num": "150000"}[name]
			return v, ok
		}})
		if err != nil {
			return true, "", err
		}
		tree, err := e.Parse(t.Context(), rewritten.SQL)
		if err != nil {
			return true, "", err
		}
		for _, r := range tree.Refs {
			if !r.Catalogue {
				return false, "", nil // a query of user tables
			}
		}
		rendered, err := tree.Render(nil)
		if err != nil {
			return true, "", err
		}
		prepared, err := s.Prepare(t.Context(), rendered, nil)
		if err != nil {
			return true, "", err
		}
		defer prepared.Close()
		args := make([]exec.Arg, len(prepared.Params()))
		rows, err := prepared.Run(t.Context(), args)
		if err != nil {
			return true, "", err
		}
		for {
			batch, err := rows.Next(t.Context())
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				return true, "", err
			}
			for _, row := range batch {
				for i, v := range row {
					if i > 0 {
						out += "|"
					}
					if !v.IsNull() {
						out += show(prepared.Columns()[i].Type, v)
					}
				}
				out += "\n"
			}
		}
	}
	return true, out, nil
}

// What psql and drivers ask of a server that says it is 15 must run.
func TestCapturedCatalogQueries(t *testing.T) {
	e := open(t, exec.Options{Database: "shop", User: "alice"})
	if err := e.SetCatalog(t.Context(), shop()); err != nil {
		t.Fatal(err)
	}
	s := session(t, e)
	dir := "../testdata/psql-queries/"
	drivers, err := filepath.Glob(dir + "drivers/*.sql")
	if err != nil || len(drivers) == 0 {
		t.Fatal("no driver queries:", err)
	}
	files := append([]string{dir + "psql15-server15.sql", dir + "psql17-server15.sql", dir + "psql18-server15.sql"}, drivers...)
	for _, f := range files {
		ran := 0
		for _, q := range captured(t, f) {
			isQuery, _, err := runCatalog(t, e, s, q)
			if err != nil {
				t.Errorf("%s: %v\n%s", filepath.Base(f), err, q)
			}
			if isQuery {
				ran++
			}
		}
		t.Logf("%s: %d queries", filepath.Base(f), ran)
		if ran == 0 {
			t.Errorf("%s: nothing ran", f)
		}
	}
}
