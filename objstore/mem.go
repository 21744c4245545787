package objstore

import (
	"bytes"
	"context"
	"fmt"
	"iter"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
)

// Mem is a Store in memory, for tests.
type Mem struct {
	mu      sync.Mutex // guards all below; values are never changed in place
	objects map[string]memObject
	folders map[string]bool // keys of MakeFolder, with the "/"
}

type memObject struct {
	body     []byte
	modified time.Time
}

// NewMem returns an empty store.
func NewMem() *Mem {
	return &Mem{objects: map[string]memObject{}, folders: map[string]bool{}}
}

func check(ctx context.Context, op, key string, check func(string) error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("%s %s: %w", op, key, context.Cause(ctx))
	}
	if err := check(key); err != nil {
		return fmt.Errorf("%s: %w", op, err)
	}
	return nil
}

func (m *Mem) get(ctx context.Context, op, key string) (memObject, error) {
	if err := check(ctx, op, key, CheckKey); err != nil {
		return memObject{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	o, ok := m.objects[key]
	if !ok {
		return memObject{}, fmt.Errorf("%s %s: %w", op, key, ErrNotExist)
	}
	return o, nil
}

// Get implements Store.
func (m *Mem) Get(ctx context.Context, key string) ([]byte, error) {
	o, err := m.get(ctx, "get", key)
	return bytes.Clone(o.body), err
}

// GetRange implements Store.
func (m *Mem) GetRange(ctx context.Context, key string, off, n int64) ([]byte, error) {
	if off < 0 || n < 0 {
		return nil, fmt.Errorf("get %s: range of %d bytes at %d", key, n, off)
	}
	o, err := m.get(ctx, "get", key)
	if err != nil {
		return nil, err
	}
	off = min(off, int64(len(o.body)))
	return bytes.Clone(o.body[off : off+min(n, int64(len(o.body))-off)]), nil
}

// Stat implements Store.
func (m *Mem) Stat(ctx context.Context, key string) (Object, error) {
	o, err := m.get(ctx, "stat", key)
	if err != nil {
		return Object{}, err
	}
	return Object{Key: key, Size: int64(len(o.body)), Modified: o.modified}, nil
}

func (m *Mem) put(ctx context.Context, key string, body []byte, absent bool) error {
	if err := check(ctx, "put", key, CheckKey); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, ok := m.objects[key]; ok && absent {
		return fmt.Errorf("put %s: %w", key, ErrExist)
	}
	m.objects[key] = memObject{body: bytes.Clone(body), modified: time.Now()}
	return nil
}

// Put implements Store.
func (m *Mem) Put(ctx context.Context, key string, body []byte) error {
	return m.put(ctx, key, body, false)
}

// PutIfAbsent implements Store.
func (m *Mem) PutIfAbsent(ctx context.Context, key string, body []byte) error {
	return m.put(ctx, key, body, true)
}

// PutFile implements Store.
func (m *Mem) PutFile(ctx context.Context, key, localPath string) error {
	body, err := os.ReadFile(localPath)
	if err != nil {
		return fmt.Errorf("put %s from a local file: %w", key, err)
	}
	if err := m.put(ctx, key, body, false); err != nil {
		return err
	}
	return os.Remove(localPath)
}

// Delete implements Store.
func (m *Mem) Delete(ctx context.Context, key string) error {
	folder := strings.HasSuffix(key, "/")
	checkKey := CheckKey
	if folder {
		checkKey = CheckFolder
	}
	if err := check(ctx, "delete", key, checkKey); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if !folder {
		delete(m.objects, key)
		return nil
	}
	for k := range m.objects {
		if strings.HasPrefix(k, key) {
			return nil
		}
	}
	for k := range m.folders {
		if strings.HasPrefix(k, key) {
			delete(m.folders, k)
		}
	}
	return nil
}

// MakeFolder implements Store.
func (m *Mem) MakeFolder(ctx context.Context, key string) error {
	if err := check(ctx, "make folder", key, CheckFolder); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.folders[key] = true
	return nil
}

// List implements Store.
func (m *Mem) List(ctx context.Context, prefix string) iter.Seq2[Object, error] {
	if err := check(ctx, "list", prefix, CheckPrefix); err != nil {
		return fail[Object](err)
	}
	return func(yield func(Object, error) bool) {
		var found []Object
		m.mu.Lock()
		for k, o := range m.objects {
			if strings.HasPrefix(k, prefix) {
				found = append(found, Object{Key: k, Size: int64(len(o.body)), Modified: o.modified})
			}
		}
		m.mu.Unlock()
		slices.SortFunc(found, func(a, b Object) int { return strings.Compare(a.Key, b.Key) })
		for _, o := range found {
			if !yield(o, nil) {
				return
			}
		}
	}
}

// Folders implements Store.
func (m *Mem) Folders(ctx context.Context, prefix string) iter.Seq2[string, error] {
	if prefix != "" {
		if err := check(ctx, "list folders", prefix, CheckFolder); err != nil {
			return fail[string](err)
		}
	}
	return func(yield func(string, error) bool) {
		var found []string // with the "/", which decides the order
		add := func(key string) {
			if rest, ok := strings.CutPrefix(key, prefix); ok {
				if i := strings.IndexByte(rest, '/'); i >= 0 {
					found = append(found, rest[:i+1])
				}
			}
		}
		m.mu.Lock()
		for k := range m.objects {
			add(k)
		}
		for k := range m.folders {
			add(k)
		}
		m.mu.Unlock()
		slices.Sort(found)
		for _, name := range slices.Compact(found) {
			if !yield(strings.TrimSuffix(name, "/"), nil) {
				return
			}
		}
	}
}
