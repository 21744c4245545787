package table

import (
	"math"
	"strconv"
	"strings"
	"time"
)

const (
	microsPerDay = 86_400_000_000
	millisPerDay = 86_400_000
	// Dates are those that the format's engines agree on: year -4712 to 294246
	// would fit, but Java, DuckDB and JSON all read 0001..9999 alike; earlier and
	// later ones are kept as far as Postgres goes.
	minDay = -2440588        // 4714-11-24 BC, Postgres' first date
	maxDay = 106751991 - 365 // the last days whose microseconds fit 64 bits
)

// DaysOf is the day number, from 1970-01-01, of a proleptic Gregorian date.
// Year 0 is 1 BC.
func DaysOf(year, month, day int) int64 {
	y := int64(year)
	if month <= 2 {
		y--
	}
	era := floorDiv(y, 400)
	yoe := y - era*400
	m := int64((month + 9) % 12)
	doy := (153*m+2)/5 + int64(day) - 1
	return era*146097 + yoe*365 + yoe/4 - yoe/100 + doy - 719468
}

// DateOf is the proleptic Gregorian date of a day number; year 0 is 1 BC.
func DateOf(days int64) (year, month, day int) {
	z := days + 719468
	era := floorDiv(z, 146097)
	doe := z - era*146097
	yoe := (doe - doe/1460 + doe/36524 - doe/146096) / 365
	doy := doe - (365*yoe + yoe/4 - yoe/100)
	mp := (5*doy + 2) / 153
	d := doy - (153*mp+2)/5 + 1
	m := mp + 3
	if m > 12 {
		m -= 12
	}
	y := yoe + era*400
	if m <= 2 {
		y++
	}
	return int(y), int(m), int(d)
}

func daysIn(year, month int) int {
	switch month {
	case 2:
		if year%4 == 0 && (year%100 != 0 || year%400 == 0) {
			return 29
		}
		return 28
	case 4, 6, 9, 11:
		return 30
	}
	return 31
}

// roundTimestamp rounds to the digits of the type, half up.
func roundTimestamp(t Type, v Value) (Value, error) {
	if v.lo < minDay*microsPerDay || v.lo > maxDay*microsPerDay {
		return Value{}, Errorf("22008", "timestamp out of range")
	}
	if t.Precision >= 9 {
		return v, nil
	}
	if t.Precision >= 6 {
		unit := int64(math.Pow10(9 - t.Precision))
		n := (v.hi + unit/2) / unit * unit
		return TimestampOf(v.lo+n/1000, int(n%1000)), nil
	}
	unit := int64(math.Pow10(6 - t.Precision))
	return TimestampOf(floorDiv(v.lo+unit/2, unit)*unit, 0), nil
}

// scanner reads the fields of a date or time.
type scanner struct {
	s string
	i int
}

func (p *scanner) peek() byte {
	if p.i < len(p.s) {
		return p.s[p.i]
	}
	return 0
}

func (p *scanner) number(maxDigits int) (n, digits int) {
	for p.i < len(p.s) && p.s[p.i] >= '0' && p.s[p.i] <= '9' && digits < maxDigits {
		n, digits, p.i = n*10+int(p.s[p.i]-'0'), digits+1, p.i+1
	}
	return n, digits
}

func (p *scanner) accept(c byte) bool {
	if p.peek() == c {
		p.i++
		return true
	}
	return false
}

func (p *scanner) blanks() {
	for p.peek() == ' ' || p.peek() == '\t' {
		p.i++
	}
}

// date reads YYYY-MM-DD or YYYYMMDD (years of four to six digits).
func (p *scanner) date() (y, m, d int, ok bool) {
	start := p.i
	y, n := p.number(8)
	switch {
	case n == 8 && p.peek() != '-':
		p.i = start
		y, _ = p.number(4)
		m, _ = p.number(2)
		d, _ = p.number(2)
		return y, m, d, true
	case n >= 3 && n <= 6 && (p.accept('-') || p.accept('/')):
	default:
		return 0, 0, 0, false
	}
	m, n = p.number(2)
	if n == 0 || !(p.accept('-') || p.accept('/')) {
		return 0, 0, 0, false
	}
	d, n = p.number(2)
	return y, m, d, n > 0
}

// clock reads HH:MM[:SS[.fraction]] as nanoseconds of the day, with 24:00:00.
func (p *scanner) clock() (nanos int64, ok bool) {
	h, n := p.number(2)
	if n == 0 || !p.accept(':') {
		return 0, false
	}
	m, n := p.number(2)
	if n == 0 {
		return 0, false
	}
	s, frac := 0, int64(0)
	if p.accept(':') {
		if s, n = p.number(2); n == 0 {
			return 0, false
		}
		if p.accept('.') {
			f, digits := p.number(9)
			for range 9 - digits {
				f *= 10
			}
			frac = int64(f)
			for p.peek() >= '0' && p.peek() <= '9' {
				p.i++
			}
		}
	}
	if h > 24 || m > 59 || s > 60 || h == 24 && (m > 0 || s > 0 || frac > 0) {
		return -1, true
	}
	return (int64(h*3600+m*60+s))*1e9 + frac, true
}

// zone reads Z, +HH[:MM[:SS]], -HHMM or a zone's name: seconds east of UTC, or
// a location.
func (p *scanner) zone() (east int, loc *time.Location, ok bool) {
	rest := strings.TrimSpace(p.s[p.i:])
	p.i = len(p.s)
	if rest == "" {
		return 0, nil, false
	}
	switch up := strings.ToUpper(rest); {
	case up == "Z", up == "UTC", up == "GMT":
		return 0, time.UTC, true
	case rest[0] == '+' || rest[0] == '-':
		q := scanner{s: rest, i: 1}
		h, n := q.number(4)
		m, s := 0, 0
		if n == 4 || n == 3 {
			h, m = h/100, h%100
		}
		if n <= 2 && q.accept(':') {
			if m, n = q.number(2); n == 0 {
				return 0, nil, false
			}
			if q.accept(':') {
				s, _ = q.number(2)
			}
		}
		if n == 0 || q.i != len(rest) || h > 15 || m > 59 || s > 59 {
			return 0, nil, false
		}
		east = h*3600 + m*60 + s
		if rest[0] == '-' {
			east = -east
		}
		return east, time.FixedZone("", east), true
	}
	if strings.ContainsAny(rest, "./\\") && !strings.Contains(rest, "/") || len(rest) > 64 {
		return 0, nil, false
	}
	loc, err := time.LoadLocation(rest)
	if err != nil || rest == "Local" {
		return 0, nil, false
	}
	return 0, loc, true
}

// parseDateTime reads DATE, TIMESTAMP and TIMESTAMP_LTZ.
func parseDateTime(t Type, s string, loc *time.Location) (Value, bool, error) {
	bad := func() (Value, bool, error) {
		return Value{}, false, Errorf("22007", "invalid input syntax for type %s: \"%s\"", t.SQLName(), clip(s))
	}
	switch strings.ToLower(s) {
	case "epoch":
		return IntOf(0), true, nil
	case "infinity", "-infinity", "+infinity":
		return Value{}, false, Errorf("22008", "%s \"%s\" cannot be stored", t.SQLName(), s).
			WithHint("The open table format has no infinite dates; use NULL or a far date such as 9999-12-31.")
	}
	p := scanner{s: s}
	y, m, d, ok := p.date()
	if !ok {
		return bad()
	}
	nanos, zoned := int64(0), false
	if c := p.peek(); c == ' ' || c == 'T' || c == 't' {
		q := p
		q.i++
		q.blanks()
		if c := q.peek(); c >= '0' && c <= '9' {
			p = q
			if nanos, ok = p.clock(); !ok {
				return bad()
			}
		}
	}
	p.blanks()
	bc := false
	if rest := p.s[p.i:]; len(rest) >= 2 && strings.EqualFold(rest[len(rest)-2:], "BC") {
		bc, p.s = true, strings.TrimRight(p.s[:len(p.s)-2], " ")
	}
	if p.i < len(p.s) {
		_, zone, ok := p.zone()
		if !ok {
			return bad()
		}
		loc, zoned = zone, true
	}
	if nanos < 0 || m < 1 || m > 12 || d < 1 || y == 0 {
		return Value{}, false, fieldRange(s)
	}
	if bc {
		y = 1 - y
	}
	if d > daysIn(y, m) {
		return Value{}, false, fieldRange(s)
	}
	days := DaysOf(y, m, d)
	if days < minDay || days > maxDay {
		return Value{}, false, Errorf("22008", "%s out of range: \"%s\"", strings.SplitN(t.SQLName(), " ", 2)[0], clip(s))
	}
	if t.Kind == Date {
		return IntOf(days), true, nil
	}
	micros := days*microsPerDay + nanos/1000
	if t.Kind == TimestampLTZ && loc != nil {
		micros -= offsetAt(loc, y, m, d, nanos)
	}
	_ = zoned // a zone on a TIMESTAMP is ignored, as in Postgres
	v, err := roundTimestamp(t, TimestampOf(micros, int(nanos%1000)))
	return v, true, err
}

func fieldRange(s string) *Error {
	return Errorf("22008", "date/time field value out of range: \"%s\"", clip(s))
}

// offsetAt is the microseconds east of UTC that loc has at a local time.
func offsetAt(loc *time.Location, y, m, d int, nanos int64) int64 {
	if loc == time.UTC {
		return 0
	}
	sec := nanos / 1e9
	_, east := time.Date(y, time.Month(m), d, int(sec/3600), int(sec/60%60), int(sec%60), 0, loc).Zone()
	return int64(east) * 1e6
}

func parseTime(t Type, text string) (Value, error) {
	p := scanner{s: strings.TrimSpace(text)}
	nanos, ok := p.clock()
	if !ok || p.i != len(p.s) {
		return Value{}, Errorf("22007", "invalid input syntax for type time: \"%s\"", clip(text))
	}
	if nanos < 0 {
		return Value{}, fieldRange(text)
	}
	unit := int64(math.Pow10(9 - min(t.Precision, 3)))
	millis := (nanos + unit/2) / unit * unit / 1e6
	if millis >= millisPerDay {
		if nanos >= millisPerDay*1e6 {
			return Value{}, fieldRange(text).WithHint("The last time of a day is 23:59:59.999.")
		}
		millis = millisPerDay - unit/1e6
	}
	return IntOf(millis), nil
}

func appendDate(dst []byte, days int64) (out []byte, bc bool) {
	y, m, d := DateOf(days)
	if y <= 0 {
		y, bc = 1-y, true
	}
	dst = appendPadded(dst, y, 4)
	dst = append(dst, '-')
	dst = appendPadded(dst, m, 2)
	dst = append(dst, '-')
	return appendPadded(dst, d, 2), bc
}

func appendPadded(dst []byte, n, width int) []byte {
	var buf [20]byte
	s := strconv.AppendInt(buf[:0], int64(n), 10)
	for i := len(s); i < width; i++ {
		dst = append(dst, '0')
	}
	return append(dst, s...)
}

// appendClock writes HH:MM:SS and the fraction, without trailing zeros.
func appendClock(dst []byte, seconds int, nanos int) []byte {
	dst = appendPadded(dst, seconds/3600, 2)
	dst = append(dst, ':')
	dst = appendPadded(dst, seconds/60%60, 2)
	dst = append(dst, ':')
	dst = appendPadded(dst, seconds%60, 2)
	if nanos == 0 {
		return dst
	}
	dst = append(dst, '.')
	dst = appendPadded(dst, nanos, 9)
	for dst[len(dst)-1] == '0' {
		dst = dst[:len(dst)-1]
	}
	return dst
}

// appendTimestamp writes Postgres' ISO form; with a location, the local time
// and its offset.
func appendTimestamp(dst []byte, v Value, loc *time.Location) []byte {
	micros, east := v.lo, 0
	if loc != nil && loc != time.UTC {
		_, east = time.Unix(floorDiv(micros, 1e6), 0).In(loc).Zone()
		micros += int64(east) * 1e6
	}
	days := floorDiv(micros, microsPerDay)
	rest := micros - days*microsPerDay
	dst, bc := appendDate(dst, days)
	dst = append(dst, ' ')
	dst = appendClock(dst, int(rest/1e6), int(rest%1e6)*1000+int(v.hi))
	if loc != nil {
		dst = appendOffset(dst, east)
	}
	if bc {
		dst = append(dst, " BC"...)
	}
	return dst
}

func appendOffset(dst []byte, east int) []byte {
	sign := byte('+')
	if east < 0 {
		sign, east = '-', -east
	}
	dst = append(dst, sign)
	dst = appendPadded(dst, east/3600, 2)
	if east%3600 != 0 {
		dst = append(dst, ':')
		dst = appendPadded(dst, east/60%60, 2)
	}
	if east%60 != 0 {
		dst = append(dst, ':')
		dst = appendPadded(dst, east%60, 2)
	}
	return dst
}
