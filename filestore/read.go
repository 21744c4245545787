package filestore

import (
	"context"
	"errors"
	"fmt"
	"io"

	"dtstore/manifest"
	"dtstore/merge"
	"dtstore/table"
)

// ReadOptions say which part of a file is wanted.
type ReadOptions struct {
	// Columns are the fields wanted, nil for all; the others come NULL. Key
	// fields always come.
	Columns []int
	// Rows with From ≤ key < To are wanted; "" is no bound. Append tables have
	// no keys, so no bounds.
	From, To table.TrimmedKey
	// Reuse lets the iterator reuse the memory of Row: it is then valid until
	// the next call of Next only. Keys and strings stay valid.
	Reuse bool
}

// batchRows is how many rows are decoded at a time, column by column.
const batchRows = 1024

// ReadFile reads a data file in the order of its rows: of a keyed table by
// key, which is checked.
func (s *Store) ReadFile(ctx context.Context, p Place, e manifest.Entry, opts ReadOptions) (merge.Iterator, error) {
	f, err := s.open(ctx, p, &e.File)
	if err != nil {
		return nil, err
	}
	r, err := newFileReader(ctx, f, p.Schema, opts)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", f.name, readError(err))
	}
	return r, nil
}

// ReadRun reads the files of a sorted run one after the other.
func (s *Store) ReadRun(ctx context.Context, p Place, run manifest.SortedRun, opts ReadOptions) (merge.Iterator, error) {
	files := run.Files
	if p.Schema.Keyed() && (opts.From != "" || opts.To != "") {
		files = nil
		for _, e := range run.Files {
			r, err := keyRange(p.Schema, &e.File)
			if err != nil {
				return nil, err
			}
			if r.Max >= opts.From && (opts.To == "" || r.Min < opts.To) {
				files = append(files, e)
			}
		}
	}
	return merge.Concat(len(files), func(i int) (merge.Iterator, error) {
		return s.ReadFile(ctx, p, files[i], opts)
	}), nil
}

// keyRange is a file's keys as its manifest entry has them.
func keyRange(s *table.Schema, f *manifest.File) (merge.Range, error) {
	lo, err := s.DecodeBinaryKey(f.MinKey)
	if err != nil {
		return merge.Range{}, fmt.Errorf("file %s: min key: %w", f.Name, err)
	}
	hi, err := s.DecodeBinaryKey(f.MaxKey)
	if err != nil {
		return merge.Range{}, fmt.Errorf("file %s: max key: %w", f.Name, err)
	}
	return merge.Range{Min: lo, Max: hi}, nil
}

// fileReader is the iterator over one file.
type fileReader struct {
	ctx    context.Context
	f      *file
	schema *table.Schema
	opts   ReadOptions
	fields []readColumn // the fields wanted
	seq    readColumn   // keyed tables only
	kind   readColumn
	keyed  bool

	group   int   // the row group being read
	row     int64 // in it, of the next batch
	opened  bool
	skipTo  int64 // first row of the group that can be wanted
	kv      table.KeyValue
	block   []table.Value // of the batch: rows of len(schema.Fields)
	sys     []table.Value // of the batch: sequence number and kind of each row
	keys    string        // of the batch, one after the other
	ends    []int         // where each key ends
	keyBuf  []byte
	n, at   int // rows in the batch, and the next one
	lastKey table.TrimmedKey
	begun   bool
	err     error
}

// readColumn reads one column of the row group.
type readColumn struct {
	field int // in the schema; -1 for system columns
	leaf  int
	typ   table.Type
	chunk *chunkReader
	page  *vector
	at    int // in page
}

func newFileReader(ctx context.Context, f *file, s *table.Schema, opts ReadOptions) (*fileReader, error) {
	r := &fileReader{ctx: ctx, f: f, schema: s, opts: opts, keyed: s.Keyed()}
	want := make([]bool, len(s.Fields))
	for _, i := range opts.Columns {
		want[i] = true
	}
	for _, i := range s.KeyIndexes() {
		want[i] = true
	}
	for i, field := range s.Fields {
		if opts.Columns != nil && !want[i] {
			continue
		}
		leaf, err := f.find(field.Name, field.Type)
		if err != nil {
			return nil, err
		}
		r.fields = append(r.fields, readColumn{field: i, leaf: leaf, typ: field.Type})
	}
	if r.keyed {
		var err error
		if r.seq, err = f.system(seqName, table.BigInt); err != nil {
			return nil, err
		}
		if r.kind, err = f.system(kindName, table.TinyInt); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// system finds a system column.
func (f *file) system(name string, kind table.Kind) (readColumn, error) {
	t := table.Type{Kind: kind, NotNull: true}
	leaf, err := f.find(name, t)
	return readColumn{field: -1, leaf: leaf, typ: t}, err
}

func (r *fileReader) Next() (*table.KeyValue, error) {
	if r.err != nil {
		return nil, r.err
	}
	if err := r.next(); err != nil {
		if !errors.Is(err, io.EOF) {
			err = fmt.Errorf("read %s: %w", r.f.name, readError(err))
		}
		r.err = err
		return nil, err
	}
	return &r.kv, nil
}

func (r *fileReader) next() (err error) {
	for {
		if r.at >= r.n {
			if err := r.batch(); err != nil {
				return err
			}
		}
		i := r.at
		r.at++
		width := len(r.schema.Fields)
		r.kv.Row = table.Row(r.block[i*width : (i+1)*width : (i+1)*width])
		if !r.keyed {
			// The format numbers such rows by their place, but nobody reads it.
			r.kv.Kind = table.Insert
			return nil
		}
		begin := 0
		if i > 0 {
			begin = r.ends[i-1]
		}
		key := table.TrimmedKey(r.keys[begin:r.ends[i]])
		if r.begun && key <= r.lastKey {
			return fmt.Errorf("key %x follows %x", string(key), string(r.lastKey))
		}
		r.lastKey, r.begun = key, true
		if key < r.opts.From {
			continue
		}
		if r.opts.To != "" && key >= r.opts.To {
			return io.EOF
		}
		kind := r.sys[2*i+1].Int()
		if kind < 0 || kind > int64(table.Delete) {
			return fmt.Errorf("row kind %d", kind)
		}
		r.kv.Key, r.kv.Seq, r.kv.Kind = key, table.Sequence(r.sys[2*i].Int()), table.RowKind(kind)
		return nil
	}
}

// batch decodes the next rows, column by column.
func (r *fileReader) batch() (err error) {
	defer guard(&err)
	if err := r.ctx.Err(); err != nil {
		return context.Cause(r.ctx)
	}
	for !r.opened || r.row >= r.f.meta.RowGroups[r.group].NumRows {
		if r.opened {
			r.group++
			r.opened = false
		}
		if r.group >= len(r.f.meta.RowGroups) {
			return io.EOF
		}
		if err := r.openGroup(); err != nil {
			return err
		}
	}
	n := int(min(batchRows, r.f.meta.RowGroups[r.group].NumRows-r.row))
	width := len(r.schema.Fields)
	switch { // columns that are not wanted stay NULL in it
	case !r.opts.Reuse:
		r.block = make([]table.Value, n*width)
	case r.block == nil:
		r.block = make([]table.Value, batchRows*width)
	}
	for i := range r.fields {
		c := &r.fields[i]
		if err := c.fill(r.ctx, r.block[c.field:], width, n); err != nil {
			return fmt.Errorf("column %s: %w", r.f.leaves[c.leaf].name, err)
		}
	}
	if r.keyed {
		if r.sys == nil {
			r.sys = make([]table.Value, batchRows*2)
		}
		if err := r.seq.fill(r.ctx, r.sys, 2, n); err != nil {
			return fmt.Errorf("column %s: %w", seqName, err)
		}
		if err := r.kind.fill(r.ctx, r.sys[1:], 2, n); err != nil {
			return fmt.Errorf("column %s: %w", kindName, err)
		}
		r.encodeKeys(n, width)
	}
	r.n, r.at = n, 0
	r.row += int64(n)
	return nil
}

// encodeKeys makes the keys of a batch in one piece of memory.
func (r *fileReader) encodeKeys(n, width int) {
	buf, ends := r.keyBuf[:0], r.ends[:0]
	keys, types := r.schema.KeyIndexes(), r.schema.KeyTypes()
	for i := range n {
		row := r.block[i*width : (i+1)*width]
		for k, field := range keys {
			buf = table.AppendOrdered(buf, types[k], row[field])
		}
		ends = append(ends, len(buf))
	}
	r.keyBuf, r.ends, r.keys = buf, ends, string(buf)
}

// openGroup starts the columns of row group r.group at the first row that can
// be wanted.
func (r *fileReader) openGroup() error {
	rows := r.f.meta.RowGroups[r.group].NumRows
	from, to := int64(0), rows
	if r.keyed && (r.opts.From != "" || r.opts.To != "") && rows > 0 {
		var err error
		if from, to, err = r.f.keyRows(r.ctx, r.group, r.schema, r.opts.From, r.opts.To); err != nil {
			return err
		}
	}
	r.opened, r.row = true, from
	if from >= to { // nothing here
		r.row = rows
		return nil
	}
	open := func(c *readColumn) error {
		chunk, err := r.f.chunkReader(r.group, c.leaf, c.typ, true)
		if err != nil {
			return err
		}
		chunk.window = r.f.windowOf(len(r.fields) + 2)
		c.chunk, c.page, c.at = chunk, nil, 0
		if from > 0 {
			if err := chunk.seek(r.ctx, from); err != nil {
				return err
			}
		}
		return c.skip(r.ctx, from-chunk.row)
	}
	for i := range r.fields {
		if err := open(&r.fields[i]); err != nil {
			return err
		}
	}
	if !r.keyed {
		return nil
	}
	if err := open(&r.seq); err != nil {
		return err
	}
	return open(&r.kind)
}

// keyRows narrows the rows of a row group down to the pages that can hold
// keys of [from, to), by the bounds of the first key column.
func (f *file) keyRows(ctx context.Context, group int, s *table.Schema, from, to table.TrimmedKey) (int64, int64, error) {
	first := s.Fields[s.KeyIndexes()[0]]
	leaf, err := f.find(first.Name, first.Type)
	if err != nil {
		return 0, 0, err
	}
	rows := f.meta.RowGroups[group].NumRows
	b, err := f.keyBounds(ctx, group, leaf, first.Type)
	if err != nil || b == nil {
		return 0, rows, err
	}
	lo, hi := 0, len(b.max)
	for lo < hi && from != "" && beyond(b.max[lo], string(from)) {
		lo++
	}
	for lo < hi && to != "" && b.min[hi-1] >= string(to) {
		hi--
	}
	return b.index.first(lo), b.index.first(hi), nil
}

// skip moves n rows on.
func (c *readColumn) skip(ctx context.Context, n int64) error {
	for n > 0 {
		if err := c.need(ctx); err != nil {
			return err
		}
		k := min(int64(c.page.n-c.at), n)
		c.at += int(k)
		n -= k
	}
	return nil
}

// need has a page with at least one row left.
func (c *readColumn) need(ctx context.Context) error {
	if c.page != nil && c.at < c.page.n {
		return nil
	}
	v, err := c.chunk.next(ctx)
	if errors.Is(err, io.EOF) {
		return fmt.Errorf("has fewer rows than its row group: %w", io.ErrUnexpectedEOF)
	}
	if err != nil {
		return err
	}
	c.page, c.at = v, 0
	return nil
}

// fill converts the next n rows to dst[0], dst[stride], …
func (c *readColumn) fill(ctx context.Context, dst []table.Value, stride, n int) error {
	for done := 0; done < n; {
		if err := c.need(ctx); err != nil {
			return err
		}
		k := min(c.page.n-c.at, n-done)
		if err := c.chunk.cells.fill(dst[done*stride:], stride, c.page, c.at, k); err != nil {
			return err
		}
		c.at += k
		done += k
	}
	return nil
}

func (r *fileReader) Close() error {
	if r.err == nil {
		r.err = errors.New("filestore: read after close")
	}
	r.fields, r.block, r.sys = nil, nil, nil
	return nil
}
