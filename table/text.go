package table

import (
	"encoding/hex"
	"math"
	"strconv"
	"time"
)

// AppendText appends the text that Postgres would send for a value that is not
// NULL: ISO dates, shortest floats, \x bytes, t and f. Timestamps with time
// zone are shown in loc (nil is UTC).
func AppendText(dst []byte, t Type, v Value, loc *time.Location) []byte {
	switch t.Kind {
	case Boolean:
		if v.Bool() {
			return append(dst, 't')
		}
		return append(dst, 'f')
	case Char, VarChar:
		return append(dst, v.str...)
	case Binary, VarBinary:
		dst = append(dst, `\x`...)
		return hex.AppendEncode(dst, []byte(v.str))
	case Float:
		return AppendFloat(dst, v.Float(), 32)
	case Double:
		return AppendFloat(dst, v.Float(), 64)
	case Decimal:
		return AppendDecimal(dst, v, t.Scale)
	case Date:
		dst, bc := appendDate(dst, v.lo)
		if bc {
			dst = append(dst, " BC"...)
		}
		return dst
	case Time:
		return appendClock(dst, int(v.lo/1000), int(v.lo%1000)*1e6)
	case Timestamp:
		return appendTimestamp(dst, v, nil)
	case TimestampLTZ:
		if loc == nil {
			loc = time.UTC
		}
		return appendTimestamp(dst, v, loc)
	}
	return strconv.AppendInt(dst, v.lo, 10)
}

// Text is AppendText as a string, in UTC; NULL is "NULL". For messages and
// tests.
func Text(t Type, v Value) string {
	if v.IsNull() {
		return "NULL"
	}
	return string(AppendText(nil, t, v, time.UTC))
}

// AppendFloat appends the shortest text that reads back as f, in the form of
// Postgres: exponents from 1e+15 (1e+06 for real) and below 1e-04.
func AppendFloat(dst []byte, f float64, bits int) []byte {
	switch {
	case math.IsNaN(f):
		return append(dst, "NaN"...)
	case math.IsInf(f, 1):
		return append(dst, "Infinity"...)
	case math.IsInf(f, -1):
		return append(dst, "-Infinity"...)
	}
	limit := 1e15
	if bits == 32 {
		limit = 1e6
	}
	small := 1e-4
	if bits == 32 {
		small = float64(float32(small)) // 0.0001 as a real is just below 1e-4
	}
	if a := math.Abs(f); a != 0 && (a >= limit || a < small) {
		return strconv.AppendFloat(dst, f, 'e', -1, bits)
	}
	return strconv.AppendFloat(dst, f, 'f', -1, bits)
}
