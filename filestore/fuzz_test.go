package filestore_test

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"dtstore/filestore"
	"dtstore/manifest"
	"dtstore/objstore"
	"dtstore/table"
)

// readDamaged reads bytes as a data file in every way that there is. Errors
// are fine, panics are not.
func readDamaged(t *testing.T, dir string, s *table.Schema, body []byte) {
	p := filestore.Place{Path: "t", Schema: s, Partition: table.EmptyPartition}
	zero := int64(0)
	e := manifest.Entry{File: manifest.File{
		Name: "x.parquet", Size: int64(len(body)), DeleteRows: nil, MinKey: s.BinaryKey(make(table.Row, len(s.Fields))),
		MaxKey: s.BinaryKey(make(table.Row, len(s.Fields))), Source: new(int), CreationMillis: &zero,
	}}
	file := filepath.Join(dir, filestore.DataPath(p, e.File))
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, body, 0o644); err != nil {
		t.Fatal(err)
	}
	d, err := objstore.OpenDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	store, err := filestore.Open(d, filestore.Options{MemoryBytes: 8 << 20})
	if err != nil {
		t.Fatal(err)
	}
	it, err := store.ReadFile(t.Context(), p, e, filestore.ReadOptions{})
	if err == nil {
		for n := 0; n < 100_000; n++ {
			if _, err = it.Next(); err != nil {
				break
			}
		}
		it.Close()
	}
	row := make(table.Row, len(s.Fields))
	for i := range row {
		row[i] = keyValue(s.Fields[i].Type, 500)
	}
	for range 2 { // the second time pages are decoded whole
		_, _, _ = store.Lookup(t.Context(), p, e, s.TrimmedKey(row))
	}
	_, _ = store.Mask(t.Context(), p, []manifest.SortedRun{{Files: []manifest.Entry{e}}, {Files: []manifest.Entry{e}}})
}

// seedFile is a small file of all types.
func seedFile(t testing.TB) (*table.Schema, []byte) {
	s := schemaOf(t, []string{"id"}, append([]string{"id INT NOT NULL"}, allTypes...)...)
	r := rand.New(rand.NewPCG(1, 2))
	var rows []table.Row
	for i := range 300 {
		row := table.Row{table.IntOf(int64(i * 5))}
		for _, f := range s.Fields[1:] {
			v := table.Null()
			if r.IntN(5) > 0 {
				v = randomValue(r, f.Type)
			}
			row = append(row, v)
		}
		rows = append(rows, row)
	}
	store, p := open(t, s, filestore.Options{})
	e := write(t, store, p, keyed(s, rows, 0))[0]
	path, release, err := store.Local(t.Context(), p, e)
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	body, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return s, body
}

// TestDamaged flips and cuts bytes of a good file, most of them in its footer.
func TestDamaged(t *testing.T) {
	s, good := seedFile(t)
	dir := t.TempDir()
	r := rand.New(rand.NewPCG(5, 5))
	for range 400 {
		b := append([]byte(nil), good...)
		for range 1 + r.IntN(4) {
			at := r.IntN(len(b))
			if r.IntN(2) == 0 {
				at = len(b) - 1 - r.IntN(min(len(b), 6000))
			}
			b[at] = byte(r.Uint32())
		}
		if r.IntN(20) == 0 {
			b = b[:r.IntN(len(b))]
		}
		readDamaged(t, dir, s, b)
	}
}

func FuzzFile(f *testing.F) {
	s, good := seedFile(f)
	f.Add(good)
	f.Add([]byte("PAR1"))
	f.Add([]byte("PAR1\x00\x00\x00\x00PAR1"))
	f.Fuzz(func(t *testing.T, body []byte) { readDamaged(t, t.TempDir(), s, body) })
}
