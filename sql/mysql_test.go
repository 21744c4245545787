package sql_test

import (
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"dtstore/sql"
)

// testdata/mysql holds queries, a line each, and what the second try makes of
// them. "captured" takes those of the project's collection that DuckDB refused.
func TestFromMySQL(t *testing.T) {
	datadriven.RunTest(t, "testdata/mysql", func(t *testing.T, d *datadriven.TestData) string {
		texts := strings.Split(d.Input, "\n")
		if d.Cmd == "captured" {
			texts = nil
			for _, v := range verdicts(t) {
				if strings.HasPrefix(v.duckdb, "PARSE-ERR") && (strings.HasPrefix(v.text, "SELECT") || strings.HasPrefix(v.text, "VALUES") || strings.HasPrefix(v.text, "WITH")) {
					texts = append(texts, v.text)
				}
			}
		}
		var b strings.Builder
		for _, text := range texts {
			out, err := sql.FromMySQL(text)
			if err != nil {
				out = strings.TrimSpace(failure(err))
			}
			b.WriteString(text + "\n    " + strings.ReplaceAll(out, "\n", "\n    ") + "\n")
		}
		return b.String()
	})
}

func FuzzFromMySQL(f *testing.F) {
	for _, v := range verdicts(f) {
		f.Add(v.text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if out, err := sql.FromMySQL(text); err == nil && out == "" {
			t.Fatalf("%q becomes nothing", text)
		}
	})
}
