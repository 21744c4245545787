package objstore_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"dtstore/objstore"
	"dtstore/objstore/storetest"
)

func TestMem(t *testing.T) {
	storetest.Run(t, func(*testing.T) objstore.Store { return objstore.NewMem() })
}

func openDir(t *testing.T) *objstore.Dir {
	d, err := objstore.OpenDir(filepath.Join(t.TempDir(), "not", "there", "yet"))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestDir(t *testing.T) {
	storetest.Run(t, func(t *testing.T) objstore.Store { return openDir(t) })
}

// TestDirLitter: what a killed writer leaves is not listed, and swept by age.
func TestDirLitter(t *testing.T) {
	d := openDir(t)
	if err := d.Put(t.Context(), "t/snapshot-1", nil); err != nil {
		t.Fatal(err)
	}
	litter := filepath.Join(filepath.Dir(d.LocalPath("t/snapshot-1")), ".snapshot-2.0c5f.tmp")
	if err := os.WriteFile(litter, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for o, err := range d.List(t.Context(), "") {
		if err != nil || o.Key != "t/snapshot-1" {
			t.Errorf("list: %v, %v", o, err)
		}
	}
	if swept, err := d.SweepLitter(t.Context(), time.Now().Add(-time.Hour)); err != nil || len(swept) != 0 {
		t.Errorf("swept %v, %v: it may still be written", swept, err)
	}
	swept, err := d.SweepLitter(t.Context(), time.Now().Add(time.Hour))
	if err != nil || strings.Join(swept, " ") != "t/.snapshot-2.0c5f.tmp" {
		t.Errorf("swept %v, %v", swept, err)
	}
	if _, err := d.Get(t.Context(), "t/snapshot-1"); err != nil {
		t.Error(err)
	}
}

// TestDirErrors: the store's root is not told, the cause is.
func TestDirErrors(t *testing.T) {
	d := openDir(t)
	if err := d.Put(t.Context(), "file", nil); err != nil {
		t.Fatal(err)
	}
	if err := d.MakeFolder(t.Context(), "folder/"); err != nil {
		t.Fatal(err)
	}
	_, getErr := d.Get(t.Context(), "none")
	for what, err := range map[string]error{
		"get": getErr, "put below a file": d.Put(t.Context(), "file/x", nil), "put over a folder": d.Put(t.Context(), "folder", nil),
	} {
		if err == nil || strings.Contains(err.Error(), filepath.Dir(d.LocalPath("x"))) {
			t.Errorf("%s: %v", what, err)
		}
		if what != "get" && errors.Is(err, objstore.ErrNotExist) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if _, err := objstore.OpenDir(d.LocalPath("file")); err == nil {
		t.Error("opened a file as a directory")
	}
}

// liar accepts every put, as some S3 services do.
type liar struct{ objstore.Store }

func (l liar) PutIfAbsent(ctx context.Context, key string, body []byte) error {
	return l.Put(ctx, key, body)
}

func TestProbeRefuses(t *testing.T) {
	mem := objstore.NewMem()
	err := objstore.Probe(t.Context(), liar{mem})
	if err == nil || !strings.Contains(err.Error(), "If-None-Match") {
		t.Errorf("probe: %v", err)
	}
	for o := range mem.List(t.Context(), "") {
		t.Errorf("probe left %s", o.Key)
	}
}

func FuzzCheckKey(f *testing.F) {
	for _, s := range []string{"a/b", "../x", "a/./b", ".x.tmp", ""} {
		f.Add(s)
	}
	d, err := objstore.OpenDir(f.TempDir())
	if err != nil {
		f.Fatal(err)
	}
	root := filepath.Dir(d.LocalPath("x"))
	f.Fuzz(func(t *testing.T, key string) {
		if objstore.CheckKey(key) != nil {
			return
		}
		rel, err := filepath.Rel(root, d.LocalPath(key))
		if err != nil || filepath.ToSlash(rel) != key {
			t.Errorf("key %q lies at %q: %v", key, rel, err)
		}
	})
}
