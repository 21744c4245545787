//go:build peers

package golden_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"dtstore/tests/dtest"
)

// TestPSQL reads the golden tables with psql: whole tables as Flink read them,
// and the screens of testdata/psql.
func TestPSQL(t *testing.T) {
	dir, _ := warehouse(t)
	s := dtest.Start(t, dtest.Options{Args: []string{"--warehouse", dir}})
	for _, name := range readable {
		db, tb, _ := strings.Cut(name, ".")
		if db != "g" {
			continue
		}
		types := columnTypes(t, filepath.Join(dir, "g.db", tb))
		out, err := s.PSQL(t.Context(), "-At", "-F", "\t", "-P", "null=null", "-c", "SELECT * FROM "+name)
		if err != nil {
			t.Errorf("%s: %v\n%s", name, err, out)
			continue
		}
		expectedTSV(t, tb, types, out)
	}
	datadriven.RunTest(t, "testdata/psql", func(t *testing.T, d *datadriven.TestData) string {
		file := filepath.Join(t.TempDir(), "in.sql")
		if err := os.WriteFile(file, []byte(d.Input+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		out, _ := s.PSQL(t.Context(), "-f", file)
		lines := strings.Split(strings.ReplaceAll(out, "psql:"+file+":", "psql:"), "\n")
		for i, l := range lines {
			lines[i] = strings.TrimRight(l, " ")
		}
		return strings.Join(slices.DeleteFunc(lines, func(l string) bool { return l == "" }), "\n") + "\n"
	})
}
