package merge

import (
	"cmp"
	"slices"

	"dtstore/table"
)

// Range is the keys a file holds, both ends included.
type Range struct{ Min, Max table.TrimmedKey }

// Sections groups overlapping ranges: no key of one section lies between keys
// of another. Each section has the indexes of its ranges, ordered by (min,
// max), and the sections are in key order.
func Sections(ranges []Range) [][]int {
	order := byMin(ranges)
	var out [][]int
	var end table.TrimmedKey
	for n, i := range order {
		r := ranges[i]
		if n == 0 || r.Min > end {
			out = append(out, nil)
			end = r.Max
		}
		out[len(out)-1] = append(out[len(out)-1], i)
		end = max(end, r.Max)
	}
	return out
}

// Pack puts ranges into the least number of runs: within a run no two ranges
// share a key, and they are in key order. It gives the indexes of each run.
func Pack(ranges []Range) [][]int {
	var runs [][]int
	last := func(r []int) table.TrimmedKey { return ranges[r[len(r)-1]].Max }
	for _, i := range byMin(ranges) {
		best := -1
		for n, r := range runs {
			if last(r) < ranges[i].Min && (best < 0 || last(r) < last(runs[best])) {
				best = n
			}
		}
		if best < 0 {
			runs = append(runs, []int{i})
			continue
		}
		runs[best] = append(runs[best], i)
	}
	return runs
}

func byMin(ranges []Range) []int {
	order := make([]int, len(ranges))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(ranges[a].Min, ranges[b].Min), cmp.Compare(ranges[a].Max, ranges[b].Max))
	})
	return order
}
