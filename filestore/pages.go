package filestore

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"strings"
	"sync"

	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"

	"dtstore/table"
)

// pageID names a decoded page in the cache; page -1 is the dictionary.
type pageID struct {
	file              int64
	group, leaf, page int
}

// keyPage gives page no of a key column's chunk, decoded. Key pages have a
// cache of their own: every lookup needs one.
func (s *Store) keyPage(ctx context.Context, f *file, group, leaf, no int, t table.Type, x *pageIndex) (*vector, error) {
	id := pageID{f.id, group, leaf, no}
	if v, ok := s.keys.get(id); ok {
		return v, nil
	}
	v, err := s.decodePage(ctx, f, group, leaf, no, t, x)
	if err == nil {
		s.keys.put(id, v, v.bytes())
	}
	return v, err
}

// page gives page no of a column chunk, decoded, and keeps it.
func (s *Store) page(ctx context.Context, f *file, group, leaf, no int, t table.Type, x *pageIndex) (*vector, error) {
	v, err := s.decodePage(ctx, f, group, leaf, no, t, x)
	if err == nil {
		s.pages.put(pageID{f.id, group, leaf, no}, v, v.bytes())
	}
	return v, err
}

// wanted says whether a page was asked for before, not long ago.
func (s *Store) wanted(id pageID) bool {
	if _, ok := s.seen.get(id); ok {
		return true
	}
	s.seen.put(id, struct{}{}, 1)
	return false
}

// decodePage reads and decodes one page.
func (s *Store) decodePage(ctx context.Context, f *file, group, leaf, no int, t table.Type, x *pageIndex) (*vector, error) {
	l := &f.leaves[leaf]
	d := pageDecoder{leaf: l, cells: newCellReader(t, l.elem)}
	r := readers.Get().(*pageReader)
	defer readers.Put(r)
	if err := s.prepare(ctx, &d, r, f, group, leaf, x); err != nil {
		return nil, err
	}
	h, body, err := r.page(ctx, f, x.pages[no].Offset, int64(x.pages[no].CompressedPageSize))
	if err != nil {
		return nil, err
	}
	v, err := d.data(h, body)
	if err != nil {
		return nil, err
	}
	if want := x.first(no+1) - x.first(no); int64(v.n) != want {
		return nil, fmt.Errorf("page of %d rows, its index says %d", v.n, want)
	}
	return v, nil
}

// point reads one cell, row at of page no.
func (s *Store) point(ctx context.Context, f *file, group, leaf, no int, t table.Type, x *pageIndex, at int) (table.Value, error) {
	l := &f.leaves[leaf]
	r := readers.Get().(*pageReader)
	d := &r.dec
	defer func() {
		d.dict = nil // not ours to keep
		readers.Put(r)
	}()
	d.leaf, d.cells, d.dict, d.reuse = l, newCellReader(t, l.elem), nil, true
	if err := s.prepare(ctx, d, r, f, group, leaf, x); err != nil {
		return table.Value{}, err
	}
	h, body, err := r.page(ctx, f, x.pages[no].Offset, int64(x.pages[no].CompressedPageSize))
	if err != nil {
		return table.Value{}, err
	}
	return d.point(h, body, at)
}

// prepare gives the decoder the chunk's codec and dictionary.
func (s *Store) prepare(ctx context.Context, d *pageDecoder, r *pageReader, f *file, group, leaf int, x *pageIndex) error {
	meta, from, _, err := f.chunk(group, leaf)
	if err != nil {
		return err
	}
	d.codec = meta.Codec
	first := x.pages[0].Offset
	if from >= first {
		return nil
	}
	id := pageID{f.id, group, leaf, -1}
	if v, ok := s.pages.get(id); ok {
		d.dict = v.vals
		return nil
	}
	h, body, err := r.page(ctx, f, from, first-from)
	if err != nil || h.Type != format.DictionaryPage {
		return err
	}
	if err := d.dictionary(h, body); err != nil {
		return err
	}
	s.pages.put(id, &vector{vals: d.dict}, d.dict.bytes()+200)
	return nil
}

// pageReader is the memory that reading single pages needs, to be used again.
type pageReader struct {
	buf    []byte
	dec    pageDecoder
	header format.PageHeader
	proto  thrift.CompactProtocol
}

// readers are pageReaders at rest.
var readers = sync.Pool{New: func() any { return new(pageReader) }}

// page reads one page of n bytes, header included. What it returns is valid
// until the next call.
func (r *pageReader) page(ctx context.Context, f *file, off, n int64) (*format.PageHeader, []byte, error) {
	r.buf = grow(r.buf, int(n))
	if err := f.src.read(ctx, r.buf, off); err != nil {
		return nil, nil, err
	}
	b := r.proto.NewReaderFromBytes(r.buf)
	r.header = format.PageHeader{}
	if err := thrift.NewDecoder(b).Decode(&r.header); err != nil {
		return nil, nil, fmt.Errorf("page header: %w", err)
	}
	body := r.buf[b.BytesRead():]
	size := int64(r.header.CompressedPageSize)
	if size < 0 || size > int64(len(body)) {
		return nil, nil, fmt.Errorf("page of %d bytes in %d", size, len(body))
	}
	return &r.header, body[:size], intact(&r.header, body[:size])
}

// point decodes row at of a page alone, as far as its encoding allows. The
// value has memory of its own.
func (d *pageDecoder) point(h *format.PageHeader, body []byte, at int) (table.Value, error) {
	n, enc, levels, body, err := d.open(h, body, d.plainBuf)
	if err != nil {
		return table.Value{}, err
	}
	d.plainBuf = body[:0:cap(body)]
	if levels, body, err = d.split(h, levels, body); err != nil {
		return table.Value{}, err
	}
	if at < 0 || at >= n {
		return table.Value{}, fmt.Errorf("row %d of a page of %d: %w", at, n, errShortPage)
	}
	if d.leaf.optional && !oneRun(levels, n) {
		d.levels = grow(d.levels, at+1)
		if err := hybrid(d.levels, levels, 1); err != nil {
			return table.Value{}, err
		}
		if d.levels[at] == 0 {
			return table.Value{}, nil
		}
		set := 0
		for _, l := range d.levels[:at] {
			set += int(l)
		}
		at = set
	}
	return d.pick(enc, body, at, n)
}

// pick decodes value at of at most n.
func (d *pageDecoder) pick(enc format.Encoding, body []byte, at, n int) (table.Value, error) {
	one := func(width int) ([]byte, error) {
		if len(body)/width <= at {
			return nil, errShortPage
		}
		return body[at*width : (at+1)*width], nil
	}
	var x values
	switch p := physical(d.leaf.elem); {
	case enc == format.RLEDictionary || enc == format.PlainDictionary:
		if d.dict == nil || len(body) == 0 {
			return table.Value{}, errShortPage
		}
		i, err := hybridAt(body[1:], uint(body[0]), at)
		if err != nil {
			return table.Value{}, err
		}
		if i < 0 || int(i) >= len(d.dict.cells) {
			return table.Value{}, fmt.Errorf("dictionary index %d of %d", i, len(d.dict.cells))
		}
		return d.dict.cells[i], nil
	case enc == format.Plain && p == format.Int32:
		b, err := one(4)
		if err != nil {
			return table.Value{}, err
		}
		x.i32 = []int32{int32(binary.LittleEndian.Uint32(b))}
		return d.cells.cell(&x, 0)
	case enc == format.Plain && p == format.Int64:
		b, err := one(8)
		if err != nil {
			return table.Value{}, err
		}
		x.i64 = []int64{int64(binary.LittleEndian.Uint64(b))}
		return d.cells.cell(&x, 0)
	case enc == format.Plain && p == format.Double:
		b, err := one(8)
		if err != nil {
			return table.Value{}, err
		}
		return table.FloatOf(math.Float64frombits(binary.LittleEndian.Uint64(b))), nil
	case enc == format.Plain && p == format.ByteArray:
		return d.pickString(body, at)
	}
	// The others are decoded from the beginning. How many values there are
	// besides NULLs is not needed, only that there are enough.
	switch enc {
	case format.DeltaBinaryPacked:
		i, err := deltaAt(body, at)
		if err != nil {
			return table.Value{}, err
		}
		if physical(d.leaf.elem) == format.Int32 {
			x.i32 = []int32{int32(i)}
		} else {
			x.i64 = []int64{i}
		}
		return d.cells.cell(&x, 0)
	case format.DeltaByteArray, format.DeltaLengthByteArray:
		h, _, err := readDeltaHead(body)
		if err != nil {
			return table.Value{}, err
		}
		if n = h.total; n <= at {
			return table.Value{}, errShortPage
		}
	default:
		n = at + 1
	}
	d.vals.data, d.vals.from, d.vals.to = nil, nil, nil
	if err := d.encoded(&d.vals, enc, body, n); err != nil {
		return table.Value{}, err
	}
	v, err := d.cells.cell(only(&d.vals, physical(d.leaf.elem)), at)
	if err == nil && v.Str() != "" {
		v = table.StringOf(strings.Clone(v.Str()))
	}
	return v, err
}

// pickString walks to byte array at.
func (d *pageDecoder) pickString(body []byte, at int) (table.Value, error) {
	for ; ; at-- {
		if len(body) < 4 {
			return table.Value{}, errShortPage
		}
		k := uint64(binary.LittleEndian.Uint32(body))
		if k > uint64(len(body)-4) {
			return table.Value{}, errShortPage
		}
		if at > 0 {
			body = body[4+k:]
			continue
		}
		v, err := d.cells.cell(&values{data: body, from: []uint32{4}, to: []uint32{uint32(4 + k)}}, 0)
		if err == nil && d.cells.typ.Kind != table.Decimal {
			v = table.StringOf(strings.Clone(v.Str()))
		}
		return v, err
	}
}

// only hides the slices that are left from columns of other types.
func only(x *values, p format.Type) *values {
	switch p {
	case format.Int32:
		return &values{i32: x.i32}
	case format.Int64:
		return &values{i64: x.i64}
	}
	return &values{f32: x.f32, f64: x.f64, bits: x.bits, data: x.data, from: x.from, to: x.to, width: x.width}
}
