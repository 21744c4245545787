package logstore_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"dtstore/logstore"
	"dtstore/table"

	"github.com/google/uuid"
	"github.com/twmb/franz-go/pkg/kgo"
)

func transact(t *testing.T, cl *kgo.Client, topic logstore.Topic, value string, end kgo.TransactionEndTry) {
	t.Helper()
	if err := cl.BeginTransaction(); err != nil {
		t.Fatal(err)
	}
	if err := cl.ProduceSync(t.Context(), &kgo.Record{Topic: topic.Name, Value: []byte(value)}).FirstErr(); err != nil {
		t.Fatal(err)
	}
	if err := cl.EndTransaction(t.Context(), end); err != nil {
		t.Fatal(err)
	}
}

func awaitStable(t *testing.T, l *logstore.Log, topic logstore.Topic, want table.Offset) {
	t.Helper()
	for range 2000 {
		b, err := l.Bounds(t.Context(), topic)
		if err != nil {
			t.Fatal(err)
		}
		if b[0].Stable >= want {
			return
		}
		time.Sleep(time.Millisecond)
	}
	t.Fatalf("last stable offset never reached %d", want)
}

// Case B31: commit, abort, commit by one producer: records at 0, 2, 4, markers
// at 1, 3, 5.
func TestAbortedTransactionsAndMarkers(t *testing.T) {
	addrs := brokers(t)
	l := open(t, addrs)
	topic := create(t, l, 1)
	cl := client(t, addrs, kgo.TransactionalID(uuid.NewString()))
	transact(t, cl, topic, "tx1", kgo.TryCommit)
	transact(t, cl, topic, "tx2", kgo.TryAbort)
	transact(t, cl, topic, "tx3", kgo.TryCommit)
	awaitStable(t, l, topic, 6)
	for from, want := range [][]string{{"0:tx1", "1!", "3!", "4:tx3", "5!"}, {"1!", "3!", "4:tx3", "5!"}, {"3!", "4:tx3", "5!"}, {"3!", "4:tx3", "5!"}, {"4:tx3", "5!"}, {"5!"}} {
		if got := readTo(t, l, topic, 0, table.Offset(from), 6); !slices.Equal(got, want) {
			t.Errorf("from %d: %v, want %v", from, got, want)
		}
	}
	// (e) an open transaction: readers stop before it, then see it once.
	r, err := l.Read(t.Context(), topic, 0, 6)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if err := cl.BeginTransaction(); err != nil {
		t.Fatal(err)
	}
	if err := cl.ProduceSync(t.Context(), &kgo.Record{Topic: topic.Name, Value: []byte("open")}).FirstErr(); err != nil {
		t.Fatal(err)
	}
	plain := client(t, addrs)
	if err := plain.ProduceSync(t.Context(), &kgo.Record{Topic: topic.Name, Value: []byte("plain")}).FirstErr(); err != nil {
		t.Fatal(err)
	}
	short, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	if b, err := r.Next(short); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("%v %v: read past an open transaction", b, err)
	}
	cancel()
	if err := cl.EndTransaction(t.Context(), kgo.TryCommit); err != nil {
		t.Fatal(err)
	}
	var got []string
	for next := table.Offset(6); next < 9; {
		b, err := r.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range b.Records {
			got = append(got, string(f.Value))
		}
		next = b.Next
	}
	if !slices.Equal(got, []string{"open", "plain", ""}) {
		t.Fatal(got)
	}
}

// An answer waits for a foreign open transaction before it; the horizon does not.
func TestAnswerWaitsForTheLastStableOffset(t *testing.T) {
	addrs := brokers(t)
	l := open(t, addrs)
	topic := create(t, l, 1)
	other := create(t, l, 1)
	cl := client(t, addrs, kgo.TransactionalID(uuid.NewString()))
	if err := cl.BeginTransaction(); err != nil {
		t.Fatal(err)
	}
	if err := cl.ProduceSync(t.Context(), &kgo.Record{Topic: topic.Name, Value: []byte("open")}).FirstErr(); err != nil {
		t.Fatal(err)
	}
	short, cancel := context.WithTimeout(t.Context(), 150*time.Millisecond)
	defer cancel()
	if _, err := l.Append(short, put(topic, "behind", 0)); !errors.Is(err, logstore.ErrUnknown) || !errors.Is(err, context.DeadlineExceeded) {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() {
		_, err := l.Append(t.Context(), put(topic, "patient", 0))
		done <- err
	}()
	for {
		b, err := l.Bounds(t.Context(), topic)
		if err != nil {
			t.Fatal(err)
		}
		if b[0].High == 3 {
			break // it was appended
		}
	}
	mustAppend(t, l, put(other, "elsewhere", 0)) // nobody else waits
	if h, err := l.Horizon(t.Context(), []logstore.Topic{topic, other}); err != nil || h[topic.ID][0] != 0 || h[other.ID][0] != 1 {
		t.Fatal(h, err)
	}
	select {
	case err := <-done:
		t.Fatalf("answered before readers can see it: %v", err)
	default:
	}
	if err := cl.EndTransaction(t.Context(), kgo.TryAbort); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if got := readTo(t, l, topic, 0, 0, 4); !slices.Equal(got, []string{"1:behind", "2:patient", "3!"}) {
		t.Fatal(got)
	}
}

// A reader of every codec and of batches with several records, from the middle.
func TestCompressedBatches(t *testing.T) {
	addrs := brokers(t)
	l := open(t, addrs)
	topic := create(t, l, 1)
	next := table.Offset(0)
	for _, codec := range []kgo.CompressionCodec{kgo.NoCompression(), kgo.GzipCompression(), kgo.SnappyCompression(), kgo.Lz4Compression(), kgo.ZstdCompression()} {
		cl := client(t, addrs, kgo.ProducerBatchCompression(codec), kgo.ProducerLinger(20*time.Millisecond))
		var rs []*kgo.Record
		for range 50 {
			rs = append(rs, &kgo.Record{Topic: topic.Name, Value: []byte("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"), Headers: []kgo.RecordHeader{{Key: "h", Value: []byte("v")}}})
		}
		if err := cl.ProduceSync(t.Context(), rs...).FirstErr(); err != nil {
			t.Fatal(err)
		}
		next += 50
	}
	for _, from := range []table.Offset{0, 7, 60, 249} {
		if got := readTo(t, l, topic, 0, from, next); len(got) != int(next-from) {
			t.Fatalf("from %d: %d records", from, len(got))
		}
	}
}
