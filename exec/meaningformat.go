package exec

import (
	"strings"

	"dtstore/table"
)

// fixFormat handles the functions whose second argument is a pattern in a
// language of Postgres's own: constant patterns are translated, others refused.
func (w *walker) fixFormat(n node, name string, args []any) {
	if name == "to_timestamp" && len(args) == 1 {
		return // seconds since 1970, the same in both
	}
	at := 1
	if name == "format" {
		at = 0
	}
	if at >= len(args) {
		return
	}
	p, _ := args[at].(node)
	l, ok := literalOf(p)
	if !ok || l.Param != 0 || l.Kind != StringLiteral {
		w.fail(table.Errorf("0A000", "%s is supported with a constant pattern only", name), pos(n))
		return
	}
	if name == "format" {
		w.fixFormatText(n, l.Text, args[1:])
		return
	}
	pattern, ok := strftime(l.Text)
	if !ok {
		w.fail(table.Errorf("0A000", "the pattern %q of %s is not supported", l.Text, name).
			WithHint("Patterns are of YYYY, MM, DD, HH24, HH12, MI, SS, MS, US, AM, PM, Mon, Dy, DDD and other characters."), pos(n))
		return
	}
	n["children"] = []any{args[0], text(pattern)}
	n["function_name"] = map[string]string{"to_char": "strftime", "to_date": "dt_to_date", "to_timestamp": "dt_to_timestamp"}[name]
}

// fixFormatText makes format('…%s…', x) a concatenation.
func (w *walker) fixFormatText(n node, pattern string, args []any) {
	var parts []any
	next, from := 0, 0
	for i := 0; i < len(pattern); i++ {
		if pattern[i] != '%' {
			continue
		}
		if i+1 >= len(pattern) {
			w.fail(table.Errorf("22023", "unterminated format() type specifier"), pos(n))
			return
		}
		if i > from {
			parts = append(parts, text(pattern[from:i]))
		}
		i++
		from = i + 1
		if pattern[i] == '%' {
			parts = append(parts, text("%"))
			continue
		}
		macro, ok := map[byte]string{'s': "dt_text", 'I': "quote_ident", 'L': "quote_nullable"}[pattern[i]]
		if !ok {
			w.fail(table.Errorf("0A000", "%%%c of format is not supported", pattern[i]).WithHint("Use %%s, %%I, %%L and %%%%."), pos(n))
			return
		}
		if next >= len(args) {
			w.fail(table.Errorf("22023", "too few arguments for format()"), pos(n))
			return
		}
		parts = append(parts, call(macro, args[next]))
		next++
	}
	parts = append(parts, text(pattern[from:]))
	n["function_name"], n["children"] = "concat", parts
}

// patterns of Postgres and of strftime, longest first where one begins another.
var patterns = []struct{ pg, duck string }{
	{"YYYY", "%Y"}, {"YY", "%y"}, {"HH24", "%H"}, {"HH12", "%I"}, {"HH", "%I"}, {"MI", "%M"}, {"MM", "%m"}, {"DDD", "%j"}, {"DD", "%d"},
	{"SS", "%S"}, {"MS", "%g"}, {"US", "%f"}, {"AM", "%p"}, {"PM", "%p"}, {"FMMonth", "%B"}, {"Mon", "%b"}, {"FMDay", "%A"}, {"Dy", "%a"},
	{"yyyy", "%Y"}, {"yy", "%y"}, {"hh24", "%H"}, {"hh12", "%I"}, {"hh", "%I"}, {"mi", "%M"}, {"mm", "%m"}, {"ddd", "%j"}, {"dd", "%d"},
	{"ss", "%S"}, {"ms", "%g"}, {"us", "%f"},
}

// strftime translates a pattern of to_char for dates and times; ok is false if
// some of it has no counterpart.
func strftime(p string) (string, bool) {
	var b strings.Builder
next:
	for i := 0; i < len(p); {
		if p[i] == '"' {
			end := strings.IndexByte(p[i+1:], '"')
			if end < 0 {
				return "", false
			}
			b.WriteString(strings.ReplaceAll(p[i+1:i+1+end], "%", "%%"))
			i += end + 2
			continue
		}
		for _, t := range patterns {
			if strings.HasPrefix(p[i:], t.pg) {
				b.WriteString(t.duck)
				i += len(t.pg)
				continue next
			}
		}
		if c := p[i]; c|0x20 >= 'a' && c|0x20 <= 'z' && c != 'T' || c >= '0' && c <= '9' {
			return "", false // a letter that means something else
		} else if c == '%' {
			b.WriteByte('%')
		}
		b.WriteByte(p[i])
		i++
	}
	return b.String(), true
}
