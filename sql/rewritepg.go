package sql

import "strings"

// The rules R1 to R13 make catalog queries, as psql and drivers send them, run
// on DuckDB with a shim schema on its search path.

// regTypes are the types whose values are names of things with an oid.
var regTypes = map[string]bool{"regclass": true, "regtype": true, "regproc": true, "regnamespace": true, "regrole": true, "regprocedure": true,
	"regoper": true, "regoperator": true, "regconfig": true, "regdictionary": true}

// renamed are functions that DuckDB has under another name.
var renamed = map[string]string{"json_build_object": "json_object", "jsonb_build_object": "json_object", "json_build_array": "json_array",
	"jsonb_build_array": "json_array", "array_cat": "list_concat"}

// infoSchema is the shim's own information_schema; DuckDB's lists its own tables.
const infoSchema = "pgis"

// qualifiers: R1 drops pg_catalog, R1b renames information_schema, R2 unwraps
// OPERATOR(), R3 drops COLLATE default, R7 renames functions, R11 answers
// current_setting().
func (r *rewriter) qualifiers() {
	out := make([]token, 0, len(r.in))
	for i := 0; i < len(r.in); i++ {
		t := r.in[i]
		if !t.name() {
			out = append(out, t)
			continue
		}
		before := i > 0 && r.in[i-1].is(".")
		switch w := t.word(); {
		case w == "pg_catalog" && !before && r.at(i+1).is(".") && r.at(i+2).kind != EOF: // R1
			r.in[i+2].gap = t.gap
			i++
			r.changed = true
			continue
		case w == "information_schema" && !before && r.at(i+1).is("."): // R1b
			t, r.changed = placed(Word, infoSchema, t.src, t.gap), true
		case t.key() == "operator" && r.at(i+1).is("("): // R2
			if j, ok := r.operator(i + 2); ok {
				out = append(out, placed(Op, r.in[j].text, r.in[j].src, true))
				if r.at(j+2).kind != EOF {
					r.in[j+2].gap = true
				}
				i, r.changed = j+1, true
				continue
			}
		case t.key() == "collate": // R3
			if n := r.defaultCollation(i + 1); n > 0 {
				i, r.changed = i+n, true
				continue
			}
		case t.key() == "current_setting" && r.o.Setting != nil && r.at(i+1).is("("): // R11
			if v, n := r.setting(i); n > 0 {
				out = append(out, placed(String, QuoteString(v), t.src, t.gap))
				i, r.changed = i+n, true
				continue
			}
		case t.kind == Word && r.at(i+1).is("("): // R7
			if n, ok := renamed[w]; ok {
				t, r.changed = placed(Word, n, t.src, t.gap), true
			}
		}
		out = append(out, t)
	}
	r.in = out
}

// operator finds the operator of OPERATOR ( [schema .] op ), whose inside begins at i.
func (r *rewriter) operator(i int) (int, bool) {
	for r.at(i).name() && r.at(i+1).is(".") {
		i += 2
	}
	return i, r.at(i).kind == Op && r.at(i+1).is(")")
}

// defaultCollation counts the tokens of [pg_catalog.]default at i.
func (r *rewriter) defaultCollation(i int) int {
	n := 1
	if r.at(i).word() == "pg_catalog" && r.at(i+1).is(".") {
		i, n = i+2, 3
	}
	if r.at(i).word() == "default" {
		return n
	}
	return 0
}

// setting reads ('name' [, true]) behind current_setting at i, and counts the tokens behind it.
func (r *rewriter) setting(i int) (string, int) {
	name, end := r.at(i+2), i+3
	if r.at(end).is(",") {
		end += 2
	}
	if name.kind != String || name.text[0] != '\'' || !r.at(end).is(")") {
		return "", 0
	}
	n, _, err := stringValue(name.text, '\\')
	if err != nil {
		return "", 0
	}
	v, ok := r.o.Setting(strings.ToLower(n))
	if !ok {
		return "", 0
	}
	return v, end - i
}

// arrays: R9 writes '{a,"b c"}' as a DuckDB list where it is an array for certain:
// cast to an array type, or alone in ANY() or ALL().
func (r *rewriter) arrays() {
	for i, t := range r.in {
		if t.kind != String || !strings.HasPrefix(t.text, "'{") || !strings.HasSuffix(t.text, "}'") {
			continue
		}
		open := r.at(i-1).is("(") && (r.at(i-2).key() == "any" || r.at(i-2).key() == "all" || r.at(i-2).key() == "some")
		if !open && !r.arrayCast(i+1) {
			continue
		}
		v, _, err := stringValue(t.text, '\\')
		if err != nil {
			continue
		}
		list, ok := listLiteral(v)
		if !ok {
			continue
		}
		r.in[i].kind, r.in[i].text, r.changed = Punct, list, true
	}
}

// arrayCast says whether ::type[] begins at i.
func (r *rewriter) arrayCast(i int) bool {
	if !r.at(i).is("::") {
		return false
	}
	end := typeEnd(r.in, i+1)
	return r.at(end - 1).is("]")
}

// listLiteral writes PostgreSQL's text form of a one-dimensional array as DuckDB's list.
func listLiteral(s string) (string, bool) {
	body := s[1 : len(s)-1]
	var items []string
	var cur strings.Builder
	inside, quoted := false, false // inside quotes; the item had quotes
	flush := func() bool {
		item := cur.String()
		if !quoted {
			item = strings.TrimSpace(item)
			if item == "" {
				return false
			}
		}
		if !quoted && strings.EqualFold(item, "null") {
			items = append(items, "NULL")
		} else {
			items = append(items, QuoteString(item))
		}
		cur.Reset()
		quoted = false
		return true
	}
	for i := 0; i < len(body); i++ {
		switch c := body[i]; {
		case c == '\\' && i+1 < len(body):
			i++
			cur.WriteByte(body[i])
		case c == '"':
			inside, quoted = !inside, true
		case (c == '{' || c == '}') && !inside:
			return "", false
		case c == ',' && !inside:
			if !flush() {
				return "", false
			}
		default:
			cur.WriteByte(c)
		}
	}
	if inside || (strings.TrimSpace(body) != "" && !flush()) {
		return "", false
	}
	return "[" + strings.Join(items, ",") + "]", true
}

// typeEnd is the place behind the type whose first token is at i.
func typeEnd(ts []token, i int) int {
	at := func(i int) token { return tokenAt(ts, i) }
	if !at(i).name() {
		return i
	}
	i++
	for at(i).is(".") && at(i+1).name() {
		i += 2
	}
	switch first := at(i - 1).key(); {
	case first == "double" && at(i).key() == "precision", (first == "character" || first == "bit") && at(i).key() == "varying":
		i++
	}
	if at(i).is("(") {
		i = closing(ts, i) + 1
	}
	if (at(i).key() == "with" || at(i).key() == "without") && at(i+1).key() == "time" && at(i+2).key() == "zone" {
		i += 3
	}
	for at(i).is("[") {
		j := i + 1
		if at(j).kind == Number {
			j++
		}
		if !at(j).is("]") {
			break
		}
		i = j + 1
	}
	return min(i, len(ts))
}

// casts: R4 turns casts to reg… types into calls, R4b those in CAST(), R8 an
// int2vector's text form into its blank-separated list, R13 arrays of reg… types
// into arrays of oids.
func (r *rewriter) casts() {
	if !r.catalog {
		return
	}
	r.in = r.castList(r.in)
}

func (r *rewriter) castList(in []token) []token {
	out := make([]token, 0, len(in))
	at := func(i int) token { return tokenAt(in, i) }
	for i := 0; i < len(in); i++ {
		t := in[i]
		if t.key() == "cast" && at(i+1).is("(") { // R4b
			if call, end, ok := r.regCast(in, i); ok {
				out = append(out, call...)
				i = end
				continue
			}
		}
		if !t.is("::") || len(out) == 0 {
			out = append(out, t)
			continue
		}
		typ := at(i + 1).key()
		switch {
		case regTypes[typ] && at(i+2).is("["): // R13
			out = append(out, t, made(Word, "BIGINT", at(i+1)))
			i++
			r.changed = true
		case regTypes[typ]: // R4
			start := operandStart(out)
			fn := regFunction(typ, out[start:], at(i+2), at(i+3))
			out = wrap(out, start, fn)
			i++
			r.changed = true
		case (typ == "varchar" || typ == "text") && vectors[out[len(out)-1].word()]: // R8
			start := operandStart(out)
			out = wrap(out, start, "array_to_string")
			last := len(out) - 1
			out = append(out[:last], made(Punct, ",", t), made(String, "' '", t), out[last])
			i++
			r.changed = true
		default:
			out = append(out, t)
		}
	}
	return out
}

// regFunction names the function that reads a name, or prints one. A literal or
// a parameter is a name to read, and so is what was cast to text; what is cast
// on to an oid is one.
func regFunction(typ string, operand []token, next, after token) string {
	if n := len(operand); n == 1 && (operand[0].kind == String || operand[0].kind == Param || operand[0].kind == Number) {
		return typ + "_in"
	} else if last := n - 1; n > 2 && operand[last].is(")") && operand[last-2].key() == "as" && textTypes[operand[last-1].key()] ||
		n > 2 && operand[last-1].is("::") && textTypes[operand[last].key()] {
		return typ + "_in"
	}
	if next.is("::") && oidTypes[after.key()] {
		return typ + "_in"
	}
	return typ + "_out"
}

var (
	textTypes = map[string]bool{"text": true, "varchar": true, "name": true}
	oidTypes  = map[string]bool{"oid": true, "bigint": true, "int8": true, "integer": true, "int4": true}
)

// regCast rewrites CAST ( x AS regtype ) at i; end is its closing parenthesis.
func (r *rewriter) regCast(in []token, i int) (call []token, end int, ok bool) {
	end = closing(in, i+1)
	if end >= len(in) || end-3 < i+2 || !regTypes[in[end-1].key()] || in[end-2].key() != "as" {
		return nil, 0, false
	}
	inner := r.castList(in[i+2 : end-2])
	fn := regFunction(in[end-1].key(), inner, tokenAt(in, end+1), tokenAt(in, end+2))
	if i >= 2 && in[i-1].is("(") && in[i-2].key() == "cast" && tokenAt(in, end+1).key() == "as" && oidTypes[tokenAt(in, end+2).key()] {
		fn = in[end-1].key() + "_in" // CAST(CAST(x AS regclass) AS oid)
	}
	call = append(call, placed(Word, fn, in[i].src, in[i].gap), in[i+1])
	call = append(call, inner...)
	r.changed = true
	return append(call, in[end]), end, true
}

// wrap makes the operand that begins at start the argument of a function.
func wrap(out []token, start int, fn string) []token {
	first := out[start]
	head := []token{placed(Word, fn, first.src, first.gap), made(Punct, "(", first)}
	out[start].gap = false
	rest := append([]token{}, out[start:]...)
	out = append(append(out[:start], head...), rest...)
	return append(out, made(Punct, ")", first))
}

// vectors are the columns whose text form is blank-separated.
var vectors = map[string]bool{"indkey": true, "indoption": true, "indclass": true, "indcollation": true, "proargtypes": true}

// notCalls are words before a parenthesis that are no functions.
var notCalls = map[string]bool{"in": true, "and": true, "or": true, "not": true, "select": true, "where": true, "on": true, "then": true, "else": true,
	"when": true, "case": true, "values": true, "from": true, "any": true, "all": true, "some": true, "exists": true, "union": true, "by": true, "as": true,
	"having": true, "limit": true, "offset": true, "using": true, "over": true, "filter": true, "distinct": true, "between": true, "like": true, "ilike": true,
	"is": true, "join": true, "lateral": true, "intersect": true, "except": true, "returning": true, "end": true}

// operandStart finds where the operand begins that ends a list of tokens: a
// literal, parameter, column, call, group, subscript or CASE, with earlier casts.
func operandStart(o []token) int {
	i := len(o) - 1
	for {
		for i > 0 && o[i].is("]") {
			i = opening(o, i) - 1
		}
		switch {
		case i < 0:
			return 0
		case o[i].is(")"):
			i = opening(o, i)
			if i <= 0 || !o[i-1].name() || notCalls[o[i-1].key()] {
				return castStart(o, i)
			}
			i--
		case o[i].key() == "end":
			depth := 0
			for ; i > 0; i-- {
				if k := o[i].key(); k == "end" {
					depth++
				} else if k == "case" {
					if depth--; depth == 0 {
						break
					}
				}
			}
		}
		for i >= 2 && o[i-1].is(".") && (o[i-2].name() || o[i-2].is(")") || o[i-2].is("]")) {
			i -= 2
			if !o[i].name() {
				break
			}
		}
		if o[i].is(")") || o[i].is("]") {
			continue
		}
		return castStart(o, i)
	}
}

// castStart goes on to the operand of the cast whose type begins at i, if it is one.
func castStart(o []token, i int) int {
	if i >= 2 && o[i-1].is("::") {
		return operandStart(o[:i-1])
	}
	return i
}

// opening finds the bracket that the one at i closes.
func opening(o []token, i int) int {
	depth := 0
	for ; i > 0; i-- {
		switch o[i].text {
		case ")", "]":
			if o[i].kind == Punct {
				depth++
			}
		case "(", "[":
			if o[i].kind == Punct {
				if depth--; depth == 0 {
					return i
				}
			}
		}
	}
	return 0
}
