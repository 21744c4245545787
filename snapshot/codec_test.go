package snapshot_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"dtstore/objstore"
	"dtstore/snapshot"
	"dtstore/table"
)

const golden = "../testdata/paimon"

func goldenFiles(t testing.TB, pattern string) []string {
	t.Helper()
	var out []string
	for _, dir := range []string{"flink131/g.db/*", "tables/*/*"} {
		files, err := filepath.Glob(filepath.Join(golden, dir, pattern))
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, files...)
	}
	if len(out) < 30 {
		t.Fatalf("only %d golden files %s", len(out), pattern)
	}
	return out
}

// TestGoldenSnapshots decodes what Paimon wrote, encodes it again and finds every key unchanged.
func TestGoldenSnapshots(t *testing.T) {
	for _, name := range goldenFiles(t, "snapshot/snapshot-*") {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		s, err := snapshot.Decode(b)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		again, err := s.Encode()
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(jsonObject(t, b), jsonObject(t, again)) {
			t.Errorf("%s came back as\n%s", name, again)
		}
		if _, _, ours := s.Log(); ours {
			t.Errorf("%s claims to be ours", name)
		}
	}
}

// jsonObject decodes JSON without its null keys, which mean the same as absent ones.
func jsonObject(t *testing.T, b []byte) map[string]any {
	t.Helper()
	var m map[string]any
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	if err := d.Decode(&m); err != nil {
		t.Fatal(err)
	}
	for k, v := range m {
		if v == nil {
			delete(m, k)
		}
	}
	return m
}

// TestGoldenEntries folds the live files of every golden table's snapshots.
func TestGoldenEntries(t *testing.T) {
	read := 0
	for _, dir := range goldenFiles(t, "snapshot") {
		root, tab := filepath.Split(filepath.Dir(dir))
		store, err := objstore.OpenDir(root)
		if err != nil {
			t.Fatal(err)
		}
		h := snapshot.Open(store, tab)
		ids, err := h.List(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, id := range ids {
			s, err := h.Read(t.Context(), id)
			if err != nil {
				t.Errorf("%s: %v", dir, err)
				continue
			}
			live, err := h.Entries(t.Context(), s, snapshot.Filter{})
			if err != nil {
				if !strings.Contains(err.Error(), "ORC") {
					t.Errorf("%s: %v", dir, err)
				}
				continue
			}
			rows := int64(0)
			for _, e := range live {
				rows += e.File.Rows
			}
			if rows != s.TotalRecords {
				t.Errorf("%s snapshot %d: live files have %d rows, the snapshot says %d", dir, id, rows, s.TotalRecords)
			}
			read++
		}
	}
	if read < 60 {
		t.Errorf("only %d snapshots could be read", read)
	}
}

const plainSnapshot = `{"version":3,"id":7,"schemaId":0,"baseManifestList":"b","deltaManifestList":"d","commitUser":"u","commitIdentifier":9223372036854775807,"commitKind":"APPEND","timeMillis":5`

func TestDecodeRefuses(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"not JSON", `{`, "JSON"},
		{"a list", `[]`, "array"},
		{"no id", `{"version":3}`, `no key "id"`},
		{"null id", strings.Replace(plainSnapshot, `"id":7`, `"id":null`, 1) + "}", `"id" is null`},
		{"other case", strings.Replace(plainSnapshot, `"id"`, `"ID"`, 1) + "}", `no key "id"`},
		{"fraction", strings.Replace(plainSnapshot, `"id":7`, `"id":7.5`, 1) + "}", `"id"`},
		{"id 0", strings.Replace(plainSnapshot, `"id":7`, `"id":0`, 1) + "}", "id below 1"},
		{"path", strings.Replace(plainSnapshot, `"b"`, `"../../etc/passwd"`, 1) + "}", "not a file name"},
		{"newer Paimon", strings.Replace(plainSnapshot, `"version":3`, `"version":4`, 1) + "}", "version 4"},
		{"older Paimon", strings.Replace(plainSnapshot, `"version":3,`, ``, 1) + "}", "version 1"},
		{"newer dtstore", plainSnapshot + `,"properties":{"dtstore.version":"2"}}`, "newer dtstore"},
		{"our version", plainSnapshot + `,"properties":{"dtstore.version":"x"}}`, "dtstore.version"},
		{"our log", plainSnapshot + `,"properties":{"dtstore.log":"{}"}}`, "topicId"},
		{"our offsets", plainSnapshot + `,"properties":{"dtstore.log":"{\"topicId\":\"t\",\"partitions\":{\"0\":{\"to\":-1}}}"}}`, "partition 0"},
		{"our partition", plainSnapshot + `,"properties":{"dtstore.log":"{\"topicId\":\"t\",\"partitions\":{\"01\":{}}}"}}`, `"01"`},
		{"long", plainSnapshot + `,"x":"` + strings.Repeat("x", 5<<20) + `"}`, "bytes"},
	} {
		_, err := snapshot.Decode([]byte(c.text))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
	_, err := snapshot.Decode([]byte(plainSnapshot + `,"properties":{"dtstore.version":"2"}}`))
	if table.SQLState(err) != "0A000" {
		t.Errorf("newer dtstore: SQLSTATE %s", table.SQLState(err))
	}
}

// TestUnknownKeys keeps what another version has put, and matches keys exactly.
func TestUnknownKeys(t *testing.T) {
	text := plainSnapshot + `,"Id":8,"operation":"WRITE","future":{"a":[1,null,"x"]},"nextRowId":0,"watermark":-9223372036854775808}`
	s, err := snapshot.Decode([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	b, err := s.Encode()
	if err != nil {
		t.Fatal(err)
	}
	want := jsonObject(t, []byte(text))
	want["totalRecordCount"], want["deltaRecordCount"] = json.Number("0"), json.Number("0")
	if got := jsonObject(t, b); !reflect.DeepEqual(got, want) {
		t.Errorf("came back as %s", b)
	}
}

func FuzzDecode(f *testing.F) {
	for _, name := range goldenFiles(f, "snapshot/snapshot-1") {
		if b, err := os.ReadFile(name); err == nil {
			f.Add(b)
		}
	}
	f.Add([]byte(plainSnapshot + `,"properties":{"dtstore.version":"1","dtstore.log":"{\"topicId\":\"t\",\"partitions\":{\"0\":{\"to\":5,\"base\":-3}}}","dtstore.commit":"c","dtstore.parent":""}}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := snapshot.Decode(b)
		if err != nil {
			return
		}
		one, err := s.Encode()
		if err != nil {
			t.Fatal(err)
		}
		again, err := snapshot.Decode(one)
		if err != nil {
			t.Fatalf("what was encoded does not decode: %v\n%s", err, one)
		}
		two, err := again.Encode()
		if err != nil || !bytes.Equal(one, two) {
			t.Fatalf("came back as another: %v\n%s\n%s", err, one, two)
		}
		x, cx, ox := s.Log()
		y, cy, oy := again.Log()
		if x != y || ox != oy || fmt.Sprint(cx) != fmt.Sprint(cy) {
			t.Fatalf("the log came back as another")
		}
	})
}
