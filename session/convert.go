package session

import (
	"strings"
	"time"

	"dtstore/exec"
	"dtstore/planner"
	"dtstore/table"
	"dtstore/wire"
)

// param is the value of a $n, of the type that it was declared or found to
// have.
type param struct {
	oid   uint32
	typ   exec.Type
	value table.Value // as exec takes it
	text  string      // Postgres' text of it; "" if NULL
}

// decodeParam reads a bound parameter.
func decodeParam(oid uint32, format int16, b []byte, loc *time.Location) (param, error) {
	t, ok := exec.TypeOfOID(oid)
	if !ok {
		t = exec.Type{ID: exec.Text}
	}
	p := param{oid: oid, typ: t}
	if b == nil {
		return p, nil
	}
	native, err := wire.DecodeParam(oid, format, b, loc)
	if err != nil {
		return param{}, err
	}
	if p.text, err = wire.ParamText(oid, format, b, loc); err != nil {
		return param{}, err
	}
	p.typ, p.value, err = fromText(t, native, p.text)
	return p, err
}

// fromText makes the engine's value of a parameter: native where both agree,
// else from the text.
func fromText(t exec.Type, native table.Value, text string) (exec.Type, table.Value, error) {
	switch t.ID {
	case exec.Numeric:
		_, frac, _ := strings.Cut(text, ".")
		t.Precision, t.Scale = 38, min(len(frac), 38)
		v, err := table.ParseDecimal(table.Type{Kind: table.Decimal, Precision: 38, Scale: t.Scale}, text)
		return t, v, err
	case exec.Time:
		v, err := table.ParseText(table.Type{Kind: table.Timestamp, Precision: 6}, "1970-01-01 "+text, time.UTC)
		return t, table.IntOf(v.Micros()), err
	case exec.Interval, exec.UUID, exec.JSON:
		return exec.Type{ID: exec.Text}, table.StringOf(text), nil
	case exec.List:
		return listFromText(t, text)
	}
	return t, native, nil
}

func listFromText(t exec.Type, text string) (exec.Type, table.Value, error) {
	elems, _, err := wire.ParseArray(text)
	if err != nil {
		return t, table.Null(), err
	}
	elem := *t.Elem
	values := make([]table.Value, len(elems))
	for i, e := range elems {
		if e.Null {
			continue
		}
		native, err := wire.DecodeParam(elem.OID(), 0, []byte(e.Text), time.UTC)
		if err != nil {
			return t, table.Null(), err
		}
		et, v, err := fromText(*t.Elem, native, e.Text)
		if err != nil {
			return t, table.Null(), err
		}
		if et.ID == exec.Numeric { // one scale for all: the largest
			elem.Precision, elem.Scale = 38, max(elem.Scale, et.Scale)
		}
		values[i] = v
	}
	if elem.ID == exec.Numeric {
		for i, e := range elems {
			if !e.Null {
				v, err := table.ParseDecimal(table.Type{Kind: table.Decimal, Precision: 38, Scale: elem.Scale}, e.Text)
				if err != nil {
					return t, table.Null(), err
				}
				values[i] = v
			}
		}
	}
	return exec.Type{ID: exec.List, Elem: &elem}, exec.ListOf(elem, values), nil
}

func args(params []param) []exec.Arg {
	out := make([]exec.Arg, len(params))
	for i, p := range params {
		out[i] = exec.Arg{Type: p.typ, Value: p.value}
	}
	return out
}

func types(params []param) []exec.Type {
	out := make([]exec.Type, len(params))
	for i, p := range params {
		out[i] = p.typ
		if t, ok := exec.TypeOfOID(p.oid); ok {
			out[i] = t
		}
	}
	return out
}

// literal is what the planner may prune with: a constant of the query or the
// value of a parameter.
func literal(l exec.Literal, params []param) planner.Literal {
	if l.Param == 0 {
		return planner.Literal{Kind: planner.LiteralKind(l.Kind), Text: l.Text, Type: l.Type}
	}
	if l.Param > len(params) || params[l.Param-1].value.IsNull() || l.Type != "" {
		return planner.Literal{}
	}
	p := params[l.Param-1]
	out := planner.Literal{Kind: planner.LiteralString, Text: p.text}
	switch t, _ := exec.TypeOfOID(p.oid); t.ID {
	case exec.Bool:
		out.Kind = planner.LiteralBool
	case exec.Int2, exec.Int4, exec.Int8, exec.OID:
		out.Kind = planner.LiteralInt
	case exec.Numeric:
		out.Kind = planner.LiteralDecimal
	case exec.Float4, exec.Float8:
		out.Kind = planner.LiteralFloat
	case exec.Text, exec.Unknown:
		out.Type = "VARCHAR"
	case exec.Bytea:
		out.Type = "BLOB"
	case exec.Date:
		out.Type = "DATE"
	case exec.Time:
		out.Type = "TIME"
	case exec.Timestamp:
		out.Type = "TIMESTAMP"
	case exec.TimestampTZ:
		out.Type = "TIMESTAMPTZ"
	default:
		return planner.Literal{}
	}
	return out
}

// wireColumn describes a result column.
func wireColumn(c exec.ResultColumn) wire.Column {
	out := wire.Column{Name: c.Name, OID: c.Type.OID(), Typmod: c.Type.Typmod()}
	if c.Type.ID == exec.Numeric && c.Type.Scale == 0 {
		out.Typmod = -1 // as Postgres has sums; with a scale it must be told
	}
	return out
}

// cell turns a value of the engine into wire's form, where they differ.
type cell func(v table.Value, loc *time.Location) (table.Value, error)

// cellOf is nil for types whose values both sides have alike.
func cellOf(t exec.Type) cell {
	switch t.ID {
	case exec.Time:
		return func(v table.Value, _ *time.Location) (table.Value, error) {
			text := table.Text(table.Type{Kind: table.Timestamp, Precision: 6}, table.TimestampOf(v.Int(), 0))
			_, clock, _ := strings.Cut(text, " ")
			return table.StringOf(clock), nil
		}
	case exec.Interval:
		return func(v table.Value, _ *time.Location) (table.Value, error) {
			m, d, u := exec.IntervalFrom(v)
			return table.StringOf(string(wire.AppendInterval(nil, m, d, u))), nil
		}
	case exec.UUID:
		return func(v table.Value, _ *time.Location) (table.Value, error) {
			hi, lo := v.Decimal()
			return table.StringOf(uuidText(uint64(hi), lo)), nil
		}
	case exec.List:
		elem := *t.Elem
		column := wireColumn(exec.ResultColumn{Type: elem})
		inner := cellOf(elem)
		return func(v table.Value, loc *time.Location) (table.Value, error) {
			values := exec.Elements(elem, v)
			if inner != nil {
				for i := range values {
					if values[i].IsNull() {
						continue
					}
					var err error
					if values[i], err = inner(values[i], loc); err != nil {
						return table.Null(), err
					}
				}
			}
			text, err := wire.AppendArray(nil, column, values, loc)
			return table.StringOf(string(text)), err
		}
	}
	return nil
}

func uuidText(hi, lo uint64) string {
	const digits = "0123456789abcdef"
	var b [36]byte
	n := 0
	for i := range 32 {
		if i == 8 || i == 12 || i == 16 || i == 20 {
			b[n] = '-'
			n++
		}
		word := hi
		if i >= 16 {
			word = lo
		}
		b[n] = digits[word>>(60-4*(i%16))&15]
		n++
	}
	return string(b[:])
}

// converter turns chunks of the engine into wire's rows.
type converter struct {
	cells []cell // nil: every column is native
	loc   *time.Location
}

func newConverter(columns []exec.ResultColumn, loc *time.Location) converter {
	c := converter{loc: loc}
	for i, col := range columns {
		if f := cellOf(col.Type); f != nil {
			if c.cells == nil {
				c.cells = make([]cell, len(columns))
			}
			c.cells[i] = f
		}
	}
	return c
}

func (c converter) rows(rows []table.Row) ([]table.Row, error) {
	if c.cells == nil {
		return rows, nil
	}
	for _, row := range rows {
		for i, f := range c.cells {
			if f != nil && !row[i].IsNull() {
				v, err := f(row[i], c.loc)
				if err != nil {
					return nil, err
				}
				row[i] = v
			}
		}
	}
	return rows, nil
}
