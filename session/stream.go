package session

import (
	"context"
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"

	"dtstore/catalog"
	"dtstore/exec"
	"dtstore/planner"
	"dtstore/scan"
	"dtstore/sql"
	"dtstore/table"
	"dtstore/wire"
)

// stream runs an endless SELECT: the table's rows as +I, then each change with
// its row kind (seam R7). The log is in upsert mode: an INSERT is +I though the
// key may exist. Who folds rows by the key, the later winning, has the table.
func (se *Session) stream(ctx context.Context, b *bound, params []param, w *wire.Writer) (*result, error) {
	st, err := se.newStream(b, params)
	if err != nil {
		return nil, err
	}
	v, err := se.view(ctx, b.tables())
	if err != nil {
		return nil, err
	}
	tv := v.tables[st.t.Path]
	if tv.horizon == nil {
		se.dropView(v)
		return nil, table.Errorf("0A000", "an endless SELECT needs the log").WithHint("RESET dtstore.read first.")
	}
	from := slices.Clone(tv.horizon)
	rows, err := se.readView(ctx, b, v, params)
	if err != nil {
		return nil, err
	}
	w.Notice(wire.Notice{Message: "streaming: this SELECT does not end by itself; cancel it (Ctrl-C), or RESET execution.runtime_mode first",
		Hint: "In psql, \\set FETCH_COUNT 1 shows rows as they come, and \\pset pager off keeps them out of the pager."})
	st.initial = rows
	st.from = from
	return &result{columns: append([]wire.Column{rowKindColumn}, rows.columns...), rows: st, tag: "SELECT", counted: true, live: true}, nil
}

// streamRows is the rows of an endless SELECT.
type streamRows struct {
	se     *Session
	b      *bound
	t      *catalog.Table
	params []param

	out     []int               // the field of each result column, -1: an expression
	preds   []planner.Predicate // the whole WHERE, if direct
	direct  bool                // items are plain columns and WHERE is preds: no engine needed
	keyOnly bool                // WHERE is about key columns alone: no change can leave the result
	images  string              // else: the query over row images, which leads with their number

	initial *result // until its end
	from    []table.Offset
	cancel  context.CancelCauseFunc
	batches chan []table.Change
	ended   chan error
}

// newStream checks that a query can be streamed.
func (se *Session) newStream(b *bound, params []param) (*streamRows, error) {
	top := b.tree.Top
	refuse := func(what string) error {
		return table.Errorf("0A000", "a SELECT with %s cannot be streamed", what).
			WithHint("An endless SELECT reads one table, with a WHERE and expressions over its columns. RESET execution.runtime_mode runs the query once.")
	}
	for _, x := range []struct {
		what string
		has  bool
	}{{"a set operation", top.SetOperation}, {"WITH", top.CTE}, {"DISTINCT", top.Distinct}, {"aggregates", top.Aggregate}, {"window functions", top.Window},
		{"a subquery", top.Subquery}, {"a join", top.Join || len(b.tree.Refs) > 1}, {"ORDER BY", len(top.Order) > 0}, {"LIMIT", top.Limit != nil || top.Offset != nil}} {
		if x.has {
			return nil, refuse(x.what)
		}
	}
	if len(b.refs) != 1 {
		return nil, refuse("other relations than one table")
	}
	st := &streamRows{se: se, b: b, t: b.refs[0].table, params: params}
	if st.t.Foreign {
		return nil, table.Errorf("0A000", "table %s.%s was made by another engine and has no log to follow", st.t.Database, st.t.Name)
	}
	if !se.tx.buffer.empty() {
		return nil, table.Errorf("25001", "an endless SELECT cannot run in a transaction that has changed rows").WithHint("COMMIT first.")
	}
	return st, st.project()
}

// project finds the field of each result column, and how changes go through
// WHERE and the select list.
func (st *streamRows) project() error {
	s := st.t.Schema
	plain, star := true, false
	var list []string
	for _, item := range st.b.tree.Top.Items {
		i := s.Index(item.Column)
		switch {
		case item.Star:
			star = true
			for f := range s.Fields {
				st.out = append(st.out, f)
				list = append(list, quote(s.Fields[f].Name))
			}
		case item.Column != "" && i >= 0:
			st.out = append(st.out, i)
			list = append(list, quote(s.Fields[i].Name))
		default:
			plain = false
			st.out = append(st.out, -1)
		}
	}
	if s.Keyed() {
		for _, i := range s.PrimaryIndexes() {
			if !slices.Contains(st.out, i) {
				return table.Errorf("0A000", "an endless SELECT over a table with a primary key must keep the whole key: column \"%s\" is missing", s.Fields[i].Name).
					WithHint("Add it to the select list: without it nobody can tell which row a change is about.")
			}
		}
	}
	preds, all := st.b.predicates(st.b.refs[0], st.params)
	where := st.b.tree.Top.Where
	st.direct = plain && (!where || st.b.tree.Top.WhereIsPredicates && all)
	st.preds = preds
	st.keyOnly = st.direct && !slices.ContainsFunc(preds, func(p planner.Predicate) bool { return !slices.Contains(s.PrimaryIndexes(), p.Field) })
	if st.direct {
		return nil
	}
	if !plain && star {
		return table.Errorf("0A000", "an endless SELECT cannot have both * and expressions").WithHint("Write the columns out.")
	}
	return st.imageQuery(plain, list)
}

// imageQuery makes the query that puts row images through the select list and
// the WHERE: the same text, with the image's number in front.
func (st *streamRows) imageQuery(plain bool, list []string) error {
	text := st.b.text.SQL
	start, end, ok := selectList(text)
	if !ok {
		return table.Errorf("0A000", "this form of SELECT cannot be streamed").WithHint("Write SELECT columns FROM table WHERE ….")
	}
	items := text[start:end]
	if plain {
		items = " " + strings.Join(list, ", ") + " "
	}
	st.images = text[:start] + " " + quote(imageNumber) + ", " + items + text[end:]
	return nil
}

// selectList finds the bytes between SELECT and its FROM.
func selectList(text string) (start, end int, ok bool) {
	depth := 0
	for _, t := range sql.Lex(text) {
		word := text[t.Start:t.End]
		switch {
		case t.Kind == sql.Punct && strings.Contains("([{", word):
			depth++
		case t.Kind == sql.Punct && strings.Contains(")]}", word):
			depth--
		case t.Kind != sql.Word || depth > 0:
		case strings.EqualFold(word, "select") && start == 0:
			start = t.End
		case strings.EqualFold(word, "all") && start > 0 && strings.TrimSpace(text[start:t.Start]) == "":
			start = t.End
		case strings.EqualFold(word, "from") && start > 0:
			return start, t.Start, true
		}
	}
	return 0, 0, false
}

// imageNumber is the column that numbers row images.
const imageNumber = "dt_image"

// Next gives rows as they come: what is there at once, else it waits.
func (st *streamRows) Next(ctx context.Context) ([]table.Row, error) {
	if st.initial != nil {
		rows, err := st.initial.next(ctx, 0)
		if err == nil {
			return withKind(table.Insert, rows), nil
		}
		if !errors.Is(err, io.EOF) {
			return nil, err
		}
		st.initial.close() // its snapshot may go now (seam R5)
		st.initial = nil
		st.follow()
	}
	for {
		var changes []table.Change
		select {
		case changes = <-st.batches:
		case err := <-st.ended:
			st.ended <- err
			return nil, err
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
		rows, err := st.rows(ctx, changes)
		if err != nil {
			return nil, err
		}
		if len(rows) > 0 {
			return rows, nil
		}
	}
}

func withKind(k table.RowKind, rows []table.Row) []table.Row {
	out := make([]table.Row, len(rows))
	for i, row := range rows {
		out[i] = append(table.Row{table.StringOf(k.String())}, row...)
	}
	return out
}

// follow starts reading the log from the horizon on.
func (st *streamRows) follow() {
	ctx, cancel := context.WithCancelCause(st.se.ctx)
	st.cancel = cancel
	st.batches, st.ended = make(chan []table.Change), make(chan error, 1)
	target := scan.Target{Path: st.t.Path, Schema: st.t.Schema, Topic: st.t.Topic}
	go func() {
		st.ended <- st.se.srv.Reader.Follow(ctx, target, st.from, func(_ table.Bucket, changes []table.Change, _ table.Offset) error {
			select {
			case st.batches <- changes:
				return nil
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		})
	}()
}

func (st *streamRows) Close() {
	if st.initial != nil {
		st.initial.close()
		st.initial = nil
	}
	if st.cancel != nil {
		st.cancel(nil)
		st.ended <- <-st.ended // the reading has ended
	}
}

// image is a row before or after a change, as the query shows it.
type image struct {
	row table.Row // nil: the WHERE leaves it out
}

// rows turns changes into rows with their kinds.
func (st *streamRows) rows(ctx context.Context, changes []table.Change) ([]table.Row, error) {
	var images []table.Row
	for _, c := range changes {
		if c.Before != nil {
			images = append(images, c.Before)
		}
		if c.After != nil {
			images = append(images, c.After)
		}
	}
	shown, err := st.show(ctx, images)
	if err != nil {
		return nil, err
	}
	var out []table.Row
	emit := func(k table.RowKind, row table.Row) {
		out = append(out, append(table.Row{table.StringOf(k.String())}, row...))
	}
	next := 0
	take := func() table.Row { next++; return shown[next-1].row }
	for _, c := range changes {
		var before, after table.Row
		if c.Before != nil {
			before = take()
		}
		if c.After != nil {
			after = take()
		}
		switch {
		case c.Kind == table.Insert && after != nil:
			emit(table.Insert, after)
		case c.Kind == table.UpdateAfter && after != nil && before != nil:
			emit(table.UpdateBefore, before)
			emit(table.UpdateAfter, after)
		case c.Kind == table.UpdateAfter && after != nil:
			emit(table.Insert, after)
		case before != nil: // deleted, or updated out of the WHERE
			emit(table.Delete, before)
		case st.t.Schema.Keyed() && !st.keyOnly && c.Kind != table.UpdateAfter:
			// An INSERT may have replaced a row that the WHERE let through. A deletion
			// may be of such an INSERT's row, which no log has.
			emit(table.Delete, st.keyRow(c.Row()))
		}
	}
	return out, nil
}

// keyRow is a result row that has the key alone.
func (st *streamRows) keyRow(row table.Row) table.Row {
	out := make(table.Row, len(st.out))
	for i, f := range st.out {
		if f >= 0 && slices.Contains(st.t.Schema.PrimaryIndexes(), f) {
			out[i] = row[f]
		}
	}
	return out
}

// show puts rows through WHERE and select list.
func (st *streamRows) show(ctx context.Context, images []table.Row) ([]image, error) {
	out := make([]image, len(images))
	if !st.direct {
		return out, st.showByEngine(ctx, images, out)
	}
	for i, row := range images {
		keep := true
		for _, p := range st.preds {
			keep = keep && p.Matches(st.t.Schema.Fields[p.Field].Type, row[p.Field])
		}
		if !keep {
			continue
		}
		cells := make(table.Row, len(st.out))
		for j, f := range st.out {
			cells[j] = row[f]
		}
		out[i].row = cells
	}
	return out, nil
}

func (st *streamRows) showByEngine(ctx context.Context, images []table.Row, out []image) error {
	columns := append(columnsOf(st.t.Schema), exec.Column{Name: imageNumber, Type: table.Type{Kind: table.BigInt}})
	numbered := make([]table.Row, len(images))
	for i, row := range images {
		numbered[i] = append(slices.Clone(row), table.IntOf(int64(i)))
	}
	tree, err := st.se.srv.Engine.Parse(ctx, st.images)
	if err != nil {
		return unplaced(err)
	}
	h, err := st.se.srv.Engine.Register(ctx, memoryRelation(columns, numbered))
	if err != nil {
		return err
	}
	defer h.Close()
	text, err := tree.Render(func(*exec.Ref) (string, error) { return h.SQL(), nil })
	if err != nil {
		return err
	}
	stmt, err := st.se.engine.Prepare(ctx, text, types(st.params))
	if err != nil {
		return unplaced(err)
	}
	defer stmt.Close()
	stream, err := stmt.Run(ctx, args(st.params))
	if err != nil {
		return unplaced(err)
	}
	defer stream.Close()
	conv := newConverter(stmt.Columns(), st.se.settings.location())
	for {
		rows, err := stream.Next(ctx)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			rows, err = conv.rows(rows)
		}
		if err != nil {
			return unplaced(err)
		}
		for _, row := range rows {
			n := row[0].Int()
			if n < 0 || n >= int64(len(out)) {
				return errors.New("row image " + strconv.FormatInt(n, 10) + " does not exist")
			}
			out[n].row = slices.Clone(row[1:])
		}
	}
}
