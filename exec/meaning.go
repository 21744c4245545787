package exec

import (
	"regexp"
	"strconv"
	"strings"

	"dtstore/table"
)

// Here the tree is made to mean what Postgres means by the same text. What is
// put right, what is refused and what stays different is listed in
// docs/sql-differences.md.

// fix rewrites a query or an expression in place.
func (w *walker) fix(v any) {
	switch v := v.(type) {
	case []any:
		for _, c := range v {
			w.fix(c)
		}
	case node:
		if list := arr(v, "select_list"); list != nil && str(v, "type") == "SELECT_NODE" {
			nameValues(sub(v, "from_table"))
			top := w.root != nil
			w.root = nil // only the outermost query is the first that is seen
			for i, it := range list {
				n := it.(node)
				if top && str(n, "class") == "CONSTANT" && flag(sub(n, "value"), "is_null") {
					asText(n) // a column of NULLs is text, as Postgres ends up with
				}
				if str(n, "alias") == "" && !holds(n, "STAR") && str(n, "class") != "COLUMN_REF" {
					n["alias"] = w.name(n)
				}
				list[i] = w.setReturning(n)
			}
		}
		for key, c := range v {
			if key != "cast_type" && !(key == "value" && str(v, "class") == "CONSTANT") {
				w.fix(c)
			}
		}
		w.fixOne(v)
	}
}

func (w *walker) fixOne(n node) {
	switch str(n, "class") {
	case "FUNCTION":
		w.fixFunction(n)
	case "WINDOW":
		if str(n, "function_name") == "sum" {
			wrapSum(n)
		}
	case "CAST":
		w.fixCast(n)
	case "SUBQUERY":
		w.fixAny(n)
	case "COMPARISON", "BETWEEN", "OPERATOR", "CASE":
		w.fixHex(n)
	}
}

func (w *walker) fixFunction(n node) {
	args := arr(n, "children")
	name := str(n, "function_name")
	switch name {
	case "/", "%", "//", "mod", "divide", "fmod":
		if len(args) == 2 {
			args[1] = nonZero(args[1])
		}
	case "sum":
		wrapSum(n)
	case "||":
		for _, a := range args {
			if c, _ := a.(node); str(c, "class") == "CONSTANT" && flag(sub(c, "value"), "is_null") {
				asText(c)
				delete(c, "alias")
			}
		}
	case "~~", "!~~", "~~*", "!~~*":
		escapeLike(n, name, args)
	case "~*", "!~*":
		n["function_name"], n["is_operator"] = "dt_re"+map[string]string{"~*": "i", "!~*": "ni"}[name], false
	case "regexp_full_match":
		w.fixRegexp(n, args)
	case "format", "to_char", "to_date", "to_timestamp":
		w.fixFormat(n, name, args)
	}
	if flag(n, "is_operator") && len(args) == 2 {
		likeOther(name, args)
	}
}

// nonZero guards a divisor: DuckDB gives NULL or infinity where Postgres has an
// error. A constant other than 0 needs no guard.
func nonZero(v any) any {
	n, ok := v.(node)
	if !ok {
		return v
	}
	if l, ok := literalOf(n); ok && l.Param == 0 && l.Type == "" && strings.ContainsAny(l.Text, "123456789") {
		return v
	}
	return call("dt_nz", v)
}

// nameValues gives the columns of VALUES Postgres's names.
func nameValues(from node) {
	rows := arr(from, "values")
	if str(from, "type") != "EXPRESSION_LIST" || len(rows) == 0 || len(arr(from, "expected_names")) > 0 {
		return
	}
	first, _ := rows[0].([]any)
	var names []any
	for i := range first {
		names = append(names, "column"+strconv.Itoa(i+1))
	}
	from["expected_names"] = names
}

// asText makes n a cast of itself to text.
func asText(n node) {
	inner := node{}
	for k, v := range n {
		inner[k] = v
	}
	alias := n["alias"]
	clear(n)
	n["class"], n["type"], n["child"], n["cast_type"] = "CAST", "OPERATOR_CAST", inner, node{"id": "VARCHAR"}
	n["alias"] = unnamed
	if alias != nil {
		n["alias"] = alias
	}
}

func call(name string, args ...any) node {
	return node{"class": "FUNCTION", "type": "FUNCTION", "function_name": name, "children": args, "order_bys": node{"type": "ORDER_MODIFIER"}}
}

func text(s string) node {
	return node{"class": "CONSTANT", "type": "VALUE_CONSTANT", "value": node{"type": node{"id": "VARCHAR"}, "is_null": false, "value": s}}
}

// wrapSum makes sum(x) into dt_sum(sum(x), x): a macro that types the result by
// the type of x, bigint or numeric, and does not evaluate x.
func wrapSum(n node) {
	args := arr(n, "children")
	if len(args) != 1 || holdsAggregate(args[0]) {
		return // a typed macro cannot see the type of an aggregate
	}
	inner := node{}
	for k, v := range n {
		if k != "alias" {
			inner[k] = v
		}
	}
	alias := n["alias"]
	clear(n)
	for k, v := range call("dt_sum", inner, copyTree(args[0])) {
		n[k] = v
	}
	if alias != nil {
		n["alias"] = alias
	}
}

func copyTree(v any) any {
	switch v := v.(type) {
	case node:
		c := make(node, len(v))
		for k, x := range v {
			c[k] = copyTree(x)
		}
		return c
	case []any:
		c := make([]any, len(v))
		for i, x := range v {
			c[i] = copyTree(x)
		}
		return c
	}
	return v
}

// escapeLike gives LIKE the backslash that Postgres has as default escape, if
// the pattern holds one or is not constant.
func escapeLike(n node, name string, args []any) {
	if len(args) != 2 {
		return
	}
	p, _ := args[1].(node)
	if l, ok := literalOf(p); ok && l.Param == 0 && !strings.Contains(l.Text, `\`) {
		return
	}
	n["function_name"] = map[string]string{"~~": "like_escape", "!~~": "not_like_escape", "~~*": "ilike_escape", "!~~*": "not_ilike_escape"}[name]
	n["children"] = append(args, text(`\`))
	n["is_operator"] = false
}

var similarTo = regexp.MustCompile(`\bsimilar\s+to\b`)

// fixRegexp tells ~, which finds a match anywhere, from SIMILAR TO, which the
// parser turns into the same function.
func (w *walker) fixRegexp(n node, args []any) {
	if len(args) != 2 {
		return
	}
	at := pos(n)
	similar := at >= 0 && strings.HasPrefix(w.text[at:], "similar") || at >= 0 && strings.HasPrefix(w.text[at:], "not")
	switch {
	case at >= 0 && strings.HasPrefix(w.text[at:], "regexp_full_match"):
		return
	case at < 0 && similarTo.MatchString(w.text):
		w.fail(table.Errorf("0A000", "NOT SIMILAR TO, or !~ beside SIMILAR TO, is not supported").
			WithHint("Write NOT (x SIMILAR TO …), or NOT (x ~ …)."), at)
	case !similar:
		n["function_name"] = "dt_re"
		return
	}
	p, _ := args[1].(node)
	l, ok := literalOf(p)
	if !ok || l.Kind != StringLiteral || l.Param != 0 {
		w.fail(table.Errorf("0A000", "SIMILAR TO is supported with a constant pattern only"), at)
		return
	}
	args[1] = text(similarPattern(l.Text))
}

// similarPattern writes a pattern of SIMILAR TO as a regular expression.
func similarPattern(p string) string {
	var b strings.Builder
	b.WriteString("(?s:")
	for i := 0; i < len(p); i++ {
		switch c := p[i]; c {
		case '%':
			b.WriteString(".*")
		case '_':
			b.WriteByte('.')
		case '\\':
			if i++; i < len(p) {
				b.WriteString(regexp.QuoteMeta(p[i : i+1]))
			}
		case '.', '^', '$':
			b.WriteByte('\\')
			b.WriteByte(c)
		default:
			b.WriteByte(c)
		}
	}
	return b.String() + ")"
}

// fixCast puts casts right: text must be an integer to become one, doubles
// round to even, bytea has Postgres's text form.
func (w *walker) fixCast(n node) {
	if flag(n, "try_cast") {
		return
	}
	to := str(sub(n, "cast_type"), "id")
	child := sub(n, "child")
	l, ok := literalOf(child)
	switch to {
	case "DECIMAL":
		w.fixNumeric(n, child, l, ok)
		return
	case "VARCHAR":
		defer w.fixLength(n)
	}
	if holdsAggregate(child) || ok && l.Param != 0 {
		return // its type is not seen by a typed macro, or is that of the cast
	}
	switch to {
	case "BLOB":
		n["child"] = call("dt_bytea", child)
	case "VARCHAR":
		if !ok || l.Type == "DATE" || strings.HasPrefix(l.Type, "TIMESTAMP") {
			n["child"] = call("dt_str", child)
		}
	case "INTEGER", "BIGINT", "SMALLINT":
		w.fixWhole(n, child, to, l, ok)
	case "DATE", "TIMESTAMP", "TIMESTAMP WITH TIME ZONE", "TIMESTAMPTZ":
		if ok {
			w.fixDateCast(child, l)
		}
	}
}

func (w *walker) fixWhole(n, child node, to string, l Literal, ok bool) {
	switch {
	case ok && l.Kind == StringLiteral && l.Type == "":
		if !integerText.MatchString(l.Text) {
			w.fail(table.Errorf("22P02", "invalid input syntax for type %s: %q", typesAsPostgres(to), l.Text), pos(child))
		}
	case ok && l.Kind != FloatLiteral && l.Type == "":
	default:
		n["child"] = call("dt_whole", child)
	}
}

var integerText = regexp.MustCompile(`^\s*[+-]?[0-9]+\s*$`)

// fixAny makes x = ANY($1) into list_contains($1, x), whose parameter DuckDB
// can type, and x = ANY(['1', '2']) into x IN ('1', '2'), whose strings become
// what x is.
func (w *walker) fixAny(n node) {
	if str(n, "subquery_type") != "ANY" || str(n, "comparison_type") != "COMPARE_EQUAL" {
		return
	}
	q := sub(sub(n, "subquery"), "node")
	items := arr(q, "select_list")
	if len(items) != 1 || str(sub(q, "from_table"), "type") != "EMPTY" {
		return
	}
	f, _ := items[0].(node)
	args := arr(f, "children")
	if str(f, "function_name") != "unnest" || len(args) != 1 {
		return
	}
	p, _ := args[0].(node)
	child := n["child"]
	alias := n["alias"]
	if words := stringList(p); words != nil {
		clear(n)
		n["class"], n["type"], n["children"] = "OPERATOR", "COMPARE_IN", append([]any{child}, words...)
	} else if l, ok := literalOf(p); ok && l.Param != 0 {
		clear(n)
		for k, v := range call("list_contains", p, child) {
			n[k] = v
		}
	}
	if alias != nil {
		n["alias"] = alias
	}
}

// stringList gives the items of a list that is written with strings alone.
func stringList(n node) []any {
	if str(n, "function_name") != "list_value" {
		return nil
	}
	items := arr(n, "children")
	for _, it := range items {
		c, _ := it.(node)
		if v := sub(c, "value"); str(c, "class") != "CONSTANT" || !flag(v, "is_null") && str(sub(v, "type"), "id") != "VARCHAR" {
			return nil
		}
	}
	return items
}

// likeOther gives a bare parameter of an arithmetic operator the type of the
// other operand, as Postgres does.
func likeOther(name string, args []any) {
	if name != "+" && name != "-" && name != "*" && name != "/" && name != "%" {
		return
	}
	for i := range args {
		n, _ := args[i].(node)
		o, _ := args[1-i].(node)
		if str(n, "function_name") == "dt_nz" {
			n, _ = arr(n, "children")[0].(node)
		}
		if str(n, "class") != "PARAMETER" {
			continue
		}
		if l, ok := literalOf(o); ok && l.Param != 0 || holds(o, "SUBQUERY") || holds(o, "WINDOW") {
			continue
		}
		macro := "dt_like"
		if name == "+" {
			macro = "dt_plus"
		}
		like := call(macro, node{"class": "PARAMETER", "type": "VALUE_PARAMETER", "identifier": n["identifier"]}, copyTree(o))
		clear(n)
		for k, v := range like {
			n[k] = v
		}
	}
}

// setReturning makes functions that give rows in Postgres give rows: DuckDB's
// give lists, or are missing.
func (w *walker) setReturning(n node) node {
	if str(n, "class") != "FUNCTION" {
		return n
	}
	args := arr(n, "children")
	inner := node(nil)
	switch name := str(n, "function_name"); name {
	case "generate_series":
		inner = call("generate_series", args...)
	case "regexp_split_to_table":
		inner = call("regexp_split_to_array", args...)
	case "string_to_table":
		inner = call("string_to_array", args...)
	case "json_array_elements", "jsonb_array_elements":
		inner = call("json_extract", append(args, text("$[*]"))...)
	case "json_array_elements_text", "jsonb_array_elements_text":
		inner = call("json_extract_string", append(args, text("$[*]"))...)
	case "json_object_keys", "jsonb_object_keys":
		inner = call("json_keys", args...)
	default:
		return n
	}
	out := call("unnest", inner)
	out["alias"] = w.name(n)
	return out
}
