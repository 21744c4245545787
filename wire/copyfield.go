package wire

import (
	"math"
	"time"
	"unsafe"

	"dtstore/table"
)

// FromParam makes a value of a column's type from what DecodeParam gave for
// the type's OID (that of ColumnOf): text forms are parsed, lengths and ranges
// checked, infinities refused.
func FromParam(t table.Type, v table.Value) (table.Value, error) {
	if v.IsNull() {
		return v, nil
	}
	if v.Str() != "" && !t.IsString() && !t.IsBinary() {
		return table.ParseText(t, v.Str(), time.UTC)
	}
	switch {
	case t.Kind == table.Date && infinite(v.Int(), DateInfinity, math.MinInt32) != "":
		return table.ParseText(t, infinite(v.Int(), DateInfinity, math.MinInt32), nil)
	case t.IsTimestamp() && infinite(v.Micros(), TimestampInfinity, math.MinInt64) != "":
		return table.ParseText(t, infinite(v.Micros(), TimestampInfinity, math.MinInt64), nil)
	}
	return table.Check(t, v)
}

// fieldParser reads fields of one column. The common spellings are read here
// without allocation; all others, and all faults, are table.ParseText's.
type fieldParser struct {
	t    table.Type
	loc  *time.Location
	utc  bool  // loc is UTC
	most int64 // largest integer of an integer type
}

func parserOf(t table.Type, loc *time.Location) fieldParser {
	p := fieldParser{t: t, loc: loc, utc: loc == nil || loc == time.UTC}
	switch t.Kind {
	case table.TinyInt:
		p.most = math.MaxInt8
	case table.SmallInt:
		p.most = math.MaxInt16
	case table.Int:
		p.most = math.MaxInt32
	case table.BigInt:
		p.most = math.MaxInt64
	}
	return p
}

func (p *fieldParser) parse(b []byte) (table.Value, error) {
	switch p.t.Kind {
	case table.Char, table.VarChar:
		v := table.StringOf(string(b))
		if p.t.Kind == table.VarChar && len(b) <= p.t.Length {
			return v, nil
		}
		return table.Check(p.t, v)
	case table.Binary, table.VarBinary:
		return table.ParseText(p.t, string(b), p.loc)
	case table.TinyInt, table.SmallInt, table.Int, table.BigInt:
		if n, scale, ok := digits(b, false); ok && scale == 0 && n <= p.most && n >= -p.most {
			return table.IntOf(n), nil
		}
	case table.Decimal:
		if n, scale, ok := digits(b, true); ok && scale <= p.t.Scale {
			v := table.DecimalOfInt(n)
			if hi, lo := v.Decimal(); scale < p.t.Scale {
				hi, lo, ok = table.MulPow10(hi, lo, p.t.Scale-scale)
				v = table.DecimalOf(hi, lo)
			}
			if ok {
				return table.Check(p.t, v)
			}
		}
	case table.Double:
		// Both are exact below 2^53 and 10^22, so the quotient is the nearest double.
		if n, scale, ok := digits(b, true); ok && len(b) <= 15 {
			return table.FloatOf(quotient(n, scale, b)), nil
		}
	case table.Boolean:
		if len(b) == 1 && (b[0] == 't' || b[0] == 'f') {
			return table.BoolOf(b[0] == 't'), nil
		}
	case table.Date:
		if days, ok := isoDate(b); ok && len(b) == 10 {
			return table.IntOf(days), nil
		}
	case table.Timestamp, table.TimestampLTZ:
		if p.t.Precision >= 6 && (p.utc || p.t.Kind == table.Timestamp) {
			if micros, ok := isoTimestamp(b); ok {
				return table.TimestampOf(micros, 0), nil
			}
		}
	}
	// ParseText keeps nothing of its text for these types, and copies it into
	// its errors, so it may look at the buffer itself.
	return table.ParseText(p.t, unsafe.String(unsafe.SliceData(b), len(b)), p.loc)
}

// digits reads [-]digits, with one point among them if point is true: at most
// 18 digits, so that nothing overflows.
func digits(b []byte, point bool) (n int64, scale int, ok bool) {
	neg := len(b) > 0 && b[0] == '-'
	if neg {
		b = b[1:]
	}
	if len(b) == 0 || len(b) > 18 {
		return 0, 0, false
	}
	at := -1
	for i, c := range b {
		if d := c - '0'; d <= 9 {
			n = n*10 + int64(d)
		} else if c == '.' && point && at < 0 && len(b) > 1 {
			at = i
		} else {
			return 0, 0, false
		}
	}
	if at >= 0 {
		scale = len(b) - 1 - at
	}
	if neg {
		n = -n
	}
	return n, scale, true
}

var powers = [...]float64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15}

// quotient is n / 10^scale; -0 has its sign in the text alone.
func quotient(n int64, scale int, b []byte) float64 {
	if n == 0 && b[0] == '-' {
		return math.Copysign(0, -1)
	}
	return float64(n) / powers[scale]
}
