package memtable

import (
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"

	"github.com/google/btree"

	"dtstore/merge"
	"dtstore/table"
)

// entry is one version of a row. Of a deletion row is the deleted one.
type entry struct {
	key    table.Key
	offset table.Offset
	kind   table.RowKind
	row    table.Row
}

func less(a, b entry) bool {
	if c := strings.Compare(string(a.key), string(b.key)); c != 0 {
		return c < 0
	}
	return a.offset < b.offset
}

func (e entry) change() table.Change {
	c := table.Change{Offset: e.offset, Kind: e.kind}
	if e.kind == table.Delete {
		c.Before = e.row
	} else {
		c.After = e.row
	}
	return c
}

// Table holds the changes of one bucket that no snapshot covers yet.
type Table struct {
	schema *table.Schema

	mu     sync.Mutex           // guards all below; held for a moment only, never while iterating
	span   table.Span           // what was applied; To is the offset we expect next
	bytes  int64                // keys, rows and their cells, without tree overhead
	frozen bool                 // INVARIANT: once true, true for ever
	lists  []sorted             // keyed tables: what came in ascending order, at most maxSorted
	tree   *btree.BTreeG[entry] // keyed tables: the rest
	count  int
	rows   []entry // append tables: in offset order
}

// degree 32 keeps nodes near 2 KB; smaller and larger ones insert slower.
const degree = 32

// New makes an empty table whose next expected offset is from.
func New(schema *table.Schema, from table.Offset) *Table {
	t := &Table{schema: schema, span: table.Span{From: from, To: from}}
	if schema.Keyed() {
		t.tree = btree.NewG(degree, less)
	}
	return t
}

// Apply takes in the next change. Only the bucket's loop calls it. It panics
// after Freeze and on an offset below what was applied: both would be our bug.
func (t *Table) Apply(c table.Change) {
	e := entry{key: t.schema.Key(c.Row()), offset: c.Offset, kind: c.Kind, row: c.Row()}
	size := int64(len(e.key)) + rowBytes(e.row)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.check("apply", c.Offset)
	if t.tree == nil {
		t.rows = append(t.rows, e)
	} else if !t.addSorted(&e) {
		t.tree.ReplaceOrInsert(e)
	}
	t.count++
	t.bytes += size
	t.span.To = c.Offset + 1
}

// Advance raises the end of the span over offsets that hold no change: control
// records, aborted and skipped records.
func (t *Table) Advance(to table.Offset) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.check("advance", to)
	t.span.To = to
}

func (t *Table) check(what string, offset table.Offset) {
	if t.frozen {
		panic(fmt.Sprintf("memtable: %s offset %d after freeze of %v", what, offset, t.span))
	}
	if offset < t.span.To {
		panic(fmt.Sprintf("memtable: %s offset %d on %v", what, offset, t.span))
	}
}

// rowBytes is about what a row holds in memory.
func rowBytes(row table.Row) int64 {
	const entryBytes, cellBytes = 80, 40
	n := int64(entryBytes + cellBytes*len(row))
	for _, v := range row {
		n += int64(v.Bytes())
	}
	return n
}

// Span is the part of the log that was applied.
func (t *Table) Span() table.Span {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.span
}

// Bytes is about what the table holds in memory.
func (t *Table) Bytes() int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.bytes
}

// Len is the number of versions held.
func (t *Table) Len() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.count
}

// Freeze ends the table: no change is applied any more.
func (t *Table) Freeze() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.frozen = true
}

// Frozen says whether Freeze was called.
func (t *Table) Frozen() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.frozen
}

// view is a fixed state to read without a lock.
type view struct {
	lists []sorted
	tree  *btree.BTreeG[entry] // nil: an append table's
	rows  []entry
}

// view takes the state: lists are only appended to, the tree is copied on
// write.
func (t *Table) view() view {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.tree == nil:
		return view{rows: t.rows[:len(t.rows):len(t.rows)]}
	case t.frozen:
		return view{lists: t.lists, tree: t.tree}
	case t.tree.Len() == 0: // a clone would make the writer copy nodes
		return view{lists: slices.Clone(t.lists), tree: btree.NewG(degree, less)}
	}
	return view{lists: slices.Clone(t.lists), tree: t.tree.Clone()}
}

// Get is the newest change of a key below an offset; false if there is none.
func (t *Table) Get(key table.Key, below table.Offset) (table.Change, bool) {
	if t.tree == nil {
		return table.Change{}, false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	found, ok := t.newest(key, below)
	if !ok {
		return table.Change{}, false
	}
	return found.change(), true
}

// Scan yields, in key order, the newest change of each key among those below
// an offset; of an append table all rows, in offset order.
func (t *Table) Scan(below table.Offset) iter.Seq2[table.Key, table.Change] {
	v := t.view()
	return func(yield func(table.Key, table.Change) bool) {
		if v.tree == nil {
			for _, e := range v.rows {
				if e.offset >= below || !yield("", e.change()) {
					return
				}
			}
			return
		}
		var last entry
		have, stopped := false, false
		v.ascend(func(e *entry) bool {
			if e.offset >= below {
				return true
			}
			if have && e.key != last.key && !yield(last.key, last.change()) {
				stopped = true
				return false
			}
			last, have = *e, true
			return true
		})
		if have && !stopped {
			yield(last.key, last.change())
		}
	}
}

// Runs yields what a flush writes, of a frozen table: for each partition its
// rows, numbered base + offset; of a keyed table one row a key, the newest, in
// key order; of an append table all rows in offset order.
func (t *Table) Runs(base table.Sequence) iter.Seq2[table.Partition, merge.Iterator] {
	if !t.Frozen() {
		panic(fmt.Sprintf("memtable: runs of %v before freeze", t.Span()))
	}
	return func(yield func(table.Partition, merge.Iterator) bool) {
		if t.tree == nil {
			t.appendRuns(base, yield)
			return
		}
		var part table.Partition
		var run []table.KeyValue
		room := t.count
		partitioned := len(t.schema.PartitionIndexes()) > 0
		if partitioned {
			room = 0
		}
		for k, c := range t.Scan(t.span.To) {
			row := c.Row()
			p, trimmed := table.EmptyPartition, table.TrimmedKey(k) // without partition columns that is the whole key
			if partitioned {
				p, trimmed = t.schema.Partition(row), t.schema.TrimmedKey(row)
			}
			if run == nil || p != part {
				if run != nil && !yield(part, merge.Slice(run)) {
					return
				}
				part, run = p, make([]table.KeyValue, 0, room)
			}
			run = append(run, table.KeyValue{Key: trimmed, Seq: base + table.Sequence(c.Offset), Kind: c.Kind, Row: row})
		}
		if run != nil {
			yield(part, merge.Slice(run))
		}
	}
}

func (t *Table) appendRuns(base table.Sequence, yield func(table.Partition, merge.Iterator) bool) {
	var order []table.Partition
	runs := map[table.Partition][]table.KeyValue{}
	for _, e := range t.rows {
		p := t.schema.Partition(e.row)
		if _, ok := runs[p]; !ok {
			order = append(order, p)
		}
		runs[p] = append(runs[p], table.KeyValue{Seq: base + table.Sequence(e.offset), Kind: e.kind, Row: e.row})
	}
	for _, p := range order {
		if !yield(p, merge.Slice(runs[p])) {
			return
		}
	}
}
