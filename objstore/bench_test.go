package objstore_test

import (
	"testing"

	"dtstore/objstore"
)

// BenchmarkGet reads a file of a snapshot's size, as every query does.
func BenchmarkGet(b *testing.B) {
	d, err := objstore.OpenDir(b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	if err := d.Put(b.Context(), "public.db/t/snapshot/snapshot-1", make([]byte, 1500)); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if body, err := d.Get(b.Context(), "public.db/t/snapshot/snapshot-1"); err != nil || len(body) != 1500 {
			b.Fatal(len(body), err)
		}
	}
}
