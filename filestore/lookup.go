package filestore

import (
	"context"
	"errors"
	"fmt"
	"io"

	"dtstore/manifest"
	"dtstore/table"
)

// Lookup finds the row of a key in a data file of a keyed table, whatever its
// kind. It reads the one page of each column that can hold it, after finding
// that page by the page index and by bisection over the pages of the key.
// What it returns stays valid.
func (s *Store) Lookup(ctx context.Context, p Place, e manifest.Entry, key table.TrimmedKey) (kv table.KeyValue, found bool, err error) {
	f, err := s.open(ctx, p, &e.File)
	if err != nil {
		return kv, false, err
	}
	defer func() {
		if err != nil {
			err = fmt.Errorf("read %s: %w", f.name, readError(err))
		}
	}()
	defer guard(&err)
	l := lookup{s: s, f: f, schema: p.Schema, key: string(key)}
	lo, hi, err := l.groups(ctx)
	for g := lo; g < hi && err == nil; g++ {
		var row int64
		if f.meta.RowGroups[g].NumRows == 0 {
			continue
		}
		if row, found, err = l.find(ctx, g); found {
			kv, err = l.row(ctx, g, row)
			return kv, err == nil, err
		}
	}
	if errors.Is(err, errNoIndex) {
		return l.scan(ctx)
	}
	return kv, false, err
}

// groups gives the row groups that can hold the key.
func (l *lookup) groups(ctx context.Context) (lo, hi int, err error) {
	first := l.schema.Fields[l.schema.KeyIndexes()[0]]
	leaf, err := l.f.find(first.Name, first.Type)
	if err != nil {
		return 0, 0, err
	}
	if g := l.f.keyGroups(leaf, first.Type); g != nil {
		lo, hi = within(g.min, g.max, l.key)
		return lo, hi, nil
	}
	// Without bounds the first key of a group tells, by bisection.
	lo, hi = 0, len(l.f.meta.RowGroups)
	for hi-lo > 1 {
		mid := (lo + hi) / 2
		if l.f.meta.RowGroups[mid].NumRows == 0 {
			return 0, len(l.f.meta.RowGroups), nil // not worth a thought
		}
		if err := l.enter(ctx, mid); err != nil {
			return 0, 0, err
		}
		c, err := l.compare(ctx, mid, 0)
		if err != nil {
			return 0, 0, err
		}
		if c <= 0 {
			lo = mid
		} else {
			hi = mid
		}
	}
	return lo, hi, nil
}

// errNoIndex says that a file has no page index.
var errNoIndex = errors.New("no page index")

// lookup is one search.
type lookup struct {
	s      *Store
	f      *file
	schema *table.Schema
	key    string
	cols   []keyColumn // of the row group being searched
	buf    []byte
}

// keyColumn is one key column of a row group, and its page last looked at.
type keyColumn struct {
	leaf  int
	typ   table.Type
	cells cellReader
	index *pageIndex
	no    int
	page  *vector
}

// enter makes ready for comparing keys of a row group.
func (l *lookup) enter(ctx context.Context, group int) error {
	l.cols = l.cols[:0]
	for i, field := range l.schema.KeyIndexes() {
		t := l.schema.KeyTypes()[i]
		leaf, err := l.f.find(l.schema.Fields[field].Name, t)
		if err != nil {
			return err
		}
		x, err := l.f.index(ctx, group, leaf)
		if err != nil {
			return err
		}
		if x == nil || len(x.pages) == 0 {
			return errNoIndex
		}
		l.cols = append(l.cols, keyColumn{leaf: leaf, typ: t, cells: newCellReader(t, l.f.leaves[leaf].elem), index: x, no: -1})
	}
	return nil
}

// find gives the row of the group that has the key.
func (l *lookup) find(ctx context.Context, group int) (row int64, ok bool, err error) {
	if err := l.enter(ctx, group); err != nil {
		return 0, false, err
	}
	first := &l.cols[0]
	b, err := l.f.keyBounds(ctx, group, first.leaf, first.typ)
	if err != nil {
		return 0, false, err
	}
	lo, hi := 0, len(first.index.pages)
	if b != nil {
		lo, hi = within(b.min, b.max, l.key)
	}
	for hi-lo > 1 {
		mid := (lo + hi) / 2
		c, err := l.compare(ctx, group, first.index.first(mid))
		if err != nil {
			return 0, false, err
		}
		if c <= 0 {
			lo = mid
		} else {
			hi = mid
		}
	}
	if lo >= hi {
		return 0, false, nil
	}
	from, to := first.index.first(lo), first.index.first(hi)
	for from < to {
		mid := (from + to) / 2
		c, err := l.compare(ctx, group, mid)
		switch {
		case err != nil:
			return 0, false, err
		case c == 0:
			return mid, true, nil
		case c < 0:
			from = mid + 1
		default:
			to = mid
		}
	}
	return 0, false, nil
}

// compare orders the key of a row against the key looked for.
func (l *lookup) compare(ctx context.Context, group int, row int64) (int, error) {
	l.buf = l.buf[:0]
	for i := range l.cols {
		c := &l.cols[i]
		if no := c.index.page(row); no != c.no {
			v, err := l.s.keyPage(ctx, l.f, group, c.leaf, no, c.typ, c.index)
			if err != nil {
				return 0, err
			}
			c.no, c.page = no, v
		}
		v, err := c.page.cell(c.cells, int(row-c.index.first(c.no)))
		if err != nil {
			return 0, err
		}
		l.buf = table.AppendOrdered(l.buf, c.typ, v)
	}
	switch k := string(l.buf); {
	case k < l.key:
		return -1, nil
	case k > l.key:
		return 1, nil
	}
	return 0, nil
}

// row reads a whole row.
func (l *lookup) row(ctx context.Context, group int, row int64) (kv table.KeyValue, err error) {
	kv.Key = table.TrimmedKey(l.key)
	kv.Row = make(table.Row, len(l.schema.Fields))
	for i, f := range l.schema.Fields {
		if kv.Row[i], err = l.cell(ctx, group, row, f.Name, f.Type); err != nil {
			return kv, err
		}
	}
	seq, err := l.cell(ctx, group, row, seqName, table.Type{Kind: table.BigInt, NotNull: true})
	if err != nil {
		return kv, err
	}
	kind, err := l.cell(ctx, group, row, kindName, table.Type{Kind: table.TinyInt, NotNull: true})
	if err != nil {
		return kv, err
	}
	if k := kind.Int(); k < 0 || k > int64(table.Delete) {
		return kv, fmt.Errorf("row kind %d", k)
	}
	kv.Seq, kv.Kind = table.Sequence(seq.Int()), table.RowKind(kind.Int())
	return kv, nil
}

func (l *lookup) cell(ctx context.Context, group int, row int64, name string, t table.Type) (table.Value, error) {
	leaf, err := l.f.find(name, t)
	if err != nil {
		return table.Value{}, err
	}
	x, err := l.f.index(ctx, group, leaf)
	if err != nil {
		return table.Value{}, err
	}
	if x == nil || len(x.pages) == 0 {
		return table.Value{}, fmt.Errorf("column %s: %w", name, errNoIndex)
	}
	no := x.page(row)
	id := pageID{l.f.id, group, leaf, no}
	at := int(row - x.first(no))
	v, ok := l.s.keys.get(id) // of a key column it has just been read
	if !ok {
		v, ok = l.s.pages.get(id)
	}
	if !ok && !l.s.wanted(id) {
		// A page wanted for the first time is not worth keeping, nor is the
		// rest of it worth decoding.
		c, err := l.s.point(ctx, l.f, group, leaf, no, t, x, at)
		if err != nil {
			err = fmt.Errorf("column %s: %w", name, err)
		}
		return c, err
	}
	if !ok {
		if v, err = l.s.page(ctx, l.f, group, leaf, no, t, x); err != nil {
			return table.Value{}, fmt.Errorf("column %s: %w", name, err)
		}
	}
	return v.cell(newCellReader(t, l.f.leaves[leaf].elem), at)
}

// scan is the way through a file without a page index.
func (l *lookup) scan(ctx context.Context) (kv table.KeyValue, found bool, err error) {
	r, err := newFileReader(ctx, l.f, l.schema, ReadOptions{From: table.TrimmedKey(l.key), To: table.TrimmedKey(l.key + "\x00")})
	if err != nil {
		return kv, false, err
	}
	defer r.Close()
	got, err := r.Next()
	if errors.Is(err, io.EOF) {
		return kv, false, nil
	}
	if err != nil {
		return kv, false, err
	}
	return *got, true, nil
}

// cell is row i of a page.
func (v *vector) cell(r cellReader, i int) (table.Value, error) {
	if i < 0 || i >= v.n {
		return table.Value{}, fmt.Errorf("row %d of a page of %d: %w", i, v.n, errShortPage)
	}
	if v.at != nil {
		if i = int(v.at[i]); i < 0 {
			return table.Value{}, nil
		}
	}
	if v.vals.cells != nil {
		return v.vals.cells[i], nil
	}
	return r.cell(v.vals, i)
}
