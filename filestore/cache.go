package filestore

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"dtstore/objstore"
)

// cache holds whole data files of a remote store on this machine, for readers
// that need files. Data files are immutable, so a copy is good for ever; what
// was used longest ago goes when the copies are more than limit bytes, unless
// it is pinned. What an earlier process left behind is taken over.
type cache struct {
	objs  objstore.Store
	dir   string
	limit int64

	mu    sync.Mutex // guards the rest
	files map[string]*cached
	total int64 // bytes of the copies that are ready
}

type cached struct {
	path  string
	size  int64
	used  time.Time
	pins  int
	ready chan struct{} // closed when the download has ended
	err   error         // how it ended
}

const partSuffix = ".part"

func openCache(objs objstore.Store, dir string, limit int64) (*cache, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("file cache: %w", err)
	}
	c := &cache{objs: objs, dir: dir, limit: limit, files: map[string]*cached{}}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("file cache: %w", err)
	}
	done := make(chan struct{})
	close(done)
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), partSuffix) {
			os.Remove(filepath.Join(dir, e.Name()))
			continue
		}
		info, err := e.Info()
		if err != nil || !info.Mode().IsRegular() {
			continue
		}
		c.files[e.Name()] = &cached{path: filepath.Join(dir, e.Name()), size: info.Size(), used: info.ModTime(), ready: done}
		c.total += info.Size()
	}
	c.mu.Lock()
	c.evict()
	c.mu.Unlock()
	return c, nil
}

// cacheName is the name of a key's copy.
func cacheName(key string) string {
	sum := sha256.Sum256([]byte(key))
	return hex.EncodeToString(sum[:12]) + "-" + path.Base(key)
}

// open gives the path of a copy of key, downloading it if need be: several
// callers share one download. The copy stays until release is called. size is
// what the manifest says the object has.
func (c *cache) open(ctx context.Context, key string, size int64) (file string, release func(), err error) {
	name := cacheName(key)
	for {
		c.mu.Lock()
		f, ok := c.files[name]
		if ok && f.size != size && f.pins == 0 { // left over from a crash
			c.drop(name, f)
			ok = false
		}
		if !ok {
			f = &cached{path: filepath.Join(c.dir, name), size: size, ready: make(chan struct{})}
			c.files[name] = f
		}
		f.pins++
		f.used = time.Now()
		c.mu.Unlock()
		if !ok {
			f.err = c.download(ctx, key, f)
			c.mu.Lock()
			if f.err != nil {
				delete(c.files, name)
			} else {
				c.total += f.size
				c.evict()
			}
			c.mu.Unlock()
			close(f.ready)
		}
		select {
		case <-f.ready:
		case <-ctx.Done():
			c.release(f)
			return "", nil, context.Cause(ctx)
		}
		if f.err == nil {
			var once sync.Once
			return f.path, func() { once.Do(func() { c.release(f) }) }, nil
		}
		c.release(f)
		// The caller who downloaded may only have been cancelled: then it is
		// our turn.
		if !ok || ctx.Err() != nil || !errors.Is(f.err, context.Canceled) && !errors.Is(f.err, context.DeadlineExceeded) {
			return "", nil, f.err
		}
	}
}

func (c *cache) release(f *cached) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f.pins--
	f.used = time.Now()
	c.evict()
}

// downloadPart is the size of one range read.
const downloadPart = 8 << 20

func (c *cache) download(ctx context.Context, key string, f *cached) error {
	out, err := os.CreateTemp(c.dir, "*"+partSuffix)
	if err != nil {
		return fmt.Errorf("file cache: %w", err)
	}
	defer os.Remove(out.Name())
	defer out.Close()
	for off := int64(0); off < f.size; {
		b, err := c.objs.GetRange(ctx, key, off, min(downloadPart, f.size-off))
		if err != nil {
			return err
		}
		if len(b) == 0 {
			return fmt.Errorf("%s has %d bytes, its manifest says %d", key, off, f.size)
		}
		if _, err := out.Write(b); err != nil {
			return fmt.Errorf("file cache: %w", err)
		}
		off += int64(len(b))
	}
	if err := out.Close(); err != nil {
		return fmt.Errorf("file cache: %w", err)
	}
	if err := os.Rename(out.Name(), f.path); err != nil {
		return fmt.Errorf("file cache: %w", err)
	}
	return nil
}

// adopt keeps a second name of a local file that is about to be uploaded as
// key, so that it need not come back over the network. It may fail in silence:
// then the copy is downloaded when wanted.
func (c *cache) adopt(key, local string, size int64) (undo func()) {
	name := cacheName(key)
	f := &cached{path: filepath.Join(c.dir, name), size: size, used: time.Now(), ready: make(chan struct{})}
	if os.Link(local, f.path) != nil {
		return func() {}
	}
	close(f.ready)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.files[name] = f
	c.total += size
	c.evict()
	return func() { c.forget(key) }
}

// has gives the path of the copy of key, if there is one.
func (c *cache) has(key string, size int64) (string, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f, ok := c.files[cacheName(key)]
	if !ok || f.size != size {
		return "", false
	}
	select {
	case <-f.ready:
		f.used = time.Now()
		return f.path, f.err == nil
	default:
		return "", false
	}
}

// forget removes the copy of key unless somebody reads it.
func (c *cache) forget(key string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	name := cacheName(key)
	if f, ok := c.files[name]; ok && f.pins == 0 {
		c.drop(name, f)
	}
}

// evict removes the oldest copies until they fit. The caller holds mu.
func (c *cache) evict() {
	if c.total <= c.limit {
		return
	}
	var names []string
	for name, f := range c.files {
		if f.pins == 0 {
			names = append(names, name)
		}
	}
	slices.SortFunc(names, func(a, b string) int {
		return cmp.Or(c.files[a].used.Compare(c.files[b].used), cmp.Compare(a, b))
	})
	for _, name := range names {
		if c.total <= c.limit {
			return
		}
		c.drop(name, c.files[name])
	}
}

// drop removes a copy that is ready. The caller holds mu.
func (c *cache) drop(name string, f *cached) {
	if err := os.Remove(f.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return // still there, still counted
	}
	c.total -= f.size
	delete(c.files, name)
}
