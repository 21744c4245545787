package sql

import (
	"strings"
	"unicode/utf8"
)

// Kind is the kind of a token.
type Kind uint8

// The kinds of tokens.
const (
	EOF      Kind = iota
	Space         // white space
	Comment       // -- to the end of the line, /* nested */
	HintText      // a comment that begins with /*+
	Word          // an unquoted identifier or keyword
	Quoted        // "x", U&"x"
	Backtick      // `x`, MySQL's quoting
	String        // '…', E'…', U&'…', B'…', X'…', N'…', $tag$…$tag$, with continuations
	Number        // 1, 1.5, .5, 1e3, 1_000, 0x1F, 0o17, 0b1
	Param         // $1
	Op            // an operator: + <= :: -> …
	Punct         // ( ) [ ] { } , ; . : and any other single character
	Bad           // a string, quoted name or comment without its end
)

// Token is a piece of a text: bytes [Start, End).
type Token struct {
	Kind       Kind
	Start, End int
}

// Lexer cuts a text into tokens as PostgreSQL does (standard_conforming_strings
// on). Its tokens cover the text. The zero Lexer with Text set is ready; a copy
// of a Lexer is a place to come back to.
type Lexer struct {
	Text string
	pos  int
}

// Lex returns all tokens of text, white space and comments included, without EOF.
func Lex(text string) []Token {
	lx := Lexer{Text: text}
	var out []Token
	for {
		t := lx.Next()
		if t.Kind == EOF {
			return out
		}
		out = append(out, t)
	}
}

const (
	classSpace = 1 << iota
	classStart // begins an identifier
	classPart  // goes on in an identifier
	classDigit
	classOp
)

var classes = func() (c [256]uint8) {
	for _, b := range " \t\n\r\f\v" {
		c[b] |= classSpace
	}
	for b := range 256 {
		switch {
		case b == '_', b >= 0x80, b|32 >= 'a' && b|32 <= 'z':
			c[b] |= classStart | classPart
		case b >= '0' && b <= '9':
			c[b] |= classDigit | classPart
		case b == '$':
			c[b] |= classPart
		}
	}
	for _, b := range "~!@#^&|`?+-*/%<>=" {
		c[b] |= classOp
	}
	return c
}()

// Next returns the next token; at the end of the text it is EOF, for ever.
func (lx *Lexer) Next() Token {
	s, i := lx.Text, lx.pos
	if i >= len(s) {
		return Token{EOF, len(s), len(s)}
	}
	kind, end := lx.scan(s, i)
	lx.pos = end
	return Token{kind, i, end}
}

func (lx *Lexer) scan(s string, i int) (Kind, int) {
	c := s[i]
	class := classes[c]
	switch {
	case class&classSpace != 0:
		j := i + 1
		for j < len(s) && classes[s[j]]&classSpace != 0 {
			j++
		}
		return Space, j
	case class&classStart != 0:
		if kind, end, ok := prefixed(s, i); ok {
			return kind, end
		}
		j := i + 1
		for j < len(s) && classes[s[j]]&classPart != 0 {
			j++
		}
		return Word, j
	case class&classDigit != 0, c == '.' && digitAt(s, i+1):
		return Number, number(s, i)
	case c == '\'':
		return text(s, i+1, false)
	case c == '"':
		return closed(Quoted, s, i+1, '"')
	case c == '$':
		return dollar(s, i)
	case c == '`':
		if strings.IndexByte(s[i+1:], '`') > 0 {
			return closed(Backtick, s, i+1, '`')
		}
	case c == ':' && i+1 < len(s) && (s[i+1] == ':' || s[i+1] == '='):
		return Op, i + 2
	}
	if class&classOp != 0 {
		return operator(s, i)
	}
	return Punct, i + 1
}

// prefixed scans E'…' and its kin.
func prefixed(s string, i int) (Kind, int, bool) {
	if i+1 >= len(s) {
		return 0, 0, false
	}
	switch s[i] | 32 {
	case 'e':
		if s[i+1] == '\'' {
			k, end := text(s, i+2, true)
			return k, end, true
		}
	case 'b', 'x', 'n':
		if s[i+1] == '\'' {
			k, end := text(s, i+2, false)
			return k, end, true
		}
	case 'u':
		if s[i+1] == '&' && i+2 < len(s) {
			switch s[i+2] {
			case '\'':
				k, end := text(s, i+3, false)
				return k, end, true
			case '"':
				k, end := closed(Quoted, s, i+3, '"')
				return k, end, true
			}
		}
	}
	return 0, 0, false
}

// text scans a string from behind its opening quote, with the continuations
// that follow it on later lines.
func text(s string, i int, backslash bool) (Kind, int) {
	for {
		end, ok := quoteEnd(s, i, backslash)
		if !ok {
			return Bad, len(s)
		}
		next, ok := continuation(s, end)
		if !ok {
			return String, end
		}
		i = next
	}
}

// quoteEnd returns the place behind the closing quote of a string whose content starts at i.
func quoteEnd(s string, i int, backslash bool) (int, bool) {
	for i < len(s) {
		if backslash && s[i] == '\\' {
			i += 2
			continue
		}
		if s[i] == '\'' {
			if i+1 >= len(s) || s[i+1] != '\'' {
				return i + 1, true
			}
			i++
		}
		i++
	}
	return 0, false
}

// continuation finds a further quoted part: white space with a line break, then a quote.
// It returns the place behind that quote.
func continuation(s string, i int) (int, bool) {
	newline := false
	for i < len(s) && classes[s[i]]&classSpace != 0 {
		newline = newline || s[i] == '\n' || s[i] == '\r'
		i++
	}
	if newline && i < len(s) && s[i] == '\'' {
		return i + 1, true
	}
	return 0, false
}

// closed scans to the closing quote; a doubled quote stands for itself.
func closed(kind Kind, s string, i int, quote byte) (Kind, int) {
	for i < len(s) {
		if s[i] == quote {
			if i+1 >= len(s) || s[i+1] != quote {
				return kind, i + 1
			}
			i++
		}
		i++
	}
	return Bad, len(s)
}

// dollar scans $1 and $tag$…$tag$.
func dollar(s string, i int) (Kind, int) {
	j := i + 1
	if digitAt(s, j) {
		for digitAt(s, j) {
			j++
		}
		return Param, j
	}
	if j < len(s) && classes[s[j]]&classStart != 0 {
		for j < len(s) && classes[s[j]]&classPart != 0 && s[j] != '$' {
			j++
		}
	}
	if j >= len(s) || s[j] != '$' {
		return Punct, i + 1
	}
	tag := s[i : j+1]
	n := strings.Index(s[j+1:], tag)
	if n < 0 {
		return Bad, len(s)
	}
	return String, j + 1 + n + len(tag)
}

func digitAt(s string, i int) bool { return i < len(s) && s[i] >= '0' && s[i] <= '9' }

func number(s string, i int) int {
	if s[i] == '0' && i+1 < len(s) {
		base := ""
		switch s[i+1] | 32 {
		case 'x':
			base = "0123456789abcdefABCDEF"
		case 'o':
			base = "01234567"
		case 'b':
			base = "01"
		}
		if j := digits(s, i+2, base); base != "" && j > i+2 {
			return j
		}
	}
	const dec = "0123456789"
	j := i
	if s[j] != '.' {
		j = digits(s, j, dec)
	}
	if j < len(s) && s[j] == '.' && !(j+1 < len(s) && s[j+1] == '.') {
		j++
		if digitAt(s, j) {
			j = digits(s, j, dec)
		}
	}
	if j < len(s) && s[j]|32 == 'e' {
		k := j + 1
		if k < len(s) && (s[k] == '+' || s[k] == '-') {
			k++
		}
		if digitAt(s, k) {
			j = digits(s, k, dec)
		}
	}
	return j
}

// digits scans digits of a base with single underscores between them.
func digits(s string, i int, set string) int {
	for i < len(s) {
		if s[i] == '_' && i+1 < len(s) && strings.IndexByte(set, s[i+1]) >= 0 {
			i++
		}
		if strings.IndexByte(set, s[i]) < 0 {
			break
		}
		i++
	}
	return i
}

// operator scans an operator or a comment. Comments end an operator, and an
// operator of more than one character ends in + or - only if it holds one of
// ~!@#%^&|`?, so that a=-1 is a = -1.
func operator(s string, i int) (Kind, int) {
	if strings.HasPrefix(s[i:], "--") {
		n := strings.IndexAny(s[i:], "\n\r")
		if n < 0 {
			return Comment, len(s)
		}
		return Comment, i + n
	}
	if strings.HasPrefix(s[i:], "/*") {
		return block(s, i)
	}
	j, special := i, false
	for j < len(s) && classes[s[j]]&classOp != 0 {
		if j > i && (strings.HasPrefix(s[j:], "--") || strings.HasPrefix(s[j:], "/*")) {
			break
		}
		special = special || strings.IndexByte("~!@#%^&|`?", s[j]) >= 0
		j++
	}
	for !special && j > i+1 && (s[j-1] == '+' || s[j-1] == '-') {
		j--
	}
	return Op, j
}

func block(s string, i int) (Kind, int) {
	kind := Comment
	if strings.HasPrefix(s[i:], "/*+") {
		kind = HintText
	}
	depth, j := 1, i+2
	for j < len(s) {
		switch {
		case strings.HasPrefix(s[j:], "/*"):
			depth++
			j += 2
		case strings.HasPrefix(s[j:], "*/"):
			depth--
			j += 2
			if depth == 0 {
				return kind, j
			}
		default:
			j++
		}
	}
	return Bad, len(s)
}

// Fold gives an unquoted identifier its lower-case form, as PostgreSQL folds it: ASCII only.
func Fold(word string) string {
	for i := 0; i < len(word); i++ {
		if c := word[i]; c >= 'A' && c <= 'Z' {
			b := []byte(word)
			for ; i < len(b); i++ {
				if b[i] >= 'A' && b[i] <= 'Z' {
					b[i] |= 32
				}
			}
			return string(b)
		}
	}
	return word
}

// QuoteIdent writes a name as a quoted identifier.
func QuoteIdent(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

// QuoteString writes a value as a string literal that PostgreSQL and DuckDB read alike.
func QuoteString(value string) string { return "'" + strings.ReplaceAll(value, "'", "''") + "'" }

// characters counts the characters before a byte offset, plus one.
func characters(s string, offset int) int {
	return utf8.RuneCountInString(s[:min(max(offset, 0), len(s))]) + 1
}
