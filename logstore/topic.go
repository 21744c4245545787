package logstore

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"dtstore/table"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// TopicID is a topic's id as canonical uuid text: the identity of a log.
type TopicID string

// Topic is the log of one table.
type Topic struct {
	Name       string
	ID         TopicID
	Partitions int
}

// TopicOptions of a new topic. The zero value is what we would use.
type TopicOptions struct {
	SegmentBytes int64 // 0: 16 MB on the embedded log (space comes back in whole segments), else the broker's
	Replication  int   // 0: the broker's default
}

// uuid is a topic id on the wire.
type uuid [16]byte

func (u uuid) text() TopicID {
	var b [36]byte
	hex.Encode(b[0:8], u[0:4])
	hex.Encode(b[9:13], u[4:6])
	hex.Encode(b[14:18], u[6:8])
	hex.Encode(b[19:23], u[8:10])
	hex.Encode(b[24:36], u[10:16])
	b[8], b[13], b[18], b[23] = '-', '-', '-', '-'
	return TopicID(b[:])
}

// parseUUID reads canonical uuid text.
func parseUUID(s string) (u uuid, ok bool) {
	if len(s) != 36 || s[8] != '-' || s[13] != '-' || s[18] != '-' || s[23] != '-' {
		return u, false
	}
	j := 0
	for i := 0; i < 36; i += 2 {
		if s[i] == '-' {
			i++
		}
		hi, lo := unhex(s[i]), unhex(s[i+1])
		if hi > 15 || lo > 15 {
			return uuid{}, false
		}
		u[j] = hi<<4 | lo
		j++
	}
	return u, true
}

func unhex(c byte) byte {
	switch {
	case c >= '0' && c <= '9':
		return c - '0'
	case c >= 'a' && c <= 'f':
		return c - 'a' + 10
	case c >= 'A' && c <= 'F':
		return c - 'A' + 10
	}
	return 255
}

// tp is one log partition, by identity.
type tp struct {
	id   uuid
	part int32
}

// metadata caches topics by id: their name and who leads which partition.
type metadata struct {
	l  *Log
	mu sync.Mutex
	by map[uuid]*topicMeta // entries are replaced, never modified
	// gone are topics that this process deleted: no append may reach them again.
	gone map[uuid]bool
}

type topicMeta struct {
	name    string
	id      uuid
	leaders []int32
}

func (m *metadata) init(l *Log) {
	m.l, m.by, m.gone = l, map[uuid]*topicMeta{}, map[uuid]bool{}
}

// find asks the cluster for a topic by name: ErrNoTopic if there is none.
func (m *metadata) find(ctx context.Context, name string) (*topicMeta, error) {
	req := kmsg.NewPtrMetadataRequest()
	rt := kmsg.NewMetadataRequestTopic()
	rt.Topic = kmsg.StringPtr(name)
	req.Topics = append(req.Topics, rt)
	resp, err := req.RequestWith(ctx, m.l.cl)
	if err != nil {
		return nil, m.l.unavailable(err)
	}
	for _, t := range resp.Topics {
		if t.Topic == nil || *t.Topic != name {
			continue
		}
		switch err := kerr.ErrorForCode(t.ErrorCode); {
		case errors.Is(err, kerr.UnknownTopicOrPartition):
			return nil, fmt.Errorf("topic %s: %w", name, ErrNoTopic)
		case err != nil && !kerr.IsRetriable(err):
			return nil, fmt.Errorf("topic %s: %w", name, err)
		case err != nil:
			return nil, m.l.unavailable(fmt.Errorf("topic %s: %w", name, err))
		}
		tm := &topicMeta{name: name, id: t.TopicID, leaders: make([]int32, len(t.Partitions))}
		for i := range tm.leaders {
			tm.leaders[i] = -1
		}
		for _, p := range t.Partitions {
			if p.Partition >= 0 && int(p.Partition) < len(tm.leaders) {
				tm.leaders[p.Partition] = p.Leader
			}
		}
		m.mu.Lock()
		m.by[tm.id] = tm
		m.mu.Unlock()
		return tm, nil
	}
	return nil, fmt.Errorf("topic %s: %w", name, ErrNoTopic)
}

// leader is the broker that leads a bucket's log partition. With stale it asks
// the cluster again. A topic of that name with another id is ErrNoTopic.
func (m *metadata) leader(ctx context.Context, t Topic, b table.Bucket, stale bool) (int32, error) {
	id, ok := parseUUID(string(t.ID))
	if !ok {
		return 0, fmt.Errorf("topic %s has the id %q: %w", t.Name, t.ID, ErrNoTopic)
	}
	m.mu.Lock()
	tm, gone := m.by[id], m.gone[id]
	m.mu.Unlock()
	if gone {
		return 0, fmt.Errorf("topic %s was deleted: %w", t.Name, ErrNoTopic)
	}
	if tm == nil || stale || b >= 0 && int(b) < len(tm.leaders) && tm.leaders[b] < 0 {
		found, err := m.find(ctx, t.Name)
		if err != nil {
			return 0, err
		}
		if found.id != id {
			return 0, fmt.Errorf("topic %s was re-created with another id: %w", t.Name, ErrNoTopic)
		}
		tm = found
	}
	if b < 0 || int(b) >= len(tm.leaders) {
		return 0, fmt.Errorf("topic %s has no partition %d: %w", t.Name, b, ErrNoTopic)
	}
	if tm.leaders[b] < 0 {
		return 0, m.l.unavailable(fmt.Errorf("topic %s partition %d has no leader", t.Name, b))
	}
	return tm.leaders[b], nil
}

// cached is a topic that was looked up before.
func (m *metadata) cached(id uuid) (Topic, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if tm := m.by[id]; tm != nil && !m.gone[id] {
		return tm.topic(), true
	}
	return Topic{}, false
}

// leaderOf is leader for a topic that was looked up before; it asks nobody.
func (m *metadata) leaderOf(at tp) (int32, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	tm := m.by[at.id]
	switch {
	case tm == nil || m.gone[at.id] || at.part < 0 || int(at.part) >= len(tm.leaders):
		return 0, fmt.Errorf("topic id %s partition %d: %w", at.id.text(), at.part, ErrNoTopic)
	case tm.leaders[at.part] < 0:
		return 0, m.l.unavailable(fmt.Errorf("topic %s partition %d has no leader", tm.name, at.part))
	}
	return tm.leaders[at.part], nil
}

// refresh asks again for a topic that was looked up before: ErrNoTopic if it
// is gone or its name belongs to another.
func (m *metadata) refresh(ctx context.Context, id uuid) error {
	t, ok := m.cached(id)
	if !ok {
		return fmt.Errorf("topic id %s: %w", id.text(), ErrNoTopic)
	}
	_, err := m.leader(ctx, t, 0, true)
	return err
}

// forget marks a topic as deleted by us.
func (m *metadata) forget(id uuid) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.by, id)
	m.gone[id] = true
}

func (tm *topicMeta) topic() Topic {
	return Topic{Name: tm.name, ID: tm.id.text(), Partitions: len(tm.leaders)}
}

// Topic looks a topic up by name: ErrNoTopic if there is none.
func (l *Log) Topic(ctx context.Context, name string) (Topic, error) {
	tm, err := l.meta.find(ctx, name)
	if err != nil {
		return Topic{}, err
	}
	return tm.topic(), nil
}

// CreateTopic makes the log of a table, never trimmed by the broker (seam L1).
// A topic of that name is used if it has the partitions asked for and nothing
// was ever written to it; else 42P07.
func (l *Log) CreateTopic(ctx context.Context, name string, partitions int, o TopicOptions) (Topic, error) {
	other, err := l.confusable(ctx, name)
	if err != nil {
		return Topic{}, err
	}
	if other != "" {
		return Topic{}, table.Errorf("42P07", "topic \"%s\" would collide with the topic \"%s\"", name, other).
			WithHint("Kafka cannot tell dots from underscores in topic names; choose another table name.")
	}
	req := kmsg.NewPtrCreateTopicsRequest()
	req.TimeoutMillis = int32(l.opts.Timeout.Milliseconds())
	rt := kmsg.NewCreateTopicsRequestTopic()
	rt.Topic, rt.NumPartitions, rt.ReplicationFactor = name, int32(partitions), -1
	if o.Replication > 0 {
		rt.ReplicationFactor = int16(o.Replication)
	}
	for k, v := range l.topicConfigs(o) {
		c := kmsg.NewCreateTopicsRequestTopicConfig()
		c.Name, c.Value = k, kmsg.StringPtr(v)
		rt.Configs = append(rt.Configs, c)
	}
	req.Topics = append(req.Topics, rt)
	resp, err := req.RequestWith(ctx, l.cl)
	if err != nil {
		return Topic{}, l.unavailable(err)
	}
	if len(resp.Topics) != 1 {
		return Topic{}, fmt.Errorf("create topic %s: %d answers", name, len(resp.Topics))
	}
	err = kerr.ErrorForCode(resp.Topics[0].ErrorCode)
	exists := errors.Is(err, kerr.TopicAlreadyExists)
	if err != nil && !exists {
		if m := resp.Topics[0].ErrorMessage; m != nil {
			err = fmt.Errorf("%w: %s", err, *m)
		}
		return Topic{}, fmt.Errorf("create topic %s: %w", name, err)
	}
	t, err := l.awaitTopic(ctx, name, partitions, exists)
	if err != nil || !exists {
		return t, err
	}
	return t, l.reusable(ctx, t, partitions)
}

func (l *Log) topicConfigs(o TopicOptions) map[string]string {
	c := map[string]string{
		"cleanup.policy":    "delete",
		"retention.ms":      "-1",
		"retention.bytes":   "-1",
		"max.message.bytes": strconv.Itoa(topicBytes),
	}
	if o.SegmentBytes == 0 && l.opts.Embedded != nil {
		o.SegmentBytes = 16 << 20
	}
	if o.SegmentBytes > 0 {
		c["segment.bytes"] = strconv.FormatInt(o.SegmentBytes, 10)
	}
	return c
}

// awaitTopic waits until the cluster shows the topic with all its leaders: a
// broker answers CreateTopics before its metadata has caught up.
func (l *Log) awaitTopic(ctx context.Context, name string, partitions int, exists bool) (Topic, error) {
	deadline := time.Now().Add(l.opts.Timeout)
	for try := 0; ; try++ {
		tm, err := l.meta.find(ctx, name)
		if err == nil && (exists || len(tm.leaders) == partitions) {
			led := true
			for _, b := range tm.leaders {
				led = led && b >= 0
			}
			if led {
				return tm.topic(), nil
			}
		}
		if err == nil {
			err = l.unavailable(fmt.Errorf("topic %s has no leaders yet", name))
		}
		if time.Now().After(deadline) || !pause(ctx, try) {
			return Topic{}, fmt.Errorf("create topic %s: %w", name, err)
		}
	}
}

// reusable checks that nothing was ever written to an existing topic: merely
// trimmed is not enough, its offsets would not begin at 0 (seam C3).
func (l *Log) reusable(ctx context.Context, t Topic, partitions int) error {
	fault := ""
	if t.Partitions != partitions {
		fault = fmt.Sprintf("has %d partitions, not %d", t.Partitions, partitions)
	} else {
		bounds, err := l.Bounds(ctx, t)
		if err != nil {
			return err
		}
		for p, b := range bounds {
			if b.High != 0 {
				fault = fmt.Sprintf("holds records (partition %d ends at offset %d)", p, b.High)
			}
		}
	}
	if fault == "" {
		return nil
	}
	return table.Errorf("42P07", "topic \"%s\" already exists and %s", t.Name, fault).
		WithHint("Delete the topic in Kafka, or choose another table name or --topic-prefix.")
}

// DeleteTopic removes a log, by its id. A topic that is not there is no error.
func (l *Log) DeleteTopic(ctx context.Context, t Topic) error {
	id, ok := parseUUID(string(t.ID))
	if !ok {
		return fmt.Errorf("delete topic %s: id %q: %w", t.Name, t.ID, ErrNoTopic)
	}
	now, err := l.meta.find(ctx, t.Name)
	if errors.Is(err, ErrNoTopic) {
		l.forget(id)
		return nil
	}
	if err != nil {
		return err
	}
	l.forget(id)
	if now.id != id {
		return nil // another topic has the name by now
	}
	req := kmsg.NewPtrDeleteTopicsRequest()
	req.TimeoutMillis = int32(l.opts.Timeout.Milliseconds())
	rt := kmsg.NewDeleteTopicsRequestTopic()
	rt.TopicID = id
	req.Topics = append(req.Topics, rt)
	resp, err := req.RequestWith(ctx, l.cl)
	if err != nil {
		return l.unavailable(err)
	}
	for _, rt := range resp.Topics {
		err := kerr.ErrorForCode(rt.ErrorCode)
		if err != nil && !errors.Is(err, kerr.UnknownTopicID) && !errors.Is(err, kerr.UnknownTopicOrPartition) {
			return fmt.Errorf("delete topic %s: %w", t.Name, err)
		}
	}
	return nil
}

// forget refuses further appends to a topic and drops what we know of it.
func (l *Log) forget(id uuid) {
	l.meta.forget(id)
	l.gather.gate.Lock() // not while a round is between its checks and its keys
	defer l.gather.gate.Unlock()
	l.keys.drop(id)
	l.gather.drop(id)
}

// pause waits before try number try+2, up to half a second; false when ctx ended.
func pause(ctx context.Context, try int) bool {
	timer := time.NewTimer(min(500*time.Millisecond, 5*time.Millisecond<<min(try, 7)))
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
