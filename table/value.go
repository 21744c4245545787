package table

import (
	"cmp"
	"math"
	"math/bits"
	"strings"
)

// Value is one cell. The zero Value is NULL. What its fields mean depends on
// the column's type, which a value does not carry:
//
//	BOOLEAN                  Int 0 or 1
//	TINYINT..BIGINT          Int
//	DATE                     Int, days from 1970-01-01
//	TIME                     Int, milliseconds of the day
//	FLOAT, DOUBLE            the bits of a float64; FLOAT values are exactly representable as float32
//	DECIMAL                  unscaled 128-bit integer, hi and lo
//	TIMESTAMP, TIMESTAMP_LTZ microseconds from 1970-01-01 (floored), and 0..999 nanoseconds
//	CHAR, VARCHAR            Str, valid UTF-8
//	BINARY, VARBINARY        Str, the bytes
type Value struct {
	str string
	lo  int64 // the integer, float bits, micros, or low 64 bits of a decimal
	hi  int64 // high 64 bits of a decimal, or nanoseconds within the microsecond
	set bool
}

// Null is the NULL value.
func Null() Value { return Value{} }

// BoolOf makes a BOOLEAN.
func BoolOf(b bool) Value {
	if b {
		return Value{lo: 1, set: true}
	}
	return Value{set: true}
}

// IntOf makes an integer, DATE or TIME.
func IntOf(i int64) Value { return Value{lo: i, set: true} }

// FloatOf makes a DOUBLE, or a FLOAT if f came from a float32.
func FloatOf(f float64) Value { return Value{lo: int64(math.Float64bits(f)), set: true} }

// DecimalOf makes a DECIMAL from its unscaled 128-bit two's complement.
func DecimalOf(hi int64, lo uint64) Value { return Value{lo: int64(lo), hi: hi, set: true} }

// DecimalOfInt makes a DECIMAL from an unscaled 64-bit integer.
func DecimalOfInt(unscaled int64) Value { return Value{lo: unscaled, hi: unscaled >> 63, set: true} }

// TimestampOf makes a TIMESTAMP or TIMESTAMP_LTZ: microseconds since the epoch,
// floored, and the nanoseconds within that microsecond, 0..999.
func TimestampOf(micros int64, nanos int) Value {
	return Value{lo: micros, hi: int64(nanos), set: true}
}

// StringOf makes a text value.
func StringOf(s string) Value { return Value{str: s, set: true} }

// BytesOf makes a binary value; b is copied.
func BytesOf(b []byte) Value { return Value{str: string(b), set: true} }

// IsNull says whether the value is NULL.
func (v Value) IsNull() bool { return !v.set }

// Bool is the value of a BOOLEAN.
func (v Value) Bool() bool { return v.lo != 0 }

// Int is the value of an integer, DATE or TIME.
func (v Value) Int() int64 { return v.lo }

// Float is the value of a FLOAT or DOUBLE.
func (v Value) Float() float64 { return math.Float64frombits(uint64(v.lo)) }

// Decimal is the unscaled 128-bit two's complement of a DECIMAL.
func (v Value) Decimal() (hi int64, lo uint64) { return v.hi, uint64(v.lo) }

// Micros is the microseconds since the epoch (floored) of a timestamp.
func (v Value) Micros() int64 { return v.lo }

// Nanos is the nanoseconds, 0..999, within the microsecond of a timestamp.
func (v Value) Nanos() int { return int(v.hi) }

// Str is the text of a string, or the bytes of a binary value as a string.
func (v Value) Str() string { return v.str }

// Bytes is about what the value holds in memory beyond its own struct.
func (v Value) Bytes() int { return len(v.str) }

// Equal says whether two values of one type are the same (NULL equals NULL,
// NaN equals NaN).
func Equal(t Type, a, b Value) bool { return Compare(t, a, b) == 0 }

// Compare orders two values of type t as the format orders keys
// (paimon-format.md 7.1): nulls first, integers and decimals by value, floats
// as Java's Double.compare (-0.0 < 0.0, NaN largest), strings and bytes by
// unsigned bytes, timestamps by time.
func Compare(t Type, a, b Value) int {
	if !a.set || !b.set {
		switch {
		case a.set:
			return 1
		case b.set:
			return -1
		}
		return 0
	}
	switch t.Kind {
	case Char, VarChar, Binary, VarBinary:
		return strings.Compare(a.str, b.str)
	case Float, Double:
		return cmp.Compare(floatOrder(a.Float()), floatOrder(b.Float()))
	case Decimal:
		if c := cmp.Compare(a.hi, b.hi); c != 0 {
			return c
		}
		return cmp.Compare(uint64(a.lo), uint64(b.lo))
	case Timestamp, TimestampLTZ:
		if c := cmp.Compare(a.lo, b.lo); c != 0 {
			return c
		}
		return cmp.Compare(a.hi, b.hi)
	}
	return cmp.Compare(a.lo, b.lo)
}

// floatOrder maps floats to integers of the same order, all NaN to one.
func floatOrder(f float64) uint64 {
	u := math.Float64bits(f)
	if f != f {
		u = 0x7ff8000000000000
	}
	if u>>63 != 0 {
		return ^u
	}
	return u | 1<<63
}

// MulPow10 multiplies the 128-bit integer by 10^n; ok is false on overflow.
func MulPow10(hi int64, lo uint64, n int) (int64, uint64, bool) {
	neg := hi < 0
	if neg {
		hi, lo = neg128(hi, lo)
	}
	h := uint64(hi)
	for range n {
		over, low := bits.Mul64(lo, 10)
		ohi, high := bits.Mul64(h, 10)
		var carry uint64
		h, carry = bits.Add64(high, over, 0)
		lo = low
		if ohi != 0 || carry != 0 || h>>63 != 0 {
			return 0, 0, false
		}
	}
	hi = int64(h)
	if neg {
		hi, lo = neg128(hi, lo)
	}
	return hi, lo, true
}

// neg128 negates a 128-bit two's complement.
func neg128(hi int64, lo uint64) (int64, uint64) {
	l, borrow := bits.Sub64(0, lo, 0)
	h, _ := bits.Sub64(0, uint64(hi), borrow)
	return int64(h), l
}

// div10 divides an unsigned 128-bit integer by 10.
func div10(hi, lo uint64) (qhi, qlo, rem uint64) {
	qhi, rem = hi/10, hi%10
	qlo, rem = bits.Div64(rem, lo, 10)
	return qhi, qlo, rem
}
