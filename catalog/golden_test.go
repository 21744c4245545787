package catalog_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"dtstore/catalog"
	"dtstore/objstore"
	"dtstore/table"
)

func asError(err error, e **table.Error) bool { return errors.As(err, e) }

// goldenWarehouse is a warehouse of all golden tables.
func goldenWarehouse(t testing.TB) *objstore.Dir {
	root := t.TempDir()
	for _, from := range []string{"../testdata/paimon/tables", "../testdata/paimon/flink131/g.db"} {
		to := root
		if filepath.Base(from) == "g.db" {
			to = filepath.Join(root, "g.db")
		}
		if err := os.CopyFS(to, os.DirFS(from)); err != nil {
			t.Fatal(err)
		}
	}
	d, err := objstore.OpenDir(root)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// TestGolden: which of the 41 golden tables can be read, and what the others need.
func TestGolden(t *testing.T) {
	datadriven.RunTest(t, "testdata/golden", func(t *testing.T, d *datadriven.TestData) string {
		c := open(t, goldenWarehouse(t), newLog())
		databases, err := c.Databases(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var out strings.Builder
		count, can := 0, 0
		for _, db := range databases {
			tables, err := c.Tables(t.Context(), db)
			if err != nil {
				t.Fatal(err)
			}
			for _, tab := range tables {
				count++
				if !tab.Foreign || tab.Writable() == nil {
					t.Errorf("%s.%s is not foreign", db, tab.Name)
				}
				if tab.Unreadable != nil && table.SQLState(tab.Unreadable) != "0A000" {
					t.Errorf("%s: %v", tab.Path, tab.Unreadable)
				}
				if tab.Unreadable == nil {
					can++
					fmt.Fprintf(&out, "%s: read\n", tab.Path)
				} else {
					fmt.Fprintf(&out, "%s: %v\n", tab.Path, tab.Unreadable)
				}
			}
		}
		fmt.Fprintf(&out, "%d tables, %d can be read\n", count, can)
		return out.String()
	})
}

// TestGoldenSchemas: every schema file is read, and written the same but for
// the order of its options, where we have all its types.
func TestGoldenSchemas(t *testing.T) {
	files, same := 0, 0
	err := filepath.WalkDir("../testdata/paimon", func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || !strings.HasPrefix(e.Name(), "schema-") {
			return err
		}
		files++
		body, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		s, err := catalog.DecodeSchema(body)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		for _, f := range s.Fields {
			if f.Type.Kind == table.Unsupported {
				return nil
			}
		}
		var want, got map[string]any
		again := catalog.EncodeSchema(s)
		if err := errors.Join(json.Unmarshal(body, &want), json.Unmarshal(again, &got)); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		if _, ok := want["comment"]; !ok {
			delete(got, "comment")
		}
		for _, f := range want["fields"].([]any) {
			if f := f.(map[string]any); f["description"] == "" {
				delete(f, "description") // an empty one is none
			}
		}
		if !reflect.DeepEqual(want, got) {
			t.Errorf("%s: wrote %s", path, again)
		}
		if bytes.Equal(body, again) {
			same++
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if files < 45 || same < 5 {
		t.Errorf("%d files, %d written with the same bytes", files, same)
	}
}

func FuzzDecodeSchema(f *testing.F) {
	for _, pattern := range []string{"../testdata/paimon/tables/*.db/*/schema/schema-*", "../testdata/paimon/flink131/g.db/*/schema/schema-*"} {
		paths, err := filepath.Glob(pattern)
		if err != nil || len(paths) == 0 {
			f.Fatal(pattern, err)
		}
		for _, p := range paths {
			body, err := os.ReadFile(p)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(body)
		}
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		s, err := catalog.DecodeSchema(body)
		if err != nil {
			return
		}
		catalog.OptionsOf(s)
		s.KeyIndexes()
		for _, c := range s.Fields {
			if c.Type.Kind == table.Unsupported {
				return
			}
		}
		once := catalog.EncodeSchema(s)
		again, err := catalog.DecodeSchema(once)
		if err != nil {
			t.Fatalf("cannot read what was written: %v\n%s", err, once)
		}
		if twice := catalog.EncodeSchema(again); !bytes.Equal(once, twice) {
			t.Fatalf("wrote\n%s\nthen\n%s", once, twice)
		}
	})
}
