package manifest

import (
	"cmp"
	"fmt"
	"slices"

	"dtstore/table"
)

// SortedRun is a set of files of one group without overlapping keys: any one file of level 0,
// or all files of a level ≥ 1.
type SortedRun struct {
	Level int
	Files []Entry // by min key; disjoint
}

// Size returns the bytes of the run's files.
func (r SortedRun) Size() int64 {
	var n int64
	for i := range r.Files {
		n += r.Files[i].File.Size
	}
	return n
}

// Rows returns the rows of the run's files, retractions included.
func (r SortedRun) Rows() int64 {
	var n int64
	for i := range r.Files {
		n += r.Files[i].File.Rows
	}
	return n
}

// Runs arranges the live files of one group, newest first (paimon-format 8): each file of level
// 0, the larger sequence first; then level 1, 2, … as one run each. Files of a level ≥ 1 that
// overlap by key are an error (invariant 5), as is a file whose min key is above its max key.
//
// In an append table there are no keys: files of a level ≥ 1 make one run in sequence order.
func Runs(s *table.Schema, live []Entry) ([]SortedRun, error) {
	if len(live) == 0 {
		return nil, nil
	}
	group := live[0].Group()
	var zero []Entry
	levels := map[int][]Entry{}
	for i := range live {
		e := live[i]
		if e.Kind != Add || e.Group() != group {
			return nil, fmt.Errorf("sorted runs of bucket %d: file %s (%v, bucket %d) is not a live file of it", group.Bucket, e.File.Name, e.Kind, e.Bucket)
		}
		if e.File.Level == 0 {
			zero = append(zero, e)
		} else {
			levels[e.File.Level] = append(levels[e.File.Level], e)
		}
	}
	slices.SortFunc(zero, newestFirst)
	runs := make([]SortedRun, 0, len(zero)+len(levels))
	for i := range zero {
		runs = append(runs, SortedRun{0, zero[i : i+1 : i+1]})
	}
	for _, level := range sortedKeys(levels) {
		files, err := disjoint(s, levels[level])
		if err != nil {
			return nil, fmt.Errorf("bucket %d level %d: %w", group.Bucket, level, err)
		}
		runs = append(runs, SortedRun{level, files})
	}
	return runs, nil
}

func sortedKeys[V any](m map[int]V) []int {
	keys := make([]int, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// newestFirst orders files of level 0: larger max sequence, then larger min sequence, then
// younger, then greater name.
func newestFirst(a, b Entry) int {
	return cmp.Or(
		cmp.Compare(b.File.MaxSeq, a.File.MaxSeq),
		cmp.Compare(b.File.MinSeq, a.File.MinSeq),
		cmp.Compare(value(b.File.CreationMillis), value(a.File.CreationMillis)),
		cmp.Compare(b.File.Name, a.File.Name),
	)
}

func value(p *int64) int64 {
	if p == nil {
		return 0
	}
	return *p
}

// disjoint returns files by min key, or says which two overlap.
func disjoint(s *table.Schema, files []Entry) ([]Entry, error) {
	if !s.Keyed() {
		files = slices.Clone(files)
		slices.SortFunc(files, func(a, b Entry) int {
			return cmp.Or(cmp.Compare(a.File.MinSeq, b.File.MinSeq), cmp.Compare(a.File.Name, b.File.Name))
		})
		return files, nil
	}
	type span struct {
		min, max table.TrimmedKey
		file     Entry
	}
	spans := make([]span, len(files))
	for i, e := range files {
		lo, err := s.DecodeBinaryKey(e.File.MinKey)
		if err != nil {
			return nil, fmt.Errorf("min key of file %s: %w", e.File.Name, err)
		}
		hi, err := s.DecodeBinaryKey(e.File.MaxKey)
		if err != nil {
			return nil, fmt.Errorf("max key of file %s: %w", e.File.Name, err)
		}
		if lo > hi {
			return nil, fmt.Errorf("min key of file %s is above its max key", e.File.Name)
		}
		spans[i] = span{lo, hi, e}
	}
	slices.SortFunc(spans, func(a, b span) int { return cmp.Compare(a.min, b.min) })
	out := make([]Entry, len(spans))
	for i := range spans {
		if i > 0 && spans[i].min <= spans[i-1].max {
			return nil, fmt.Errorf("files %s and %s overlap", spans[i-1].file.File.Name, spans[i].file.File.Name)
		}
		out[i] = spans[i].file
	}
	return out, nil
}
