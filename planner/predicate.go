package planner

import (
	"math"
	"math/big"
	"strings"
	"time"

	"dtstore/table"
)

// Op is how a predicate compares its column.
type Op uint8

// The comparisons. In has any number of arguments, Between two (both ends
// included), IsNull and IsNotNull none, StartsWith the prefix, all others one.
const (
	Equal Op = iota
	NotEqual
	Less
	LessEqual
	Greater
	GreaterEqual
	In
	Between
	IsNull
	IsNotNull
	StartsWith
)

var opNames = [...]string{"=", "<>", "<", "<=", ">", ">=", "in", "between", "is null", "is not null", "starts with"}

func (o Op) String() string { return opNames[o] }

// Predicate is a condition on one field that every wanted row satisfies.
type Predicate struct {
	Field int
	Op    Op
	Args  []table.Value // of the field's type, never NULL
}

// LiteralKind is what a literal in a query is.
type LiteralKind uint8

// The kinds of literals.
const (
	LiteralNull LiteralKind = iota
	LiteralBool
	LiteralInt
	LiteralDecimal
	LiteralFloat
	LiteralString
)

// Literal is a constant in a query, or the value of a parameter.
type Literal struct {
	Kind LiteralKind
	Text string // Postgres' text of the value
	Type string // the SQL type it was cast to, upper case; "" if none
}

// Bind makes a predicate of a column's comparison with literals. It is false
// if the predicate is of no use: a literal that is NULL, of another type or
// not exactly a value of the column's type (2.55 against numeric(10,1)) could
// compare otherwise than its nearest value does. Timestamps without a zone,
// against TIMESTAMP_LTZ, are in loc.
func Bind(s *table.Schema, column string, op Op, args []Literal, loc *time.Location) (Predicate, bool) {
	p := Predicate{Field: s.Index(column), Op: op}
	if p.Field < 0 {
		return Predicate{}, false
	}
	t := s.Fields[p.Field].Type
	if op == StartsWith && !t.IsString() {
		return Predicate{}, false
	}
	for _, a := range args {
		v, ok := exact(t, a, loc)
		if !ok {
			return Predicate{}, false
		}
		p.Args = append(p.Args, v)
	}
	return p, true
}

// exact is the value of type t that compares with every value of t as the
// literal does.
func exact(t table.Type, l Literal, loc *time.Location) (table.Value, bool) {
	none := table.Null()
	switch {
	case l.Kind == LiteralNull:
		return none, false
	case t.IsString():
		if l.Kind != LiteralString || l.Type != "" && l.Type != "VARCHAR" && l.Type != "TEXT" {
			return none, false
		}
		return table.StringOf(l.Text), true
	case t.IsBinary():
		if l.Kind != LiteralString || l.Type != "" && l.Type != "BLOB" {
			return none, false
		}
		v, err := table.ParseText(table.Type{Kind: table.VarBinary, Length: table.MaxLength}, l.Text, loc)
		return v, err == nil
	case t.Kind == table.Boolean:
		if l.Kind != LiteralBool && (l.Kind != LiteralString || l.Type != "") {
			return none, false
		}
		v, err := table.ParseText(t, l.Text, loc)
		return v, err == nil
	case t.IsInteger(), t.Kind == table.Decimal, t.Kind == table.Float, t.Kind == table.Double:
		return exactNumber(t, l)
	}
	return exactTime(t, l, loc)
}

func exactNumber(t table.Type, l Literal) (table.Value, bool) {
	if l.Kind == LiteralBool || l.Kind == LiteralString && l.Type != "" {
		return table.Null(), false
	}
	// An unadorned string takes the column's type, so it must be text of it.
	v, err := table.ParseText(t, l.Text, nil)
	isFloat := t.Kind == table.Float || t.Kind == table.Double
	if l.Kind == LiteralString {
		return v, err == nil && (!isFloat || !math.IsNaN(v.Float()))
	}
	if isFloat {
		// float32(0.1) is not 0.1: only what single precision holds exactly is safe.
		f, ok := new(big.Rat).SetString(l.Text)
		if err != nil || !ok || t.Kind == table.Float && f.Cmp(new(big.Rat).SetFloat64(v.Float())) != 0 {
			return table.Null(), false
		}
		return v, true
	}
	if l.Kind == LiteralInt {
		return v, err == nil
	}
	if len(l.Text) > 100 || strings.ContainsAny(l.Text, "eE") && l.Kind != LiteralFloat {
		return table.Null(), false
	}
	want, ok := new(big.Rat).SetString(l.Text)
	if !ok || want.Num().BitLen() > 400 {
		return table.Null(), false
	}
	if t.IsInteger() {
		if !want.IsInt() || !want.Num().IsInt64() {
			return table.Null(), false
		}
		v, err = table.Check(t, table.IntOf(want.Num().Int64()))
		return v, err == nil
	}
	if err != nil {
		return table.Null(), false
	}
	got, ok := new(big.Rat).SetString(table.Text(t, v))
	return v, ok && got.Cmp(want) == 0
}

func exactTime(t table.Type, l Literal, loc *time.Location) (table.Value, bool) {
	if l.Kind != LiteralString {
		return table.Null(), false
	}
	fine := t
	switch {
	case t.Kind == table.Date && (l.Type == "" || l.Type == "DATE"):
	case t.Kind == table.Time && (l.Type == "" || l.Type == "TIME"):
		// Compare with microseconds: what is finer than a millisecond is not exact.
		v, err := table.ParseText(table.Type{Kind: table.Timestamp, Precision: 9}, "1970-01-01 "+l.Text, nil)
		if err != nil || v.Micros()%1000 != 0 || v.Nanos() != 0 || v.Micros() < 0 || v.Micros() >= 86400e6 {
			return table.Null(), false
		}
		return table.IntOf(v.Micros() / 1000), true
	case t.Kind == table.Timestamp && (l.Type == "" || l.Type == "DATE" || strings.HasPrefix(l.Type, "TIMESTAMP") && !strings.Contains(l.Type, "Z")):
		fine.Precision = 9
	case t.Kind == table.TimestampLTZ && (l.Type == "" || l.Type == "TIMESTAMPTZ" || l.Type == "TIMESTAMP WITH TIME ZONE"):
		fine.Precision = 9
	default:
		return table.Null(), false
	}
	v, err := table.ParseText(fine, l.Text, loc)
	if err != nil {
		return table.Null(), false
	}
	// The engine compares microseconds; a finer literal is no value of a coarser column.
	coarse, err := table.Check(t, v)
	return coarse, err == nil && table.Equal(fine, coarse, v)
}

// Matches says whether a row's value can satisfy the predicate: false only if
// it surely does not.
func (p Predicate) Matches(t table.Type, v table.Value) bool {
	if v.IsNull() {
		return p.Op == IsNull
	}
	at := func(i int) int { return compare(t, v, p.Args[i]) }
	switch p.Op {
	case IsNull:
		return false
	case IsNotNull:
		return true
	case Equal:
		return at(0) == 0
	case NotEqual:
		return at(0) != 0
	case Less:
		return at(0) < 0
	case LessEqual:
		return at(0) <= 0
	case Greater:
		return at(0) > 0
	case GreaterEqual:
		return at(0) >= 0
	case Between:
		return at(0) >= 0 && at(1) <= 0
	case In:
		for i := range p.Args {
			if at(i) == 0 {
				return true
			}
		}
		return false
	case StartsWith:
		return strings.HasPrefix(v.Str(), p.Args[0].Str())
	}
	return true
}

// compare is table.Compare as SQL has it: the zeros of floats are one number.
func compare(t table.Type, a, b table.Value) int {
	if (t.Kind == table.Float || t.Kind == table.Double) && a.Float() == b.Float() {
		return 0
	}
	return table.Compare(t, a, b)
}

// bounds is what statistics say of one column of one file.
type bounds struct {
	min, max table.Value // NULL: not known
	nulls    int64       // -1: not known
	rows     int64
}

// mayMatch says whether a row within the bounds can satisfy the predicate.
// Bounds of strings may be shortened: they are bounds, not values.
func (p Predicate) mayMatch(t table.Type, b bounds) bool {
	switch p.Op {
	case IsNull:
		return b.nulls != 0
	case IsNotNull:
		return b.nulls != b.rows || b.rows == 0
	}
	if b.nulls == b.rows && b.rows > 0 {
		return false
	}
	low := func(v table.Value) bool { return !b.min.IsNull() && compare(t, v, b.min) < 0 }
	// NaN is above every number, and writers leave it out of the bounds.
	high := func(v table.Value) bool {
		return !b.max.IsNull() && compare(t, v, b.max) > 0
	}
	float := t.Kind == table.Float || t.Kind == table.Double
	within := func(v table.Value) bool { return float && math.IsNaN(v.Float()) || !low(v) && !high(v) }
	switch p.Op {
	case Equal:
		return within(p.Args[0])
	case In:
		for _, v := range p.Args {
			if within(v) {
				return true
			}
		}
		return false
	case Less:
		return b.min.IsNull() || compare(t, b.min, p.Args[0]) < 0
	case LessEqual:
		return !low(p.Args[0])
	case Greater:
		return float || b.max.IsNull() || compare(t, b.max, p.Args[0]) > 0
	case GreaterEqual:
		return float || !high(p.Args[0])
	case Between:
		return !low(p.Args[1]) && (float || !high(p.Args[0]))
	case StartsWith:
		prefix := p.Args[0].Str()
		if !b.max.IsNull() && b.max.Str() < prefix && !strings.HasPrefix(prefix, b.max.Str()) {
			return false
		}
		return b.min.IsNull() || b.min.Str() <= prefix || strings.HasPrefix(b.min.Str(), prefix)
	}
	return true
}
