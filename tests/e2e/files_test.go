package e2e_test

import (
	"errors"
	"fmt"
	"io"
	"testing"

	"dtstore/catalog"
	"dtstore/filestore"
	"dtstore/manifest"
	"dtstore/snapshot"
	"dtstore/table"
)

// noSequenceTwice looks through all snapshots of a stopped server: in the files
// that flushes added, no sequence number of a bucket is there twice.
func noSequenceTwice(t *testing.T, data string) {
	t.Helper()
	objects := warehouse(t, data)
	files, err := filestore.Open(objects, filestore.Options{SpoolDir: t.TempDir(), CacheDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	cat, err := catalog.Open(t.Context(), catalog.Options{Store: objects})
	if err != nil {
		t.Fatal(err)
	}
	tables, err := cat.Tables(t.Context(), catalog.DefaultDatabase)
	if err != nil {
		t.Fatal(err)
	}
	for _, tbl := range tables {
		n, err := sequences(t, cat.History(tbl), files, tbl)
		if err != nil {
			t.Errorf("%s: %v", tbl.Name, err)
		}
		t.Logf("%s: %d rows in the files of all flushes", tbl.Name, n)
	}
}

func sequences(t *testing.T, history *snapshot.Table, files *filestore.Store, tbl *catalog.Table) (int, error) {
	type numbered struct {
		bucket table.Bucket
		seq    table.Sequence
	}
	seen := map[numbered]string{}
	ids, err := history.List(t.Context())
	if err != nil {
		return 0, err
	}
	for _, id := range ids {
		s, err := history.Read(t.Context(), id)
		if err != nil {
			return 0, err
		}
		if s.CommitKind != "APPEND" {
			continue
		}
		entries, err := history.DeltaEntries(t.Context(), s)
		if err != nil {
			return 0, err
		}
		for _, e := range entries {
			if e.Kind != manifest.Add {
				return 0, fmt.Errorf("flush %d removes %s", id, e.File.Name)
			}
			p := filestore.Place{Path: tbl.Path, Schema: tbl.Schema, Partition: e.Partition, Bucket: e.Bucket}
			rows, err := files.ReadFile(t.Context(), p, e, filestore.ReadOptions{})
			if err != nil {
				return 0, err
			}
			for i := int64(0); ; i++ {
				kv, err := rows.Next()
				if errors.Is(err, io.EOF) {
					break
				}
				if err != nil {
					return 0, err
				}
				seq := kv.Seq
				if !tbl.Schema.Keyed() { // its files hold no numbers: they follow each other
					seq = e.File.MinSeq + table.Sequence(i)
				}
				where := fmt.Sprintf("snapshot %d file %s", id, e.File.Name)
				if before := seen[numbered{e.Bucket, seq}]; before != "" {
					return 0, fmt.Errorf("bucket %d: sequence number %d is in %s and in %s", e.Bucket, seq, before, where)
				}
				seen[numbered{e.Bucket, seq}] = where
			}
			if err := rows.Close(); err != nil {
				return 0, err
			}
		}
	}
	return len(seen), nil
}
