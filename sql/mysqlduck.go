package sql

import (
	"strings"

	"github.com/pingcap/tidb/pkg/parser/ast"
	"github.com/pingcap/tidb/pkg/parser/format"
	"github.com/pingcap/tidb/pkg/parser/mysql"
	"github.com/pingcap/tidb/pkg/parser/opcode"
	driver "github.com/pingcap/tidb/pkg/parser/test_driver"
)

// duckExpr stands for an expression that is written for DuckDB from parts: each
// a string, or a node.
type duckExpr struct {
	ast.ExprNode
	parts []any
}

// duck makes a duckExpr in place of an expression.
func duck(of ast.ExprNode, parts ...any) *duckExpr { return &duckExpr{of, parts} }

// Restore writes the parts.
func (e *duckExpr) Restore(c *format.RestoreCtx) error {
	for _, p := range e.parts {
		switch p := p.(type) {
		case string:
			c.WritePlain(p)
		case ast.Node:
			if err := p.Restore(c); err != nil {
				return err
			}
		}
	}
	return nil
}

// Accept does not look inside: the parts were visited before.
func (e *duckExpr) Accept(ast.Visitor) (ast.Node, bool) { return e, true }

// duckVisitor rewrites a tree of MySQL's grammar so that its Restore gives DuckDB's.
type duckVisitor struct {
	refused string // what has no counterpart
}

// Enter refuses what DuckDB would read otherwise.
func (v *duckVisitor) Enter(n ast.Node) (ast.Node, bool) {
	switch n := n.(type) {
	case *ast.VariableExpr:
		v.refused = "a user variable"
	case *ast.SelectStmt:
		if n.SelectIntoOpt != nil {
			v.refused = "SELECT INTO"
		}
		if n.LockInfo != nil && n.LockInfo.LockType != ast.SelectLockNone {
			v.refused = "FOR UPDATE"
		}
		if n.Kind == ast.SelectStmtKindValues {
			v.refused = "VALUES ROW(…)"
		}
		n.TableHints = nil
		if n.SelectStmtOpts != nil {
			n.SelectStmtOpts.StraightJoin = false
		}
	}
	return n, false
}

// Leave replaces nodes whose own text DuckDB refuses or reads otherwise.
func (v *duckVisitor) Leave(n ast.Node) (ast.Node, bool) {
	switch x := n.(type) {
	case *ast.Join:
		leaveJoin(x)
	case *ast.Limit:
		if x.Offset != nil {
			x.Count, x.Offset = duck(x.Count, x.Count, " OFFSET ", x.Offset), nil
		}
	case *ast.SelectStmt:
		leaveSelect(x)
	case *ast.ColumnNameExpr:
		if s := x.Name.Name.O; x.Name.Table.O == "" && isParam(s) {
			return duck(x, s), true
		}
	case *ast.BinaryOperationExpr:
		return leaveBinary(x), true
	case *ast.UnaryOperationExpr:
		if x.Op == opcode.Not2 {
			return duck(x, "(NOT (", x.V, ")::BOOLEAN)"), true
		}
	case *ast.PatternRegexpExpr:
		if x.Not {
			return duck(x, "(NOT (", x.Expr, " ~ ", x.Pattern, "))"), true
		}
		return duck(x, "(", x.Expr, " ~ ", x.Pattern, ")"), true
	case *ast.AggregateFuncExpr:
		return leaveAggregate(x), true
	case *ast.FuncCastExpr:
		return leaveCast(x), true
	case *ast.FuncCallExpr:
		return leaveCall(x), true
	}
	return n, true
}

// isParam says whether a name is a parameter, which MySQL's grammar takes for a column.
func isParam(s string) bool {
	return len(s) > 1 && s[0] == '$' && strings.Trim(s[1:], "0123456789") == ""
}

// leaveJoin unwraps ("t") JOIN "u", and gives a join without a condition ON TRUE.
func leaveJoin(x *ast.Join) {
	if l, ok := x.Left.(*ast.Join); ok && l.Right == nil {
		x.Left = l.Left
	}
	if x.Right != nil && x.On == nil && len(x.Using) == 0 && !x.NaturalJoin {
		x.On = &ast.OnCondition{Expr: duck(nil, "TRUE")}
	}
	x.StraightJoin = false
}

// leaveSelect writes WITH ROLLUP as ROLLUP().
func leaveSelect(x *ast.SelectStmt) {
	if x.GroupBy == nil || !x.GroupBy.Rollup || len(x.GroupBy.Items) == 0 {
		return
	}
	parts := []any{"ROLLUP("}
	for i, item := range x.GroupBy.Items {
		if i > 0 {
			parts = append(parts, ", ")
		}
		parts = append(parts, item.Expr)
	}
	x.GroupBy.Rollup = false
	x.GroupBy.Items = []*ast.ByItem{{Expr: duck(x.GroupBy.Items[0].Expr, append(parts, ")")...), NullOrder: true}}
}

func leaveBinary(x *ast.BinaryOperationExpr) ast.Node {
	switch x.Op {
	case opcode.NullEQ:
		return duck(x, "(", x.L, " IS NOT DISTINCT FROM ", x.R, ")")
	case opcode.IntDiv:
		return duck(x, "(", x.L, " // ", x.R, ")")
	case opcode.LogicXor:
		return duck(x, "((", x.L, ")::BOOLEAN <> (", x.R, ")::BOOLEAN)")
	case opcode.Xor:
		return duck(x, "xor(", x.L, ", ", x.R, ")")
	}
	return x
}

// list joins nodes with a separator.
func list(args []ast.ExprNode, sep string) []any {
	var out []any
	for i, a := range args {
		if i > 0 {
			out = append(out, sep)
		}
		out = append(out, a)
	}
	return out
}

func leaveAggregate(x *ast.AggregateFuncExpr) ast.Node {
	name := strings.ToLower(x.F)
	switch {
	case name == "count" && x.Distinct && len(x.Args) > 1:
		var known []ast.ExprNode
		for _, a := range x.Args {
			known = append(known, duck(a, a, " IS NOT NULL"))
		}
		parts := append([]any{"count(DISTINCT CASE WHEN "}, list(known, " AND ")...)
		parts = append(append(parts, " THEN row("), list(x.Args, ", ")...)
		return duck(x, append(parts, ") END)")...)
	case name == "count" && !x.Distinct && len(x.Args) == 1:
		if v, ok := x.Args[0].(*driver.ValueExpr); ok && v.Kind() == driver.KindInt64 {
			return duck(x, "count(*)")
		}
	case name == "group_concat" && len(x.Args) > 1:
		last := len(x.Args) - 1 // the separator
		distinct := ""
		if x.Distinct {
			distinct = "DISTINCT "
		}
		parts := append([]any{"string_agg(" + distinct + "("}, list(x.Args[:last], " || ")...)
		parts = append(parts, ")::VARCHAR, ", x.Args[last])
		if x.Order != nil {
			parts = append(parts, " ", x.Order)
		}
		return duck(x, append(parts, ")")...)
	}
	return x
}

func leaveCast(x *ast.FuncCastExpr) ast.Node {
	to := ""
	switch x.Tp.GetType() {
	case mysql.TypeVarString, mysql.TypeString:
		to = "VARCHAR"
		if x.Tp.GetCharset() == "binary" {
			to = "BLOB"
		}
	case mysql.TypeLonglong:
		to = "BIGINT"
		if mysql.HasUnsignedFlag(x.Tp.GetFlag()) {
			to = "UBIGINT"
		}
	case mysql.TypeDatetime:
		to = "TIMESTAMP"
	case mysql.TypeJSON:
		to = "JSON"
	}
	if to == "" {
		return x
	}
	return duck(x, "CAST(", x.Expr, " AS "+to+")")
}

func leaveCall(x *ast.FuncCallExpr) ast.Node {
	a := x.Args
	switch name := x.FnName.L; name {
	case "current_timestamp", "current_date", "current_time", "localtime", "localtimestamp", "current_user":
		if len(a) == 0 {
			return duck(x, strings.ToUpper(name))
		}
	case "date_add", "adddate", "date_sub", "subdate":
		if len(a) == 3 {
			op := " + INTERVAL "
			if strings.Contains(name, "sub") {
				op = " - INTERVAL "
			}
			return duck(x, "(", a[0], op, a[1], " ", a[2], ")")
		}
	case "concat":
		return duck(x, append(append([]any{"("}, list(a, " || ")...), ")")...)
	case "json_unquote":
		if len(a) == 1 {
			if e, ok := a[0].(*ast.FuncCallExpr); ok && e.FnName.L == "json_extract" && len(e.Args) == 2 {
				return duck(x, "(", e.Args[0], " ->> ", e.Args[1], ")")
			}
		}
	case "datediff":
		if len(a) == 2 {
			return duck(x, "date_diff('day', CAST(", a[1], " AS DATE), CAST(", a[0], " AS DATE))")
		}
	case "unix_timestamp":
		if len(a) == 1 {
			return duck(x, "CAST(epoch(", a[0], ") AS BIGINT)")
		}
		return duck(x, "CAST(epoch(now()) AS BIGINT)")
	case "dayofweek":
		if len(a) == 1 {
			return duck(x, "(dayofweek(", a[0], ") + 1)")
		}
	}
	return x
}
