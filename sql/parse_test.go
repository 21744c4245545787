package sql_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"dtstore/sql"
	"dtstore/table"
)

// The files of testdata/parse hold query texts and what they parse to.
func TestParse(t *testing.T) {
	datadriven.Walk(t, "testdata/parse", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			switch d.Cmd {
			case "parse": // the whole text
				return parsed(d.Input)
			case "each": // a text a line
				var b strings.Builder
				for line := range strings.Lines(d.Input) {
					b.WriteString(strings.TrimRight(line, "\n") + "\n    " + strings.ReplaceAll(strings.TrimSpace(parsed(strings.TrimRight(line, "\n"))), "\n", "\n    ") + "\n")
				}
				return b.String()
			}
			d.Fatalf(t, "unknown command %s", d.Cmd)
			return ""
		})
	})
}

func parsed(text string) string {
	list, err := sql.Parse(text)
	if err != nil {
		return failure(err)
	}
	var b strings.Builder
	for _, s := range list {
		fmt.Fprintf(&b, "%s\n", describe(s))
	}
	if len(list) == 0 {
		return "(empty)\n"
	}
	return b.String()
}

func failure(err error) string {
	var e *table.Error
	if !errors.As(err, &e) {
		return fmt.Sprintf("not a table.Error: %T %v\n", err, err)
	}
	s := fmt.Sprintf("%s %s", e.Code, e.Message)
	if e.Position > 0 {
		s += fmt.Sprintf(" @%d", e.Position)
	}
	if e.Hint != "" {
		s += "\n  hint: " + e.Hint
	}
	return s + "\n"
}

// describe prints a statement: its type and the fields that are set.
func describe(s sql.Statement) string {
	v := reflect.ValueOf(s).Elem()
	src := s.Origin()
	out := v.Type().Name() + " [" + sql.Tag(s) + "]"
	if src.Params > 0 {
		out += fmt.Sprintf(" params=%d", src.Params)
	}
	for _, h := range src.Hints {
		out += " hint(" + h.Target + ")=" + show(reflect.ValueOf(h.Options))
	}
	return out + fields(v)
}

func fields(v reflect.Value) string {
	var b strings.Builder
	for i := range v.NumField() {
		f, name := v.Field(i), v.Type().Field(i).Name
		if name == "Source" || name == "Start" || name == "End" || f.IsZero() || !v.Type().Field(i).IsExported() {
			continue
		}
		b.WriteString(" " + name + "=" + show(f))
	}
	return b.String()
}

func show(v reflect.Value) string {
	switch x := v.Interface().(type) {
	case sql.Statement:
		return "{" + describe(x) + "}"
	case table.Type:
		return x.String()
	case sql.Name:
		return x.String()
	case sql.Ident:
		return x.Name
	case sql.Fragment:
		return "«" + x.SQL + "»"
	case sql.Option:
		return fmt.Sprintf("%q:%q", x.Key, x.Value)
	case sql.Expr:
		return expr(x)
	case sql.PartitionValue:
		return x.Column.Name + "=" + expr(x.Value)
	case sql.Column:
		s := x.Name + " " + x.Type.String()
		if x.Comment != "" {
			s += fmt.Sprintf(" comment %q", x.Comment)
		}
		return s
	case *sql.Values:
		var rows []string
		for i := range x.Len() {
			var row []string
			for _, e := range x.Row(i) {
				row = append(row, expr(e))
			}
			rows = append(rows, "("+strings.Join(row, ", ")+")")
		}
		return fmt.Sprintf("literal:%v %s", x.Literal, strings.Join(rows, " "))
	case string:
		return fmt.Sprintf("%q", x)
	}
	switch v.Kind() {
	case reflect.Pointer:
		return "{" + v.Elem().Type().Name() + fields(v.Elem()) + "}"
	case reflect.Struct:
		return "{" + strings.TrimSpace(fields(v)) + "}"
	case reflect.Slice:
		var items []string
		for i := range v.Len() {
			items = append(items, show(v.Index(i)))
		}
		return "[" + strings.Join(items, ", ") + "]"
	}
	b, _ := json.Marshal(v.Interface())
	return string(b)
}

var exprKinds = []string{"raw", "null", "default", "bool", "number", "string", "bytes", "date", "time", "timestamp", "timestamptz", "param"}

func expr(e sql.Expr) string {
	switch e.Kind {
	case sql.ExprNull, sql.ExprDefault:
		return exprKinds[e.Kind]
	case sql.ExprParam:
		return fmt.Sprintf("$%d", e.Param)
	case sql.ExprNumber, sql.ExprBool:
		return e.Text
	}
	return fmt.Sprintf("%s:%q", exprKinds[e.Kind], e.Text)
}
