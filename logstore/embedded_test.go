package logstore_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"dtstore/logstore"
	"dtstore/table"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"
)

// hooks is an Embedded that writes down what it was asked.
type hooks struct {
	mu     sync.Mutex
	calls  []string
	broken error
	fail   error // of Sync and Note
}

func (h *hooks) note(format string, args ...any) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.calls = append(h.calls, fmt.Sprintf(format, args...))
	return h.fail
}

func (h *hooks) Sync(_ context.Context, parts []logstore.Written) error {
	return h.note("sync %d %v", parts[0].Bucket, parts[0].Span)
}

func (h *hooks) Note(_ context.Context, n logstore.Note) error {
	slices.SortFunc(n.Parts, func(a, b logstore.Written) int { return int(a.Bucket - b.Bucket) })
	return h.note("note %v %v", n.Parts[0].Span, n.Parts[1].Span)
}

func (h *hooks) Ended(context.Context, logstore.Note) error { return nil }

func (h *hooks) Broken() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.broken
}

func (h *hooks) take() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	c := h.calls
	h.calls = nil
	return c
}

func hooked(t *testing.T) (*kfake.Cluster, *hooks, *logstore.Log) {
	c, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.MaxVersions(kversion.V3_7_0()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	h := &hooks{}
	return c, h, open(t, c.ListenAddrs(), func(o *logstore.Options) { o.Embedded = h })
}

func TestEmbeddedSyncsBeforeItAnswers(t *testing.T) {
	c, h, l := hooked(t)
	topic := create(t, l, 2)
	c.ControlKey(keyEndTxn, func(kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		_ = h.note("end")
		return nil, nil, false
	})
	mustAppend(t, l, put(topic, "a", 1))
	if got := h.take(); !slices.Equal(got, []string{"sync 1 [0,1)"}) {
		t.Fatal(got)
	}
	mustAppend(t, l, put(topic, "b", 0, 1))
	if got := h.take(); !slices.Equal(got, []string{"note [0,1) [1,2)", "end"}) {
		t.Fatal(got)
	}
	h.fail = errors.New("disk is full")
	if _, err := l.Append(t.Context(), put(topic, "c", 0)); !errors.Is(err, logstore.ErrUnknown) {
		t.Fatal(err)
	}
	h.take()
	if _, err := l.Append(t.Context(), put(topic, "d", 0, 1)); !errors.Is(err, logstore.ErrUnknown) {
		t.Fatal(err)
	}
	if got := h.take(); len(got) != 1 {
		t.Fatal(got, "a transaction without a note must not be ended")
	}
	h.broken = errors.New("persist failed")
	for _, a := range []logstore.Append{put(topic, "e", 0), put(topic, "e", 0, 1)} {
		if _, err := l.Append(t.Context(), a); !errors.Is(err, logstore.ErrNo) || table.SQLState(err) != "58030" {
			t.Fatal(err)
		}
	}
}

// A write that the embedded log failed is never sent again: the second time it
// would be acknowledged with nothing on disk.
func TestEmbeddedFailureIsNotResent(t *testing.T) {
	c, h, l := hooked(t)
	topic := create(t, l, 2)
	mustAppend(t, l, put(topic, "a", 0, 1))
	sent := 0
	c.ControlKey(keyProduce, func(kreq kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		sent++
		req := kreq.(*kmsg.ProduceRequest)
		resp := req.ResponseKind().(*kmsg.ProduceResponse)
		for _, rt := range req.Topics {
			st := kmsg.NewProduceResponseTopic()
			st.Topic, st.TopicID = rt.Topic, rt.TopicID
			for _, rp := range rt.Partitions {
				sp := kmsg.NewProduceResponseTopicPartition()
				sp.Partition, sp.ErrorCode = rp.Partition, kerr.UnknownServerError.Code
				st.Partitions = append(st.Partitions, sp)
			}
			resp.Topics = append(resp.Topics, st)
		}
		h.mu.Lock()
		h.broken = errors.New("persist failed")
		h.mu.Unlock()
		return resp, nil, true
	})
	if _, err := l.Append(t.Context(), put(topic, "b", 0)); !errors.Is(err, logstore.ErrUnknown) || sent != 1 {
		t.Fatal(err, sent)
	}
	if _, err := l.Append(t.Context(), put(topic, "c", 0)); !errors.Is(err, logstore.ErrNo) || sent != 1 {
		t.Fatal(err, sent)
	}
}
