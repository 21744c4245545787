package exec

import "strings"

// name is what Postgres calls a column of the select list.
func (w *walker) name(n node) string {
	if n == nil {
		return unnamed
	}
	if a := str(n, "alias"); a != "" {
		return a
	}
	name, _ := w.figure(n)
	return name
}

const unnamed = "?column?"

// castNames are Postgres's internal names of types, which name a cast without
// a better name inside.
var castNames = map[string]string{"INTEGER": "int4", "BIGINT": "int8", "SMALLINT": "int2", "TINYINT": "int2", "VARCHAR": "text", "DOUBLE": "float8",
	"FLOAT": "float4", "BOOLEAN": "bool", "DATE": "date", "TIME": "time", "TIMESTAMP": "timestamp", "TIMESTAMP WITH TIME ZONE": "timestamptz",
	"BLOB": "bytea", "INTERVAL": "interval", "UUID": "uuid", "HUGEINT": "numeric", "JSON": "json", "LIST": "array"}

// functionNames are functions that DuckDB's parser renames.
var functionNames = map[string]string{"count_star": "count", "list_value": "array", "trim": "btrim", "main.trim": "btrim", "struct_pack": "row"}

// figure gives the name and whether it is a good one, that a cast keeps.
func (w *walker) figure(n node) (string, bool) {
	switch class := str(n, "class"); class {
	case "COLUMN_REF":
		names := arr(n, "column_names")
		s, _ := names[len(names)-1].(string)
		return s, true
	case "FUNCTION", "WINDOW":
		f := str(n, "function_name")
		if flag(n, "is_operator") || strings.Contains(f, "like_escape") || f == "regexp_full_match" {
			return unnamed, false
		}
		if at := pos(n); f == "date_part" && at >= 0 && strings.HasPrefix(w.text[at:], "extract") {
			f = "extract"
		}
		if p, ok := functionNames[f]; ok {
			f = p
		}
		return f, true
	case "CAST":
		child := sub(n, "child")
		if name, good := w.figure(child); good {
			return name, true
		}
		t := sub(n, "cast_type")
		if str(t, "id") == "BOOLEAN" && pos(n) < 0 {
			return unnamed, false // TRUE and FALSE
		}
		if a := str(sub(t, "type_info"), "alias"); a != "" {
			return a, false
		}
		if p, ok := castNames[str(t, "id")]; ok {
			return p, false
		}
		if strings.HasPrefix(str(t, "id"), "DECIMAL") {
			return "numeric", false
		}
		return strings.ToLower(str(t, "id")), false
	case "CASE":
		if name, good := w.figure(sub(n, "else_expr")); good {
			return name, true
		}
		return "case", false
	case "COLLATE":
		return w.figure(sub(n, "child"))
	case "SUBQUERY":
		switch str(n, "subquery_type") {
		case "EXISTS":
			return "exists", true
		case "SCALAR":
			q := sub(sub(n, "subquery"), "node")
			if items := arr(q, "select_list"); len(items) > 0 {
				first, _ := items[0].(node)
				return w.name(first), true
			}
		}
	case "OPERATOR":
		switch str(n, "type") {
		case "OPERATOR_COALESCE":
			return "coalesce", true
		case "OPERATOR_NULLIF":
			return "nullif", true
		case "ARRAY_CONSTRUCTOR":
			return "array", true
		case "ARRAY_EXTRACT", "ARRAY_SLICE":
			if c := arr(n, "children"); len(c) > 0 {
				return w.figure(c[0].(node))
			}
		case "STRUCT_EXTRACT":
			if c := arr(n, "children"); len(c) > 1 {
				if l, ok := literalOf(c[1].(node)); ok {
					return l.Text, true
				}
			}
		}
	}
	return unnamed, false
}

// holds finds an expression of a class, not looking into subqueries.
func holds(v any, class string) bool {
	return find(v, func(n node) bool { return str(n, "class") == class })
}

func holdsAggregate(v any) bool {
	return find(v, func(n node) bool { return str(n, "class") == "FUNCTION" && aggregates[str(n, "function_name")] })
}

func find(v any, is func(node) bool) bool {
	switch v := v.(type) {
	case []any:
		for _, c := range v {
			if find(c, is) {
				return true
			}
		}
	case node:
		if str(v, "class") == "SUBQUERY" {
			return find(v["child"], is)
		}
		if is(v) {
			return true
		}
		for key, c := range v {
			// a window's own function is no aggregate of the query
			if key != "value" && find(c, is) {
				return true
			}
		}
	}
	return false
}

var aggregates = set("count count_star sum avg min max any_value arbitrary first last string_agg group_concat listagg array_agg list " +
	"bool_and bool_or every bit_and bit_or bit_xor stddev stddev_samp stddev_pop variance var_samp var_pop covar_pop covar_samp corr " +
	"regr_avgx regr_avgy regr_count regr_intercept regr_r2 regr_slope regr_sxx regr_sxy regr_syy mode median quantile quantile_cont " +
	"quantile_disc percentile_cont percentile_disc approx_count_distinct approx_quantile arg_max arg_min max_by min_by histogram " +
	"json_agg jsonb_agg json_group_array json_group_object json_object_agg jsonb_object_agg entropy kurtosis skewness product fsum sumkahan kahan_sum favg mad sem grouping " +
	"arg_max_null arg_min_null bitstring_agg count_if countif geometric_mean geomean")

func set(words string) map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(words) {
		m[w] = true
	}
	return m
}
