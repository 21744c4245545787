package filestore

import (
	"math"
	"strings"
	"unicode/utf8"

	"dtstore/manifest"
	"dtstore/table"
)

// Where bounds of strings are cut, in characters (paimon-format.md 5.4).
const (
	valueStatsChars = 16
	keyStatsChars   = 128
)

// columnStats gathers what a manifest says of one column.
type columnStats struct {
	typ      table.Type
	class    class
	bounded  bool
	seen     bool // a value that is not NULL
	nan      bool
	nulls    int64
	min, max table.Value
}

func newColumnStats(t table.Type) columnStats {
	return columnStats{typ: t, class: classOf(t), bounded: !unbounded(t)}
}

// add takes one value. Strings are kept as they are until settle.
func (c *columnStats) add(v table.Value) {
	if v.IsNull() {
		c.nulls++
		return
	}
	if !c.bounded {
		return
	}
	if c.class == classFloat || c.class == classDouble {
		if f := v.Float(); f != f {
			c.nan = true
			return
		}
	}
	if !c.seen {
		c.seen, c.min, c.max = true, v, v
		return
	}
	switch c.class {
	case classInt32, classInt64, classBool, classMillis, classMicros:
		// Timestamps of up to six digits have no nanoseconds, decimals up to
		// 18 no high half: all of these order as their integer.
		if x := v.Int(); x < c.min.Int() {
			c.min = v
		} else if x > c.max.Int() {
			c.max = v
		}
	default:
		if table.Compare(c.typ, v, c.min) < 0 {
			c.min = v
		} else if table.Compare(c.typ, v, c.max) > 0 {
			c.max = v
		}
	}
}

// settle gives the bounds memory of their own, so that they do not keep the
// pages alive that they came from.
func (c *columnStats) settle() {
	if c.class == classBytes && c.seen {
		c.min, c.max = table.StringOf(strings.Clone(c.min.Str())), table.StringOf(strings.Clone(c.max.Str()))
	}
}

// bounds are the column's smallest and largest value as a manifest has them:
// strings cut to some characters, and no bounds where readers could not use
// them.
func (c *columnStats) bounds(chars int) (lo, hi table.Value) {
	if !c.seen || c.nan {
		return table.Null(), table.Null()
	}
	lo, hi = c.min, c.max
	switch {
	case c.class == classFloat || c.class == classDouble:
		if lo.Float() == 0 {
			lo = table.FloatOf(math.Copysign(0, -1))
		}
		if hi.Float() == 0 {
			hi = table.FloatOf(0)
		}
	case c.typ.IsString():
		max, ok := ceiling(hi.Str(), chars)
		if !ok || !utf8.ValidString(lo.Str()) {
			return table.Null(), table.Null()
		}
		lo, hi = table.StringOf(strings.Clone(prefix(lo.Str(), chars))), table.StringOf(max)
	}
	return lo, hi
}

// prefix is the first n characters of s.
func prefix(s string, n int) string {
	for i := range s {
		if n == 0 {
			return s[:i]
		}
		n--
	}
	return s
}

// ceiling is the least valid text of at most n characters that is not below
// s; ok is false if there is none.
func ceiling(s string, n int) (max string, ok bool) {
	if !utf8.ValidString(s) {
		return "", false
	}
	cut := prefix(s, n)
	if len(cut) == len(s) {
		return strings.Clone(s), true
	}
	r := []rune(cut)
	for i := len(r) - 1; i >= 0; i-- {
		if r[i] == utf8.MaxRune {
			continue
		}
		r[i]++
		if r[i] == 0xd800 {
			r[i] = 0xe000 // there are no characters between
		}
		return string(r[:i+1]), true
	}
	return "", false
}

// statsOf makes a manifest's statistics of the columns that fields names.
func statsOf(cols []columnStats, fields []int, chars int) manifest.Stats {
	types := make([]table.Type, len(fields))
	lo, hi := make(table.Row, len(fields)), make(table.Row, len(fields))
	counts := make([]*int64, len(fields))
	for i, f := range fields {
		c := &cols[f]
		types[i] = c.typ.Nullable()
		lo[i], hi[i] = c.bounds(chars)
		n := c.nulls
		counts[i] = &n
	}
	return manifest.Stats{
		Min:        table.AppendSerialized(nil, types, lo),
		Max:        table.AppendSerialized(nil, types, hi),
		NullCounts: counts,
	}
}
