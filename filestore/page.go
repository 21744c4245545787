package filestore

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"

	"dtstore/table"
)

// maxPageRows bounds the rows of a page. Java's have 20,000.
const maxPageRows = 1 << 26

// intact checks a page against its checksum, if it has one.
func intact(h *format.PageHeader, body []byte) error {
	if h.CRC != 0 && crc32.ChecksumIEEE(body) != uint32(h.CRC) {
		return errors.New("page does not match its checksum")
	}
	return nil
}

// pageDecoder decodes the pages of one column chunk. Vectors that it returns
// share its buffers if reuse is set, and are then valid until the next page;
// byte arrays always get memory of their own.
type pageDecoder struct {
	leaf  *leafColumn
	codec format.CompressionCodec
	cells cellReader
	dict  *values
	reuse bool

	plainBuf []byte
	levels   []int32
	vec      vector
	vals     values
}

// dictionary decodes a dictionary page.
func (d *pageDecoder) dictionary(h *format.PageHeader, body []byte) error {
	if !h.DictionaryPageHeader.Valid {
		return errors.New("dictionary page without its header")
	}
	hd := h.DictionaryPageHeader.V
	if hd.Encoding != format.Plain && hd.Encoding != format.PlainDictionary {
		return fmt.Errorf("dictionary in %v", hd.Encoding)
	}
	raw, err := decompress(d.codec, nil, body, int(h.UncompressedPageSize))
	if err != nil {
		return err
	}
	var x values
	if err := d.plain(&x, raw, int(hd.NumValues)); err != nil {
		return err
	}
	x.cells = make([]table.Value, hd.NumValues)
	for i := range x.cells {
		if x.cells[i], err = d.cells.cell(&x, i); err != nil {
			return err
		}
	}
	d.dict = &x
	return nil
}

// data decodes a data page of either version.
func (d *pageDecoder) data(h *format.PageHeader, body []byte) (*vector, error) {
	n, enc, levels, body, err := d.open(h, body, d.scratch())
	if err != nil {
		return nil, err
	}
	if d.shareable() {
		d.plainBuf = body
	}
	if levels, body, err = d.split(h, levels, body); err != nil {
		return nil, err
	}
	return d.vector(n, enc, levels, body)
}

// open takes a page apart and decompresses it, into buf if it is large enough.
func (d *pageDecoder) open(h *format.PageHeader, in, buf []byte) (n int, enc format.Encoding, levels, body []byte, err error) {
	codec, size := d.codec, int(h.UncompressedPageSize)
	switch {
	case h.Type == format.DataPage && h.DataPageHeader.Valid:
		n, enc = int(h.DataPageHeader.V.NumValues), h.DataPageHeader.V.Encoding
	case h.Type == format.DataPageV2 && h.DataPageHeaderV2.Valid:
		v2 := &h.DataPageHeaderV2.V
		n, enc = int(v2.NumValues), v2.Encoding
		rep, def := int(v2.RepetitionLevelsByteLength), int(v2.DefinitionLevelsByteLength)
		if rep < 0 || def < 0 || rep+def > len(in) {
			return 0, 0, nil, nil, errShortPage
		}
		levels, in = in[rep:rep+def], in[rep+def:]
		size -= rep + def
		if v2.IsCompressed.Valid && !v2.IsCompressed.V {
			codec = format.Uncompressed
		}
	default:
		return 0, 0, nil, nil, fmt.Errorf("page of type %v", h.Type)
	}
	if n < 0 || n > maxPageRows {
		return 0, 0, nil, nil, fmt.Errorf("page of %d values", n)
	}
	body, err = decompress(codec, buf, in, size)
	return n, enc, levels, body, err
}

// split takes the levels off a page of version 1.
func (d *pageDecoder) split(h *format.PageHeader, levels, body []byte) ([]byte, []byte, error) {
	if h.Type != format.DataPage || !d.leaf.optional {
		return levels, body, nil
	}
	if len(body) < 4 {
		return nil, nil, errShortPage
	}
	k := binary.LittleEndian.Uint32(body)
	if uint64(k) > uint64(len(body)-4) {
		return nil, nil, errShortPage
	}
	return body[4 : 4+k], body[4+k:], nil
}

// shareable says whether pages may be decompressed into one buffer again and
// again: cells of byte arrays point into it, so for them they may not.
func (d *pageDecoder) shareable() bool {
	p := physical(d.leaf.elem)
	return d.reuse && p != format.ByteArray
}

func (d *pageDecoder) scratch() []byte {
	if d.shareable() {
		return d.plainBuf
	}
	return nil
}

// vector decodes levels and values of a page of n rows.
func (d *pageDecoder) vector(n int, enc format.Encoding, levels, body []byte) (*vector, error) {
	v, x := &d.vec, &d.vals
	if !d.reuse {
		v, x = new(vector), new(values)
	}
	v.n = n
	set := n
	var at []int32
	if d.leaf.optional && !oneRun(levels, n) {
		if cap(d.levels) < n || !d.reuse {
			d.levels = make([]int32, n)
		}
		at = d.levels[:n]
		if err := hybrid(at, levels, 1); err != nil {
			return nil, err
		}
		set = 0
		for i, l := range at {
			if l != 0 {
				at[i] = int32(set)
				set++
			} else {
				at[i] = -1
			}
		}
	}
	if enc == format.RLEDictionary || enc == format.PlainDictionary {
		return v, d.indexed(v, at, set, body)
	}
	v.at, v.vals = at, x
	return v, d.encoded(x, enc, body, set)
}

// indexed decodes indexes into the dictionary. at says which rows are set.
func (d *pageDecoder) indexed(v *vector, at []int32, set int, body []byte) error {
	if d.dict == nil {
		return errors.New("page needs a dictionary and there is none")
	}
	v.vals = d.dict
	idx := make([]int32, set)
	if set > 0 {
		if len(body) == 0 {
			return errShortPage
		}
		if err := hybrid(idx, body[1:], uint(body[0])); err != nil {
			return err
		}
	}
	size := int32(len(d.dict.cells))
	for _, i := range idx {
		if i < 0 || i >= size {
			return fmt.Errorf("dictionary index %d of %d", i, size)
		}
	}
	if at == nil {
		v.at = idx
		return nil
	}
	for row, i := range at {
		if i >= 0 {
			at[row] = idx[i]
		}
	}
	v.at = at
	return nil
}

// encoded decodes n values that are not indexes.
func (d *pageDecoder) encoded(x *values, enc format.Encoding, body []byte, n int) (err error) {
	switch enc {
	case format.Plain:
		return d.plain(x, body, n)
	case format.DeltaBinaryPacked:
		if err := checkDelta(body, n); err != nil {
			return err
		}
		if physical(d.leaf.elem) == format.Int32 {
			x.i32, err = parquet.DeltaBinaryPacked.DecodeInt32(x.i32[:0], body)
		} else {
			x.i64, err = parquet.DeltaBinaryPacked.DecodeInt64(x.i64[:0], body)
		}
		if err == nil && len(x.i32) != n && len(x.i64) != n {
			err = errShortPage
		}
		return err
	case format.DeltaByteArray, format.DeltaLengthByteArray:
		return d.deltaStrings(x, enc, body, n)
	case format.RLE:
		if physical(d.leaf.elem) != format.Boolean || len(body) < 4 {
			break
		}
		bits := make([]int32, n)
		if err := hybrid(bits, body[4:], 1); err != nil {
			return err
		}
		x.bits = grow(x.bits, n)
		for i, b := range bits {
			x.bits[i] = byte(b)
		}
		return nil
	}
	return fmt.Errorf("encoding %v of %v is not supported", enc, physical(d.leaf.elem))
}

func (d *pageDecoder) deltaStrings(x *values, enc format.Encoding, body []byte, n int) error {
	if physical(d.leaf.elem) != format.ByteArray {
		return fmt.Errorf("encoding %v of %v is not supported", enc, physical(d.leaf.elem))
	}
	if err := checkDelta(body, n); err != nil {
		return err
	}
	var offsets []uint32
	var err error
	if enc == format.DeltaByteArray {
		x.data, offsets, err = parquet.DeltaByteArray.DecodeByteArray(nil, body, nil)
	} else {
		x.data, offsets, err = parquet.DeltaLengthByteArray.DecodeByteArray(nil, body, nil)
	}
	if err != nil {
		return err
	}
	if len(offsets) != n+1 && !(n == 0 && len(offsets) == 0) {
		return errShortPage
	}
	x.from, x.to = make([]uint32, n), make([]uint32, n)
	for i := range n {
		x.from[i], x.to[i] = offsets[i], offsets[i+1]
		if x.to[i] < x.from[i] || int(x.to[i]) > len(x.data) {
			return errShortPage
		}
	}
	return nil
}

// checkDelta looks at the head of a delta encoding, so that a false count of
// values does not become memory.
func checkDelta(body []byte, n int) error {
	for range 2 { // block size, miniblocks
		v, k := binary.Uvarint(body)
		if k <= 0 || v > 1<<16 {
			return errShortPage
		}
		body = body[k:]
	}
	total, k := binary.Uvarint(body)
	if k <= 0 || total != uint64(n) {
		return fmt.Errorf("delta encoding of %d values where %d are expected", total, n)
	}
	return nil
}

// plain decodes n values in PLAIN encoding.
func (d *pageDecoder) plain(x *values, body []byte, n int) error {
	if n < 0 {
		return errShortPage
	}
	need := func(width int) error {
		if len(body)/width < n {
			return errShortPage
		}
		return nil
	}
	switch p := physical(d.leaf.elem); p {
	case format.Boolean:
		if len(body) < (n+7)/8 {
			return errShortPage
		}
		x.bits = grow(x.bits, n)
		for i := range x.bits {
			x.bits[i] = body[i>>3] >> (i & 7) & 1
		}
		return nil
	case format.Int32:
		if err := need(4); err != nil {
			return err
		}
		x.i32 = grow(x.i32, n)
		for i := range x.i32 {
			x.i32[i] = int32(binary.LittleEndian.Uint32(body[i*4:]))
		}
		return nil
	case format.Int64:
		if err := need(8); err != nil {
			return err
		}
		x.i64 = grow(x.i64, n)
		for i := range x.i64 {
			x.i64[i] = int64(binary.LittleEndian.Uint64(body[i*8:]))
		}
		return nil
	case format.Float:
		if err := need(4); err != nil {
			return err
		}
		x.f32 = grow(x.f32, n)
		for i := range x.f32 {
			x.f32[i] = math.Float32frombits(binary.LittleEndian.Uint32(body[i*4:]))
		}
		return nil
	case format.Double:
		if err := need(8); err != nil {
			return err
		}
		x.f64 = grow(x.f64, n)
		for i := range x.f64 {
			x.f64[i] = math.Float64frombits(binary.LittleEndian.Uint64(body[i*8:]))
		}
		return nil
	case format.Int96:
		x.data, x.width = body, 12
		return need(12)
	case format.FixedLenByteArray:
		x.data, x.width = body, int(d.leaf.elem.TypeLength.V)
		return need(x.width)
	case format.ByteArray:
		return plainStrings(x, body, n)
	default:
		return fmt.Errorf("physical type %v is not supported", p)
	}
}

func plainStrings(x *values, body []byte, n int) error {
	if len(body)/4 < n {
		return errShortPage
	}
	x.data = body
	x.from, x.to = grow(x.from, n), grow(x.to, n)
	at := 0
	for i := range n {
		if at+4 > len(body) {
			return errShortPage
		}
		k := int(binary.LittleEndian.Uint32(body[at:]))
		at += 4
		if k > len(body)-at {
			return errShortPage
		}
		x.from[i], x.to[i] = uint32(at), uint32(at+k)
		at += k
	}
	return nil
}

// grow returns s with length n, of new memory if it has too little.
func grow[T any](s []T, n int) []T {
	if cap(s) < n || s == nil {
		return make([]T, n)
	}
	return s[:n]
}
