package main

import (
	"context"

	"dtstore/bucket"
	"dtstore/catalog"
	"dtstore/logstore"
	"dtstore/logstore/embedded"
	"dtstore/session"
	"dtstore/table"
)

// embeddedLog is the in-process Kafka as logstore wants it.
type embeddedLog struct{ s *embedded.Server }

func (e embeddedLog) Sync(ctx context.Context, parts []logstore.Written) error {
	out := make([]embedded.TopicPartition, len(parts))
	for i, p := range parts {
		out[i] = embedded.TopicPartition{Topic: p.Topic.Name, Partition: int32(p.Bucket)}
	}
	return e.s.Sync(ctx, out)
}

func (e embeddedLog) Note(ctx context.Context, n logstore.Note) error {
	return e.s.Note(ctx, noteOf(n))
}

func (e embeddedLog) Ended(ctx context.Context, n logstore.Note) error {
	return e.s.Ended(ctx, noteOf(n))
}

func (e embeddedLog) Broken() error { return e.s.Broken() }

func noteOf(n logstore.Note) embedded.Note {
	out := embedded.Note{ProducerID: n.ProducerID, ProducerEpoch: n.ProducerEpoch, Parts: make([]embedded.NotedPart, len(n.Parts))}
	for i, p := range n.Parts {
		out.Parts[i] = embedded.NotedPart{Topic: p.Topic.Name, TopicID: string(p.Topic.ID), Partition: int32(p.Bucket), Last: int64(p.Span.To) - 1}
	}
	return out
}

// syncFlushed makes what was read of some log partitions durable, before a
// snapshot covers it.
func (e embeddedLog) syncFlushed(ctx context.Context, t logstore.Topic, buckets []table.Bucket) error {
	parts := make([]embedded.TopicPartition, len(buckets))
	for i, b := range buckets {
		parts[i] = embedded.TopicPartition{Topic: t.Name, Partition: int32(b)}
	}
	return e.s.Sync(ctx, parts)
}

// keeper is the owner of buckets as sessions see it. What a statement asks for
// before the start has come to its table is adopted first.
type keeper struct {
	*bucket.Owner
	tables *adoption
}

func (k keeper) Adopt(t *catalog.Table) { k.tables.now(t) }

func (k keeper) Release(id logstore.TopicID) { k.tables.release(id) }

func (k keeper) Checkpoint(ctx context.Context, t *catalog.Table, horizon []table.Offset) error {
	k.tables.early(t)
	return k.Owner.Checkpoint(ctx, t, horizon)
}

func (k keeper) Compact(ctx context.Context, t *catalog.Table) (session.CompactReport, error) {
	k.tables.early(t)
	r, err := k.Owner.Compact(ctx, t)
	return session.CompactReport(r), err
}

func (k keeper) Status(id logstore.TopicID) ([]session.BucketStatus, bool) {
	ss, ok := k.Owner.Status(id)
	out := make([]session.BucketStatus, len(ss))
	for i, s := range ss {
		out[i] = session.BucketStatus(s)
	}
	return out, ok
}
