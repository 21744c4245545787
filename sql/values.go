package sql

import (
	"strings"

	"dtstore/table"
)

// values reads the rows behind VALUES. It returns nil, without a fault, if the
// text goes on so that it is a query after all (VALUES … UNION …).
func (p *parser) values() *Values {
	v := &Values{Literal: true}
	row := 0
	for {
		rowStart := p.tok.Start
		p.expectPunct("(")
		for {
			e := p.value()
			if e.Kind == ExprRaw {
				v.Literal = false
			}
			v.Exprs = append(v.Exprs, e)
			if !p.acceptPunct(",") {
				break
			}
		}
		p.expectPunct(")")
		if p.fault != nil {
			return nil
		}
		if row == 0 {
			v.Width = len(v.Exprs)
			v.reserve(len(p.lex.Text)-p.last, p.last-rowStart)
		}
		row++
		if len(v.Exprs) != row*v.Width {
			p.failAt(rowStart, table.Errorf("42601", "VALUES lists must all be the same length"))
			return nil
		}
		if len(v.Exprs) > MaxValues {
			p.failAt(rowStart, table.Errorf("54000", "a VALUES list holds more than %d values", MaxValues).
				WithHint("Load many rows with COPY t FROM STDIN."))
			return nil
		}
		if !p.acceptPunct(",") {
			break
		}
	}
	if !p.ended() && !p.is("on", "returning") {
		return nil
	}
	return v
}

// reserve makes room for as many rows like the first as the rest of the text may
// hold, within reason.
func (v *Values) reserve(rest, rowBytes int) {
	const most = 1 << 16 // 2 MiB
	rows := rest/(rowBytes+1) + 1
	if n := min(rows*v.Width, most); n > len(v.Exprs) {
		v.Exprs = append(make([]Expr, 0, n), v.Exprs...)
	}
}

// value reads one expression, up to a comma, a closing parenthesis or a word
// that cannot go on in it.
func (p *parser) value() Expr {
	start := p.tok.Start
	e := p.literal()
	if p.fault == nil && (e.Kind == ExprRaw || !p.valueEnd()) {
		p.skip(p.valueEnd)
		if p.last <= start {
			p.unexpected()
		}
		e = Expr{Kind: ExprRaw}
	}
	if p.fault != nil {
		return Expr{}
	}
	e.Start, e.End = int32(start-p.base), int32(p.last-p.base)
	if e.Kind == ExprRaw {
		e.Text = p.lex.Text[start:p.last]
	}
	return e
}

func (p *parser) valueEnd() bool {
	switch p.tok.Kind {
	case EOF:
		return true
	case Punct:
		c := p.lex.Text[p.tok.Start]
		return c == ',' || c == ')' || c == ';'
	case Word:
		if p.is("from") {
			return !strings.EqualFold(lastWord(p.lex.Text[:p.last]), "distinct") // a IS DISTINCT FROM b
		}
		return p.is("where", "returning", "on", "order", "limit")
	}
	return false
}

func lastWord(s string) string {
	i := len(s)
	for i > 0 && classes[s[i-1]]&classPart != 0 {
		i--
	}
	return s[i:]
}

// literal reads a literal or a parameter. Kind ExprRaw means that it is something
// else, some tokens of which may be read.
func (p *parser) literal() Expr {
	switch p.tok.Kind {
	case Number:
		e := Expr{Kind: ExprNumber, Text: numberValue(p.text())}
		p.next()
		return e
	case String:
		return p.stringLiteral(ExprString)
	case Param:
		e := Expr{Kind: ExprParam, Param: p.param(p.tok)}
		p.next()
		return e
	case Op:
		return p.signed()
	case Word:
		return p.wordLiteral()
	}
	return Expr{}
}

func (p *parser) signed() Expr {
	negative := p.isPunct("-")
	if !negative && !p.isPunct("+") {
		return Expr{}
	}
	start := p.tok.Start
	p.next()
	if p.tok.Kind != Number {
		return Expr{}
	}
	n := numberValue(p.text())
	if negative {
		if whole := p.lex.Text[start:p.tok.End]; whole[1:] == n {
			n = whole
		} else {
			n = "-" + n
		}
	}
	p.next()
	return Expr{Kind: ExprNumber, Text: n}
}

func (p *parser) stringLiteral(kind ExprKind) Expr {
	start := p.tok.Start
	v, letter, err := p.stringToken()
	if err == nil && letter == 'x' && kind == ExprString {
		kind = ExprBytes
		v, err = hexValue(v)
	}
	if err != nil {
		p.failAt(start, err)
		return Expr{}
	}
	p.next()
	if letter == 'b' || letter == 'x' && kind != ExprBytes {
		return Expr{}
	}
	return Expr{Kind: kind, Text: v}
}

func (p *parser) wordLiteral() Expr {
	kind := ExprRaw
	switch {
	case p.accept("null"):
		return Expr{Kind: ExprNull}
	case p.accept("true"):
		return Expr{Kind: ExprBool, Text: "true"}
	case p.accept("false"):
		return Expr{Kind: ExprBool, Text: "false"}
	case p.accept("default"):
		return Expr{Kind: ExprDefault}
	case p.accept("date"):
		kind = ExprDate
	case p.accept("time"):
		kind = p.zone(ExprTime, ExprRaw)
	case p.accept("timestamptz"), p.accept("timestamp_ltz"):
		kind = ExprTimestampTZ
	case p.accept("timestamp"):
		kind = p.zone(ExprTimestamp, ExprTimestampTZ)
	}
	if kind != ExprRaw && p.tok.Kind == String {
		return p.stringLiteral(kind)
	}
	return Expr{}
}

// zone reads WITH TIME ZONE and its kin behind TIME or TIMESTAMP.
func (p *parser) zone(plain, zoned ExprKind) ExprKind {
	switch {
	case p.accept("without", "time", "zone"):
		return plain
	case p.accept("with", "time", "zone"), p.accept("with", "local", "time", "zone"):
		return zoned
	}
	return plain
}
