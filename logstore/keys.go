package logstore

import (
	"maps"
	"sync"

	"dtstore/table"
)

// maxTrackedKeys bounds the tracker's memory; beyond it the oldest changes are
// forgotten, which can only make a check fail that need not have.
const maxTrackedKeys = 1 << 20

// bigAppendKeys is the number of keys from which an append is remembered as
// "anything in this bucket may have changed".
const bigAppendKeys = 1 << 16

// tracker remembers which keys were appended where, back to the oldest horizon
// in use, so that a statement's keys can be checked when it appends (seam A6).
//
// INVARIANT: of a bucket, every key changed at or above floor is in groups.
type tracker struct {
	stable *stable

	mu      sync.Mutex
	buckets map[tp]*bucketKeys
	pins    map[*pin]struct{}
	total   int // keys in all groups
}

type bucketKeys struct {
	floor   table.Offset
	groups  []keyGroup // in offset order
	indexed int        // how many groups are in last
	last    map[table.Key]table.Offset
}

// keyGroup is the keys of one append in one bucket. An empty group says that
// any key may have changed.
type keyGroup struct {
	end  table.Offset // past its last record
	keys []table.Key
}

// pin keeps what changed at or above its horizon. A nil vector keeps all.
type pin struct{ at map[tp]table.Offset }

func (k *tracker) init(s *stable) {
	k.stable, k.buckets, k.pins = s, map[tp]*bucketKeys{}, map[*pin]struct{}{}
}

func (k *tracker) bucket(at tp) *bucketKeys {
	b := k.buckets[at]
	if b == nil {
		b = &bucketKeys{last: map[table.Key]table.Offset{}}
		k.buckets[at] = b
	}
	return b
}

// record notes that keys were appended in a bucket, below end.
func (k *tracker) record(at tp, end table.Offset, keys []table.Key) {
	k.mu.Lock()
	defer k.mu.Unlock()
	b := k.bucket(at)
	if len(keys) >= bigAppendKeys {
		keys = nil
	}
	b.groups = append(b.groups, keyGroup{end, keys})
	k.total += len(keys)
	k.evict(at, b)
}

// evict forgets what no horizon in use, nor any to come, lies below.
func (k *tracker) evict(at tp, b *bucketKeys) {
	safe := k.stable.known(at) // a horizon taken from now on is not below it
	for p := range k.pins {
		if p.at == nil {
			safe = 0
			break
		}
		if o, ok := p.at[at]; ok {
			safe = min(safe, o)
		}
	}
	n := 0
	for n < len(b.groups) && (b.groups[n].end <= safe || k.total > maxTrackedKeys) {
		g := &b.groups[n]
		if n < b.indexed {
			for _, key := range g.keys {
				if o, ok := b.last[key]; ok && o < g.end {
					delete(b.last, key)
				}
			}
		}
		k.total -= len(g.keys)
		b.floor = max(b.floor, g.end)
		*g = keyGroup{}
		n++
	}
	b.groups = b.groups[n:]
	b.indexed = max(0, b.indexed-n)
	if len(b.groups) == 0 {
		b.groups = nil
	}
}

// conflicts gives the checks whose key may have changed at or above their
// horizon.
func (k *tracker) conflicts(checks []Check) []Check {
	if len(checks) == 0 {
		return nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	var hits []Check
	var id uuid
	var of TopicID
	for _, c := range checks {
		if c.Topic != of {
			id, _ = parseUUID(string(c.Topic))
			of = c.Topic
		}
		b := k.buckets[tp{id, int32(c.Bucket)}]
		if b == nil {
			continue
		}
		b.index()
		if o, ok := b.last[c.Key]; c.Horizon < b.floor || ok && o >= c.Horizon || c.Horizon < b.anyBelow() {
			hits = append(hits, c)
		}
	}
	return hits
}

// index enters the groups that were only listed so far: without checks nobody
// pays for a map.
func (b *bucketKeys) index() {
	for ; b.indexed < len(b.groups); b.indexed++ {
		g := &b.groups[b.indexed]
		for _, key := range g.keys {
			b.last[key] = max(b.last[key], g.end-1)
		}
	}
}

// anyBelow is the end of the newest group that stands for any key.
func (b *bucketKeys) anyBelow() table.Offset {
	for i := len(b.groups) - 1; i >= 0; i-- {
		if b.groups[i].keys == nil {
			return b.groups[i].end
		}
	}
	return 0
}

func (k *tracker) pin(at map[tp]table.Offset) *pin {
	k.mu.Lock()
	defer k.mu.Unlock()
	p := &pin{at: at}
	k.pins[p] = struct{}{}
	return p
}

func (k *tracker) setPin(p *pin, at map[tp]table.Offset) {
	k.mu.Lock()
	defer k.mu.Unlock()
	p.at = at
}

func (k *tracker) unpin(p *pin) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.pins, p)
}

// drop forgets the topic.
func (k *tracker) drop(id uuid) {
	k.mu.Lock()
	defer k.mu.Unlock()
	maps.DeleteFunc(k.buckets, func(at tp, b *bucketKeys) bool {
		if at.id != id {
			return false
		}
		for _, g := range b.groups {
			k.total -= len(g.keys)
		}
		return true
	})
}
