package bucket

import (
	"testing"
	"time"

	"dtstore/table"
)

func covered(to table.Offset) map[table.Bucket]table.Offset {
	return map[table.Bucket]table.Offset{0: to}
}

// TestMarks: the newest mark that is old enough says how far the log may go.
func TestMarks(t *testing.T) {
	at := func(s int) time.Time { return time.Unix(int64(s), 0) }
	var m marks
	if _, ok := m.before(at(100)); ok {
		t.Error("a mark out of nothing")
	}
	for s := 10; s <= 50; s += 10 {
		m.add(at(s), covered(table.Offset(s)))
	}
	if _, ok := m.before(at(9)); ok {
		t.Error("a mark younger than asked for")
	}
	for _, x := range []struct{ ask, want int }{{10, 10}, {25, 20}, {30, 30}, {49, 40}, {1000, 50}, {1001, 50}} {
		got, ok := m.before(at(x.ask))
		if !ok || got.covered[0] != table.Offset(x.want) {
			t.Errorf("before %d: %v %v, want %d", x.ask, got, ok, x.want)
		}
	}
}

// TestMarksAreBounded: however many checkpoints there are, the list stays
// short, keeps its order, and never says more than was covered at the time.
func TestMarksAreBounded(t *testing.T) {
	var m marks
	for s := range 100_000 {
		m.add(time.Unix(int64(s), 0), covered(table.Offset(s)))
		if len(m.list) > maxMarks {
			t.Fatalf("%d marks", len(m.list))
		}
	}
	for ask := 0; ask < 100_000; ask += 997 {
		fresh := marks{list: append([]mark(nil), m.list...)}
		got, ok := fresh.before(time.Unix(int64(ask), 0))
		if ok && int(got.covered[0]) > ask {
			t.Fatalf("before %d: covered %d", ask, got.covered[0])
		}
	}
}
