package manifest_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"dtstore/manifest"
	"dtstore/table"

	"github.com/cockroachdb/datadriven"
)

const golden = "../testdata/paimon"

// tables returns the folders of all golden tables, in order.
func tables(t testing.TB) []string {
	t.Helper()
	var out []string
	for _, pattern := range []string{"flink131/g.db/*", "tables/*/*"} {
		dirs, err := filepath.Glob(filepath.Join(golden, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, dir := range dirs {
			if _, err := os.Stat(filepath.Join(dir, "manifest")); err == nil {
				out = append(out, dir)
			}
		}
	}
	if len(out) < 30 {
		t.Fatalf("only %d golden tables found", len(out))
	}
	return out
}

// TestGolden prints every manifest list and manifest of the golden tables.
func TestGolden(t *testing.T) {
	datadriven.RunTest(t, "testdata/golden", func(t *testing.T, d *datadriven.TestData) string {
		var path string
		d.ScanArgs(t, "path", &path)
		var out strings.Builder
		switch d.Cmd {
		case "table":
			files, err := filepath.Glob(filepath.Join(golden, path, "manifest", "manifest-*"))
			if err != nil || len(files) == 0 {
				t.Fatalf("%s: %d manifests, %v", path, len(files), err)
			}
			for _, f := range files {
				printFile(t, &out, f)
			}
		case "file":
			printFile(t, &out, filepath.Join(golden, path))
		default:
			d.Fatalf(t, "unknown command %s", d.Cmd)
		}
		return out.String()
	})
}

// TestGoldenComplete holds the script to all golden tables.
func TestGoldenComplete(t *testing.T) {
	script, err := os.ReadFile("testdata/golden")
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range tables(t) {
		rel, err := filepath.Rel(golden, dir)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(script), "table path="+rel+"\n") {
			t.Errorf("testdata/golden lacks table path=%s", rel)
		}
	}
}

func printFile(t *testing.T, out *strings.Builder, path string) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Base(path)
	fmt.Fprintf(out, "%s\n", name)
	if strings.Contains(name, "manifest-list") || strings.Contains(name, "manifest_list") {
		list, err := manifest.DecodeList(b)
		if err != nil {
			fmt.Fprintf(out, "  error: %v\n", err)
			return
		}
		for _, m := range list {
			fmt.Fprintf(out, "  %s\n", listLine(m))
		}
		again(t, name, list, manifest.EncodeList, manifest.DecodeList)
		return
	}
	entries, err := manifest.DecodeEntries(b)
	if err != nil {
		fmt.Fprintf(out, "  error: %v\n", err)
		return
	}
	for _, e := range entries {
		fmt.Fprintf(out, "  %s\n", entryLine(e))
	}
	again(t, name, entries, manifest.EncodeEntries, manifest.DecodeEntries)
}

// again encodes what was decoded and expects the same back.
func again[T any](t testing.TB, name string, v []T, encode func([]T) ([]byte, error), decode func([]byte) ([]T, error)) {
	t.Helper()
	b, err := encode(v)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	back, err := decode(b)
	if err != nil {
		t.Fatalf("%s: what was encoded does not decode: %v", name, err)
	}
	if len(v) != len(back) {
		t.Fatalf("%s: %d records came back as %d", name, len(v), len(back))
	}
	for i := range v {
		if !reflect.DeepEqual(v[i], back[i]) {
			t.Fatalf("%s: record %d came back as another:\n%+v\n%+v", name, i, v[i], back[i])
		}
	}
}

func listLine(m manifest.ListEntry) string {
	return fmt.Sprintf("%s %d bytes +%d -%d schema %d buckets %s..%s levels %s..%s rows %s..%s partitions %s", m.Name, m.Size, m.Added, m.Deleted,
		m.SchemaID, opt(m.MinBucket), opt(m.MaxBucket), opt(m.MinLevel), opt(m.MaxLevel), opt(m.MinRowID), opt(m.MaxRowID), statsText(m.Partitions))
}

func entryLine(e manifest.Entry) string {
	f := e.File
	return fmt.Sprintf("%v %x bucket %d/%d L%d %s %d bytes %d rows seq %d..%d schema %d keys %x..%x key stats %s value stats %s cols %q extra %q created %s deletes %s index %d bytes source %s external %s row id %s write cols %q",
		e.Kind, e.Partition, e.Bucket, e.TotalBuckets, f.Level, f.Name, f.Size, f.Rows, f.MinSeq, f.MaxSeq, f.SchemaID, f.MinKey, f.MaxKey,
		statsText(f.KeyStats), statsText(f.ValueStats), f.ValueStatsCols, f.ExtraFiles, opt(f.CreationMillis), opt(f.DeleteRows), len(f.EmbeddedIndex), opt(f.Source), opt(f.ExternalPath), opt(f.FirstRowID), f.WriteCols)
}

func statsText(s manifest.Stats) string {
	var nulls []string
	for _, n := range s.NullCounts {
		nulls = append(nulls, opt(n))
	}
	return fmt.Sprintf("%x..%x nulls %v", s.Min, s.Max, nulls)
}

func opt[T any](p *T) string {
	if p == nil {
		return "-"
	}
	return fmt.Sprint(*p)
}

// TestHeader holds our files to the schema text that Paimon writes: byte for byte the one of
// a manifest written by 1.3.
func TestHeader(t *testing.T) {
	ours, err := manifest.EncodeEntries([]manifest.Entry{{Partition: table.EmptyPartition, File: manifest.File{Name: "a"}}})
	if err != nil {
		t.Fatal(err)
	}
	files, _ := filepath.Glob(golden + "/flink131/g.db/types_pk/manifest/manifest-????????-*")
	theirs, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	schema := func(b []byte) string {
		from := bytes.Index(b, []byte(`{"type":"record"`))
		to := bytes.Index(b, []byte(`]}}]}`))
		return string(b[from : to+len(`]}}]}`)])
	}
	if schema(ours) != schema(theirs) {
		t.Errorf("schema text differs:\n%s\n%s", schema(ours), schema(theirs))
	}
	if !bytes.Contains(ours[:len(ours)-50], []byte("avro.codec\x12zstandard")) {
		t.Error("codec is not zstandard")
	}
}
