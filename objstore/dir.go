package objstore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/google/uuid"
)

// Dir is a Store in a local directory: an object is a file, a folder a folder.
// Any number of processes may use one directory at a time.
//
// A file is written under a temporary name and synced before it gets its own;
// the folder is synced before the call returns. So an object that a later
// object names is on the disk before it. Deletions are not synced: what comes
// back after a crash of the machine is what a sweep removes.
//
// A symbolic link is followed when its key is asked for and never listed.
type Dir struct {
	root string
}

// OpenDir returns the store in the directory root, which is made if needed.
func OpenDir(root string) (*Dir, error) {
	root, err := filepath.Abs(root)
	if err != nil {
		return nil, fmt.Errorf("open store: %w", err)
	}
	if err := makeDirs(root); err != nil {
		return nil, fmt.Errorf("open store: %w", err)
	}
	return &Dir{root: root}, nil
}

// LocalPath returns the file that holds key.
func (d *Dir) LocalPath(key string) string {
	return filepath.Join(d.root, filepath.FromSlash(key))
}

// path is LocalPath after the checks that stand before every call.
func (d *Dir) path(ctx context.Context, op, key string, check func(string) error) (string, error) {
	if err := ctx.Err(); err != nil {
		return "", fmt.Errorf("%s %s: %w", op, key, context.Cause(ctx))
	}
	if err := check(key); err != nil {
		return "", fmt.Errorf("%s: %w", op, err)
	}
	return d.LocalPath(key), nil
}

// Get implements Store.
func (d *Dir) Get(ctx context.Context, key string) ([]byte, error) {
	path, err := d.path(ctx, "get", key, CheckKey)
	if err != nil {
		return nil, err
	}
	body, err := readFile(path)
	if err != nil {
		return nil, explain("get", key, err)
	}
	return body, nil
}

// GetRange implements Store.
func (d *Dir) GetRange(ctx context.Context, key string, off, n int64) ([]byte, error) {
	path, err := d.path(ctx, "get", key, CheckKey)
	if err != nil {
		return nil, err
	}
	if off < 0 || n < 0 {
		return nil, fmt.Errorf("get %s: range of %d bytes at %d", key, n, off)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, explain("get", key, err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, explain("get", key, err)
	}
	if info.IsDir() {
		return nil, explain("get", key, syscall.EISDIR)
	}
	// Clamped before it is allocated: n may come from a damaged file.
	body := make([]byte, max(0, min(n, info.Size()-off)))
	got, err := f.ReadAt(body, off)
	if err != nil && err != io.EOF {
		return nil, explain("get", key, err)
	}
	return body[:got], nil
}

// Stat implements Store.
func (d *Dir) Stat(ctx context.Context, key string) (Object, error) {
	path, err := d.path(ctx, "stat", key, CheckKey)
	if err != nil {
		return Object{}, err
	}
	info, err := os.Stat(path)
	if err == nil && info.IsDir() {
		err = syscall.EISDIR
	}
	if err != nil {
		return Object{}, explain("stat", key, err)
	}
	return Object{Key: key, Size: info.Size(), Modified: info.ModTime()}, nil
}

// Put implements Store.
func (d *Dir) Put(ctx context.Context, key string, body []byte) error {
	path, err := d.path(ctx, "put", key, CheckKey)
	if err != nil {
		return err
	}
	temp, err := writeTemp(path, func(f *os.File) error {
		_, err := f.Write(body)
		return err
	})
	if err != nil {
		return explain("put", key, err)
	}
	if err := publish(temp, path); err != nil {
		os.Remove(temp)
		return explain("put", key, err)
	}
	return nil
}

// PutIfAbsent implements Store with link(2), which refuses a name that exists.
func (d *Dir) PutIfAbsent(ctx context.Context, key string, body []byte) error {
	path, err := d.path(ctx, "put", key, CheckKey)
	if err != nil {
		return err
	}
	temp, err := writeTemp(path, func(f *os.File) error {
		_, err := f.Write(body)
		return err
	})
	if err != nil {
		return explain("put", key, err)
	}
	defer os.Remove(temp) // its other name stays
	if err := os.Link(temp, path); errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("put %s: %w", key, ErrExist)
	} else if err != nil {
		return explain("put", key, err)
	}
	if err := syncFile(filepath.Dir(path)); err != nil {
		return explain("put", key, err)
	}
	return nil
}

// PutFile implements Store: by renaming, or by copying from another file system.
func (d *Dir) PutFile(ctx context.Context, key, localPath string) error {
	path, err := d.path(ctx, "put", key, CheckKey)
	if err != nil {
		return err
	}
	if err := syncFile(localPath); err != nil {
		return fmt.Errorf("put %s from a local file: %w", key, err)
	}
	err = publish(localPath, path)
	if errors.Is(err, fs.ErrNotExist) { // the folder is missing
		if err = makeDirs(filepath.Dir(path)); err == nil {
			err = publish(localPath, path)
		}
	}
	if errors.Is(err, syscall.EXDEV) {
		err = copyFile(localPath, path)
	}
	if err != nil {
		return explain("put", key, err)
	}
	return nil
}

// copyFile puts the bytes of src at dst as Put does, then removes src.
func copyFile(src, dst string) error {
	in, err := os.Open(src)
	if err != nil {
		return err
	}
	defer in.Close()
	temp, err := writeTemp(dst, func(f *os.File) error {
		_, err := io.Copy(f, in)
		return err
	})
	if err != nil {
		return err
	}
	if err := publish(temp, dst); err != nil {
		os.Remove(temp)
		return err
	}
	return os.Remove(src)
}

// Delete implements Store.
func (d *Dir) Delete(ctx context.Context, key string) error {
	if strings.HasSuffix(key, "/") {
		path, err := d.path(ctx, "delete", key, CheckFolder)
		if err != nil {
			return err
		}
		if err := removeEmpty(path); err != nil {
			return fmt.Errorf("delete %s: %w", key, err)
		}
		return nil
	}
	path, err := d.path(ctx, "delete", key, CheckKey)
	if err != nil {
		return err
	}
	// Not os.Remove: that would also remove an empty folder.
	err = explain("delete", key, syscall.Unlink(path))
	if errors.Is(err, ErrNotExist) {
		return nil
	}
	if info, statErr := os.Stat(path); err != nil && statErr == nil && info.IsDir() {
		return nil // a folder is no object; EPERM on some systems
	}
	return err
}

// removeEmpty removes the folders at and below path that hold no file.
func removeEmpty(path string) error {
	entries, err := os.ReadDir(path)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return nil
	} else if err != nil {
		return err
	}
	for _, e := range entries {
		if e.IsDir() {
			if err := removeEmpty(filepath.Join(path, e.Name())); err != nil {
				return err
			}
		}
	}
	err = syscall.Rmdir(path)
	if errors.Is(err, fs.ErrExist) || errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return nil // something lies in it, somebody else was faster, or it is a link
	}
	return err
}

// MakeFolder implements Store.
func (d *Dir) MakeFolder(ctx context.Context, key string) error {
	path, err := d.path(ctx, "make folder", key, CheckFolder)
	if err != nil {
		return err
	}
	if err := makeDirs(path); err != nil {
		return fmt.Errorf("make folder %s: %w", key, err)
	}
	return nil
}

// SweepLitter implements Sweeper: temporary files whose writer died.
func (d *Dir) SweepLitter(ctx context.Context, olderThan time.Time) ([]string, error) {
	var swept []string
	err := filepath.WalkDir(d.root, func(path string, e fs.DirEntry, err error) error {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil || e.IsDir() || !IsTemp(e.Name()) {
			return err
		}
		info, err := e.Info()
		if err != nil || !info.ModTime().Before(olderThan) {
			return nil // gone, or maybe still being written
		}
		if err := os.Remove(path); err != nil {
			return err
		}
		rel, _ := filepath.Rel(d.root, path)
		swept = append(swept, filepath.ToSlash(rel))
		return nil
	})
	if err != nil {
		return swept, fmt.Errorf("sweep temporary files: %w", err)
	}
	return swept, nil
}

// explain names the call and its key, and turns the errors of readers that mean
// absence into ErrNotExist. The paths of this machine stay out of the text.
func explain(op, key string, err error) error {
	if err == nil {
		return nil
	}
	absent := errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) || errors.Is(err, syscall.EISDIR)
	if absent && op != "put" {
		return fmt.Errorf("%s %s: %w", op, key, ErrNotExist)
	}
	var pathErr *fs.PathError
	var linkErr *os.LinkError
	switch {
	case errors.As(err, &pathErr):
		err = fmt.Errorf("%s: %w", pathErr.Op, pathErr.Err)
	case errors.As(err, &linkErr):
		err = fmt.Errorf("%s: %w", linkErr.Op, linkErr.Err)
	}
	return fmt.Errorf("%s %s: %w", op, key, Failed(err))
}

// writeTemp fills a synced temporary file beside path and returns its name. It
// makes missing folders.
func writeTemp(path string, fill func(*os.File) error) (string, error) {
	folder, name := filepath.Split(path)
	// Cut so that the temporary name is not longer than a file system takes.
	name = name[:min(len(name), maxSegmentBytes-len("..")-len(uuid.UUID{}.String())-len(".tmp"))]
	temp := filepath.Join(folder, "."+name+"."+uuid.NewString()+".tmp")
	f, err := os.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	for try := 0; errors.Is(err, fs.ErrNotExist) && try < 3; try++ { // 3: somebody may remove empty folders meanwhile
		if err := makeDirs(folder); err != nil {
			return "", err
		}
		f, err = os.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	}
	if err != nil {
		return "", err
	}
	err = fill(f)
	if err == nil {
		err = f.Sync()
	}
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		os.Remove(temp)
		return "", err
	}
	return temp, nil
}

// publish renames a synced file to its final name and syncs the folder.
func publish(from, to string) error {
	if err := os.Rename(from, to); err != nil {
		return err
	}
	return syncFile(filepath.Dir(to))
}

// makeDirs is os.MkdirAll that syncs the parent of each folder it makes.
func makeDirs(path string) error {
	for try := 0; ; try++ {
		err := os.Mkdir(path, 0o755)
		switch {
		case err == nil:
			return syncFile(filepath.Dir(path))
		case errors.Is(err, fs.ErrExist):
			info, statErr := os.Stat(path)
			if statErr == nil && !info.IsDir() {
				return &fs.PathError{Op: "mkdir", Path: path, Err: errors.New("a file has this name")}
			}
			return statErr
		case !errors.Is(err, fs.ErrNotExist):
			return err
		}
		parent := filepath.Dir(path)
		if parent == path || try == makeTries {
			return err
		}
		if err := makeDirs(parent); err != nil {
			return err
		}
	}
}

// makeTries is how often a folder is tried anew after its parent was made: the
// parent may be swept away in between, and some file systems (/proc) say "not
// exist" for ever.
const makeTries = 5

// syncFile makes a file or a folder durable.
func syncFile(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	return f.Sync()
}
