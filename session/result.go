package session

import (
	"context"
	"errors"
	"io"
	"strconv"

	"dtstore/table"
	"dtstore/wire"
)

// rows yields a result's rows, in the form that wire takes: a native value, or
// its Postgres text.
type rows interface {
	// Next gives the next rows, at least one, valid until the following call;
	// io.EOF at the end.
	Next(ctx context.Context) ([]table.Row, error)
	Close()
}

// result is a statement that was begun: what it returns, or only a tag.
type result struct {
	columns []wire.Column // nil: returns no rows
	rows    rows
	tag     string // with " n" appended if counted
	counted bool   // the number of rows sent belongs to the tag
	live    bool   // rows come as they happen: send each batch at once
	rest    []table.Row
	ended   bool
	raw     func(w *wire.Writer) error // COPY: speaks to the client itself
}

func done(tag string) *result { return &result{tag: tag} }

// tagged is a change with its count: "INSERT 0 5".
func tagged(tag string, n int64) *result { return &result{tag: tag + " " + strconv.FormatInt(n, 10)} }

// table of fixed rows, for SHOW and the like.
func fixed(tag string, counted bool, columns []wire.Column, data []table.Row) *result {
	return &result{columns: columns, rows: &memory{data}, tag: tag, counted: counted}
}

type memory struct{ rows []table.Row }

func (m *memory) Next(context.Context) ([]table.Row, error) {
	if len(m.rows) == 0 {
		return nil, io.EOF
	}
	all := m.rows
	m.rows = nil
	return all, nil
}

func (m *memory) Close() {}

// next gives up to most rows (0: as many as are at hand).
func (r *result) next(ctx context.Context, most int) ([]table.Row, error) {
	if len(r.rest) == 0 {
		if r.ended || r.rows == nil {
			return nil, io.EOF
		}
		got, err := r.rows.Next(ctx)
		if errors.Is(err, io.EOF) {
			r.ended = true
			return nil, io.EOF
		}
		if err != nil {
			return nil, err
		}
		r.rest = got
	}
	if most == 0 || most > len(r.rest) {
		most = len(r.rest)
	}
	out := r.rest[:most]
	r.rest = r.rest[most:]
	return out, nil
}

// send writes columns and at most maxRows rows (0: all), and returns how many.
// It ends with io.EOF having been seen, unless maxRows came first.
func (r *result) send(ctx context.Context, w *wire.Writer, maxRows int) (int, error) {
	if r.columns == nil {
		return 0, nil
	}
	if err := w.Columns(r.columns); err != nil {
		return 0, err
	}
	if r.live {
		if err := w.Flush(); err != nil {
			return 0, err
		}
	}
	n := 0
	for maxRows == 0 || n < maxRows {
		want := 0
		if maxRows > 0 {
			want = maxRows - n
		}
		batch, err := r.next(ctx, want)
		if errors.Is(err, io.EOF) {
			return n, nil
		}
		if err != nil {
			return n, err
		}
		for _, row := range batch {
			if err := w.Row(row); err != nil {
				return n, err
			}
		}
		n += len(batch)
		if r.live && len(r.rest) == 0 {
			if err := w.Flush(); err != nil {
				return n, err
			}
		}
	}
	return n, nil
}

// more says whether rows may be left, after a send that stopped at maxRows.
func (r *result) more() bool { return r.columns != nil && !(r.ended && len(r.rest) == 0) }

// finalTag is the command tag after n rows.
func (r *result) finalTag(n int) string {
	if r.counted {
		return r.tag + " " + strconv.Itoa(n)
	}
	return r.tag
}

// close frees what the result holds. It may be called again.
func (r *result) close() {
	if r.rows != nil {
		r.rows.Close()
		r.rows = nil
	}
	r.ended = true
}
