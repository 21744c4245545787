package manifest_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"dtstore/manifest"
	"dtstore/table"

	"github.com/cockroachdb/datadriven"
)

var (
	bigint   = table.Type{Kind: table.BigInt, NotNull: true}
	integer  = table.Type{Kind: table.Int}
	keyed    = &table.Schema{Fields: []table.Field{{Name: "k", Type: bigint}}, PrimaryKeys: []string{"k"}}
	unkeyed  = &table.Schema{Fields: []table.Field{{Name: "k", Type: bigint}}}
	twoParts = &table.Schema{Fields: []table.Field{{Name: "a", Type: integer}, {Name: "b", Type: integer}}, PartitionKeys: []string{"a", "b"}}
)

// TestScripts runs testdata/fold, runs, merge and summary. An entry is a line
//
//	+name bN LN k=lo..hi seq=lo..hi p=a,b
//
// of which all but the first word may be missing.
func TestScripts(t *testing.T) {
	for _, script := range []string{"fold", "runs", "merge", "summary"} {
		datadriven.RunTest(t, "testdata/"+script, func(t *testing.T, d *datadriven.TestData) string {
			switch d.Cmd {
			case "fold", "merged":
				entries := parseEntries(t, d.Input)
				f := manifest.Merged
				if d.Cmd == "fold" {
					f = func(e []manifest.Entry) ([]manifest.Entry, error) {
						return manifest.Fold(e[:len(e)/2], e[len(e)/2:]...)
					}
				}
				got, err := f(entries)
				return names(got, err)
			case "runs":
				s := keyed
				if d.HasArg("append") {
					s = unkeyed
				}
				runs, err := manifest.Runs(s, parseEntries(t, d.Input))
				if err != nil {
					return err.Error() + "\n"
				}
				var out strings.Builder
				for _, r := range runs {
					fmt.Fprintf(&out, "L%d %s (%d bytes, %d rows)\n", r.Level, strings.TrimSpace(names(r.Files, nil)), r.Size(), r.Rows())
				}
				return out.String()
			case "plan":
				return plan(t, d)
			case "summarize":
				m, err := manifest.Summarize(twoParts, "manifest-1", 99, parseEntries(t, d.Input))
				if err != nil {
					return err.Error() + "\n"
				}
				columns, err := m.Partitions.Decode(twoParts.PartitionTypes())
				if err != nil {
					t.Fatal(err)
				}
				m.Partitions = manifest.Stats{}
				out := listLine(m) + "\n"
				for _, c := range columns {
					out += fmt.Sprintf("%s..%s nulls %d\n", number(c.Min), number(c.Max), *c.Nulls)
				}
				return out
			}
			d.Fatalf(t, "unknown command %s", d.Cmd)
			return ""
		})
	}
}

// plan reads "name size deletions" lines.
func plan(t *testing.T, d *datadriven.TestData) string {
	var list []manifest.ListEntry
	for _, line := range strings.Split(d.Input, "\n") {
		var m manifest.ListEntry
		if _, err := fmt.Sscanf(line, "%s %d %d", &m.Name, &m.Size, &m.Deleted); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		list = append(list, m)
	}
	parts, full := manifest.PlanMerge(list, manifest.MergeOptions{TargetBytes: 8, FullBytes: 16, MinCount: 4})
	out := fmt.Sprintf("full: %v\n", full)
	for _, part := range parts {
		for i, m := range part {
			if i > 0 {
				out += " "
			}
			out += m.Name
		}
		out += "\n"
	}
	return out
}

func number(v table.Value) string {
	if v.IsNull() {
		return "null"
	}
	return strconv.FormatInt(v.Int(), 10)
}

func names(entries []manifest.Entry, err error) string {
	if err != nil {
		return err.Error() + "\n"
	}
	words := []string{}
	for _, e := range entries {
		words = append(words, map[manifest.Kind]string{manifest.Add: "+", manifest.Delete: "-"}[e.Kind]+e.File.Name+"@L"+strconv.Itoa(e.File.Level))
	}
	return strings.Join(words, " ") + "\n"
}

func parseEntries(t *testing.T, input string) []manifest.Entry {
	t.Helper()
	var out []manifest.Entry
	for _, line := range strings.Split(input, "\n") {
		words := strings.Fields(line)
		e := manifest.Entry{Partition: table.EmptyPartition, File: manifest.File{Name: words[0][1:], Size: 10, Rows: 2}}
		if words[0][0] == '-' {
			e.Kind = manifest.Delete
		}
		for _, w := range words[1:] {
			switch {
			case w[0] == 'b':
				e.Bucket = table.Bucket(atoi(t, w[1:]))
			case w[0] == 'L':
				e.File.Level = int(atoi(t, w[1:]))
			case strings.HasPrefix(w, "k="):
				lo, hi, _ := strings.Cut(w[2:], "..")
				e.File.MinKey, e.File.MaxKey = serialized(bigint, atoi(t, lo)), serialized(bigint, atoi(t, hi))
			case strings.HasPrefix(w, "seq="):
				lo, hi, _ := strings.Cut(w[4:], "..")
				e.File.MinSeq, e.File.MaxSeq = table.Sequence(atoi(t, lo)), table.Sequence(atoi(t, hi))
			case strings.HasPrefix(w, "x="):
				e.File.ExtraFiles = strings.Split(w[2:], ",")
			case strings.HasPrefix(w, "p="):
				row := table.Row{}
				for _, v := range strings.Split(w[2:], ",") {
					if v == "null" {
						row = append(row, table.Null())
					} else {
						row = append(row, table.IntOf(atoi(t, v)))
					}
				}
				e.Partition = table.Partition(table.AppendSerialized(nil, twoParts.PartitionTypes(), row))
			default:
				t.Fatalf("%q: %q", line, w)
			}
		}
		out = append(out, e)
	}
	return out
}

func serialized(typ table.Type, n int64) []byte {
	return table.AppendSerialized(nil, []table.Type{typ}, table.Row{table.IntOf(n)})
}

func atoi(t *testing.T, s string) int64 {
	t.Helper()
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestDense encodes and decodes value statistics in which a column is missing.
func TestDense(t *testing.T) {
	s := &table.Schema{ID: 4, Fields: []table.Field{{Name: "a", Type: integer}, {Name: "list", Type: integer}, {Name: "c", Type: integer}}}
	one := int64(1)
	columns := []manifest.Column{
		{Known: true, Min: table.IntOf(3), Max: table.IntOf(9), Nulls: new(int64)},
		{},
		{Known: true, Nulls: &one},
	}
	stats, cols := manifest.EncodeDense(s.Names(), s.Types(), columns)
	if fmt.Sprint(cols) != "[a c]" || len(stats.NullCounts) != 2 {
		t.Fatalf("columns %v, %d counts", cols, len(stats.NullCounts))
	}
	f := manifest.File{Name: "f", ValueStats: stats, ValueStatsCols: cols}
	back, err := f.ValueColumns(s)
	if err != nil {
		t.Fatal(err)
	}
	for i := range columns {
		x, y := columns[i], back[i]
		if x.Known != y.Known || x.Min != y.Min || x.Max != y.Max || (x.Nulls == nil) != (y.Nulls == nil) || (x.Nulls != nil && *x.Nulls != *y.Nulls) {
			t.Errorf("column %d: %+v came back as %+v", i, x, y)
		}
	}
	if all, cols := manifest.EncodeDense(s.Names()[:1], s.Types()[:1], columns[:1]); cols != nil || len(all.NullCounts) != 1 {
		t.Errorf("nothing to leave out, yet the columns are %v", cols)
	}
	f.ValueStatsCols = []string{"a", "gone"}
	if _, err := f.ValueColumns(s); err == nil {
		t.Error("statistics of a column that is not there were read")
	}
	f.ValueStatsCols = nil
	if _, err := f.ValueColumns(s); err == nil {
		t.Error("statistics of two columns were read as three")
	}
}

// TestIdentity: each part counts, and parts do not run into each other.
func TestIdentity(t *testing.T) {
	seen := map[string]int{}
	for i, change := range []func(*manifest.Entry){
		func(e *manifest.Entry) {},
		func(e *manifest.Entry) { e.Partition = "123456789012" },
		func(e *manifest.Entry) { e.Bucket++ },
		func(e *manifest.Entry) { e.File.Level++ },
		func(e *manifest.Entry) { e.File.Name += "x" },
		func(e *manifest.Entry) { e.File.ExtraFiles = nil },
		func(e *manifest.Entry) { e.File.ExtraFiles = []string{"data-1.parquet", ".index"} },
		func(e *manifest.Entry) { e.File.EmbeddedIndex = nil },
		func(e *manifest.Entry) { e.File.ExternalPath = nil },
		func(e *manifest.Entry) { e.File.ExternalPath = ptr("") },
	} {
		e := full()
		change(&e)
		if j, ok := seen[e.Identity()]; ok {
			t.Errorf("%d and %d are the same", i, j)
		}
		seen[e.Identity()] = i
	}
	a, b := full(), full()
	b.Kind, b.File.Rows, b.File.EmbeddedIndex, b.TotalBuckets = manifest.Add, 99, []byte{1, 2, 3}, 4
	if a.Identity() != b.Identity() {
		t.Error("kind, rows or bucket count tell files apart")
	}
}
