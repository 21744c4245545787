package filestore_test

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"dtstore/filestore"
	"dtstore/manifest"
	"dtstore/merge"
	"dtstore/objstore"
	"dtstore/table"
)

// goldenTable is a table that the reference implementation wrote.
type goldenTable struct {
	path    string // in the warehouse ../testdata/paimon
	schemas map[int64]*table.Schema
	latest  *table.Schema
	adds    []manifest.Entry // every file that was ever added
	live    []manifest.Entry // those of the last snapshot
}

const goldenRoot = "../testdata/paimon"

func goldenTables(t *testing.T) []goldenTable {
	var out []goldenTable
	for _, pattern := range []string{"flink131/g.db/*", "tables/*/*"} {
		dirs, err := filepath.Glob(filepath.Join(goldenRoot, pattern))
		if err != nil || len(dirs) == 0 {
			t.Fatalf("%s: %d tables, %v", pattern, len(dirs), err)
		}
		for _, dir := range dirs {
			path, err := filepath.Rel(goldenRoot, dir)
			if err != nil {
				t.Fatal(err)
			}
			g, err := loadGolden(filepath.ToSlash(path))
			if err != nil {
				t.Logf("%s: left out: %v", path, err) // ORC manifests
				continue
			}
			out = append(out, g)
		}
	}
	if len(out) < 30 {
		t.Fatalf("only %d golden tables", len(out))
	}
	return out
}

func loadGolden(path string) (goldenTable, error) { return loadGoldenAt(goldenRoot, path) }

func loadGoldenAt(root, path string) (goldenTable, error) {
	dir := filepath.Join(root, path)
	g := goldenTable{path: path, schemas: map[int64]*table.Schema{}}
	files, err := filepath.Glob(filepath.Join(dir, "schema", "schema-*"))
	if err != nil {
		return g, err
	}
	for _, f := range files {
		s, err := loadSchema(f)
		if err != nil {
			return g, err
		}
		g.schemas[s.ID] = s
		if g.latest == nil || s.ID > g.latest.ID {
			g.latest = s
		}
	}
	files, _ = filepath.Glob(filepath.Join(dir, "manifest", "manifest-*"))
	for _, f := range files {
		if strings.Contains(f, "manifest-list-") {
			continue
		}
		entries, err := readWith(f, manifest.DecodeEntries)
		if err != nil {
			return g, err
		}
		for _, e := range entries {
			if e.Kind == manifest.Add {
				g.adds = append(g.adds, e)
			}
		}
	}
	files, _ = filepath.Glob(filepath.Join(dir, "snapshot", "snapshot-*"))
	slices.SortFunc(files, func(a, b string) int { return len(a) - len(b) + strings.Compare(a, b) })
	var snap struct{ BaseManifestList, DeltaManifestList string }
	b, err := os.ReadFile(files[len(files)-1])
	if err == nil {
		err = json.Unmarshal(b, &snap)
	}
	if err != nil {
		return g, err
	}
	var entries []manifest.Entry
	for _, name := range []string{snap.BaseManifestList, snap.DeltaManifestList} {
		list, err := readWith(filepath.Join(dir, "manifest", name), manifest.DecodeList)
		if err != nil {
			return g, err
		}
		for _, l := range list {
			e, err := readWith(filepath.Join(dir, "manifest", l.Name), manifest.DecodeEntries)
			if err != nil {
				return g, err
			}
			entries = append(entries, e...)
		}
	}
	g.live, err = manifest.Fold(nil, entries...)
	return g, err
}

func readWith[T any](file string, decode func([]byte) (T, error)) (T, error) {
	b, err := os.ReadFile(file)
	if err != nil {
		var none T
		return none, err
	}
	return decode(b)
}

func loadSchema(file string) (*table.Schema, error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var raw struct {
		ID     int64
		Fields []struct {
			ID   int
			Name string
			Type json.RawMessage
		}
		PartitionKeys, PrimaryKeys []string
		Options                    map[string]string
	}
	if err := json.Unmarshal(b, &raw); err != nil {
		return nil, err
	}
	s := &table.Schema{ID: raw.ID, PartitionKeys: raw.PartitionKeys, PrimaryKeys: raw.PrimaryKeys, Options: raw.Options}
	for _, f := range raw.Fields {
		typ := table.Type{Text: string(f.Type)}
		var text string
		if json.Unmarshal(f.Type, &text) == nil {
			if typ, err = table.ParseType(text); err != nil {
				return nil, err
			}
		}
		s.Fields = append(s.Fields, table.Field{ID: f.ID, Name: f.Name, Type: typ})
	}
	return s, nil
}

// scalars are the fields of types that we read, and whether that is all.
func scalars(s *table.Schema) (fields []int, all bool) {
	for i, f := range s.Fields {
		if f.Type.Kind != table.Unsupported {
			fields = append(fields, i)
		}
	}
	return fields, len(fields) == len(s.Fields)
}

func (g goldenTable) place(e manifest.Entry) filestore.Place {
	return filestore.Place{Path: g.path, Schema: g.schemas[e.File.SchemaID], Partition: e.Partition, Bucket: e.Bucket}
}

func (g goldenTable) store(t *testing.T) *filestore.Store {
	dir, err := objstore.OpenDir(goldenRoot)
	if err != nil {
		t.Fatal(err)
	}
	s, err := filestore.Open(dir, filestore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// unlike are tables whose entries cannot be compared, and why.
var unlike = map[string]string{
	"tables/append_table_row_tracking_with_compact.db/append_table_row_tracking_with_compact": "has row ids in its statistics",
	"tables/append_table_with_rt_branch.db/append_table_with_rt_branch":                       "holds a branch with a key",
	"tables/pk_09.db/pk_09": "cut key statistics at 16 characters",
}

// TestGoldenFiles reads every Parquet file that the reference implementation
// wrote, looks up each of its keys, writes its rows anew, and compares what we
// say of our file with what its manifest says of the original.
func TestGoldenFiles(t *testing.T) {
	read, compared := 0, 0
	for _, g := range goldenTables(t) {
		store := g.store(t)
		seen := map[string]bool{}
		for _, e := range g.adds {
			p := g.place(e)
			if seen[e.File.Name] || strings.HasPrefix(e.File.Name, "changelog-") || strings.HasSuffix(e.File.Name, ".avro") || strings.HasSuffix(e.File.Name, ".orc") {
				continue
			}
			seen[e.File.Name] = true
			if _, err := os.Stat(filepath.Join(goldenRoot, filestore.DataPath(p, e.File))); err != nil {
				continue // expired since
			}
			fields, all := scalars(p.Schema)
			it, err := store.ReadFile(t.Context(), p, e, filestore.ReadOptions{Columns: fields})
			if g.path == "flink131/g.db/lz" {
				if err == nil {
					_, err = it.Next()
				}
				if table.SQLState(err) != "0A000" || !strings.Contains(err.Error(), "LZ4") {
					t.Errorf("%s: %v", g.path, err)
				}
				continue
			}
			if err != nil {
				t.Errorf("%s: %v", g.path, err)
				continue
			}
			rows := drain(t, it, nil)
			if int64(len(rows)) != e.File.Rows {
				t.Errorf("%s: %d rows of %d", e.File.Name, len(rows), e.File.Rows)
			}
			read++
			if !all || unlike[g.path] != "" {
				continue
			}
			for _, kv := range rows {
				if !p.Schema.Keyed() {
					break
				}
				got, ok, err := store.Lookup(t.Context(), p, e, kv.Key)
				if err != nil || !ok {
					t.Fatalf("%s: lookup of %x: %v %v", e.File.Name, kv.Key, ok, err)
				}
				sameRows(t, p.Schema, []table.KeyValue{got}, []table.KeyValue{kv})
			}
			again, place := open(t, p.Schema, filestore.Options{})
			place.Partition, place.Bucket = p.Partition, p.Bucket
			ours := write(t, again, place, rows)[0].File
			compareEntries(t, g, p.Schema, &ours, &e.File)
			compared++
		}
	}
	t.Logf("%d files read, %d compared", read, compared)
	if read < 90 || compared < 70 {
		t.Errorf("only %d files read and %d compared", read, compared)
	}
}

func compareEntries(t *testing.T, g goldenTable, s *table.Schema, ours, theirs *manifest.File) {
	t.Helper()
	same := func(what string, got, want any) {
		t.Helper()
		if x, y := fmt.Sprint(got), fmt.Sprint(want); x != y {
			t.Errorf("%s %s: %s %s, the reference has %s", g.path, theirs.Name, what, x, y)
		}
	}
	stats := func(what string, a, b manifest.Stats) {
		t.Helper()
		same(what+" min", hex.EncodeToString(a.Min), hex.EncodeToString(b.Min))
		same(what+" max", hex.EncodeToString(a.Max), hex.EncodeToString(b.Max))
		same(what+" nulls", counts(a), counts(b))
	}
	same("min key", hex.EncodeToString(ours.MinKey), hex.EncodeToString(theirs.MinKey))
	same("max key", hex.EncodeToString(ours.MaxKey), hex.EncodeToString(theirs.MaxKey))
	stats("key stats", ours.KeyStats, theirs.KeyStats)
	if s.Keyed() {
		same("min seq", ours.MinSeq, theirs.MinSeq)
		same("max seq", ours.MaxSeq, theirs.MaxSeq)
		if theirs.DeleteRows != nil {
			same("delete rows", *ours.DeleteRows, *theirs.DeleteRows)
		}
	}
	if mode := s.Options["metadata.stats-mode"]; mode == "" && theirs.ValueStatsCols == nil {
		stats("value stats", ours.ValueStats, theirs.ValueStats)
	}
}

func counts(s manifest.Stats) string {
	var b strings.Builder
	for _, n := range s.NullCounts {
		if n == nil {
			b.WriteString("? ")
			continue
		}
		fmt.Fprint(&b, *n, " ")
	}
	return b.String()
}

// TestGoldenTables merges the live files of tables and compares with what
// Flink answers to SELECT *.
func TestGoldenTables(t *testing.T) {
	for _, name := range []string{"types_pk", "upserts", "parts", "parts_append", "cl_input", "cl_lookup", "dynamic_bucket",
		"append_bucket", "gz", "sn", "history", "compacted"} {
		t.Run(name, func(t *testing.T) {
			g, err := loadGolden("flink131/g.db/" + name)
			if err != nil {
				t.Fatal(err)
			}
			want, err := os.ReadFile(filepath.Join(goldenRoot, "flink131/expected", name+".tsv"))
			if err != nil {
				t.Fatal(err)
			}
			var merged, masked []string
			store := g.store(t)
			groups := map[manifest.Group][]manifest.Entry{}
			for _, e := range g.live {
				groups[e.Group()] = append(groups[e.Group()], e)
			}
			for _, entries := range groups {
				runs, err := manifest.Runs(g.latest, entries)
				if err != nil {
					t.Fatal(err)
				}
				p := g.place(entries[0])
				for _, kv := range mergedRows(t, store, p, runs) {
					merged = append(merged, flinkRow(g.latest, kv.Row))
				}
				for _, kv := range maskedRows(t, store, p, runs) {
					masked = append(masked, flinkRow(g.latest, kv.Row))
				}
			}
			for how, rows := range map[string][]string{"merged": merged, "masked": masked} {
				slices.Sort(rows)
				if got := strings.Join(rows, "\n") + "\n"; got != string(want) {
					t.Errorf("%s:\n%swant:\n%s", how, got, want)
				}
			}
		})
	}
}

// mergedRows are the rows of runs after merging.
func mergedRows(t *testing.T, store *filestore.Store, p filestore.Place, runs []manifest.SortedRun) []table.KeyValue {
	t.Helper()
	var its []merge.Iterator
	for _, r := range runs {
		it, err := store.ReadRun(t.Context(), p, r, filestore.ReadOptions{})
		if err != nil {
			t.Fatal(err)
		}
		its = append(its, it)
	}
	if !p.Schema.Keyed() {
		return drain(t, merge.Concat(len(its), func(i int) (merge.Iterator, error) { return its[i], nil }), nil)
	}
	return drain(t, merge.DropRetractions(merge.New(its)), nil)
}

// maskedRows are the physical rows of runs but the dead ones.
func maskedRows(t *testing.T, store *filestore.Store, p filestore.Place, runs []manifest.SortedRun) []table.KeyValue {
	t.Helper()
	mask, err := store.Mask(t.Context(), p, runs)
	if err != nil {
		t.Fatal(err)
	}
	var out []table.KeyValue
	for _, r := range runs {
		for _, e := range r.Files {
			it, err := store.ReadFile(t.Context(), p, e, filestore.ReadOptions{})
			for i, kv := range drain(t, it, err) {
				if _, dead := slices.BinarySearch(mask[e.File.Name], uint32(i)); !dead {
					out = append(out, kv)
				}
			}
		}
	}
	slices.SortStableFunc(out, func(a, b table.KeyValue) int { return strings.Compare(string(a.Key), string(b.Key)) })
	return out
}

// flinkRow prints a row as the files in expected have it.
func flinkRow(s *table.Schema, row table.Row) string {
	cells := make([]string, len(row))
	for i, v := range row {
		cells[i] = flinkText(s.Fields[i].Type, v)
	}
	return strings.Join(cells, "\t")
}

func flinkText(t table.Type, v table.Value) string {
	switch {
	case v.IsNull():
		return "null"
	case t.IsBinary():
		return "0x" + hex.EncodeToString([]byte(v.Str()))
	case t.IsString():
		return v.Str()
	case t.Kind == table.Boolean:
		return strconv.FormatBool(v.Bool())
	case t.Kind == table.Float || t.Kind == table.Double:
		s := strconv.FormatFloat(v.Float(), 'f', -1, 64)
		if len(s) > 20 {
			s = strings.Replace(strconv.FormatFloat(v.Float(), 'E', -1, 64), "E+", "E", 1)
		}
		if !strings.Contains(s, ".") {
			s += ".0"
		}
		return s
	case t.Kind == table.Time:
		return time.UnixMilli(v.Int()).UTC().Format("15:04:05.999")
	case t.IsTimestamp():
		at := time.UnixMicro(v.Micros()).Add(time.Duration(v.Nanos())).UTC()
		s := at.Format("2006-01-02T15:04:05.999999999")
		if at.Second() == 0 && at.Nanosecond() == 0 {
			s = at.Format("2006-01-02T15:04")
		} else if f := at.Nanosecond(); f != 0 { // 3, 6 or 9 digits
			for digits := 3; digits <= 9; digits += 3 {
				if s = at.Format("2006-01-02T15:04:05." + strings.Repeat("0", digits)); f%[]int{0, 0, 0, 1e6, 0, 0, 1e3, 0, 0, 1}[digits] == 0 {
					break
				}
			}
		}
		if t.Kind == table.TimestampLTZ {
			s += "Z"
		}
		return s
	}
	return table.Text(t, v)
}

// TestRefusedFormats names the formats that are not read.
func TestRefusedFormats(t *testing.T) {
	for name, word := range map[string]string{"avro_file": "avro", "orc_file": "orc"} {
		g, err := loadGolden("flink131/g.db/" + name)
		if err != nil {
			t.Fatal(err)
		}
		_, err = g.store(t).ReadFile(t.Context(), g.place(g.live[0]), g.live[0], filestore.ReadOptions{})
		if table.SQLState(err) != "0A000" || !strings.Contains(err.Error(), word) {
			t.Errorf("%s: %v", name, err)
		}
		_, _, err = g.store(t).Local(t.Context(), g.place(g.live[0]), g.live[0])
		if table.SQLState(err) != "0A000" {
			t.Errorf("%s: local: %v", name, err)
		}
	}
}

// TestMissingFile keeps ErrNotExist, so that a reader may try a newer
// snapshot.
func TestMissingFile(t *testing.T) {
	s := schemaOf(t, []string{"id"}, "id INT NOT NULL")
	store, p := open(t, s, filestore.Options{})
	e := write(t, store, p, keyed(s, []table.Row{{table.IntOf(1)}}, 0))[0]
	if err := store.Remove(t.Context(), p, e.File); err != nil {
		t.Fatal(err)
	}
	if _, err := store.ReadFile(t.Context(), p, e, filestore.ReadOptions{}); !errors.Is(err, objstore.ErrNotExist) {
		t.Error(err)
	}
	if _, _, err := store.Local(t.Context(), p, e); !errors.Is(err, objstore.ErrNotExist) {
		t.Error(err)
	}
}
