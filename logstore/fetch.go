package logstore

import (
	"context"
	"errors"
	"sync"
	"time"

	"dtstore/table"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// How much is fetched and kept.
const (
	fetchBytes     = 32 << 20 // of one answer
	partitionBytes = 4 << 20  // of one log partition in an answer, or one batch if that is larger
	readerBytes    = 8 << 20  // waiting in one reader before it is fetched no more
	totalBytes     = 128 << 20
	// pollers is the number of connections per broker for fetches. Brokers
	// answer a connection's requests one after another, so a reader that comes
	// while one poll waits for news needs another.
	pollers  = 4
	longPoll = 500 * time.Millisecond
	// lastPoll is how long the last free poller waits for news: a new reader
	// waits for it at worst.
	lastPoll = 5 * time.Millisecond
)

// requester is what fetches go through.
type requester interface{ Broker(id int) *kgo.Broker }

// fetcher serves all readers over a few connections: each poll asks one broker
// for every log partition whose reader has room and is in no other poll.
type fetcher struct {
	l  *Log
	cl []*kgo.Client // one per poller

	mu      sync.Mutex // guards the rest, and the marked fields of readers
	brokers map[int32]*brokerPolls
	queued  int // bytes waiting in all readers
	closed  bool
}

// brokerPolls are the readers of one broker and the pollers that serve them.
type brokerPolls struct {
	id    int32
	ready map[*Reader]struct{} // have room and are in no poll
	idle  []int                // pollers without a poll
}

func newFetcher(l *Log) (*fetcher, error) {
	f := &fetcher{l: l, brokers: map[int32]*brokerPolls{}}
	for range pollers {
		cl, err := l.client(kgo.RequestRetries(0))
		if err != nil {
			f.close()
			return nil, err
		}
		f.cl = append(f.cl, cl)
	}
	return f, nil
}

// close ends the connections; pollers and readers end with the log.
func (f *fetcher) close() {
	f.mu.Lock()
	f.closed = true
	f.mu.Unlock()
	for _, cl := range f.cl {
		cl.Close()
	}
}

// offer makes a reader available to the pollers of its leader.
func (f *fetcher) offer(r *Reader) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed || r.closed || r.polled || r.troubled || r.err != nil || r.broker != nil || !r.hungry(f) {
		return
	}
	leader, err := f.l.meta.leaderOf(r.at)
	if err != nil {
		r.troubled = true
		f.l.start(func() { f.trouble(r, err) })
		return
	}
	f.enter(r, leader)
}

// enter puts a reader before the pollers of a broker. The caller holds mu.
func (f *fetcher) enter(r *Reader, leader int32) {
	if f.closed || r.closed || r.broker != nil || !r.hungry(f) {
		return
	}
	b := f.brokers[leader]
	if b == nil {
		b = &brokerPolls{id: leader, ready: map[*Reader]struct{}{}}
		for i := range f.cl {
			b.idle = append(b.idle, i)
		}
		f.brokers[leader] = b
	}
	b.ready[r], r.broker = struct{}{}, b
	f.launch(b)
}

// launch starts a poll for what is ready, if a poller is free. The caller
// holds mu.
func (f *fetcher) launch(b *brokerPolls) {
	if len(b.ready) == 0 || len(b.idle) == 0 || f.closed {
		return
	}
	i := b.idle[0]
	b.idle = b.idle[1:]
	f.l.start(func() { f.poll(b, i) })
}

// poll asks for news until no reader is ready.
func (f *fetcher) poll(b *brokerPolls, i int) {
	for {
		f.mu.Lock()
		if len(b.ready) == 0 || f.closed {
			b.idle = append(b.idle, i)
			f.mu.Unlock()
			return
		}
		readers := make(map[tp][]*Reader, len(b.ready))
		var parts []fetchPart
		now := time.Now()
		hot := b.anyHot(now)
		for r := range b.ready {
			if r.hot(now) != hot || len(readers[r.at]) > 0 && readers[r.at][0].from != r.from {
				continue // a request has each log partition once
			}
			if len(readers[r.at]) == 0 {
				parts = append(parts, fetchPart{r.at, r.from, partitionBytes})
			}
			readers[r.at] = append(readers[r.at], r)
			r.polled, r.broker = true, nil
			delete(b.ready, r)
		}
		wait := longPoll
		if len(b.idle) == 0 {
			wait = lastPoll
		}
		f.launch(b) // for those left out
		f.mu.Unlock()
		ctx, cancel := context.WithTimeout(f.l.ctx, wait+f.l.opts.Timeout)
		resp, err := fetchFrom(ctx, f.cl[i], b.id, parts, wait)
		cancel()
		if err != nil {
			f.failed(readers, err)
			continue
		}
		f.spread(readers, resp)
		f.again(b, readers)
	}
}

// hotFor is how long a log partition counts as busy. Busy and quiet ones are
// polled apart: news of one must not make us ask again for a thousand others.
const hotFor = time.Second

func (r *Reader) hot(now time.Time) bool { return now.Sub(r.fed) < hotFor }

func (b *brokerPolls) anyHot(now time.Time) bool {
	for r := range b.ready {
		if r.hot(now) {
			return true
		}
	}
	return false
}

// spread hands an answer to its readers.
func (f *fetcher) spread(readers map[tp][]*Reader, resp *kmsg.FetchResponse) {
	for _, rt := range resp.Topics {
		for i := range rt.Partitions {
			rp := &rt.Partitions[i]
			at := tp{rt.TopicID, rp.Partition}
			err := kerr.ErrorForCode(rp.ErrorCode)
			if err == nil {
				f.l.stable.advance(at, table.Offset(rp.LastStableOffset))
			}
			for _, r := range readers[at] {
				if err != nil {
					f.mu.Lock()
					r.troubled = true
					f.mu.Unlock()
					f.l.start(func() { f.trouble(r, err) })
				} else {
					f.feed(r, rp)
				}
			}
		}
	}
}

// feed queues an answer's batches in a reader.
func (f *fetcher) feed(r *Reader, rp *kmsg.FetchResponseTopicPartition) {
	next, err := endOf(rp.RecordBatches, r.from)
	f.mu.Lock()
	defer f.mu.Unlock()
	if r.closed {
		return
	}
	r.healthy(f.l)
	if next > r.from {
		r.chunks = append(r.chunks, chunk{data: rp.RecordBatches, aborted: rp.AbortedTransactions, stable: table.Offset(rp.LastStableOffset)})
		r.bytes += len(rp.RecordBatches)
		f.queued += len(rp.RecordBatches)
		r.from = next
		r.fed = time.Now()
	}
	if err != nil {
		r.err = r.bad(next, err)
	}
	if len(r.chunks) > 0 || r.err != nil {
		r.wake()
	}
}

// again makes the readers of a poll ready for the next one.
func (f *fetcher) again(b *brokerPolls, readers map[tp][]*Reader) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, rs := range readers {
		for _, r := range rs {
			if r.troubled {
				continue // it comes back by itself
			}
			r.polled = false
			if !r.closed && r.err == nil && r.hungry(f) {
				b.ready[r], r.broker = struct{}{}, b
			}
		}
	}
}

// failed: the broker did not answer a poll.
func (f *fetcher) failed(readers map[tp][]*Reader, err error) {
	for _, rs := range readers {
		for _, r := range rs {
			f.mu.Lock()
			r.troubled = true
			f.mu.Unlock()
			f.l.start(func() { f.trouble(r, err) })
		}
	}
}

// trouble has a reader until a broker may answer for it again: it asks who
// leads the partition now, with growing pauses. Some errors end the reader.
func (f *fetcher) trouble(r *Reader, err error) {
	ctx := f.l.ctx
	for {
		final := r.verdict(ctx, err)
		f.mu.Lock()
		if r.closed {
			f.mu.Unlock()
			return
		}
		r.troubled = true
		r.ill(f.l, err)
		r.err = final
		r.wake()
		tries := r.tries
		f.mu.Unlock()
		if final != nil || !pause(ctx, tries) {
			return
		}
		if err = f.l.meta.refresh(ctx, r.at.id); err != nil {
			continue
		}
		leader, e := f.l.meta.leaderOf(r.at)
		if err = e; err != nil {
			continue
		}
		f.mu.Lock()
		r.polled, r.troubled = false, false
		f.enter(r, leader)
		f.mu.Unlock()
		return
	}
}

// verdict is the error that ends the reader, or nil if err may pass.
func (r *Reader) verdict(ctx context.Context, err error) error {
	switch {
	case errors.Is(err, ErrNoTopic):
		return err
	case errors.Is(err, kerr.OffsetOutOfRange):
		if v := r.outOfRange(ctx); !errors.Is(v, ErrUnavailable) {
			return v
		}
	}
	return nil
}
