package exec

import (
	"regexp"
	"strconv"
	"strings"
)

// The parser drops the length of varchar(n) and gives a bare numeric the type
// DECIMAL(18,3): what the text says is read again here.

var (
	withLength  = regexp.MustCompile(`^(?:pg_catalog\s*\.\s*)?(varchar|character\s+varying|char|character|bpchar|"char")\s*(?:\(\s*([0-9]+)\s*\))?\s*$`)
	bareNumeric = regexp.MustCompile(`^(?:pg_catalog\s*\.\s*)?(numeric|decimal|dec)\s*$`)
	colonType   = regexp.MustCompile(`^::\s*((?:pg_catalog\s*\.\s*)?(?:character\s+varying|"?[a-z_]+"?)\s*(?:\(\s*[0-9]+\s*(?:,\s*[0-9]+\s*)?\))?)`)
)

// castText is the type of a cast as the text has it, "" if it cannot be found.
func (w *walker) castText(n node) string {
	at := pos(n)
	if at < 0 || at >= len(w.text) {
		return ""
	}
	rest := w.text[at:]
	if m := colonType.FindStringSubmatch(rest); m != nil {
		return m[1]
	}
	if !strings.HasPrefix(rest, "cast") {
		return ""
	}
	depth, as := 0, -1
	for i := 0; i < len(rest); {
		j := skipToken(rest, i)
		switch word := rest[i:j]; {
		case word == "(":
			depth++
		case word == ")":
			if depth--; depth == 0 && as > 0 {
				return strings.TrimSpace(rest[as:i])
			}
		case word == "as" && depth == 1:
			as = j
		}
		i = j
	}
	return ""
}

// fixLength cuts text to the length of a varchar(n) or char(n), as an explicit
// cast does.
func (w *walker) fixLength(n node) {
	m := withLength.FindStringSubmatch(w.castText(n))
	if m == nil {
		return
	}
	length := m[2]
	if length == "" {
		if m[1] != "char" && m[1] != "character" && m[1] != `"char"` {
			return
		}
		length = "1"
	}
	inner := node{}
	for k, v := range n {
		if k != "alias" {
			inner[k] = v
		}
	}
	alias := n["alias"]
	clear(n)
	size := node{"class": "CONSTANT", "type": "VALUE_CONSTANT", "value": node{"type": node{"id": "BIGINT"}, "is_null": false, "value": cutLength(length)}}
	for k, v := range call("left", inner, size) {
		n[k] = v
	}
	if alias != nil {
		n["alias"] = alias
	}
}

func cutLength(digits string) int {
	n, err := strconv.Atoi(digits)
	if err != nil || n > 1<<30 {
		return 1 << 30
	}
	return n
}

// fixNumeric gives a bare numeric room: the digits of a constant, none after
// the point for integers, else 10.
func (w *walker) fixNumeric(n node, child node, l Literal, constant bool) {
	if !bareNumeric.MatchString(w.castText(n)) {
		return
	}
	scale := 10
	if constant && l.Param == 0 && l.Type == "" {
		switch l.Kind {
		case IntLiteral, DecimalLiteral, StringLiteral:
			if plainDecimal.MatchString(l.Text) {
				_, digits, _ := strings.Cut(l.Text, ".")
				scale = min(len(strings.TrimSpace(digits)), 38)
			}
		}
	} else if !constant && !holdsAggregate(child) {
		alias := n["alias"] // the macro casts, by the type of its argument
		clear(n)
		for k, v := range call("dt_numeric", child) {
			n[k] = v
		}
		if alias != nil {
			n["alias"] = alias
		}
		return
	}
	n["cast_type"] = decimalNode(38, scale)
}

var plainDecimal = regexp.MustCompile(`^\s*[+-]?[0-9]*\.?[0-9]*\s*$`)

func decimalNode(width, scale int) node {
	return node{"id": "DECIMAL", "type_info": node{"type": "DECIMAL_TYPE_INFO", "alias": "", "width": width, "scale": scale}}
}
