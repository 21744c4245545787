package sql_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"dtstore/sql"
)

var rewriteOptions = sql.RewriteOptions{Setting: func(name string) (string, bool) {
	v, ok := map[string]string{"search_path": `"$user", public`, "server_version_num": "150000"}[name]
	return v, ok
}}

func rewritten(t *testing.T, text string) string {
	t.Helper()
	r, err := sql.Rewrite(text, rewriteOptions)
	if err != nil {
		return strings.TrimSpace(failure(err))
	}
	checkRewritten(t, text, r)
	if r.SQL == text {
		return "(unchanged)"
	}
	return r.SQL
}

// checkRewritten fails unless rewriting again changes nothing and the places are in the text.
func checkRewritten(t *testing.T, text string, r sql.Rewritten) {
	t.Helper()
	again, err := sql.Rewrite(r.SQL, rewriteOptions)
	if err != nil || again.SQL != r.SQL {
		t.Errorf("%s\nrewritten: %s\nagain: %s %v", text, r.SQL, again.SQL, err)
	}
	for at := range len(r.SQL) + 1 {
		if o := r.Origin(at); o < 0 || o > len(text) {
			t.Fatalf("%s: byte %d comes from %d", r.SQL, at, o)
		}
	}
}

// testdata/rewrite holds queries, a line each, and what DuckDB gets.
func TestRewrite(t *testing.T) {
	datadriven.Walk(t, "testdata/rewrite", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			var b strings.Builder
			for line := range strings.SplitSeq(d.Input, "\n") {
				b.WriteString(line + "\n    " + strings.ReplaceAll(rewritten(t, line), "\n", "\n    ") + "\n")
			}
			return b.String()
		})
	})
}

// What clients were seen to send is rewritten as testdata/captured has it, one
// file for each of theirs.
func TestRewriteCaptured(t *testing.T) {
	seen := map[string]bool{}
	for _, f := range capturedFiles(t) {
		name := strings.TrimSuffix(filepath.Base(f), ".sql")
		var b strings.Builder
		for _, text := range captured(t, f) {
			list, err := sql.Parse(text)
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range list {
				q, ok := s.(*sql.Query)
				if !ok || seen[q.Text] {
					continue
				}
				seen[q.Text] = true
				b.WriteString(rewritten(t, q.Text) + ";\n\n")
			}
		}
		golden := filepath.Join("testdata", "captured", name+".sql")
		if os.Getenv("REWRITE") != "" {
			if err := os.WriteFile(golden, []byte(b.String()), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if want := read(t, golden); want != b.String() {
			t.Errorf("%s: differs; REWRITE=1 writes it anew", golden)
		}
	}
}

// A place in the rewritten text leads back to the place in the text.
func TestOrigin(t *testing.T) {
	const text = `SELECT é, E'\u00e9x', pg_catalog.version(), oops FROM t`
	r, err := sql.Rewrite(text, sql.RewriteOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, word := range []string{"version", "oops", "FROM"} {
		at := strings.Index(r.SQL, word)
		if got, want := r.Origin(at), strings.Index(text, word); got != want {
			t.Errorf("%s: %d, want %d in %s", word, got, want, r.SQL)
		}
		position := len([]rune(r.SQL[:at])) + 1
		if got, want := r.Position(position), len([]rune(text[:strings.Index(text, word)]))+1; got != want {
			t.Errorf("%s: position %d, want %d", word, got, want)
		}
	}
}

func FuzzRewrite(f *testing.F) {
	for _, s := range corpus(f) {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		r, err := sql.Rewrite(text, rewriteOptions)
		if err != nil {
			checkError(t, text, err)
			return
		}
		for _, tok := range sql.Lex(r.SQL) {
			if tok.Kind == sql.Bad {
				t.Fatalf("%q becomes %q, which does not lex", text, r.SQL)
			}
		}
	})
}
