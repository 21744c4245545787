package filestore_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"dtstore/filestore"
	"dtstore/manifest"
	"dtstore/objstore"
	"dtstore/table"
)

// counting counts range reads, and can fail them.
type counting struct {
	objstore.Store
	ranges atomic.Int64
	bytes  atomic.Int64
	fail   atomic.Bool
	gate   chan struct{} // if set, range reads wait for it
}

var errNetwork = errors.New("network away")

func (c *counting) GetRange(ctx context.Context, key string, off, n int64) ([]byte, error) {
	if c.gate != nil {
		<-c.gate
	}
	if c.fail.Load() {
		return nil, errNetwork
	}
	b, err := c.Store.GetRange(ctx, key, off, n)
	c.ranges.Add(1)
	c.bytes.Add(int64(len(b)))
	return b, err
}

// remote writes a file into a store in memory, through one Store, and opens
// another over it, so that nothing is cached.
func remote(t *testing.T, rows int, opts filestore.Options) (*counting, *filestore.Store, filestore.Place, manifest.Entry) {
	t.Helper()
	mem := objstore.NewMem()
	s := flights(t)
	p := filestore.Place{Path: "db.db/t", Schema: s, Partition: table.EmptyPartition}
	spool := t.TempDir()
	w, err := filestore.Open(mem, filestore.Options{SpoolDir: spool})
	if err != nil {
		t.Fatal(err)
	}
	e, err := w.WriteRun(t.Context(), p, 0, 0, newFlightRun(s, rows, 0, 2, 0))
	if err != nil {
		t.Fatal(err)
	}
	if left, _ := filepath.Glob(spool + "/*"); len(left) > 0 {
		t.Errorf("spool holds %v", left)
	}
	c := &counting{Store: mem}
	store, err := filestore.Open(c, opts)
	if err != nil {
		t.Fatal(err)
	}
	return c, store, p, e[0]
}

func TestRemoteLookupReadsLittle(t *testing.T) {
	c, store, p, e := remote(t, 200_000, filestore.Options{})
	r := rand.New(rand.NewPCG(1, 1))
	for i := range 20 {
		id := r.Int64N(400_000)
		kv, ok, err := store.Lookup(t.Context(), p, e, p.Schema.TrimmedKey(table.Row{table.IntOf(id)}))
		if err != nil || ok != (id%2 == 0) || ok && kv.Row[0].Int() != id {
			t.Fatal(id, ok, err)
		}
		if i == 0 && c.bytes.Load() > 1<<20 {
			t.Errorf("the first lookup reads %d bytes of %d", c.bytes.Load(), e.File.Size)
		}
	}
	if n := c.ranges.Load(); n > 20*12 {
		t.Errorf("%d range reads", n)
	}
}

func TestRemoteReadInFewRanges(t *testing.T) {
	c, store, p, e := remote(t, 300_000, filestore.Options{})
	it, err := store.ReadFile(t.Context(), p, e, filestore.ReadOptions{})
	if rows := drain(t, it, err); len(rows) != 300_000 {
		t.Fatal(len(rows))
	}
	if n := c.ranges.Load(); n > 40 {
		t.Errorf("%d range reads", n)
	}
}

func TestRemoteFails(t *testing.T) {
	c, store, p, e := remote(t, 100_000, filestore.Options{CacheDir: t.TempDir()})
	c.fail.Store(true)
	if _, err := store.ReadFile(t.Context(), p, e, filestore.ReadOptions{}); !errors.Is(err, errNetwork) {
		t.Error(err)
	}
	if _, _, err := store.Local(t.Context(), p, e); !errors.Is(err, errNetwork) {
		t.Error(err)
	}
	c.fail.Store(false) // a failed download is tried again
	path, release, err := store.Local(t.Context(), p, e)
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	if info, err := os.Stat(path); err != nil || info.Size() != e.File.Size {
		t.Error(err)
	}
}

func TestLocalDownloadsOnce(t *testing.T) {
	c, store, p, e := remote(t, 50_000, filestore.Options{CacheDir: t.TempDir()})
	c.gate = make(chan struct{})
	var wg sync.WaitGroup
	var paths sync.Map
	for i := range 8 {
		wg.Go(func() {
			path, release, err := store.Local(t.Context(), p, e)
			if err != nil {
				t.Error(err)
				return
			}
			paths.Store(path, i)
			release()
			release() // again does no harm
		})
	}
	// One that is cancelled while it waits does not disturb the others.
	ctx, cancel := context.WithCancel(t.Context())
	wg.Go(func() {
		_, release, err := store.Local(ctx, p, e)
		if err == nil {
			release()
		}
	})
	cancel()
	close(c.gate)
	wg.Wait()
	n := 0
	paths.Range(func(any, any) bool { n++; return true })
	if n != 1 || c.bytes.Load() > 2*e.File.Size {
		t.Errorf("%d copies, %d bytes read of %d", n, c.bytes.Load(), e.File.Size)
	}
}

func TestCacheEvictsWhatIsNotPinned(t *testing.T) {
	mem := objstore.NewMem()
	s := schemaOf(t, nil, "v BIGINT")
	p := filestore.Place{Path: "db.db/t", Schema: s, Partition: table.EmptyPartition}
	dir := t.TempDir()
	var entries []manifest.Entry
	w, err := filestore.Open(mem, filestore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 4 {
		entries = append(entries, write(t, w, p, []table.KeyValue{{Row: table.Row{table.IntOf(int64(i))}}})...)
	}
	size := entries[0].File.Size
	store, err := filestore.Open(mem, filestore.Options{CacheDir: dir, CacheBytes: 2*size + size/2})
	if err != nil {
		t.Fatal(err)
	}
	get := func(i int) (string, func()) {
		path, release, err := store.Local(t.Context(), p, entries[i])
		if err != nil {
			t.Fatal(err)
		}
		return path, release
	}
	there := func(path string) bool { _, err := os.Stat(path); return err == nil }
	first, unpin := get(0)
	second, release := get(1)
	release()
	third, release := get(2)
	release()
	if !there(first) || there(second) || !there(third) {
		t.Errorf("the pinned and the newest stay: %v %v %v", there(first), there(second), there(third))
	}
	_, release = get(3)
	release()
	if !there(first) || there(third) {
		t.Error("a pinned copy stays")
	}
	unpin()
	// Another process takes over what is there, and drops what is half done.
	if err := os.WriteFile(filepath.Join(dir, "x.part"), []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := filestore.Open(mem, filestore.Options{CacheDir: dir, CacheBytes: size}); err != nil {
		t.Fatal(err)
	}
	if left, _ := filepath.Glob(dir + "/*"); len(left) != 1 {
		t.Errorf("left %v", left)
	}
}

// TestAdopted keeps what was just written in the cache.
func TestAdopted(t *testing.T) {
	c := &counting{Store: objstore.NewMem()}
	dir := t.TempDir()
	store, err := filestore.Open(c, filestore.Options{CacheDir: filepath.Join(dir, "cache"), SpoolDir: filepath.Join(dir, "spool")})
	if err != nil {
		t.Fatal(err)
	}
	p := filestore.Place{Path: "db.db/t", Schema: schemaOf(t, nil, "v INT"), Partition: table.EmptyPartition}
	e := write(t, store, p, []table.KeyValue{{Row: table.Row{table.IntOf(7)}}})[0]
	path, release, err := store.Local(t.Context(), p, e)
	if err != nil {
		t.Fatal(err)
	}
	release()
	it, err := store.ReadFile(t.Context(), p, e, filestore.ReadOptions{})
	if rows := drain(t, it, err); len(rows) != 1 || c.ranges.Load() != 0 {
		t.Errorf("%d rows, %d range reads", len(rows), c.ranges.Load())
	}
	if err := store.Remove(t.Context(), p, e.File); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("a removed file has a copy left")
	}
}
