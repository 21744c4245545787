package logstore_test

import (
	"context"
	"slices"
	"testing"

	"dtstore/logstore"
	"dtstore/logstore/embedded"
	"dtstore/table"
)

// overEmbedded joins the embedded log to a Log, as the server does.
type overEmbedded struct{ *embedded.Server }

func (s overEmbedded) Sync(ctx context.Context, parts []logstore.Written) error {
	tps := make([]embedded.TopicPartition, len(parts))
	for i, p := range parts {
		tps[i] = embedded.TopicPartition{Topic: p.Topic.Name, Partition: int32(p.Bucket)}
	}
	return s.Server.Sync(ctx, tps)
}

func noteOf(n logstore.Note) embedded.Note {
	out := embedded.Note{ProducerID: n.ProducerID, ProducerEpoch: n.ProducerEpoch}
	for _, p := range n.Parts {
		out.Parts = append(out.Parts, embedded.NotedPart{Topic: p.Topic.Name, TopicID: string(p.Topic.ID), Partition: int32(p.Bucket), Last: int64(p.Span.To) - 1})
	}
	return out
}

func (s overEmbedded) Note(ctx context.Context, n logstore.Note) error {
	return s.Server.Note(ctx, noteOf(n))
}
func (s overEmbedded) Ended(ctx context.Context, n logstore.Note) error {
	return s.Server.Ended(ctx, noteOf(n))
}

func TestOverTheEmbeddedLog(t *testing.T) {
	dir := t.TempDir()
	var topic logstore.Topic
	for life := range 3 {
		s, err := embedded.Open(t.Context(), embedded.Options{Dir: dir, Listen: "127.0.0.1:0"})
		if err != nil {
			t.Fatal(err)
		}
		l, err := logstore.Open(t.Context(), logstore.Options{Brokers: []string{s.Addr()}, InstanceID: "one", Embedded: overEmbedded{s}})
		if err != nil {
			t.Fatal(err)
		}
		if life == 0 {
			topic = create(t, l, 2)
		}
		mustAppend(t, l, put(topic, "plain", 0))
		spans := mustAppend(t, l, put(topic, "both", 0, 1))
		if err := l.Trim(t.Context(), topic, map[table.Bucket]table.Offset{0: spans[0].Span.From}); err != nil {
			t.Fatal(err)
		}
		if got := values(readTo(t, l, topic, 0, spans[0].Span.From, spans[0].Span.To)); !slices.Equal(got, []string{"both"}) {
			t.Fatal(got)
		}
		if got := values(readTo(t, l, topic, 1, 0, spans[1].Span.To)); len(got) != life+1 {
			t.Fatal(got)
		}
		if want := table.Offset(3*life + 1); spans[0].Span.From != want {
			t.Fatalf("life %d: at %v, want %d", life, spans[0].Span, want)
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
