package session

import (
	"context"
	"errors"
	"io"
	"slices"

	"dtstore/catalog"
	"dtstore/exec"
	"dtstore/sql"
	"dtstore/table"
)

// insertion is an INSERT whose table and columns are found.
type insertion struct {
	t       *catalog.Table
	columns []int // fields that the rows have, in their order
	fixed   table.Row
	isFixed []bool // fields that PARTITION (…) gives
}

// intoTable resolves the target of INSERT and COPY FROM.
func (se *Session) intoTable(ctx context.Context, origin *sql.Source, name sql.Name, columns []sql.Ident, partition []sql.PartitionValue, params []param) (*insertion, error) {
	t, err := se.resolve(ctx, name.Database, name.Table)
	if err == nil {
		err = writable(t)
	}
	if err != nil {
		return nil, atOrigin(err, origin, name.Start)
	}
	in := &insertion{t: t, fixed: make(table.Row, len(t.Schema.Fields)), isFixed: make([]bool, len(t.Schema.Fields))}
	for _, p := range partition {
		i, err := fieldOf(t, p.Column.Name)
		if err == nil && !slices.Contains(t.Schema.PartitionIndexes(), i) {
			err = table.Errorf("42P16", "column \"%s\" of relation \"%s\" is not a partition column", p.Column.Name, t.Name)
		}
		if err != nil {
			return nil, atOrigin(err, origin, p.Column.Start)
		}
		if in.fixed[i], err = constant(t.Schema.Fields[i], p.Value, params, se.settings.location()); err != nil {
			return nil, atOrigin(err, origin, int(p.Value.Start))
		}
		in.isFixed[i] = true
	}
	if columns == nil {
		for i := range t.Schema.Fields {
			if !in.isFixed[i] {
				in.columns = append(in.columns, i)
			}
		}
		return in, nil
	}
	for _, c := range columns {
		i, err := fieldOf(t, c.Name)
		if err == nil && (slices.Contains(in.columns, i) || in.isFixed[i]) {
			err = table.Errorf("42701", "column \"%s\" specified more than once", c.Name)
		}
		if err != nil {
			return nil, atOrigin(err, origin, c.Start)
		}
		in.columns = append(in.columns, i)
	}
	return in, nil
}

// fieldOf finds a column by name, with "did you mean".
func fieldOf(t *catalog.Table, name string) (int, error) {
	if i := t.Schema.Index(name); i >= 0 {
		return i, nil
	}
	err := table.Errorf("42703", "column \"%s\" of relation \"%s\" does not exist", name, t.Name)
	if near := table.Nearest(name, t.Schema.Names()); near != "" {
		err = err.WithHint("Perhaps you meant to reference the column \"%s\".", near)
	}
	return 0, err
}

// atOrigin gives an error without a position that of a byte of the statement.
func atOrigin(err error, origin *sql.Source, start int) error {
	var e *table.Error
	if !errors.As(err, &e) || e.Position != 0 {
		return err
	}
	return e.At(origin.Position(start))
}

// row completes a row: fixed values, NULL for what is not given, NOT NULL.
func (in *insertion) row() table.Row {
	return slices.Clone(in.fixed)
}

func (se *Session) insert(ctx context.Context, s *sql.Insert, params []param) (*result, error) {
	in, err := se.intoTable(ctx, s.Origin(), s.Table, s.Columns, s.Partition, params)
	if err != nil {
		return nil, err
	}
	if err := checkConflict(in.t, s); err != nil {
		return nil, err
	}
	var n int64
	if s.Values != nil && s.Values.Literal && s.With.SQL == "" {
		n, err = se.insertValues(in, s, params)
	} else {
		n, err = se.insertQuery(ctx, in, s, params)
	}
	if err != nil {
		return nil, err
	}
	return tagged("INSERT 0", n), nil
}

func (se *Session) insertValues(in *insertion, s *sql.Insert, params []param) (int64, error) {
	if err := in.width(s.Values.Width, s.Columns != nil); err != nil {
		return 0, atOrigin(err, s.Origin(), int(s.Values.Exprs[0].Start))
	}
	loc := se.settings.location()
	for i := range s.Values.Len() {
		row := in.row()
		for j, e := range s.Values.Row(i) {
			v, err := constant(in.t.Schema.Fields[in.columns[j]], e, params, loc)
			if err != nil {
				return 0, atOrigin(err, s.Origin(), int(e.Start))
			}
			row[in.columns[j]] = v
		}
		if err := se.put(in, row); err != nil {
			return 0, err
		}
	}
	return int64(s.Values.Len()), nil
}

// put adds one complete row to the transaction.
func (se *Session) put(in *insertion, row table.Row) error {
	if err := notNull(in.t.Schema, in.t.Name, row); err != nil {
		return err
	}
	return se.tx.buffer.add(in.t, table.Change{Kind: table.Insert, After: row})
}

// width checks the number of values against the columns: without a column
// list, values may be fewer, as in Postgres.
func (in *insertion) width(n int, listed bool) error {
	switch {
	case n > len(in.columns):
		return table.Errorf("42601", "INSERT has more expressions than target columns")
	case n < len(in.columns) && listed:
		return table.Errorf("42601", "INSERT has more target columns than expressions")
	}
	return nil
}

func (se *Session) insertQuery(ctx context.Context, in *insertion, s *sql.Insert, params []param) (int64, error) {
	b, err := se.bind(ctx, s.With.SQL+" "+s.Query.SQL, insertBase(s))
	if err != nil {
		return 0, err
	}
	res, err := se.read(ctx, b, params)
	if err != nil {
		return 0, err
	}
	defer res.close()
	if err := in.width(len(res.columns), s.Columns != nil); err != nil {
		return 0, atOrigin(err, s.Origin(), s.Query.Start)
	}
	loc := se.settings.location()
	var n int64
	for {
		batch, err := res.next(ctx, 0)
		if errors.Is(err, io.EOF) {
			return n, nil
		}
		if err != nil {
			return n, err
		}
		for _, values := range batch {
			row := in.row()
			for j, v := range values {
				f := in.t.Schema.Fields[in.columns[j]]
				if row[in.columns[j]], err = assign(f, res.columns[j], v, loc); err != nil {
					return n, err
				}
			}
			if err := se.put(in, row); err != nil {
				return n, err
			}
			n++
		}
	}
}

// insertBase is where the query stands in the query text, if nothing stands
// before it.
func insertBase(s *sql.Insert) int {
	if s.With.SQL != "" {
		return 0
	}
	return s.Position(s.Query.Start) - 2 // the blank before it
}

// checkConflict accepts ON CONFLICT (key) DO UPDATE SET c = EXCLUDED.c over all
// other columns: that is what an INSERT does.
func checkConflict(t *catalog.Table, s *sql.Insert) error {
	c := s.OnConflict
	if c == nil {
		return nil
	}
	refuse := func(what string) error {
		return atOrigin(table.Errorf("0A000", "ON CONFLICT %s is not supported", what).
			WithHint("An INSERT into a table with a primary key replaces the row of that key: write a plain INSERT, or ON CONFLICT (key) DO UPDATE SET c = EXCLUDED.c for all other columns."), s.Origin(), c.Start)
	}
	if !t.Schema.Keyed() {
		return atOrigin(table.Errorf("42P10", "there is no unique or exclusion constraint matching the ON CONFLICT specification"), s.Origin(), c.Start)
	}
	if c.Columns != nil {
		if len(c.Columns) != len(t.Schema.PrimaryKeys) || slices.ContainsFunc(c.Columns, func(i sql.Ident) bool { return !slices.Contains(t.Schema.PrimaryKeys, i.Name) }) {
			return atOrigin(table.Errorf("42P10", "there is no unique or exclusion constraint matching the ON CONFLICT specification"), s.Origin(), c.Start)
		}
	}
	if c.Where.SQL != "" {
		return refuse("… DO UPDATE … WHERE")
	}
	set := map[string]bool{}
	for _, a := range c.Set {
		i, err := fieldOf(t, a.Column.Name)
		if err != nil {
			return atOrigin(err, s.Origin(), a.Column.Start)
		}
		if a.Excluded != a.Column.Name {
			return refuse("… DO UPDATE with other values than EXCLUDED's")
		}
		set[t.Schema.Fields[i].Name] = true
	}
	for _, f := range t.Schema.Fields {
		if !set[f.Name] && !slices.Contains(t.Schema.PrimaryKeys, f.Name) {
			return refuse("… DO UPDATE that leaves column \"" + f.Name + "\" as it was")
		}
	}
	return nil
}

// describeInsert finds the types of an INSERT's parameters: a bare $n has its
// column's, others what the engine infers.
func (se *Session) describeInsert(ctx context.Context, s *sql.Insert, declared []exec.Type) ([]exec.Type, error) {
	in, err := se.intoTable(ctx, s.Origin(), s.Table, s.Columns, nil, nil)
	if err != nil {
		return nil, err
	}
	known := grow(declared, s.Params)
	give := func(n, column int) {
		if n > 0 && column < len(in.columns) && known[n-1].ID == exec.Unknown {
			known[n-1] = exec.TypeOf(in.t.Schema.Fields[in.columns[column]].Type)
		}
	}
	raw := s.With.SQL != "" || s.Values == nil
	for _, p := range s.Partition {
		if p.Value.Kind == sql.ExprParam && known[p.Value.Param-1].ID == exec.Unknown {
			if i := in.t.Schema.Index(p.Column.Name); i >= 0 {
				known[p.Value.Param-1] = exec.TypeOf(in.t.Schema.Fields[i].Type)
			}
		}
	}
	if s.Values != nil {
		for i, e := range s.Values.Exprs {
			switch e.Kind {
			case sql.ExprParam:
				give(int(e.Param), i%s.Values.Width)
			case sql.ExprRaw:
				raw = true
			}
		}
	}
	if !raw {
		return known, nil
	}
	b, err := se.bind(ctx, s.With.SQL+" "+s.Query.SQL, insertBase(s))
	if err != nil {
		return nil, err
	}
	for i, item := range b.tree.Top.Items {
		if item.Literal != nil {
			give(item.Literal.Param, i)
		}
	}
	params, _, err := b.describe(ctx, known)
	if err != nil {
		return nil, err
	}
	for i, t := range params {
		if i < len(known) && known[i].ID == exec.Unknown {
			known[i] = t
		}
	}
	return known, nil
}

// grow is a copy with room for n parameters.
func grow(declared []exec.Type, n int) []exec.Type {
	out := make([]exec.Type, max(n, len(declared)))
	copy(out, declared)
	return out
}
