package logstore

import (
	"context"
	"fmt"
	"sync"

	"dtstore/table"
)

// commits lists the transactions of this process from EndTxn(commit) until
// they are visible in every bucket: only those can a vector of last stable
// offsets cut in two (seam R1).
type commits struct {
	mu       sync.Mutex // guards the rest
	open     map[*commit]struct{}
	watching int       // vectors being taken
	ended    []*commit // since the first of these began
}

type commit struct {
	parts []commitPart
}

type commitPart struct {
	at  tp
	end table.Offset // past its last record: visible once the LSO is at least that
}

func (c *commits) begin(parts []Written) *commit {
	x := &commit{}
	for _, w := range parts {
		id, _ := parseUUID(string(w.Topic.ID))
		x.parts = append(x.parts, commitPart{tp{id, int32(w.Bucket)}, w.Span.To})
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.open == nil {
		c.open = map[*commit]struct{}{}
	}
	c.open[x] = struct{}{}
	return x
}

// end takes a commit off the list; what was aborted nothing can cut.
func (c *commits) end(x *commit, committed bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.open, x)
	if c.watching > 0 && committed {
		c.ended = append(c.ended, x)
	}
}

func (c *commits) watch() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.watching++
}

func (c *commits) unwatch() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.watching--; c.watching == 0 {
		c.ended = nil
	}
}

// cut finds a commit of which the vector shows one bucket and hides another,
// with what it hides.
func (c *commits) cut(v map[tp]table.Offset) (*commit, []commitPart) {
	c.mu.Lock()
	defer c.mu.Unlock()
	look := func(x *commit) []commitPart {
		var hidden []commitPart
		shown := false
		for _, p := range x.parts {
			if o, ok := v[p.at]; ok && o >= p.end {
				shown = true
			} else if ok {
				hidden = append(hidden, p)
			}
		}
		if !shown {
			return nil
		}
		return hidden
	}
	for x := range c.open {
		if h := look(x); h != nil {
			return x, h
		}
	}
	for _, x := range c.ended {
		if h := look(x); h != nil {
			return x, h
		}
	}
	return nil, nil
}

// Horizon is where a statement that reads these topics stops: each bucket's
// last stable offset. It waits for nobody's commit but one of this process that
// the vector would cut in two.
//
// If a reader follows every bucket the vector is what we know: an append is
// answered only when that has passed its records, so nothing acknowledged by
// this server is missed, and other programs' records are as late as the
// reader's next answer. Otherwise it is asked for, in one request per broker.
func (l *Log) Horizon(ctx context.Context, topics []Topic) (map[TopicID][]table.Offset, error) {
	out, _, err := l.horizon(ctx, topics)
	return out, err
}

func (l *Log) horizon(ctx context.Context, topics []Topic) (map[TopicID][]table.Offset, map[tp]table.Offset, error) {
	topics = distinct(topics)
	l.commit.watch()
	defer l.commit.unwatch()
	vectors, known := l.stable.vector(topics)
	if !known {
		var err error
		if vectors, err = l.listOffsets(ctx, topics, listEnd, true); err != nil {
			return nil, nil, err
		}
	}
	out := make(map[TopicID][]table.Offset, len(topics))
	v := map[tp]table.Offset{}
	for i, t := range topics {
		id, _ := parseUUID(string(t.ID))
		out[t.ID] = vectors[i]
		for p, o := range vectors[i] {
			v[tp{id, int32(p)}] = o
			if !known {
				l.stable.advance(tp{id, int32(p)}, o)
			}
		}
	}
	for {
		x, hidden := l.commit.cut(v)
		if x == nil {
			break
		}
		for _, h := range hidden {
			if err := l.stable.wait(ctx, h.at, h.end); err != nil {
				return nil, nil, fmt.Errorf("wait for a commit to become visible: %w", err)
			}
			v[h.at] = max(v[h.at], h.end)
		}
	}
	for at, o := range v {
		out[at.id.text()][at.part] = o
	}
	return out, v, nil
}

func distinct(topics []Topic) []Topic {
	seen := make(map[TopicID]bool, len(topics))
	out := make([]Topic, 0, len(topics))
	for _, t := range topics {
		if !seen[t.ID] {
			seen[t.ID] = true
			out = append(out, t)
		}
	}
	return out
}

// Pin keeps what checks at this horizon need to be exact. Without it a check
// may fail that need not have, never the other way round.
func (l *Log) Pin(horizon map[TopicID][]table.Offset) (release func()) {
	v := map[tp]table.Offset{}
	for t, offsets := range horizon {
		id, _ := parseUUID(string(t))
		for p, o := range offsets {
			v[tp{id, int32(p)}] = o
		}
	}
	p := l.keys.pin(v)
	return func() { l.keys.unpin(p) }
}

// PinHorizon takes a horizon and pins it, with nothing forgotten in between.
func (l *Log) PinHorizon(ctx context.Context, topics []Topic) (horizon map[TopicID][]table.Offset, release func(), err error) {
	p := l.keys.pin(nil)
	release = func() { l.keys.unpin(p) }
	out, v, err := l.horizon(ctx, topics)
	if err != nil {
		release()
		return nil, nil, err
	}
	l.keys.setPin(p, v)
	return out, release, nil
}
