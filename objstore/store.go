package objstore

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"time"
	"unicode/utf8"
)

var (
	// ErrNotExist is returned for a key that holds no object.
	ErrNotExist = errors.New("object does not exist")
	// ErrExist is returned by PutIfAbsent to all but the winner.
	ErrExist = errors.New("object exists already")
)

// Object describes a stored object without its bytes.
type Object struct {
	Key      string
	Size     int64     // bytes
	Modified time.Time // when it was last put, by the store's clock
}

// Store keeps objects by key. A key is a path of segments joined by single
// slashes, without one in front, as [CheckKey] says. All methods may be called
// from any goroutine.
type Store interface {
	// Get returns the object's bytes, ErrNotExist if there is none.
	Get(ctx context.Context, key string) ([]byte, error)
	// GetRange returns the bytes [off, off+n) of the object; fewer only where it
	// ends, none from its end on. ErrNotExist if there is none.
	GetRange(ctx context.Context, key string, off, n int64) ([]byte, error)
	// Stat returns the object's size and age, ErrNotExist if there is none.
	Stat(ctx context.Context, key string) (Object, error)

	// Put creates or replaces key. Readers see the old object or the new one.
	Put(ctx context.Context, key string, body []byte) error
	// PutIfAbsent creates key. Of any number of concurrent callers one wins and
	// the others get ErrExist. On another error it may or may not have happened,
	// or may still happen.
	PutIfAbsent(ctx context.Context, key string, body []byte) error
	// PutFile is Put with the bytes of a local file, which the store takes over:
	// after success it is gone, after an error the caller removes what is left.
	PutFile(ctx context.Context, key, localPath string) error

	// Delete removes the object; an absent one is no error. A key that ends in
	// "/" names a folder: its marker and the empty folders below it go, unless
	// some object still lies below it: then nothing is lost and it is no error.
	Delete(ctx context.Context, key string) error

	// List yields the objects whose key begins with prefix (any text, "" for
	// all), in the order of the keys' bytes. Objects put or deleted meanwhile may
	// be seen or not. It ends with the first error.
	List(ctx context.Context, prefix string) iter.Seq2[Object, error]
	// Folders yields the names of the folders right below prefix ("" or a key
	// that ends in "/"), in order: those that hold an object at any depth, and
	// those made by MakeFolder.
	Folders(ctx context.Context, prefix string) iter.Seq2[string, error]
	// MakeFolder makes an empty folder; key ends in "/". It may exist already.
	MakeFolder(ctx context.Context, key string) error
}

// Local is a Store whose objects are files that other code may read in place.
type Local interface {
	// LocalPath returns the file that holds key, whether it exists or not.
	LocalPath(key string) string
}

// Sweeper is a Store that a crash can leave with litter of its own, which List
// does not show: temporary files, unfinished uploads.
type Sweeper interface {
	// SweepLitter removes what was begun before olderThan and names it.
	SweepLitter(ctx context.Context, olderThan time.Time) ([]string, error)
}

const (
	maxKeyBytes     = 1024 // S3's limit
	maxSegmentBytes = 255  // what common file systems take
)

// CheckKey says what is wrong with the key of an object. Keys are valid UTF-8 of
// at most 1024 bytes: segments of 1 to 255 bytes joined by "/", none of them
// "." or "..", without NUL, and none in the form of a temporary name.
func CheckKey(key string) error {
	if len(key) > maxKeyBytes {
		return fmt.Errorf("key of %d bytes is longer than %d", len(key), maxKeyBytes)
	}
	if !utf8.ValidString(key) || strings.IndexByte(key, 0) >= 0 {
		return fmt.Errorf("key %q is not plain UTF-8", key)
	}
	for rest, more := key, true; more; {
		var seg string
		seg, rest, more = strings.Cut(rest, "/")
		switch {
		case seg == "" || seg == "." || seg == "..":
			return fmt.Errorf("key %q has the segment %q", key, seg)
		case len(seg) > maxSegmentBytes:
			return fmt.Errorf("key %q has a segment of %d bytes, more than %d", key, len(seg), maxSegmentBytes)
		case IsTemp(seg):
			return fmt.Errorf("key %q has the form of a temporary name", key)
		}
	}
	return nil
}

// CheckFolder says what is wrong with the key of a folder: that of an object and
// a "/" at the end.
func CheckFolder(key string) error {
	name, ok := strings.CutSuffix(key, "/")
	if !ok {
		return fmt.Errorf("folder key %q does not end in \"/\"", key)
	}
	return CheckKey(name)
}

// CheckPrefix says what is wrong with a prefix for List: like the beginning of a
// key, or "".
func CheckPrefix(prefix string) error {
	folder := prefix[:strings.LastIndexByte(prefix, '/')+1]
	if folder != "" {
		if err := CheckFolder(folder); err != nil {
			return err
		}
	}
	if last := prefix[len(folder):]; last == ".." || last == "." || strings.IndexByte(last, 0) >= 0 {
		return fmt.Errorf("prefix %q ends in %q", prefix, last)
	}
	return nil
}

// IsTemp reports whether a name is that of a file which is still being written,
// ".NAME.UUID.tmp" in the folder of its target. Such names are never listed.
func IsTemp(name string) bool {
	return strings.HasPrefix(name, ".") && strings.HasSuffix(name, ".tmp")
}

// fail yields one error and ends.
func fail[T any](err error) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var none T
		yield(none, err)
	}
}
