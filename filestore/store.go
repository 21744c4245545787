package filestore

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"strings"

	"dtstore/manifest"
	"dtstore/objstore"
	"dtstore/table"
)

// Options of a Store. The zero value is what we would run ourselves on a
// directory; a remote store needs CacheDir for Local.
type Options struct {
	CacheDir        string // local copies of remote files; "" keeps none
	CacheBytes      int64  // of those copies together; 0 means 10 GiB
	SpoolDir        string // files on their way to a remote store; "" means the system's temporary folder
	TargetFileBytes int64  // where a run rolls to its next file; 0 means the table's option target-file-size, else 128 MB keyed, 256 MB append
	MemoryBytes     int64  // decoded pages, footers and masks kept between reads; 0 means 128 MiB
}

// Validate says what is wrong with the options.
func (o Options) Validate() error {
	var errs []error
	for name, v := range map[string]int64{"cache bytes": o.CacheBytes, "target file bytes": o.TargetFileBytes, "memory bytes": o.MemoryBytes} {
		if v < 0 {
			errs = append(errs, fmt.Errorf("filestore: %s: %d is negative", name, v))
		}
	}
	return errors.Join(errs...)
}

// Store writes and reads the data files of tables. All methods may be called
// from any goroutine.
type Store struct {
	objs  objstore.Store
	local objstore.Local // nil if objs is remote
	opts  Options
	cache *cache // nil without CacheDir or if objs is local

	files *lru[string, *file]
	keys  *lru[pageID, *vector]  // pages of key columns that lookups read
	pages *lru[pageID, *vector]  // pages of other columns, and dictionaries
	seen  *lru[pageID, struct{}] // pages that were wanted once
	masks *lru[string, Mask]
}

// maxOpenFiles bounds the footers, and with them the open files, that are kept.
const maxOpenFiles = 512

// seenPages is how many pages are remembered as wanted once. It is small, so
// that lookups all over a large table do not decode and keep pages in vain.
const seenPages = 1024

// Open makes a Store over objs.
func Open(objs objstore.Store, opts Options) (*Store, error) {
	if err := opts.Validate(); err != nil {
		return nil, err
	}
	if opts.CacheBytes == 0 {
		opts.CacheBytes = 10 << 30
	}
	if opts.MemoryBytes == 0 {
		opts.MemoryBytes = 128 << 20
	}
	s := &Store{
		objs: objs, opts: opts,
		files: newLRU[string, *file](maxOpenFiles),
		keys:  newLRU[pageID, *vector](opts.MemoryBytes / 2),
		pages: newLRU[pageID, *vector](opts.MemoryBytes / 4),
		seen:  newLRU[pageID, struct{}](seenPages),
		masks: newLRU[string, Mask](opts.MemoryBytes / 4),
	}
	s.local, _ = objs.(objstore.Local)
	if opts.SpoolDir != "" {
		if err := os.MkdirAll(opts.SpoolDir, 0o755); err != nil {
			return nil, fmt.Errorf("spool folder: %w", err)
		}
	}
	if s.local == nil && opts.CacheDir != "" {
		c, err := openCache(objs, opts.CacheDir, opts.CacheBytes)
		if err != nil {
			return nil, err
		}
		s.cache = c
	}
	return s, nil
}

// key is the object key of a file, or why it cannot be read.
func (s *Store) key(p Place, f *manifest.File) (string, error) {
	if f.ExternalPath != nil && *f.ExternalPath != "" {
		return "", table.Errorf("0A000", "file %s lies outside the table's folder", f.Name).
			WithHint("Tables with data-file.external-paths cannot be read.")
	}
	if strings.ContainsAny(f.Name, "/\\") || f.Name == "" || f.Name == "." || f.Name == ".." {
		return "", fmt.Errorf("file name %q in a manifest", f.Name)
	}
	switch format := fileFormat(f.Name); format {
	case "parquet":
	case "":
		return "", table.Errorf("0A000", "file %s has no known format", f.Name)
	default:
		return "", table.Errorf("0A000", "file %s is in the format %s, which cannot be read", f.Name, format).
			WithHint("Only Parquet data files are read (file.format = parquet).")
	}
	if _, err := PartitionPath(p.Schema, p.Partition); err != nil {
		return "", fmt.Errorf("file %s: %w", f.Name, err)
	}
	return DataPath(p, *f), nil
}

// fileFormat is a data file's format: its last extension but that of a
// compression.
func fileFormat(name string) string {
	ext := strings.TrimPrefix(path.Ext(name), ".")
	switch ext {
	case "gz", "zst", "zstd", "snappy", "lz4", "bz2", "deflate", "xz", "lzo":
		name = strings.TrimSuffix(name, "."+ext)
		ext = strings.TrimPrefix(path.Ext(name), ".")
	}
	return ext
}

// open gives an opened file, from memory if it was used before.
func (s *Store) open(ctx context.Context, p Place, e *manifest.File) (*file, error) {
	key, err := s.key(p, e)
	if err != nil {
		return nil, err
	}
	if f, ok := s.files.get(key); ok {
		return f, nil
	}
	var src source = remoteSource{s.objs, key}
	local := false
	if s.local != nil {
		f, err := os.Open(s.local.LocalPath(key))
		if err != nil {
			if os.IsNotExist(err) {
				err = objstore.ErrNotExist
			}
			return nil, fmt.Errorf("read %s: %w", key, err)
		}
		src, local = localSource{f}, true
	} else if s.cache != nil {
		if name, ok := s.cache.has(key, e.Size); ok {
			if f, err := os.Open(name); err == nil {
				src, local = localSource{f}, true
			}
		}
	}
	f, err := openFile(ctx, key, src, e.Size, local)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", key, readError(err))
	}
	s.files.put(key, f, 1)
	return f, nil
}

// readError gives errors that a client can act on their code.
func readError(err error) error {
	var coded *table.Error
	switch {
	case errors.As(err, &coded):
		return err
	case errors.Is(err, errCodec):
		return table.Errorf("0A000", "%w", err)
	case errors.Is(err, objstore.ErrNotExist), errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	}
	return err
}

// Local gives the path of a local file with the bytes of e, for readers that
// need one: in place if the store is a directory, else a copy. The file stays
// until release is called, which must happen once the reader is done.
func (s *Store) Local(ctx context.Context, p Place, e manifest.Entry) (file string, release func(), err error) {
	key, err := s.key(p, &e.File)
	if err != nil {
		return "", nil, err
	}
	if s.local != nil {
		file := s.local.LocalPath(key)
		if _, err := os.Stat(file); err != nil {
			if os.IsNotExist(err) {
				err = objstore.ErrNotExist
			}
			return "", nil, fmt.Errorf("read %s: %w", key, err)
		}
		return file, func() {}, nil
	}
	if s.cache == nil {
		return "", nil, fmt.Errorf("read %s: the file store was opened without a cache folder", key)
	}
	file, release, err = s.cache.open(ctx, key, e.File.Size)
	if err != nil {
		return "", nil, fmt.Errorf("read %s: %w", key, err)
	}
	return file, release, nil
}

// Remove deletes a data file with its side files. One that is gone already is
// no error. The caller knows that nothing refers to it.
func (s *Store) Remove(ctx context.Context, p Place, f manifest.File) error {
	key := DataPath(p, f)
	s.files.remove(key)
	if s.cache != nil {
		s.cache.forget(key)
	}
	for _, side := range f.ExtraFiles {
		if err := s.objs.Delete(ctx, path.Dir(key)+"/"+side); err != nil {
			return err
		}
	}
	return s.objs.Delete(ctx, key)
}

// Raw says whether readers may take the rows of the runs as they lie in the
// files: no two files share a key range, and no file has a retraction, or
// might have one.
func Raw(s *table.Schema, runs []manifest.SortedRun) (bool, error) {
	if !s.Keyed() {
		return true, nil
	}
	for _, r := range runs {
		for _, e := range r.Files {
			if e.File.DeleteRows == nil || *e.File.DeleteRows != 0 {
				return false, nil
			}
		}
	}
	sections, _, err := sections(s, runs)
	if err != nil {
		return false, err
	}
	for _, sec := range sections {
		if len(sec) > 1 {
			return false, nil
		}
	}
	return true, nil
}
