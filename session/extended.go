package session

import (
	"context"
	"slices"

	"dtstore/exec"
	"dtstore/sql"
	"dtstore/table"
	"dtstore/wire"
)

// prepared is a statement of Parse or PREPARE.
type prepared struct {
	stmt     sql.Statement // nil: an empty text
	text     string
	declared []uint32 // types that the client gave

	known   bool // the rest is filled
	params  []uint32
	columns []wire.Column // nil: returns no rows
}

// portal is a bound statement, or a declared cursor.
type portal struct {
	name     string
	number   int // rising over the session, for ROLLBACK TO SAVEPOINT
	stmt     sql.Statement
	params   []param
	formats  []int16
	columns  []wire.Column // with formats; nil: returns no rows
	res      *result       // once it runs
	complete bool
	tag      string // of another run of a complete one

	cursor *cursor // of DECLARE
}

// Limits of what one session may keep.
const (
	maxStatements = 10_000
	maxPortals    = 1_000
)

// Parse prepares a statement.
func (se *Session) Parse(ctx context.Context, name, text string, oids []uint32) (err error) {
	defer se.recoverTo(&err)
	stmt, err := sql.ParseOne(text)
	if err != nil {
		return se.syntax(err)
	}
	if stmt != nil && se.tx != nil && se.tx.failed && !endsTransaction(stmt) {
		return errAborted()
	}
	if name != "" && se.statements[name] != nil {
		return table.Errorf("42P05", "prepared statement \"%s\" already exists", name)
	}
	if len(se.statements) >= maxStatements {
		return table.Errorf("53400", "a session can keep %d prepared statements", maxStatements).WithHint("DEALLOCATE those that are no longer used.")
	}
	p := &prepared{stmt: stmt, text: text, declared: slices.Clone(oids)}
	if err := se.analyze(ctx, p); err != nil {
		return err
	}
	se.statements[name] = p
	return nil
}

// analyze finds the types of parameters and columns, if that needs no more
// than the catalog: names and types are checked at Parse, as Postgres does.
func (se *Session) analyze(ctx context.Context, p *prepared) error {
	if p.stmt == nil || p.known {
		return nil
	}
	declared := make([]exec.Type, len(p.declared))
	for i, oid := range p.declared {
		t, ok := exec.TypeOfOID(oid)
		if !ok {
			t = exec.Type{ID: exec.Text}
		}
		declared[i] = t
	}
	opened := se.tx == nil
	if opened {
		se.begin(false)
		defer func() { // describing changes nothing, and portals that are bound stay
			se.tx.forget()
			se.tx = nil
		}()
	}
	params, columns, err := se.describe(ctx, p.stmt, declared)
	if err != nil {
		return err
	}
	p.params = make([]uint32, max(len(params), p.stmt.Origin().Params))
	for i := range p.params {
		p.params[i] = wire.OIDText
		if i < len(params) && params[i].ID != exec.Unknown {
			p.params[i] = params[i].OID()
		}
		if i < len(p.declared) && p.declared[i] != 0 {
			p.params[i] = p.declared[i]
		}
	}
	p.columns, p.known = columns, true
	return nil
}

// describe gives the types of a statement's parameters, and its columns (nil:
// none), without running it.
func (se *Session) describe(ctx context.Context, stmt sql.Statement, declared []exec.Type) ([]exec.Type, []wire.Column, error) {
	switch s := stmt.(type) {
	case *sql.Query:
		b, err := se.bind(ctx, s.Text, s.Position(0)-1)
		if err != nil {
			return nil, nil, err
		}
		if err := se.syncCatalog(ctx, b); err != nil {
			return nil, nil, err
		}
		params, columns, err := b.describe(ctx, grow(declared, s.Params))
		if err != nil {
			return nil, nil, err
		}
		out := b.columns(columns)
		if se.settings.streaming() && len(b.refs) > 0 {
			out = append([]wire.Column{rowKindColumn}, out...)
		}
		return params, out, nil
	case *sql.Insert:
		params, err := se.describeInsert(ctx, s, declared)
		return params, nil, err
	case *sql.Update:
		m, err := se.modifyUpdate(ctx, s)
		if err != nil {
			return nil, nil, err
		}
		params, err := se.describeModification(ctx, m, s.Params, declared)
		return params, nil, err
	case *sql.Delete:
		m, err := se.modifyDelete(ctx, s)
		if err != nil {
			return nil, nil, err
		}
		params, err := se.describeModification(ctx, m, s.Params, declared)
		return params, nil, err
	case *sql.Explain:
		params, _, err := se.describe(ctx, s.Statement, declared)
		return params, []wire.Column{textColumn("QUERY PLAN")}, err
	case *sql.Execute:
		p := se.statements[s.Name]
		if p == nil {
			return nil, nil, noStatement(s.Name)
		}
		if err := se.analyze(ctx, p); err != nil {
			return nil, nil, err
		}
		return nil, p.columns, nil
	case *sql.Fetch:
		c := se.portals[s.Name]
		if c == nil || s.Move {
			return nil, nil, nil
		}
		return nil, c.columns, nil
	}
	columns, err := se.fixedColumns(ctx, stmt)
	return declared, columns, err
}

// rowKindColumn leads the rows of a streaming SELECT.
var rowKindColumn = wire.Column{Name: "rowkind", OID: wire.OIDText, Typmod: -1}

func textColumn(name string) wire.Column {
	return wire.Column{Name: name, OID: wire.OIDText, Typmod: -1}
}

func noStatement(name string) error {
	if name == "" {
		return table.Errorf("26000", "unnamed prepared statement does not exist")
	}
	return table.Errorf("26000", "prepared statement \"%s\" does not exist", name)
}

func noPortal(name string) error { return table.Errorf("34000", "portal \"%s\" does not exist", name) }

// Bind makes a portal.
func (se *Session) Bind(ctx context.Context, b wire.Bind) (err error) {
	defer se.recoverTo(&err)
	p := se.statements[b.Statement]
	if p == nil {
		return noStatement(b.Statement)
	}
	if p.stmt != nil && se.tx != nil && se.tx.failed && !endsTransaction(p.stmt) {
		return errAborted()
	}
	if b.Portal != "" && se.portals[b.Portal] != nil {
		return table.Errorf("42P03", "cursor \"%s\" already exists", b.Portal)
	}
	if len(se.portals) >= maxPortals {
		return table.Errorf("53400", "a session can keep %d portals", maxPortals).WithHint("Close those that are no longer used.")
	}
	if err := se.analyze(ctx, p); err != nil {
		return err
	}
	if len(b.Params) != len(p.params) {
		return table.Errorf("08P01", "bind message supplies %d parameters, but prepared statement \"%s\" requires %d", len(b.Params), b.Statement, len(p.params))
	}
	po := &portal{name: b.Portal, stmt: p.stmt, formats: slices.Clone(b.ResultFormats)}
	for i, data := range b.Params {
		format, err := formatOf(b.ParamFormats, i, len(b.Params))
		if err != nil {
			return err
		}
		v, err := decodeParam(p.params[i], format, data, se.settings.location())
		if err != nil {
			return err
		}
		po.params = append(po.params, v)
	}
	if p.columns != nil {
		if po.columns, err = wire.WithFormats(p.columns, po.formats); err != nil {
			return err
		}
	}
	se.closePortal(b.Portal)
	se.keepPortal(po)
	return nil
}

func formatOf(formats []int16, i, n int) (int16, error) {
	switch len(formats) {
	case 0:
		return 0, nil
	case 1:
		return formats[0], nil
	case n:
		return formats[i], nil
	}
	return 0, table.Errorf("08P01", "bind message has %d parameter formats but %d parameters", len(formats), n)
}

// DescribeStatement tells a prepared statement's types.
func (se *Session) DescribeStatement(ctx context.Context, name string) (params []uint32, columns []wire.Column, err error) {
	defer se.recoverTo(&err)
	p := se.statements[name]
	if p == nil {
		return nil, nil, noStatement(name)
	}
	if err := se.analyze(ctx, p); err != nil {
		return nil, nil, err
	}
	return p.params, p.columns, nil
}

// DescribePortal tells a portal's or cursor's columns.
func (se *Session) DescribePortal(_ context.Context, name string) ([]wire.Column, error) {
	po := se.portals[name]
	if po == nil {
		return nil, noPortal(name)
	}
	return po.columns, nil
}

// Execute runs a portal, or goes on with it.
func (se *Session) Execute(ctx context.Context, name string, maxRows int, w *wire.Writer) (err error) {
	defer se.recoverTo(&err)
	po := se.portals[name]
	if po == nil {
		return noPortal(name)
	}
	if po.cursor != nil {
		return table.Errorf("0A000", "cursor \"%s\" is read with FETCH", name)
	}
	if po.stmt == nil {
		w.Empty()
		return nil
	}
	ctx, stop := se.limit(ctx)
	defer stop()
	if po.complete {
		if po.columns == nil {
			return table.Errorf("55000", "portal \"%s\" cannot be run", name)
		}
		return w.Complete(po.tag)
	}
	if po.res == nil {
		res, err := se.start(ctx, po.stmt, po.params, w)
		if err != nil {
			return err
		}
		if !alike(po.columns, res.columns) {
			res.close()
			return table.Errorf("0A000", "cached plan must not change result type").WithHint("Prepare the statement again.")
		}
		if res.columns != nil {
			if res.columns, err = wire.WithFormats(res.columns, po.formats); err != nil {
				res.close()
				return err
			}
		}
		// The statement may have been one that ends all portals: then it is not
		// among them any more, and only answers.
		po.res = res
	}
	n, err := po.res.send(ctx, w, maxRows)
	if err != nil {
		po.res.close()
		return err
	}
	if maxRows > 0 && n == maxRows && po.res.more() {
		w.Suspended()
		return nil
	}
	po.complete = true
	po.tag = po.res.finalTag(0)
	tag := po.res.finalTag(n)
	po.res.close()
	return w.Complete(tag)
}

// alike says whether rows come as the client was told they would.
func alike(told, come []wire.Column) bool {
	return slices.EqualFunc(told, come, func(a, b wire.Column) bool { return a.OID == b.OID })
}

// CloseStatement forgets a prepared statement.
func (se *Session) CloseStatement(_ context.Context, name string) error {
	delete(se.statements, name)
	return nil
}

// ClosePortal forgets a portal.
func (se *Session) ClosePortal(_ context.Context, name string) error {
	se.closePortal(name)
	return nil
}

func (se *Session) closePortal(name string) {
	po := se.portals[name]
	if po == nil {
		return
	}
	delete(se.portals, name)
	if po.res != nil {
		po.res.close()
	}
	if po.cursor != nil {
		po.cursor.close()
	}
}

// keepPortal makes a portal known by its name.
func (se *Session) keepPortal(po *portal) {
	se.made++
	po.number = se.made
	se.portals[po.name] = po
}

// closeSince ends the cursors that were declared after a savepoint.
func (se *Session) closeSince(number int) {
	for name, po := range se.portals {
		if po.cursor != nil && po.number > number {
			se.closePortal(name)
		}
	}
}

// closeBorn ends the cursors WITH HOLD of a transaction that is rolled back.
func (se *Session) closeBorn(t *tx) {
	for _, c := range t.born {
		for name, po := range se.portals {
			if po.cursor == c {
				se.closePortal(name)
			}
		}
	}
}

// closeTxPortals ends the portals of the transaction; cursors WITH HOLD stay.
func (se *Session) closeTxPortals() {
	for name, po := range se.portals {
		if po.cursor == nil || !po.cursor.held {
			se.closePortal(name)
		}
	}
}

func (se *Session) closeHeld() {
	for name := range se.portals {
		se.closePortal(name)
	}
}
