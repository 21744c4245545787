package filestore

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/parquet-go/parquet-go"
)

// TestDeltaAt compares with the library's decoder, at every bit width.
func TestDeltaAt(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))
	for width := range 65 {
		for _, n := range []int{1, 2, 32, 128, 129, 1000} {
			values := make([]int64, n)
			last := int64(r.Uint64())
			for i := range values {
				values[i] = last
				last += int64(r.Uint64() >> (64 - width) >> r.IntN(2))
				if width == 64 && r.IntN(9) == 0 {
					last = []int64{math.MinInt64, math.MaxInt64}[r.IntN(2)]
				}
			}
			body, err := parquet.DeltaBinaryPacked.EncodeInt64(nil, values)
			if err != nil {
				t.Fatal(err)
			}
			for i, want := range values {
				if got, err := deltaAt(body, i); err != nil || got != want {
					t.Fatalf("width %d: value %d of %d is %d, want %d: %v", width, i, n, got, want, err)
				}
			}
			if _, err := deltaAt(body, n); err == nil {
				t.Fatal("a value past the last")
			}
			for cut := range min(len(body), 40) {
				_, _ = deltaAt(body[:cut], n-1) // does not panic
			}
		}
	}
	// int32 values wrap around in 32 bits.
	values := []int32{math.MaxInt32, math.MinInt32, 0, -1, math.MinInt32, math.MaxInt32}
	body, err := parquet.DeltaBinaryPacked.EncodeInt32(nil, values)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range values {
		if got, err := deltaAt(body, i); err != nil || int32(got) != want {
			t.Fatalf("value %d is %d, want %d: %v", i, int32(got), want, err)
		}
	}
}
