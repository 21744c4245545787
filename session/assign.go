package session

import (
	"math"
	"strconv"
	"strings"
	"time"

	"dtstore/exec"
	"dtstore/sql"
	"dtstore/table"
	"dtstore/wire"
)

// assign makes a column's value of a query's result, as Postgres' assignment
// does: numbers become other numbers (rounded, range checked), everything can
// become text, and text becomes what it spells. What else differs in type is
// 42804.
func assign(f table.Field, from wire.Column, v table.Value, loc *time.Location) (table.Value, error) {
	if v.IsNull() {
		return v, nil
	}
	t := f.Type
	src, ok := exec.TypeOfOID(from.OID)
	if !ok {
		src = exec.Type{ID: exec.Text}
	}
	mismatch := func() (table.Value, error) {
		return table.Null(), table.Errorf("42804", "column \"%s\" is of type %s but expression is of type %s", f.Name, t.SQLName(), src).
			WithHint("You will need to rewrite or cast the expression.")
	}
	text := func() (string, error) {
		b, err := wire.AppendText(nil, from, v, loc)
		return string(b), err
	}
	number := src.ID >= exec.Int2 && src.ID <= exec.Float8
	switch {
	case src.ID == exec.Text || src.ID == exec.Unknown || src.ID == exec.JSON && t.IsString():
		return table.ParseText(t, v.Str(), loc)
	case t.IsString():
		if src.ID == exec.Bool {
			return table.ParseText(t, strconv.FormatBool(v.Bool()), loc)
		}
		s, err := text()
		if err != nil {
			return table.Null(), err
		}
		return table.ParseText(t, s, loc)
	case t.Kind == table.Boolean && src.ID == exec.Bool, t.IsBinary() && src.ID == exec.Bytea,
		t.Kind == table.Date && src.ID == exec.Date, t.Kind == table.Timestamp && src.ID == exec.Timestamp,
		t.Kind == table.TimestampLTZ && src.ID == exec.TimestampTZ:
		return checkFinite(t, v)
	case number && (t.IsInteger() || t.Kind == table.Decimal || t.Kind == table.Float || t.Kind == table.Double):
		return assignNumber(t, src, from, v)
	case t.Kind == table.Time && src.ID == exec.Time,
		t.Kind == table.Date && (src.ID == exec.Timestamp || src.ID == exec.TimestampTZ),
		t.Kind == table.Time && (src.ID == exec.Timestamp || src.ID == exec.TimestampTZ),
		t.Kind == table.Timestamp && (src.ID == exec.Date || src.ID == exec.TimestampTZ),
		t.Kind == table.TimestampLTZ && (src.ID == exec.Date || src.ID == exec.Timestamp):
		s, err := text()
		if err != nil {
			return table.Null(), err
		}
		if t.Kind == table.Time {
			if i := strings.IndexByte(s, ' '); i > 0 {
				s = s[i+1:]
			}
			if i := strings.IndexAny(s, "+-"); i > 0 {
				s = s[:i]
			}
		}
		return table.ParseText(t, s, loc)
	}
	return mismatch()
}

// checkFinite enforces the declared type, and refuses the infinities that the
// engine has for dates.
func checkFinite(t table.Type, v table.Value) (table.Value, error) {
	switch {
	case t.Kind == table.Date && (v.Int() > math.MaxInt32-1 || v.Int() < -math.MaxInt32+1),
		t.IsTimestamp() && (v.Micros() > math.MaxInt64-2 || v.Micros() < -math.MaxInt64+2):
		return table.Null(), table.Errorf("22008", "%s \"infinity\" cannot be stored", t.SQLName()).
			WithHint("The open table format has no infinite dates; use NULL or a far date such as 9999-12-31.")
	}
	return table.Check(t, v)
}

func assignNumber(t table.Type, src exec.Type, from wire.Column, v table.Value) (table.Value, error) {
	float := src.ID == exec.Float4 || src.ID == exec.Float8
	integer := src.ID == exec.Int2 || src.ID == exec.Int4 || src.ID == exec.Int8
	switch {
	case t.IsInteger() && integer:
		return table.Check(t, v)
	case t.IsInteger() && float:
		f := math.RoundToEven(v.Float())
		if f != f || f < -(1<<63) || f >= 1<<63 {
			return table.Null(), table.Errorf("22003", "%s out of range", t.SQLName())
		}
		return table.Check(t, table.IntOf(int64(f)))
	case (t.Kind == table.Double || t.Kind == table.Float) && (float || integer):
		f := v.Float()
		if integer {
			f = float64(v.Int())
		}
		return asFloat(t, f)
	}
	b, err := wire.AppendText(nil, from, v, nil)
	if err != nil {
		return table.Null(), err
	}
	switch {
	case t.IsInteger():
		d, err := table.ParseDecimal(table.Type{Kind: table.Decimal, Precision: 38}, string(b))
		if err != nil {
			return table.Null(), table.Errorf("22003", "%s out of range", t.SQLName())
		}
		hi, lo := d.Decimal()
		if hi != int64(lo)>>63 {
			return table.Null(), table.Errorf("22003", "%s out of range", t.SQLName())
		}
		return table.Check(t, table.IntOf(int64(lo)))
	case t.Kind == table.Decimal:
		return table.ParseDecimal(t, string(b))
	}
	f, err := strconv.ParseFloat(string(b), 64)
	if err != nil {
		return table.Null(), table.Errorf("22003", "\"%s\" is out of range for type %s", b, t.SQLName())
	}
	return asFloat(t, f)
}

func asFloat(t table.Type, f float64) (table.Value, error) {
	if t.Kind == table.Float {
		g := float64(float32(f))
		if math.IsInf(g, 0) && !math.IsInf(f, 0) {
			return table.Null(), table.Errorf("22003", "\"%v\" is out of range for type real", f)
		}
		f = g
	}
	return table.FloatOf(f), nil
}

// constant makes a column's value of a literal or parameter in a statement.
func constant(f table.Field, e sql.Expr, params []param, loc *time.Location) (table.Value, error) {
	t := f.Type
	wrong := func(what string) (table.Value, error) {
		return table.Null(), table.Errorf("42804", "column \"%s\" is of type %s but expression is of type %s", f.Name, t.SQLName(), what).
			WithHint("You will need to rewrite or cast the expression.")
	}
	switch e.Kind {
	case sql.ExprNull, sql.ExprDefault:
		return table.Null(), nil
	case sql.ExprString:
		return table.ParseText(t, e.Text, loc)
	case sql.ExprBool:
		if t.Kind != table.Boolean && !t.IsString() {
			return wrong("boolean")
		}
		return table.ParseText(t, e.Text, loc)
	case sql.ExprNumber:
		return number(f, e.Text, wrong)
	case sql.ExprBytes:
		if !t.IsBinary() {
			return wrong("bytea")
		}
		return table.Check(t, table.StringOf(e.Text))
	case sql.ExprDate, sql.ExprTime, sql.ExprTimestamp, sql.ExprTimestampTZ:
		return typed(f, e, loc)
	case sql.ExprParam:
		if int(e.Param) > len(params) {
			return table.Null(), table.Errorf("42P02", "there is no parameter $%d", e.Param)
		}
		p := params[e.Param-1]
		if p.value.IsNull() && p.text == "" {
			return table.Null(), nil
		}
		return assignParam(f, p, loc)
	}
	return wrong("unknown")
}

// assignParam assigns a parameter of the type that the client said it has.
func assignParam(f table.Field, p param, loc *time.Location) (table.Value, error) {
	src, _ := exec.TypeOfOID(p.oid)
	switch {
	case src.ID == exec.Time && f.Type.Kind == table.Time, src.ID == exec.UUID && f.Type.IsString(), src.ID == exec.Interval && f.Type.IsString():
		return table.ParseText(f.Type, p.text, loc)
	case src.ID == exec.Numeric:
		return number(f, p.text, func(string) (table.Value, error) {
			return table.Null(), table.Errorf("42804", "column \"%s\" is of type %s but parameter is of type numeric", f.Name, f.Type.SQLName())
		})
	}
	return assign(f, wire.Column{OID: p.oid, Typmod: -1}, p.value, loc)
}

// number assigns a numeric literal.
func number(f table.Field, text string, wrong func(string) (table.Value, error)) (table.Value, error) {
	t := f.Type
	switch {
	case t.IsString():
		return table.ParseText(t, text, nil)
	case t.Kind == table.Decimal, t.Kind == table.Float, t.Kind == table.Double:
		return table.ParseText(t, text, nil)
	case t.IsInteger():
		if !strings.ContainsAny(text, ".eE") {
			v, err := table.ParseText(t, text, nil)
			if table.SQLState(err) == "22003" {
				err = table.Errorf("22003", "%s out of range", t.SQLName())
			}
			return v, err
		}
		d, err := table.ParseDecimal(table.Type{Kind: table.Decimal, Precision: 38}, text)
		if err != nil {
			return table.Null(), err
		}
		hi, lo := d.Decimal()
		if hi != int64(lo)>>63 {
			return table.Null(), table.Errorf("22003", "%s out of range", t.SQLName())
		}
		return table.Check(t, table.IntOf(int64(lo)))
	}
	if strings.ContainsAny(text, ".eE") {
		return wrong("numeric")
	}
	return wrong("integer")
}

// typed assigns DATE '…', TIME '…' and the like.
func typed(f table.Field, e sql.Expr, loc *time.Location) (table.Value, error) {
	src := map[sql.ExprKind]struct {
		typ table.Type
		oid uint32
	}{
		sql.ExprDate:        {table.Type{Kind: table.Date}, wire.OIDDate},
		sql.ExprTime:        {table.Type{Kind: table.Time, Precision: 3}, wire.OIDTime},
		sql.ExprTimestamp:   {table.Type{Kind: table.Timestamp, Precision: 9}, wire.OIDTimestamp},
		sql.ExprTimestampTZ: {table.Type{Kind: table.TimestampLTZ, Precision: 9}, wire.OIDTimestamptz},
	}[e.Kind]
	v, err := table.ParseText(src.typ, e.Text, loc)
	if err != nil {
		return table.Null(), err
	}
	return assign(f, wire.Column{OID: src.oid, Typmod: -1}, v, loc)
}

// notNull enforces NOT NULL.
func notNull(t *table.Schema, name string, row table.Row) error {
	for i := range t.Fields {
		if t.Fields[i].Type.NotNull && row[i].IsNull() {
			return table.Errorf("23502", "null value in column \"%s\" of relation \"%s\" violates not-null constraint", t.Fields[i].Name, name)
		}
	}
	return nil
}
