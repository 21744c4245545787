package filestore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sort"

	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"

	"dtstore/table"
)

// pageIndex says where the pages of a column chunk lie and, if the writer
// said so, what is in them.
type pageIndex struct {
	pages []format.PageLocation // FirstRowIndex counts from the start of the row group
	rows  int64                 // of the row group
	// Bounds of each page as the format stores them; nil if there are none. A
	// page of NULLs alone has no bounds: see nulls.
	min, max [][]byte
	nulls    []bool
}

// page is the page that holds a row of the row group.
func (x *pageIndex) page(row int64) int {
	return sort.Search(len(x.pages), func(i int) bool { return x.pages[i].FirstRowIndex > row }) - 1
}

// first is the first row of page i, or the number of rows for i = len(pages).
func (x *pageIndex) first(i int) int64 {
	if i >= len(x.pages) {
		return x.rows
	}
	return x.pages[i].FirstRowIndex
}

// index reads the page index of a column chunk, nil if the file has none. It
// is kept with the file.
func (f *file) index(ctx context.Context, group, leaf int) (*pageIndex, error) {
	f.mu.Lock()
	x, ok := f.indexes[[2]int{group, leaf}]
	f.mu.Unlock()
	if ok {
		return x, nil
	}
	x, err := f.readIndex(ctx, group, leaf)
	if err != nil {
		return nil, fmt.Errorf("page index of column %s: %w", f.leaves[leaf].name, err)
	}
	f.mu.Lock()
	f.indexes[[2]int{group, leaf}] = x
	f.mu.Unlock()
	return x, nil
}

func (f *file) readIndex(ctx context.Context, group, leaf int) (*pageIndex, error) {
	c := &f.meta.RowGroups[group].Columns[leaf]
	if c.OffsetIndexOffset <= 0 || c.OffsetIndexLength <= 0 {
		return nil, nil
	}
	var offsets format.OffsetIndex
	if err := f.thrift(ctx, &offsets, c.OffsetIndexOffset, int64(c.OffsetIndexLength)); err != nil {
		return nil, err
	}
	x := &pageIndex{pages: offsets.PageLocations, rows: f.meta.RowGroups[group].NumRows}
	_, from, to, err := f.chunk(group, leaf)
	if err != nil {
		return nil, err
	}
	row := int64(-1)
	for i, p := range x.pages {
		if p.Offset < from || p.CompressedPageSize <= 0 || p.Offset+int64(p.CompressedPageSize) > to {
			return nil, fmt.Errorf("page %d: %d bytes at %d", i, p.CompressedPageSize, p.Offset)
		}
		if p.FirstRowIndex <= row || i == 0 && p.FirstRowIndex != 0 || p.FirstRowIndex >= max(x.rows, 1) {
			return nil, fmt.Errorf("page %d begins at row %d", i, p.FirstRowIndex)
		}
		row = p.FirstRowIndex
	}
	if c.ColumnIndexOffset <= 0 || c.ColumnIndexLength <= 0 {
		return x, nil
	}
	var bounds format.ColumnIndex
	if err := f.thrift(ctx, &bounds, c.ColumnIndexOffset, int64(c.ColumnIndexLength)); err != nil {
		return nil, err
	}
	if n := len(x.pages); len(bounds.MinValues) == n && len(bounds.MaxValues) == n && len(bounds.NullPages) == n {
		x.min, x.max, x.nulls = bounds.MinValues, bounds.MaxValues, bounds.NullPages
	}
	return x, nil
}

// maxIndexBytes bounds a page index: 1 MB keys have large bounds.
const maxIndexBytes = 256 << 20

func (f *file) thrift(ctx context.Context, v any, off, n int64) error {
	if n > maxIndexBytes || off+n > f.size {
		return fmt.Errorf("%d bytes at %d of %d", n, off, f.size)
	}
	buf := make([]byte, n)
	if err := f.src.read(ctx, buf, off); err != nil {
		return err
	}
	var p thrift.CompactProtocol
	return thrift.Unmarshal(&p, buf, v)
}

// chunkReader reads the pages of one column chunk in order, or from a row on.
type chunkReader struct {
	pageDecoder
	f           *file
	group, leaf int
	meta        *format.ColumnMetaData

	win      []byte // bytes of the file from winOff on
	winOff   int64
	off, end int64 // of the next page; of the chunk
	row      int64 // of the row group, where the next page begins
	window   int   // bytes to read at a time
	thrift   thrift.CompactProtocol
}

// chunkReader starts at the first page.
func (f *file) chunkReader(group, leaf int, t table.Type, reuse bool) (*chunkReader, error) {
	meta, from, to, err := f.chunk(group, leaf)
	if err != nil {
		return nil, err
	}
	l := &f.leaves[leaf]
	return &chunkReader{
		pageDecoder: pageDecoder{leaf: l, codec: meta.Codec, cells: newCellReader(t, l.elem), reuse: reuse},
		f:           f, group: group, leaf: leaf, meta: meta, off: from, end: to, window: f.windowOf(1),
	}, nil
}

// windowOf is how much a column reads at a time when so many are read: of a
// remote file a lot, but all columns together within bounds.
func (f *file) windowOf(columns int) int {
	if !f.remote {
		return f.window
	}
	return max(f.window/max(columns, 4), localWindow)
}

// seek moves to the page that holds a row and returns how many rows of that
// page come before it. Only a chunk with a page index can move at once;
// otherwise the caller skips rows of pages as they come.
func (c *chunkReader) seek(ctx context.Context, row int64) error {
	x, err := c.f.index(ctx, c.group, c.leaf)
	if err != nil || x == nil || len(x.pages) == 0 {
		return err
	}
	i := x.page(row)
	if c.dict == nil && i > 0 {
		if err := c.loadDictionary(ctx, x.pages[0].Offset); err != nil {
			return err
		}
	}
	if i > 0 {
		c.off, c.row = x.pages[i].Offset, x.pages[i].FirstRowIndex
	}
	return nil
}

// loadDictionary reads the dictionary page, if the chunk has one before its
// first data page.
func (c *chunkReader) loadDictionary(ctx context.Context, firstPage int64) error {
	if c.off >= firstPage {
		return nil
	}
	h, body, err := c.raw(ctx)
	if err != nil {
		return err
	}
	if h.Type != format.DictionaryPage {
		return nil
	}
	return c.dictionary(h, body)
}

// next decodes the next data page, io.EOF after the last.
func (c *chunkReader) next(ctx context.Context) (*vector, error) {
	for c.off < c.end && c.row < c.f.meta.RowGroups[c.group].NumRows {
		h, body, err := c.raw(ctx)
		if err != nil {
			return nil, err
		}
		switch h.Type {
		case format.DictionaryPage:
			if c.dict == nil {
				if err := c.dictionary(h, body); err != nil {
					return nil, err
				}
			}
			continue
		case format.IndexPage:
			continue
		}
		v, err := c.data(h, body)
		if err != nil {
			return nil, err
		}
		c.row += int64(v.n)
		if v.n > 0 {
			return v, nil
		}
	}
	return nil, io.EOF
}

// raw gives the next page's header and its bytes, which stay valid until the
// next call, and moves behind it.
func (c *chunkReader) raw(ctx context.Context) (*format.PageHeader, []byte, error) {
	want := int64(512) // enough for a header without statistics
	for {
		buf, err := c.bytes(ctx, want)
		if err != nil {
			return nil, nil, err
		}
		h := new(format.PageHeader)
		r := c.thrift.NewReaderFromBytes(buf)
		err = thrift.NewDecoder(r).Decode(h)
		if err != nil {
			if int64(len(buf)) < min(c.end-c.off, 64<<20) && (errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)) {
				want = int64(len(buf)) * 4
				continue
			}
			return nil, nil, fmt.Errorf("page header: %w", err)
		}
		n, size := int64(r.BytesRead()), int64(h.CompressedPageSize)
		if size < 0 || c.off+n+size > c.end {
			return nil, nil, fmt.Errorf("page of %d bytes runs past its chunk", size)
		}
		if buf, err = c.bytes(ctx, n+size); err != nil {
			return nil, nil, err
		}
		c.off += n + size
		return h, buf[n : n+size], intact(h, buf[n:n+size])
	}
}

// bytes gives at least n bytes from off on, fewer only at the chunk's end.
func (c *chunkReader) bytes(ctx context.Context, n int64) ([]byte, error) {
	n = min(n, c.end-c.off)
	if at := c.off - c.winOff; at >= 0 && at+n <= int64(len(c.win)) {
		return c.win[at:], nil
	}
	size := min(max(n, int64(c.window)), c.end-c.off)
	if int64(cap(c.win)) < size {
		c.win = make([]byte, size)
	}
	c.win = c.win[:size]
	if err := c.f.src.read(ctx, c.win, c.off); err != nil {
		c.win = c.win[:0]
		return nil, err
	}
	c.winOff = c.off
	return c.win, nil
}
