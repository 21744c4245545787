package planner

import (
	"dtstore/manifest"
	"dtstore/table"
)

// What the property tests compare with plain evaluation.
func FileMayMatch(s *table.Schema, preds []Predicate, f *manifest.File) bool {
	return fileMayMatch(s, preds, f)
}

func KeyRange(s *table.Schema, preds []Predicate) (from, to table.TrimmedKey) {
	r := keys(s, preds)
	return r.from, r.to
}
