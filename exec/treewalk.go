package exec

import (
	"slices"
	"strings"

	"dtstore/table"
)

// query walks a query and returns its scope; of a set operation, an empty one.
func (w *walker) query(n node, parent *scope, visible *ctes) *scope {
	sc := &scope{parent: parent, ctes: visible}
	if w.depth++; w.depth > maxDepth {
		w.fail(table.Errorf("54001", "the query is nested too deeply"), -1)
	}
	defer func() { w.depth-- }()
	if n == nil || w.err != nil {
		return sc
	}
	for _, m := range arr(sub(n, "cte_map"), "map") {
		m := m.(node)
		q := sub(sub(sub(m, "value"), "query"), "node")
		inner := sc.ctes
		if str(q, "type") == "RECURSIVE_CTE_NODE" {
			inner = &ctes{str(m, "key"), inner}
		}
		w.query(q, parent, inner)
		sc.ctes = &ctes{str(m, "key"), sc.ctes}
	}
	switch str(n, "type") {
	case "SELECT_NODE":
		w.from(sub(n, "from_table"), sc, false)
		if len(sc.refs) == 1 && !sc.other {
			sc.refs[0].Sole = true
		}
		for _, key := range []string{"select_list", "where_clause", "group_expressions", "having", "qualify", "modifiers"} {
			w.expr(n[key], sc)
		}
		w.push(conjunction(n["where_clause"]), sc, func(r *Ref) bool { return !r.Nullable })
	case "SET_OPERATION_NODE", "RECURSIVE_CTE_NODE":
		for _, key := range []string{"left", "right"} {
			w.query(sub(n, key), parent, sc.ctes)
		}
		for _, c := range arr(n, "children") {
			w.query(c.(node), parent, sc.ctes)
		}
		w.expr(n["modifiers"], sc)
	default:
		w.fail(table.Errorf("0A000", "queries of the form %s are not supported", strings.ToLower(str(n, "type"))), pos(n))
	}
	return sc
}

// from walks an item of FROM.
func (w *walker) from(f node, sc *scope, nullable bool) {
	switch str(f, "type") {
	case "", "EMPTY":
	case "BASE_TABLE":
		w.base(f, sc, nullable)
	case "JOIN":
		w.join(f, sc, nullable)
	case "SUBQUERY":
		sc.other = true
		w.query(sub(sub(f, "subquery"), "node"), sc, sc.ctes)
	case "TABLE_FUNCTION":
		sc.other = true
		w.tableFunction(sub(f, "function"))
		w.exprs(sub(f, "function"), sc)
	case "EXPRESSION_LIST":
		sc.other = true
		w.expr(f["values"], sc)
	default:
		what := strings.ToLower(strings.TrimSuffix(strings.ReplaceAll(str(f, "type"), "_", " "), " REF"))
		w.fail(table.Errorf("0A000", "%s is not supported in a FROM", what), pos(f))
	}
}

func (w *walker) base(f node, sc *scope, nullable bool) {
	name, schema, catalog := str(f, "table_name"), str(f, "schema_name"), str(f, "catalog_name")
	if schema == "" && catalog == "" && sc.ctes.has(name) {
		sc.other = true
		return
	}
	r := &Ref{Catalog: catalog, Schema: schema, Name: name, Alias: str(f, "alias"), Pos: pos(f), Nullable: nullable}
	if at := sub(f, "at_clause"); at != nil {
		l, ok := literalOf(sub(at, "expr"))
		if !ok {
			w.fail(table.Errorf("0A000", "time travel needs a constant or a parameter"), r.Pos)
		}
		if str(at, "unit") == "VERSION" {
			r.Version = &l
		} else {
			r.Timestamp = &l
		}
	}
	if target, err := w.shim.relation(catalog, schema, name, w.database); err != nil {
		w.fail(err, r.Pos)
	} else if target != "" {
		r.Catalogue = true
		if r.Alias == "" {
			f["alias"] = name
		}
		f["catalog_name"], f["schema_name"], f["table_name"] = shimCatalog, target, name
	}
	sc.refs = append(sc.refs, r)
	w.tree.Refs = append(w.tree.Refs, r)
	w.nodes = append(w.nodes, f)
}

func (w *walker) join(f node, sc *scope, nullable bool) {
	l, r := nullable, nullable
	kind, how := str(f, "join_type"), str(f, "ref_type")
	switch kind {
	case "LEFT", "SINGLE", "MARK", "SEMI": // the right of a SEMI is not what WHERE is about
		r = true
	case "RIGHT":
		l = true
	case "INNER", "":
	default: // OUTER, FULL, ANTI: an ANTI's right side is no row of the result
		l, r = kind != "ANTI" || nullable, true
	}
	if how != "REGULAR" && how != "CROSS" && how != "NATURAL" && how != "" {
		l, r = true, true
	}
	before := len(sc.refs)
	w.from(sub(f, "left"), sc, l)
	middle := len(sc.refs)
	w.from(sub(f, "right"), sc, r)
	w.expr(f["condition"], sc)
	for _, u := range arr(f, "using_columns") {
		for _, ref := range sc.refs[before:] {
			ref.use(u.(string))
		}
	}
	if how == "NATURAL" {
		for _, ref := range sc.refs[before:] {
			ref.All = true
		}
	}
	if how != "REGULAR" {
		return
	}
	conjuncts := conjunction(f["condition"])
	switch kind {
	case "INNER":
		w.push(conjuncts, sc, func(ref *Ref) bool { return !ref.Nullable && slices.Contains(sc.refs[before:], ref) })
	case "LEFT": // a right row that fails its own part of ON joins nothing
		if only := sc.refs[middle:]; len(only) == 1 && str(sub(f, "right"), "type") == "BASE_TABLE" {
			w.push(conjuncts, sc, func(ref *Ref) bool { return ref == only[0] })
		}
	case "RIGHT":
		if only := sc.refs[before:middle]; len(only) == 1 && str(sub(f, "left"), "type") == "BASE_TABLE" {
			w.push(conjuncts, sc, func(ref *Ref) bool { return ref == only[0] })
		}
	}
}

// use notes that a column of that name may be read.
func (r *Ref) use(column string) {
	if !slices.Contains(r.Columns, column) {
		r.Columns = append(r.Columns, column)
	}
}

// called says whether the ref answers to that qualifier.
func (r *Ref) called(name string) bool {
	if r.Alias != "" {
		return strings.EqualFold(r.Alias, name)
	}
	return strings.EqualFold(r.Name, name)
}

// expr walks expressions, wherever they are.
func (w *walker) expr(v any, sc *scope) {
	switch v := v.(type) {
	case []any:
		for _, c := range v {
			w.expr(c, sc)
		}
	case node:
		switch str(v, "class") {
		case "COLUMN_REF":
			w.column(v, sc)
		case "STAR":
			w.star(v, sc)
			w.exprs(v, sc)
		case "CONSTANT":
			if l, ok := literalOf(v); ok && l.Kind == StringLiteral {
				w.tree.noteText(l.Text, pos(v))
			}
		case "SUBQUERY":
			w.tree.Top.Subquery = true
			w.expr(v["child"], sc)
			w.query(sub(sub(v, "subquery"), "node"), sc, sc.ctes)
		case "FUNCTION", "WINDOW":
			w.function(v)
			w.exprs(v, sc)
		default:
			w.exprs(v, sc)
		}
	}
}

func (w *walker) exprs(n node, sc *scope) {
	for key, c := range n {
		if key != "value" && key != "cast_type" {
			w.expr(c, sc)
		}
	}
}

// column notes the use of a column. Without a qualifier it may be of any table
// here or further out; more than are used does no harm.
func (w *walker) column(n node, sc *scope) {
	names := arr(n, "column_names")
	texts := make([]string, len(names))
	for i := range names {
		texts[i], _ = names[i].(string)
	}
	if last := texts[len(texts)-1]; last == "tableoid" && w.tableOID(n, texts, sc) {
		return
	}
	w.tree.note(texts, pos(n))
	w.unqualify(n, texts, sc)
	for s := sc; s != nil; s = s.parent {
		for _, r := range s.refs {
			for i, t := range texts {
				r.use(t) // also a struct's column before its field
				if r.called(t) && i == len(texts)-1 {
					r.All = true // the row as a value
				}
			}
		}
	}
}

// tableOID puts the OID of a catalog relation for its system column tableoid.
func (w *walker) tableOID(n node, texts []string, sc *scope) bool {
	for s := sc; s != nil; s = s.parent {
		for _, r := range s.refs {
			if r.Catalogue && (len(texts) == 1 || r.called(texts[len(texts)-2])) {
				clear(n)
				n["class"], n["type"], n["alias"] = "CONSTANT", "VALUE_CONSTANT", "tableoid"
				n["value"] = node{"type": node{"id": "BIGINT"}, "is_null": false, "value": wellKnown[r.Name]}
				return true
			}
		}
	}
	return false
}

// unqualify takes the schema off a column that is written schema.table.column,
// since the relations that replace tables have none.
func (w *walker) unqualify(n node, texts []string, sc *scope) {
	if len(texts) < 3 {
		return
	}
	for s := sc; s != nil; s = s.parent {
		for _, r := range s.refs {
			for i := 1; i < len(texts)-1; i++ {
				if r.Alias == "" && r.called(texts[i]) && (r.Schema == "" || strings.EqualFold(r.Schema, texts[i-1])) {
					rest := make([]any, 0, len(texts))
					for _, t := range texts[i:] {
						rest = append(rest, t)
					}
					n["column_names"] = rest
					return
				}
			}
		}
	}
}

func (w *walker) star(n node, sc *scope) {
	of := str(n, "relation_name")
	for s := sc; s != nil; s = s.parent {
		for _, r := range s.refs {
			if of == "" || r.called(of) {
				r.All = true
			}
		}
		if of == "" {
			return
		}
	}
}

// push gives the predicates among conjuncts to the refs that may have them.
func (w *walker) push(conjuncts []any, sc *scope, may func(*Ref) bool) {
	for _, c := range conjuncts {
		n, ok := c.(node)
		if !ok {
			continue
		}
		qualifier, p, ok := predicate(n)
		if !ok {
			continue
		}
		for _, r := range sc.refs {
			if may(r) && (qualifier == "" || r.called(qualifier)) {
				r.Predicates = append(r.Predicates, p)
			}
		}
	}
}

// conjunction splits an AND.
func conjunction(v any) []any {
	n, ok := v.(node)
	if !ok {
		return nil
	}
	if str(n, "type") != "CONJUNCTION_AND" {
		return []any{n}
	}
	var all []any
	for _, c := range arr(n, "children") {
		all = append(all, conjunction(c)...)
	}
	return all
}

var comparisons = map[string]Op{"COMPARE_EQUAL": Equal, "COMPARE_NOTEQUAL": NotEqual, "COMPARE_LESSTHAN": Less,
	"COMPARE_LESSTHANOREQUALTO": LessEqual, "COMPARE_GREATERTHAN": Greater, "COMPARE_GREATERTHANOREQUALTO": GreaterEqual}

var flipped = map[Op]Op{Equal: Equal, NotEqual: NotEqual, Less: Greater, LessEqual: GreaterEqual, Greater: Less, GreaterEqual: LessEqual}

// predicate reads a comparison of a plain column with literals.
func predicate(n node) (qualifier string, p Predicate, ok bool) {
	of := func(x node, op Op, args ...any) (string, Predicate, bool) {
		t, c, ok := columnOf(x)
		if !ok || len(arr(x, "column_names")) > 2 {
			return "", Predicate{}, false
		}
		p := Predicate{Column: c, Op: op}
		for _, a := range args {
			an, _ := a.(node)
			l, ok := literalOf(an)
			if !ok {
				return "", Predicate{}, false
			}
			p.Args = append(p.Args, l)
		}
		return t, p, true
	}
	children := arr(n, "children")
	first := func() node { c, _ := children[0].(node); return c }
	switch kind := str(n, "type"); {
	case str(n, "class") == "COMPARISON":
		op, known := comparisons[kind]
		if !known {
			return "", p, false
		}
		if qualifier, p, ok = of(sub(n, "left"), op, n["right"]); ok {
			return qualifier, p, ok
		}
		return of(sub(n, "right"), flipped[op], n["left"])
	case kind == "COMPARE_IN" && len(children) > 1:
		return of(first(), In, children[1:]...)
	case kind == "COMPARE_BETWEEN":
		return of(sub(n, "input"), Between, n["lower"], n["upper"])
	case kind == "OPERATOR_IS_NULL" && len(children) == 1:
		return of(first(), IsNull)
	case kind == "OPERATOR_IS_NOT_NULL" && len(children) == 1:
		return of(first(), IsNotNull)
	case str(n, "function_name") == "~~" && len(children) == 2:
		return startsWith(first(), children[1], of)
	}
	return "", p, false
}

func startsWith(x node, pattern any, of func(node, Op, ...any) (string, Predicate, bool)) (string, Predicate, bool) {
	pn, _ := pattern.(node)
	l, ok := literalOf(pn)
	prefix, isPrefix := strings.CutSuffix(l.Text, "%")
	if !ok || l.Kind != StringLiteral || !isPrefix || prefix == "" || strings.ContainsAny(prefix, `%_\`) {
		return "", Predicate{}, false
	}
	t, p, ok := of(x, StartsWith)
	p.Args = []Literal{{Kind: StringLiteral, Text: prefix}}
	return t, p, ok
}
