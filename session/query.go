package session

import (
	"context"
	"errors"
	"io"
	"slices"

	"dtstore/catalog"
	"dtstore/exec"
	"dtstore/planner"
	"dtstore/sql"
	"dtstore/table"
	"dtstore/wire"
)

// query runs a SELECT. In streaming mode one that reads tables of ours is
// endless.
func (se *Session) query(ctx context.Context, q *sql.Query, params []param, w *wire.Writer) (*result, error) {
	b, err := se.bind(ctx, q.Text, q.Position(0)-1)
	if err != nil {
		return nil, err
	}
	if se.settings.streaming() && len(b.refs) > 0 {
		return se.stream(ctx, b, params, w)
	}
	return se.read(ctx, b, params)
}

// retries of a query whose files went away before its first row.
const readTries = 3

// read runs a bound query over a view of its own.
func (se *Session) read(ctx context.Context, b *bound, params []param) (*result, error) {
	if err := se.syncCatalog(ctx, b); err != nil {
		return nil, err
	}
	for try := 1; ; try++ {
		res, err := se.readOnce(ctx, b, params)
		if err == nil || !catalog.Gone(err) {
			return res, err
		}
		if try == readTries || se.tx.repeatable() {
			return nil, table.Errorf("72000", "snapshot too old: a file that the query needs was removed: %w", err).
				WithHint("Raise snapshot.time-retained or snapshot.num-retained.min of the table.")
		}
	}
}

func (se *Session) readOnce(ctx context.Context, b *bound, params []param) (*result, error) {
	v, err := se.view(ctx, b.tables())
	if err != nil {
		return nil, err
	}
	res, ok, err := se.point(ctx, b, v, params)
	if ok || err != nil {
		se.dropView(v)
		return res, err
	}
	return se.readView(ctx, b, v, params)
}

// readView runs a query over a view, which it lets go at its end.
func (se *Session) readView(ctx context.Context, b *bound, v *view, params []param) (res *result, err error) {
	defer func() {
		if err != nil {
			se.dropView(v)
		}
	}()
	// The query lives as long as its result, not only as this call.
	run, cancel := context.WithCancelCause(se.ctx)
	stop := context.AfterFunc(ctx, func() { cancel(context.Cause(ctx)) })
	defer stop()
	o, err := b.open(run, v, params)
	if err != nil {
		cancel(nil)
		return nil, err
	}
	st, err := se.engine.Prepare(run, o.text, types(params))
	if err != nil {
		o.close()
		cancel(nil)
		return nil, b.engineError(err)
	}
	stream, err := st.Run(run, args(params))
	if err != nil {
		st.Close()
		o.close()
		cancel(nil)
		return nil, b.engineError(err)
	}
	er := &engineRows{b: b, stream: stream, st: st, o: o, run: run, cancel: cancel, conv: newConverter(st.Columns(), se.settings.location()), drop: func() { se.dropView(v) }}
	// The first chunk comes before the answer begins: a file that is gone shows
	// here, while the query can still be sent again.
	if er.first, err = er.fetch(ctx); err != nil && !errors.Is(err, io.EOF) {
		er.Close()
		return nil, err
	}
	er.primed = true
	return &result{columns: b.columns(st.Columns()), rows: er, tag: "SELECT", counted: true}, nil
}

// engineRows are the engine's rows, with all that the query holds.
type engineRows struct {
	b      *bound
	stream *exec.Stream
	st     *exec.Statement
	o      *opened
	run    context.Context
	cancel context.CancelCauseFunc
	conv   converter
	drop   func()
	first  []table.Row
	primed bool
	closed bool
}

func (r *engineRows) Next(ctx context.Context) ([]table.Row, error) {
	if r.primed {
		r.primed = false
		if len(r.first) == 0 {
			return nil, io.EOF
		}
		return r.first, nil
	}
	return r.fetch(ctx)
}

func (r *engineRows) fetch(ctx context.Context) ([]table.Row, error) {
	stop := context.AfterFunc(ctx, func() { r.cancel(context.Cause(ctx)) })
	defer stop()
	for {
		rows, err := r.stream.Next(r.run)
		if err != nil {
			if cause := context.Cause(r.run); cause != nil && !errors.Is(err, io.EOF) {
				return nil, cause
			}
			return nil, r.b.engineError(err)
		}
		if len(rows) > 0 {
			return r.conv.rows(rows)
		}
	}
}

func (r *engineRows) Close() {
	if r.closed {
		return
	}
	r.closed = true
	r.cancel(nil)
	r.stream.Close()
	r.st.Close()
	r.o.close()
	r.drop()
}

// columns describes the result: a plain column of a table of ours has that
// column's exact type, and says where it is from.
func (b *bound) columns(cols []exec.ResultColumn) []wire.Column {
	out := make([]wire.Column, len(cols))
	for i, c := range cols {
		c.Type = b.oids([]exec.Type{c.Type})[0]
		out[i] = wireColumn(c)
	}
	at := 0
	for _, item := range b.tree.Top.Items {
		if item.Star {
			if len(b.refs) != 1 || b.tree.Top.Join || len(b.tree.Refs) != 1 {
				return out
			}
			for f := range b.refs[0].table.Schema.Fields {
				b.from(out, cols, at, b.refs[0].table, f)
				at++
			}
			continue
		}
		if item.Column != "" {
			if t, f, ok := b.source(item); ok {
				b.from(out, cols, at, t, f)
			}
		}
		at++
	}
	return out
}

// oids gives lists of bigint in a query of the catalogue their own type: there
// they are OIDs, and asyncpg knows no other type of array before it has asked
// that query.
func (b *bound) oids(types []exec.Type) []exec.Type {
	if len(b.refs) > 0 || len(b.tree.Refs) == 0 {
		return types
	}
	out := slices.Clone(types)
	for i, t := range out {
		if t.ID == exec.List && t.Elem.ID == exec.Int8 {
			out[i].Elem = &exec.Type{ID: exec.OID}
		}
	}
	return out
}

// source finds the table column that an item names, if it is beyond doubt.
func (b *bound) source(item exec.Item) (t *catalog.Table, field int, ok bool) {
	if b.tree.Top.SetOperation || b.tree.Top.Subquery || b.tree.Top.CTE {
		return nil, 0, false
	}
	for _, r := range b.refs {
		name := r.ref.Alias
		if name == "" {
			name = r.ref.Name
		}
		if item.Table != "" && item.Table != name {
			continue
		}
		if i := r.table.Schema.Index(item.Column); i >= 0 {
			if ok {
				return nil, 0, false
			}
			t, field, ok = r.table, i, true
		}
	}
	return t, field, ok
}

// from gives column at of the result the exact type of a table's field.
func (b *bound) from(out []wire.Column, cols []exec.ResultColumn, at int, t *catalog.Table, field int) {
	if at >= len(cols) {
		return
	}
	f := t.Schema.Fields[field]
	if got, want := cols[at].Type, exec.TypeOf(f.Type); got.ID != want.ID || got.Scale != want.Scale {
		return
	}
	name := out[at].Name
	out[at] = tableColumn(t, field)
	out[at].Name = name
}

// tableColumn is the column of a table as wire describes it.
func tableColumn(t *catalog.Table, field int) wire.Column {
	c := wire.ColumnOf(t.Schema.Fields[field].Name, t.Schema.Fields[field].Type)
	c.TableOID, c.Attribute = tableOID(t), int16(field+1)
	return c
}

// point answers a query for whole keys of one table without the engine.
func (se *Session) point(ctx context.Context, b *bound, v *view, params []param) (*result, bool, error) {
	top := b.tree.Top
	if len(b.refs) != 1 || len(b.tree.Refs) != 1 || !top.WhereIsPredicates || top.SetOperation || top.Distinct || top.Aggregate || top.Window ||
		top.Join || top.CTE || top.Subquery || top.Values || top.Limit != nil || top.Offset != nil {
		return nil, false, nil
	}
	r := b.refs[0]
	if !r.table.Schema.Keyed() {
		return nil, false, nil
	}
	name := r.ref.Alias
	if name == "" {
		name = r.ref.Name
	}
	var out []shownField
	for _, item := range top.Items {
		i := r.table.Schema.Index(item.Column)
		switch {
		case item.Table != "" && item.Table != name:
			return nil, false, nil // the engine says what is wrong
		case item.Star:
			for f := range r.table.Schema.Fields {
				out = append(out, shownField{f, r.table.Schema.Fields[f].Name})
			}
		case item.Column != "" && i >= 0:
			out = append(out, shownField{i, item.Name})
		default:
			return nil, false, nil
		}
	}
	preds, all := b.predicates(r, params)
	if !all {
		return nil, false, nil
	}
	p, err := b.plan(ctx, r, v.tables[r.table.Path], preds)
	if err != nil || p.Lookups == nil || len(p.Lookups) > 1 && len(top.Order) > 0 {
		return nil, false, err
	}
	target, err := b.target(r.table)
	if err != nil {
		return nil, false, err
	}
	found, err := se.srv.Reader.Lookup(ctx, target, p)
	if err != nil {
		return nil, false, err
	}
	return pointResult(r.table, out, preds, found), true, nil
}

// shownField is a column of a result: a field, under a name.
type shownField struct {
	field int
	name  string
}

func pointResult(t *catalog.Table, out []shownField, preds []planner.Predicate, found []table.Row) *result {
	columns := make([]wire.Column, len(out))
	for i, f := range out {
		columns[i] = tableColumn(t, f.field)
		columns[i].Name = f.name
	}
	var rows []table.Row
	for _, row := range found {
		keep := true
		for _, p := range preds {
			keep = keep && p.Matches(t.Schema.Fields[p.Field].Type, row[p.Field])
		}
		if !keep {
			continue
		}
		cells := make(table.Row, len(out))
		for i, f := range out {
			cells[i] = row[f.field]
		}
		rows = append(rows, cells)
	}
	return fixed("SELECT", true, columns, rows)
}
