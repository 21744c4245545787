package catalog_test

import (
	"fmt"
	"testing"
	"time"

	"dtstore/catalog"
	"dtstore/objstore"
	"dtstore/table"
)

func TestDurations(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"1 h": time.Hour, "30s": 30 * time.Second, "10 min": 10 * time.Minute, "2 d": 48 * time.Hour, " 5  Minutes ": 5 * time.Minute, "7": 7 * time.Millisecond,
		"1ms": time.Millisecond, "0 s": 0, "3 µs": 3 * time.Microsecond, "4ns": 4, "106751 d": 106751 * 24 * time.Hour,
	} {
		if got, err := catalog.ParseDuration(text); err != nil || got != want {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "h", "-1 h", "1.5 h", "1 fortnight", "106752 d", "99999999999999999999 s", "1 h 5 min"} {
		if got, err := catalog.ParseDuration(text); err == nil {
			t.Errorf("%q: %v and no error", text, got)
		}
	}
}

func TestSizes(t *testing.T) {
	for text, want := range map[string]int64{
		"128 mb": 128 << 20, "1g": 1 << 30, "64 kb": 64 << 10, "5": 5, "5 bytes": 5, "2 TB": 2 << 40, "3 mebibytes": 3 << 20, "8388607 t": 8388607 << 40,
	} {
		if got, err := catalog.ParseSize(text); err != nil || got != want {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "mb", "-1 mb", "1.5 mb", "1 mile", "8388608 t", "99999999999999999999"} {
		if got, err := catalog.ParseSize(text); err == nil {
			t.Errorf("%q: %v and no error", text, got)
		}
	}
}

// TestOptionsOf: nonsense in a table of another engine has the default.
func TestOptionsOf(t *testing.T) {
	want := catalog.TableOptions{RetainMin: 10, Retained: time.Hour, LogRetention: time.Hour, CompactionTrigger: 5, StopTrigger: 8}
	for _, options := range []map[string]string{
		{}, {"snapshot.num-retained.min": "x", "snapshot.time-retained": "soon", "target-file-size": "big", "num-sorted-run.stop-trigger": "-1"},
	} {
		if got := catalog.OptionsOf(&table.Schema{Options: options}); got != want {
			t.Errorf("%v: %+v", options, got)
		}
	}
	got := catalog.OptionsOf(&table.Schema{Options: map[string]string{"num-sorted-run.compaction-trigger": "3", "target-file-size": "1 mb"}})
	if got.StopTrigger != 6 || got.TargetFileBytes != 1<<20 {
		t.Errorf("%+v", got)
	}
}

// hundredTables is a directory with 100 tables and 1,000 snapshots.
func hundredTables(b *testing.B) (objstore.Store, *fakeLog) {
	d, err := objstore.OpenDir(b.TempDir())
	must(b, d, err)
	l := newLog()
	c := open(b, d, l)
	for i := range 100 {
		tab, err := c.CreateTable(b.Context(), keyed("public", fmt.Sprintf("t%d", i)))
		must(b, tab, err)
		first, err := d.Get(b.Context(), tab.Path+"/snapshot/snapshot-1")
		must(b, first, err)
		for n := 2; n <= 10; n++ { // of the same content but for the number
			body := []byte(fmt.Sprintf(`{"id" : %d,`, n) + string(first[1:]))
			must(b, 0, d.Put(b.Context(), fmt.Sprintf("%s/snapshot/snapshot-%d", tab.Path, n), body))
		}
	}
	return d, l
}

func BenchmarkColdTables(b *testing.B) {
	d, l := hundredTables(b)
	for b.Loop() {
		c := open(b, d, l)
		tables, err := c.Tables(b.Context(), "public")
		if len(must(b, tables, err)) != 100 {
			b.Fatal(len(tables))
		}
	}
}

func BenchmarkWarmTables(b *testing.B) {
	d, l := hundredTables(b)
	c := open(b, d, l) // each look-up checks the schema
	for b.Loop() {
		tables, err := c.Tables(b.Context(), "public")
		if len(must(b, tables, err)) != 100 {
			b.Fatal(len(tables))
		}
	}
}

func BenchmarkTable(b *testing.B) {
	s, l := objstore.NewMem(), newLog()
	c, err := catalog.Open(b.Context(), catalog.Options{Store: s, Log: l, Fresh: time.Hour})
	must(b, c, err)
	_, err = c.CreateTable(b.Context(), keyed("public", "t"))
	must(b, 0, err)
	for b.Loop() {
		if _, err := c.Table(b.Context(), "public", "t"); err != nil {
			b.Fatal(err)
		}
	}
}
