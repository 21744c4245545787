package logstore_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"dtstore/logstore"
	"dtstore/table"

	"github.com/google/uuid"
)

func TestAppendAndRead(t *testing.T) {
	l := open(t, brokers(t))
	topic := create(t, l, 1)
	for i := range 3 {
		spans := mustAppend(t, l, put(topic, fmt.Sprint("v", i), 0))
		if want := (table.Span{From: table.Offset(i), To: table.Offset(i + 1)}); spans[0].Span != want {
			t.Fatalf("span %v, want %v", spans[0].Span, want)
		}
	}
	if got := readTo(t, l, topic, 0, 0, 3); !slices.Equal(got, []string{"0:v0", "1:v1", "2:v2"}) {
		t.Fatal(got)
	}
	if got := readTo(t, l, topic, 0, 1, 3); !slices.Equal(got, []string{"1:v1", "2:v2"}) {
		t.Fatal(got)
	}
	bounds, err := l.Bounds(t.Context(), topic)
	if err != nil || bounds[0] != (logstore.Bound{Low: 0, Stable: 3, High: 3}) {
		t.Fatal(bounds, err)
	}
}

func TestTwoBucketsAreOneTransaction(t *testing.T) {
	l := open(t, brokers(t))
	topic := create(t, l, 3)
	for i := range 4 {
		mustAppend(t, l, put(topic, fmt.Sprint("v", i), 0, 2))
	}
	h, err := l.Horizon(t.Context(), []logstore.Topic{topic})
	if err != nil || !slices.Equal(h[topic.ID], []table.Offset{8, 0, 8}) {
		t.Fatal(h, err)
	}
	want := []string{"0:v0", "1!", "2:v1", "3!", "4:v2", "5!", "6:v3", "7!"}
	for _, b := range []table.Bucket{0, 2} {
		if got := readTo(t, l, topic, b, 0, 8); !slices.Equal(got, want) {
			t.Fatal(got)
		}
	}
}

func TestManyAtOnce(t *testing.T) {
	l := open(t, brokers(t))
	topic := create(t, l, 4)
	var wg sync.WaitGroup
	for s := range 32 {
		wg.Go(func() {
			for i := range 20 {
				a := put(topic, fmt.Sprintf("s%d-%d", s, i), table.Bucket(s%4))
				if i%5 == 0 {
					a = put(topic, fmt.Sprintf("s%d-%d", s, i), table.Bucket(s%4), table.Bucket((s+1)%4))
				}
				if _, err := l.Append(t.Context(), a); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	h, err := l.Horizon(t.Context(), []logstore.Topic{topic})
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]int{}
	for b, to := range h[topic.ID] {
		for _, s := range readTo(t, l, topic, table.Bucket(b), 0, to) {
			if _, v, ok := strings.Cut(s, ":"); ok {
				seen[v]++
			}
		}
	}
	for s := range 32 {
		for i := range 20 {
			want := 1
			if i%5 == 0 {
				want = 2
			}
			if got := seen[fmt.Sprintf("s%d-%d", s, i)]; got != want {
				t.Errorf("s%d-%d: %d times, want %d", s, i, got, want)
			}
		}
	}
}

func TestBigAppend(t *testing.T) {
	l := open(t, brokers(t))
	topic := create(t, l, 2)
	a := logstore.Append{ID: uuid.NewString(), Parts: []logstore.Part{{Topic: topic, Bucket: 0}, {Topic: topic, Bucket: 1}}}
	value := strings.Repeat("x", 1000)
	for range 12_000 {
		a.Parts[0].Records = append(a.Parts[0].Records, rec(a.ID, "k", value))
	}
	a.Parts[1].More = func(yield func([]logstore.Record, error) bool) {
		for range 3 {
			if !yield([]logstore.Record{rec(a.ID, "m", "m"), rec(a.ID, "n", "n")}, nil) {
				return
			}
		}
	}
	spans := mustAppend(t, l, a)
	if spans[0].Span != (table.Span{From: 0, To: 12_000}) || spans[1].Span != (table.Span{From: 0, To: 6}) {
		t.Fatal(spans)
	}
	if got := readTo(t, l, topic, 0, 0, 12_001); len(got) != 12_001 {
		t.Fatal(len(got))
	}
	a.ID, a.Parts[0].Records = uuid.NewString(), a.Parts[0].Records[:1]
	a.Parts[1].More = func(yield func([]logstore.Record, error) bool) { yield(nil, errors.New("spool is gone")) }
	if _, err := l.Append(t.Context(), a); !errors.Is(err, logstore.ErrNo) || !strings.Contains(err.Error(), "spool is gone") {
		t.Fatal(err)
	}
	mustAppend(t, l, put(topic, "after", 0)) // visible: the abort does not hold it back
}

func TestTopics(t *testing.T) {
	addrs := brokers(t)
	l := open(t, addrs)
	topic := create(t, l, 2)
	again, err := l.CreateTopic(t.Context(), topic.Name, 2, logstore.TopicOptions{})
	if err != nil || again != topic {
		t.Fatal(again, err)
	}
	if found, err := l.Topic(t.Context(), topic.Name); err != nil || found != topic {
		t.Fatal(found, err)
	}
	if _, err := l.CreateTopic(t.Context(), topic.Name, 3, logstore.TopicOptions{}); table.SQLState(err) != "42P07" {
		t.Fatal(err)
	}
	if _, err := l.CreateTopic(t.Context(), strings.Replace(topic.Name, "-", ".", 1), 1, logstore.TopicOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := l.CreateTopic(t.Context(), strings.Replace(topic.Name, "-", "_", 1), 1, logstore.TopicOptions{}); table.SQLState(err) != "42P07" {
		t.Fatal(err)
	}
	mustAppend(t, l, put(topic, "v", 1))
	if _, err := l.CreateTopic(t.Context(), topic.Name, 2, logstore.TopicOptions{}); table.SQLState(err) != "42P07" {
		t.Fatal(err)
	}
	if err := l.DeleteTopic(t.Context(), topic); err != nil {
		t.Fatal(err)
	}
	if err := l.DeleteTopic(t.Context(), topic); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Append(t.Context(), put(topic, "v", 1)); !errors.Is(err, logstore.ErrNo) || !errors.Is(err, logstore.ErrNoTopic) {
		t.Fatal(err)
	}
	next, err := l.CreateTopic(t.Context(), topic.Name, 2, logstore.TopicOptions{})
	if err != nil || next.ID == topic.ID {
		t.Fatal(next, err)
	}
	if _, err := l.Append(t.Context(), put(topic, "v", 1)); !errors.Is(err, logstore.ErrNoTopic) {
		t.Fatal(err)
	}
	mustAppend(t, l, put(next, "v", 1))
	if _, err := l.Topic(t.Context(), "nowhere"); !errors.Is(err, logstore.ErrNoTopic) {
		t.Fatal(err)
	}
}

func TestTopicName(t *testing.T) {
	for _, c := range [][3]string{{"public", "flights", "p-public.flights"}, {"a b", "É_1", "p-a-20b.-c3-89_1"}, {"x", "a-b", "p-x.a-2db"}} {
		if got, err := logstore.TopicName("p-", c[0], c[1]); err != nil || got != c[2] {
			t.Errorf("%q.%q: %q %v", c[0], c[1], got, err)
		}
	}
	if _, err := logstore.TopicName("", "d", strings.Repeat("t", 300)); table.SQLState(err) != "42622" {
		t.Error(err)
	}
}

func TestTrim(t *testing.T) {
	l := open(t, brokers(t))
	topic := create(t, l, 1)
	for i := range 5 {
		mustAppend(t, l, put(topic, fmt.Sprint("v", i), 0))
	}
	if err := l.Trim(t.Context(), topic, map[table.Bucket]table.Offset{0: 3}); err != nil {
		t.Fatal(err)
	}
	if got := readTo(t, l, topic, 0, 3, 5); !slices.Equal(got, []string{"3:v3", "4:v4"}) {
		t.Fatal(got)
	}
	if _, err := l.Read(t.Context(), topic, 0, 2); !errors.Is(err, logstore.ErrTrimmed) || !strings.Contains(err.Error(), "offsets 2 to 2 are gone") || table.SQLState(err) != "72000" {
		t.Fatal(err)
	}
	if _, err := l.Read(t.Context(), topic, 0, 6); !errors.Is(err, logstore.ErrAhead) {
		t.Fatal(err)
	}
	if err := l.Trim(t.Context(), topic, map[table.Bucket]table.Offset{0: 1000}); err != nil {
		t.Fatal(err)
	}
	if b, err := l.Bounds(t.Context(), topic); err != nil || b[0].Low != 4 || b[0].High != 5 {
		t.Fatal(b, err)
	}
	if err := l.Trim(t.Context(), topic, map[table.Bucket]table.Offset{0: 2}); err != nil {
		t.Fatal(err)
	}
}

// With a reader on every bucket a horizon asks nobody, and shows at once what
// was acknowledged.
func TestHorizonFromReaders(t *testing.T) {
	var c cutter
	l := open(t, brokers(t), c.option)
	topic := create(t, l, 2)
	for b := range table.Bucket(2) {
		r, err := l.Read(t.Context(), topic, b, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
	}
	const keyListOffsets = 2
	for { // until both readers had an answer
		c.set(keyListOffsets, pass)
		if _, err := l.Horizon(t.Context(), []logstore.Topic{topic}); err != nil {
			t.Fatal(err)
		}
		c.set(keyListOffsets, cutBefore)
		if _, err := l.Horizon(t.Context(), []logstore.Topic{topic}); err == nil {
			break
		}
	}
	for i := range table.Offset(50) {
		mustAppend(t, l, put(topic, "v", 0, 1))
		h, err := l.Horizon(t.Context(), []logstore.Topic{topic})
		if err != nil || h[topic.ID][0] < 2*i+1 || h[topic.ID][1] < 2*i+1 {
			t.Fatal(i, h, err)
		}
	}
	if c.cuts.Load() != 0 {
		t.Error("asked a broker")
	}
}
