package logstore_test

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"dtstore/logstore"
	"dtstore/table"

	"github.com/google/uuid"
)

// BenchmarkAppend is commits of one record by many sessions, alone and over
// two buckets.
func BenchmarkAppend(b *testing.B) {
	for _, c := range []struct {
		name    string
		buckets []table.Bucket
	}{{"plain", []table.Bucket{0}}, {"two buckets", []table.Bucket{0, 1}}} {
		for _, sessions := range []int{1, 8, 64} {
			b.Run(fmt.Sprintf("%s/%d", c.name, sessions), func(b *testing.B) {
				l := open(b, brokers(b))
				topic := create(b, l, 2)
				value := strings.Repeat("x", 192)
				var left atomic.Int64
				left.Store(int64(b.N))
				var wg sync.WaitGroup
				b.ResetTimer()
				for range sessions {
					wg.Go(func() {
						for left.Add(-1) >= 0 {
							mustAppend(b, l, put(topic, value, c.buckets...))
						}
					})
				}
				wg.Wait()
			})
		}
	}
}

// BenchmarkBulk is one append of many rows, as COPY sends it, and reading them.
func BenchmarkBulk(b *testing.B) {
	s, ch := benchRow(b)
	const rows = 200_000
	b.Run("append", func(b *testing.B) {
		l := open(b, brokers(b))
		topic := create(b, l, 1)
		codec := logstore.NewCodec(s, topic.ID)
		for b.Loop() {
			a := logstore.Append{ID: uuid.NewString(), Parts: []logstore.Part{{Topic: topic}}}
			for range rows {
				a.Parts[0].Records = append(a.Parts[0].Records, codec.Encode(ch, a.ID, false, nil))
			}
			mustAppend(b, l, a)
		}
		b.ReportMetric(float64(rows*b.N)/b.Elapsed().Seconds(), "rows/s")
	})
	b.Run("read", func(b *testing.B) {
		l := open(b, brokers(b))
		topic := create(b, l, 1)
		codec := logstore.NewCodec(s, topic.ID)
		a := logstore.Append{ID: uuid.NewString(), Parts: []logstore.Part{{Topic: topic}}}
		for range rows {
			a.Parts[0].Records = append(a.Parts[0].Records, codec.Encode(ch, a.ID, false, nil))
		}
		mustAppend(b, l, a)
		for b.Loop() {
			r, err := l.Read(b.Context(), topic, 0, 0)
			if err != nil {
				b.Fatal(err)
			}
			for next := table.Offset(0); next < rows; {
				batch, err := r.Next(b.Context())
				if err != nil {
					b.Fatal(err)
				}
				for _, f := range batch.Records {
					if f.Control {
						continue
					}
					if _, _, err := codec.Decode(f); err != nil {
						b.Fatal(err)
					}
				}
				next = batch.Next
			}
			r.Close()
		}
		b.ReportMetric(float64(rows*b.N)/b.Elapsed().Seconds(), "rows/s")
	})
}

// BenchmarkDelivery is the time from handing a record over to its arrival at
// a reader that waits for it.
func BenchmarkDelivery(b *testing.B) {
	l := open(b, brokers(b))
	topic := create(b, l, 1)
	r, err := l.Read(b.Context(), topic, 0, 0)
	if err != nil {
		b.Fatal(err)
	}
	defer r.Close()
	var worst time.Duration
	for b.Loop() {
		start := time.Now()
		go func() {
			if _, err := l.Append(b.Context(), put(topic, "v", 0)); err != nil {
				b.Error(err)
			}
		}()
		if _, err := r.Next(b.Context()); err != nil {
			b.Fatal(err)
		}
		worst = max(worst, time.Since(start))
	}
	b.ReportMetric(float64(worst.Microseconds()), "worst-µs")
}

// BenchmarkHorizon is what each statement pays before it reads.
func BenchmarkHorizon(b *testing.B) {
	l := open(b, brokers(b))
	topic := create(b, l, 4)
	for b.Loop() {
		if _, err := l.Horizon(b.Context(), []logstore.Topic{topic}); err != nil {
			b.Fatal(err)
		}
	}
}
