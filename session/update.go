package session

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"strconv"
	"strings"

	"dtstore/catalog"
	"dtstore/exec"
	"dtstore/logstore"
	"dtstore/planner"
	"dtstore/sql"
	"dtstore/table"
	"dtstore/wire"
)

// modification is an UPDATE or DELETE as a query: its first columns are the
// row as it is, the others what UPDATE sets.
type modification struct {
	t     *catalog.Table
	b     *bound
	set   []int      // fields of the query's further columns
	fixed []setValue // what is set to a constant

	text   string // of the query
	pieces []piece
	origin *sql.Source
}

// piece is text of the statement in the query: at is where, from is where it
// was.
type piece struct{ at, size, from int }

// write appends a fragment to the query.
func (m *modification) write(q *strings.Builder, f sql.Fragment) {
	m.pieces = append(m.pieces, piece{q.Len(), len(f.SQL), f.Start})
	q.WriteString(f.SQL)
}

// place moves an error's position in the query to the statement, if it is in
// text that the client wrote.
func (m *modification) place(err error) error {
	var e *table.Error
	if !errors.As(err, &e) || e.Position == 0 {
		return err
	}
	offset := len(m.text)
	for i, n := range enumerate(m.text) {
		if n == e.Position {
			offset = i
			break
		}
	}
	for _, p := range m.pieces {
		if p.at <= offset && offset < p.at+p.size {
			return e.At(m.origin.Position(p.from + offset - p.at))
		}
	}
	return e.At(0)
}

// enumerate gives the byte offset and the number, from 1, of each character.
func enumerate(s string) iter.Seq2[int, int] {
	return func(yield func(int, int) bool) {
		n := 0
		for i := range s {
			if n++; !yield(i, n) {
				return
			}
		}
	}
}

type setValue struct {
	field int
	value table.Value
}

func quote(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

// modify builds the query of an UPDATE or DELETE.
func (se *Session) modify(ctx context.Context, origin *sql.Source, name sql.Name, alias string, with, from, where sql.Fragment, set []sql.Assignment) (*modification, error) {
	t, err := se.resolve(ctx, name.Database, name.Table)
	if err == nil {
		err = writable(t)
	}
	if err == nil && !t.Schema.Keyed() {
		err = table.Errorf("0A000", "UPDATE and DELETE need a primary key, and table %s.%s has none", t.Database, t.Name).
			WithHint("Make the table with a PRIMARY KEY, or write the rows that stay into a new table.")
	}
	if err != nil {
		return nil, atOrigin(err, origin, name.Start)
	}
	m := &modification{t: t, origin: origin}
	if alias == "" {
		alias = t.Name
	}
	var q strings.Builder
	if with.SQL != "" {
		m.write(&q, with)
		q.WriteString(" ")
	}
	q.WriteString("SELECT ")
	for i, f := range t.Schema.Fields {
		if i > 0 {
			q.WriteString(", ")
		}
		q.WriteString(quote(alias) + "." + quote(f.Name))
	}
	seen := map[int]bool{}
	for _, a := range set {
		i, err := fieldOf(t, a.Column.Name)
		if err == nil && seen[i] {
			err = table.Errorf("42601", "multiple assignments to same column \"%s\"", a.Column.Name)
		}
		if err != nil {
			return nil, atOrigin(err, origin, a.Column.Start)
		}
		seen[i] = true
		f := t.Schema.Fields[i]
		switch {
		case a.Literal.Kind == sql.ExprParam:
			fmt.Fprintf(&q, ", CAST($%d AS %s)", a.Literal.Param, engineType(f.Type))
			m.set = append(m.set, i)
		case a.Literal.Literal():
			v, err := constant(f, a.Literal, nil, se.settings.location())
			if err != nil {
				return nil, atOrigin(err, origin, a.Value.Start)
			}
			m.fixed = append(m.fixed, setValue{i, v})
		default:
			q.WriteString(", (")
			m.write(&q, a.Value)
			q.WriteString("\n)")
			m.set = append(m.set, i)
		}
	}
	q.WriteString(" FROM " + quote(t.Database) + "." + quote(t.Name) + " AS " + quote(alias))
	if from.SQL != "" {
		q.WriteString(", ")
		m.write(&q, from)
		q.WriteString("\n")
	}
	if where.SQL != "" {
		q.WriteString(" WHERE ")
		m.write(&q, where)
	}
	m.text = q.String()
	if m.b, err = se.bind(ctx, m.text, 0); err != nil {
		return nil, m.place(err)
	}
	return m, nil
}

// unplaced drops a position that is in text the client never wrote.
func unplaced(err error) error {
	var e *table.Error
	if errors.As(err, &e) && e.Position != 0 {
		return e.At(0)
	}
	return err
}

// engineType is the engine's name of a column's type, for a cast.
func engineType(t table.Type) string {
	switch t.Kind {
	case table.Boolean:
		return "BOOLEAN"
	case table.TinyInt, table.SmallInt:
		return "SMALLINT"
	case table.Int:
		return "INTEGER"
	case table.BigInt:
		return "BIGINT"
	case table.Float:
		return "FLOAT"
	case table.Double:
		return "DOUBLE"
	case table.Decimal:
		return "DECIMAL(" + strconv.Itoa(t.Precision) + "," + strconv.Itoa(t.Scale) + ")"
	case table.Binary, table.VarBinary:
		return "BLOB"
	case table.Date:
		return "DATE"
	case table.Time:
		return "TIME"
	case table.Timestamp:
		if t.Precision > 6 {
			return "TIMESTAMP_NS"
		}
		return "TIMESTAMP"
	case table.TimestampLTZ:
		return "TIMESTAMPTZ"
	}
	return "VARCHAR"
}

func (se *Session) modifyUpdate(ctx context.Context, s *sql.Update) (*modification, error) {
	return se.modify(ctx, s.Origin(), s.Table, s.Alias, s.With, s.From, s.Where, s.Set)
}

func (se *Session) modifyDelete(ctx context.Context, s *sql.Delete) (*modification, error) {
	return se.modify(ctx, s.Origin(), s.Table, s.Alias, s.With, s.Using, s.Where, nil)
}

// change1 is one row that an UPDATE or DELETE found.
type change1 struct {
	key     table.Key
	before  table.Row
	after   table.Row // nil: deleted
	newKey  table.Key
	bucket  table.Bucket
	horizon table.Offset
}

// found runs the query and gives each row once. A row that FROM or USING
// matches several times is taken as first found.
func (se *Session) found(ctx context.Context, m *modification, params []param, update bool) ([]change1, *tableView, error) {
	v, err := se.viewFor(ctx, m.b.tables(), true)
	if err != nil {
		return nil, nil, err
	}
	defer se.dropView(v)
	tv := v.tables[m.t.Path]
	if tv.horizon == nil {
		return nil, nil, table.Errorf("55000", "UPDATE and DELETE need the log, and dtstore.read is 'snapshot'").WithHint("RESET dtstore.read first.")
	}
	se.tx.keepPin(m.t, v)
	o, err := m.b.open(ctx, v, params)
	if err != nil {
		return nil, nil, m.place(m.b.engineError(err))
	}
	defer o.close()
	st, err := se.engine.Prepare(ctx, o.text, types(params))
	if err != nil {
		return nil, nil, m.place(m.b.engineError(err))
	}
	defer st.Close()
	stream, err := st.Run(ctx, args(params))
	if err != nil {
		return nil, nil, m.place(m.b.engineError(err))
	}
	defer stream.Close()
	seen := map[table.Key]bool{}
	var out []change1
	var bytes int64
	conv := newConverter(st.Columns(), se.settings.location())
	columns := make([]wire.Column, len(st.Columns()))
	for i, c := range st.Columns() {
		columns[i] = wireColumn(c)
	}
	for {
		rows, err := stream.Next(ctx)
		if errors.Is(err, io.EOF) {
			return out, tv, nil
		}
		if err == nil {
			rows, err = conv.rows(rows)
		}
		if err != nil {
			return nil, nil, m.place(m.b.engineError(err))
		}
		for _, row := range rows {
			c, err := se.change1(m, columns, row, tv, update)
			if err != nil {
				return nil, nil, err
			}
			if seen[c.key] {
				continue
			}
			seen[c.key] = true
			out = append(out, c)
			bytes += opBytes
			for i := range c.before {
				bytes += 2*cellBytes + int64(c.before[i].Bytes())
			}
			if limit := 8 * se.srv.BufferBytes; bytes > limit {
				return nil, nil, (&buffered{t: m.t}).tooMany(limit)
			}
		}
	}
}

// keepPin keeps a horizon's pin for the rest of the transaction. The first one
// of a table is the lowest, and serves for all.
func (t *tx) keepPin(of *catalog.Table, v *view) {
	if t.pinned == v || v.unpin == nil || t.unpin[of.Topic.ID] != nil {
		return
	}
	if t.unpin == nil {
		t.unpin = map[logstore.TopicID]func(){}
	}
	t.unpin[of.Topic.ID], v.unpin = v.unpin, nil
}

// change1 makes the old and the new row of one row of the query.
func (se *Session) change1(m *modification, columns []wire.Column, row table.Row, tv *tableView, update bool) (change1, error) {
	s, loc := m.t.Schema, se.settings.location()
	before := make(table.Row, len(s.Fields))
	for i, f := range s.Fields {
		v, err := assign(f, columns[i], row[i], loc)
		if err != nil {
			return change1{}, err
		}
		before[i] = v
	}
	c := change1{key: s.Key(before), before: before, bucket: s.BucketOf(before)}
	if int(c.bucket) < len(tv.horizon) {
		c.horizon = tv.horizon[c.bucket]
	}
	if !update {
		return c, nil
	}
	c.after = append(table.Row(nil), before...)
	for _, f := range m.fixed {
		c.after[f.field] = f.value
	}
	for j, field := range m.set {
		at := len(s.Fields) + j
		v, err := assign(s.Fields[field], columns[at], row[at], loc)
		if err != nil {
			return change1{}, err
		}
		c.after[field] = v
	}
	c.newKey = s.Key(c.after)
	return c, notNull(s, m.t.Name, c.after)
}

func (se *Session) delete(ctx context.Context, s *sql.Delete, params []param) (*result, error) {
	m, err := se.modifyDelete(ctx, s)
	if err != nil {
		return nil, err
	}
	changes, _, err := se.found(ctx, m, params, false)
	if err != nil {
		return nil, err
	}
	buf := se.tx.buffer
	for _, c := range changes {
		buf.reads(m.t, c.key, c.bucket, c.before, c.horizon)
		if err := buf.add(m.t, table.Change{Kind: table.Delete, Before: c.before}); err != nil {
			return nil, err
		}
	}
	return tagged("DELETE", int64(len(changes))), nil
}

func (se *Session) update(ctx context.Context, s *sql.Update, params []param) (*result, error) {
	m, err := se.modifyUpdate(ctx, s)
	if err != nil {
		return nil, err
	}
	changes, tv, err := se.found(ctx, m, params, true)
	if err != nil {
		return nil, err
	}
	if err := se.checkMoves(ctx, m, changes, tv); err != nil {
		return nil, err
	}
	buf := se.tx.buffer
	for _, c := range changes { // deletions first (seam A7): old key 2 goes before key 1 becomes 2
		buf.reads(m.t, c.key, c.bucket, c.before, c.horizon)
		if c.newKey != c.key {
			if err := buf.add(m.t, table.Change{Kind: table.Delete, Before: c.before}); err != nil {
				return nil, err
			}
		}
	}
	for _, c := range changes {
		change := table.Change{Kind: table.UpdateAfter, Before: c.before, After: c.after}
		if c.newKey != c.key {
			change = table.Change{Kind: table.Insert, After: c.after}
		}
		if err := buf.add(m.t, change); err != nil {
			return nil, err
		}
	}
	return tagged("UPDATE", int64(len(changes))), nil
}

// checkMoves refuses an UPDATE of keys that would give two rows one key, or
// meet a row that the statement does not itself move away.
func (se *Session) checkMoves(ctx context.Context, m *modification, changes []change1, tv *tableView) error {
	old, taken := map[table.Key]bool{}, map[table.Key]bool{}
	moved := false
	for _, c := range changes {
		old[c.key] = true
		moved = moved || c.newKey != c.key
	}
	if !moved {
		return nil
	}
	var targets []planner.Lookup
	s := m.t.Schema
	for _, c := range changes {
		if taken[c.newKey] {
			return table.Errorf("21000", "UPDATE would give two rows the key %s", keyText(s, c.after))
		}
		taken[c.newKey] = true
		if c.newKey != c.key && !old[c.newKey] {
			targets = append(targets, planner.Lookup{Row: c.after, Key: c.newKey, Trimmed: s.TrimmedKey(c.after), Partition: s.Partition(c.after)})
		}
	}
	if len(targets) == 0 {
		return nil
	}
	p, err := m.b.plan(ctx, boundRef{table: m.t}, tv, nil)
	if err != nil {
		return err
	}
	p.Lookups = targets
	target, err := m.b.target(m.t)
	if err != nil {
		return err
	}
	there, err := se.srv.Reader.Lookup(ctx, target, p)
	if err != nil {
		return err
	}
	if len(there) > 0 {
		return table.Errorf("23505", "duplicate key value violates unique constraint \"%s_pkey\"", m.t.Name).
			WithDetail("Key %s already exists.", keyText(s, there[0]))
	}
	for _, l := range targets { // nobody may put a row there meanwhile
		b := s.BucketOf(l.Row)
		var horizon table.Offset
		if int(b) < len(tv.horizon) {
			horizon = tv.horizon[b]
		}
		se.tx.buffer.reads(m.t, l.Key, b, nil, horizon)
	}
	return nil
}

// keyText shows a row's key as Postgres does: (id)=(5).
func keyText(s *table.Schema, row table.Row) string {
	var names, values []string
	for _, i := range s.PrimaryIndexes() {
		names = append(names, s.Fields[i].Name)
		values = append(values, table.Text(s.Fields[i].Type, row[i]))
	}
	return "(" + strings.Join(names, ", ") + ")=(" + strings.Join(values, ", ") + ")"
}

// describeModification finds the types of an UPDATE's or DELETE's parameters.
func (se *Session) describeModification(ctx context.Context, m *modification, params int, declared []exec.Type) ([]exec.Type, error) {
	types, _, err := m.b.describe(ctx, grow(declared, params))
	return types, unplaced(err)
}
