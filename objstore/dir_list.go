package objstore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// List implements Store.
func (d *Dir) List(ctx context.Context, prefix string) iter.Seq2[Object, error] {
	if err := CheckPrefix(prefix); err != nil {
		return fail[Object](fmt.Errorf("list: %w", err))
	}
	return func(yield func(Object, error) bool) {
		folder := prefix[:strings.LastIndexByte(prefix, '/')+1]
		d.walk(ctx, folder, prefix, yield)
	}
}

// walk yields what lies below folder and begins with prefix. It reports whether
// to go on.
func (d *Dir) walk(ctx context.Context, folder, prefix string, yield func(Object, error) bool) bool {
	entries, err := d.entries(ctx, folder)
	if err != nil {
		yield(Object{}, fmt.Errorf("list %s: %w", folder, err))
		return false
	}
	for _, e := range entries {
		key := folder + e.Name()
		if e.IsDir() {
			key += "/"
			// Either may be the longer one: "a/b" asks into "a/", and "a/" holds "a/b".
			if !strings.HasPrefix(key, prefix) && !strings.HasPrefix(prefix, key) {
				continue
			}
			if !d.walk(ctx, key, prefix, yield) {
				return false
			}
			continue
		}
		if !e.Type().IsRegular() || !strings.HasPrefix(key, prefix) || CheckKey(key) != nil {
			continue
		}
		info, err := e.Info()
		if errors.Is(err, fs.ErrNotExist) {
			continue // deleted since the folder was read
		}
		if err != nil {
			yield(Object{}, explain("list", key, err))
			return false
		}
		if !yield(Object{Key: key, Size: info.Size(), Modified: info.ModTime()}, nil) {
			return false
		}
	}
	return true
}

// Folders implements Store.
func (d *Dir) Folders(ctx context.Context, prefix string) iter.Seq2[string, error] {
	if prefix != "" {
		if err := CheckFolder(prefix); err != nil {
			return fail[string](fmt.Errorf("list folders: %w", err))
		}
	}
	return func(yield func(string, error) bool) {
		entries, err := d.entries(ctx, prefix)
		if err != nil {
			yield("", fmt.Errorf("list folders of %s: %w", prefix, err))
			return
		}
		for _, e := range entries {
			if e.IsDir() && CheckKey(e.Name()) == nil && !yield(e.Name(), nil) {
				return
			}
		}
	}
}

// entries reads a folder, "" or ending in "/", in the order of the keys: a
// folder sorts as if its name ended in "/". A missing folder has none.
func (d *Dir) entries(ctx context.Context, folder string) ([]fs.DirEntry, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	f, err := os.Open(filepath.Join(d.root, filepath.FromSlash(folder)))
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	defer f.Close()
	entries, err := f.ReadDir(-1)
	if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR) {
		return nil, err
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(keyName(a), keyName(b)) })
	return entries, nil
}

// keyName is the entry's part of the keys that it stands for.
func keyName(e fs.DirEntry) string {
	if e.IsDir() {
		return e.Name() + "/"
	}
	return e.Name()
}
