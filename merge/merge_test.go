package merge_test

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"dtstore/merge"
	"dtstore/table"
)

// TestMerge has runs as lines of "key@seq+kind" and prints what comes out.
func TestMerge(t *testing.T) {
	datadriven.RunTest(t, "testdata/merge", func(t *testing.T, d *datadriven.TestData) string {
		switch d.Cmd {
		case "merge":
			var its []merge.Iterator
			for line := range strings.Lines(d.Input) {
				its = append(its, merge.Slice(parseRun(t, line)))
			}
			it := merge.New(its)
			if d.HasArg("drop") {
				it = merge.DropRetractions(it)
			}
			rows, err := collect(it)
			out := printRun(rows)
			if err != nil {
				out += "error: " + err.Error() + "\n"
			}
			return out
		case "sections", "pack":
			var ranges []merge.Range
			var names []string
			for line := range strings.Lines(d.Input) {
				lo, hi, _ := strings.Cut(strings.TrimSpace(line), "..")
				ranges = append(ranges, merge.Range{Min: table.TrimmedKey(lo), Max: table.TrimmedKey(hi)})
				names = append(names, strings.TrimSpace(line))
			}
			groups := merge.Sections(ranges)
			if d.Cmd == "pack" {
				groups = merge.Pack(ranges)
			}
			var out strings.Builder
			for _, g := range groups {
				var in []string
				for _, i := range g {
					in = append(in, names[i])
				}
				fmt.Fprintln(&out, strings.Join(in, " "))
			}
			return out.String()
		}
		d.Fatalf(t, "unknown command %s", d.Cmd)
		return ""
	})
}

var kinds = []string{"+I", "-U", "+U", "-D"}

// parseRun reads "a@1 b@2-D": key, sequence number, and a kind other than +I.
func parseRun(t *testing.T, line string) []table.KeyValue {
	var rows []table.KeyValue
	for word := range strings.FieldsSeq(line) {
		key, rest, ok := strings.Cut(word, "@")
		if !ok {
			t.Fatalf("row %q", word)
		}
		kind := 0
		for i, k := range kinds {
			if s, ok := strings.CutSuffix(rest, k); ok {
				rest, kind = s, i
			}
		}
		var seq int64
		if _, err := fmt.Sscan(rest, &seq); err != nil {
			t.Fatalf("row %q: %v", word, err)
		}
		rows = append(rows, table.KeyValue{Key: table.TrimmedKey(key), Seq: table.Sequence(seq), Kind: table.RowKind(kind)})
	}
	return rows
}

func printRun(rows []table.KeyValue) string {
	var words []string
	for _, r := range rows {
		w := fmt.Sprintf("%s@%d", r.Key, r.Seq)
		if r.Kind != table.Insert {
			w += r.Kind.String()
		}
		words = append(words, w)
	}
	return strings.Join(words, " ") + "\n"
}

func collect(it merge.Iterator) ([]table.KeyValue, error) {
	defer it.Close()
	var out []table.KeyValue
	for {
		kv, err := it.Next()
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return out, err
		}
		out = append(out, *kv)
	}
}

// reused yields rows through one KeyValue, as readers of files do.
type reused struct {
	rows []table.KeyValue
	kv   table.KeyValue
}

func (r *reused) Next() (*table.KeyValue, error) {
	if len(r.rows) == 0 {
		r.kv = table.KeyValue{}
		return nil, io.EOF
	}
	r.kv, r.rows = r.rows[0], r.rows[1:]
	return &r.kv, nil
}

func (r *reused) Close() error { return nil }

// TestAgainstMap compares with a plain map over random runs.
func TestAgainstMap(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 1))
		model := map[table.TrimmedKey]table.KeyValue{}
		var its []merge.Iterator
		for range 1 + r.IntN(9) {
			run := map[table.TrimmedKey]table.KeyValue{}
			for range r.IntN(60) {
				key := table.TrimmedKey(fmt.Sprintf("%03d", r.IntN(100)))
				run[key] = table.KeyValue{Key: key, Seq: table.Sequence(r.IntN(20)), Kind: table.RowKind(r.IntN(4))}
			}
			rows := slices.SortedFunc(maps.Values(run), func(a, b table.KeyValue) int { return strings.Compare(string(a.Key), string(b.Key)) })
			for _, kv := range rows {
				if old, ok := model[kv.Key]; !ok || kv.Seq >= old.Seq {
					model[kv.Key] = kv
				}
			}
			its = append(its, &reused{rows: rows})
		}
		got, err := collect(merge.New(its))
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		want := slices.SortedFunc(maps.Values(model), func(a, b table.KeyValue) int { return strings.Compare(string(a.Key), string(b.Key)) })
		if printRun(got) != printRun(want) {
			t.Fatalf("seed %d: %swant %s", seed, printRun(got), printRun(want))
		}
	}
}

// TestSectionsAgainstRanges checks the properties that callers rely on.
func TestSectionsAgainstRanges(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 2))
		var ranges []merge.Range
		for range r.IntN(20) {
			lo := r.IntN(50)
			ranges = append(ranges, merge.Range{Min: table.TrimmedKey(fmt.Sprintf("%02d", lo)), Max: table.TrimmedKey(fmt.Sprintf("%02d", lo+r.IntN(8)))})
		}
		overlap := func(a, b merge.Range) bool { return a.Min <= b.Max && b.Min <= a.Max }
		var end table.TrimmedKey
		n := 0
		for _, sec := range merge.Sections(ranges) {
			max := table.TrimmedKey("")
			for _, i := range sec {
				if end != "" && ranges[i].Min <= end {
					t.Fatalf("seed %d: section begins inside the one before", seed)
				}
				if max != "" && ranges[i].Min > max {
					t.Fatalf("seed %d: section has a gap", seed)
				}
				max = maxKey(max, ranges[i].Max)
				n++
			}
			end = max
		}
		deepest := 0
		for _, x := range ranges {
			deep := 0
			for _, y := range ranges {
				if y.Min <= x.Min && x.Min <= y.Max {
					deep++
				}
			}
			deepest = max(deepest, deep)
		}
		runs := merge.Pack(ranges)
		m := 0
		for _, run := range runs {
			for k, i := range run {
				if k > 0 && overlap(ranges[run[k-1]], ranges[i]) {
					t.Fatalf("seed %d: a run overlaps", seed)
				}
				m++
			}
		}
		if n != len(ranges) || m != len(ranges) || len(runs) != deepest {
			t.Fatalf("seed %d: %d ranges, %d in sections, %d in %d runs, %d deep", seed, len(ranges), n, m, len(runs), deepest)
		}
	}
}

func maxKey(a, b table.TrimmedKey) table.TrimmedKey { return max(a, b) }

// TestNoAllocation holds that merging costs no memory for a row.
func TestNoAllocation(t *testing.T) {
	const rows = 1000
	var runs [4][]table.KeyValue
	for i := range rows {
		for r := range runs {
			if i%(r+1) == 0 {
				runs[r] = append(runs[r], table.KeyValue{Key: table.TrimmedKey(fmt.Sprintf("%05d", i)), Seq: table.Sequence(r)})
			}
		}
	}
	allocs := testing.AllocsPerRun(10, func() {
		var its []merge.Iterator
		for _, r := range runs {
			its = append(its, merge.Slice(r))
		}
		it := merge.New(its)
		for {
			if _, err := it.Next(); err != nil {
				return
			}
		}
	})
	if allocs > 20 {
		t.Errorf("%v allocations", allocs)
	}
}

func TestConcat(t *testing.T) {
	open := 0
	it := merge.Concat(3, func(i int) (merge.Iterator, error) {
		open++
		if i == 2 {
			return nil, errors.New("no third")
		}
		return merge.Slice(parseRun(t, []string{"a@1 b@2", "c@3"}[i])), nil
	})
	rows, err := collect(it)
	if printRun(rows) != "a@1 b@2 c@3\n" || err == nil || open != 3 {
		t.Errorf("%s %v %d", printRun(rows), err, open)
	}
}

func BenchmarkMerge(b *testing.B) {
	for _, k := range []int{1, 2, 4, 8} {
		b.Run(fmt.Sprint(k), func(b *testing.B) {
			runs := make([][]table.KeyValue, k)
			const rows = 100_000
			for i := range rows {
				runs[i%k] = append(runs[i%k], table.KeyValue{Key: table.TrimmedKey(fmt.Sprintf("%08d", i))})
			}
			b.ReportAllocs()
			for b.Loop() {
				var its []merge.Iterator
				for _, r := range runs {
					its = append(its, merge.Slice(r))
				}
				it := merge.New(its)
				for {
					if _, err := it.Next(); err != nil {
						break
					}
				}
			}
			b.ReportMetric(float64(rows)*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mrows/s")
		})
	}
}
