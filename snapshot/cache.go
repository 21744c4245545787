package snapshot

import (
	"container/list"
	"sync"

	"dtstore/manifest"
)

// defaultCacheBytes holds the manifests of a table of some 60,000 files.
const defaultCacheBytes = 64 << 20

// Cache keeps decoded manifests, manifest lists and snapshots up to a number of bytes; the ones
// longest unused go first. Manifests and lists never change, and are not read again. A snapshot's
// number may have been freed and taken since, so its file is read and compared.
type Cache struct {
	limit int64

	mu    sync.Mutex
	bytes int64                    // guarded by mu
	byKey map[string]*list.Element // guarded by mu: of cached
	order *list.List               // guarded by mu: most recently used first
}

// cached is one decoded file; one of entries, list and snapshot is set.
type cached struct {
	key      string
	bytes    int64
	entries  []manifest.Entry
	list     []manifest.ListEntry
	snapshot *Snapshot
}

// NewCache returns a cache of so many bytes; 0 means 64 MiB.
func NewCache(bytes int64) *Cache {
	if bytes == 0 {
		bytes = defaultCacheBytes
	}
	return &Cache{limit: bytes, byKey: map[string]*list.Element{}, order: list.New()}
}

func (c *Cache) get(key string) (*cached, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.byKey[key]
	if !ok {
		return nil, false
	}
	c.order.MoveToFront(e)
	return e.Value.(*cached), true
}

func (c *Cache) put(v *cached) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e, ok := c.byKey[v.key]; ok {
		c.drop(e)
	}
	if v.bytes > c.limit {
		return
	}
	c.byKey[v.key] = c.order.PushFront(v)
	c.bytes += v.bytes
	for c.bytes > c.limit {
		c.drop(c.order.Back())
	}
}

// drop forgets e. c.mu is held.
func (c *Cache) drop(e *list.Element) {
	v := c.order.Remove(e).(*cached)
	delete(c.byKey, v.key)
	c.bytes -= v.bytes
}

// entriesBytes estimates the memory of decoded entries: their structs and what those point to.
func entriesBytes(entries []manifest.Entry) int64 {
	n := int64(64)
	for i := range entries {
		f := &entries[i].File
		n += 512 + int64(len(entries[i].Partition)+len(f.Name)+len(f.MinKey)+len(f.MaxKey)+len(f.EmbeddedIndex)) +
			statsBytes(f.KeyStats) + statsBytes(f.ValueStats)
		for _, names := range [][]string{f.ExtraFiles, f.ValueStatsCols, f.WriteCols} {
			for _, s := range names {
				n += 16 + int64(len(s))
			}
		}
	}
	return n
}

func statsBytes(s manifest.Stats) int64 {
	return int64(len(s.Min)+len(s.Max)) + 16*int64(len(s.NullCounts))
}

func listBytes(entries []manifest.ListEntry) int64 {
	n := int64(64)
	for i := range entries {
		n += 256 + int64(len(entries[i].Name)) + statsBytes(entries[i].Partitions)
	}
	return n
}
