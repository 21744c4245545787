package sql

import (
	"strings"
	"unicode/utf8"

	"dtstore/table"
)

// Limits of one query text. They keep what a client sends from growing the
// process; a program that needs more uses COPY.
const (
	MaxText   = 64 << 20 // bytes
	MaxDepth  = 400      // parentheses; DuckDB's own parser gives up at 1000 levels of expression
	MaxValues = 4 << 20  // values of one VALUES list: 128 MiB of Expr
)

// Parse gives the statements of a query text, none for an empty one. Either all
// of them parse or the error, a *table.Error with its Position in text, says
// which does not.
func Parse(text string) ([]Statement, error) {
	p, err := newParser(text)
	if err != nil {
		return nil, err
	}
	var out []Statement
	for {
		for p.tok.Kind == Punct && p.text() == ";" {
			p.next()
		}
		if p.fault == nil && p.tok.Kind == EOF {
			return out, nil
		}
		s := p.statement()
		if p.fault == nil && !p.ended() {
			p.unexpected()
		}
		if p.fault != nil {
			return nil, p.fault
		}
		out = append(out, s)
	}
}

// ParseOne is Parse for a text that may hold one statement, as in the extended
// protocol: nil for an empty text.
func ParseOne(text string) (Statement, error) {
	list, err := Parse(text)
	switch {
	case err != nil:
		return nil, err
	case len(list) == 0:
		return nil, nil
	case len(list) > 1:
		return nil, table.Errorf("42601", "cannot insert multiple commands into a prepared statement").
			WithHint("Send the statements one by one, or through the simple query protocol.")
	}
	return list[0], nil
}

// parser reads one query text. After the first fault every token is EOF, so
// that the descent ends by itself; results are not used then.
type parser struct {
	lex   Lexer
	tok   Token
	last  int // end of the token before tok
	fault *table.Error

	base    int // where the statement begins
	params  int
	depth   int
	hints   []Hint
	hintsTo int // hints before this offset are recorded
	nested  int // statements around this one, such as EXPLAIN
}

func newParser(text string) (*parser, error) {
	if len(text) > MaxText {
		return nil, table.Errorf("54000", "query text of %d bytes is larger than %d", len(text), MaxText).
			WithHint("Load many rows with COPY t FROM STDIN.")
	}
	if !utf8.ValidString(text) {
		return nil, table.Errorf("22021", "invalid byte sequence for encoding \"UTF8\" in the query text")
	}
	if i := strings.IndexByte(text, 0); i >= 0 {
		return nil, table.Errorf("22021", "invalid byte sequence for encoding \"UTF8\": 0x00").At(characters(text, i))
	}
	p := &parser{lex: Lexer{Text: text}}
	p.next()
	return p, nil
}

// mark is a place to come back to.
type mark struct {
	lex   Lexer
	tok   Token
	last  int
	depth int
}

func (p *parser) mark() mark { return mark{p.lex, p.tok, p.last, p.depth} }

func (p *parser) back(m mark) {
	if p.fault == nil {
		p.lex, p.tok, p.last, p.depth = m.lex, m.tok, m.last, m.depth
	}
}

// next moves to the next significant token.
func (p *parser) next() {
	p.last = p.tok.End
	for {
		t := p.lex.Next()
		switch t.Kind {
		case Space, Comment:
			continue
		case HintText:
			p.hint(t)
			continue
		case Bad:
			p.tok = t
			p.failAt(t.Start, p.bad(t))
			return
		case Param:
			p.tok = t
			p.param(t)
			return
		case Punct:
			p.tok = t
			p.nest(t)
			return
		}
		p.tok = t
		return
	}
}

func (p *parser) nest(t Token) {
	switch p.lex.Text[t.Start] {
	case '(', '[', '{':
		if p.depth++; p.depth > MaxDepth {
			p.failAt(t.Start, table.Errorf("54001", "statement is nested deeper than %d parentheses", MaxDepth).
				WithHint("Simplify the statement."))
		}
	case ')', ']', '}':
		p.depth--
	}
}

func (p *parser) bad(t Token) *table.Error {
	what := "quoted string"
	switch s := p.lex.Text[t.Start:]; {
	case strings.HasPrefix(s, "/*"):
		what = "/* comment"
	case s[0] == '$':
		what = "dollar-quoted string"
	case s[0] == '"', s[0] == '`', len(s) > 2 && s[2] == '"' && s[1] == '&':
		what = "quoted identifier"
	}
	return table.Errorf("42601", "unterminated %s at or near \"%s\"", what, near(p.lex.Text[t.Start:]))
}

// maxParam is the protocol's limit for parameters of one statement.
const maxParam = 65535

func (p *parser) param(t Token) int32 {
	n := 0
	for _, c := range p.lex.Text[t.Start+1 : t.End] {
		if n = n*10 + int(c-'0'); n > maxParam {
			break
		}
	}
	if n == 0 || n > maxParam {
		p.failAt(t.Start, table.Errorf("42P02", "there is no parameter %s", near(p.lex.Text[t.Start:t.End])).
			WithHint("Parameters are $1 to $%d.", maxParam))
		return 0
	}
	p.params = max(p.params, n)
	return int32(n)
}

// text is the current token as written.
func (p *parser) text() string { return p.lex.Text[p.tok.Start:p.tok.End] }

// is says whether the current token is one of these keywords (lower case).
func (p *parser) is(words ...string) bool {
	if p.tok.Kind != Word {
		return false
	}
	t := p.text()
	for _, w := range words {
		if len(w) == len(t) && equalFold(t, w) {
			return true
		}
	}
	return false
}

// equalFold compares a word with a lower-case keyword of the same length.
func equalFold(word, lower string) bool {
	for i := 0; i < len(word); i++ {
		c := word[i]
		if c >= 'A' && c <= 'Z' {
			c |= 32
		}
		if c != lower[i] {
			return false
		}
	}
	return true
}

// accept moves over these keywords if they all come next, in order.
func (p *parser) accept(words ...string) bool {
	if !p.is(words[0]) {
		return false
	}
	if len(words) == 1 {
		p.next()
		return true
	}
	m := p.mark()
	for _, w := range words {
		if !p.is(w) {
			p.back(m)
			return false
		}
		p.next()
	}
	return true
}

// peek says whether these keywords come next.
func (p *parser) peek(words ...string) bool {
	m := p.mark()
	ok := p.accept(words...)
	p.back(m)
	return ok && p.fault == nil
}

func (p *parser) expect(words ...string) {
	for _, w := range words {
		if !p.accept(w) {
			p.unexpected()
			return
		}
	}
}

func (p *parser) isPunct(c string) bool {
	return (p.tok.Kind == Punct || p.tok.Kind == Op) && p.text() == c
}

func (p *parser) acceptPunct(c string) bool {
	if !p.isPunct(c) {
		return false
	}
	p.next()
	return true
}

func (p *parser) expectPunct(c string) {
	if !p.acceptPunct(c) {
		p.unexpected()
	}
}

// ended says whether the statement is over.
func (p *parser) ended() bool { return p.tok.Kind == EOF || p.tok.Kind == Punct && p.text() == ";" }

// failAt records the first fault, with its place, and ends the tokens.
func (p *parser) failAt(offset int, e *table.Error) {
	if p.fault == nil {
		if e.Position == 0 {
			e = e.At(characters(p.lex.Text, offset))
		}
		p.fault = e
	}
	end := len(p.lex.Text)
	p.lex.pos = end
	p.tok = Token{EOF, end, end}
}

// unexpected is the syntax error at the current token.
func (p *parser) unexpected() {
	if p.fault != nil {
		return
	}
	p.failAt(p.tok.Start, p.syntaxError())
}

func (p *parser) syntaxError() *table.Error {
	if p.tok.Kind == EOF {
		return table.Errorf("42601", "syntax error at end of input")
	}
	return table.Errorf("42601", "syntax error at or near \"%s\"", near(p.text()))
}

// unexpectedHint is unexpected with a hint.
func (p *parser) unexpectedHint(hint string) {
	if p.fault == nil {
		p.failAt(p.tok.Start, p.syntaxError().WithHint("%s", hint))
	}
}

// refuse says at an offset of the text that a thing is recognised and not built.
func (p *parser) refuse(offset int, what, hint string) {
	p.failAt(offset, table.Errorf("0A000", "%s", what).WithHint("%s", hint))
}

// near shortens what an error shows of the text.
func near(s string) string {
	const most = 60
	if len(s) <= most {
		return s
	}
	n := most
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}

// ident reads a name that may be any word that is not reserved.
func (p *parser) ident() Ident {
	start := p.tok.Start - p.base
	switch p.tok.Kind {
	case Word:
		name := Fold(p.text())
		if reserved[name] {
			p.unexpectedHint("\"" + name + "\" is a reserved word: as a name it is written with double quotes.")
			return Ident{}
		}
		p.next()
		return Ident{name, start}
	case Quoted, Backtick:
		name, err := identValue(p.tok.Kind, p.text())
		if err == nil && name == "" {
			err = table.Errorf("42601", "zero-length delimited identifier at or near \"%s\"", near(p.text()))
		}
		if err != nil {
			p.failAt(p.tok.Start, err)
			return Ident{}
		}
		p.next()
		return Ident{name, start}
	}
	p.unexpected()
	return Ident{}
}

// label reads a name where every word is allowed.
func (p *parser) label() Ident {
	if p.tok.Kind == Word {
		i := Ident{Fold(p.text()), p.tok.Start - p.base}
		p.next()
		return i
	}
	return p.ident()
}

// isName says whether a name that is not reserved comes next.
func (p *parser) isName() bool {
	switch p.tok.Kind {
	case Word:
		return !reserved[Fold(p.text())]
	case Quoted, Backtick:
		return true
	}
	return false
}

// name reads [[dtstore.]database.]table.
func (p *parser) name() Name {
	start := p.tok.Start
	first := p.ident()
	parts := []Ident{first}
	for p.acceptPunct(".") {
		parts = append(parts, p.label())
	}
	n := Name{Table: parts[len(parts)-1].Name, Start: start - p.base}
	switch len(parts) {
	case 1:
	case 3:
		if parts[0].Name != Catalog {
			p.refuse(start, "cross-database references are not implemented: "+near(p.lex.Text[start:p.last]),
				"There is one database, "+Catalog+": write schema.table or "+Catalog+".schema.table.")
		}
		n.Database = parts[1].Name
	case 2:
		n.Database = parts[0].Name
	default:
		p.failAt(start, table.Errorf("42601", "improper qualified name (too many dotted names): %s", near(p.lex.Text[start:p.last])))
	}
	return n
}

// Catalog is the one database that clients see.
const Catalog = "dtstore"

// idents reads (a, b, …).
func (p *parser) idents() []Ident {
	p.expectPunct("(")
	out := []Ident{p.ident()}
	for p.acceptPunct(",") {
		out = append(out, p.ident())
	}
	p.expectPunct(")")
	return out
}

// str reads a string literal and gives its value.
func (p *parser) str() string {
	if p.tok.Kind != String {
		p.unexpected()
		return ""
	}
	v, _, err := p.stringToken()
	if err != nil {
		p.failAt(p.tok.Start, err)
		return ""
	}
	p.next()
	return v
}

// stringToken decodes the current String token, with the UESCAPE that may
// follow it; the last token of both stays current.
func (p *parser) stringToken() (string, byte, *table.Error) {
	tok := p.text()
	if tok[0]|32 != 'u' {
		return stringValue(tok, '\\')
	}
	m := p.mark()
	escape := byte('\\')
	p.next()
	if !p.accept("uescape") {
		p.back(m)
		return stringValue(tok, escape)
	}
	e := p.text()
	if p.tok.Kind != String || len(e) != 3 || strings.IndexByte("+'\" \t\n0123456789abcdefABCDEF", e[1]) >= 0 || e[1] >= 0x80 {
		return "", 0, table.Errorf("42601", "invalid Unicode escape character")
	}
	return stringValue(tok, e[1])
}

// fragment is the text from an offset to the end of the last token.
func (p *parser) fragment(start int) Fragment {
	if p.fault != nil || p.last <= start {
		return Fragment{}
	}
	return Fragment{p.lex.Text[start:p.last], start - p.base}
}

// skip moves over tokens until stop says so outside of any parenthesis opened on
// the way, or a closing one or the end of the statement comes. It returns what it
// moved over.
func (p *parser) skip(stop func() bool) Fragment {
	start, depth := p.tok.Start, 0
	for !p.ended() {
		if depth == 0 && stop() {
			break
		}
		if p.tok.Kind == Punct {
			switch p.lex.Text[p.tok.Start] {
			case '(', '[', '{':
				depth++
			case ')', ']', '}':
				if depth == 0 {
					return p.fragment(start)
				}
				depth--
			}
		}
		p.next()
	}
	return p.fragment(start)
}

func never() bool { return false }

// group reads a parenthesised group and returns what is inside.
func (p *parser) group() Fragment {
	p.expectPunct("(")
	f := p.skip(never)
	p.expectPunct(")")
	return f
}
