package wire

import (
	"math"
	"strconv"
	"strings"

	"dtstore/table"
)

// interval is what Postgres keeps of one: three counts that do not mix.
type interval struct {
	months, days int32
	micros       int64
}

const (
	microsPerSecond = 1_000_000
	microsPerHour   = 3600 * microsPerSecond
	maxHours        = math.MaxInt64/microsPerHour - 1 // of an interval
)

// AppendInterval appends the text form of an interval, in the style
// "postgres": 1 year 2 mons -3 days +04:05:06.7.
func AppendInterval(dst []byte, months, days int32, micros int64) []byte {
	return append(dst, interval{months, days, micros}.text()...)
}

// text is the interval in the style "postgres".
func (v interval) text() string {
	var parts []string
	signed := false // a part before was negative: the next positive one gets a sign
	add := func(n int32, unit string) {
		if n == 0 {
			return
		}
		s := strconv.Itoa(int(n)) + " " + unit
		if n != 1 {
			s += "s"
		}
		if n > 0 && signed {
			s = "+" + s
		}
		signed = n < 0
		parts = append(parts, s)
	}
	add(v.months/12, "year")
	add(v.months%12, "mon")
	add(v.days, "day")
	if v.micros != 0 || len(parts) == 0 {
		clock := clockText(magnitude(v.micros))
		switch {
		case v.micros < 0:
			clock = "-" + clock
		case signed:
			clock = "+" + clock
		}
		parts = append(parts, clock)
	}
	return strings.Join(parts, " ")
}

func magnitude(n int64) uint64 {
	if n < 0 {
		return -uint64(n)
	}
	return uint64(n)
}

// clockText is HH:MM:SS[.ffffff] with as many hours as it takes.
func clockText(micros uint64) string {
	b := make([]byte, 0, 24)
	pad := func(n uint64, width int) {
		s := strconv.FormatUint(n, 10)
		for range width - len(s) {
			b = append(b, '0')
		}
		b = append(b, s...)
	}
	pad(micros/microsPerHour, 2)
	b = append(b, ':')
	pad(micros/(60*microsPerSecond)%60, 2)
	b = append(b, ':')
	pad(micros/microsPerSecond%60, 2)
	if f := micros % microsPerSecond; f != 0 {
		b = append(b, '.')
		pad(f, 6)
		for b[len(b)-1] == '0' {
			b = b[:len(b)-1]
		}
	}
	return string(b)
}

// unit is how many months, days or microseconds one of a unit is.
type unit struct {
	months, days float64
	micros       float64
}

var units = map[string]unit{
	"microsecond": {micros: 1}, "us": {micros: 1}, "usec": {micros: 1},
	"millisecond": {micros: 1000}, "ms": {micros: 1000}, "msec": {micros: 1000},
	"second": {micros: 1e6}, "sec": {micros: 1e6}, "s": {micros: 1e6},
	"minute": {micros: 60e6}, "min": {micros: 60e6}, "m": {micros: 60e6},
	"hour": {micros: 3600e6}, "hr": {micros: 3600e6}, "h": {micros: 3600e6},
	"day": {days: 1}, "d": {days: 1}, "week": {days: 7}, "w": {days: 7},
	"month": {months: 1}, "mon": {months: 1}, "quarter": {months: 3}, "year": {months: 12}, "yr": {months: 12}, "y": {months: 12},
	"decade": {months: 120}, "century": {months: 1200}, "centurie": {months: 1200}, "millennium": {months: 12000}, "millennia": {months: 12000},
}

// parseInterval reads "1 year 2 mons -3 days 04:05:06.7", "@ 1 hour ago",
// "1-2" and ISO 8601's "P1Y2M3DT4H5M6S".
func parseInterval(text string) (interval, error) {
	bad := table.Errorf("22007", "invalid input syntax for type interval: \"%s\"", clip(text))
	s := strings.ToLower(strings.TrimSpace(text))
	if strings.HasPrefix(s, "p") {
		return parseISOInterval(text, s[1:], bad)
	}
	words := strings.Fields(strings.TrimPrefix(s, "@"))
	sign := 1.0
	if n := len(words); n > 0 && words[n-1] == "ago" {
		sign, words = -1, words[:n-1]
	}
	if len(words) == 0 {
		return interval{}, bad
	}
	var sum total
	for i := 0; i < len(words); i++ {
		w := words[i]
		if strings.IndexByte(w, ':') >= 0 {
			micros, ok := parseSignedClock(w)
			if !ok {
				return interval{}, bad
			}
			if sign < 0 {
				micros = -micros
			}
			if total := sum.clock + micros; (total > sum.clock) != (micros > 0) && micros != 0 {
				return interval{}, bad
			}
			sum.clock += micros
			continue
		}
		end := len(w) - len(strings.TrimLeft(w, "+-.0123456789"))
		number, name := w[:end], w[end:]
		if at := strings.LastIndexByte(number, '-'); at > 0 && name == "" { // years-months
			years, err := strconv.Atoi(number[:at])
			months, err2 := strconv.Atoi(number[at+1:])
			if err != nil || err2 != nil || months > 11 {
				return interval{}, bad
			}
			if number[0] == '-' {
				months = -months
			}
			sum.months += sign * float64(12*years+months)
			continue
		}
		n, err := strconv.ParseFloat(number, 64)
		if err != nil {
			return interval{}, bad
		}
		if name == "" && i+1 < len(words) {
			i++
			name = words[i]
		}
		u, ok := units[name]
		if !ok {
			u, ok = units[strings.TrimSuffix(name, "s")]
		}
		if name == "" {
			u, ok = units["second"], true
		}
		if !ok {
			return interval{}, bad
		}
		sum.add(sign*n, u)
	}
	return sum.interval(text)
}

// parseISOInterval reads what follows the P.
func parseISOInterval(text, s string, bad error) (interval, error) {
	var sum total
	inTime := false
	if s == "" {
		return interval{}, bad
	}
	for s != "" {
		if s[0] == 't' {
			inTime, s = true, s[1:]
			continue
		}
		end := len(s) - len(strings.TrimLeft(s, "+-.0123456789"))
		n, err := strconv.ParseFloat(s[:end], 64)
		if err != nil || end == len(s) {
			return interval{}, bad
		}
		var u unit
		switch c := s[end]; {
		case c == 'y' && !inTime:
			u = units["year"]
		case c == 'm' && !inTime:
			u = units["month"]
		case c == 'w' && !inTime:
			u = units["week"]
		case c == 'd' && !inTime:
			u = units["day"]
		case c == 'h' && inTime:
			u = units["hour"]
		case c == 'm' && inTime:
			u = units["minute"]
		case c == 's' && inTime:
			u = units["second"]
		default:
			return interval{}, bad
		}
		sum.add(n, u)
		s = s[end+1:]
	}
	return sum.interval(text)
}

// total adds up an interval; fractions of a unit go to the smaller ones.
type total struct {
	months, days, micros float64
	clock                int64 // microseconds that are exact
}

func (t *total) add(n float64, u unit) {
	months, rest := math.Modf(n * u.months)
	if u.months >= 12 { // a fraction of a year is whole months
		months, rest = math.Round(n*u.months), 0
	}
	t.months += months
	days, part := math.Modf(n*u.days + rest*30)
	t.days += days
	t.micros += n*u.micros + part*24*microsPerHour
}

func (t *total) interval(text string) (interval, error) {
	micros := math.Round(t.micros)
	if math.Abs(t.months) > math.MaxInt32 || math.Abs(t.days) > math.MaxInt32 || !(math.Abs(micros) < math.MaxInt64) {
		return interval{}, table.Errorf("22008", "interval field value out of range: \"%s\"", clip(text))
	}
	sum := int64(micros) + t.clock
	if (sum > t.clock) != (micros > 0) && micros != 0 {
		return interval{}, table.Errorf("22008", "interval field value out of range: \"%s\"", clip(text))
	}
	return interval{months: int32(t.months), days: int32(t.days), micros: sum}, nil
}

// parseSignedClock reads [+-]H…:MM[:SS[.ffffff]] as microseconds.
func parseSignedClock(s string) (int64, bool) {
	neg := false
	if s != "" && (s[0] == '-' || s[0] == '+') {
		neg, s = s[0] == '-', s[1:]
	}
	fields := strings.Split(s, ":")
	if len(fields) < 2 || len(fields) > 3 {
		return 0, false
	}
	h, err := strconv.ParseUint(fields[0], 10, 32)
	m, err2 := strconv.ParseUint(fields[1], 10, 31)
	if err != nil || err2 != nil || m > 59 || h > maxHours {
		return 0, false
	}
	micros := int64(h)*microsPerHour + int64(m)*60*microsPerSecond
	if len(fields) == 3 {
		sec, frac, _ := strings.Cut(fields[2], ".")
		n, err := strconv.ParseUint(sec, 10, 31)
		if err != nil || n > 60 || len(frac) > 18 || strings.Trim(frac, "0123456789") != "" {
			return 0, false
		}
		f, _ := strconv.ParseFloat("0."+frac+"0", 64)
		micros += int64(n)*microsPerSecond + int64(math.Round(f*microsPerSecond))
	}
	if neg {
		micros = -micros
	}
	return micros, true
}
