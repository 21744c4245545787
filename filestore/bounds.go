package filestore

import (
	"context"
	"encoding/binary"
	"sort"
	"strings"

	"github.com/parquet-go/parquet-go/format"

	"dtstore/table"
)

// keyBounds are the smallest and largest value of the first key column in
// each page of a row group, in the ordered encoding of keys. Both ascend.
type keyBounds struct {
	index    *pageIndex
	min, max []string
}

// keyBounds gives the bounds of a key column's pages; nil if the file has
// none that can be trusted.
func (f *file) keyBounds(ctx context.Context, group, leaf int, t table.Type) (*keyBounds, error) {
	at := [2]int{group, leaf}
	f.mu.Lock()
	b, ok := f.bounds[at]
	f.mu.Unlock()
	if ok {
		return b, nil
	}
	x, err := f.index(ctx, group, leaf)
	if err != nil {
		return nil, err
	}
	b = newKeyBounds(x, newCellReader(t, f.leaves[leaf].elem), physical(f.leaves[leaf].elem))
	f.mu.Lock()
	f.bounds[at] = b
	f.mu.Unlock()
	return b, nil
}

func newKeyBounds(x *pageIndex, r cellReader, p format.Type) *keyBounds {
	if x == nil || x.min == nil {
		return nil
	}
	b := &keyBounds{index: x}
	for i := range x.pages {
		lo, ok1 := r.bound(x.min[i], p)
		hi, ok2 := r.bound(x.max[i], p)
		if x.nulls[i] || !ok1 || !ok2 {
			return nil
		}
		b.min = append(b.min, string(table.AppendOrdered(nil, r.typ, lo)))
		b.max = append(b.max, string(table.AppendOrdered(nil, r.typ, hi)))
	}
	if !sort.StringsAreSorted(b.min) || !sort.StringsAreSorted(b.max) {
		return nil
	}
	return b
}

// keyGroups are the smallest and largest value of the first key column in
// each row group, as the footer has them.
type keyGroups struct{ min, max []string }

// keyGroups gives the bounds of a key column's row groups; nil if the file has
// none that can be trusted.
func (f *file) keyGroups(leaf int, t table.Type) *keyGroups {
	f.mu.Lock()
	defer f.mu.Unlock()
	if g, ok := f.groups[leaf]; ok {
		return g
	}
	g := f.newKeyGroups(leaf, newCellReader(t, f.leaves[leaf].elem))
	f.groups[leaf] = g
	return g
}

func (f *file) newKeyGroups(leaf int, r cellReader) *keyGroups {
	g := &keyGroups{}
	p := physical(f.leaves[leaf].elem)
	for i := range f.meta.RowGroups {
		st := &f.meta.RowGroups[i].Columns[leaf].MetaData.Statistics
		lo, ok1 := r.bound(st.MinValue, p)
		hi, ok2 := r.bound(st.MaxValue, p)
		if !ok1 || !ok2 || st.MinValue == nil || st.MaxValue == nil || st.NullCount != 0 {
			return nil
		}
		g.min = append(g.min, string(table.AppendOrdered(nil, r.typ, lo)))
		g.max = append(g.max, string(table.AppendOrdered(nil, r.typ, hi)))
	}
	if !sort.StringsAreSorted(g.min) || !sort.StringsAreSorted(g.max) {
		return nil
	}
	return g
}

// bound decodes a page's bound. Only types whose order every writer agrees on
// have one.
func (r cellReader) bound(raw []byte, p format.Type) (table.Value, bool) {
	var x values
	switch {
	case r.typ.IsBinary() || r.typ.Kind == table.Float || r.typ.Kind == table.Double || r.typ.Kind == table.Boolean:
		return table.Value{}, false
	case p == format.Int32 && len(raw) == 4:
		x.i32 = []int32{int32(binary.LittleEndian.Uint32(raw))}
	case p == format.Int64 && len(raw) == 8:
		x.i64 = []int64{int64(binary.LittleEndian.Uint64(raw))}
	case p == format.ByteArray && r.typ.IsString():
		return table.StringOf(string(raw)), true
	default:
		return table.Value{}, false
	}
	v, err := r.cell(&x, 0)
	return v, err == nil
}

// beyond says whether every key that begins with a value of at most max is
// below key. (A key that begins with max itself may be anywhere.)
func beyond(max, key string) bool { return max < key && !strings.HasPrefix(key, max) }

// within gives the range of bounds that can hold key; both slices ascend.
func within(min, max []string, key string) (lo, hi int) {
	lo = sort.Search(len(max), func(i int) bool { return !beyond(max[i], key) })
	hi = sort.Search(len(min), func(i int) bool { return min[i] > key })
	return lo, hi
}
