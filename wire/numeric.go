package wire

import (
	"encoding/binary"
	"strconv"
	"strings"

	"dtstore/table"
)

// Binary numerics are digits to the base 10000 with a weight (the exponent of
// the first digit), a sign and a display scale.
const (
	numericBase     = 10000
	numericNegative = 0x4000
	numericNaN      = 0xc000
	numericInf      = 0xd000
	numericNegInf   = 0xf000

	// maxNumericDigits bounds what an exponent or a hostile weight can make of
	// a short parameter. No column holds more than 38 digits.
	maxNumericDigits = 1000
)

// appendNumeric appends the binary form of a plain decimal (digits, one point,
// a sign; no exponent).
func appendNumeric(dst, text []byte) ([]byte, error) {
	sign := uint16(0)
	if len(text) > 0 && (text[0] == '-' || text[0] == '+') {
		if text[0] == '-' {
			sign = numericNegative
		}
		text = text[1:]
	}
	point := len(text)
	for i, c := range text {
		if c == '.' {
			point = i
		}
	}
	whole := text[:point]
	for len(whole) > 0 && whole[0] == '0' {
		whole = whole[1:]
	}
	var frac []byte
	if point < len(text) {
		frac = text[point+1:]
	}
	groups := (len(whole) + 3) / 4
	weight := groups - 1
	start := len(dst)
	dst = append(dst, 0, 0, 0, 0, 0, 0, byte(len(frac)>>8), byte(len(frac)))
	count, last := 0, 0 // digits written; up to the last that is not zero
	put := func(d uint16) {
		if d == 0 && count == 0 {
			weight--
			return
		}
		dst = append(dst, byte(d>>8), byte(d))
		count++
		if d != 0 {
			last = count
		}
	}
	for i := range groups {
		end := len(whole) - (groups-1-i)*4
		put(group(whole[max(end-4, 0):end], false))
	}
	for i := 0; i < len(frac); i += 4 {
		put(group(frac[i:min(i+4, len(frac))], true))
	}
	dst = dst[:start+8+2*last]
	if last == 0 {
		weight, sign = 0, 0
	}
	binary.BigEndian.PutUint16(dst[start:], uint16(last))
	binary.BigEndian.PutUint16(dst[start+2:], uint16(int16(weight)))
	binary.BigEndian.PutUint16(dst[start+4:], sign)
	return dst, nil
}

// group is the value of up to four decimal digits; those after the point are
// filled up with zeros on the right.
func group(digits []byte, afterPoint bool) uint16 {
	n := uint16(0)
	for _, c := range digits {
		n = n*10 + uint16(c-'0')
	}
	if afterPoint {
		for i := len(digits); i < 4; i++ {
			n *= 10
		}
	}
	return n
}

// numericText is the text of a binary numeric, with its display scale.
func numericText(b []byte) (string, error) {
	if len(b) < 8 {
		return "", badBinary(OIDNumeric)
	}
	be := binary.BigEndian
	count, weight := int(be.Uint16(b)), int(int16(be.Uint16(b[2:])))
	sign, scale := be.Uint16(b[4:]), int(be.Uint16(b[6:]))
	switch sign {
	case numericNaN:
		return "", notFinite("NaN")
	case numericInf:
		return "", notFinite("Infinity")
	case numericNegInf:
		return "", notFinite("-Infinity")
	case 0, numericNegative:
	default:
		return "", table.Errorf("22P03", "invalid sign in external \"numeric\" value")
	}
	if len(b) != 8+2*count {
		return "", badBinary(OIDNumeric)
	}
	if (weight+1)*4 > maxNumericDigits || scale > maxNumericDigits || weight < -maxNumericDigits {
		return "", table.Errorf("22003", "value overflows numeric format")
	}
	digit := func(i int) (uint16, error) {
		if i < 0 || i >= count {
			return 0, nil
		}
		d := be.Uint16(b[8+2*i:])
		if d >= numericBase {
			return 0, table.Errorf("22P03", "invalid digit in external \"numeric\" value")
		}
		return d, nil
	}
	var out []byte
	for i := range weight + 1 {
		d, err := digit(i)
		if err != nil {
			return "", err
		}
		out = append4(out, d)
	}
	for len(out) > 0 && out[0] == '0' {
		out = out[1:]
	}
	if len(out) == 0 {
		out = append(out, '0')
	}
	point := len(out)
	out = append(out, '.')
	for i := weight + 1; len(out)-point-1 < scale; i++ {
		d, err := digit(i)
		if err != nil {
			return "", err
		}
		out = append4(out, d)
	}
	out = out[:point+1+scale]
	if scale == 0 {
		out = out[:point]
	}
	if sign == numericNegative && strings.Trim(string(out), "0.") != "" {
		return "-" + string(out), nil
	}
	return string(out), nil
}

func append4(dst []byte, d uint16) []byte {
	return append(dst, byte('0'+d/1000), byte('0'+d/100%10), byte('0'+d/10%10), byte('0'+d%10))
}

func notFinite(word string) error {
	return table.Errorf("22003", "numeric %q cannot be stored", word).
		WithHint("A numeric holds finite numbers here; use double precision for NaN and infinities.")
}

// plainNumeric brings the text of a numeric into plain form: no exponent, no
// blanks, no plus. Its scale is kept.
func plainNumeric(text string) (string, error) {
	bad := table.Errorf("22P02", "invalid input syntax for type numeric: \"%s\"", clip(text))
	s := strings.TrimSpace(text)
	switch strings.ToLower(strings.TrimLeft(s, "+-")) {
	case "nan", "infinity", "inf":
		return "", notFinite(s)
	}
	sign := ""
	if s != "" && (s[0] == '-' || s[0] == '+') {
		if s[0] == '-' {
			sign = "-"
		}
		s = s[1:]
	}
	exponent := 0
	if i := strings.IndexAny(s, "eE"); i >= 0 {
		n, err := strconv.Atoi(s[i+1:])
		if err != nil {
			return "", bad
		}
		if n > maxNumericDigits || n < -maxNumericDigits {
			return "", table.Errorf("22003", "value overflows numeric format")
		}
		s, exponent = s[:i], n
	}
	whole, frac, _ := strings.Cut(s, ".")
	if whole+frac == "" || strings.Trim(whole+frac, "0123456789") != "" {
		return "", bad
	}
	switch {
	case exponent > 0:
		frac += strings.Repeat("0", max(exponent-len(frac), 0))
		whole, frac = whole+frac[:exponent], frac[exponent:]
	case exponent < 0:
		whole = strings.Repeat("0", max(-exponent-len(whole), 0)) + whole
		at := len(whole) + exponent
		whole, frac = whole[:at], whole[at:]+frac
	}
	whole = strings.TrimLeft(whole, "0")
	if whole == "" {
		whole = "0"
	}
	if len(whole)+len(frac) > 2*maxNumericDigits {
		return "", table.Errorf("22003", "value overflows numeric format")
	}
	if strings.Trim(whole+frac, "0") == "" {
		sign = ""
	}
	if frac == "" {
		return sign + whole, nil
	}
	return sign + whole + "." + frac, nil
}
