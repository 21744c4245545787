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

// TestScreens compares what psql shows. The commands of testdata/screens:
//
//	psql [args="…"]    feeds the script to psql on its standard input
//	psql c             gives the whole script as one -c
//	file NAME          writes a file that \copy and \i can read
//	show NAME          a file that \copy wrote
func TestScreens(t *testing.T) {
	datadriven.Walk(t, "testdata/screens", func(t *testing.T, path string) {
		s := dtest.Start(t, dtest.Options{})
		dir := t.TempDir()
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			switch d.Cmd {
			case "file":
				if err := os.WriteFile(filepath.Join(dir, d.CmdArgs[0].Key), []byte(d.Input+"\n"), 0o644); err != nil {
					t.Fatal(err)
				}
				return ""
			case "show":
				b, err := os.ReadFile(filepath.Join(dir, d.CmdArgs[0].Key))
				if err != nil {
					t.Fatal(err)
				}
				return string(b)
			case "psql":
				var args string
				d.MaybeScanArgs(t, "args", &args)
				if d.HasArg("c") {
					return mask(run(t, s, dir, "", append(strings.Fields(args), "-c", d.Input)...))
				}
				return mask(run(t, s, dir, d.Input+"\n", strings.Fields(args)...))
			}
			t.Fatalf("no command %s", d.Cmd)
			return ""
		})
	})
}
