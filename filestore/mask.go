package filestore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"dtstore/manifest"
	"dtstore/merge"
	"dtstore/table"
)

// Mask says which physical rows of some files are not rows of the table: by
// file name, the positions from 0 in the file, ascending. A file without dead
// rows is not in it. It is shared: do not modify it.
type Mask map[string][]uint32

// Mask finds the dead rows of a bucket's runs under the merge engine
// deduplicate: every row that another file has a newer one for, and every
// retraction, also one that wins. It reads key columns, and sequence numbers
// and kinds only where they can matter; files whose keys overlap with no
// other's are not merged. All runs of the bucket must be given: leaving out a
// file makes rows live again that it replaced.
//
// The mask of a set of files is kept, as files are immutable.
func (s *Store) Mask(ctx context.Context, p Place, runs []manifest.SortedRun) (Mask, error) {
	if !p.Schema.Keyed() {
		return Mask{}, nil
	}
	secs, files, err := sections(p.Schema, runs)
	if err != nil {
		return nil, err
	}
	id := maskID(p, files)
	if m, ok := s.masks.get(id); ok {
		return m, nil
	}
	m := Mask{}
	for _, sec := range secs {
		if err := s.maskSection(ctx, p, sec, m); err != nil {
			return nil, fmt.Errorf("mask of %s: %w", folder(p), readError(err))
		}
	}
	cost := int64(len(id) + 100)
	for name, dead := range m {
		cost += int64(len(name) + 4*len(dead) + 64)
	}
	s.masks.put(id, m, cost)
	return m, nil
}

// maskID names a set of files: the mask does not depend on their order or
// levels.
func maskID(p Place, files []sectionFile) string {
	names := make([]string, len(files))
	for i, f := range files {
		names[i] = f.entry.File.Name
	}
	slices.Sort(names)
	return folder(p) + "\x00" + strings.Join(names, "\x00")
}

// maskFile is one file of a section.
type maskFile struct {
	entry *manifest.File
	f     *file
	seq   *columnStream // opened when first asked
	dead  []uint32      // rows replaced by newer ones
}

func (s *Store) maskSection(ctx context.Context, p Place, sec []sectionFile, m Mask) (err error) {
	defer guard(&err)
	files := make([]*maskFile, len(sec))
	ranges := make([]merge.Range, len(sec))
	for i, x := range sec {
		files[i] = &maskFile{entry: &x.entry.File}
		ranges[i] = x.keys
		if len(sec) == 1 && x.entry.File.DeleteRows != nil && *x.entry.File.DeleteRows == 0 {
			return nil // nothing to find
		}
		if files[i].f, err = s.open(ctx, p, &x.entry.File); err != nil {
			return err
		}
		if files[i].f.rows() > math.MaxUint32 {
			return fmt.Errorf("file %s has %d rows", x.entry.File.Name, files[i].f.rows())
		}
	}
	if len(sec) > 1 {
		lanes := merge.Pack(ranges)
		byLane := make([][]*maskFile, len(lanes))
		for i, lane := range lanes {
			for _, j := range lane {
				byLane[i] = append(byLane[i], files[j])
			}
		}
		if err := maskMerge(ctx, p.Schema, byLane); err != nil {
			return err
		}
	}
	for _, x := range files {
		gone, err := x.retractions(ctx)
		if err != nil {
			return err
		}
		if dead := union(x.dead, gone); len(dead) > 0 {
			m[x.entry.Name] = dead
		}
	}
	return nil
}

// maskMerge merges lanes of disjoint files by key, with the cheapest
// representation of a key that the columns allow.
func maskMerge(ctx context.Context, s *table.Schema, lanes [][]*maskFile) error {
	keys := s.KeyIndexes()
	if len(keys) == 1 {
		field := s.Fields[keys[0]]
		switch classOf(field.Type) {
		case classInt32, classInt64, classDecimal32, classDecimal64, classMillis, classMicros:
			return mergeLanes(ctx, lanes, func(f *maskFile) (keySource[int64], error) { return newIntKeys(f.f, field) })
		case classBytes:
			return mergeLanes(ctx, lanes, func(f *maskFile) (keySource[string], error) { return newStringKeys(f.f, field) })
		}
	}
	return mergeLanes(ctx, lanes, func(f *maskFile) (keySource[string], error) { return newOrderedKeys(f.f, s) })
}

// keySource gives the keys of a file block by block, io.EOF after the last. A
// block is valid until the next call.
type keySource[K cmp.Ordered] interface {
	next(ctx context.Context) ([]K, error)
}

// lane is a run of disjoint files being read.
type lane[K cmp.Ordered] struct {
	files []*maskFile
	open  func(*maskFile) (keySource[K], error)
	cur   *maskFile
	src   keySource[K]
	keys  []K    // the current block
	at    int    // in it
	base  uint32 // row of the file where it begins
}

// more has a key at l.at, or says that the lane has ended.
func (l *lane[K]) more(ctx context.Context) (bool, error) {
	for l.at >= len(l.keys) {
		if l.src == nil {
			if len(l.files) == 0 {
				return false, nil
			}
			l.cur, l.files = l.files[0], l.files[1:]
			src, err := l.open(l.cur)
			if err != nil {
				return false, fmt.Errorf("file %s: %w", l.cur.entry.Name, err)
			}
			l.src, l.keys, l.at, l.base = src, nil, 0, 0
		}
		l.base += uint32(len(l.keys))
		keys, err := l.src.next(ctx)
		l.keys, l.at = keys, 0
		if errors.Is(err, io.EOF) {
			l.src = nil
			continue
		}
		if err != nil {
			return false, fmt.Errorf("file %s: %w", l.cur.entry.Name, err)
		}
	}
	return true, nil
}

// mergeLanes marks in each file the rows that a newer row replaces.
func mergeLanes[K cmp.Ordered](ctx context.Context, files [][]*maskFile, open func(*maskFile) (keySource[K], error)) error {
	var lanes []*lane[K]
	for _, f := range files {
		l := &lane[K]{files: f, open: open}
		ok, err := l.more(ctx)
		if err != nil {
			return err
		}
		if ok {
			lanes = append(lanes, l)
		}
	}
	// Once one lane is left, nothing can replace what it still has.
	for len(lanes) > 1 {
		// The lane with the smallest key, and the smallest key of the others.
		first, second := 0, -1
		for i := 1; i < len(lanes); i++ {
			k := lanes[i].keys[lanes[i].at]
			switch {
			case k < lanes[first].keys[lanes[first].at]:
				first, second = i, first
			case second < 0 || k < lanes[second].keys[lanes[second].at]:
				second = i
			}
		}
		a := lanes[first]
		bound := lanes[second].keys[lanes[second].at]
		if a.keys[a.at] < bound {
			a.at = gallop(a.keys, a.at, bound)
		} else if err := resolve(ctx, lanes, bound); err != nil {
			return err
		}
		// Lanes move only where their block has ended.
		kept := lanes[:0]
		for _, l := range lanes {
			if l.at >= len(l.keys) {
				ok, err := l.more(ctx)
				if err != nil {
					return err
				}
				if !ok {
					continue
				}
			}
			kept = append(kept, l)
		}
		lanes = kept
	}
	return nil
}

// gallop is the first place from at on whose key is not below bound.
func gallop[K cmp.Ordered](keys []K, at int, bound K) int {
	// Near ones first: runs of a few keys are the rule between updates.
	for end := min(at+8, len(keys)); at < end; at++ {
		if keys[at] >= bound {
			return at
		}
	}
	step := 8
	for at+step < len(keys) && keys[at+step] < bound {
		at += step
		step *= 2
	}
	lo, hi := at, min(at+step, len(keys))
	for lo < hi {
		mid := (lo + hi) / 2
		if keys[mid] < bound {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo
}

// resolve takes the rows with one key off the lanes and marks all but the
// newest dead.
func resolve[K cmp.Ordered](ctx context.Context, lanes []*lane[K], key K) error {
	var best *lane[K]
	for _, l := range lanes {
		if l.keys[l.at] != key {
			continue
		}
		if best == nil {
			best = l
			continue
		}
		newer, err := l.newer(ctx, best)
		if err != nil {
			return err
		}
		loser := l
		if newer {
			loser, best = best, l
		}
		loser.cur.dead = append(loser.cur.dead, loser.base+uint32(loser.at))
	}
	for _, l := range lanes {
		if l.keys[l.at] == key {
			l.at++
		}
	}
	return nil
}

// newer says whether the row of l is newer than that of o. Sequence numbers
// are read only if those of the two files interleave.
func (l *lane[K]) newer(ctx context.Context, o *lane[K]) (bool, error) {
	a, b := l.cur, o.cur
	switch {
	case a.entry.MinSeq > b.entry.MaxSeq:
		return true, nil
	case a.entry.MaxSeq < b.entry.MinSeq:
		return false, nil
	}
	x, err := a.sequence(ctx, l.base+uint32(l.at))
	if err != nil {
		return false, err
	}
	y, err := b.sequence(ctx, o.base+uint32(o.at))
	if err != nil {
		return false, err
	}
	return x > y, nil
}

// sequence is the sequence number of a row; rows are asked for in order.
func (f *maskFile) sequence(ctx context.Context, row uint32) (int64, error) {
	if f.seq == nil {
		s, err := f.f.stream(seqName, table.Type{Kind: table.BigInt, NotNull: true})
		if err != nil {
			return 0, fmt.Errorf("file %s: %w", f.entry.Name, err)
		}
		f.seq = s
	}
	v, err := f.seq.cell(ctx, int64(row))
	if err != nil {
		return 0, fmt.Errorf("file %s: %w", f.entry.Name, err)
	}
	return v.Int(), nil
}

// retractions are the rows of kind -U and -D.
func (f *maskFile) retractions(ctx context.Context) ([]uint32, error) {
	if f.entry.DeleteRows != nil && *f.entry.DeleteRows == 0 {
		return nil, nil
	}
	s, err := f.f.stream(kindName, table.Type{Kind: table.TinyInt, NotNull: true})
	if err != nil {
		return nil, fmt.Errorf("file %s: %w", f.entry.Name, err)
	}
	cells := newCellReader(s.typ, f.f.leaves[s.leaf].elem)
	var out []uint32
	for {
		err := s.next(ctx)
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return nil, fmt.Errorf("file %s: %w", f.entry.Name, err)
		}
		for i := range s.page.n {
			v, err := s.page.cell(cells, i)
			if err != nil {
				return nil, fmt.Errorf("file %s: %w", f.entry.Name, err)
			}
			if table.RowKind(v.Int()).Retract() {
				out = append(out, uint32(s.base)+uint32(i))
			}
		}
	}
}

// union joins two ascending lists.
func union(a, b []uint32) []uint32 {
	switch {
	case len(b) == 0:
		return a
	case len(a) == 0:
		return b
	}
	out := make([]uint32, 0, len(a)+len(b))
	for len(a) > 0 && len(b) > 0 {
		switch {
		case a[0] < b[0]:
			out, a = append(out, a[0]), a[1:]
		case a[0] > b[0]:
			out, b = append(out, b[0]), b[1:]
		default:
			out, a, b = append(out, a[0]), a[1:], b[1:]
		}
	}
	return append(append(out, a...), b...)
}
