package objstore_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"dtstore/objstore"
)

func TestFailed(t *testing.T) {
	for _, expected := range []error{nil, objstore.ErrNotExist, objstore.ErrExist, context.Canceled, context.DeadlineExceeded} {
		if err := objstore.Failed(expected); err != expected {
			t.Errorf("%v became %v", expected, err)
		}
	}
	for cause, code := range map[error]string{syscall.ENOSPC: "53100", syscall.EDQUOT: "53100", syscall.EIO: "58030", errors.New("refused"): "58030"} {
		var f *objstore.Failure
		err := fmt.Errorf("put x: %w", objstore.Failed(objstore.Failed(cause)))
		if !errors.As(err, &f) || f.SQLState() != code || f.Hint() == "" || !errors.Is(err, cause) {
			t.Errorf("%v is %v", cause, f)
		}
	}
}

// A folder that became a file is a failure of the store, for puts; for gets the
// object is just not there.
func TestDirFails(t *testing.T) {
	root := t.TempDir()
	d, err := objstore.OpenDir(root)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, "a"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	var f *objstore.Failure
	for what, err := range map[string]error{"put": d.Put(t.Context(), "a/b", nil), "put if absent": d.PutIfAbsent(t.Context(), "a/b", nil)} {
		if !errors.As(err, &f) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if _, err := d.Get(t.Context(), "a/b"); !errors.Is(err, objstore.ErrNotExist) {
		t.Error(err)
	}
}
