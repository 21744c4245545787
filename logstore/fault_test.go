package logstore_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"dtstore/logstore"
	"dtstore/table"

	"github.com/google/uuid"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Kafka's request keys.
const (
	keyProduce = 0
	keyEndTxn  = 26
)

// cutter stands between a client and its broker.
type cutter struct {
	key    atomic.Int32 // requests of this key are cut
	mode   atomic.Int32
	cuts   atomic.Int32
	down   atomic.Bool // nothing can be dialled, nothing written
	atCut  func()      // runs once, at the first cut
	once   sync.Once
	mu     sync.Mutex
	conns  map[net.Conn]struct{}
	dialed atomic.Int32
}

const (
	pass      = iota
	cutBefore // the request never leaves
	cutOnce   // it arrives, its answer is lost; once
	cutAfter  // the same, every time
)

func (c *cutter) set(key, mode int32) { c.key.Store(key); c.mode.Store(mode); c.cuts.Store(0) }

func (c *cutter) dial(ctx context.Context, network, host string) (net.Conn, error) {
	if c.down.Load() {
		return nil, &net.OpError{Op: "dial", Net: network, Err: errors.New("refused by the test")}
	}
	conn, err := (&net.Dialer{}).DialContext(ctx, network, host)
	if err != nil {
		return nil, err
	}
	c.dialed.Add(1)
	cc := &cutConn{Conn: conn, c: c}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.conns == nil {
		c.conns = map[net.Conn]struct{}{}
	}
	c.conns[conn] = struct{}{}
	return cc, nil
}

func (c *cutter) shut() {
	c.down.Store(true)
	c.mu.Lock()
	defer c.mu.Unlock()
	for conn := range c.conns {
		conn.Close()
	}
	clear(c.conns)
}

func (c *cutter) option(o *logstore.Options) {
	o.ClientOptions = append(o.ClientOptions, kgo.Dialer(c.dial))
	o.Timeout = time.Second
}

type cutConn struct {
	net.Conn
	c    *cutter
	lost atomic.Bool // its answers are dropped
}

func (c *cutConn) Write(b []byte) (int, error) {
	if len(b) >= 8 && int32(binary.BigEndian.Uint16(b[4:])) == c.c.key.Load() {
		switch mode := c.c.mode.Load(); mode {
		case cutBefore:
			c.c.cuts.Add(1)
			c.Conn.Close()
			return 0, net.ErrClosed
		case cutOnce, cutAfter:
			if c.c.cuts.Add(1); mode == cutOnce {
				c.c.mode.Store(pass)
			}
			c.lost.Store(true)
			n, err := c.Conn.Write(b)
			buf := make([]byte, 4) // once the answer begins the request is done
			_, _ = c.Conn.Read(buf)
			c.Conn.Close()
			if c.c.atCut != nil {
				c.c.once.Do(c.c.atCut)
			}
			return n, err
		}
	}
	return c.Conn.Write(b)
}

func (c *cutConn) Read(b []byte) (int, error) {
	for c.lost.Load() {
		return 0, net.ErrClosed
	}
	n, err := c.Conn.Read(b)
	if c.lost.Load() {
		return 0, net.ErrClosed
	}
	return n, err
}

func TestLostAnswerOfAPlainBatch(t *testing.T) {
	t.Parallel()
	var c cutter
	addrs := brokers(t)
	l := open(t, addrs, c.option)
	topic := create(t, l, 1)
	mustAppend(t, l, put(topic, "a", 0))
	c.set(keyProduce, cutOnce)
	mustAppend(t, l, put(topic, "b", 0)) // sent again, answered with its first offset
	if c.cuts.Load() == 0 {
		t.Fatal("nothing was cut")
	}
	c.set(keyProduce, cutAfter)
	_, err := l.Append(t.Context(), put(topic, "c", 0))
	if !errors.Is(err, logstore.ErrUnknown) || table.SQLState(err) != "57P03" {
		t.Fatal(err)
	}
	// The lane is stuck: nothing may overtake the batch, nothing of it is sent.
	if _, err := l.Append(t.Context(), put(topic, "no", 0)); !errors.Is(err, logstore.ErrNo) {
		t.Fatal(err)
	}
	c.set(keyProduce, pass)
	spans := mustAppend(t, l, put(topic, "d", 0))
	if got := readTo(t, l, topic, 0, 0, spans[0].Span.To); !slices.Equal(got, []string{"0:a", "1:b", "2:c", "3:d"}) {
		t.Fatal(got)
	}
}

func TestRequestThatNeverLeaves(t *testing.T) {
	t.Parallel()
	var c cutter
	l := open(t, brokers(t), c.option)
	topic := create(t, l, 2)
	mustAppend(t, l, put(topic, "a", 0, 1))
	c.shut()
	start := time.Now()
	for _, a := range []logstore.Append{put(topic, "no", 0), put(topic, "no", 0, 1)} {
		if _, err := l.Append(t.Context(), a); !errors.Is(err, logstore.ErrNo) || table.SQLState(err) != "57P03" {
			t.Fatal(err)
		}
	}
	if _, err := l.Horizon(t.Context(), []logstore.Topic{topic}); !errors.Is(err, logstore.ErrUnavailable) || table.SQLState(err) != "57P03" {
		t.Fatal(err)
	}
	if d := time.Since(start); d > 10*time.Second {
		t.Fatalf("failing took %v", d)
	}
	c.down.Store(false)
	for {
		_, err := l.Append(t.Context(), put(topic, "b", 0, 1))
		if err == nil {
			break
		}
		if !errors.Is(err, logstore.ErrNo) {
			t.Fatal(err)
		}
	}
	if got := readTo(t, l, topic, 1, 0, 3); !slices.Equal(values(got), []string{"a", "b"}) {
		t.Fatal(got)
	}
}

// values drops offsets and markers.
func values(got []string) []string {
	var out []string
	for _, s := range got {
		if _, v, ok := strings.Cut(s, ":"); ok {
			out = append(out, v)
		}
	}
	return out
}

func TestReaderSurvivesTheBroker(t *testing.T) {
	t.Parallel()
	var c cutter
	addrs := brokers(t)
	l := open(t, addrs, c.option)
	w := open(t, addrs)
	topic := create(t, w, 1)
	if _, err := l.Topic(t.Context(), topic.Name); err != nil {
		t.Fatal(err)
	}
	r, err := l.Read(t.Context(), topic, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	mustAppend(t, w, put(topic, "a", 0))
	if b, err := r.Next(t.Context()); err != nil || len(b.Records) != 1 || b.Next != 1 {
		t.Fatal(b, err)
	}
	c.shut()
	mustAppend(t, w, put(topic, "b", 0))
	if _, err := r.Next(t.Context()); !errors.Is(err, logstore.ErrUnavailable) {
		t.Fatal(err)
	}
	c.down.Store(false)
	for {
		b, err := r.Next(t.Context())
		if errors.Is(err, logstore.ErrUnavailable) {
			continue
		}
		if err != nil || len(b.Records) != 1 || string(b.Records[0].Value) != "b" {
			t.Fatal(b, err)
		}
		return
	}
}

func TestLostAnswerOfACommit(t *testing.T) {
	t.Parallel()
	var c cutter
	l := open(t, brokers(t), c.option)
	topic := create(t, l, 2)
	mustAppend(t, l, put(topic, "a", 0, 1))
	c.set(keyEndTxn, cutOnce)
	mustAppend(t, l, put(topic, "b", 0, 1))
	c.set(keyEndTxn, cutAfter)
	if _, err := l.Append(t.Context(), put(topic, "c", 0, 1)); !errors.Is(err, logstore.ErrUnknown) {
		t.Fatal(err)
	}
	c.set(keyEndTxn, cutBefore)
	if _, err := l.Append(t.Context(), put(topic, "d", 0, 1)); !errors.Is(err, logstore.ErrUnknown) {
		t.Fatal(err)
	}
	// Both producers wait for their answers: a third has nothing to go with.
	if _, err := l.Append(t.Context(), put(topic, "no", 0, 1)); !errors.Is(err, logstore.ErrNo) {
		t.Fatal(err)
	}
	c.set(keyEndTxn, pass)
	for {
		if _, err := l.Append(t.Context(), put(topic, "e", 0, 1)); err == nil {
			break
		} else if !errors.Is(err, logstore.ErrNo) {
			t.Fatal(err)
		}
	}
	h, err := l.Horizon(t.Context(), []logstore.Topic{topic})
	if err != nil {
		t.Fatal(err)
	}
	for b := range table.Bucket(2) {
		if got := values(readTo(t, l, topic, b, 0, h[topic.ID][b])); !slices.Equal(got, []string{"a", "b", "c", "d", "e"}) {
			t.Fatal(got)
		}
	}
}

// The answer is lost, and before anybody can ask again the producer is fenced:
// only the log knows.
func TestFencedAfterALostAnswer(t *testing.T) {
	t.Parallel()
	for _, mode := range []int32{cutOnce, cutBefore} {
		var c cutter
		addrs := brokers(t)
		id := uuid.NewString()
		l := open(t, addrs, c.option, func(o *logstore.Options) { o.InstanceID = id; o.Timeout = 3 * time.Second })
		topic := create(t, l, 2)
		fence := func() {
			for _, slot := range []string{"a", "b"} {
				req := kmsg.NewPtrInitProducerIDRequest()
				txid := "dtstore-" + id + "-" + slot
				req.TransactionalID, req.TransactionTimeoutMillis, req.ProducerID, req.ProducerEpoch = &txid, 10000, -1, -1
				if _, err := req.RequestWith(context.Background(), client(t, addrs)); err != nil {
					t.Error(err)
				}
			}
		}
		mustAppend(t, l, put(topic, "a", 0, 1))
		want := []string{"a", "b", "c"}
		if mode == cutOnce {
			c.atCut = fence
			c.set(keyEndTxn, cutOnce)
			mustAppend(t, l, put(topic, "b", 0, 1)) // committed before it was fenced
		} else {
			want = []string{"a", "c"}
			c.set(keyEndTxn, cutBefore)
			done := make(chan error, 1)
			go func() {
				_, err := l.Append(t.Context(), put(topic, "b", 0, 1))
				done <- err
			}()
			for c.cuts.Load() == 0 {
				time.Sleep(time.Millisecond)
			}
			fence() // aborts it
			c.set(keyEndTxn, pass)
			if err := <-done; !errors.Is(err, logstore.ErrNo) {
				t.Fatal(err)
			}
		}
		spans := mustAppend(t, l, put(topic, "c", 0, 1))
		if got := values(readTo(t, l, topic, 1, 0, spans[1].Span.To)); !slices.Equal(got, want) {
			t.Fatal(mode, got)
		}
	}
}

// A restart ends its predecessor's open transaction at once.
func TestPredecessorsTransactionEnds(t *testing.T) {
	addrs := brokers(t)
	id := uuid.NewString()
	topic := create(t, open(t, addrs), 1)
	cl := client(t, addrs, kgo.TransactionalID("p-dtstore-"+id+"-b"))
	if err := cl.BeginTransaction(); err != nil {
		t.Fatal(err)
	}
	if err := cl.ProduceSync(t.Context(), &kgo.Record{Topic: topic.Name, Value: []byte("orphan")}).FirstErr(); err != nil {
		t.Fatal(err)
	}
	l := open(t, addrs, func(o *logstore.Options) { o.InstanceID, o.Prefix = id, "p-" })
	if _, err := l.Topic(t.Context(), topic.Name); err != nil {
		t.Fatal(err)
	}
	mustAppend(t, l, put(topic, "v", 0))
	if got := values(readTo(t, l, topic, 0, 0, 3)); !slices.Equal(got, []string{"v"}) {
		t.Fatal(got)
	}
}

func TestNobodyThere(t *testing.T) {
	_, err := logstore.Open(t.Context(), logstore.Options{Brokers: []string{"127.0.0.1:1"}, InstanceID: "x", Timeout: 300 * time.Millisecond})
	if !errors.Is(err, logstore.ErrUnavailable) || !strings.Contains(err.Error(), "127.0.0.1:1") {
		t.Fatal(err)
	}
	if _, err := logstore.Open(t.Context(), logstore.Options{Timeout: -1}); err == nil || !strings.Contains(err.Error(), "brokers") || !strings.Contains(err.Error(), "timeout") {
		t.Fatal(err)
	}
}

// One statement, one batch: no statement is ever split over two.
func TestStatementsStayWhole(t *testing.T) {
	t.Parallel()
	addrs := brokers(t)
	l := open(t, addrs)
	topic := create(t, l, 1)
	var wg sync.WaitGroup
	for s := range 60 {
		wg.Go(func() {
			for i := range 3 {
				a := logstore.Append{ID: uuid.NewString(), Parts: []logstore.Part{{Topic: topic}}}
				rows, size := 1+(s*37+i*11)%200, 100
				if s%20 == 0 {
					rows, size = 75, 100_000 // near the limit
				}
				for range rows {
					a.Parts[0].Records = append(a.Parts[0].Records, rec(a.ID, fmt.Sprintf("s%d-%d", s, i), strings.Repeat("x", size)))
				}
				if _, err := l.Append(t.Context(), a); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	end, err := l.Bounds(t.Context(), topic)
	if err != nil {
		t.Fatal(err)
	}
	where := map[string]map[int]bool{} // statement -> its batches
	batches := 0
	for from := int64(0); from < int64(end[0].High); {
		req := kmsg.NewPtrFetchRequest()
		req.MaxBytes, req.MaxWaitMillis, req.MinBytes, req.SessionEpoch = 64<<20, 0, 0, -1
		rt := kmsg.NewFetchRequestTopic()
		rt.Topic, rt.TopicID = topic.Name, uuid.MustParse(string(topic.ID))
		rp := kmsg.NewFetchRequestTopicPartition()
		rp.FetchOffset, rp.PartitionMaxBytes, rp.CurrentLeaderEpoch = from, 32<<20, -1
		rt.Partitions = append(rt.Partitions, rp)
		req.Topics = append(req.Topics, rt)
		resp, err := req.RequestWith(t.Context(), client(t, addrs, kgo.BrokerMaxReadBytes(128<<20)))
		if err != nil {
			t.Fatal(err)
		}
		raw := resp.Topics[0].Partitions[0].RecordBatches
		for len(raw) > 61 {
			n := 12 + int(binary.BigEndian.Uint32(raw[8:]))
			if n > len(raw) {
				break
			}
			fp, next := kgo.ProcessFetchPartition(kgo.ProcessFetchPartitionOpts{Offset: from}, &kmsg.FetchResponseTopicPartition{RecordBatches: raw[:n]}, kgo.DefaultDecompressor(), nil)
			for _, r := range fp.Records {
				if where[string(r.Key)] == nil {
					where[string(r.Key)] = map[int]bool{}
				}
				where[string(r.Key)][batches] = true
			}
			batches++
			raw, from = raw[n:], next
		}
	}
	for s, in := range where {
		if len(in) != 1 {
			t.Errorf("statement %s is in %d batches", s, len(in))
		}
	}
	if len(where) != 180 {
		t.Errorf("%d statements", len(where))
	}
}
