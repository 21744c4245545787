package session

import (
	"maps"
	"slices"

	"dtstore/sql"
	"dtstore/table"
	"dtstore/wire"
)

func (s *settings) showAll(x *sql.ShowAll) *result {
	var rows []table.Row
	names := slices.Collect(maps.Keys(parameters))
	for n := range s.values {
		if _, ok := parameters[n]; !ok {
			names = append(names, n)
		}
	}
	slices.Sort(names)
	for _, n := range names {
		if x.HasLike && !likes(n, x.Like) {
			continue
		}
		rows = append(rows, table.Row{table.StringOf(shownName(n)), table.StringOf(s.get(n)), table.StringOf(parameters[n].comment)})
	}
	return fixed("SHOW", false, []wire.Column{textColumn("name"), textColumn("setting"), textColumn("description")}, rows)
}

// likes matches SQL's LIKE, in time proportional to the product of the lengths.
func likes(s, pattern string) bool {
	i, j := 0, 0
	star, from := -1, 0 // the last % and where in s it was met
	for i < len(s) {
		c, width := byte(0), 1
		if j < len(pattern) {
			c = pattern[j]
		}
		literal := false
		if c == '\\' && j+1 < len(pattern) {
			c, width, literal = pattern[j+1], 2, true
		}
		switch {
		case j < len(pattern) && c == '%' && !literal:
			star, from = j, i
			j++
		case j < len(pattern) && (c == s[i] || c == '_' && !literal):
			i, j = i+1, j+width
		case star >= 0:
			from++
			i, j = from, star+1
		default:
			return false
		}
	}
	for j < len(pattern) && pattern[j] == '%' {
		j++
	}
	return j == len(pattern)
}
