package logstore

import (
	"fmt"
	"slices"
	"testing"

	"dtstore/table"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// A vector that shows one bucket of a commit and hides another is cut; what
// ended while the vector was taken counts, what was aborted does not.
func TestCut(t *testing.T) {
	var c commits
	id := uuid{1}
	w := func(b table.Bucket, end table.Offset) Written {
		return Written{Topic{ID: id.text()}, b, table.Span{From: end - 1, To: end}}
	}
	v := func(offsets ...table.Offset) map[tp]table.Offset {
		m := map[tp]table.Offset{}
		for b, o := range offsets {
			m[tp{id, int32(b)}] = o
		}
		return m
	}
	hidden := func(v map[tp]table.Offset) string {
		_, parts := c.cut(v)
		return fmt.Sprint(len(parts))
	}
	x := c.begin([]Written{w(0, 10), w(1, 20)})
	for _, tc := range []struct {
		v    map[tp]table.Offset
		want string
	}{{v(9, 19), "0"}, {v(10, 19), "1"}, {v(11, 20), "0"}, {v(9, 21), "1"}, {v(11), "0"}} {
		if got := hidden(tc.v); got != tc.want {
			t.Errorf("%v: %s hidden, want %s", tc.v, got, tc.want)
		}
	}
	c.watch()
	c.end(x, true)
	if hidden(v(11, 19)) != "1" {
		t.Error("a commit that ended while the vector was taken can be cut")
	}
	y := c.begin([]Written{w(0, 30), w(1, 40)})
	c.end(y, false)
	c.unwatch()
	if hidden(v(11, 19)) != "0" || len(c.open) != 0 || len(c.ended) != 0 {
		t.Error("nothing is kept when nobody looks")
	}
}

func TestTrackerForgets(t *testing.T) {
	var s stable
	s.init(nil)
	var k tracker
	k.init(&s)
	id := uuid{1}
	at := tp{id, 0}
	check := func(key table.Key, horizon table.Offset) int {
		return len(k.conflicts([]Check{{Topic: id.text(), Key: key, Horizon: horizon}}))
	}
	k.record(at, 10, []table.Key{"a"})
	k.record(at, 20, []table.Key{"b", "a"})
	if check("a", 19) != 1 || check("a", 20) != 0 || check("b", 15) != 1 || check("c", 0) != 0 {
		t.Error("checks are exact while nothing is forgotten")
	}
	p := k.pin(map[tp]table.Offset{at: 10})
	s.advance(at, 30)
	k.record(at, 30, []table.Key{"c"})
	if len(k.buckets[at].groups) != 2 || check("c", 10) != 1 || check("x", 10) != 0 || check("x", 9) != 1 {
		t.Errorf("kept back to the pin: %+v", k.buckets[at])
	}
	k.unpin(p)
	k.record(at, 31, []table.Key{"d"})
	if len(k.buckets[at].groups) != 1 || check("c", 30) != 0 || check("d", 30) != 1 || check("x", 29) != 1 {
		t.Errorf("what no horizon lies below is forgotten: %+v", k.buckets[at])
	}
	if k.total != 1 || len(k.buckets[at].last) != 1 {
		t.Errorf("%d keys, %v", k.total, k.buckets[at].last)
	}
	k.record(at, 40, make([]table.Key, bigAppendKeys))
	if check("x", 39) != 1 || check("x", 40) != 0 {
		t.Error("a big append stands for any key")
	}
	for i := range 20 {
		k.record(at, table.Offset(50+i), make([]table.Key, bigAppendKeys-1))
	}
	if k.total > maxTrackedKeys {
		t.Errorf("%d keys", k.total)
	}
}

func TestBatchRoundTrip(t *testing.T) {
	var w batchWriter
	w.reset(nil, 1000)
	shared := []Header{{"h", []byte("v")}, {"n", nil}}
	in := []Record{{Key: []byte("k"), Value: []byte("v"), Headers: shared}, {Value: []byte{}, Headers: shared, TimestampMillis: 900}, {Key: nil, Value: nil, TimestampMillis: 5000}}
	bound := batchHead
	for i := range in {
		w.add(&in[i])
		bound += maxRecordBytes(&in[i])
	}
	raw := w.finish(7, 1, 5, 0)
	if len(raw) > bound {
		t.Fatalf("%d bytes, bound %d", len(raw), bound)
	}
	restamp(raw, 8, 2, 6)
	d := decoder{unzip: kgo.DefaultDecompressor()}
	out, next, err := d.decode(nil, raw, 0, nil)
	if err != nil || next != 3 || len(out) != 3 {
		t.Fatal(out, next, err)
	}
	for i, want := range []int64{1000, 900, 5000} {
		if out[i].TimestampMillis != want || (out[i].Key == nil) != (in[i].Key == nil) || (out[i].Value == nil) != (in[i].Value == nil) || len(out[i].Headers) != len(in[i].Headers) {
			t.Errorf("record %d: %+v", i, out[i])
		}
	}
	// franz-go reads it alike.
	fp, _ := kgo.ProcessFetchPartition(kgo.ProcessFetchPartitionOpts{}, &kmsg.FetchResponseTopicPartition{RecordBatches: raw}, d.unzip, nil)
	if fp.Err != nil || len(fp.Records) != 3 || fp.Records[2].Timestamp.UnixMilli() != 5000 || fp.Records[0].ProducerID != 8 {
		t.Fatal(fp.Err, fp.Records)
	}
}

// Bytes that a broker sends never make the decoder panic, loop or run away.
func FuzzBatch(f *testing.F) {
	var w batchWriter
	w.reset(nil, 1)
	w.add(&Record{Key: []byte("k"), Value: []byte("v"), Headers: []Header{{"c", []byte("x")}}})
	raw := slices.Clone(w.finish(7, 0, 0, attrTxn))
	f.Add(raw, int64(0), int64(7))
	w.reset(nil, 1)
	w.add(&Record{Value: []byte("marker")})
	f.Add(append(raw, w.finish(7, 0, 0, attrTxn|attrControl)...), int64(1), int64(0))
	f.Fuzz(func(t *testing.T, data []byte, from, aborted int64) {
		if len(data) > batchHead { // let the checksum of the first batch be right
			end := 12 + int(data[11]) + int(data[10])<<8
			restamp(data[:min(len(data), max(end, batchHead))], int64(data[50]), 0, 0)
		}
		d := decoder{unzip: kgo.DefaultDecompressor()}
		out, next, err := d.decode(nil, data, table.Offset(from), []kmsg.FetchResponseTopicPartitionAbortedTransaction{{ProducerID: aborted, FirstOffset: aborted}})
		if next < table.Offset(from) {
			t.Fatal("position went back")
		}
		for i := range out {
			if out[i].Offset < table.Offset(from) || err == nil && out[i].Offset >= next {
				t.Fatalf("offset %d outside [%d,%d)", out[i].Offset, from, next)
			}
		}
	})
}
