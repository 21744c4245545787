package manifest_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"dtstore/manifest"
	"dtstore/table"

	"github.com/twmb/avro"
	"github.com/twmb/avro/ocf"
)

func ptr[T any](v T) *T { return &v }

// full returns an entry with every column set to something.
func full() manifest.Entry {
	stats := manifest.Stats{Min: []byte{0, 0, 0, 1}, Max: []byte{0, 0, 0, 2}, NullCounts: []*int64{ptr[int64](3), nil}}
	return manifest.Entry{
		Kind: manifest.Delete, Partition: table.EmptyPartition, Bucket: 7, TotalBuckets: 8,
		File: manifest.File{
			Name: "data-1.parquet", Size: 1 << 40, Rows: 12, MinKey: []byte("a"), MaxKey: []byte("z"), KeyStats: stats, ValueStats: stats,
			MinSeq: -5, MaxSeq: 1 << 60, SchemaID: 3, Level: 5, ExtraFiles: []string{"data-1.parquet.index"}, CreationMillis: ptr[int64](1700000000123), DeleteRows: ptr[int64](0),
			EmbeddedIndex: []byte{1, 2, 3}, Source: ptr(1), ValueStatsCols: []string{"a", "b"}, ExternalPath: ptr("s3://other/x"), FirstRowID: ptr[int64](9), WriteCols: []string{},
		},
	}
}

func TestRoundTrip(t *testing.T) {
	bare := manifest.Entry{Partition: table.EmptyPartition, File: manifest.File{
		Name: "x", MinKey: []byte{}, MaxKey: []byte{}, ExtraFiles: []string{},
		KeyStats: manifest.Stats{Min: []byte{}, Max: []byte{}}, ValueStats: manifest.Stats{Min: []byte{}, Max: []byte{}, NullCounts: []*int64{}},
	}}
	again(t, "entries", []manifest.Entry{full(), bare, full()}, manifest.EncodeEntries, manifest.DecodeEntries)
	again(t, "no entries", nil, manifest.EncodeEntries, manifest.DecodeEntries)
	again(t, "list", []manifest.ListEntry{
		{Name: "manifest-1", Size: 5, Added: 1, Partitions: manifest.Stats{Min: []byte{}, Max: []byte{}}},
		{Name: "manifest-2", Size: 6, Deleted: 2, Partitions: full().File.KeyStats, SchemaID: 4, MinBucket: ptr(0), MaxBucket: ptr(3), MinLevel: ptr(0), MaxLevel: ptr(5), MinRowID: ptr[int64](0), MaxRowID: ptr[int64](11)},
	}, manifest.EncodeList, manifest.DecodeList)
	many := make([]manifest.Entry, 5000) // several blocks
	for i := range many {
		many[i] = full()
		many[i].File.Name = fmt.Sprintf("data-%d.parquet", i)
	}
	again(t, "many", many, manifest.EncodeEntries, manifest.DecodeEntries)
}

// TestOtherWriters reads lists that others could write: other codecs, columns in another order,
// unknown columns, and the union with null of old.
func TestOtherWriters(t *testing.T) {
	stats := `{"type":"record","name":"s","fields":[{"name":"_MAX_VALUES","type":"bytes"},{"name":"NEW","type":["null",{"type":"map","values":"double"}]},{"name":"_MIN_VALUES","type":["null","bytes"]}]}`
	columns := `{"type":"record","name":"r","fields":[{"name":"_SCHEMA_ID","type":["null","long"]},{"name":"_PARTITION_STATS","type":["null",` + stats + `]},
		{"name":"_FUTURE","type":{"type":"array","items":"string"}},{"name":"_NUM_DELETED_FILES","type":"long"},{"name":"_NUM_ADDED_FILES","type":"int"},
		{"name":"_FILE_SIZE","type":["null","long"]},{"name":"_FILE_NAME","type":"string"},{"name":"_VERSION","type":"int"}]}`
	record := map[string]any{
		"_SCHEMA_ID": int64(2), "_PARTITION_STATS": map[string]any{"_MAX_VALUES": []byte("max"), "NEW": map[string]any{"x": 1.5}, "_MIN_VALUES": []byte("min")},
		"_FUTURE": []string{"a", "b"}, "_NUM_DELETED_FILES": int64(1), "_NUM_ADDED_FILES": 4, "_FILE_SIZE": int64(77), "_FILE_NAME": "m", "_VERSION": 2,
	}
	want := []manifest.ListEntry{{Name: "m", Size: 77, Added: 4, Deleted: 1, SchemaID: 2, Partitions: manifest.Stats{Min: []byte("min"), Max: []byte("max")}}}
	for _, schema := range []string{columns, `["null",` + columns + `]`} {
		for _, codec := range []ocf.Codec{nil, ocf.DeflateCodec(6), ocf.SnappyCodec(), ocf.MustZstdCodec(nil, nil)} {
			var buf bytes.Buffer
			w, err := ocf.NewWriter(&buf, avro.MustParse(schema), ocf.WithCodec(codec))
			if err != nil {
				t.Fatal(err)
			}
			if err := w.Encode(record); err != nil {
				t.Fatal(err)
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			got, err := manifest.DecodeList(buf.Bytes())
			if err != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("codec %v: %+v, %v", codec, got, err)
			}
		}
	}
}

// container makes a file out of a schema and one block.
func container(schema, codec string, count int64, block []byte) []byte {
	b := []byte("Obj\x01")
	b = binary.AppendVarint(b, 2)
	for _, s := range []string{"avro.schema", schema, "avro.codec", codec} {
		b = append(binary.AppendVarint(b, int64(len(s))), s...)
	}
	b = append(b, 0)
	b = append(b, "0123456789abcdef"...)
	b = binary.AppendVarint(b, count)
	b = append(binary.AppendVarint(b, int64(len(block))), block...)
	return append(b, "0123456789abcdef"...)
}

func TestHostile(t *testing.T) {
	good, err := manifest.EncodeEntries([]manifest.Entry{full()})
	if err != nil {
		t.Fatal(err)
	}
	from := bytes.Index(good, []byte(`{"type"`))
	schema := string(good[from : bytes.Index(good, []byte(`]}}]}`))+len(`]}}]}`)])
	nested := strings.Repeat(`{"type":"array","items":`, 2_000) + `"int"` + strings.Repeat(`}`, 2_000)
	for _, c := range []struct {
		name string
		file []byte
		want string
	}{
		{"nothing", nil, "not an Avro file"},
		{"orc", []byte("ORC\x01\x02"), "ORC"},
		{"parquet", []byte("PAR1...."), "Parquet"},
		{"magic alone", []byte("Obj\x01"), "too early"},
		{"codec", container(schema, "bzip2", 0, nil), `codec "bzip2"`},
		{"schema", container(`{"type":`, "null", 0, nil), "schema"},
		{"deep schema", container(nested, "null", 0, nil), ""},
		{"not a record", container(`"int"`, "null", 0, nil), "not a record"},
		{"no columns", container(`{"type":"record","name":"r","fields":[]}`, "null", 1, nil), "no column _VERSION"},
		{"list as manifest", container(strings.ReplaceAll(schema, "_KIND", "_KING"), "null", 0, nil), "no column _KIND"},
		{"count", container(schema, "null", 1<<40, []byte{1}), "records"},
		{"negative count", container(schema, "null", -3, []byte{1}), "records"},
		{"short record", container(schema, "null", 1, []byte{4, 0, 200}), ""},
		{"length", append(container(schema, "null", 0, nil)[:len(container(schema, "null", 0, nil))-17], 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f), "length"},
		{"left over", container(schema, "null", 0, []byte{1, 2, 3}), "left over"},
		{"broken zstd", container(schema, "zstandard", 1, []byte("garbage")), "zstandard"},
		{"bomb", container(schema, "deflate", 1, bomb(t)), "deflate"},
		{"cut", good[:len(good)-3], ""},
		{"sync", append(bytes.Clone(good[:len(good)-1]), good[len(good)-1]^1), "sync marker"},
	} {
		_, err := manifest.DecodeEntries(c.file)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
	for _, change := range []func(e *manifest.Entry){
		func(e *manifest.Entry) { e.Kind = 2 },
		func(e *manifest.Entry) { e.File.Name = "" },
		func(e *manifest.Entry) { e.File.Size = -1 },
		func(e *manifest.Entry) { e.File.Level = -1 },
		func(e *manifest.Entry) { e.Partition = "" },
		func(e *manifest.Entry) { e.File.ValueStats.NullCounts = make([]*int64, 1<<15+1) },
	} {
		e := full()
		change(&e)
		b, err := manifest.EncodeEntries([]manifest.Entry{e})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := manifest.DecodeEntries(b); err == nil {
			t.Errorf("read %+v", e)
		}
	}
}

// bomb is 20 MiB of zeros, deflated.
func bomb(t *testing.T) []byte {
	b, err := ocf.DeflateCodec(1).Compress(make([]byte, 20<<20))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func seeds(f *testing.F, pattern string) {
	for _, dir := range tables(f)[:8] {
		files, _ := filepath.Glob(filepath.Join(dir, "manifest", pattern))
		for _, name := range files {
			if b, err := os.ReadFile(name); err == nil {
				f.Add(b)
			}
		}
	}
	for _, name := range []string{"avro_manifest_09", "avro_manifest_list_09"} {
		files, _ := filepath.Glob(filepath.Join(golden, "avro", "*", name))
		files = append(files, filepath.Join(golden, "avro", name))
		for _, file := range files {
			if b, err := os.ReadFile(file); err == nil {
				f.Add(b)
			}
		}
	}
}

func FuzzDecodeEntries(f *testing.F) {
	seeds(f, "manifest-????????-*")
	f.Fuzz(func(t *testing.T, b []byte) {
		if v, err := manifest.DecodeEntries(b); err == nil {
			for i := range v { // a missing list is written as an empty one
				if v[i].File.ExtraFiles == nil {
					v[i].File.ExtraFiles = []string{}
				}
			}
			sameAgain(t, v, manifest.EncodeEntries, manifest.DecodeEntries)
		}
	})
}

func FuzzDecodeList(f *testing.F) {
	seeds(f, "manifest-list-*")
	f.Fuzz(func(t *testing.T, b []byte) {
		if v, err := manifest.DecodeList(b); err == nil {
			sameAgain(t, v, manifest.EncodeList, manifest.DecodeList)
		}
	})
}

// sameAgain is again, for what a stranger wrote: absent bytes come back as none.
func sameAgain[T any](t *testing.T, v []T, encode func([]T) ([]byte, error), decode func([]byte) ([]T, error)) {
	b, err := encode(v)
	if err != nil {
		return // text that is not UTF-8
	}
	back, err := decode(b)
	if err != nil {
		t.Fatalf("what was encoded does not decode: %v", err)
	}
	if got, want := fmt.Sprintf("%+v", plain(back)), fmt.Sprintf("%+v", plain(v)); got != want {
		t.Fatalf("came back as another:\n%s\n%s", got, want)
	}
}

// plain replaces pointers by what they point to.
func plain[T any](v []T) []string {
	out := make([]string, len(v))
	for i := range v {
		switch e := any(v[i]).(type) {
		case manifest.Entry:
			out[i] = entryLine(e)
		case manifest.ListEntry:
			out[i] = listLine(e)
		}
	}
	return out
}

func BenchmarkEntries(b *testing.B) {
	for _, n := range []int{1, 100, 20_000} {
		entries := make([]manifest.Entry, n)
		for i := range entries {
			entries[i] = full()
			entries[i].File.Name = fmt.Sprintf("data-59f60cb9-44af-48cc-b5ad-59e85c663c8f-%d.parquet", i)
		}
		file, err := manifest.EncodeEntries(entries)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(fmt.Sprintf("encode/%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := manifest.EncodeEntries(entries); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(fmt.Sprintf("decode/%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := manifest.DecodeEntries(file); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(fmt.Sprintf("fold/%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for i := range entries {
				entries[i].Kind = manifest.Add
			}
			for b.Loop() {
				if _, err := manifest.Fold(entries); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
