package sql

import (
	"strings"

	"dtstore/table"
)

const hintReturning = "Read the rows with a SELECT of their keys afterwards, in the same transaction if need be."

// insert parses INSERT INTO and REPLACE INTO.
func (p *parser) insert(with Fragment) Statement {
	s := &Insert{With: with, Replace: p.is("replace")}
	p.next()
	at := p.tok.Start
	switch {
	case p.is("overwrite"):
		p.refuse(at, "INSERT OVERWRITE is not implemented", "Write DELETE FROM t WHERE … and INSERT INTO t … between BEGIN and COMMIT.")
	case p.is("ignore"):
		p.refuse(at, "INSERT IGNORE is not implemented", hintDoNothing)
	case p.accept("or", "replace"):
		s.Replace = true
	case p.is("or"):
		p.refuse(at, "INSERT OR … is not implemented", hintDoNothing)
	}
	p.expect("into")
	p.acceptTable()
	s.Table = p.name()
	if p.accept("as") {
		s.Alias = p.ident().Name
	}
	if p.accept("partition") {
		s.Partition = p.partitionValues()
	}
	if p.isPunct("(") && !p.queryAhead() {
		s.Columns = p.columnList()
	}
	if p.is("overriding") {
		p.refuse(p.tok.Start, "OVERRIDING is not implemented", "There are no identity columns: leave it out.")
	}
	p.insertRows(s)
	p.insertTail(s)
	p.noDefaults(s)
	return s
}

// acceptTable reads the optional word TABLE of Flink's and Hive's INSERT INTO TABLE t.
func (p *parser) acceptTable() {
	m := p.mark()
	if p.accept("table") && !p.isName() {
		p.back(m)
	}
}

// queryAhead says whether the parenthesis that comes next holds a query.
func (p *parser) queryAhead() bool {
	m := p.mark()
	defer p.back(m)
	for p.acceptPunct("(") {
	}
	return p.is("select", "with", "values", "table", "from")
}

func (p *parser) columnList() []Ident {
	p.expectPunct("(")
	var out []Ident
	for p.fault == nil {
		out = append(out, p.ident())
		if p.isPunct(".") || p.isPunct("[") {
			p.refuse(p.tok.Start, "a part of a column cannot be assigned to", "Name whole columns, without the table's name.")
		}
		if !p.acceptPunct(",") {
			break
		}
	}
	p.expectPunct(")")
	seen := map[string]bool{}
	for _, c := range out {
		if seen[c.Name] {
			p.failAt(c.Start+p.base, table.Errorf("42701", "column \"%s\" specified more than once", c.Name))
		}
		seen[c.Name] = true
	}
	return out
}

func (p *parser) partitionValues() []PartitionValue {
	p.expectPunct("(")
	var out []PartitionValue
	for p.fault == nil {
		v := PartitionValue{Column: p.ident()}
		if !p.isPunct("=") {
			p.refuse(p.tok.Start, "PARTITION with a column without a value is not implemented",
				"Leave the clause out: each row goes to the partition of its columns.")
			return nil
		}
		p.next()
		at := p.tok.Start
		v.Value = p.value()
		if p.fault == nil && (v.Value.Kind == ExprRaw || v.Value.Kind == ExprDefault) {
			p.refuse(at, "a PARTITION value must be a literal", "Write PARTITION (k = 'v').")
		}
		out = append(out, v)
		if !p.acceptPunct(",") {
			break
		}
	}
	p.expectPunct(")")
	return out
}

// insertRows reads VALUES, a query or MySQL's SET.
func (p *parser) insertRows(s *Insert) {
	start := p.tok.Start
	switch {
	case p.peek("default", "values"):
		p.refuse(start, "INSERT … DEFAULT VALUES is not implemented", "There are no column defaults: write VALUES (…).")
	case p.is("set"):
		p.refuse(start, "INSERT … SET is not implemented", "Write INSERT INTO t (a, b) VALUES (1, 2).")
	case p.is("values"):
		m := p.mark()
		p.next()
		if s.Values = p.values(); s.Values == nil {
			p.back(m)
			p.skip(p.insertEnd)
		}
	case p.is("select", "with", "table", "from"), p.isPunct("("):
		p.skip(p.insertEnd)
	default:
		p.unexpected()
	}
	s.Query = p.fragment(start)
}

func (p *parser) insertEnd() bool {
	return p.is("returning") || p.is("on") && (p.peek("on", "conflict") || p.peek("on", "duplicate"))
}

func (p *parser) insertTail(s *Insert) {
	at := p.tok.Start
	switch {
	case p.accept("on", "conflict"):
		s.OnConflict = p.onConflict(at)
	case p.accept("on", "duplicate", "key", "update"):
		s.OnConflict = &OnConflict{Set: p.assignments(), Start: at - p.base}
		for i := range s.OnConflict.Set {
			a := &s.OnConflict.Set[i]
			a.Excluded = valuesColumn(a.Value.SQL)
		}
	}
	p.noReturning()
}

func (p *parser) noReturning() {
	if p.is("returning") {
		p.refuse(p.tok.Start, "RETURNING is not implemented", hintReturning)
	}
}

const hintDoNothing = "INSERT into a table with a key replaces the row of that key. To keep rows that exist, write INSERT INTO t SELECT … WHERE NOT EXISTS (SELECT 1 FROM t WHERE …)."

func (p *parser) onConflict(at int) *OnConflict {
	c := &OnConflict{Start: at - p.base}
	if p.accept("on", "constraint") {
		c.Constraint = p.ident().Name
	} else if p.isPunct("(") {
		c.Columns = p.idents()
		if p.is("where") {
			p.refuse(p.tok.Start, "ON CONFLICT with a predicate on its target is not implemented", "Name the columns of the primary key.")
		}
	}
	p.expect("do")
	if p.is("nothing") {
		p.refuse(at, "ON CONFLICT DO NOTHING is not implemented", hintDoNothing)
	}
	p.expect("update", "set")
	c.Set = p.assignments()
	if p.accept("where") {
		c.Where = p.skip(func() bool { return p.is("returning") })
	}
	return c
}

// assignments reads a = x, (b, c) = (y, z), …
func (p *parser) assignments() []Assignment {
	var out []Assignment
	for p.fault == nil {
		if p.isPunct("(") {
			out = append(out, p.rowAssignment()...)
		} else {
			c := p.ident()
			if p.isPunct(".") || p.isPunct("[") {
				p.refuse(p.tok.Start, "a part of a column cannot be assigned to", "Name whole columns, without the table's name.")
			}
			p.expectPunct("=")
			out = append(out, p.assign(c))
		}
		if !p.acceptPunct(",") {
			break
		}
	}
	seen := map[string]bool{}
	for _, a := range out {
		if seen[a.Column.Name] {
			p.failAt(a.Column.Start+p.base, table.Errorf("42601", "multiple assignments to same column \"%s\"", a.Column.Name))
		}
		seen[a.Column.Name] = true
	}
	return out
}

func (p *parser) rowAssignment() []Assignment {
	columns := p.columnList()
	p.expectPunct("=")
	at := p.tok.Start
	p.accept("row")
	if p.queryAhead() || !p.isPunct("(") {
		p.refuse(at, "(a, b) = (SELECT …) is not implemented", "Write UPDATE t SET a = u.x, b = u.y FROM (SELECT …) u WHERE ….")
		return nil
	}
	p.expectPunct("(")
	var out []Assignment
	for i := 0; p.fault == nil; i++ {
		if i >= len(columns) {
			break
		}
		out = append(out, p.assign(columns[i]))
		if !p.acceptPunct(",") {
			break
		}
	}
	if p.fault == nil && (len(out) != len(columns) || !p.isPunct(")")) {
		p.failAt(at, table.Errorf("42601", "number of columns does not match number of values"))
	}
	p.expectPunct(")")
	return out
}

func (p *parser) assign(c Ident) Assignment {
	e := p.value()
	a := Assignment{Column: c, Literal: e}
	if p.fault != nil {
		return a
	}
	a.Value = Fragment{p.lex.Text[p.base+int(e.Start) : p.base+int(e.End)], int(e.Start)}
	switch e.Kind {
	case ExprDefault:
		a.Value.SQL, a.Literal.Kind = "NULL", ExprNull
	case ExprRaw:
		a.Excluded = excludedColumn(a.Value.SQL)
	}
	return a
}

// excludedColumn returns c of EXCLUDED.c, valuesColumn of VALUES(c); else "".
func excludedColumn(s string) string { return fixedShape(s, "excluded", ".", "") }
func valuesColumn(s string) string   { return fixedShape(s, "values", "(", ")") }

func fixedShape(s, word, open, end string) string {
	p := &parser{lex: Lexer{Text: s}}
	p.next()
	if !p.accept(word) || !p.acceptPunct(open) {
		return ""
	}
	c := p.label().Name
	if end != "" {
		p.expectPunct(end)
	}
	if p.fault != nil || p.tok.Kind != EOF {
		return ""
	}
	return c
}

// noDefaults writes NULL for DEFAULT, which is its value, where the list goes to
// the query engine as text.
func (p *parser) noDefaults(s *Insert) {
	if p.fault != nil || s.Values == nil || s.Values.Literal {
		return
	}
	var b []byte
	for _, e := range s.Values.Exprs {
		if e.Kind == ExprDefault {
			if b == nil {
				b = []byte(s.Query.SQL)
			}
			copy(b[int(e.Start)-s.Query.Start:], "NULL   ") // as long as DEFAULT: places stay
		}
	}
	if b != nil {
		s.Query.SQL = string(b)
	}
}

// Select is the query that gives the rows to insert, WITH included.
func (s *Insert) Select() string {
	switch {
	case s.With.SQL == "":
		return s.Query.SQL
	case len(s.Query.SQL) > 4 && strings.EqualFold(s.Query.SQL[:4], "with"):
		return s.With.SQL + " SELECT * FROM (" + s.Query.SQL + ") dt_insert"
	}
	return s.With.SQL + " " + s.Query.SQL
}

// update parses UPDATE.
func (p *parser) update(with Fragment) Statement {
	s := &Update{With: with}
	p.next()
	p.only()
	s.Table = p.name()
	p.noJoin("Write UPDATE t SET a = u.b FROM u WHERE t.k = u.k.")
	s.Alias = p.alias("set")
	p.noJoin("Write UPDATE t SET a = u.b FROM u WHERE t.k = u.k.")
	p.expect("set")
	s.Set = p.assignments()
	if p.accept("from") {
		s.From = p.required(func() bool { return p.is("where", "returning") })
	}
	s.Where = p.where()
	return s
}

// delete parses DELETE.
func (p *parser) delete(with Fragment) Statement {
	s := &Delete{With: with}
	p.next()
	if !p.is("from") {
		m := p.mark()
		if p.isName() {
			p.ident()
			if p.is("from") || p.isPunct(",") || p.isPunct(".") {
				p.refuse(m.tok.Start, "DELETE of several tables is not implemented", "Write DELETE FROM t USING u WHERE t.k = u.k.")
			}
		}
		p.back(m)
	}
	p.expect("from")
	p.only()
	s.Table = p.name()
	s.Alias = p.alias("using")
	if p.accept("using") {
		s.Using = p.required(func() bool { return p.is("where", "returning") })
	}
	s.Where = p.where()
	return s
}

// only reads ONLY, which says nothing here: no table has children.
func (p *parser) only() {
	p.accept("only")
}

// alias reads [AS] alias, where the alias is not the keyword that may follow.
func (p *parser) alias(following string) string {
	p.acceptPunct("*")
	if p.accept("as") {
		return p.ident().Name
	}
	if p.isName() && !p.is(following) {
		return p.ident().Name
	}
	return ""
}

func (p *parser) noJoin(hint string) {
	if p.isPunct(",") || p.is("join", "inner", "left", "right", "cross", "natural", "full") {
		p.refuse(p.tok.Start, "UPDATE of several tables is not implemented", hint)
	}
}

func (p *parser) required(stop func() bool) Fragment {
	f := p.skip(stop)
	if f.SQL == "" {
		p.unexpected()
	}
	return f
}

// where reads [WHERE condition], the end of UPDATE and DELETE.
func (p *parser) where() Fragment {
	var f Fragment
	if p.accept("where") {
		if p.peek("current", "of") {
			p.refuse(p.tok.Start, "WHERE CURRENT OF is not implemented", "Name the row by its key.")
		}
		f = p.required(func() bool { return p.is("returning", "order", "limit") })
	}
	if p.is("order", "limit") {
		p.refuse(p.tok.Start, "ORDER BY and LIMIT of a change are not implemented", "Name the rows with WHERE k IN (SELECT … ORDER BY … LIMIT …).")
	}
	p.noReturning()
	return f
}
