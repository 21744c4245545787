package sql_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"dtstore/sql"
)

const queries = "../testdata/psql-queries/"

func read(tb testing.TB, path string) string {
	tb.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		tb.Fatal(err)
	}
	return string(b)
}

// verdict is a line of grammar-verdicts.tsv.
type verdict struct{ group, text, duckdb string }

// verdicts are the statements that were tried on both grammars.
func verdicts(tb testing.TB) []verdict {
	var out []verdict
	for i, line := range strings.Split(strings.TrimSpace(read(tb, queries+"grammar-verdicts.tsv")), "\n") {
		if f := strings.Split(line, "\t"); i > 0 && len(f) >= 4 {
			out = append(out, verdict{f[0], f[1], f[3]})
		}
	}
	return out
}

// captured are the catalog queries that clients sent: of one file, in order.
func captured(tb testing.TB, path string) []string {
	var out []string
	for part := range strings.SplitSeq("\n"+read(tb, path), "\n-- ") {
		if _, query, ok := strings.Cut(part, "\n"); ok && strings.TrimSpace(query) != "" {
			out = append(out, strings.TrimSpace(query))
		}
	}
	return out
}

func capturedFiles(tb testing.TB) []string {
	var out []string
	for _, pattern := range []string{"psql*.sql", "drivers/*.sql"} {
		files, err := filepath.Glob(queries + pattern)
		if err != nil || len(files) == 0 {
			tb.Fatalf("no %s: %v", pattern, err)
		}
		out = append(out, files...)
	}
	return out
}

// corpus is every text there is, for fuzzing.
func corpus(tb testing.TB) []string {
	var out []string
	for _, v := range verdicts(tb) {
		out = append(out, v.text)
	}
	for _, f := range capturedFiles(tb) {
		out = append(out, captured(tb, f)...)
	}
	for _, name := range []string{"ddl", "dml", "session", "types"} {
		head, _, _ := strings.Cut(read(tb, "testdata/parse/"+name), "\n----\n")
		out = append(out, strings.Split(head, "\n")...)
	}
	return out
}

// testdata/verdicts says which of our statements each of the 530 is, or with
// what it is refused.
func TestVerdicts(t *testing.T) {
	datadriven.RunTest(t, "testdata/verdicts", func(t *testing.T, d *datadriven.TestData) string {
		var b strings.Builder
		for _, v := range verdicts(t) {
			if v.group == d.CmdArgs[0].String() || strings.ReplaceAll(v.group, " ", "_") == d.CmdArgs[0].String() {
				b.WriteString(v.text + "\n    " + outcome(v) + "\n")
			}
		}
		return b.String()
	})
}

func outcome(v verdict) string {
	list, err := sql.Parse(v.text)
	if err != nil {
		return strings.ReplaceAll(strings.TrimSpace(failure(err)), "\n", "\n    ")
	}
	if len(list) != 1 {
		return "no single statement"
	}
	if q, ok := list[0].(*sql.Query); ok {
		return query(v, q.Text)
	}
	return describe(list[0])
}

// query says what becomes of a query: its text for DuckDB, a refusal, or the
// second try where DuckDB's grammar was seen to refuse it.
func query(v verdict, text string) string {
	r, err := sql.Rewrite(text, rewriteOptions)
	if err != nil {
		return strings.ReplaceAll(strings.TrimSpace(failure(err)), "\n", "\n    ")
	}
	out := "query"
	if r.SQL != text {
		out += " as " + r.SQL
	}
	if strings.HasPrefix(v.duckdb, "PARSE-ERR") {
		other, err := sql.FromMySQL(text)
		if err != nil {
			other = "syntax error, no second try: " + err.Error()
		}
		out += ", which DuckDB's grammar refuses\n    " + other
	}
	return out
}

// Every captured text parses to queries and session statements.
func TestCaptured(t *testing.T) {
	for _, f := range capturedFiles(t) {
		list := captured(t, f)
		for _, text := range list {
			got, err := sql.Parse(text)
			if err != nil || len(got) == 0 {
				t.Errorf("%s: %q: %d statements, %v", filepath.Base(f), text, len(got), err)
			}
		}
		if len(list) == 0 {
			t.Errorf("%s is empty", f)
		}
	}
}
