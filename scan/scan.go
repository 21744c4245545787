package scan

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"dtstore/filestore"
	"dtstore/manifest"
	"dtstore/merge"
	"dtstore/planner"
	"dtstore/table"
)

// Reader reads tables.
type Reader struct {
	files     *filestore.Store
	log       Log
	memory    Memory
	tailBytes int64
}

// Options of a Reader.
type Options struct {
	Files     *filestore.Store
	Log       Log
	Memory    Memory // nil: every tail is read from the log
	TailBytes int64  // of one table's tail read from the log, in memory; 0 means 512 MiB
}

// New makes a Reader.
func New(o Options) *Reader {
	if o.TailBytes == 0 {
		o.TailBytes = 512 << 20
	}
	return &Reader{files: o.Files, log: o.Log, memory: o.Memory, tailBytes: o.TailBytes}
}

// File is a data file for the engine's own reader.
type File struct {
	Path string   // on the local disk; valid until the Scan is closed
	Dead []uint32 // positions of rows that must not be shown, ascending
	Rows int64
}

// Scan is one table as a query sees it: all rows of Files but the dead ones
// and those whose key is in Hide; then Tail; or, if Merged is set, its rows
// alone.
type Scan struct {
	Files  []File
	Tail   []table.Row // rows of the log that are alive
	Hide   []table.Row // rows of the log whose keys hide rows in Files; only key columns are meant
	Merged []Part      // not nil: read these instead, in any order, several at a time if wanted
	Plan   planner.Plan
	close  []func()
}

// Part is rows that are merged here, of one partition and bucket.
type Part struct {
	Rows int64 // physical, at most
	Open func(ctx context.Context) (merge.Iterator, error)
}

// Close lets local files go.
func (s *Scan) Close() {
	for _, f := range s.close {
		f()
	}
	s.close = nil
}

// Open reads a plan's tails and finds out which file rows are dead. fields are
// the columns that the query can use, nil for all of them.
func (r *Reader) Open(ctx context.Context, t Target, p planner.Plan, fields []int) (*Scan, error) {
	s := &Scan{Plan: p}
	if p.Lookups != nil {
		rows, err := r.Lookup(ctx, t, p)
		s.Tail = rows
		return s, err
	}
	tails, err := r.tails(ctx, t, p)
	if err != nil {
		return nil, err
	}
	if finerThanMicros(t.Schema, fields) {
		return s, r.merged(t, p, tails, s)
	}
	keyed, bounded := t.Schema.Keyed(), p.Keys != [2]table.TrimmedKey{}
	for b, tl := range tails {
		hides := keyed && slices.ContainsFunc(p.Splits, func(s planner.Split) bool { return s.Bucket == b })
		if !bounded {
			n := tl.len()
			s.Tail = slices.Grow(s.Tail, n)
			if hides {
				s.Hide = slices.Grow(s.Hide, n)
			}
		}
		for _, c := range tl.changes(keyed) {
			if keyed && bounded && !inKeys(trimmedOf(t.Schema, c), p.Keys) {
				continue
			}
			if hides {
				s.Hide = append(s.Hide, c.Row())
			}
			if !c.Kind.Retract() {
				s.Tail = append(s.Tail, c.Row())
			}
		}
	}
	for _, split := range p.Splits {
		if err := r.native(ctx, t, split, s); err != nil {
			s.Close()
			return nil, err
		}
	}
	return s, nil
}

// finerThanMicros says whether a column is one that the engine would round
// (seam R4), and needed: wanted by the query, or a part of the key, by which
// the tail hides rows of files.
func finerThanMicros(s *table.Schema, fields []int) bool {
	key := s.PrimaryIndexes()
	for i, f := range s.Fields {
		if f.Type.IsTimestamp() && f.Type.Precision > 6 && (fields == nil || slices.Contains(fields, i) || slices.Contains(key, i)) {
			return true
		}
	}
	return false
}

func place(t Target, s planner.Split) filestore.Place {
	return filestore.Place{Path: t.Path, Schema: t.Schema, Partition: s.Partition, Bucket: s.Bucket}
}

// native adds a split's files for the engine: raw, or with a mask.
func (r *Reader) native(ctx context.Context, t Target, split planner.Split, s *Scan) error {
	raw, err := filestore.Raw(t.Schema, split.Runs)
	if err != nil {
		return err
	}
	var mask filestore.Mask
	if !raw {
		if mask, err = r.files.Mask(ctx, place(t, split), split.Runs); err != nil {
			return err
		}
	}
	for _, run := range split.Runs {
		for _, e := range run.Files {
			if split.Skip[e.File.Name] || e.File.Rows == 0 {
				continue
			}
			dead := mask[e.File.Name]
			if int64(len(dead)) == e.File.Rows {
				continue
			}
			path, release, err := r.files.Local(ctx, place(t, split), e)
			if err != nil {
				return err
			}
			s.close = append(s.close, release)
			s.Files = append(s.Files, File{Path: path, Dead: dead, Rows: e.File.Rows})
		}
	}
	return nil
}

// merged makes one part for each partition and bucket, tails included.
func (r *Reader) merged(t Target, p planner.Plan, tails map[table.Bucket]tail, s *Scan) error {
	s.Merged = []Part{}
	runs := map[manifest.Group][]table.KeyValue{}
	for b, tl := range tails {
		for _, c := range tl.changes(t.Schema.Keyed()) {
			g := manifest.Group{Partition: t.Schema.Partition(c.Row()), Bucket: b}
			// Above every sequence number of a file: the tail wins.
			runs[g] = append(runs[g], table.KeyValue{Key: t.Schema.TrimmedKey(c.Row()), Seq: math.MaxInt64/2 + table.Sequence(c.Offset), Kind: c.Kind, Row: c.Row()})
		}
	}
	for _, split := range p.Splits {
		g := manifest.Group{Partition: split.Partition, Bucket: split.Bucket}
		tailRun := runs[g]
		delete(runs, g)
		part := Part{Rows: int64(len(tailRun))}
		for _, run := range split.Runs {
			part.Rows += run.Rows()
		}
		part.Open = func(ctx context.Context) (merge.Iterator, error) { return r.openMerged(ctx, t, p, split, tailRun) }
		s.Merged = append(s.Merged, part)
	}
	for _, rows := range runs {
		s.Merged = append(s.Merged, Part{Rows: int64(len(rows)), Open: func(context.Context) (merge.Iterator, error) {
			return merge.DropRetractions(merge.Slice(rows)), nil
		}})
	}
	return nil
}

func (r *Reader) openMerged(ctx context.Context, t Target, p planner.Plan, split planner.Split, tailRun []table.KeyValue) (merge.Iterator, error) {
	var its []merge.Iterator
	fail := func(err error) (merge.Iterator, error) {
		for _, it := range its {
			err = errors.Join(err, it.Close())
		}
		return nil, err
	}
	opts := filestore.ReadOptions{From: p.Keys[0], To: p.Keys[1], Reuse: true} // a Part's rows are copied by who reads them
	for _, run := range slices.Backward(split.Runs) {                          // oldest first: a tie goes to the younger
		if !t.Schema.Keyed() && len(split.Skip) > 0 {
			run.Files = slices.DeleteFunc(slices.Clone(run.Files), func(e manifest.Entry) bool { return split.Skip[e.File.Name] })
		}
		it, err := r.files.ReadRun(ctx, place(t, split), run, opts)
		if err != nil {
			return fail(err)
		}
		its = append(its, it)
	}
	its = append(its, merge.Slice(tailRun))
	if !t.Schema.Keyed() {
		return merge.DropRetractions(&concat{its: its}), nil
	}
	return merge.DropRetractions(merge.New(its)), nil
}

// concat reads iterators one after another; append tables have no keys to
// merge by.
type concat struct{ its []merge.Iterator }

func (c *concat) Next() (*table.KeyValue, error) {
	for len(c.its) > 0 {
		kv, err := c.its[0].Next()
		if !errors.Is(err, io.EOF) {
			return kv, err
		}
		if err := c.its[0].Close(); err != nil {
			return nil, err
		}
		c.its = c.its[1:]
	}
	return nil, io.EOF
}

func (c *concat) Close() error {
	var errs []error
	for _, it := range c.its {
		errs = append(errs, it.Close())
	}
	c.its = nil
	return errors.Join(errs...)
}

// Lookup finds the rows of a plan's keys: first in the tails, then in the
// files that can hold each key, the newest row winning.
func (r *Reader) Lookup(ctx context.Context, t Target, p planner.Plan) ([]table.Row, error) {
	tails, err := r.tails(ctx, t, p)
	if err != nil {
		return nil, err
	}
	var rows []table.Row
	for _, l := range p.Lookups {
		if tl, ok := tails[t.Schema.BucketOf(l.Row)]; ok {
			if c, ok := tl.newest(l.Key); ok {
				if !c.Kind.Retract() {
					rows = append(rows, c.Row())
				}
				continue
			}
		}
		kv, ok, err := r.lookupFiles(ctx, t, p.Splits, l)
		if err != nil {
			return nil, fmt.Errorf("look up a key of %s: %w", t.Path, err)
		}
		if ok && !kv.Kind.Retract() {
			rows = append(rows, kv.Row)
		}
	}
	return rows, nil
}

// lookupFiles asks the runs, newest first, and stops when no older run can
// hold a newer row: runs of other engines may overlap in sequence numbers.
func (r *Reader) lookupFiles(ctx context.Context, t Target, splits []planner.Split, l planner.Lookup) (best table.KeyValue, found bool, err error) {
	for _, split := range splits {
		if split.Partition != l.Partition {
			continue
		}
		for _, run := range split.Runs {
			for _, e := range run.Files {
				if found && e.File.MaxSeq <= best.Seq {
					continue
				}
				in, err := holds(t.Schema, e, l.Trimmed)
				if err != nil {
					return best, false, err
				}
				if !in {
					continue
				}
				kv, ok, err := r.files.Lookup(ctx, place(t, split), e, l.Trimmed)
				if err != nil {
					return best, false, err
				}
				if ok && (!found || kv.Seq > best.Seq) {
					best, found = kv, true
				}
			}
		}
	}
	return best, found, nil
}

// holds says whether a file's key range has the key.
func holds(s *table.Schema, e manifest.Entry, k table.TrimmedKey) (bool, error) {
	lo, err := s.DecodeBinaryKey(e.File.MinKey)
	if err != nil {
		return false, fmt.Errorf("file %s: %w", e.File.Name, err)
	}
	hi, err := s.DecodeBinaryKey(e.File.MaxKey)
	if err != nil {
		return false, fmt.Errorf("file %s: %w", e.File.Name, err)
	}
	return lo <= k && k <= hi, nil
}
