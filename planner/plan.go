package planner

import (
	"cmp"
	"fmt"
	"slices"

	"dtstore/manifest"
	"dtstore/table"
)

// Split is one LSM of a plan: a bucket of one partition.
type Split struct {
	Partition table.Partition
	Bucket    table.Bucket
	Runs      []manifest.SortedRun // newest first: what the mask must see
	Skip      map[string]bool      // by file name: its rows cannot be wanted, though they may hide others
}

// Files counts the files of a split whose rows are read.
func (s Split) Files() int {
	n := 0
	for _, r := range s.Runs {
		n += len(r.Files)
	}
	return n - len(s.Skip)
}

// Tail is a span of one bucket's log that the snapshot does not cover.
type Tail struct {
	Bucket table.Bucket
	Span   table.Span
}

// Lookup is one whole primary key.
type Lookup struct {
	Row       table.Row // NULL but for the key columns
	Key       table.Key
	Trimmed   table.TrimmedKey
	Partition table.Partition
}

// Covered says where a bucket's tail begins.
type Covered = map[table.Bucket]table.Offset

// Request is what is asked of one table.
type Request struct {
	Schema     *table.Schema
	Predicates []Predicate
	Covered    Covered        // by the snapshot; a bucket that is absent is covered up to 0
	Horizon    []table.Offset // by bucket: where the query stops reading; nil reads files only
}

// Plan is what to read of one table.
type Plan struct {
	Splits  []Split
	Tails   []Tail
	Lookups []Lookup // the only keys that can be wanted; nil if not known
	Keys    [2]table.TrimmedKey
	Files   int   // data files read, for EXPLAIN
	Rows    int64 // physical rows in them
}

// lookupLimit bounds the keys that are looked up one by one; more of them are
// cheaper to scan for.
const lookupLimit = 100

// Filter says which entries of a snapshot a request can need. Package snapshot
// asks it while it folds manifests.
type Filter struct {
	parts  partitions
	bucket func(table.Bucket, int) bool
}

// NewFilter makes the filter of a request.
func NewFilter(r Request) Filter {
	return Filter{parts: newPartitions(r.Schema, r.Predicates), bucket: buckets(r.Schema, r.Predicates)}
}

// Manifest says whether a manifest with these partition bounds can hold wanted
// entries.
func (f Filter) Manifest(st manifest.Stats) bool { return f.parts.matchStats(st) }

// Partition says whether rows of the partition can be wanted.
func (f Filter) Partition(p table.Partition) bool { return f.parts.match(p) }

// Bucket says whether a bucket, of so many when its file was written, can hold
// wanted rows.
func (f Filter) Bucket(b table.Bucket, total int) bool {
	return f.bucket == nil || f.bucket(b, total)
}

// Make plans a request over the live entries of a snapshot (those that the
// request's Filter lets pass, or more).
func Make(r Request, live []manifest.Entry) (Plan, error) {
	f := NewFilter(r)
	p := Plan{}
	kr := keys(r.Schema, r.Predicates)
	p.Keys = [2]table.TrimmedKey{kr.from, kr.to}
	groups := map[manifest.Group][]manifest.Entry{}
	seen := map[table.Partition]bool{}
	for _, e := range live {
		wanted, ok := seen[e.Partition]
		if !ok {
			wanted = f.Partition(e.Partition)
			seen[e.Partition] = wanted
		}
		if !wanted || !f.Bucket(e.Bucket, e.TotalBuckets) {
			continue
		}
		in, err := inRange(r.Schema, kr, &e.File)
		if err != nil {
			return Plan{}, err
		}
		if in {
			groups[e.Group()] = append(groups[e.Group()], e)
		}
	}
	for g, entries := range groups {
		s, err := split(r, g, entries)
		if err != nil {
			return Plan{}, err
		}
		p.Splits = append(p.Splits, s)
		p.Files += s.Files()
		for _, run := range s.Runs {
			for _, e := range run.Files {
				if !s.Skip[e.File.Name] {
					p.Rows += e.File.Rows
				}
			}
		}
	}
	slices.SortFunc(p.Splits, func(a, b Split) int {
		return cmp.Or(cmp.Compare(a.Partition, b.Partition), cmp.Compare(a.Bucket, b.Bucket))
	})
	p.Tails = tails(r, f)
	p.Lookups = lookups(r.Schema, r.Predicates)
	return p, nil
}

// inRange says whether a file's keys can be in the range. Such a file may be
// left out of the mask too: no key outside it matters.
func inRange(s *table.Schema, kr keyRange, f *manifest.File) (bool, error) {
	if !s.Keyed() || kr == (keyRange{}) {
		return true, nil
	}
	lo, err := s.DecodeBinaryKey(f.MinKey)
	if err != nil {
		return false, fmt.Errorf("file %s: %w", f.Name, err)
	}
	hi, err := s.DecodeBinaryKey(f.MaxKey)
	if err != nil {
		return false, fmt.Errorf("file %s: %w", f.Name, err)
	}
	return hi >= kr.from && (kr.to == "" || lo < kr.to), nil
}

func split(r Request, g manifest.Group, entries []manifest.Entry) (Split, error) {
	s := Split{Partition: g.Partition, Bucket: g.Bucket}
	var err error
	if s.Runs, err = manifest.Runs(r.Schema, entries); err != nil {
		return Split{}, err
	}
	for i := range entries {
		if f := &entries[i].File; !fileMayMatch(r.Schema, r.Predicates, f) {
			if s.Skip == nil {
				s.Skip = map[string]bool{}
			}
			s.Skip[f.Name] = true
		}
	}
	return s, nil
}

func tails(r Request, f Filter) []Tail {
	var out []Tail
	for b, end := range r.Horizon {
		t := Tail{Bucket: table.Bucket(b), Span: table.Span{From: r.Covered[table.Bucket(b)], To: end}}
		if !t.Span.Empty() && f.Bucket(t.Bucket, len(r.Horizon)) {
			out = append(out, t)
		}
	}
	return out
}

// lookups names the keys, if the predicates leave only few.
func lookups(s *table.Schema, preds []Predicate) []Lookup {
	if !s.Keyed() {
		return nil
	}
	rows, ok := tuples(s, s.PrimaryIndexes(), preds, lookupLimit)
	if !ok {
		return nil
	}
	seen := map[table.Key]bool{}
	out := []Lookup{}
	for _, row := range rows {
		k := s.Key(row)
		if seen[k] {
			continue
		}
		seen[k] = true
		out = append(out, Lookup{Row: row, Key: k, Trimmed: s.TrimmedKey(row), Partition: s.Partition(row)})
	}
	return out
}
