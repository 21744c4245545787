package logstore

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"dtstore/table"
)

// QueueKey is one key of one table.
type QueueKey struct {
	Topic TopicID
	Key   table.Key
}

// KeyQueue lets statements that were sent round again take their keys in turn.
//
// A ticket enters the queues of all its keys at once, under one lock, and owns
// them when it is first in each: so all queues have the tickets in one order,
// and no two can wait for each other. A later writer of a queued key waits
// behind it (Log.Append sees to that); it holds nothing while it waits.
type KeyQueue struct {
	mu    sync.Mutex
	queue map[QueueKey][]*Ticket // first owns
}

// Ticket is a place in the queues of some keys.
type Ticket struct {
	q     *KeyQueue
	keys  []QueueKey
	ahead int           // queues in which it is not yet first; guarded by q.mu
	ready chan struct{} // closed when ahead is 0
	done  bool          // guarded by q.mu
}

func (q *KeyQueue) init() { q.queue = map[QueueKey][]*Ticket{} }

// Lock queues for all keys at once and waits until the ticket owns them all.
// When ctx ends first nothing is held.
func (q *KeyQueue) Lock(ctx context.Context, keys []QueueKey) (*Ticket, error) {
	t := q.enter(keys)
	select {
	case <-t.ready:
		return t, nil
	default:
	}
	select {
	case <-t.ready:
		return t, nil
	case <-ctx.Done():
		t.Unlock()
		return nil, fmt.Errorf("wait for %d key(s): %w", len(keys), context.Cause(ctx))
	}
}

func (q *KeyQueue) enter(keys []QueueKey) *Ticket {
	keys = slices.Clone(keys)
	slices.SortFunc(keys, func(a, b QueueKey) int {
		if a.Topic != b.Topic {
			if a.Topic < b.Topic {
				return -1
			}
			return 1
		}
		switch {
		case a.Key < b.Key:
			return -1
		case a.Key > b.Key:
			return 1
		}
		return 0
	})
	t := &Ticket{q: q, keys: slices.Compact(keys), ready: make(chan struct{})}
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, k := range t.keys {
		if len(q.queue[k]) > 0 {
			t.ahead++
		}
		q.queue[k] = append(q.queue[k], t)
	}
	if t.ahead == 0 {
		close(t.ready)
	}
	return t
}

// Unlock lets all keys go, or leaves the queues. It may be called again.
func (t *Ticket) Unlock() {
	if t == nil {
		return
	}
	q := t.q
	q.mu.Lock()
	defer q.mu.Unlock()
	if t.done {
		return
	}
	t.done = true
	for _, k := range t.keys {
		line := q.queue[k]
		i := slices.Index(line, t)
		if i == 0 && len(line) > 1 {
			next := line[1]
			if next.ahead--; next.ahead == 0 {
				close(next.ready)
			}
		}
		if line = slices.Delete(line, i, i+1); len(line) == 0 {
			delete(q.queue, k)
		} else {
			q.queue[k] = line
		}
	}
}

// busy says whether anybody queues for one of the append's keys, other than
// the holder of mine.
func (q *KeyQueue) busy(a *Append, mine *Ticket) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.queue) == 0 {
		return false
	}
	for k := range appendKeys(a) {
		if line := q.queue[k]; len(line) > 0 && line[0] != mine {
			return true
		}
	}
	return false
}
