package session

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"

	"dtstore/sql"
	"dtstore/table"
	"dtstore/wire"
)

// copy runs COPY: it speaks to the client itself, and then has only its tag.
func (se *Session) copy(ctx context.Context, s *sql.Copy, w *wire.Writer) (*result, error) {
	if s.From {
		return se.copyFrom(ctx, s, w)
	}
	return se.copyTo(ctx, s, w)
}

func copyOptions(s *sql.Copy, names []string) (wire.CopyOptions, error) {
	o := wire.CopyOptions{Table: s.Table.Table}
	if s.Options.Format == "binary" {
		o.Format = wire.CopyBinary
		return o, nil
	}
	o.Delimiter, o.Null = s.Options.Delimiter, &s.Options.Null
	switch {
	case s.Options.HeaderMatch:
		o.Header = wire.HeaderMatch
	case s.Options.Header:
		o.Header = wire.HeaderYes
	}
	if s.Options.Format == "csv" {
		o.Format, o.Quote, o.Escape = wire.CopyCSV, s.Options.Quote, s.Options.Escape
		for _, f := range []struct {
			names []string
			all   bool
			into  *[]bool
		}{{s.Options.ForceQuote, s.Options.ForceQuoteAll, &o.ForceQuote}, {s.Options.ForceNotNull, false, &o.ForceNotNull}, {s.Options.ForceNull, false, &o.ForceNull}} {
			if f.names == nil && !f.all {
				continue
			}
			*f.into = make([]bool, len(names))
			for i := range names {
				(*f.into)[i] = f.all
			}
			for _, n := range f.names {
				i := slices.Index(names, n)
				if i < 0 {
					return o, table.Errorf("42P10", "column \"%s\" named in a FORCE option is not part of the COPY", n)
				}
				(*f.into)[i] = true
			}
		}
	}
	return o, o.Validate()
}

func (se *Session) copyFrom(ctx context.Context, s *sql.Copy, w *wire.Writer) (*result, error) {
	in, err := se.intoTable(ctx, s.Origin(), s.Table, s.Columns, nil, nil)
	if err != nil {
		return nil, err
	}
	t := se.tx
	if t.defined && !t.explicit {
		return nil, errMixed()
	}
	columns := make([]wire.CopyColumn, len(in.columns))
	names := make([]string, len(in.columns))
	for i, f := range in.columns {
		names[i] = in.t.Schema.Fields[f].Name
		columns[i] = wire.CopyColumn{Name: names[i], Type: in.t.Schema.Fields[f].Type}
	}
	o, err := copyOptions(s, names)
	if err != nil {
		return nil, err
	}
	r, err := w.CopyIn(o.Format == wire.CopyBinary, len(columns))
	if err != nil {
		return nil, err
	}
	m := t.buffer.mark()
	n, err := se.copyRows(ctx, in, wire.NewCopyReader(r, o, columns, se.settings.location()))
	if err != nil {
		return nil, errors.Join(err, t.buffer.rollback(m))
	}
	t.onceOnly = true // its rows cannot be read again
	return tagged("COPY", n), nil
}

func (se *Session) copyRows(ctx context.Context, in *insertion, r *wire.CopyReader) (int64, error) {
	values := make([]table.Value, len(in.columns))
	for n := int64(0); ; n++ {
		err := r.Next(values)
		if errors.Is(err, io.EOF) {
			return n, nil
		}
		if err != nil {
			return n, err
		}
		if n%1024 == 0 && ctx.Err() != nil {
			return n, context.Cause(ctx)
		}
		row := in.row()
		for i, f := range in.columns {
			row[f] = values[i]
		}
		if err := se.put(in, row); err != nil {
			return n, r.About(err)
		}
	}
}

func (se *Session) copyTo(ctx context.Context, s *sql.Copy, w *wire.Writer) (*result, error) {
	q := s.Query
	if q == nil {
		text, err := se.copyText(ctx, s)
		if err != nil {
			return nil, err
		}
		q = &sql.Query{Source: sql.Source{Text: text}}
	}
	b, err := se.bind(ctx, q.Text, q.Position(0)-1)
	if err != nil {
		if s.Query == nil {
			err = unplaced(err)
		}
		return nil, err
	}
	var res *result
	if se.settings.streaming() && len(b.refs) > 0 {
		res, err = se.stream(ctx, b, nil, w)
	} else {
		res, err = se.read(ctx, b, nil)
	}
	if err != nil {
		return nil, err
	}
	defer res.close()
	names := make([]string, len(res.columns))
	for i, c := range res.columns {
		names[i] = c.Name
	}
	o, err := copyOptions(s, names)
	if err != nil {
		return nil, err
	}
	out, err := w.CopyOut(o, res.columns)
	if err != nil {
		return nil, err
	}
	if err := w.Flush(); err != nil {
		return nil, err
	}
	var n int64
	for {
		batch, err := res.next(ctx, 0)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		for _, row := range batch {
			if err := out.Row(row); err != nil {
				return nil, err
			}
		}
		n += int64(len(batch))
		if res.live {
			if err := w.Flush(); err != nil {
				return nil, err
			}
		}
	}
	return tagged("COPY", n), out.Close()
}

// copyText is the query of COPY t [(columns)] TO STDOUT.
func (se *Session) copyText(ctx context.Context, s *sql.Copy) (string, error) {
	t, err := se.resolve(ctx, s.Table.Database, s.Table.Table)
	if err != nil {
		return "", atOrigin(err, s.Origin(), s.Table.Start)
	}
	names := t.Schema.Names()
	if s.Columns != nil {
		names = nil
		for _, c := range s.Columns {
			if _, err := fieldOf(t, c.Name); err != nil {
				return "", atOrigin(err, s.Origin(), c.Start)
			}
			names = append(names, c.Name)
		}
	}
	quoted := make([]string, len(names))
	for i, n := range names {
		quoted[i] = quote(n)
	}
	return "SELECT " + strings.Join(quoted, ", ") + " FROM " + quote(t.Database) + "." + quote(t.Name), nil
}
