package sql

import (
	"sort"
	"strings"
	"unicode/utf8"

	"dtstore/table"
)

// RewriteOptions are what Rewrite needs to know of the session.
type RewriteOptions struct {
	// Setting gives the value of a setting for current_setting('name'); nil knows none.
	Setting func(name string) (string, bool)
}

// Rewritten is a text for DuckDB, with the places its tokens came from.
type Rewritten struct {
	SQL   string
	text  string
	marks []place // ascending in out; nil: SQL is the text
}

// place says that SQL from byte out on came from the text at byte src.
type place struct{ out, src int }

// Origin is the byte offset in the text of a byte offset in SQL.
func (r Rewritten) Origin(offset int) int {
	if r.marks == nil {
		return offset
	}
	p := place{}
	if n := sort.Search(len(r.marks), func(i int) bool { return r.marks[i].out > offset }); n > 0 {
		p = r.marks[n-1]
	}
	return min(p.src+max(offset-p.out, 0), len(r.text))
}

// Position is the 1-based character in the text of a 1-based character in SQL.
func (r Rewritten) Position(position int) int {
	offset := 0
	for n := 1; n < position && offset < len(r.SQL); n++ {
		_, size := utf8.DecodeRuneInString(r.SQL[offset:])
		offset += size
	}
	return characters(r.text, r.Origin(offset))
}

// Locate shifts the position of an error, which is relative to a piece of the
// statement's text that begins at byte start, to the whole query text.
func (s *Source) Locate(err error, start int) error {
	e, ok := err.(*table.Error)
	if !ok || e.Position == 0 {
		return err
	}
	return e.At(e.Position + s.Position(start) - 1)
}

// token is a significant token on its way to DuckDB.
type token struct {
	kind Kind
	text string
	src  int
	gap  bool   // white space or a comment before it
	low  string // a Word, folded
}

// word is the folded name of a Word or Quoted token, else "".
func (t token) word() string {
	if t.kind == Word {
		return t.low
	}
	if t.kind == Quoted && t.text[0] == '"' {
		return strings.ReplaceAll(t.text[1:len(t.text)-1], `""`, `"`)
	}
	return ""
}

// key is the folded word of a Word token, which may be a keyword, else "".
func (t token) key() string { return t.low }

func (t token) is(punct string) bool {
	return (t.kind == Punct || t.kind == Op) && t.text == punct
}

func (t token) name() bool { return t.kind == Word || t.kind == Quoted }

// rewriter holds the tokens between its passes.
type rewriter struct {
	in      []token
	o       RewriteOptions
	catalog bool // the query names things of PostgreSQL's catalog
	needed  bool // there is a token that some pass may act on
	changed bool
	fault   *table.Error
	text    string
}

// needed says whether a pass may act on the token.
func (t token) needed() bool {
	switch t.kind {
	case String:
		return t.text[0] != '\'' && t.text[0] != '$' || strings.HasPrefix(t.text, "'{")
	case Number:
		return numberValue(t.text) != t.text
	case Quoted:
		return t.text[0] != '"' || setFunctions[t.word()]
	case Word:
		return t.low == "operator" || t.low == "collate" || t.low == "current_setting" || setFunctions[t.low] || scalarFrom[t.low] || renamed[t.low] != "" || keywords[t.low]
	case Op:
		return t.text == "->" || t.text == "->>"
	}
	return false
}

// Rewrite turns a query, or an expression of one, into what DuckDB reads as
// PostgreSQL would read the text. It works on tokens only; what needs a tree is
// left to whoever has one. It is idempotent.
func Rewrite(text string, o RewriteOptions) (Rewritten, error) {
	if len(text) > MaxText {
		return Rewritten{}, table.Errorf("54000", "query text of %d bytes is larger than %d", len(text), MaxText)
	}
	r := &rewriter{o: o, text: text}
	if err := r.lex(text); err != nil {
		return Rewritten{}, err
	}
	if r.refuse(); r.fault != nil {
		return Rewritten{}, r.fault
	}
	if !r.needed {
		return Rewritten{SQL: text, text: text}, nil
	}
	for _, pass := range []func(){r.names, r.literals, r.qualifiers, r.arrays, r.casts, r.anyAll, r.fromFunctions, r.arrows} {
		if pass(); r.fault != nil {
			return Rewritten{}, r.fault
		}
	}
	if !r.changed {
		return Rewritten{SQL: text, text: text}, nil
	}
	return r.render(), nil
}

func (r *rewriter) lex(text string) error {
	lx, gap, depth := Lexer{Text: text}, false, 0
	for {
		t := lx.Next()
		switch t.Kind {
		case EOF:
			return nil
		case Space, Comment, HintText:
			gap = true
			continue
		case Bad:
			p := parser{lex: lx}
			return p.bad(t).At(characters(text, t.Start))
		case Punct:
			switch text[t.Start] {
			case '(', '[', '{':
				if depth++; depth > MaxDepth {
					return table.Errorf("54001", "statement is nested deeper than %d parentheses", MaxDepth).At(characters(text, t.Start))
				}
			case ')', ']', '}':
				depth--
			}
		}
		tok := token{kind: t.Kind, text: text[t.Start:t.End], src: t.Start, gap: gap}
		if t.Kind == Word {
			tok.low = Fold(tok.text)
		}
		if w := tok.word(); w == "information_schema" || strings.HasPrefix(w, "pg_") || tok.kind == Word && regTypes[tok.low] {
			r.catalog = true
		}
		r.needed = r.needed || r.catalog || tok.needed()
		r.in = append(r.in, tok)
		gap = false
	}
}

func (r *rewriter) render() Rewritten {
	var b strings.Builder
	b.Grow(len(r.text) + 64)
	out := Rewritten{text: r.text, marks: make([]place, 0, len(r.in))}
	for i, t := range r.in {
		if i > 0 && (t.gap || glued(r.in[i-1], t)) {
			b.WriteByte(' ')
		}
		if t.src >= 0 {
			out.marks = append(out.marks, place{b.Len(), t.src})
		}
		b.WriteString(t.text)
	}
	out.SQL = b.String()
	return out
}

// glued says whether two tokens would become one without a blank.
func glued(a, b token) bool {
	wordy := func(k Kind) bool { return k == Word || k == Number || k == Param }
	switch {
	case wordy(a.kind) && (wordy(b.kind) || b.kind == String || b.kind == Quoted):
		return true
	case a.kind == Op && b.kind == Op:
		return true
	case a.kind == b.kind && (a.kind == String || a.kind == Quoted):
		return true
	}
	return false
}

// at returns a token, or an empty one outside of the list.
func (r *rewriter) at(i int) token { return tokenAt(r.in, i) }

func tokenAt(ts []token, i int) token {
	if i < 0 || i >= len(ts) {
		return token{kind: EOF}
	}
	return ts[i]
}

// made is a token that is not in the text; its place is that of what it stands for.
func made(kind Kind, text string, like token) token { return placed(kind, text, like.src, false) }

// placed is a token that is not in the text, or differs from what is there.
func placed(kind Kind, text string, src int, gap bool) token {
	t := token{kind: kind, text: text, src: src, gap: gap}
	if kind == Word {
		t.low = Fold(text)
	}
	return t
}

// closing finds the ) that closes the ( at i, or len(ts).
func closing(ts []token, i int) int {
	depth := 0
	for ; i < len(ts); i++ {
		if ts[i].is("(") {
			depth++
		} else if ts[i].is(")") {
			if depth--; depth <= 0 {
				return i
			}
		}
	}
	return i
}

// refuse stops what DuckDB refuses without a hint, or takes for something else.
func (r *rewriter) refuse() {
	for i, t := range r.in {
		if t.kind != Word {
			continue
		}
		next, after := r.at(i+1).key(), r.at(i+2).key()
		switch t.key() {
		case "into":
			if r.at(i - 1).is(".") {
				continue
			}
			r.fail(t, "SELECT INTO is not implemented", "Write CREATE TABLE t (…), then INSERT INTO t SELECT ….")
		case "for":
			switch next {
			case "update", "share", "no", "key":
				r.fail(t, "FOR UPDATE and FOR SHARE are not implemented",
					"There are no row locks: UPDATE t SET n = n + 1 is checked when it is written, and fails with 40001 if another session was faster.")
			case "system_time", "system_version", "version", "timestamp":
				r.fail(t, "FOR "+strings.ToUpper(next)+" is not implemented", hintTravel)
			}
		case "version", "timestamp":
			if next == "as" && after == "of" {
				r.fail(t, strings.ToUpper(t.text)+" AS OF is not implemented", hintTravel)
			}
		case "regexp_matches":
			if r.at(i + 1).is("(") { // true or false in DuckDB, rows of matches in PostgreSQL
				r.fail(t, "regexp_matches is not implemented", "Write x ~ 'pattern' for a test, regexp_extract_all(x, 'pattern') for the matches.")
			}
		case "as":
			if next == "of" && (after == "timestamp" || after == "system") {
				r.fail(t, "AS OF is not implemented", hintTravel)
			}
		}
	}
}

const hintTravel = "A query reads the table's newest state; older snapshots can be read with Spark, Flink or pypaimon."

func (r *rewriter) fail(t token, what, hint string) {
	if r.fault == nil {
		r.fault = table.Errorf("0A000", "%s", what).WithHint("%s", hint).At(characters(r.text, t.src))
	}
}

// literals writes what only PostgreSQL's lexer knows as plain literals.
func (r *rewriter) literals() {
	out := make([]token, 0, len(r.in)+8)
	for i := 0; i < len(r.in); i++ {
		t := r.in[i]
		switch {
		case t.kind == Number:
			if v := numberValue(t.text); v != t.text {
				t.text, r.changed = v, true
			}
		case t.kind == Quoted && t.text[0] != '"':
			name, err := identValue(Quoted, t.text)
			if err != nil {
				r.bad(t, err)
				return
			}
			t.text, r.changed = QuoteIdent(name), true
		case t.kind == String && t.text[0] != '\'' && t.text[0] != '$':
			escape, used := byte('\\'), 0
			if e := r.at(i + 2).text; t.text[0]|32 == 'u' && r.at(i+1).key() == "uescape" && len(e) == 3 && r.at(i+2).kind == String {
				escape, used = e[1], 2
			}
			out = append(out, r.stringTokens(t, escape)...)
			if r.fault != nil {
				return
			}
			i, r.changed = i+used, true
			continue
		}
		out = append(out, t)
	}
	r.in = out
}

func (r *rewriter) stringTokens(t token, escape byte) []token {
	v, letter, err := stringValue(t.text, escape)
	if err != nil {
		r.bad(t, err)
		return nil
	}
	cast := ""
	switch letter {
	case 'b':
		cast = "BIT"
	case 'x':
		raw, err := hexValue(v)
		if err != nil {
			r.bad(t, err)
			return nil
		}
		v, cast = blobText(raw), "BLOB"
	}
	t.text = QuoteString(v)
	if cast == "" {
		return []token{t}
	}
	// brackets keep a subscript or a cast behind it apart
	open := made(Punct, "(", t)
	open.gap, t.gap = t.gap, false
	return []token{open, t, made(Op, "::", t), made(Word, cast, t), made(Punct, ")", t)}
}

// blobText writes bytes as DuckDB's blob literal has them.
func blobText(b string) string {
	const digits = "0123456789ABCDEF"
	out := make([]byte, 0, 4*len(b))
	for i := range len(b) {
		out = append(out, '\\', 'x', digits[b[i]>>4], digits[b[i]&15])
	}
	return string(out)
}

func (r *rewriter) bad(t token, err *table.Error) {
	if r.fault == nil {
		r.fault = err.At(characters(r.text, t.src))
	}
}
