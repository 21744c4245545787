package filestore

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"

	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"

	"dtstore/objstore"
	"dtstore/table"
)

// source reads the bytes of one immutable object.
type source interface {
	// read fills p with the bytes from off on.
	read(ctx context.Context, p []byte, off int64) error
}

// localSource is a file on this machine. It is closed by the runtime when the
// last reader has let it go: it may be evicted while it is being read.
type localSource struct{ f *os.File }

func (s localSource) read(_ context.Context, p []byte, off int64) error {
	_, err := s.f.ReadAt(p, off)
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

// remoteSource reads ranges of an object.
type remoteSource struct {
	objs objstore.Store
	key  string
}

func (s remoteSource) read(ctx context.Context, p []byte, off int64) error {
	b, err := s.objs.GetRange(ctx, s.key, off, int64(len(p)))
	if err != nil {
		return err
	}
	if copy(p, b) < len(p) {
		return io.ErrUnexpectedEOF
	}
	return nil
}

// tailSource answers from the end of the object, which was read to open it.
type tailSource struct {
	source
	off  int64
	tail []byte
}

func (s tailSource) read(ctx context.Context, p []byte, off int64) error {
	if off >= s.off && off+int64(len(p)) <= s.off+int64(len(s.tail)) {
		copy(p, s.tail[off-s.off:])
		return nil
	}
	return s.source.read(ctx, p, off)
}

// file is an opened data file: its footer, and how to read the rest. It is
// immutable but for the page indexes, which are read when first wanted.
type file struct {
	id     int64  // of this opening, in the page cache
	name   string // the object's key
	src    source
	size   int64
	window int // bytes that reading on reads at a time, over all columns if remote
	remote bool
	meta   format.FileMetaData
	leaves []leafColumn
	byName map[string]int // leaves at the top level
	starts []int64        // first row of each row group, and the number of rows

	mu      sync.Mutex // guards what follows: what was read of the page indexes
	indexes map[[2]int]*pageIndex
	bounds  map[[2]int]*keyBounds
	groups  map[int]*keyGroups
}

// openings numbers opened files.
var openings atomic.Int64

// leafColumn is one column of a file, and how its values are stored.
type leafColumn struct {
	name     string
	top      bool // a plain column, not part of a nested one
	optional bool
	elem     *format.SchemaElement
}

const (
	tailBytes       = 64 << 10
	remoteTailBytes = 512 << 10
	maxFooterBytes  = 256 << 20
	localWindow     = 256 << 10
	remoteWindow    = 16 << 20
)

// openFile reads the footer of a Parquet object of size bytes.
func openFile(ctx context.Context, name string, src source, size int64, local bool) (f *file, err error) {
	defer guard(&err)
	f = &file{name: name, src: src, size: size, window: localWindow,
		id: openings.Add(1), indexes: map[[2]int]*pageIndex{}, bounds: map[[2]int]*keyBounds{}, groups: map[int]*keyGroups{}}
	tail := int64(tailBytes)
	if !local {
		f.window, f.remote, tail = remoteWindow, true, remoteTailBytes
	}
	tail = min(tail, size)
	if size < 12 {
		return nil, fmt.Errorf("%d bytes are no Parquet file", size)
	}
	buf := make([]byte, tail)
	if err := src.read(ctx, buf, size-tail); err != nil {
		return nil, err
	}
	if magic := string(buf[len(buf)-4:]); magic != "PAR1" {
		return nil, fmt.Errorf("ends in %q where a Parquet file has PAR1", magic)
	}
	n := int64(binary.LittleEndian.Uint32(buf[len(buf)-8:]))
	if n > size-12 || n > maxFooterBytes {
		return nil, fmt.Errorf("footer of %d bytes in a file of %d", n, size)
	}
	if n+8 > tail {
		tail = n + 8
		buf = make([]byte, tail)
		if err := src.read(ctx, buf, size-tail); err != nil {
			return nil, err
		}
	}
	if !local {
		f.src = tailSource{src, size - tail, buf}
	}
	var p thrift.CompactProtocol
	footer := buf[int64(len(buf))-8-n : len(buf)-8]
	if err := thrift.Unmarshal(&p, append([]byte(nil), footer...), &f.meta); err != nil {
		return nil, fmt.Errorf("footer: %w", err)
	}
	return f, f.check()
}

// check walks the schema and refuses what does not hold together.
func (f *file) check() error {
	if len(f.meta.Schema) == 0 {
		return fmt.Errorf("footer without a schema")
	}
	f.byName = map[string]int{}
	at := 1
	var walk func(children, depth int) error
	walk = func(children, depth int) error {
		for range children {
			if at >= len(f.meta.Schema) || depth > 64 {
				return fmt.Errorf("footer's schema is cut short")
			}
			e := &f.meta.Schema[at]
			at++
			if kids := childCount(e); kids > 0 {
				if err := walk(kids, depth+1); err != nil {
					return err
				}
				continue
			}
			rep := repetition(e)
			l := leafColumn{name: e.Name, elem: e, top: depth == 0 && rep != format.Repeated, optional: rep == format.Optional}
			if l.top {
				f.byName[e.Name] = len(f.leaves)
			}
			f.leaves = append(f.leaves, l)
		}
		return nil
	}
	if err := walk(childCount(&f.meta.Schema[0]), 0); err != nil {
		return err
	}
	row := int64(0)
	f.starts = []int64{0}
	for i := range f.meta.RowGroups {
		g := &f.meta.RowGroups[i]
		if len(g.Columns) != len(f.leaves) {
			return fmt.Errorf("row group %d has %d columns, the schema %d", i, len(g.Columns), len(f.leaves))
		}
		if g.NumRows < 0 || row+g.NumRows < row {
			return fmt.Errorf("row group %d has %d rows", i, g.NumRows)
		}
		row += g.NumRows
		f.starts = append(f.starts, row)
	}
	if row != f.meta.NumRows {
		return fmt.Errorf("row groups have %d rows, the footer says %d", row, f.meta.NumRows)
	}
	return nil
}

func (f *file) rows() int64 { return f.starts[len(f.starts)-1] }

// chunk checks and returns where the pages of a column lie in a row group.
func (f *file) chunk(group, leaf int) (*format.ColumnMetaData, int64, int64, error) {
	m := &f.meta.RowGroups[group].Columns[leaf].MetaData
	if f.meta.RowGroups[group].Columns[leaf].FilePath != "" {
		return nil, 0, 0, fmt.Errorf("column %s lies in another file", f.leaves[leaf].name)
	}
	from := m.DataPageOffset
	if m.DictionaryPageOffset > 0 && m.DictionaryPageOffset < from {
		from = m.DictionaryPageOffset
	}
	if from < 4 || m.TotalCompressedSize < 0 || from+m.TotalCompressedSize < from || from+m.TotalCompressedSize > f.size {
		return nil, 0, 0, fmt.Errorf("column %s: %d bytes at %d of %d", f.leaves[leaf].name, m.TotalCompressedSize, from, f.size)
	}
	return m, from, from + m.TotalCompressedSize, nil
}

// find gives the leaf that holds a table's column, after checking that its
// physical type can.
func (f *file) find(name string, t table.Type) (int, error) {
	i, ok := f.byName[name]
	if !ok {
		return 0, fmt.Errorf("has no column %q", name)
	}
	l := &f.leaves[i]
	if !storable(t, l.elem) {
		return 0, fmt.Errorf("column %q is stored as %v, not as %v needs it", name, physical(l.elem), t)
	}
	return i, nil
}

// guard turns a panic over damaged bytes into an error.
func guard(err *error) {
	if r := recover(); r != nil {
		*err = fmt.Errorf("damaged Parquet: %v", r)
	}
}
