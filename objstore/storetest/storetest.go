// Package storetest is the conformance suite of objstore.Store. Every
// implementation runs it: what it asks for is what the rest of dtstore relies on.
package storetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"dtstore/objstore"
)

// Run runs the suite; newStore returns an empty store, a new one at each call.
func Run(t *testing.T, newStore func(t *testing.T) objstore.Store) {
	for name, test := range map[string]func(*testing.T, objstore.Store){
		"PutGet":      testPutGet,
		"GetRange":    testGetRange,
		"Absent":      testAbsent,
		"PutIfAbsent": testPutIfAbsent,
		"OneWinner":   testOneWinner,
		"PutFile":     testPutFile,
		"WholeReads":  testWholeReads,
		"List":        testList,
		"ListStop":    testListStop,
		"Folders":     testFolders,
		"DeleteTree":  testDeleteFolder,
		"BadKeys":     testBadKeys,
		"OddKeys":     testOddKeys,
		"Cancelled":   testCancelled,
		"Probe":       testProbe,
	} {
		t.Run(name, func(t *testing.T) { test(t, newStore(t)) })
	}
}

func put(t *testing.T, s objstore.Store, key, body string) {
	t.Helper()
	if err := s.Put(t.Context(), key, []byte(body)); err != nil {
		t.Fatal(err)
	}
}

func want(t *testing.T, s objstore.Store, key, body string) {
	t.Helper()
	got, err := s.Get(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != body {
		t.Fatalf("get %s: %d bytes %.60q, want %d bytes %.60q", key, len(got), got, len(body), body)
	}
}

func wantErr(t *testing.T, what string, err, is error) {
	t.Helper()
	if !errors.Is(err, is) {
		t.Fatalf("%s: %v, want %v", what, err, is)
	}
}

func testPutGet(t *testing.T, s objstore.Store) {
	before := time.Now()
	for _, body := range []string{"", "a", strings.Repeat("x", 1<<20), "replaced"} {
		put(t, s, "db.db/t/snapshot/LATEST", body)
		want(t, s, "db.db/t/snapshot/LATEST", body)
		o, err := s.Stat(t.Context(), "db.db/t/snapshot/LATEST")
		if err != nil {
			t.Fatal(err)
		}
		if o.Key != "db.db/t/snapshot/LATEST" || o.Size != int64(len(body)) {
			t.Fatalf("stat: %+v", o)
		}
		if d := o.Modified.Sub(before); d < -time.Minute || d > time.Minute {
			t.Fatalf("modified %v, put at %v", o.Modified, before)
		}
	}
}

func testGetRange(t *testing.T, s objstore.Store) {
	put(t, s, "f", "0123456789")
	put(t, s, "empty", "")
	for _, c := range []struct {
		key    string
		off, n int64
		want   string
	}{
		{"f", 0, 10, "0123456789"}, {"f", 0, 3, "012"}, {"f", 4, 2, "45"}, {"f", 8, 100, "89"},
		{"f", 10, 1, ""}, {"f", 50, 5, ""}, {"f", 3, 0, ""}, {"f", 9, 1 << 40, "9"}, {"empty", 0, 4, ""},
	} {
		got, err := s.GetRange(t.Context(), c.key, c.off, c.n)
		if err != nil || string(got) != c.want {
			t.Errorf("range %s [%d,+%d): %q, %v; want %q", c.key, c.off, c.n, got, err, c.want)
		}
	}
	for _, c := range [][2]int64{{-1, 3}, {0, -1}} {
		if got, err := s.GetRange(t.Context(), "f", c[0], c[1]); err == nil {
			t.Errorf("range [%d,+%d): %q and no error", c[0], c[1], got)
		}
	}
}

func testAbsent(t *testing.T, s objstore.Store) {
	put(t, s, "a/b/c", "x")
	for _, key := range []string{"none", "a/none", "a/b/c/d", "a/b", "a"} {
		_, err := s.Get(t.Context(), key)
		wantErr(t, "get "+key, err, objstore.ErrNotExist)
		_, err = s.GetRange(t.Context(), key, 0, 1)
		wantErr(t, "range of "+key, err, objstore.ErrNotExist)
		_, err = s.GetRange(t.Context(), key, 0, 0)
		wantErr(t, "empty range of "+key, err, objstore.ErrNotExist)
		_, err = s.Stat(t.Context(), key)
		wantErr(t, "stat "+key, err, objstore.ErrNotExist)
		wantErr(t, "delete "+key, s.Delete(t.Context(), key), nil)
	}
	want(t, s, "a/b/c", "x")
	wantErr(t, "delete", s.Delete(t.Context(), "a/b/c"), nil)
	_, err := s.Get(t.Context(), "a/b/c")
	wantErr(t, "get", err, objstore.ErrNotExist)
	for o, err := range s.List(t.Context(), "") {
		t.Errorf("list after delete: %v, %v", o, err)
	}
}

func testPutIfAbsent(t *testing.T, s objstore.Store) {
	wantErr(t, "first", s.PutIfAbsent(t.Context(), "s/snapshot-1", []byte("one")), nil)
	wantErr(t, "second", s.PutIfAbsent(t.Context(), "s/snapshot-1", []byte("two")), objstore.ErrExist)
	wantErr(t, "the same again", s.PutIfAbsent(t.Context(), "s/snapshot-1", []byte("one")), objstore.ErrExist)
	want(t, s, "s/snapshot-1", "one")
	put(t, s, "s/snapshot-1", "three") // Put does not care
	want(t, s, "s/snapshot-1", "three")
	wantErr(t, "delete", s.Delete(t.Context(), "s/snapshot-1"), nil)
	wantErr(t, "freed", s.PutIfAbsent(t.Context(), "s/snapshot-1", nil), nil)
	want(t, s, "s/snapshot-1", "")
	wantErr(t, "an empty one is there too", s.PutIfAbsent(t.Context(), "s/snapshot-1", []byte("x")), objstore.ErrExist)
}

func testOneWinner(t *testing.T, s objstore.Store) {
	for round := range 10 {
		key := fmt.Sprintf("r/snapshot-%d", round)
		var wg sync.WaitGroup
		results := make([]error, 8)
		for i := range results {
			wg.Go(func() { results[i] = s.PutIfAbsent(t.Context(), key, []byte{byte('a' + i)}) })
		}
		wg.Wait()
		winner := -1
		for i, err := range results {
			switch {
			case err == nil && winner >= 0:
				t.Fatalf("%s: both %d and %d won", key, winner, i)
			case err == nil:
				winner = i
			case !errors.Is(err, objstore.ErrExist):
				t.Fatalf("%s: %v", key, err)
			}
		}
		if winner < 0 {
			t.Fatalf("%s: nobody won", key)
		}
		want(t, s, key, string(rune('a'+winner)))
	}
}

func testPutFile(t *testing.T, s objstore.Store) {
	for _, size := range []int{0, 1, 1 << 20, 33 << 20} { // the last is past a single part on S3
		body := bytes.Repeat([]byte("0123456789abcdef"), size/16+1)[:size]
		local := filepath.Join(t.TempDir(), "run.parquet")
		if err := os.WriteFile(local, body, 0o600); err != nil {
			t.Fatal(err)
		}
		for range 2 { // into a folder that is not there yet, then over the first
			if err := os.WriteFile(local, body, 0o600); err != nil {
				t.Fatal(err)
			}
			if err := s.PutFile(t.Context(), "t/bucket-0/data.parquet", local); err != nil {
				t.Fatal(err)
			}
			if _, err := os.Stat(local); !errors.Is(err, os.ErrNotExist) {
				t.Fatalf("the local file is still there: %v", err)
			}
		}
		want(t, s, "t/bucket-0/data.parquet", string(body))
	}
	if err := s.PutFile(t.Context(), "t/x", filepath.Join(t.TempDir(), "none")); err == nil {
		t.Fatal("put of a missing local file: no error")
	}
	_, err := s.Stat(t.Context(), "t/x")
	wantErr(t, "stat", err, objstore.ErrNotExist)
}

func testWholeReads(t *testing.T, s objstore.Store) {
	bodies := []string{strings.Repeat("a", 300_000), strings.Repeat("b", 1_000), strings.Repeat("c", 70_000)}
	put(t, s, "hint", bodies[0])
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := 0; ctx.Err() == nil && i < 60; i++ {
			if err := s.Put(ctx, "hint", []byte(bodies[i%3])); err != nil && ctx.Err() == nil {
				t.Error(err)
			}
		}
		cancel()
	})
	for ctx.Err() == nil {
		got, err := s.Get(t.Context(), "hint")
		if err != nil || !slices.Contains(bodies, string(got)) {
			t.Errorf("read %d bytes, %v: neither the old nor the new object", len(got), err)
			break
		}
	}
	cancel()
	wg.Wait()
}

func keys(t *testing.T, s objstore.Store, prefix string) []string {
	t.Helper()
	var got []string
	for o, err := range s.List(t.Context(), prefix) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, o.Key)
	}
	return got
}

func testList(t *testing.T, s objstore.Store) {
	all := []string{
		"a.b/x", "a/1", "a/b-c", "a/b/1", "a/b/2", "a/b0", "a0", "p=1/q=%2F/bucket-0/f", "snapshot/snapshot-1", "snapshot/snapshot-10", "snapshot/snapshot-2",
	}
	for i, k := range all {
		put(t, s, k, strings.Repeat("x", i))
	}
	wantErr(t, "make folder", s.MakeFolder(t.Context(), "empty/"), nil)
	for _, prefix := range []string{"", "a", "a/", "a/b", "a/b/", "snapshot/snapshot-1", "snapshot/", "s", "none", "none/x", "a/b/1/", "p=1/q=%2F/"} {
		var wanted []string
		for _, k := range all {
			if strings.HasPrefix(k, prefix) {
				wanted = append(wanted, k)
			}
		}
		if got := keys(t, s, prefix); !slices.Equal(got, wanted) {
			t.Errorf("list %q: %q, want %q", prefix, got, wanted)
		}
	}
	for o, err := range s.List(t.Context(), "") {
		if i := slices.Index(all, o.Key); err != nil || o.Size != int64(i) || o.Modified.IsZero() {
			t.Errorf("list: %+v, %v", o, err)
		}
	}
}

func testListStop(t *testing.T, s objstore.Store) {
	for i := range 5 {
		put(t, s, fmt.Sprintf("f/%d", i), "")
		put(t, s, fmt.Sprintf("d%d/x", i), "")
	}
	n := 0
	for range s.List(t.Context(), "") {
		if n++; n == 2 {
			break
		}
	}
	for range s.Folders(t.Context(), "") {
		if n++; n == 4 {
			break
		}
	}
	if n != 4 {
		t.Fatalf("stopped after %d", n)
	}
}

func folders(t *testing.T, s objstore.Store, prefix string) string {
	t.Helper()
	var got []string
	for name, err := range s.Folders(t.Context(), prefix) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, name)
	}
	return strings.Join(got, " ")
}

func testFolders(t *testing.T, s objstore.Store) {
	for _, k := range []string{"b.db/t/schema/schema-0", "b.db/u/schema/schema-0", "a-b/x", "a/x/y/z", "file"} {
		put(t, s, k, "x")
	}
	for range 2 { // it may exist
		wantErr(t, "make folder", s.MakeFolder(t.Context(), "empty.db/"), nil)
		wantErr(t, "make folder", s.MakeFolder(t.Context(), "b.db/"), nil)
		wantErr(t, "make folder", s.MakeFolder(t.Context(), "deep/er/"), nil)
	}
	for prefix, wanted := range map[string]string{
		"": "a-b a b.db deep empty.db", "b.db/": "t u", "empty.db/": "", "a/": "x", "deep/": "er", "none/": "", "file/": "",
	} {
		if got := folders(t, s, prefix); got != wanted {
			t.Errorf("folders of %q: %q, want %q", prefix, got, wanted)
		}
	}
}

func testDeleteFolder(t *testing.T, s objstore.Store) {
	wantErr(t, "make folder", s.MakeFolder(t.Context(), "x.db/"), nil)
	wantErr(t, "make folder", s.MakeFolder(t.Context(), "x.db/t/bucket-0/"), nil)
	put(t, s, "x.db/u/f", "1")
	put(t, s, "y.db/f", "1")
	wantErr(t, "delete", s.Delete(t.Context(), "x.db/"), nil)
	want(t, s, "x.db/u/f", "1")
	if got := folders(t, s, ""); got != "x.db y.db" {
		t.Fatalf("folders: %q", got)
	}
	wantErr(t, "delete", s.Delete(t.Context(), "x.db/u/f"), nil)
	for range 2 { // the second finds none
		wantErr(t, "delete", s.Delete(t.Context(), "x.db/"), nil)
	}
	if got := folders(t, s, ""); got != "y.db" {
		t.Fatalf("folders: %q", got)
	}
	want(t, s, "y.db/f", "1")
}

func testBadKeys(t *testing.T, s objstore.Store) {
	bad := []string{
		"", "/", "/a", "a//b", ".", "..", "../a", "a/../b", "a/..", "a/./b", "a\x00b", "a\xffb",
		"a/.b.tmp", strings.Repeat("k", 300), strings.Repeat("k/", 600) + "k",
	}
	ctx := t.Context()
	for _, key := range bad {
		_, getErr := s.Get(ctx, key)
		_, rangeErr := s.GetRange(ctx, key, 0, 1)
		_, statErr := s.Stat(ctx, key)
		local := filepath.Join(t.TempDir(), "f")
		if err := os.WriteFile(local, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		for op, err := range map[string]error{
			"get": getErr, "range": rangeErr, "stat": statErr, "put": s.Put(ctx, key, nil), "put if absent": s.PutIfAbsent(ctx, key, nil),
			"put file": s.PutFile(ctx, key, local), "delete": s.Delete(ctx, key), "make folder": s.MakeFolder(ctx, key), "make folder/": s.MakeFolder(ctx, key+"/"),
			"delete/": s.Delete(ctx, key+"/"),
		} {
			if err == nil || errors.Is(err, objstore.ErrNotExist) || errors.Is(err, objstore.ErrExist) {
				t.Errorf("%s %.40q: %v", op, key, err)
			}
		}
	}
	for _, prefix := range []string{"../", "a/../b", "..", "/", "a//"} {
		seen := false
		for _, err := range s.List(ctx, prefix) {
			seen = err != nil
		}
		for _, err := range s.Folders(ctx, prefix) {
			seen = seen && err != nil
		}
		if !seen {
			t.Errorf("list %q: no error", prefix)
		}
	}
}

func testOddKeys(t *testing.T, s objstore.Store) {
	for _, key := range []string{
		"p=a b/f", "p=%2F%3A/f", "p=a+b&c/f", "p=a|b<c>/f", "p=größe 表/f", "p=__DEFAULT_PARTITION__/f", "p='x'/f", "~/f", "a..b/f", "...", ".hidden", "x.tmp",
		strings.Repeat("n", 255),
	} {
		put(t, s, key, key)
		want(t, s, key, key)
		if got := keys(t, s, key); !slices.Equal(got, []string{key}) {
			t.Errorf("list %q: %q", key, got)
		}
		wantErr(t, "put if absent", s.PutIfAbsent(t.Context(), key, nil), objstore.ErrExist)
		wantErr(t, "delete "+key, s.Delete(t.Context(), key), nil)
	}
}

func testCancelled(t *testing.T, s objstore.Store) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := s.Get(ctx, "a")
	wantErr(t, "get", err, context.Canceled)
	wantErr(t, "put", s.Put(ctx, "a", nil), context.Canceled)
	wantErr(t, "put if absent", s.PutIfAbsent(ctx, "a", nil), context.Canceled)
	for _, err := range s.List(ctx, "") {
		wantErr(t, "list", err, context.Canceled)
	}
	if got := keys(t, s, ""); len(got) != 0 {
		t.Fatalf("put all the same: %q", got)
	}
}

func testProbe(t *testing.T, s objstore.Store) {
	for range 2 {
		wantErr(t, "probe", objstore.Probe(t.Context(), s), nil)
	}
	if got := keys(t, s, ""); len(got) != 0 {
		t.Fatalf("probe left %q", got)
	}
}
