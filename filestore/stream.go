package filestore

import (
	"context"
	"fmt"
	"io"

	"dtstore/table"
)

// columnStream reads one column of a whole file, page by page.
type columnStream struct {
	f     *file
	leaf  int
	typ   table.Type
	group int
	chunk *chunkReader
	row   int64 // of the file, where the next page begins

	page *vector // the last one read
	base int64   // its first row
}

func (f *file) stream(name string, t table.Type) (*columnStream, error) {
	leaf, err := f.find(name, t)
	if err != nil {
		return nil, err
	}
	return &columnStream{f: f, leaf: leaf, typ: t}, nil
}

// next decodes the next page into s.page, io.EOF after the last. The page is
// valid until the next call.
func (s *columnStream) next(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	for {
		if s.group >= len(s.f.meta.RowGroups) {
			return io.EOF
		}
		if s.chunk == nil {
			chunk, err := s.f.chunkReader(s.group, s.leaf, s.typ, true)
			if err != nil {
				return err
			}
			s.chunk, s.row = chunk, s.f.starts[s.group]
		}
		v, err := s.chunk.next(ctx)
		if err == io.EOF {
			if s.row != s.f.starts[s.group+1] {
				return fmt.Errorf("column %s has fewer rows than its row group: %w", s.f.leaves[s.leaf].name, io.ErrUnexpectedEOF)
			}
			s.chunk = nil
			s.group++
			continue
		}
		if err != nil {
			return fmt.Errorf("column %s: %w", s.f.leaves[s.leaf].name, err)
		}
		if s.row+int64(v.n) > s.f.starts[s.group+1] {
			return fmt.Errorf("column %s has more rows than its row group", s.f.leaves[s.leaf].name)
		}
		s.page, s.base = v, s.row
		s.row += int64(v.n)
		return nil
	}
}

// cell is the value of a row. Rows must be asked for in ascending order.
func (s *columnStream) cell(ctx context.Context, row int64) (table.Value, error) {
	for s.page == nil || row >= s.base+int64(s.page.n) {
		if err := s.next(ctx); err != nil {
			if err == io.EOF {
				err = io.ErrUnexpectedEOF
			}
			return table.Value{}, err
		}
	}
	return s.page.cell(newCellReader(s.typ, s.f.leaves[s.leaf].elem), int(row-s.base))
}
