package logstore

import (
	"encoding/base64"
	"errors"
	"fmt"
	"math"
	"strconv"
	"unicode/utf8"
	"unsafe"

	"dtstore/table"
)

// exactDigits is how many decimal digits every reader's double keeps: longer
// decimals travel as strings.
const exactDigits = 15

// appendJSON appends a value as FORMAT.md says.
func appendJSON(b []byte, t *table.Type, v *table.Value) []byte {
	if v.IsNull() {
		return append(b, "null"...)
	}
	switch t.Kind {
	case table.Boolean:
		return strconv.AppendBool(b, v.Bool())
	case table.Float:
		return appendJSONFloat(b, v.Float(), 32)
	case table.Double:
		return appendJSONFloat(b, v.Float(), 64)
	case table.Decimal:
		if t.Precision <= exactDigits {
			return table.AppendDecimal(b, *v, t.Scale)
		}
		b = append(b, '"')
		b = table.AppendDecimal(b, *v, t.Scale)
		return append(b, '"')
	case table.Char, table.VarChar:
		return appendJSONString(b, v.Str())
	case table.Binary, table.VarBinary:
		b = append(b, '"')
		s := v.Str()
		b = base64.StdEncoding.AppendEncode(b, unsafe.Slice(unsafe.StringData(s), len(s)))
		return append(b, '"')
	case table.Date:
		b = append(b, '"')
		b = appendDay(b, v.Int())
		return append(b, '"')
	case table.Time:
		b = append(b, '"')
		b = appendClock(b, v.Int()/1000, v.Int()%1000*1e6)
		return append(b, '"')
	case table.Timestamp, table.TimestampLTZ:
		b = append(b, '"')
		day, micros := floorDiv(v.Micros(), 86_400_000_000)
		b = append(appendDay(b, day), ' ')
		b = appendClock(b, micros/1_000_000, micros%1_000_000*1000+int64(v.Nanos()))
		if t.Kind == table.TimestampLTZ {
			b = append(b, 'Z')
		}
		return append(b, '"')
	}
	return strconv.AppendInt(b, v.Int(), 10)
}

func floorDiv(a, b int64) (q, r int64) {
	if q, r = a/b, a%b; r < 0 {
		q, r = q-1, r+b
	}
	return q, r
}

// appendJSONFloat appends the shortest text that reads back as f; what JSON has
// no numbers for is a string, as Java spells it.
func appendJSONFloat(b []byte, f float64, bits int) []byte {
	switch {
	case math.IsNaN(f):
		return append(b, `"NaN"`...)
	case math.IsInf(f, 1):
		return append(b, `"Infinity"`...)
	case math.IsInf(f, -1):
		return append(b, `"-Infinity"`...)
	case f == 0 && math.Signbit(f):
		return append(b, `"-0.0"`...) // a number loses its sign where it is read as a decimal, as Flink does
	}
	if a := math.Abs(f); a != 0 && (a >= 1e21 || a < 1e-6) {
		return strconv.AppendFloat(b, f, 'e', -1, bits)
	}
	return strconv.AppendFloat(b, f, 'f', -1, bits)
}

const hexDigits = "0123456789abcdef"

// plain marks the ASCII characters that stand for themselves in a string.
var plain = func() (t [256]bool) {
	for c := ' '; c < 0x80; c++ {
		t[c] = c != '"' && c != '\\'
	}
	return t
}()

// appendJSONString appends s quoted. Bytes that are no UTF-8 become U+FFFD.
func appendJSONString(b []byte, s string) []byte {
	b = append(b, '"')
	i := 0
	for i < len(s) && plain[s[i]] {
		i++
	}
	if i == len(s) {
		b = append(b, s...)
		return append(b, '"')
	}
	from := 0
	for i < len(s) {
		c := s[i]
		if c >= 0x80 {
			if r, n := utf8.DecodeRuneInString(s[i:]); r != utf8.RuneError || n > 1 {
				i += n
				continue
			}
			b = append(append(b, s[from:i]...), "\uFFFD"...)
			i++
			from = i
			continue
		}
		if plain[c] {
			i++
			continue
		}
		b = append(b, s[from:i]...)
		switch c {
		case '"', '\\':
			b = append(b, '\\', c)
		case '\n':
			b = append(b, '\\', 'n')
		case '\r':
			b = append(b, '\\', 'r')
		case '\t':
			b = append(b, '\\', 't')
		default:
			b = append(b, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		}
		i++
		from = i
	}
	return append(append(b, s[from:]...), '"')
}

// appendDay appends YYYY-MM-DD; years past 9999 have a sign, as in Java.
func appendDay(b []byte, days int64) []byte {
	y, m, d := table.DateOf(days)
	switch {
	case y > 9999:
		b = append(b, '+')
	case y < 0:
		b = append(b, '-')
		y = -y
	}
	if y > 9999 {
		b = strconv.AppendInt(b, int64(y), 10)
	} else {
		b = append(b, byte('0'+y/1000), byte('0'+y/100%10), byte('0'+y/10%10), byte('0'+y%10))
	}
	return append(b, '-', byte('0'+m/10), byte('0'+m%10), '-', byte('0'+d/10), byte('0'+d%10))
}

// appendClock appends HH:MM:SS and what there is of a fraction.
func appendClock(b []byte, seconds, nanos int64) []byte {
	h, m, s := seconds/3600, seconds/60%60, seconds%60
	b = append(b, byte('0'+h/10), byte('0'+h%10), ':', byte('0'+m/10), byte('0'+m%10), ':', byte('0'+s/10), byte('0'+s%10))
	if nanos == 0 {
		return b
	}
	digits := [10]byte{'.'}
	for i := 9; i > 0; i-- {
		digits[i] = byte('0' + nanos%10)
		nanos /= 10
	}
	n := 10
	for digits[n-1] == '0' {
		n--
	}
	return append(b, digits[:n]...)
}

var errForm = errors.New("not of this form")

// digits reads n digits of s.
func digits(s []byte, n int) (v int64, rest []byte, ok bool) {
	if len(s) < n {
		return 0, nil, false
	}
	for _, c := range s[:n] {
		if c < '0' || c > '9' {
			return 0, nil, false
		}
		v = v*10 + int64(c-'0')
	}
	return v, s[n:], true
}

// parseDay reads a date, and leaves the rest.
func parseDay(s []byte) (days int64, rest []byte, err error) {
	sign, n := int64(1), 4
	if len(s) > 0 && (s[0] == '-' || s[0] == '+') {
		if s[0] == '-' {
			sign = -1
		}
		s = s[1:]
		for n < len(s) && n < 9 && s[n] != '-' {
			n++
		}
	}
	y, s, ok1 := digits(s, n)
	if !ok1 || len(s) != 0 && s[0] != '-' || len(s) < 6 || s[3] != '-' {
		return 0, nil, errForm
	}
	m, _, ok2 := digits(s[1:], 2)
	d, rest, ok3 := digits(s[4:], 2)
	if !ok2 || !ok3 || m < 1 || m > 12 || d < 1 {
		return 0, nil, errForm
	}
	year := int(sign * y)
	days = table.DaysOf(year, int(m), int(d))
	if yy, mm, dd := table.DateOf(days); yy != year || mm != int(m) || dd != int(d) {
		return 0, nil, errForm // 30 February
	}
	return days, rest, nil
}

// parseClock reads HH:MM:SS and a fraction of up to nine digits.
func parseClock(s []byte) (seconds, nanos int64, rest []byte, err error) {
	if len(s) < 8 || s[2] != ':' || s[5] != ':' {
		return 0, 0, nil, errForm
	}
	h, _, ok1 := digits(s, 2)
	m, _, ok2 := digits(s[3:], 2)
	sec, rest, ok3 := digits(s[6:], 2)
	if !ok1 || !ok2 || !ok3 || h > 23 || m > 59 || sec > 59 {
		return 0, 0, nil, errForm
	}
	if len(rest) > 0 && rest[0] == '.' {
		n := 0
		for rest = rest[1:]; len(rest) > 0 && rest[0] >= '0' && rest[0] <= '9'; rest = rest[1:] {
			if n++; n > 9 {
				return 0, 0, nil, errForm
			}
			nanos = nanos*10 + int64(rest[0]-'0')
		}
		if n == 0 {
			return 0, 0, nil, errForm
		}
		for ; n < 9; n++ {
			nanos *= 10
		}
	}
	return h*3600 + m*60 + sec, nanos, rest, nil
}

// maxDay is past any day whose microseconds fit 64 bits.
const maxDay = 106_751_991

// parseTemporal reads DATE, TIME, TIMESTAMP and TIMESTAMP_LTZ.
func parseTemporal(t *table.Type, s []byte) (table.Value, error) {
	if t.Kind == table.Time {
		sec, nanos, rest, err := parseClock(s)
		if err != nil || len(rest) != 0 || nanos%1e6 != 0 {
			return table.Value{}, errForm
		}
		return table.IntOf(sec*1000 + nanos/1e6), nil
	}
	days, rest, err := parseDay(s)
	if err != nil {
		return table.Value{}, err
	}
	if t.Kind == table.Date {
		if len(rest) != 0 || days != int64(int32(days)) {
			return table.Value{}, errForm
		}
		return table.IntOf(days), nil
	}
	if len(rest) == 0 || rest[0] != ' ' && rest[0] != 'T' {
		return table.Value{}, errForm
	}
	sec, nanos, rest, err := parseClock(rest[1:])
	if err != nil {
		return table.Value{}, err
	}
	if t.Kind == table.TimestampLTZ {
		if len(rest) != 1 || rest[0] != 'Z' {
			return table.Value{}, errForm
		}
		rest = rest[1:]
	}
	if len(rest) != 0 || days > maxDay || days < -maxDay-1 {
		return table.Value{}, errForm
	}
	micros := days*86_400_000_000 + sec*1_000_000 + nanos/1000
	if days < -maxDay && micros > 0 || days >= maxDay && micros < 0 {
		return table.Value{}, errForm // it wrapped
	}
	return table.TimestampOf(micros, int(nanos%1000)), nil
}

// parseNumber reads the text of an integer, float or decimal exactly.
func parseNumber(t *table.Type, text []byte) (table.Value, error) {
	s := unsafe.String(unsafe.SliceData(text), len(text))
	switch t.Kind {
	case table.Float:
		f, err := strconv.ParseFloat(s, 32)
		return table.FloatOf(f), err
	case table.Double:
		f, err := strconv.ParseFloat(s, 64)
		return table.FloatOf(f), err
	case table.Decimal:
		if t.Precision > exactDigits || len(text) > 60 {
			return exactDecimal(t, string(text))
		}
		return exactDecimal(t, s)
	}
	n, err := strconv.ParseInt(s, 10, intBits(t.Kind))
	return table.IntOf(n), err
}

func intBits(k table.Kind) int {
	switch k {
	case table.TinyInt:
		return 8
	case table.SmallInt:
		return 16
	case table.Int:
		return 32
	}
	return 64
}

// exactDecimal refuses a number with more digits after the point than the
// type: rounding would make another value of it.
func exactDecimal(t *table.Type, s string) (table.Value, error) {
	v, err := table.ParseDecimal(*t, s)
	if err != nil {
		return v, err
	}
	var buf [64]byte
	if again := table.AppendDecimal(buf[:0], v, t.Scale); string(again) == s {
		return v, nil
	}
	return v, sameNumber(t, v, s)
}

// sameNumber compares with one digit more.
func sameNumber(t *table.Type, v table.Value, s string) error {
	if t.Precision >= 38 {
		return nil
	}
	finer := *t
	finer.Precision, finer.Scale = 38, min(38, t.Scale+6)
	w, err := table.ParseDecimal(finer, s)
	if err != nil {
		return err
	}
	hi, lo := v.Decimal()
	hi, lo, ok := table.MulPow10(hi, lo, finer.Scale-t.Scale)
	if whi, wlo := w.Decimal(); !ok || hi != whi || lo != wlo {
		return fmt.Errorf("%s has more than %d digits after the point", s, t.Scale)
	}
	return nil
}
