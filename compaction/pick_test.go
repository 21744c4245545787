package compaction_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"dtstore/compaction"
	"dtstore/manifest"
	"dtstore/table"
)

// TestPick reads runs, newest first, one a line: "L0 5MB", "L4 100MB -d" (with
// retractions), and prints what is picked.
func TestPick(t *testing.T) {
	datadriven.RunTest(t, "testdata/pick", func(t *testing.T, d *datadriven.TestData) string {
		var p compaction.Policy
		d.MaybeScanArgs(t, "trigger", &p.Trigger)
		var runs []manifest.SortedRun
		for line := range strings.Lines(d.Input) {
			runs = append(runs, parseRun(t, line, len(runs)))
		}
		if d.Cmd == "append" {
			var target, least int
			d.ScanArgs(t, "target", &target)
			d.ScanArgs(t, "least", &least)
			var out []string
			for _, u := range compaction.PickAppend(runs, int64(target)<<20, least) {
				var names []string
				for _, f := range u.Runs[0].Files {
					names = append(names, f.File.Name)
				}
				out = append(out, "join "+strings.Join(names, " "))
			}
			return strings.Join(append(out, ""), "\n")
		}
		pick := p.Pick
		if d.Cmd == "full" {
			pick = p.Full
		}
		u, ok := pick(runs)
		if !ok {
			return "nothing\n"
		}
		drop := ""
		if u.DropRetractions {
			drop = ", drops deletions"
		}
		return fmt.Sprintf("newest %d of %d -> L%d%s\n", len(u.Runs), len(runs), u.Output, drop)
	})
}

func parseRun(t *testing.T, line string, n int) manifest.SortedRun {
	f := strings.Fields(line)
	level, err := strconv.Atoi(strings.TrimPrefix(f[0], "L"))
	if err != nil {
		t.Fatal(err)
	}
	mb, err := strconv.Atoi(strings.TrimSuffix(f[1], "MB"))
	if err != nil {
		t.Fatal(err)
	}
	dels := int64(0)
	e := manifest.Entry{File: manifest.File{Name: fmt.Sprint("f", n), Level: level, Size: int64(mb) << 20, MinSeq: table.Sequence(n), DeleteRows: &dels}}
	if len(f) > 2 {
		dels = 1
	}
	return manifest.SortedRun{Level: level, Files: []manifest.Entry{e}}
}
