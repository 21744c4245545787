package filestore_test

import (
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"sync"
	"syscall"
	"testing"
	"time"

	"dtstore/filestore"
	"dtstore/manifest"
	"dtstore/merge"
	"dtstore/table"
)

// flights is like the public flights data with a row number as key: eight
// columns with the system's.
func flights(t testing.TB) *table.Schema {
	return schemaOf(t, []string{"id"}, "id BIGINT NOT NULL", "date TIMESTAMP(3)", "delay INT", "distance INT", "origin STRING", "destination STRING")
}

var airports = func() (out []table.Value) {
	r := rand.New(rand.NewPCG(1, 1))
	for range 300 {
		out = append(out, table.StringOf(string([]byte{'A' + byte(r.IntN(26)), 'A' + byte(r.IntN(26)), 'A' + byte(r.IntN(26))})))
	}
	return out
}()

// flightRun yields n rows with ids id, id+step, …
type flightRun struct {
	s    *table.Schema
	n    int
	id   int64
	step int64
	seq  table.Sequence
	r    *rand.Rand
	kv   table.KeyValue
	buf  []byte
}

func newFlightRun(s *table.Schema, n int, id, step int64, seq table.Sequence) *flightRun {
	return &flightRun{s: s, n: n, id: id, step: step, seq: seq, r: rand.New(rand.NewPCG(uint64(id), uint64(seq)))}
}

func (f *flightRun) Next() (*table.KeyValue, error) {
	if f.n == 0 {
		return nil, io.EOF
	}
	f.n--
	row := table.Row{
		table.IntOf(f.id), table.TimestampOf((978307200000+f.id*300+f.r.Int64N(3600)*1000)*1000, 0),
		table.IntOf(int64(f.r.NormFloat64() * 30)), table.IntOf(int64(f.r.IntN(1500) + 100)),
		airports[f.r.IntN(len(airports))], airports[f.r.IntN(len(airports))],
	}
	f.buf = table.AppendOrdered(f.buf[:0], f.s.Fields[0].Type, row[0])
	f.kv = table.KeyValue{Key: table.TrimmedKey(f.buf), Seq: f.seq, Row: row}
	f.id += f.step
	f.seq++
	return &f.kv, nil
}

func (f *flightRun) Close() error { return nil }

// cpu reports the processor time of a benchmark's loop, which a busy machine
// disturbs less than the clock does.
func cpu(b *testing.B, units int, name string) func() {
	at := func() time.Duration {
		var u syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
			b.Fatal(err)
		}
		return time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	begin := at()
	return func() {
		used := (at() - begin).Seconds()
		b.ReportMetric(float64(units)*float64(b.N)/used/1e6, "M"+name+"/cpu-s")
	}
}

// peakHeap measures the most memory in use while f runs.
func peakHeap(f func()) uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	base, peak := m.HeapAlloc, m.HeapAlloc
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for tick := time.NewTicker(10 * time.Millisecond); ; {
			select {
			case <-stop:
				tick.Stop()
				return
			case <-tick.C:
				var m runtime.MemStats
				runtime.ReadMemStats(&m)
				peak = max(peak, m.HeapAlloc)
			}
		}
	})
	f()
	close(stop)
	wg.Wait()
	return peak - base
}

func BenchmarkWrite(b *testing.B) {
	s := flights(b)
	store, p := open(b, s, filestore.Options{})
	const n = 500_000
	rows := drain(b, newFlightRun(s, n, 0, 1, 0), nil)
	b.ReportAllocs()
	done := cpu(b, n, "rows")
	for b.Loop() {
		var e []manifest.Entry
		peak := peakHeap(func() {
			var err error
			if e, err = store.WriteRun(b.Context(), p, 0, 0, merge.Slice(rows)); err != nil {
				b.Fatal(err)
			}
		})
		var size int64
		for _, x := range e {
			size += x.File.Size
		}
		b.ReportMetric(float64(size)/n, "filebytes/row")
		b.ReportMetric(float64(peak)/1e6, "peakMB")
	}
	done()
}

// big writes n rows once for a benchmark.
func big(b *testing.B, n int) (*filestore.Store, filestore.Place, []manifest.Entry) {
	s := flights(b)
	store, p := open(b, s, filestore.Options{})
	e, err := store.WriteRun(b.Context(), p, 5, 1, newFlightRun(s, n, 0, 1, 0))
	if err != nil {
		b.Fatal(err)
	}
	return store, p, e
}

func BenchmarkRead(b *testing.B) {
	const n = 1_000_000
	store, p, e := big(b, n)
	for _, reuse := range []bool{false, true} {
		b.Run(fmt.Sprintf("reuse=%v", reuse), func(b *testing.B) {
			b.ReportAllocs()
			done := cpu(b, n, "rows")
			for b.Loop() {
				it, err := store.ReadRun(b.Context(), p, manifest.SortedRun{Files: e}, filestore.ReadOptions{Reuse: reuse})
				if err != nil {
					b.Fatal(err)
				}
				rows := 0
				for {
					if _, err := it.Next(); err == io.EOF {
						break
					} else if err != nil {
						b.Fatal(err)
					}
					rows++
				}
				if rows != n {
					b.Fatal(rows)
				}
			}
			done()
		})
	}
}

func BenchmarkLookup(b *testing.B) {
	const n = 4_000_000
	store, p, e := big(b, n)
	find := func(b *testing.B, r *rand.Rand, span int) {
		id := table.IntOf(r.Int64N(int64(span)))
		key := p.Schema.TrimmedKey(table.Row{id})
		for _, x := range e {
			kv, ok, err := store.Lookup(b.Context(), p, x, key)
			if err != nil {
				b.Fatal(err)
			}
			if ok {
				if kv.Row[0] != id {
					b.Fatal(kv)
				}
				return
			}
		}
		b.Fatal("not found")
	}
	for _, span := range []int{100_000, n} {
		b.Run(fmt.Sprintf("of=%d", span), func(b *testing.B) {
			r := rand.New(rand.NewPCG(3, 4))
			for range 30000 {
				find(b, r, span)
			}
			b.ReportAllocs()
			done := cpu(b, 1, "lookups")
			for b.Loop() {
				find(b, r, span)
			}
			done()
		})
		b.Run(fmt.Sprintf("of=%d/clients=8", span), func(b *testing.B) {
			b.SetParallelism(4)
			b.RunParallel(func(pb *testing.PB) {
				r := rand.New(rand.NewPCG(3, rand.Uint64()))
				for pb.Next() {
					find(b, r, span)
				}
			})
		})
	}
}

func BenchmarkMask(b *testing.B) {
	const n = 2_000_000
	store, p, e := big(b, n)
	runs := []manifest.SortedRun{{Level: 5, Files: e}}
	total := n
	for i := range 3 {
		k := n / 15
		u, err := store.WriteRun(b.Context(), p, 0, 0, newFlightRun(p.Schema, k, int64(i), 15, table.Sequence((i+1)*n)))
		if err != nil {
			b.Fatal(err)
		}
		runs = append([]manifest.SortedRun{{Files: u}}, runs...)
		total += k
	}
	b.ReportAllocs()
	done := cpu(b, total, "keys")
	for b.Loop() {
		fresh := p
		fresh.Path = p.Path // the same files, but nothing kept
		store.ForgetMasks()
		m, err := store.Mask(b.Context(), fresh, runs)
		if err != nil {
			b.Fatal(err)
		}
		if dead := len(m[e[0].File.Name]); dead < n/6 {
			b.Fatal(dead)
		}
	}
	done()
}
