package logstore_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"dtstore/logstore"
	"dtstore/table"

	"github.com/google/uuid"
)

// keyed is put with its key, and a check of it at a horizon if that is not
// negative.
func keyed(topic logstore.Topic, b table.Bucket, key, value string, horizon table.Offset) logstore.Append {
	a := put(topic, value, b)
	a.Keys = [][]table.Key{{table.Key(key)}}
	if horizon >= 0 {
		a.Checks = []logstore.Check{{Topic: topic.ID, Bucket: b, Key: table.Key(key), Horizon: horizon}}
	}
	return a
}

func TestConflicts(t *testing.T) {
	l := open(t, brokers(t))
	topic := create(t, l, 2)
	mustAppend(t, l, keyed(topic, 0, "k", "1", -1))
	h, release, err := l.PinHorizon(t.Context(), []logstore.Topic{topic})
	if err != nil {
		t.Fatal(err)
	}
	at := h[topic.ID][0]
	for i := range 50 { // the pin keeps what changes from here on
		mustAppend(t, l, keyed(topic, 0, fmt.Sprint("other", i), "x", -1))
	}
	mustAppend(t, l, keyed(topic, 0, "k", "2", at))
	_, err = l.Append(t.Context(), keyed(topic, 0, "k", "3", at))
	var conflict *logstore.ConflictError
	if !errors.Is(err, logstore.ErrConflict) || !errors.As(err, &conflict) || len(conflict.Keys) != 1 || conflict.Keys[0].Key != "k" || table.SQLState(err) != "40001" {
		t.Fatal(err)
	}
	a := keyed(topic, 0, "never", "x", at)
	a.Checks = append(a.Checks, logstore.Check{Topic: topic.ID, Bucket: 1, Key: "k", Horizon: 0}) // another bucket's k
	mustAppend(t, l, a)
	// The same through a transaction, and without writing.
	two := put(topic, "4", 0, 1)
	two.Checks = keyed(topic, 0, "k", "", at).Checks
	if _, err := l.Append(t.Context(), two); !errors.Is(err, logstore.ErrConflict) {
		t.Fatal(err)
	}
	if _, err := l.Append(t.Context(), logstore.Append{ID: uuid.NewString(), Checks: two.Checks}); !errors.Is(err, logstore.ErrConflict) {
		t.Fatal(err)
	}
	release()
	release2 := l.Pin(h)
	defer release2()
	// Forgotten changes may conflict, never pass.
	if _, err := l.Append(t.Context(), keyed(topic, 0, "k", "5", at)); !errors.Is(err, logstore.ErrConflict) {
		t.Fatal(err)
	}
	end, err := l.Horizon(t.Context(), []logstore.Topic{topic})
	if err != nil {
		t.Fatal(err)
	}
	mustAppend(t, l, keyed(topic, 0, "k", "6", end[topic.ID][0]))
}

// A big append checks when all is written, and its keys conflict with others.
func TestBigAppendConflicts(t *testing.T) {
	l := open(t, brokers(t))
	topic := create(t, l, 1)
	h, release, err := l.PinHorizon(t.Context(), []logstore.Topic{topic})
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	at := h[topic.ID][0]
	big := keyed(topic, 0, "k", "big", at)
	big.Parts[0].More = func(yield func([]logstore.Record, error) bool) {
		go func() { _, _ = l.Append(t.Context(), keyed(topic, 0, "k", "small", -1)) }()
		for {
			if b, err := l.Bounds(t.Context(), topic); err != nil || b[0].High > 0 {
				break
			}
		}
		yield([]logstore.Record{rec(big.ID, "m", "m")}, nil)
	}
	if _, err := l.Append(t.Context(), big); !errors.Is(err, logstore.ErrConflict) {
		t.Fatal(err)
	}
	big = keyed(topic, 0, "k", "big", -1)
	big.Parts[0].More = func(yield func([]logstore.Record, error) bool) { yield([]logstore.Record{rec(big.ID, "m", "m")}, nil) }
	mustAppend(t, l, big)
	if _, err := l.Append(t.Context(), keyed(topic, 0, "anything", "x", at)); !errors.Is(err, logstore.ErrConflict) {
		t.Fatal("after a big append any key of the bucket may have changed")
	}
}

// Sixteen sessions run n = n + 1 on shared keys: the sum is right, and nobody
// starves.
func TestSharedCounters(t *testing.T) {
	l := open(t, brokers(t))
	topic := create(t, l, 2)
	topics := []logstore.Topic{topic}
	const sessions, rounds, keys = 16, 25, 3
	state := newFold(t, l, topic)
	var rounds2 atomic.Int64
	var wg sync.WaitGroup
	for s := range sessions {
		wg.Go(func() {
			for i := range rounds {
				// Two keys a statement, in one bucket or in two, in either order.
				k1, k2 := (s+i)%keys, (s*3+i*7+1)%keys
				var ticket *logstore.Ticket
				for try := 0; ; try++ {
					h, release, err := l.PinHorizon(t.Context(), topics)
					if err != nil {
						t.Error(err)
						return
					}
					a := logstore.Append{ID: uuid.NewString(), Ticket: ticket}
					byBucket := map[table.Bucket]int{}
					var queue []logstore.QueueKey
					for k := range map[int]bool{k1: true, k2: true} {
						b, key := table.Bucket(k%2), fmt.Sprint("k", k)
						n := state.at(b, key, h[topic.ID][b])
						j, ok := byBucket[b]
						if !ok {
							j = len(a.Parts)
							byBucket[b] = j
							a.Parts, a.Keys = append(a.Parts, logstore.Part{Topic: topic, Bucket: b}), append(a.Keys, nil)
						}
						a.Parts[j].Records = append(a.Parts[j].Records, rec(a.ID, key, strconv.Itoa(n+1)))
						a.Keys[j] = append(a.Keys[j], table.Key(key))
						a.Checks = append(a.Checks, logstore.Check{Topic: topic.ID, Bucket: b, Key: table.Key(key), Horizon: h[topic.ID][b]})
						queue = append(queue, logstore.QueueKey{Topic: topic.ID, Key: table.Key(key)})
					}
					_, err = l.Append(t.Context(), a)
					release()
					if errors.Is(err, logstore.ErrConflict) && try < 10 {
						rounds2.Add(1)
						ticket.Unlock()
						if ticket, err = l.Keys().Lock(t.Context(), queue); err != nil {
							t.Error(err)
							return
						}
						continue
					}
					ticket.Unlock()
					if err != nil {
						t.Errorf("session %d after %d tries: %v", s, try, err)
						return
					}
					break
				}
			}
		})
	}
	wg.Wait()
	h, err := l.Horizon(t.Context(), topics)
	if err != nil {
		t.Fatal(err)
	}
	want := make([]int, keys)
	for s := range sessions {
		for i := range rounds {
			for k := range map[int]bool{(s + i) % keys: true, (s*3 + i*7 + 1) % keys: true} {
				want[k]++
			}
		}
	}
	for k := range keys {
		b := table.Bucket(k % 2)
		if got := state.at(b, fmt.Sprint("k", k), h[topic.ID][b]); got != want[k] {
			t.Errorf("k%d is %d, want %d", k, got, want[k])
		}
	}
	t.Logf("%d statements, %d went round again", sessions*rounds, rounds2.Load())
}

// fold is the newest value of each key as readers see it.
type fold struct {
	mu   sync.Mutex
	cond *sync.Cond
	next [2]table.Offset
	all  [2]map[string][]struct {
		at table.Offset
		n  int
	}
}

func newFold(t *testing.T, l *logstore.Log, topic logstore.Topic) *fold {
	f := &fold{}
	f.cond = sync.NewCond(&f.mu)
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	for b := range f.all {
		f.all[b] = map[string][]struct {
			at table.Offset
			n  int
		}{}
		r, err := l.Read(ctx, topic, table.Bucket(b), 0)
		if err != nil {
			t.Fatal(err)
		}
		wg.Go(func() {
			defer r.Close()
			for {
				batch, err := r.Next(ctx)
				if err != nil {
					return
				}
				f.mu.Lock()
				for _, rec := range batch.Records {
					if rec.Control {
						continue
					}
					n, _ := strconv.Atoi(string(rec.Value))
					f.all[b][string(rec.Key)] = append(f.all[b][string(rec.Key)], struct {
						at table.Offset
						n  int
					}{rec.Offset, n})
				}
				f.next[b] = batch.Next
				f.cond.Broadcast()
				f.mu.Unlock()
			}
		})
	}
	t.Cleanup(func() { cancel(); wg.Wait() })
	return f
}

// at is the key's value below a horizon.
func (f *fold) at(b table.Bucket, key string, below table.Offset) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	for f.next[b] < below {
		f.cond.Wait()
	}
	n := 0
	for _, v := range f.all[b][key] {
		if v.at < below {
			n = v.n
		}
	}
	return n
}

func TestKeyQueue(t *testing.T) {
	l := open(t, brokers(t))
	topic := create(t, l, 1)
	q := l.Keys()
	key := func(names ...string) (keys []logstore.QueueKey) {
		for _, n := range names {
			keys = append(keys, logstore.QueueKey{Topic: topic.ID, Key: table.Key(n)})
		}
		return keys
	}
	t1, err := q.Lock(t.Context(), key("b", "a", "a"))
	if err != nil {
		t.Fatal(err)
	}
	t3, err := q.Lock(t.Context(), key("c"))
	if err != nil {
		t.Fatal(err)
	}
	short, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := q.Lock(short, key("a", "c")); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatal(err)
	}
	if _, err := l.Append(short, keyed(topic, 0, "a", "behind", -1)); !errors.Is(err, logstore.ErrNo) {
		t.Fatal(err) // a later writer of a queued key waits
	}
	mustAppend(t, l, keyed(topic, 0, "z", "free", -1))
	mine := keyed(topic, 0, "a", "mine", -1)
	mine.Ticket = t1
	mustAppend(t, l, mine)
	done := make(chan error)
	go func() {
		_, err := l.Append(t.Context(), keyed(topic, 0, "a", "behind", -1))
		done <- err
	}()
	t1.Unlock()
	t1.Unlock()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	t3.Unlock()
	t4, err := q.Lock(t.Context(), key("a", "b", "c"))
	if err != nil {
		t.Fatal(err)
	}
	t4.Unlock()
}
