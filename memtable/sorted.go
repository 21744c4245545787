package memtable

import (
	"sort"

	"dtstore/table"
)

// sorted is entries that came in ascending order: a bulk load's. The first
// ones are in a slice, which grows; the others in chunks, which are never
// moved. A copy of the struct is a fixed state: entries from n on may be
// written meanwhile, those below never change.
type sorted struct {
	first  []entry
	chunks []*[chunkLen]entry
	n      int
}

// chunkLen entries are 20 KB.
const chunkLen = 256

// maxSorted bounds the lists, and so what a look-up must search. Loads that
// begin again at a lower key begin a list; rows in random order soon have
// begun all of them, and go to the tree.
const maxSorted = 4

func (s *sorted) at(i int) *entry {
	if i < chunkLen {
		return &s.first[i]
	}
	i -= chunkLen
	return &s.chunks[i/chunkLen][i%chunkLen]
}

// append adds an entry above all others.
func (s *sorted) append(e entry) {
	if s.n < chunkLen {
		s.first = append(s.first, e)
		s.n++
		return
	}
	if s.n-chunkLen == len(s.chunks)*chunkLen {
		s.chunks = append(s.chunks, new([chunkLen]entry))
	}
	s.n++
	*s.at(s.n - 1) = e
}

// takes says whether an entry goes behind all others.
func (s *sorted) takes(e *entry) bool { return s.n == 0 || less(*s.at(s.n - 1), *e) }

// floor is the greatest entry that is at most e; nil if there is none.
func (s *sorted) floor(e *entry) *entry {
	i := sort.Search(s.n, func(i int) bool { return less(*e, *s.at(i)) })
	if i == 0 {
		return nil
	}
	return s.at(i - 1)
}

// addSorted appends an entry to one of the lists, if it can.
func (t *Table) addSorted(e *entry) bool {
	for i := range t.lists {
		if t.lists[i].takes(e) {
			t.lists[i].append(*e)
			return true
		}
	}
	if len(t.lists) == maxSorted {
		return false
	}
	t.lists = append(t.lists, sorted{})
	t.lists[len(t.lists)-1].append(*e)
	return true
}

// newest is the newest entry of a key below an offset; t.mu is held.
func (t *Table) newest(key table.Key, below table.Offset) (found entry, ok bool) {
	at := entry{key: key, offset: below - 1}
	for i := range t.lists {
		if e := t.lists[i].floor(&at); e != nil && e.key == key && (!ok || e.offset > found.offset) {
			found, ok = *e, true
		}
	}
	if t.tree.Len() == 0 {
		return found, ok
	}
	t.tree.DescendLessOrEqual(at, func(e entry) bool {
		if e.key == key && (!ok || e.offset > found.offset) {
			found, ok = e, true
		}
		return false
	})
	return found, ok
}

// ascend calls yield for all entries of a view, in order, until it says false.
func (v view) ascend(yield func(e *entry) bool) {
	if len(v.lists) == 0 {
		v.tree.Ascend(func(e entry) bool { return yield(&e) })
		return
	}
	// The lists' heads are merged; the tree, if it has anything, leads.
	at := make([]int, len(v.lists))
	least := func() *entry {
		var best *entry
		which := -1
		for i := range v.lists {
			if at[i] == v.lists[i].n {
				continue
			}
			if e := v.lists[i].at(at[i]); best == nil || less(*e, *best) {
				best, which = e, i
			}
		}
		if which >= 0 {
			at[which]++
		}
		return best
	}
	next := least()
	stopped := false
	v.tree.Ascend(func(e entry) bool {
		for next != nil && less(*next, e) {
			if stopped = !yield(next); stopped {
				return false
			}
			next = least()
		}
		stopped = !yield(&e)
		return !stopped
	})
	for ; next != nil && !stopped; next = least() {
		stopped = !yield(next)
	}
}
