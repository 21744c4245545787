//go:build peers

package psql_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"dtstore/tests/dtest"
)

// TestFirstHour is what people try in the first hour, with what they are told.
// "try limits=(X)" says that the first column of docs/limits.md names X: every
// statement that is answered with 0A000 must have its line there.
func TestFirstHour(t *testing.T) {
	b, err := os.ReadFile(filepath.Join(dtest.Root(t), "docs", "limits.md"))
	if err != nil {
		t.Fatal(err)
	}
	var limits []string
	for line := range strings.SplitSeq(string(b), "\n") {
		if cells := strings.Split(line, "|"); len(cells) > 3 {
			limits = append(limits, cells[1])
		}
	}
	listed := func(what string) bool {
		for _, l := range limits {
			if strings.Contains(strings.ReplaceAll(l, "`", ""), what) {
				return true
			}
		}
		return false
	}
	s := dtest.Start(t, dtest.Options{})
	datadriven.RunTest(t, "testdata/first_hour", func(t *testing.T, d *datadriven.TestData) string {
		out := mask(run(t, s, t.TempDir(), d.Input+"\n", "-v", "VERBOSITY=verbose"))
		switch a, ok := d.Arg("limits"); {
		case ok && !listed(strings.Join(a.Vals, ", ")):
			t.Errorf("%s: docs/limits.md has no line that begins with %s", d.Pos, strings.Join(a.Vals, ", "))
		case !ok && strings.Contains(out, "ERROR:  0A000"):
			t.Errorf("%s: refused, and no line of docs/limits.md is named:\n%s", d.Pos, out)
		}
		return out
	})
}
