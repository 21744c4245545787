package sql

// anyAll: in catalog queries R6 writes x = ANY (list) as list_contains, since
// DuckDB makes a subquery of it, which outer joins do not take; R10 likewise for
// x <> ALL. Elsewhere both stay: list_contains has other nulls.
func (r *rewriter) anyAll() {
	if r.catalog {
		r.in = r.anyList(r.in)
	}
}

func (r *rewriter) anyList(in []token) []token {
	out := make([]token, 0, len(in))
	for i := 0; i < len(in); i++ {
		t := in[i]
		end, negate, ok := quantified(in, i)
		if !ok || len(out) == 0 {
			out = append(out, t)
			continue
		}
		start := operandStart(out)
		left := append([]token{}, out[start:]...)
		open := placed(Punct, "(", left[0].src, left[0].gap)
		left[0].gap = false
		out = append(out[:start], open)
		if negate {
			out = append(out, made(Word, "NOT", t))
		}
		out = append(out, made(Word, "list_contains", t), made(Punct, "(", t))
		out = append(out, r.anyList(in[i+3:end])...)
		out = append(out, made(Punct, ",", t))
		out = append(out, left...)
		out = append(out, made(Punct, ")", t), made(Punct, ")", t))
		i, r.changed = end, true
	}
	return out
}

// quantified finds = ANY (list) and <> ALL (list) at i, with the place of the ).
func quantified(in []token, i int) (end int, negate, ok bool) {
	t, word := in[i], tokenAt(in, i+1).key()
	equal := t.is("=") && (word == "any" || word == "some")
	negate = (t.is("<>") || t.is("!=")) && word == "all"
	if !equal && !negate || !tokenAt(in, i+2).is("(") {
		return 0, false, false
	}
	switch tokenAt(in, i+3).key() {
	case "select", "values", "with", "table", "from":
		return 0, false, false
	}
	end = closing(in, i+2)
	return end, negate, end < len(in) && end > i+3
}

// setFunctions give one column, which PostgreSQL names by the alias of the function.
var setFunctions = map[string]bool{"generate_series": true, "unnest": true, "generate_subscripts": true}

// scalarFrom are scalar functions of DuckDB that PostgreSQL lets stand in FROM.
var scalarFrom = map[string]bool{"string_to_array": true, "current_schemas": true}

// fromFunctions: R5 gives FROM f(…) alias the column name that PostgreSQL gives
// it (in DuckDB the bare alias is a struct); R12 makes a subquery of a scalar
// function in FROM.
func (r *rewriter) fromFunctions() {
	out := make([]token, 0, len(r.in))
	clause := []string{""} // for each parenthesis: the clause that we are in
	for i := 0; i < len(r.in); i++ {
		t := r.in[i]
		top := len(clause) - 1
		switch w := t.key(); {
		case clauseWords[w] && !(i > 0 && r.in[i-1].is(".")):
			clause[top] = w
		case t.is("("):
			inside := clause[top]
			if i > 0 && r.in[i-1].name() && !notCalls[r.in[i-1].key()] {
				inside = "" // arguments, or a column list
			}
			clause = append(clause, inside)
		case t.is(")") && top > 0:
			clause = clause[:top]
		}
		previous := tokenAt(out, len(out)-1)
		item := fromWord(previous.key()) || clause[len(clause)-1] == "from" && (previous.is(",") || previous.is("("))
		if item && t.name() && r.at(i+1).is("(") {
			if setFunctions[t.word()] {
				out, i = r.setFunction(out, i)
				continue
			}
			if scalarFrom[t.word()] {
				out, i = r.scalarFunction(out, i)
				continue
			}
		}
		out = append(out, t)
	}
	r.in = out
}

var clauseWords = map[string]bool{"from": true, "select": true, "where": true, "group": true, "order": true, "having": true, "limit": true, "union": true,
	"except": true, "intersect": true, "set": true, "values": true, "window": true, "returning": true, "qualify": true}

func fromWord(w string) bool { return w == "from" || w == "join" || w == "lateral" }

// alias finds the bare alias behind the parenthesis at end: its place, or -1 if
// there is none or it has a column list.
func (r *rewriter) alias(end int) int {
	k := end + 1
	if r.at(k).key() == "as" {
		k++
	}
	a := r.at(k)
	if !a.name() || a.kind == Word && (reserved[a.low] || notAliases[a.low]) || r.at(k+1).is("(") || r.at(k+1).is(".") {
		return -1
	}
	return k
}

// notAliases are words that may follow an item of FROM and are not reserved.
var notAliases = map[string]bool{"with": true, "tablesample": true, "qualify": true, "window": true, "set": true, "positional": true, "asof": true, "anti": true, "semi": true}

// setFunction copies f(…) alias from i and adds the alias's column list.
func (r *rewriter) setFunction(out []token, i int) ([]token, int) {
	end := closing(r.in, i+1)
	if end >= len(r.in) {
		return append(out, r.in[i]), i
	}
	k := r.alias(end)
	if k < 0 || r.in[i].word() == "unnest" && commas(r.in[i+1:end]) > 0 {
		return append(out, r.in[i]), i
	}
	out = append(out, r.in[i:k+1]...)
	a := r.in[k]
	out = append(out, made(Punct, "(", a), made(a.kind, a.text, a), made(Punct, ")", a))
	r.changed = true
	return out, k
}

// commas counts the commas directly inside the parenthesis that begins a list.
func commas(ts []token) int {
	depth, n := 0, 0
	for _, t := range ts {
		switch {
		case t.is("("), t.is("["), t.is("{"):
			depth++
		case t.is(")"), t.is("]"), t.is("}"):
			depth--
		case t.is(",") && depth == 1:
			n++
		}
	}
	return n
}

// scalarFunction writes f(…) alias as (SELECT f(…)) alias(alias).
func (r *rewriter) scalarFunction(out []token, i int) ([]token, int) {
	end := closing(r.in, i+1)
	if end >= len(r.in) {
		return append(out, r.in[i]), i
	}
	k := r.alias(end)
	if k < 0 {
		return append(out, r.in[i]), i
	}
	f, a := r.in[i], r.in[k]
	open := placed(Punct, "(", f.src, true)
	f.gap = true
	out = append(out, open, made(Word, "SELECT", f), f)
	out = append(out, r.in[i+1:end+1]...)
	out = append(out, made(Punct, ")", f), placed(a.kind, a.text, a.src, true), made(Punct, "(", a), made(a.kind, a.text, a), made(Punct, ")", a))
	r.changed = true
	return out, k
}

// arrows brackets j -> 'a' and j ->> 'a' where the right side is a literal or a
// parameter: in DuckDB the arrows bind more loosely than comparisons and AND. A
// word on the right may be the body of a lambda and stays.
func (r *rewriter) arrows() {
	found := false
	for _, t := range r.in {
		found = found || t.is("->") || t.is("->>")
	}
	if !found {
		return
	}
	out := make([]token, 0, len(r.in)+8)
	for i := 0; i < len(r.in); i++ {
		t := r.in[i]
		end := r.arrowRight(i)
		if end < 0 || len(out) == 0 {
			out = append(out, t)
			continue
		}
		start := operandStart(out)
		if bracketed(out, start, r.at(end)) {
			out = append(out, t)
			continue
		}
		first := out[start]
		left := append([]token{placed(Punct, "(", first.src, first.gap)}, out[start:]...)
		left[1].gap = false
		out = append(append(out[:start], left...), r.in[i:end]...)
		out = append(out, made(Punct, ")", t))
		i, r.changed = end-1, true
	}
	r.in = out
}

// arrowRight is the place behind the right side of the arrow at i, or -1.
func (r *rewriter) arrowRight(i int) int {
	if t := r.in[i]; !t.is("->") && !t.is("->>") {
		return -1
	}
	j := i + 1
	if r.at(j).is("-") {
		j++
		if r.at(j).kind != Number {
			return -1
		}
	}
	switch r.at(j).kind {
	case String, Number, Param:
	default:
		return -1
	}
	j++
	for r.at(j).is("::") {
		end := typeEnd(r.in, j+1)
		if end <= j+1 {
			break
		}
		j = end
	}
	return j
}

// bracketed says whether the operation is alone in parentheses already.
func bracketed(out []token, start int, next token) bool {
	return start > 0 && out[start-1].is("(") && next.is(")") && !(start > 1 && out[start-2].name() && !notCalls[out[start-2].key()])
}
