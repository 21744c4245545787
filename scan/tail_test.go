package scan

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"dtstore/memtable"
	"dtstore/table"
)

func schema(keyed bool) *table.Schema {
	s := &table.Schema{Fields: []table.Field{{ID: 0, Name: "id", Type: table.Type{Kind: table.Int, NotNull: true}}, {ID: 1, Name: "v", Type: table.Type{Kind: table.Int}}},
		HighestFieldID: 1, Options: map[string]string{"bucket": "1"}}
	if keyed {
		s.PrimaryKeys = []string{"id"}
	} else {
		s.Options["bucket"] = "-1"
	}
	return s
}

func change(at table.Offset, kind table.RowKind, id, v int64) table.Change {
	row := table.Row{table.IntOf(id), table.IntOf(v)}
	c := table.Change{Offset: at, Kind: kind, After: row}
	if kind == table.Delete {
		c.Before, c.After = row, nil
	}
	return c
}

func show(c table.Change) string {
	return fmt.Sprintf("%s(%d,%d)@%d", c.Kind, c.Row()[0].Int(), c.Row()[1].Int(), c.Offset)
}

// TestTailLayers lays random memtables over each other, cut at random offsets,
// and compares changes and look-ups with the plain list of changes.
func TestTailLayers(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 1))
		keyed := seed%2 == 0
		s := schema(keyed)
		var all []table.Change
		var mems []*memtable.Table
		at := table.Offset(0)
		for range 1 + r.IntN(4) {
			m := memtable.New(s, at)
			for range r.IntN(20) {
				kind := table.Insert
				if keyed && r.IntN(3) == 0 {
					kind = table.Delete
				}
				c := change(at, kind, int64(r.IntN(8)), int64(at))
				m.Apply(c)
				all = append(all, c)
				at += table.Offset(1 + r.IntN(3))
				m.Advance(at)
			}
			m.Freeze()
			mems = append(mems, m)
		}
		span := table.Span{From: table.Offset(r.IntN(int(at) + 1)), To: at}
		span.To -= table.Offset(r.IntN(int(at-span.From) + 1))
		var tl tail
		for _, m := range mems {
			if m.Span().To > span.From && m.Span().From < span.To {
				tl = append(tl, layer{m, span})
			}
		}
		if len(tl) == 0 {
			continue
		}
		var overlay *memtable.Table
		if r.IntN(2) == 0 {
			overlay = memtable.New(s, 0)
			for i := range 5 {
				overlay.Apply(change(table.Offset(i), table.Insert, int64(r.IntN(8)), int64(1000+i)))
			}
			tl = append(tl, layer{overlay, table.Span{To: math.MaxInt64}})
		}
		// What is newer than the snapshot, below the horizon, then the overlay. A
		// keyed tail may say what files say too: changes of the first memtable that
		// lie before the span.
		first := tl[0].mem.Span().From
		if !keyed {
			first = span.From
		}
		var want []string
		newest := map[int64]table.Change{}
		add := func(c table.Change) {
			if keyed {
				newest[c.Row()[0].Int()] = c
			} else {
				want = append(want, show(c))
			}
		}
		for _, c := range all {
			if c.Offset >= first && c.Offset < span.To {
				add(c)
			}
		}
		if overlay != nil {
			for _, c := range overlay.Scan(math.MaxInt64) {
				add(c)
			}
		}
		for id := int64(0); id < 8; id++ {
			if c, ok := newest[id]; ok {
				want = append(want, show(c))
			}
		}
		var got []string
		for _, c := range tl.changes(keyed) {
			got = append(got, show(c))
		}
		if !slices.Equal(got, want) {
			t.Fatalf("seed %d %v:\n got %s\nwant %s", seed, span, strings.Join(got, " "), strings.Join(want, " "))
		}
		for c := range tl.changes(keyed) { // a reader may stop early
			_ = c
			break
		}
		for id := int64(0); keyed && id < 8; id++ {
			c, ok := tl.newest(s.Key(table.Row{table.IntOf(id), table.Null()}))
			if w, there := newest[id]; ok != there || ok && show(c) != show(w) {
				t.Fatalf("seed %d: look-up of %d: %v %v, want %v", seed, id, c, ok, w)
			}
		}
	}
}
