package merge

import (
	"errors"
	"fmt"
	"io"

	"dtstore/table"
)

// Iterator yields the rows of a run in ascending key order.
type Iterator interface {
	// Next gives the next row, or io.EOF after the last. The KeyValue, and the
	// slice in its Row, are valid until the following call of Next or Close;
	// strings in it stay valid for ever.
	Next() (*table.KeyValue, error)
	// Close ends the reading. It may be called at any time, and again.
	Close() error
}

// New merges runs into one: of each key the row with the highest sequence
// number, on a tie that of the later run in the slice; retractions are kept.
// Each run must have ascending keys, one row for a key: a run that has not is
// an error from Next. A single run is handed through as it is, so a run of an
// append table, all of whose keys are empty, may be "merged" alone.
//
// The merged iterator owns the runs and closes them.
func New(runs []Iterator) Iterator {
	switch len(runs) {
	case 0:
		return Slice(nil)
	case 1:
		return runs[0]
	}
	return &merger{runs: make([]run, len(runs)), its: runs}
}

// run is one input of a merger. Its head is nil at its end.
type run struct {
	it   Iterator
	head *table.KeyValue
}

// merger is a tournament of losers: tree[0] is the run whose head is yielded
// next, tree[i] the loser of the match at node i. The winner is advanced only
// by the next call of Next, so that what was handed out stays valid.
type merger struct {
	its  []Iterator
	runs []run
	tree []int
	open bool // the tree stands
	err  error
}

func (m *merger) Next() (*table.KeyValue, error) {
	if m.err != nil {
		return nil, m.err
	}
	if err := m.step(); err != nil {
		m.err = err
		return nil, err
	}
	return m.runs[m.tree[0]].head, nil
}

// step moves past the rows of the key that was last yielded.
func (m *merger) step() error {
	if !m.open {
		return m.start()
	}
	key := m.runs[m.tree[0]].head.Key
	for {
		if err := m.advance(m.tree[0]); err != nil {
			return err
		}
		m.replay(m.tree[0])
		head := m.runs[m.tree[0]].head
		if head == nil {
			return io.EOF
		}
		if head.Key != key {
			return nil
		}
	}
}

func (m *merger) start() error {
	for i, it := range m.its {
		m.runs[i].it = it
		if err := m.advance(i); err != nil {
			return err
		}
	}
	// Play the whole tournament once: nodes n..2n-1 are the runs.
	n := len(m.runs)
	m.tree = make([]int, n)
	winner := make([]int, 2*n)
	for i := range n {
		winner[n+i] = i
	}
	for i := n - 1; i > 0; i-- {
		a, b := winner[2*i], winner[2*i+1]
		if m.before(b, a) {
			a, b = b, a
		}
		winner[i], m.tree[i] = a, b
	}
	m.tree[0] = winner[1]
	m.open = true
	if m.runs[m.tree[0]].head == nil {
		return io.EOF
	}
	return nil
}

// replay carries run i, whose head has changed, up to the root.
func (m *merger) replay(i int) {
	for node := (i + len(m.runs)) / 2; node > 0; node /= 2 {
		if m.before(m.tree[node], i) {
			i, m.tree[node] = m.tree[node], i
		}
	}
	m.tree[0] = i
}

// before says whether the head of run a is yielded before that of run b: the
// smaller key, of equal keys the newer row, so that the first one wins.
func (m *merger) before(a, b int) bool {
	x, y := m.runs[a].head, m.runs[b].head
	switch {
	case x == nil:
		return false
	case y == nil:
		return true
	case x.Key != y.Key:
		return x.Key < y.Key
	case x.Seq != y.Seq:
		return x.Seq > y.Seq
	}
	return a > b
}

// advance reads the next head of run i.
func (m *merger) advance(i int) error {
	r := &m.runs[i]
	var last table.TrimmedKey
	first := r.head == nil
	if !first {
		last = r.head.Key
	}
	kv, err := r.it.Next()
	if errors.Is(err, io.EOF) {
		r.head = nil
		return nil
	}
	if err != nil {
		return err
	}
	if !first && kv.Key <= last {
		return fmt.Errorf("merge run %d: key %x follows %x", i, string(kv.Key), string(last))
	}
	r.head = kv
	return nil
}

func (m *merger) Close() error {
	if m.err == nil {
		m.err = errClosed
	}
	var errs []error
	for _, it := range m.its {
		errs = append(errs, it.Close())
	}
	return errors.Join(errs...)
}

var errClosed = errors.New("merge: read after close")

// DropRetractions yields the rows of it but those that take a row away.
func DropRetractions(it Iterator) Iterator { return &dropper{it} }

type dropper struct{ Iterator }

func (d *dropper) Next() (*table.KeyValue, error) {
	for {
		kv, err := d.Iterator.Next()
		if err != nil || !kv.Kind.Retract() {
			return kv, err
		}
	}
}

// Slice yields rows, which must be in order.
func Slice(rows []table.KeyValue) Iterator { return &slice{rows} }

type slice struct{ rows []table.KeyValue }

func (s *slice) Next() (*table.KeyValue, error) {
	if len(s.rows) == 0 {
		return nil, io.EOF
	}
	kv := &s.rows[0]
	s.rows = s.rows[1:]
	return kv, nil
}

func (s *slice) Close() error {
	s.rows = nil
	return nil
}

// Concat yields the rows of one run after those of the other. open(i) is
// called for 0 ≤ i < n when its turn comes, and at most one is open at a time.
func Concat(n int, open func(i int) (Iterator, error)) Iterator {
	return &concat{n: n, open: open}
}

type concat struct {
	n, at int
	open  func(int) (Iterator, error)
	cur   Iterator
}

func (c *concat) Next() (*table.KeyValue, error) {
	for {
		if c.cur == nil {
			if c.at >= c.n {
				return nil, io.EOF
			}
			it, err := c.open(c.at)
			if err != nil {
				return nil, err
			}
			c.cur = it
			c.at++
		}
		kv, err := c.cur.Next()
		if !errors.Is(err, io.EOF) {
			return kv, err
		}
		if err := c.closeCurrent(); err != nil {
			return nil, err
		}
	}
}

func (c *concat) closeCurrent() error {
	if c.cur == nil {
		return nil
	}
	err := c.cur.Close()
	c.cur = nil
	return err
}

func (c *concat) Close() error {
	c.at = c.n
	return c.closeCurrent()
}
