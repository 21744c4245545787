package sql

import (
	"maps"
	"slices"
	"strings"

	"dtstore/table"
)

// maxNested bounds EXPLAIN of PREPARE of EXPLAIN of …
const maxNested = 8

// statement parses one statement and fills in its Source.
func (p *parser) statement() Statement {
	if p.nested++; p.nested > maxNested {
		p.failAt(p.tok.Start, table.Errorf("54001", "statements are nested deeper than %d", maxNested))
		return nil
	}
	base, params, hints := p.base, p.params, p.hints
	p.base, p.params, p.hints = p.tok.Start, 0, nil
	s := p.dispatch()
	if p.fault == nil && s == nil {
		p.unexpected()
	}
	if p.fault != nil {
		return nil
	}
	*s.Origin() = Source{Text: p.lex.Text[p.base:p.last], Start: p.base, Params: p.params, Hints: p.hints, whole: p.lex.Text}
	p.base, p.params, p.hints = base, max(params, p.params), hints
	p.nested--
	return s
}

func (p *parser) dispatch() Statement {
	if p.isPunct("(") {
		return p.query()
	}
	if p.tok.Kind != Word {
		p.unexpected()
		return nil
	}
	word := Fold(p.text())
	if s, ok := p.known(word); ok {
		return s
	}
	p.refused()
	if p.fault == nil {
		hint := "HELP lists the statements."
		if near := table.Nearest(word, firstWords); near != "" {
			hint = "Did you mean " + strings.ToUpper(near) + "? " + hint
		}
		p.unexpectedHint(hint)
	}
	return nil
}

var firstWords = strings.Fields(`select values table from with insert replace update delete create drop alter use show describe
	desc help checkpoint set reset discard begin start commit end rollback abort savepoint release prepare execute deallocate
	declare fetch move close copy explain listen unlisten analyze vacuum`)

// known parses the statement that begins with word, if there is one.
func (p *parser) known(word string) (Statement, bool) {
	switch word {
	case "select", "values", "table", "from":
		return p.query(), true
	case "with":
		return p.with(), true
	case "insert", "replace":
		return p.insert(Fragment{}), true
	case "update":
		return p.update(Fragment{}), true
	case "delete":
		return p.delete(Fragment{}), true
	case "create":
		return p.create(), true
	case "drop":
		return p.drop(), true
	case "alter":
		return p.alter(), true
	case "copy":
		return p.copy(), true
	case "explain":
		return p.explain(), true
	case "declare":
		return p.declare(), true
	case "fetch", "move":
		return p.fetch(), true
	case "close":
		return p.close(), true
	}
	if s, ok := p.transaction(word); ok {
		return s, true
	}
	return p.session(word)
}

// query takes everything up to the end as a query.
func (p *parser) query() Statement {
	p.skip(never)
	return &Query{}
}

// subquery parses a query inside of another statement.
func (p *parser) subquery() *Query {
	start := p.tok.Start
	s := p.statement()
	q, ok := s.(*Query)
	if !ok && p.fault == nil {
		p.refuse(start, "only a query can stand here", "Write SELECT, VALUES, TABLE or WITH … SELECT.")
	}
	return q
}

// with parses WITH …, which may lead a query or a change.
func (p *parser) with() Statement {
	start := p.tok.Start
	p.next()
	p.accept("recursive")
	for p.isName() {
		p.next()
		if p.isPunct("(") {
			p.group()
		}
		if !p.accept("as") {
			return p.query()
		}
		if !p.accept("not", "materialized") {
			p.accept("materialized")
		}
		if !p.isPunct("(") {
			return p.query()
		}
		at := p.tok.Start
		m := p.mark()
		p.next()
		if p.is("insert", "update", "delete", "merge") {
			p.refuse(at, "data-modifying statements in WITH are not implemented",
				"Send the statements one by one, between BEGIN and COMMIT.")
		}
		p.back(m)
		p.group()
		if !p.acceptPunct(",") {
			break
		}
	}
	f := p.fragment(start)
	switch {
	case p.is("insert"):
		return p.insert(f)
	case p.is("update"):
		return p.update(f)
	case p.is("delete"):
		return p.delete(f)
	case p.is("merge"):
		p.refused()
	}
	return p.query()
}

// explain parses EXPLAIN.
func (p *parser) explain() Statement {
	p.next()
	e := &Explain{Format: "text"}
	switch {
	case p.isPunct("("):
		p.explainOptions(e)
	case p.accept("plan", "for"):
	case p.peek("plan"), p.peek("format"), p.peek("estimated_cost"), p.peek("changelog_mode"), p.peek("json_execution_plan"):
		p.refuse(p.tok.Start, "this form of EXPLAIN is not implemented", "Write EXPLAIN [ANALYZE] statement.")
		return nil
	default:
		e.Analyze = p.accept("analyze") || p.accept("analyse")
		e.Verbose = p.accept("verbose")
	}
	e.Statement = p.statement()
	return e
}

func (p *parser) explainOptions(e *Explain) {
	p.expectPunct("(")
	for {
		at := p.tok.Start
		name := p.label().Name
		on, value := true, ""
		if !p.isPunct(",") && !p.isPunct(")") {
			value = Fold(p.word())
			on = value != "off" && value != "false" && value != "0"
		}
		switch name {
		case "analyze", "analyse":
			e.Analyze = on
		case "verbose":
			e.Verbose = on
		case "costs", "buffers", "timing", "summary", "settings", "wal", "generic_plan", "memory":
		case "format":
			if value != "text" {
				p.refuse(at, "EXPLAIN (FORMAT "+value+") is not implemented", "Only FORMAT TEXT is.")
			}
		default:
			p.failAt(at, table.Errorf("42601", "unrecognized EXPLAIN option \"%s\"", name))
		}
		if !p.acceptPunct(",") {
			break
		}
	}
	p.expectPunct(")")
}

// word reads a word, a string or a number, with its sign, as an option's value.
func (p *parser) word() string {
	switch p.tok.Kind {
	case Word:
		return p.label().Name
	case Quoted:
		return p.ident().Name
	case String:
		return p.str()
	}
	sign := ""
	if p.isPunct("-") || p.isPunct("+") {
		if p.isPunct("-") {
			sign = "-"
		}
		p.next()
	}
	if p.tok.Kind != Number {
		p.unexpected()
		return ""
	}
	v := sign + numberValue(p.text())
	p.next()
	return v
}

// hint records an OPTIONS hint. Other hints are comments.
func (p *parser) hint(t Token) {
	if t.Start < p.hintsTo {
		return
	}
	p.hintsTo = t.End
	s := p.lex.Text
	q := &parser{lex: Lexer{Text: s[:t.End-2], pos: t.Start + 3}, base: p.base, hintsTo: len(s)}
	q.next()
	if !q.accept("options") {
		return
	}
	h := Hint{Target: nameBefore(s[:t.Start]), Start: t.Start - p.base}
	h.Options = q.options()
	if q.fault == nil && q.tok.Kind != EOF {
		q.unexpected()
	}
	if q.fault != nil {
		p.failAt(t.Start, q.fault)
		return
	}
	p.hints = append(p.hints, h)
}

// nameBefore finds the name, as written, at the end of a text: what a hint belongs to.
func nameBefore(s string) string {
	s = strings.TrimRight(s, " \t\r\n\f\v")
	i := len(s)
	for i > 0 {
		c := s[i-1]
		if c == '"' || c == '`' {
			n := strings.LastIndexByte(s[:i-1], c)
			if n < 0 {
				break
			}
			i = n
			continue
		}
		if c != '.' && classes[c]&classPart == 0 {
			break
		}
		i--
	}
	if name := s[i:]; !reserved[Fold(name)] && Fold(name) != "insert" && Fold(name) != "update" && Fold(name) != "delete" {
		return name
	}
	return ""
}

// options reads ('k' = 'v', k = v, …). A key may be dotted and hyphenated, a
// missing value means true.
func (p *parser) options() []Option {
	p.expectPunct("(")
	var out []Option
	seen := map[string]bool{}
	for p.fault == nil && !p.isPunct(")") {
		at := p.tok.Start
		o := Option{Key: p.optionKey(), Start: at - p.base, Value: "true"}
		if p.acceptPunct("=") {
			o.Value = p.word()
		}
		if seen[o.Key] {
			p.failAt(at, table.Errorf("42601", "option \"%s\" is given more than once", o.Key))
		}
		seen[o.Key] = true
		out = append(out, o)
		if !p.acceptPunct(",") {
			break
		}
	}
	p.expectPunct(")")
	return out
}

// optionKey reads a string or a name such as execution.runtime-mode.
func (p *parser) optionKey() string {
	if p.tok.Kind == String {
		return p.str()
	}
	key := p.label().Name
	for {
		sep := "."
		if p.isPunct("-") {
			sep = "-"
		} else if !p.isPunct(".") {
			return key
		}
		p.next()
		key += sep + p.label().Name
	}
}

// Keywords of PostgreSQL that are no names unless quoted.
var reserved = func() map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(`all analyse analyze and any array as asc asymmetric authorization binary both case cast check
		collate collation column concurrently constraint create cross current_catalog current_date current_role current_schema
		current_time current_timestamp current_user default deferrable desc distinct do else end except false fetch for foreign
		freeze from full grant group having ilike in initially inner intersect into is isnull join lateral leading left like limit
		localtime localtimestamp natural not notnull null offset on only or order outer overlaps placing primary references
		returning right select session_user similar some symmetric table tablesample then to trailing true union unique user using
		variadic verbose when where window with qualify pivot unpivot`) {
		m[w] = true
	}
	return m
}()

// Reserved lists the words that are no names unless quoted, sorted.
func Reserved() []string { return slices.Sorted(maps.Keys(reserved)) }
