package filestore

import (
	"context"
	"errors"
	"fmt"
	"io"

	"dtstore/table"
)

// intKeys are keys of one column that order as a 64-bit integer.
type intKeys struct {
	s     *columnStream
	cells cellReader
	buf   []int64
}

func newIntKeys(f *file, field table.Field) (*intKeys, error) {
	s, err := f.stream(field.Name, field.Type)
	if err != nil {
		return nil, err
	}
	return &intKeys{s: s, cells: newCellReader(field.Type, f.leaves[s.leaf].elem)}, nil
}

func (k *intKeys) next(ctx context.Context) ([]int64, error) {
	if err := k.s.next(ctx); err != nil {
		return nil, err
	}
	v := k.s.page
	plain := v.at == nil && (k.cells.typ.Kind == table.BigInt || k.cells.typ.Kind == table.Decimal || k.cells.unit == unitMicros)
	if plain && v.vals.i64 != nil {
		return v.vals.i64[:v.n], nil
	}
	k.buf = grow(k.buf, v.n)
	if v.at == nil && v.vals.i32 != nil {
		for i, x := range v.vals.i32[:v.n] {
			k.buf[i] = int64(x)
		}
		return k.buf, nil
	}
	for i := range v.n {
		c, err := v.cell(k.cells, i)
		if err != nil {
			return nil, err
		}
		if c.IsNull() {
			return nil, errNullKey
		}
		k.buf[i] = c.Int() // of a timestamp, the microseconds
	}
	return k.buf, nil
}

var errNullKey = errors.New("key column holds NULL")

// stringKeys are keys of one column of strings or bytes.
type stringKeys struct {
	s     *columnStream
	cells cellReader
	buf   []string
}

func newStringKeys(f *file, field table.Field) (*stringKeys, error) {
	s, err := f.stream(field.Name, field.Type)
	if err != nil {
		return nil, err
	}
	return &stringKeys{s: s, cells: newCellReader(field.Type, f.leaves[s.leaf].elem)}, nil
}

func (k *stringKeys) next(ctx context.Context) ([]string, error) {
	if err := k.s.next(ctx); err != nil {
		return nil, err
	}
	v := k.s.page
	k.buf = grow(k.buf, v.n)
	if v.at == nil {
		for i := range k.buf {
			k.buf[i] = v.vals.str(i)
		}
		return k.buf, nil
	}
	for i := range k.buf {
		c, err := v.cell(k.cells, i)
		if err != nil {
			return nil, err
		}
		if c.IsNull() {
			return nil, errNullKey
		}
		k.buf[i] = c.Str()
	}
	return k.buf, nil
}

// orderedKeys are keys of any columns in the ordered encoding.
type orderedKeys struct {
	f     *file
	cols  []readColumn
	row   int64 // of the row group
	group int
	cells []table.Value
	bytes []byte
	ends  []int
	buf   []string
}

func newOrderedKeys(f *file, s *table.Schema) (*orderedKeys, error) {
	k := &orderedKeys{f: f, group: -1}
	for i, field := range s.KeyIndexes() {
		t := s.KeyTypes()[i]
		leaf, err := f.find(s.Fields[field].Name, t)
		if err != nil {
			return nil, err
		}
		k.cols = append(k.cols, readColumn{field: field, leaf: leaf, typ: t})
	}
	k.cells = make([]table.Value, batchRows*len(k.cols))
	return k, nil
}

func (k *orderedKeys) next(ctx context.Context) ([]string, error) {
	if err := ctx.Err(); err != nil {
		return nil, context.Cause(ctx)
	}
	for k.group < 0 || k.row >= k.f.meta.RowGroups[k.group].NumRows {
		k.group++
		k.row = 0
		if k.group >= len(k.f.meta.RowGroups) {
			return nil, io.EOF
		}
		for i := range k.cols {
			c := &k.cols[i]
			chunk, err := k.f.chunkReader(k.group, c.leaf, c.typ, true)
			if err != nil {
				return nil, err
			}
			c.chunk, c.page, c.at = chunk, nil, 0
		}
	}
	n := int(min(batchRows, k.f.meta.RowGroups[k.group].NumRows-k.row))
	for i := range k.cols {
		if err := k.cols[i].fill(ctx, k.cells[i:], len(k.cols), n); err != nil {
			return nil, fmt.Errorf("column %s: %w", k.f.leaves[k.cols[i].leaf].name, err)
		}
	}
	k.row += int64(n)
	k.bytes, k.ends = k.bytes[:0], k.ends[:0]
	for i := range n {
		for c := range k.cols {
			k.bytes = table.AppendOrdered(k.bytes, k.cols[c].typ, k.cells[i*len(k.cols)+c])
		}
		k.ends = append(k.ends, len(k.bytes))
	}
	k.buf = grow(k.buf, n)
	all, at := string(k.bytes), 0
	for i, end := range k.ends {
		k.buf[i] = all[at:end]
		at = end
	}
	return k.buf, nil
}
