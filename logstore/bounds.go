package logstore

import (
	"context"
	"errors"
	"fmt"

	"dtstore/table"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Bound is where one bucket's log begins and ends.
type Bound struct {
	Low    table.Offset // first offset the log still has
	Stable table.Offset // end of what is committed
	High   table.Offset // end of what is replicated
}

// What ListOffsets may be asked for.
const (
	listEnd   = -1
	listStart = -2
)

// Bounds asks where each bucket's log begins and ends.
func (l *Log) Bounds(ctx context.Context, t Topic) ([]Bound, error) {
	bounds := make([]Bound, t.Partitions)
	for _, q := range []struct {
		at        int64
		committed bool
		field     func(*Bound) *table.Offset
	}{
		{listStart, false, func(b *Bound) *table.Offset { return &b.Low }},
		{listEnd, true, func(b *Bound) *table.Offset { return &b.Stable }},
		{listEnd, false, func(b *Bound) *table.Offset { return &b.High }},
	} {
		vectors, err := l.listOffsets(ctx, []Topic{t}, q.at, q.committed)
		if err != nil {
			return nil, err
		}
		for p, o := range vectors[0] {
			*q.field(&bounds[p]) = o
		}
	}
	return bounds, nil
}

// listOffsets asks for one offset of each log partition of the topics, in one
// request per broker. It asks again, within the timeout, while leaders move.
func (l *Log) listOffsets(ctx context.Context, topics []Topic, at int64, committed bool) ([][]table.Offset, error) {
	ctx, cancel := context.WithTimeout(ctx, l.opts.Timeout)
	defer cancel()
	for try := 0; ; try++ {
		out, err := l.listOnce(ctx, topics, at, committed, try > 0)
		if err == nil || !errors.Is(err, ErrUnavailable) {
			return out, err
		}
		if !pause(ctx, try) {
			return nil, err
		}
	}
}

func (l *Log) listOnce(ctx context.Context, topics []Topic, at int64, committed, stale bool) ([][]table.Offset, error) {
	out := make([][]table.Offset, len(topics))
	byName := make(map[string]int, len(topics))
	reqs := map[int32]*kmsg.ListOffsetsRequest{}
	for i, t := range topics {
		out[i] = make([]table.Offset, t.Partitions)
		byName[t.Name] = i
		for p := range t.Partitions {
			leader, err := l.meta.leader(ctx, t, table.Bucket(p), stale && p == 0)
			if err != nil {
				return nil, err
			}
			req := reqs[leader]
			if req == nil {
				req = kmsg.NewPtrListOffsetsRequest()
				req.ReplicaID = -1
				if committed {
					req.IsolationLevel = 1
				}
				reqs[leader] = req
			}
			if n := len(req.Topics); n == 0 || req.Topics[n-1].Topic != t.Name {
				rt := kmsg.NewListOffsetsRequestTopic()
				rt.Topic = t.Name
				req.Topics = append(req.Topics, rt)
			}
			rp := kmsg.NewListOffsetsRequestTopicPartition()
			rp.Partition, rp.CurrentLeaderEpoch, rp.Timestamp = int32(p), -1, at
			rt := &req.Topics[len(req.Topics)-1]
			rt.Partitions = append(rt.Partitions, rp)
		}
	}
	for leader, req := range reqs {
		kresp, err := l.cl.Broker(int(leader)).Request(ctx, req)
		if err != nil {
			return nil, l.unavailable(err)
		}
		for _, rt := range kresp.(*kmsg.ListOffsetsResponse).Topics {
			i, ok := byName[rt.Topic]
			for _, rp := range rt.Partitions {
				if !ok || rp.Partition < 0 || int(rp.Partition) >= len(out[i]) {
					return nil, fmt.Errorf("list offsets: answer about %s partition %d", rt.Topic, rp.Partition)
				}
				if err := kerr.ErrorForCode(rp.ErrorCode); err != nil {
					return nil, l.unavailable(fmt.Errorf("list offsets of %s partition %d: %w", rt.Topic, rp.Partition, err))
				}
				out[i][rp.Partition] = table.Offset(rp.Offset)
			}
		}
	}
	return out, nil
}

// Trim lets the log forget what lies below the given offsets, but never its
// last record or marker: a log trimmed to its end may begin anew at 0 (seam L1).
// Offsets below the log's start are no error.
func (l *Log) Trim(ctx context.Context, t Topic, below map[table.Bucket]table.Offset) error {
	bounds, err := l.Bounds(ctx, t)
	if err != nil {
		return fmt.Errorf("trim %s: %w", t.Name, err)
	}
	reqs := map[int32]*kmsg.DeleteRecordsRequest{}
	for b, to := range below {
		if b < 0 || int(b) >= len(bounds) {
			return fmt.Errorf("trim %s: no partition %d: %w", t.Name, b, ErrNoTopic)
		}
		to = min(to, bounds[b].Stable-1)
		if to <= bounds[b].Low {
			continue
		}
		leader, err := l.meta.leader(ctx, t, b, false)
		if err != nil {
			return fmt.Errorf("trim %s: %w", t.Name, err)
		}
		req := reqs[leader]
		if req == nil {
			req = kmsg.NewPtrDeleteRecordsRequest()
			req.TimeoutMillis = int32(l.opts.Timeout.Milliseconds())
			rt := kmsg.NewDeleteRecordsRequestTopic()
			rt.Topic = t.Name
			req.Topics = append(req.Topics, rt)
			reqs[leader] = req
		}
		rp := kmsg.NewDeleteRecordsRequestTopicPartition()
		rp.Partition, rp.Offset = int32(b), int64(to)
		req.Topics[0].Partitions = append(req.Topics[0].Partitions, rp)
	}
	for leader, req := range reqs {
		kresp, err := l.cl.Broker(int(leader)).RetriableRequest(ctx, req)
		if err != nil {
			return l.unavailable(err)
		}
		for _, rt := range kresp.(*kmsg.DeleteRecordsResponse).Topics {
			for _, rp := range rt.Partitions {
				if err := kerr.ErrorForCode(rp.ErrorCode); err != nil {
					return fmt.Errorf("trim %s partition %d: %w", rt.Topic, rp.Partition, err)
				}
			}
		}
	}
	return nil
}
