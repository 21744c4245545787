package exec

import (
	"strings"

	"dtstore/table"
)

// fixHex gives a literal such as '\x0102' Postgres's meaning where it stands
// beside a bytea: two bytes, and not, as DuckDB would silently have it, the
// byte \x01 and the text 02. Beside a text it stays what it is.
func (w *walker) fixHex(n node) {
	switch str(n, "class") {
	case "COMPARISON":
		w.hexBeside(n, []string{"left", "right"})
	case "BETWEEN":
		w.hexBeside(n, []string{"input", "lower", "upper"})
	case "OPERATOR":
		switch str(n, "type") {
		case "COMPARE_IN", "COMPARE_NOT_IN", "OPERATOR_COALESCE", "OPERATOR_NULLIF":
			w.hexAmong(arr(n, "children"))
		}
	case "CASE":
		var results []any
		checks := arr(n, "case_checks")
		for _, c := range checks {
			results = append(results, c.(node)["then_expr"])
		}
		results = append(results, n["else_expr"])
		w.hexAmong(results)
		for i, c := range checks {
			c.(node)["then_expr"] = results[i]
		}
		n["else_expr"] = results[len(checks)]
	}
}

func (w *walker) hexBeside(n node, keys []string) {
	values := make([]any, len(keys))
	for i, k := range keys {
		values[i] = n[k]
	}
	w.hexAmong(values)
	for i, k := range keys {
		n[k] = values[i]
	}
}

// hexAmong wraps the literals of expressions that must have one type.
func (w *walker) hexAmong(list []any) {
	w.datesAmong(list)
	var other any
	hex := false
	for _, v := range list {
		n, ok := v.(node)
		if !ok {
			continue
		}
		if isHex(n) {
			hex = true
		} else if _, literal := literalOf(n); !literal && other == nil {
			other = n
		}
	}
	if !hex || other == nil {
		return
	}
	for i, v := range list {
		n, ok := v.(node)
		if !ok || !isHex(n) {
			continue
		}
		if holdsAggregate(other) || holds(other.(node), "SUBQUERY") {
			w.fail(table.Errorf("0A000", `the type of a literal that begins with \x is not seen beside an aggregate or a subquery`).
				WithHint(`Write '\x…'::bytea, or '\x…'::text.`), pos(n))
			return
		}
		list[i] = call("dt_hex", n, copyTree(other))
	}
}

func isHex(n node) bool {
	l, ok := literalOf(n)
	return ok && l.Param == 0 && l.Kind == StringLiteral && l.Type == "" && strings.HasPrefix(l.Text, `\x`)
}
