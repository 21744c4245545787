package sql

// keywords are DuckDB's keywords that in PostgreSQL are names like any other.
var keywords = map[string]bool{"anti": true, "asof": true, "at": true, "by": true, "describe": true, "glob": true, "lambda": true, "pivot": true,
	"pivot_longer": true, "pivot_wider": true, "positional": true, "qualify": true, "semi": true, "show": true, "summarize": true, "unpack": true, "unpivot": true}

// statements are those of them that begin a statement of DuckDB's.
var statements = map[string]bool{"describe": true, "pivot": true, "pivot_longer": true, "pivot_wider": true, "show": true, "summarize": true, "unpivot": true}

// before are the keywords behind which a name or an expression begins.
var before = map[string]bool{"select": true, "distinct": true, "where": true, "and": true, "or": true, "not": true, "on": true, "having": true, "by": true,
	"as": true, "when": true, "then": true, "else": true, "case": true, "between": true, "like": true, "ilike": true}

// names quotes a keyword of DuckDB's that stands where only a name can.
func (r *rewriter) names() {
	for i, t := range r.in {
		if t.kind != Word || !keywords[t.low] || i == 0 && statements[t.low] {
			continue
		}
		var prev, next token
		if i > 0 {
			prev = r.in[i-1]
		}
		if i+1 < len(r.in) {
			next = r.in[i+1]
		}
		switch begins := i == 0 || prev.kind == Op || prev.is(",") || prev.is("(") || prev.is(".") || prev.is("[") || before[prev.key()]; {
		case next.is("("):
			continue // a function, PIVOT (…), AT (VERSION => …)
		case t.low == "at" && (next.low == "time" || next.low == "local"):
			continue // x AT TIME ZONE
		case t.low != "at" && !begins:
			continue // GROUP BY, SEMI JOIN, a GLOB b
		case t.low == "lambda" && i+2 < len(r.in) && (r.in[i+2].is(":") || r.in[i+2].is(",")):
			continue // lambda x: …
		case t.low != "at" && t.low != "lambda" && prev.is("(") && next.name():
			continue // (DESCRIBE t)
		}
		r.in[i] = token{kind: Quoted, text: `"` + t.low + `"`, src: t.src, gap: t.gap}
		r.changed = true
	}
}
