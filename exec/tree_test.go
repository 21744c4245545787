package exec_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"dtstore/exec"
	"dtstore/table"
)

func literalText(l exec.Literal) string {
	if l.Param > 0 {
		return fmt.Sprintf("$%d", l.Param) + l.Type
	}
	kind := [...]string{"null", "bool", "int", "decimal", "float", "string"}[l.Kind]
	return strings.TrimSpace(fmt.Sprintf("%s:%s %s", kind, l.Text, l.Type))
}

func shapeText(s exec.Shape) string {
	var out []string
	for _, f := range []struct {
		name string
		on   bool
	}{{"set", s.SetOperation}, {"distinct", s.Distinct}, {"aggregate", s.Aggregate}, {"window", s.Window}, {"join", s.Join}, {"cte", s.CTE},
		{"subquery", s.Subquery}, {"values", s.Values}, {"where", s.Where}, {"where-is-predicates", s.WhereIsPredicates}} {
		if f.on {
			out = append(out, f.name)
		}
	}
	for _, o := range s.Order {
		out = append(out, fmt.Sprintf("order(%s%s %d desc=%t nulls-first=%t)", o.Table, o.Column, o.Number, o.Desc, o.NullsFirst))
	}
	if s.Limit != nil {
		out = append(out, "limit "+literalText(*s.Limit))
	}
	if s.Offset != nil {
		out = append(out, "offset "+literalText(*s.Offset))
	}
	return strings.Join(out, " ")
}

func treeText(tree *exec.Tree) string {
	var b strings.Builder
	fmt.Fprintf(&b, "shape: %s\n", shapeText(tree.Top))
	for _, it := range tree.Top.Items {
		fmt.Fprintf(&b, "item %q", it.Name)
		if it.Star {
			fmt.Fprintf(&b, " star(%s)", it.Table)
		} else if it.Column != "" {
			fmt.Fprintf(&b, " column(%s.%s)", it.Table, it.Column)
		}
		if it.Literal != nil {
			fmt.Fprintf(&b, " %s", literalText(*it.Literal))
		}
		b.WriteByte('\n')
	}
	for _, r := range tree.Refs {
		name := strings.TrimLeft(r.Catalog+"."+r.Schema+"."+r.Name, ".")
		fmt.Fprintf(&b, "ref %s as %q at %d", name, r.Alias, r.Pos)
		for _, f := range []struct {
			name string
			on   bool
		}{{"top", r.Top}, {"sole", r.Sole}, {"nullable", r.Nullable}, {"catalogue", r.Catalogue}} {
			if f.on {
				b.WriteString(" " + f.name)
			}
		}
		if r.Version != nil {
			b.WriteString(" version " + literalText(*r.Version))
		}
		if r.Timestamp != nil {
			b.WriteString(" timestamp " + literalText(*r.Timestamp))
		}
		if r.All {
			b.WriteString(" columns: *")
		} else {
			b.WriteString(" columns: " + strings.Join(slices.Sorted(slices.Values(r.Columns)), " "))
		}
		b.WriteByte('\n')
		for _, p := range r.Predicates {
			fmt.Fprintf(&b, "  %s %v", p.Column, p.Op)
			for _, a := range p.Args {
				b.WriteString(" " + literalText(a))
			}
			b.WriteByte('\n')
		}
	}
	if tree.Params > 0 {
		fmt.Fprintf(&b, "params: %d\n", tree.Params)
	}
	return b.String()
}

// The adapter to DuckDB's trees: what is read from a query, and what is left of
// it for DuckDB. "tree" shows the first, "render" the second, "query" runs it
// over relations t(a int, b bigint, s text, d numeric(10,2), f float8, ts
// timestamp), "params" shows the types that are inferred.
func TestGolden(t *testing.T) {
	e := open(t, exec.Options{Threads: 2})
	s := session(t, e)
	h := relationT(t, e)
	replace := func(r *exec.Ref) (string, error) {
		if r.Name != "t" && r.Name != "u" {
			return "", table.Errorf("42P01", "relation %q does not exist", r.Name)
		}
		return h.SQL(), nil
	}
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			switch d.Cmd {
			case "query":
				out, err := queryOver(t.Context(), e, s, d.Input, replace)
				if err != nil {
					out += describe(err)
				}
				return out
			case "tree", "render", "params":
			default:
				d.Fatalf(t, "unknown command %s", d.Cmd)
			}
			tree, err := e.Parse(t.Context(), d.Input)
			if err != nil {
				return describe(err)
			}
			if d.Cmd == "tree" {
				return treeText(tree)
			}
			if d.Cmd == "render" {
				out, err := tree.Render(func(r *exec.Ref) (string, error) { return "(" + r.Name + "!)", nil })
				if err != nil {
					return describe(err)
				}
				return out + "\n"
			}
			sql, err := tree.Render(replace)
			if err != nil {
				return describe(err)
			}
			var declared []exec.Type
			for _, a := range d.CmdArgs {
				var oid uint32
				fmt.Sscan(a.Key, &oid)
				typ, _ := exec.TypeOfOID(oid)
				declared = append(declared, typ)
			}
			st, err := s.Prepare(t.Context(), sql, declared)
			if err != nil {
				return describe(tree.Locate(err))
			}
			defer st.Close()
			out := ""
			for i, p := range st.Params() {
				out += fmt.Sprintf("$%d %v\n", i+1, p)
			}
			for _, c := range st.Columns() {
				out += fmt.Sprintf("%s %v\n", c.Name, c.Type)
			}
			return out
		})
	})
}

func relationT(t *testing.T, e *exec.Engine) *exec.Handle {
	t.Helper()
	columns := []exec.Column{{Name: "a", Type: table.Type{Kind: table.Int}}, {Name: "b", Type: table.Type{Kind: table.BigInt}}, {Name: "s", Type: text()},
		{Name: "d", Type: table.Type{Kind: table.Decimal, Precision: 10, Scale: 2}}, {Name: "f", Type: table.Type{Kind: table.Double}}, {Name: "ts", Type: table.Type{Kind: table.Timestamp, Precision: 6}},
		{Name: "day", Type: table.Type{Kind: table.Date}}}
	var rows []table.Row
	for _, texts := range [][]string{{"1", "10", "one", "1.50", "0.5", "2020-01-01 10:00:00", "2020-01-01"}, {"2", "20", "two", "2.50", "1.5", "2020-02-03 04:05:06.789", "2020-02-03"}, {"3", "", "", "", "", "", ""}} {
		var row table.Row
		for i, c := range columns {
			v := table.Null()
			if texts[i] != "" {
				var err error
				if v, err = table.ParseText(c.Type, texts[i], nil); err != nil {
					t.Fatal(err)
				}
			}
			row = append(row, v)
		}
		rows = append(rows, row)
	}
	h, err := e.Register(t.Context(), relationOf(columns, rows))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(h.Close)
	return h
}
