package compaction

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"dtstore/filestore"
	"dtstore/manifest"
	"dtstore/merge"
	"dtstore/table"
)

// Result is what a COMPACT commit does: new files in, old files out. A file
// that only moves to another level is in both.
type Result struct {
	Add    []manifest.Entry
	Remove []manifest.Entry
}

// Rows and bytes that were read and written, for people.
func (r Result) Rows() (before, after int64) {
	for _, e := range r.Remove {
		before += e.File.Rows
	}
	for _, e := range r.Add {
		after += e.File.Rows
	}
	return before, after
}

// sourceCompact is _FILE_SOURCE of files that a compaction wrote.
const sourceCompact = 1

// Run does a unit. The files that it wrote are durable when it returns; if it
// fails, what it wrote so far is left to the sweep.
func Run(ctx context.Context, files *filestore.Store, place filestore.Place, u Unit, targetBytes int64) (Result, error) {
	if !place.Schema.Keyed() {
		return join(ctx, files, place, u)
	}
	ps, err := pieces(place.Schema, u, targetBytes)
	if err != nil {
		return Result{}, err
	}
	var res Result
	for i := 0; i < len(ps); {
		if p := ps[i]; !p.rewrite {
			if e := p.files[0]; e.File.Level != u.Output {
				moved := e
				moved.File.Level = u.Output
				res.Remove, res.Add = append(res.Remove, removal(e)), append(res.Add, moved)
			}
			i++
			continue
		}
		j := i
		for j < len(ps) && ps[j].rewrite {
			for _, e := range ps[j].files {
				res.Remove = append(res.Remove, removal(e))
			}
			j++
		}
		written, err := rewrite(ctx, files, place, u, ps[i:j])
		if err != nil {
			return Result{}, fmt.Errorf("compact bucket %d to level %d: %w", place.Bucket, u.Output, err)
		}
		res.Add = append(res.Add, written...)
		i = j
	}
	return res, nil
}

func removal(e manifest.Entry) manifest.Entry {
	e.Kind = manifest.Delete
	return e
}

// piece is a section of the unit's files: they overlap each other and no file
// of another piece.
type piece struct {
	files   []manifest.Entry // oldest run first
	rewrite bool             // else the one file moves as it is
}

// pieces cuts the unit into sections, in key order, and decides which files
// can move to the output level as they are: a file that overlaps no other, is
// not small (or has no neighbour to be written together with), and needs no
// retraction dropped.
func pieces(s *table.Schema, u Unit, targetBytes int64) ([]piece, error) {
	var all []manifest.Entry
	for _, r := range slices.Backward(u.Runs) {
		all = append(all, r.Files...)
	}
	ranges := make([]merge.Range, len(all))
	for i, e := range all {
		lo, err := s.DecodeBinaryKey(e.File.MinKey)
		if err != nil {
			return nil, fmt.Errorf("file %s: %w", e.File.Name, err)
		}
		hi, err := s.DecodeBinaryKey(e.File.MaxKey)
		if err != nil {
			return nil, fmt.Errorf("file %s: %w", e.File.Name, err)
		}
		ranges[i] = merge.Range{Min: lo, Max: hi}
	}
	var ps []piece
	for _, section := range merge.Sections(ranges) {
		slices.Sort(section) // back to age order: on equal sequences the newer run wins
		p := piece{rewrite: len(section) > 1}
		for _, i := range section {
			p.files = append(p.files, all[i])
		}
		if f := p.files[0].File; !p.rewrite {
			small := f.Size*10 < targetBytes*7
			p.rewrite = small || u.DropRetractions && mayRetract(f)
		}
		ps = append(ps, p)
	}
	for i := range ps {
		alone := (i == 0 || !ps[i-1].rewrite) && (i+1 == len(ps) || !ps[i+1].rewrite)
		if p := &ps[i]; p.rewrite && alone && len(p.files) == 1 && !(u.DropRetractions && mayRetract(p.files[0].File)) {
			p.rewrite = false
		}
	}
	return ps, nil
}

// rewrite merges neighbouring pieces into new files of the output level.
func rewrite(ctx context.Context, files *filestore.Store, place filestore.Place, u Unit, ps []piece) ([]manifest.Entry, error) {
	it := &chain{open: func(i int) (merge.Iterator, error) {
		if i == len(ps) {
			return nil, io.EOF
		}
		return openAll(ctx, files, place, ps[i].files)
	}}
	var rows merge.Iterator = it
	if u.DropRetractions {
		rows = merge.DropRetractions(it)
	}
	written, err := files.WriteRun(ctx, place, u.Output, sourceCompact, rows)
	return written, errors.Join(err, it.Close())
}

func openAll(ctx context.Context, files *filestore.Store, place filestore.Place, entries []manifest.Entry) (merge.Iterator, error) {
	var its []merge.Iterator
	for _, e := range entries {
		it, err := files.ReadFile(ctx, place, e, filestore.ReadOptions{Reuse: true})
		if err != nil {
			for _, it := range its {
				err = errors.Join(err, it.Close())
			}
			return nil, err
		}
		its = append(its, it)
	}
	return merge.New(its), nil
}

// chain reads iterators one after another, each opened when the one before
// has ended: a compaction has the files of one section open at a time.
type chain struct {
	open func(i int) (merge.Iterator, error) // io.EOF after the last
	next int
	cur  merge.Iterator
}

func (c *chain) Next() (*table.KeyValue, error) {
	for {
		if c.cur == nil {
			cur, err := c.open(c.next)
			if err != nil {
				return nil, err
			}
			c.cur, c.next = cur, c.next+1
		}
		kv, err := c.cur.Next()
		if !errors.Is(err, io.EOF) {
			return kv, err
		}
		if err := c.Close(); err != nil {
			return nil, err
		}
	}
}

func (c *chain) Close() error {
	if c.cur == nil {
		return nil
	}
	cur := c.cur
	c.cur = nil
	return cur.Close()
}

// inOrder is the files of runs in the order of their rows.
func inOrder(runs []manifest.SortedRun) []manifest.Entry {
	var all []manifest.Entry
	for _, r := range runs {
		all = append(all, r.Files...)
	}
	slices.SortStableFunc(all, func(a, b manifest.Entry) int {
		return cmp.Or(cmp.Compare(a.File.MinSeq, b.File.MinSeq), cmp.Compare(a.File.Name, b.File.Name))
	})
	return all
}

// join writes the files of an append table's unit as one run. Rows keep their
// order, and are numbered on from their file's first sequence number, as the
// format has it.
func join(ctx context.Context, files *filestore.Store, place filestore.Place, u Unit) (Result, error) {
	entries := inOrder(u.Runs)
	it := &chain{open: func(i int) (merge.Iterator, error) {
		if i == len(entries) {
			return nil, io.EOF
		}
		rows, err := files.ReadFile(ctx, place, entries[i], filestore.ReadOptions{Reuse: true})
		if err != nil {
			return nil, err
		}
		return &numbered{Iterator: rows, next: entries[i].File.MinSeq}, nil
	}}
	written, err := files.WriteRun(ctx, place, 0, sourceCompact, it)
	if err := errors.Join(err, it.Close()); err != nil {
		return Result{}, fmt.Errorf("join %d files of bucket %d: %w", len(entries), place.Bucket, err)
	}
	res := Result{Add: written}
	for _, e := range entries {
		res.Remove = append(res.Remove, removal(e))
	}
	return res, nil
}

// numbered gives rows sequence numbers one after another.
type numbered struct {
	merge.Iterator
	next table.Sequence
}

func (n *numbered) Next() (*table.KeyValue, error) {
	kv, err := n.Iterator.Next()
	if err == nil {
		kv.Seq = n.next
		n.next++
	}
	return kv, err
}
