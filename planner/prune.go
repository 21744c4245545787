package planner

import (
	"slices"

	"dtstore/manifest"
	"dtstore/table"
)

// ordered encodings of a value begin with 0 (NULL) or 1, so this byte is above
// every key that goes on from a prefix.
const above = "\x02"

// keyRange is the trimmed keys that the predicates leave: [from, to), where ""
// as to means no end.
type keyRange struct{ from, to table.TrimmedKey }

// keys derives the range from predicates on leading key columns: equalities,
// then at most one column's range.
func keys(s *table.Schema, preds []Predicate) keyRange {
	for i, field := range s.KeyIndexes() {
		t := s.KeyTypes()[i]
		lo, hi, point := columnRange(t, field, preds)
		if point {
			prefix := append(keyPrefix(s, i, preds), lo...)
			if i+1 == len(s.KeyIndexes()) {
				return keyRange{table.TrimmedKey(prefix), table.TrimmedKey(append(prefix, above...))}
			}
			continue
		}
		head := keyPrefix(s, i, preds)
		r := keyRange{from: table.TrimmedKey(append(slices.Clone(head), lo...))}
		switch {
		case hi != nil:
			r.to = table.TrimmedKey(append(slices.Clone(head), hi...))
		case len(head) > 0:
			r.to = table.TrimmedKey(append(slices.Clone(head), above...))
		}
		return r
	}
	return keyRange{}
}

// keyPrefix is the encoding of the first n key columns, all of them points.
func keyPrefix(s *table.Schema, n int, preds []Predicate) []byte {
	var b []byte
	for i, field := range s.KeyIndexes()[:n] {
		lo, _, _ := columnRange(s.KeyTypes()[i], field, preds)
		b = append(b, lo...)
	}
	return b
}

// columnRange is the ordered encodings [lo, hi) that the predicates on a field
// leave; hi nil means no end. point: exactly one value is left, encoded in lo.
func columnRange(t table.Type, field int, preds []Predicate) (lo, hi []byte, point bool) {
	float := t.Kind == table.Float || t.Kind == table.Double
	enc := func(v table.Value) []byte { return table.AppendOrdered(nil, t, v) }
	raise := func(b []byte) {
		if string(b) > string(lo) {
			lo = b
		}
	}
	lower := func(b []byte) {
		if hi == nil || string(b) < string(hi) {
			hi = b
		}
	}
	for _, p := range preds {
		if p.Field != field || float && hasZero(p.Args) {
			continue // -0.0 and 0.0 are one number and two keys
		}
		switch p.Op {
		case Equal:
			raise(enc(p.Args[0]))
			lower(append(enc(p.Args[0]), above...))
			point = true
		case Less:
			lower(enc(p.Args[0]))
		case LessEqual:
			lower(append(enc(p.Args[0]), above...))
		case Greater:
			raise(append(enc(p.Args[0]), above...))
		case GreaterEqual:
			raise(enc(p.Args[0]))
		case Between:
			raise(enc(p.Args[0]))
			lower(append(enc(p.Args[1]), above...))
		case In:
			if len(p.Args) > 0 {
				least, most := p.Args[0], p.Args[0]
				for _, v := range p.Args[1:] {
					if table.Compare(t, v, least) < 0 {
						least = v
					}
					if table.Compare(t, v, most) > 0 {
						most = v
					}
				}
				raise(enc(least))
				lower(append(enc(most), above...))
			}
		}
	}
	return lo, hi, point && string(hi) == string(lo)+above
}

func hasZero(vs []table.Value) bool {
	for _, v := range vs {
		if v.Float() == 0 {
			return true
		}
	}
	return false
}

// points gives the values that a field can have: those of an Equal or In
// predicate; false if no predicate names them.
func points(field int, preds []Predicate) ([]table.Value, bool) {
	var best []table.Value
	found := false
	for _, p := range preds {
		if p.Field == field && (p.Op == Equal || p.Op == In) && (!found || len(p.Args) < len(best)) {
			best, found = p.Args, true
		}
	}
	return best, found
}

// tuples is the product of the values that the fields can have, at most limit;
// false if a field is not named by a predicate or there are more.
func tuples(s *table.Schema, fields []int, preds []Predicate, limit int) ([]table.Row, bool) {
	out := []table.Row{make(table.Row, len(s.Fields))}
	for _, f := range fields {
		vs, ok := points(f, preds)
		if t := s.Fields[f].Type; (t.Kind == table.Float || t.Kind == table.Double) && hasZero(vs) {
			return nil, false
		}
		if !ok || len(vs)*len(out) > limit {
			return nil, false
		}
		next := make([]table.Row, 0, len(vs)*len(out))
		for _, row := range out {
			for _, v := range vs {
				r := slices.Clone(row)
				r[f] = v
				next = append(next, r)
			}
		}
		out = next
	}
	return out, true
}

// bucketLimit bounds the products of IN lists that bucket pruning tries.
const bucketLimit = 256

// buckets says which buckets can hold rows, for any bucket count: nil if all.
func buckets(s *table.Schema, preds []Predicate) func(b table.Bucket, total int) bool {
	if len(s.BucketKeyIndexes()) == 0 {
		return nil
	}
	rows, ok := tuples(s, s.BucketKeyIndexes(), preds, bucketLimit)
	if !ok {
		return nil
	}
	types := make([]table.Type, 0, 4)
	for _, f := range s.BucketKeyIndexes() {
		types = append(types, s.Fields[f].Type)
	}
	hashes := make([]int32, len(rows))
	for i, row := range rows {
		key := make(table.Row, 0, len(types))
		for _, f := range s.BucketKeyIndexes() {
			key = append(key, row[f])
		}
		hashes[i] = table.Hash(table.AppendBinaryRow(nil, types, key))
	}
	return func(b table.Bucket, total int) bool {
		if total < 1 {
			return true
		}
		for _, h := range hashes {
			if table.BucketOfHash(h, total) == b {
				return true
			}
		}
		return false
	}
}

// partitions evaluates the predicates on partition columns.
type partitions struct {
	s     *table.Schema
	preds []Predicate // on partition columns, Field rewritten to the column's place among them
}

func newPartitions(s *table.Schema, preds []Predicate) partitions {
	ps := partitions{s: s}
	for _, p := range preds {
		if i := slices.Index(s.PartitionIndexes(), p.Field); i >= 0 {
			p.Field = i
			ps.preds = append(ps.preds, p)
		}
	}
	return ps
}

// match says whether rows of a partition can be wanted. A partition that
// cannot be decoded is kept: reading it will say why.
func (ps partitions) match(part table.Partition) bool {
	if len(ps.preds) == 0 {
		return true
	}
	row, err := ps.s.PartitionRow(part)
	if err != nil {
		return true
	}
	for _, p := range ps.preds {
		if !p.Matches(ps.s.PartitionTypes()[p.Field], row[p.Field]) {
			return false
		}
	}
	return true
}

// matchStats says whether a manifest with these partition bounds can hold
// entries of wanted partitions.
func (ps partitions) matchStats(st manifest.Stats) bool {
	if len(ps.preds) == 0 {
		return true
	}
	lo, err1 := table.DecodeSerialized(ps.s.PartitionTypes(), st.Min)
	hi, err2 := table.DecodeSerialized(ps.s.PartitionTypes(), st.Max)
	if err1 != nil || err2 != nil {
		return true
	}
	for _, p := range ps.preds {
		b := bounds{min: lo[p.Field], max: hi[p.Field], nulls: -1, rows: 1}
		if p.Field < len(st.NullCounts) && st.NullCounts[p.Field] != nil && *st.NullCounts[p.Field] == 0 {
			b.nulls = 0
		}
		if !p.mayMatch(ps.s.PartitionTypes()[p.Field], b) {
			return false
		}
	}
	return true
}

// fileStats evaluates predicates on the value statistics of one file.
func fileMayMatch(s *table.Schema, preds []Predicate, f *manifest.File) bool {
	if len(preds) == 0 {
		return true
	}
	place := statsPlaces(s, f)
	types := make([]table.Type, 0, len(s.Fields))
	if f.ValueStatsCols == nil {
		types = append(types, s.Types()...)
	} else {
		for _, name := range f.ValueStatsCols {
			i := s.Index(name)
			if i < 0 {
				return true
			}
			types = append(types, s.Fields[i].Type)
		}
	}
	lo, err1 := table.DecodeSerialized(types, f.ValueStats.Min)
	hi, err2 := table.DecodeSerialized(types, f.ValueStats.Max)
	if err1 != nil || err2 != nil {
		return true
	}
	for _, p := range preds {
		at := place(p.Field)
		if at < 0 || types[at].IsBinary() {
			continue // no bounds: other engines compare bytes as signed
		}
		b := bounds{min: lo[at], max: hi[at], nulls: -1, rows: f.Rows}
		if at < len(f.ValueStats.NullCounts) && f.ValueStats.NullCounts[at] != nil {
			b.nulls = *f.ValueStats.NullCounts[at]
		}
		if !p.mayMatch(types[at], b) {
			return false
		}
	}
	return true
}

// statsPlaces maps a field to its place in the file's value statistics, -1 if
// it has none.
func statsPlaces(s *table.Schema, f *manifest.File) func(field int) int {
	if f.ValueStatsCols == nil {
		return func(field int) int { return field }
	}
	return func(field int) int { return slices.Index(f.ValueStatsCols, s.Fields[field].Name) }
}
