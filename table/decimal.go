package table

import (
	"math/bits"
	"strconv"
	"strings"
)

func overflow(t Type) *Error {
	return Errorf("22003", "numeric field overflow").
		WithDetail("A field with precision %d, scale %d must round to an absolute value less than 10^%d.", t.Precision, t.Scale, t.Precision-t.Scale)
}

// fitsPrecision says whether the unscaled value has at most p digits.
func fitsPrecision(v Value, p int) bool {
	hi, lo := v.hi, uint64(v.lo)
	if hi < 0 {
		hi, lo = neg128(hi, lo)
		if hi < 0 {
			return false
		}
	}
	phi, plo, _ := MulPow10(0, 1, p)
	_, borrow := bits.Sub64(lo, plo, 0)
	_, borrow = bits.Sub64(uint64(hi), uint64(phi), borrow)
	return borrow == 1
}

// ParseDecimal reads a DECIMAL from text, with an exponent if it has one, and
// rounds it to the type's scale, half away from zero as Postgres does.
func ParseDecimal(t Type, text string) (Value, error) {
	s := strings.TrimSpace(text)
	neg := false
	if s != "" && (s[0] == '-' || s[0] == '+') {
		neg, s = s[0] == '-', s[1:]
	}
	mantissa, exp := s, 0
	if i := strings.IndexAny(s, "eE"); i >= 0 {
		n, err := strconv.Atoi(s[i+1:])
		if err != nil || n > 100000 || n < -100000 {
			return Value{}, invalidNumeric(text)
		}
		mantissa, exp = s[:i], n
	}
	whole, frac, _ := strings.Cut(mantissa, ".")
	digits := whole + frac
	if digits == "" || strings.Trim(digits, "0123456789") != "" {
		return Value{}, invalidNumeric(text)
	}
	// The value is digits · 10^(exp-len(frac)); keep = how many of the digits stay.
	shift := exp - len(frac) + t.Scale
	up := false
	if shift < 0 {
		keep := len(digits) + shift
		if keep < 0 {
			keep, digits = 0, ""
		} else {
			up, digits = digits[keep] >= '5', digits[:keep]
		}
		shift = 0
	}
	digits = strings.TrimLeft(digits, "0")
	if digits == "" {
		shift = 0
	}
	if len(digits)+shift > 38 {
		return Value{}, overflow(t)
	}
	hi, lo := uint64(0), uint64(0)
	for i := range len(digits) + shift {
		d := uint64(0)
		if i < len(digits) {
			d = uint64(digits[i] - '0')
		}
		over, low := bits.Mul64(lo, 10)
		var carry uint64
		lo, carry = bits.Add64(low, d, 0)
		hi = hi*10 + over + carry
	}
	if up {
		var carry uint64
		lo, carry = bits.Add64(lo, 1, 0)
		hi += carry
	}
	h := int64(hi)
	if neg {
		h, lo = neg128(h, lo)
	}
	v := DecimalOf(h, lo)
	if !fitsPrecision(v, t.Precision) {
		return Value{}, overflow(t)
	}
	return v, nil
}

func invalidNumeric(text string) *Error {
	switch strings.ToLower(strings.TrimSpace(text)) {
	case "nan", "infinity", "-infinity", "inf", "-inf", "+infinity", "+inf":
		return Errorf("22003", "numeric \"%s\" cannot be stored", clip(text)).WithHint("A numeric column holds finite numbers of at most 38 digits; use double precision for NaN and infinities.")
	}
	return Errorf("22P02", "invalid input syntax for type numeric: \"%s\"", clip(text))
}

// AppendDecimal appends the plain decimal text with exactly scale digits
// after the point.
func AppendDecimal(dst []byte, v Value, scale int) []byte {
	hi, lo := v.hi, uint64(v.lo)
	if hi < 0 {
		dst = append(dst, '-')
		hi, lo = neg128(hi, lo)
	}
	var buf [48]byte
	i, h := len(buf), uint64(hi)
	for n := 0; h != 0 || lo != 0 || n <= scale; n++ {
		if n == scale && scale > 0 {
			i--
			buf[i] = '.'
		}
		var d uint64
		if h == 0 {
			lo, d = lo/10, lo%10
		} else {
			h, lo, d = div10(h, lo)
		}
		i--
		buf[i] = byte('0' + d)
	}
	return append(dst, buf[i:]...)
}
