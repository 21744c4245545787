package exec

import (
	"context"
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf8"

	"dtstore/table"
)

// This file and meaning*.go know the shape of the JSON trees of DuckDB 1.5
// (json_serialize_sql). Objects are kept as they came, so that what we do not
// know goes back unchanged.

// node is an object of the tree.
type node = map[string]any

func str(n node, key string) string { s, _ := n[key].(string); return s }
func sub(n node, key string) node   { m, _ := n[key].(node); return m }
func arr(n node, key string) []any  { a, _ := n[key].([]any); return a }
func flag(n node, key string) bool  { b, _ := n[key].(bool); return b }

func pos(n node) int {
	if v, ok := n["query_location"].(json.Number); ok {
		if i, err := strconv.Atoi(string(v)); err == nil {
			return i
		}
	}
	return -1
}

func (e *Engine) parse(ctx context.Context, text string) (*Tree, error) {
	if strings.IndexByte(text, 0) >= 0 || !utf8.ValidString(text) {
		return nil, table.Errorf("22021", "invalid byte sequence in the statement")
	}
	c, err := e.acquire()
	if err != nil {
		return nil, err
	}
	defer e.release(c)
	if err := c.setPath(shimPath); err != nil {
		return nil, err
	}
	folded := fold(text)
	reply, err := c.text(ctx, "SELECT json_serialize_sql("+literal(folded)+", skip_default := true)")
	if err != nil {
		return nil, err
	}
	dec := json.NewDecoder(strings.NewReader(reply))
	dec.UseNumber()
	var root node
	if err := dec.Decode(&root); err != nil {
		return nil, table.Errorf("XX000", "tree of the statement: %w", err)
	}
	if flag(root, "error") {
		return nil, serializeError(root, text)
	}
	statements := arr(root, "statements")
	if len(statements) != 1 {
		return nil, table.Errorf("42601", "one query is expected, %d are given", len(statements))
	}
	w := &walker{tree: &Tree{text: text}, text: folded, nonce: e.nonce, database: e.opts.Database, shim: &e.shim}
	body := sub(statements[0].(node), "node")
	w.params(root)
	w.top(body)
	if str(body, "type") == "SELECT_NODE" {
		w.root = body
	}
	w.fix(body)
	if w.err != nil {
		return nil, w.err
	}
	return w.tree, w.render(ctx, c, root)
}

// render turns the tree back into text and cuts it at the tables.
func (w *walker) render(ctx context.Context, c *conn, root node) error {
	for i, n := range w.nodes {
		ref := w.tree.Refs[i]
		delete(n, "at_clause")
		if ref.Catalogue {
			continue
		}
		delete(n, "schema_name")
		delete(n, "catalog_name")
		n["table_name"] = w.nonce + strconv.Itoa(i) + "_"
		if ref.Alias == "" {
			n["alias"] = ref.Name
		}
	}
	changed, err := json.Marshal(root)
	if err != nil {
		return table.Errorf("XX000", "tree of the statement: %w", err)
	}
	rendered, err := c.text(ctx, "SELECT json_deserialize_sql("+literal(string(changed))+"::JSON)")
	if err != nil {
		return err
	}
	return w.tree.cut(rendered, w.nonce)
}

func serializeError(root node, text string) error {
	message := str(root, "error_message")
	if str(root, "error_type") == "not implemented" {
		return table.Errorf("0A000", "this statement is not a query that can be run here")
	}
	p := -1
	if n, err := strconv.Atoi(str(root, "position")); err == nil {
		p = n
	}
	return syntaxError(message, character(text, p))
}

// character is the 1-based character of a byte of text, 0 if there is none.
func character(text string, at int) int {
	if at < 0 || at > len(text) {
		return 0
	}
	return utf8.RuneCountInString(text[:at]) + 1
}

// walker finds what a Tree says.
type walker struct {
	tree     *Tree
	text     string
	nonce    string
	database string
	shim     *shim
	nodes    []node // the BASE_TABLE of each Ref
	root     node   // the outermost query, if it is a SELECT, until it is fixed
	err      error
	depth    int
}

// scope is one SELECT: what its FROM holds, and the scopes around it.
type scope struct {
	parent *scope
	refs   []*Ref
	other  bool // FROM also holds what is no table of ours
	ctes   *ctes
	nested map[*Ref]bool // not nullable within the ON being looked at
}

// ctes is a chain of CTE names that are visible.
type ctes struct {
	name string
	next *ctes
}

func (c *ctes) has(name string) bool {
	for ; c != nil; c = c.next {
		if strings.EqualFold(c.name, name) {
			return true
		}
	}
	return false
}

func (w *walker) fail(err *table.Error, at int) {
	if w.err == nil {
		w.err = err.At(character(w.text, at))
	}
}

// maxDepth bounds the nesting of queries that we follow.
const maxDepth = 200

func (w *walker) params(v any) {
	switch v := v.(type) {
	case node:
		if str(v, "class") == "PARAMETER" {
			if n, err := strconv.Atoi(str(v, "identifier")); err == nil && n >= 1 && n <= maxParams {
				w.tree.Params = max(w.tree.Params, n)
			} else {
				w.fail(table.Errorf("42601", "parameter %q is not $1 to $%d", "$"+str(v, "identifier"), maxParams), pos(v))
			}
			return
		}
		for _, c := range v {
			w.params(c)
		}
	case []any:
		for _, c := range v {
			w.params(c)
		}
	}
}

// top walks the outermost query and notes its shape.
func (w *walker) top(n node) {
	sc := w.query(n, nil, nil)
	s := &w.tree.Top
	s.CTE = len(arr(sub(n, "cte_map"), "map")) > 0
	s.SetOperation = str(n, "type") == "SET_OPERATION_NODE"
	w.modifiers(n, s)
	if str(n, "type") != "SELECT_NODE" {
		return
	}
	from := sub(n, "from_table")
	s.From = from != nil && str(from, "type") != "EMPTY"
	s.Join = str(from, "type") == "JOIN"
	s.Values = str(from, "type") == "EXPRESSION_LIST"
	s.Where = n["where_clause"] != nil
	s.Aggregate = n["having"] != nil || len(arr(n, "group_expressions")) > 0 || len(arr(n, "group_sets")) > 0
	for _, it := range arr(n, "select_list") {
		item := w.item(it.(node))
		s.Items = append(s.Items, item)
		s.Aggregate = s.Aggregate || item.Aggregate
		s.Window = s.Window || holds(it, "WINDOW")
	}
	for _, m := range arr(n, "modifiers") {
		s.Aggregate = s.Aggregate || holdsAggregate(m)
		s.Window = s.Window || holds(m, "WINDOW")
	}
	s.Window = s.Window || n["qualify"] != nil
	for _, r := range sc.refs {
		r.Top = true
	}
	if len(sc.refs) == 1 && sc.refs[0].Sole && s.Where {
		conjuncts := conjunction(n["where_clause"])
		s.WhereIsPredicates = len(conjuncts) == len(sc.refs[0].Predicates)
	}
}

func (w *walker) modifiers(n node, s *Shape) {
	for _, m := range arr(n, "modifiers") {
		m := m.(node)
		switch str(m, "type") {
		case "DISTINCT_MODIFIER":
			s.Distinct = true
		case "LIMIT_MODIFIER", "LIMIT_PERCENT_MODIFIER":
			s.Limit, s.Offset = bound(m["limit"]), bound(m["offset"])
			if str(m, "type") == "LIMIT_PERCENT_MODIFIER" {
				w.fail(table.Errorf("0A000", "LIMIT with a percentage is not supported"), -1)
			}
		case "ORDER_MODIFIER":
			for _, o := range arr(m, "orders") {
				s.Order = append(s.Order, orderItem(o.(node)))
			}
		}
	}
}

func bound(v any) *Literal {
	n, ok := v.(node)
	if !ok {
		return nil
	}
	if l, ok := literalOf(n); ok {
		return &l
	}
	return &Literal{Type: "expression"}
}

func orderItem(o node) OrderItem {
	it := OrderItem{Desc: str(o, "type") == "DESCENDING"}
	switch str(o, "null_order") {
	case "NULLS_FIRST", "NULLS FIRST":
		it.NullsFirst = true
	case "NULLS_LAST", "NULLS LAST":
	default:
		it.NullsFirst = it.Desc
	}
	x := sub(o, "expression")
	if t, c, ok := columnOf(x); ok {
		it.Table, it.Column = t, c
	} else if l, ok := literalOf(x); ok && l.Kind == IntLiteral && l.Param == 0 {
		it.Number, _ = strconv.Atoi(l.Text)
	}
	return it
}

func (w *walker) item(n node) Item {
	it := Item{Name: w.name(n), Aggregate: holdsAggregate(n)}
	if str(n, "class") == "STAR" {
		it.Star, it.Table = true, str(n, "relation_name")
	} else if t, c, ok := columnOf(n); ok {
		it.Table, it.Column = t, c
	} else if l, ok := literalOf(n); ok {
		it.Literal = &l
	}
	return it
}

// columnOf reads a plain column, qualified or not.
func columnOf(n node) (tab, column string, ok bool) {
	if str(n, "class") != "COLUMN_REF" {
		return "", "", false
	}
	names := arr(n, "column_names")
	switch len(names) {
	case 1:
		column, ok = names[0].(string)
	case 2, 3:
		tab, _ = names[len(names)-2].(string)
		column, ok = names[len(names)-1].(string)
	}
	return tab, column, ok
}

// literalOf reads a constant, a parameter, or a cast of one.
func literalOf(n node) (Literal, bool) {
	switch str(n, "class") {
	case "PARAMETER":
		p, err := strconv.Atoi(str(n, "identifier"))
		return Literal{Param: p}, err == nil
	case "CAST":
		l, ok := literalOf(sub(n, "child"))
		if !ok || flag(n, "try_cast") {
			return l, false
		}
		l.Type = typeName(sub(n, "cast_type"))
		if l.Type == "BOOLEAN" && l.Kind == StringLiteral {
			l.Kind = BoolLiteral
		}
		return l, true
	case "CONSTANT":
		return constant(sub(n, "value"))
	}
	return Literal{}, false
}

func constant(v node) (Literal, bool) {
	if flag(v, "is_null") {
		return Literal{Kind: NullLiteral}, true
	}
	t := sub(v, "type")
	switch x := v["value"].(type) {
	case string:
		return Literal{Kind: StringLiteral, Text: x}, str(t, "id") == "VARCHAR"
	case bool:
		return Literal{Kind: BoolLiteral, Text: strconv.FormatBool(x)[:1]}, true
	case json.Number:
		switch str(t, "id") {
		case "DECIMAL":
			scale, _ := strconv.Atoi(number(sub(t, "type_info"), "scale"))
			return Literal{Kind: DecimalLiteral, Text: point(string(x), scale)}, true
		case "DOUBLE", "FLOAT":
			return Literal{Kind: FloatLiteral, Text: string(x)}, true
		}
		return Literal{Kind: IntLiteral, Text: string(x)}, true
	}
	return Literal{}, false // HUGEINT, and constants of other types
}

func number(n node, key string) string { v, _ := n[key].(json.Number); return string(v) }

// point puts a decimal point before the last scale digits.
func point(digits string, scale int) string {
	if scale == 0 {
		return digits
	}
	sign := ""
	if strings.HasPrefix(digits, "-") {
		sign, digits = "-", digits[1:]
	}
	for len(digits) <= scale {
		digits = "0" + digits
	}
	return sign + digits[:len(digits)-scale] + "." + digits[len(digits)-scale:]
}

func typeName(t node) string {
	id := str(t, "id")
	if info := sub(t, "type_info"); id == "DECIMAL" && info != nil && number(info, "width") != "" {
		scale := number(info, "scale")
		if scale == "" {
			scale = "0"
		}
		return "DECIMAL(" + number(info, "width") + "," + scale + ")"
	}
	return id
}
