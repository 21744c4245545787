package catalog

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

var timeUnits = unitsOfTime()

func unitsOfTime() map[string]time.Duration {
	units := map[string]time.Duration{}
	for unit, labels := range map[time.Duration]string{
		24 * time.Hour: "d day days", time.Hour: "h hour hours", time.Minute: "min m minute minutes", time.Second: "s sec secs second seconds",
		time.Millisecond: "ms milli millis millisecond milliseconds", time.Microsecond: "µs micro micros microsecond microseconds", time.Nanosecond: "ns nano nanos nanosecond nanoseconds",
	} {
		for l := range strings.FieldsSeq(labels) {
			units[l] = unit
		}
	}
	return units
}

// ParseDuration reads a duration as Flink writes it: a number and a unit, with
// or without blank ("1 h", "30s", "10 min"); without unit it is milliseconds.
func ParseDuration(s string) (time.Duration, error) {
	n, unit, err := numberAndUnit(s)
	if err != nil {
		return 0, err
	}
	d := time.Millisecond
	if unit != "" {
		var ok bool
		if d, ok = timeUnits[unit]; !ok {
			return 0, fmt.Errorf("%q is no unit of time: use d, h, min, s or ms", unit)
		}
	}
	if n > math.MaxInt64/int64(d) {
		return 0, fmt.Errorf("%q is too long", s)
	}
	return time.Duration(n) * d, nil
}

// ParseSize reads a number of bytes as Flink writes it ("128 mb", "1g"); units
// are powers of 1024; without unit it is bytes.
func ParseSize(s string) (int64, error) {
	n, unit, err := numberAndUnit(s)
	if err != nil {
		return 0, err
	}
	var shift int
	switch unit {
	case "", "b", "bytes":
	case "k", "kb", "kibibytes":
		shift = 10
	case "m", "mb", "mebibytes":
		shift = 20
	case "g", "gb", "gibibytes":
		shift = 30
	case "t", "tb", "tebibytes":
		shift = 40
	default:
		return 0, fmt.Errorf("%q is no unit of size: use kb, mb or gb", unit)
	}
	if n > math.MaxInt64>>shift {
		return 0, fmt.Errorf("%q is too large", s)
	}
	return n << shift, nil
}

func numberAndUnit(s string) (int64, string, error) {
	s = strings.TrimSpace(s)
	digits := 0
	for digits < len(s) && s[digits] >= '0' && s[digits] <= '9' {
		digits++
	}
	n, err := strconv.ParseInt(s[:digits], 10, 64)
	if err != nil {
		return 0, "", fmt.Errorf("%q does not begin with a number", s)
	}
	return n, strings.ToLower(strings.TrimSpace(s[digits:])), nil
}
