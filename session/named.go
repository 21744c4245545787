package session

import (
	"context"
	"errors"
	"io"
	"math"
	"strconv"

	"dtstore/exec"
	"dtstore/sql"
	"dtstore/table"
	"dtstore/wire"
)

// named runs the statements about named things: cursors and prepared
// statements.
func (se *Session) named(ctx context.Context, stmt sql.Statement, params []param, w *wire.Writer) (*result, error) {
	switch s := stmt.(type) {
	case *sql.Declare:
		return se.declare(ctx, s, params, w)
	case *sql.Fetch:
		return se.fetch(ctx, s)
	case *sql.CloseCursor:
		return se.closeCursor(s)
	case *sql.Prepare:
		return se.prepare(ctx, s)
	case *sql.Execute:
		return se.execute(ctx, s, params, w)
	case *sql.Deallocate:
		if s.All {
			clear(se.statements)
			return done("DEALLOCATE ALL"), nil
		}
		if se.statements[s.Name] == nil {
			return nil, noStatement(s.Name)
		}
		delete(se.statements, s.Name)
		return done("DEALLOCATE"), nil
	}
	return nil, table.Errorf("0A000", "%s is not supported", sql.Tag(stmt))
}

// cursor reads a query's rows on demand. What SCROLL moved past is kept.
type cursor struct {
	res    *result
	scroll bool
	held   bool
	seen   []table.Row // with scroll or hold: all rows read so far
	at     int64       // 0: before the first row; n: on row n; past the last: n+1
	end    int64       // the number of rows, -1: not known yet
	bytes  int64
}

func (c *cursor) close() { c.res.close() }

// maxCursorBytes bounds what a cursor that scrolls or holds may keep.
const maxCursorBytes = 1 << 30

func (se *Session) declare(ctx context.Context, s *sql.Declare, params []param, w *wire.Writer) (*result, error) {
	if !se.tx.explicit && !s.Hold {
		return nil, table.Errorf("25P01", "DECLARE CURSOR can only be used in transaction blocks")
	}
	if se.portals[s.Name] != nil {
		return nil, table.Errorf("42P03", "cursor \"%s\" already exists", s.Name)
	}
	if len(se.portals) >= maxPortals {
		return nil, table.Errorf("53400", "a session can keep %d cursors", maxPortals).WithHint("CLOSE those that are no longer used.")
	}
	res, err := se.query(ctx, s.Query, params, w)
	if err != nil {
		return nil, err
	}
	c := &cursor{res: res, scroll: s.Scroll, held: s.Hold, end: -1}
	columns := res.columns
	if s.Binary {
		if columns, err = wire.WithFormats(columns, []int16{1}); err != nil {
			return nil, err
		}
	}
	if s.Hold { // its rows outlive the transaction, so they are read now
		if res.live {
			res.close()
			return nil, table.Errorf("0A000", "an endless query cannot be held beyond its transaction")
		}
		if err := c.readTo(ctx, math.MaxInt64); err != nil {
			res.close()
			return nil, err
		}
		res.close()
		se.tx.born = append(se.tx.born, c)
	}
	se.keepPortal(&portal{name: s.Name, stmt: s, columns: columns, cursor: c})
	return done("DECLARE CURSOR"), nil
}

// keeps says whether rows stay for going back.
func (c *cursor) keeps() bool { return c.scroll || c.held }

// readTo reads rows until n are kept, or all.
func (c *cursor) readTo(ctx context.Context, n int64) error {
	for c.end < 0 && int64(len(c.seen)) < n {
		rows, err := c.res.next(ctx, 0)
		if errors.Is(err, io.EOF) {
			c.end = int64(len(c.seen))
			return nil
		}
		if err != nil {
			return err
		}
		for _, row := range rows {
			row = append(table.Row(nil), row...)
			c.seen = append(c.seen, row)
			for _, v := range row {
				c.bytes += cellBytes + int64(v.Bytes())
			}
		}
		if c.bytes > maxCursorBytes {
			return table.Errorf("54000", "the cursor's rows take more than %d MB", maxCursorBytes>>20).
				WithHint("Declare it NO SCROLL and without HOLD: then its rows are read as they are fetched.")
		}
	}
	return nil
}

func (se *Session) fetch(ctx context.Context, s *sql.Fetch) (*result, error) {
	po := se.portals[s.Name]
	if po == nil {
		return nil, table.Errorf("34000", "cursor \"%s\" does not exist", s.Name)
	}
	c := po.cursor
	if c == nil { // a portal of Bind, read by name
		if po.res == nil {
			return nil, table.Errorf("34000", "cursor \"%s\" does not exist", s.Name)
		}
		c = &cursor{res: po.res, end: -1}
		po.cursor = c
	}
	rows, err := c.move(ctx, s)
	if err != nil {
		return nil, err
	}
	if s.Move {
		n := 0
		for {
			batch, err := rows.Next(ctx)
			if errors.Is(err, io.EOF) {
				return done("MOVE " + strconv.Itoa(n)), nil
			}
			if err != nil {
				return nil, err
			}
			n += len(batch)
		}
	}
	return &result{columns: po.columns, rows: rows, tag: "FETCH", counted: true, live: c.res.live}, nil
}

// move gives the rows of one FETCH.
func (c *cursor) move(ctx context.Context, s *sql.Fetch) (rows, error) {
	if s.Direction == sql.Forward && !c.keeps() {
		if s.Count == 0 && !s.All {
			return nil, table.Errorf("55000", "cursor can only scan forward").WithHint("Declare it with SCROLL option to enable backward scan.")
		}
		n := s.Count
		if s.All {
			n = math.MaxInt64
		}
		return &forward{c, n}, nil
	}
	if !c.keeps() && !(s.Direction == sql.Relative && s.Count > 0) && !(s.Direction == sql.Absolute && s.Count > c.at) {
		return nil, table.Errorf("55000", "cursor can only scan forward").WithHint("Declare it with SCROLL option to enable backward scan.")
	}
	if !c.keeps() { // forward to one row
		n := s.Count
		if s.Direction == sql.Absolute {
			n -= c.at
		}
		skip := &forward{c, n - 1}
		for n > 1 {
			if _, err := skip.Next(ctx); err != nil {
				return &memory{}, eofIsFine(err)
			}
			if skip.left == 0 {
				break
			}
		}
		return &forward{c, 1}, nil
	}
	return c.scrollTo(ctx, s)
}

func eofIsFine(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// forward reads on, at most left rows.
type forward struct {
	c    *cursor
	left int64
}

func (f *forward) Next(ctx context.Context) ([]table.Row, error) {
	if f.left == 0 {
		return nil, io.EOF
	}
	most := int(min(f.left, math.MaxInt32))
	rows, err := f.c.res.next(ctx, most)
	if err != nil {
		return nil, err
	}
	f.left -= int64(len(rows))
	f.c.at += int64(len(rows))
	return rows, nil
}

func (f *forward) Close() {}

// scrollTo serves any direction from the rows that are kept.
func (c *cursor) scrollTo(ctx context.Context, s *sql.Fetch) (rows, error) {
	one := func(n int64) (rows, error) {
		if err := c.readTo(ctx, n); err != nil {
			return nil, err
		}
		have := int64(len(c.seen))
		switch {
		case n < 1:
			c.at = 0
			return &memory{}, nil
		case n > have:
			c.at = have + 1
			return &memory{}, nil
		}
		c.at = n
		return &memory{c.seen[n-1 : n]}, nil
	}
	switch s.Direction {
	case sql.Absolute:
		if s.Count < 0 {
			if err := c.readTo(ctx, math.MaxInt64); err != nil {
				return nil, err
			}
			return one(int64(len(c.seen)) + 1 + s.Count)
		}
		return one(s.Count)
	case sql.Relative:
		return one(c.at + s.Count)
	case sql.Backward:
		from := c.at - 1
		n := min(s.Count, from)
		if s.All {
			n = from
		}
		if s.Count == 0 && !s.All {
			return one(c.at)
		}
		var out []table.Row
		for i := range max(n, 0) {
			out = append(out, c.seen[from-1-i])
		}
		c.at = from - n + 1
		if n < s.Count || s.All || n <= 0 {
			c.at = 0
		}
		return &memory{out}, nil
	}
	if s.Count == 0 && !s.All {
		return one(c.at)
	}
	n := s.Count
	if s.All || n > math.MaxInt64-c.at {
		n = math.MaxInt64 - c.at
	}
	if err := c.readTo(ctx, c.at+n); err != nil {
		return nil, err
	}
	from := min(c.at, int64(len(c.seen)))
	to := min(c.at+n, int64(len(c.seen)))
	if c.at = to; to-from < n {
		c.at = to + 1
	}
	return &memory{c.seen[from:to]}, nil
}

func (se *Session) closeCursor(s *sql.CloseCursor) (*result, error) {
	if s.All {
		for name, po := range se.portals {
			if po.cursor != nil {
				se.closePortal(name)
			}
		}
		return done("CLOSE CURSOR ALL"), nil
	}
	if se.portals[s.Name] == nil {
		return nil, table.Errorf("34000", "cursor \"%s\" does not exist", s.Name)
	}
	se.closePortal(s.Name)
	return done("CLOSE CURSOR"), nil
}

func (se *Session) prepare(ctx context.Context, s *sql.Prepare) (*result, error) {
	if se.statements[s.Name] != nil {
		return nil, table.Errorf("42P05", "prepared statement \"%s\" already exists", s.Name)
	}
	if len(se.statements) >= maxStatements {
		return nil, table.Errorf("53400", "a session can keep %d prepared statements", maxStatements).WithHint("DEALLOCATE those that are no longer used.")
	}
	p := &prepared{stmt: s.Statement, text: s.Text}
	for _, t := range s.Types {
		oid := uint32(0)
		if t.Type.Kind != table.Unsupported {
			oid = exec.TypeOf(t.Type).OID()
		}
		p.declared = append(p.declared, oid)
	}
	if err := se.analyze(ctx, p); err != nil {
		return nil, err
	}
	se.statements[s.Name] = p
	return done("PREPARE"), nil
}

// execute runs EXECUTE name (args): the arguments are assigned to the types of
// the parameters.
func (se *Session) execute(ctx context.Context, s *sql.Execute, outer []param, w *wire.Writer) (*result, error) {
	p := se.statements[s.Name]
	if p == nil {
		return nil, noStatement(s.Name)
	}
	if err := se.analyze(ctx, p); err != nil {
		return nil, err
	}
	if len(s.Args) != len(p.params) {
		return nil, table.Errorf("42601", "wrong number of parameters for prepared statement \"%s\"", s.Name).
			WithDetail("Expected %d parameters but got %d.", len(p.params), len(s.Args))
	}
	var params []param
	for i, a := range s.Args {
		v, err := se.argument(ctx, a, p.params[i], outer)
		if err != nil {
			return nil, atOrigin(err, s.Origin(), int(a.Start))
		}
		params = append(params, v)
	}
	if se.tx.readOnly && writes(p.stmt) {
		return nil, table.Errorf("25006", "cannot execute %s in a read-only transaction", sql.Tag(p.stmt))
	}
	return se.run(ctx, p.stmt, params, w)
}

// argument evaluates one argument of EXECUTE.
func (se *Session) argument(ctx context.Context, a sql.Expr, oid uint32, outer []param) (param, error) {
	loc := se.settings.location()
	switch a.Kind {
	case sql.ExprNull, sql.ExprDefault:
		return decodeParam(oid, 0, nil, loc)
	case sql.ExprParam:
		if int(a.Param) > len(outer) {
			return param{}, table.Errorf("42P02", "there is no parameter $%d", a.Param)
		}
		if o := outer[a.Param-1]; !o.value.IsNull() {
			return decodeParam(oid, 0, []byte(o.text), loc)
		}
		return decodeParam(oid, 0, nil, loc)
	case sql.ExprRaw:
		b, err := se.bind(ctx, "SELECT "+a.Text, 0)
		if err != nil {
			return param{}, unplaced(err)
		}
		res, err := se.read(ctx, b, nil)
		if err != nil {
			return param{}, unplaced(err)
		}
		defer res.close()
		rows, err := res.next(ctx, 1)
		if err != nil {
			return param{}, unplaced(err)
		}
		if rows[0][0].IsNull() {
			return decodeParam(oid, 0, nil, loc)
		}
		text, err := wire.AppendText(nil, res.columns[0], rows[0][0], loc)
		if err != nil {
			return param{}, err
		}
		return decodeParam(oid, 0, text, loc)
	}
	return decodeParam(oid, 0, []byte(a.Text), loc)
}
