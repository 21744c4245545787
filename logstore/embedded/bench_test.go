package embedded_test

import (
	"fmt"
	"testing"

	"dtstore/logstore/embedded"

	"github.com/twmb/franz-go/pkg/kgo"
)

// BenchmarkOpen opens a log of 100 MB in 8 partitions, rows of 200 bytes.
func BenchmarkOpen(b *testing.B) {
	dir := b.TempDir()
	s, err := embedded.Open(b.Context(), embedded.Options{Dir: dir, Listen: "127.0.0.1:0"})
	if err != nil {
		b.Fatal(err)
	}
	cl, err := connect(s.Addr(), kgo.MaxBufferedRecords(1<<20))
	if err != nil {
		b.Fatal(err)
	}
	if _, err := createTopic(b.Context(), cl, "t", 8, "16777216"); err != nil {
		b.Fatal(err)
	}
	for i := range 500_000 {
		cl.Produce(b.Context(), &kgo.Record{Topic: "t", Partition: int32(i % 8), Value: make([]byte, 200)}, nil)
	}
	if err := cl.Flush(b.Context()); err != nil {
		b.Fatal(err)
	}
	cl.Close()
	s.Close()
	for b.Loop() {
		s, err := embedded.Open(b.Context(), embedded.Options{Dir: dir, Listen: "127.0.0.1:0"})
		if err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		s.Close()
		b.StartTimer()
	}
}

// BenchmarkSync appends one row of 150 bytes to each of so many partitions and
// syncs them.
func BenchmarkSync(b *testing.B) {
	for _, parts := range []int32{1, 4, 16} {
		b.Run(fmt.Sprint(parts), func(b *testing.B) {
			s, err := embedded.Open(b.Context(), embedded.Options{Dir: b.TempDir(), Listen: "127.0.0.1:0"})
			if err != nil {
				b.Fatal(err)
			}
			defer s.Close()
			cl, err := connect(s.Addr())
			if err != nil {
				b.Fatal(err)
			}
			defer cl.Close()
			if _, err := createTopic(b.Context(), cl, "t", parts, "16777216"); err != nil {
				b.Fatal(err)
			}
			var tps []embedded.TopicPartition
			for p := range parts {
				tps = append(tps, embedded.TopicPartition{Topic: "t", Partition: p})
			}
			for b.Loop() {
				b.StopTimer()
				var rows []*kgo.Record
				for p := range parts {
					rows = append(rows, &kgo.Record{Topic: "t", Partition: p, Value: make([]byte, 150)})
				}
				if err := cl.ProduceSync(b.Context(), rows...).FirstErr(); err != nil {
					b.Fatal(err)
				}
				b.StartTimer()
				if err := s.Sync(b.Context(), tps); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
