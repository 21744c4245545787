package exec

import (
	"regexp"
	"strings"

	"dtstore/table"
)

// DuckDB's DATE takes the beginning of a text and forgets the rest:
// '2024-01-01x' and '0044-03-15 BC' would be other days without a word.

var (
	likeDate  = regexp.MustCompile(`^\s*[0-9]{1,7}[-/][0-9]{1,2}[-/][0-9]{1,2}`)
	cleanDate = regexp.MustCompile(`^\s*[0-9]{1,7}[-/][0-9]{1,2}[-/][0-9]{1,2}(?:\s*\(BC\))?(?:(?:T|\s+)[0-9]{1,2}:[0-9]{1,2}(?::[0-9]{1,2}(?:\.[0-9]*)?)?\s*(?:[+-][0-9:]+|[A-Za-z_]+(?:/[A-Za-z_/+-]+)?)?)?\s*$`)
	beforeBC  = regexp.MustCompile(`(?i)^(\s*[0-9]{1,7}[-/][0-9]{1,2}[-/][0-9]{1,2})(.*?)\s+BC\s*$`)
)

// duckDate is a date or timestamp as DuckDB reads it, if the text is like one
// and DuckDB would misread it. bad: it is none.
func duckDate(s string) (duck string, odd, bad bool) {
	if !likeDate.MatchString(s) {
		return "", false, false
	}
	if m := beforeBC.FindStringSubmatch(s); m != nil {
		duck = m[1] + " (BC)" + m[2]
		return duck, true, !cleanDate.MatchString(duck)
	}
	return "", !cleanDate.MatchString(s), true
}

func badDate(s string) *table.Error {
	return table.Errorf("22007", "invalid input syntax for type date: \"%s\"", s)
}

// fixDateCast puts a constant right that is cast to a date or timestamp.
func (w *walker) fixDateCast(child node, l Literal) {
	if l.Kind != StringLiteral || l.Type != "" || l.Param != 0 {
		return
	}
	switch duck, odd, bad := duckDate(l.Text); {
	case odd && bad:
		w.fail(badDate(l.Text), pos(child))
	case odd:
		sub(child, "value")["value"] = duck
	}
}

// datesAmong puts such constants right beside expressions that are dates or
// timestamps; beside a text they stay what they are.
func (w *walker) datesAmong(list []any) {
	var other node
	for _, v := range list {
		n, ok := v.(node)
		if _, literal := literalOf(n); ok && !literal && other == nil {
			other = n
		}
	}
	if other == nil || holdsAggregate(other) || holds(other, "SUBQUERY") {
		return
	}
	for i, v := range list {
		n, _ := v.(node)
		l, ok := literalOf(n)
		if !ok || l.Kind != StringLiteral || l.Type != "" || l.Param != 0 {
			continue
		}
		duck, odd, bad := duckDate(l.Text)
		if !odd {
			continue
		}
		right := text(duck)
		if bad {
			right = call("error", text(markCode("22007", strings.ReplaceAll(badDate(l.Text).Message, "\n", " "))))
		}
		list[i] = call("dt_day", n, copyTree(other), right)
	}
}
