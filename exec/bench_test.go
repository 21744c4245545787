package exec_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"syscall"
	"testing"

	"dtstore/exec"
	"dtstore/table"
)

// cpuMillis is the processor time of this process so far: on a shared machine
// it says more than the clock.
func cpuMillis() float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e6
}

// Scans of 8 M rows in 4 files: plain, masked by bitmap, and masked by a join.
func BenchmarkParquet(b *testing.B) {
	dir := b.TempDir()
	files := writeParquet(b, dir, 4, 2_000_000)
	e := open(b, exec.Options{Readable: []string{dir}, Threads: 2})
	s := session(b, e)
	masked := append([]exec.File(nil), files...)
	var dead []table.Row
	for i := range masked {
		masked[i].Dead = nil
		for r := uint32(i); r < 2_000_000; r += 14 {
			masked[i].Dead = append(masked[i].Dead, r)
			dead = append(dead, table.Row{table.IntOf(int64(i)), table.IntOf(int64(r))})
		}
	}
	run := func(name string, relation func() *exec.Handle, q string) {
		b.Run(name, func(b *testing.B) {
			before := cpuMillis()
			defer func() { b.ReportMetric((cpuMillis()-before)/float64(b.N), "cpu-ms/op") }()
			for b.Loop() {
				h := relation()
				if _, err := queryOver(b.Context(), e, s, q, over(h.SQL())); err != nil {
					b.Fatal(err)
				}
				h.Close()
			}
		})
	}
	plain := func(f []exec.File) func() *exec.Handle {
		return func() *exec.Handle {
			h, err := e.Parquet(b.Context(), exec.ParquetScan{Files: f, Columns: parquetColumns()})
			if err != nil {
				b.Fatal(err)
			}
			return h
		}
	}
	for _, q := range []struct{ name, sql string }{{"sum", "SELECT sum(v) FROM t"}, {"four", "SELECT sum(v), max(s), sum(d), count(k) FROM t"}} {
		run(q.name+"/plain", plain(files), q.sql)
		run(q.name+"/bitmap", plain(masked), q.sql)
	}
	b.Run("sum/join", func(b *testing.B) {
		h, err := e.Register(b.Context(), exec.Relation{Rows: int64(len(dead)), Threads: 2, Columns: []exec.Column{{Name: "f", Type: table.Type{Kind: table.BigInt}}, {Name: "r", Type: table.Type{Kind: table.BigInt}}},
			Open: func(context.Context, []int) (exec.Source, error) { return exec.Rows(dead), nil }})
		if err != nil {
			b.Fatal(err)
		}
		defer h.Close()
		list := ""
		for i, f := range files {
			if i > 0 {
				list += ","
			}
			list += "'" + f.Path + "'"
		}
		sql := fmt.Sprintf("(SELECT k, v, s, d FROM read_parquet([%s]) p WHERE NOT EXISTS (SELECT 1 FROM %s x WHERE x.f = p.file_index::BIGINT AND x.r = p.file_row_number))", list, h.SQL())
		before := cpuMillis()
		defer func() { b.ReportMetric((cpuMillis()-before)/float64(b.N), "cpu-ms/op") }()
		for b.Loop() {
			if _, err := queryOver(b.Context(), e, s, "SELECT sum(v) FROM t", over(sql)); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// Rows from Go: 1 M rows made beforehand, one and two threads.
func BenchmarkRows(b *testing.B) {
	e := open(b, exec.Options{Threads: 2})
	s := session(b, e)
	rows := make([]table.Row, 1_000_000)
	for i := range rows {
		rows[i] = table.Row{table.IntOf(int64(i)), table.IntOf(int64(i % 1000)), table.StringOf(fmt.Sprintf("a name of row %d", i)), table.FloatOf(float64(i))}
	}
	columns := []exec.Column{{Name: "k", Type: table.Type{Kind: table.BigInt}}, {Name: "v", Type: table.Type{Kind: table.Int}}, {Name: "s", Type: text()}, {Name: "f", Type: table.Type{Kind: table.Double}}}
	for _, q := range []struct{ name, sql string }{{"one", "SELECT sum(v) FROM t"}, {"four", "SELECT sum(v), max(s), sum(f), count(k) FROM t"}} {
		for threads := 1; threads <= 2; threads++ {
			b.Run(fmt.Sprintf("%s/threads=%d", q.name, threads), func(b *testing.B) {
				before := cpuMillis()
				defer func() { b.ReportMetric((cpuMillis()-before)/float64(b.N), "cpu-ms/op") }()
				for b.Loop() {
					h, err := e.Register(b.Context(), exec.Relation{Columns: columns, Rows: int64(len(rows)), Threads: threads,
						Open: func(context.Context, []int) (exec.Source, error) { return exec.Rows(rows), nil }})
					if err != nil {
						b.Fatal(err)
					}
					if _, err := queryOver(b.Context(), e, s, q.sql, over(h.SQL())); err != nil {
						b.Fatal(err)
					}
					h.Close()
				}
				b.ReportMetric(float64(len(rows)*b.N)/b.Elapsed().Seconds()/1e6, "Mrows/s")
			})
		}
	}
}

// Results: 1 M rows of four columns copied out.
func BenchmarkFetch(b *testing.B) {
	e := open(b, exec.Options{Threads: 2})
	s := session(b, e)
	var n atomic.Int64
	st, err := s.Prepare(b.Context(), "SELECT i, i % 7 AS j, 'a text of row ' || i AS s, i / 3.0 AS f FROM range(1000000) r(i)", nil)
	if err != nil {
		b.Fatal(err)
	}
	defer st.Close()
	before := cpuMillis()
	defer func() { b.ReportMetric((cpuMillis()-before)/float64(b.N), "cpu-ms/op") }()
	for b.Loop() {
		rows, err := st.Run(b.Context(), nil)
		if err != nil {
			b.Fatal(err)
		}
		for {
			batch, err := rows.Next(b.Context())
			if err != nil {
				break
			}
			n.Add(int64(len(batch)))
		}
	}
	b.ReportMetric(float64(n.Load())/b.Elapsed().Seconds()/1e6, "Mrows/s")
}

// A statement by key as a session would run it: parsed text from the cache.
func BenchmarkStatement(b *testing.B) {
	e := open(b, exec.Options{Threads: 2})
	s := session(b, e)
	b.Run("parse", func(b *testing.B) {
		before := cpuMillis()
		defer func() { b.ReportMetric((cpuMillis()-before)/float64(b.N), "cpu-ms/op") }()
		for i := 0; b.Loop(); i++ {
			if _, err := e.Parse(b.Context(), fmt.Sprintf("SELECT a, b, c FROM t WHERE id = %d", i)); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("select1", func(b *testing.B) {
		for b.Loop() {
			if _, err := query(b.Context(), e, s, "SELECT 1"); err != nil {
				b.Fatal(err)
			}
		}
	})
}
