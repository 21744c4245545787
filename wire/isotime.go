package wire

import (
	"time"

	"dtstore/table"
)

const microsPerDay = 86_400_000_000

// Dates and timestamps of the years 1 to 9999, which is nearly all there are,
// are read and printed here, without allocation; table has the rest.
const (
	minISODay = -719162 // 0001-01-01
	maxISODay = 2932896 // 9999-12-31
)

// appendDate prints YYYY-MM-DD.
func appendDate(dst []byte, v *table.Value) []byte {
	days := v.Int()
	if days < minISODay || days > maxISODay {
		return table.AppendText(dst, table.Type{Kind: table.Date}, *v, nil)
	}
	return appendDay(dst, days)
}

func appendDay(dst []byte, days int64) []byte {
	y, m, d := table.DateOf(days)
	dst = appendTwo(appendTwo(dst, y/100), y%100)
	dst = appendTwo(append(dst, '-'), m)
	return appendTwo(append(dst, '-'), d)
}

func appendTwo(dst []byte, n int) []byte { return append(dst, byte('0'+n/10), byte('0'+n%10)) }

// appendTimestamp prints YYYY-MM-DD HH:MM:SS[.fraction], with the offset from
// UTC if it is of the type with time zone.
func appendTimestamp(dst []byte, v *table.Value, zoned bool, loc *time.Location) []byte {
	micros := v.Micros()
	days := micros / microsPerDay
	rest := micros - days*microsPerDay
	if rest < 0 {
		rest, days = rest+microsPerDay, days-1
	}
	if days < minISODay || days > maxISODay || v.Nanos() != 0 || zoned && loc != nil && loc != time.UTC {
		kind := table.Timestamp
		if zoned {
			kind = table.TimestampLTZ
		}
		return table.AppendText(dst, table.Type{Kind: kind}, *v, loc)
	}
	dst = appendDay(dst, days)
	secs, frac := int(rest/1_000_000), int(rest%1_000_000)
	dst = appendTwo(append(dst, ' '), secs/3600)
	dst = appendTwo(append(dst, ':'), secs/60%60)
	dst = appendTwo(append(dst, ':'), secs%60)
	if frac != 0 {
		dst = append(dst, '.')
		dst = appendTwo(appendTwo(appendTwo(dst, frac/10000), frac/100%100), frac%100)
		for dst[len(dst)-1] == '0' {
			dst = dst[:len(dst)-1]
		}
	}
	if zoned {
		dst = append(dst, "+00"...)
	}
	return dst
}

// isoDate reads the date at the start of b, YYYY-MM-DD, if it is one.
func isoDate(b []byte) (days int64, ok bool) {
	if len(b) < 10 || b[4] != '-' || b[7] != '-' {
		return 0, false
	}
	y, ok1 := four(b)
	m, ok2 := two(b[5:])
	d, ok3 := two(b[8:])
	if !ok1 || !ok2 || !ok3 || y == 0 || m < 1 || m > 12 || d < 1 || d > 28 && d > monthDays(y, m) {
		return 0, false
	}
	return table.DaysOf(y, m, d), true
}

// isoTimestamp reads YYYY-MM-DD HH:MM:SS with up to six digits of fraction.
func isoTimestamp(b []byte) (micros int64, ok bool) {
	days, ok := isoDate(b)
	if !ok || len(b) < 19 || len(b) == 20 || len(b) > 26 || b[10] != ' ' && b[10] != 'T' || b[13] != ':' || b[16] != ':' {
		return 0, false
	}
	h, ok1 := two(b[11:])
	m, ok2 := two(b[14:])
	s, ok3 := two(b[17:])
	if !ok1 || !ok2 || !ok3 || h > 23 || m > 59 || s > 59 {
		return 0, false
	}
	frac := int64(0)
	if len(b) > 19 {
		if b[19] != '.' {
			return 0, false
		}
		for i := 20; i < 26; i++ {
			frac *= 10
			if i < len(b) {
				d := b[i] - '0'
				if d > 9 {
					return 0, false
				}
				frac += int64(d)
			}
		}
	}
	return days*microsPerDay + int64(h*3600+m*60+s)*1_000_000 + frac, true
}

func two(b []byte) (int, bool) {
	hi, lo := b[0]-'0', b[1]-'0'
	return int(hi)*10 + int(lo), hi <= 9 && lo <= 9
}

func four(b []byte) (int, bool) {
	hi, ok1 := two(b)
	lo, ok2 := two(b[2:])
	return hi*100 + lo, ok1 && ok2
}

func monthDays(y, m int) int {
	switch m {
	case 2:
		if y%4 == 0 && (y%100 != 0 || y%400 == 0) {
			return 29
		}
		return 28
	case 4, 6, 9, 11:
		return 30
	}
	return 31
}
