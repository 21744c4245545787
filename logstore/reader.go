package logstore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"dtstore/table"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Batch is what a reader got next.
type Batch struct {
	Records []Fetched    // in order of offsets, markers among them
	Next    table.Offset // where reading goes on: past markers and aborted records
	Stable  table.Offset // the last stable offset, when these were fetched
}

// Reader follows one bucket's log, read-committed, from an offset on. One
// goroutine may use it.
type Reader struct {
	f      *fetcher
	topic  Topic
	bucket table.Bucket
	at     tp
	dec    decoder
	pos    table.Offset // what Next gives next; only its caller's
	news   chan struct{}

	// Guarded by fetcher.mu.
	from     table.Offset // what is fetched next
	chunks   []chunk
	bytes    int // in chunks
	broker   *brokerPolls
	polled   bool // in a poll
	troubled bool // trouble has it
	closed   bool
	followed bool // counted by stable
	fed      time.Time
	tries    int // since the last answer
	since    time.Time
	last     error // why there was no answer
	err      error // for good
}

// chunk is one answer's batches.
type chunk struct {
	data    []byte
	aborted []kmsg.FetchResponseTopicPartitionAbortedTransaction
	stable  table.Offset
}

// Read opens a reader at an offset. Below the log's start it is ErrTrimmed,
// past its end ErrAhead; both name the gap.
func (l *Log) Read(ctx context.Context, t Topic, bucket table.Bucket, from table.Offset) (*Reader, error) {
	id, ok := parseUUID(string(t.ID))
	if !ok {
		return nil, fmt.Errorf("read %s: topic id %q: %w", t.Name, t.ID, ErrNoTopic)
	}
	if _, err := l.meta.leader(ctx, t, bucket, false); err != nil {
		return nil, fmt.Errorf("read %s bucket %d: %w", t.Name, bucket, err)
	}
	r := &Reader{f: l.fetch, topic: t, bucket: bucket, at: tp{id, int32(bucket)}, pos: from, from: from, news: make(chan struct{}, 1)}
	r.dec.unzip = kgo.DefaultDecompressor()
	if err := r.outOfRange(ctx); err != nil {
		return nil, err
	}
	l.fetch.offer(r)
	return r, nil
}

// outOfRange says whether and how the reader's position is outside the log.
func (r *Reader) outOfRange(ctx context.Context) error {
	bounds, err := r.f.l.Bounds(ctx, r.topic)
	if err != nil {
		return fmt.Errorf("read %s bucket %d: %w", r.topic.Name, r.bucket, err)
	}
	if int(r.bucket) >= len(bounds) {
		return fmt.Errorf("read %s: no bucket %d: %w", r.topic.Name, r.bucket, ErrNoTopic)
	}
	r.f.mu.Lock()
	from := r.from
	r.f.mu.Unlock()
	b := bounds[r.bucket]
	switch {
	case from < b.Low:
		return fmt.Errorf("%w: %w", ErrTrimmed, table.Errorf("72000", "the log of topic %s bucket %d begins at offset %d, offsets %d to %d are gone",
			r.topic.Name, r.bucket, b.Low, from, b.Low-1).WithHint("Raise the table's log.retention, or start from the table's newest snapshot."))
	case from > b.High:
		return fmt.Errorf("%w: %w", ErrAhead, table.Errorf("XX001", "the log of topic %s bucket %d ends at offset %d, before offset %d",
			r.topic.Name, r.bucket, b.High, from).WithHint("The log has lost records that the table's files cover; restore it."))
	}
	return nil
}

// Next waits for news: records, markers, or a position that moved past aborted
// records. The records stay valid. ErrUnavailable: no broker has answered for
// the log's timeout; Next may be called again.
func (r *Reader) Next(ctx context.Context) (Batch, error) {
	for {
		r.f.mu.Lock()
		switch {
		case r.closed:
			r.f.mu.Unlock()
			return Batch{}, fmt.Errorf("read %s bucket %d: reader %w", r.topic.Name, r.bucket, ErrClosed)
		case len(r.chunks) > 0:
			c := r.chunks[0]
			r.chunks[0] = chunk{}
			r.chunks = r.chunks[1:]
			r.bytes -= len(c.data)
			r.f.queued -= len(c.data)
			r.f.mu.Unlock()
			r.f.offer(r)
			records, next, err := r.dec.decode(nil, c.data, r.pos, c.aborted)
			if err != nil {
				return Batch{}, r.bad(next, err)
			}
			r.pos = next
			return Batch{Records: records, Next: next, Stable: c.stable}, nil
		case r.err != nil:
			err := r.err
			r.f.mu.Unlock()
			return Batch{}, err
		}
		late := time.Duration(1<<62 - 1)
		if r.last != nil {
			if late = r.f.l.opts.Timeout - time.Since(r.since); late <= 0 {
				err := r.last
				r.since = time.Now()
				r.f.mu.Unlock()
				return Batch{}, fmt.Errorf("read %s bucket %d: %w", r.topic.Name, r.bucket, r.f.l.unavailable(err))
			}
		}
		r.f.mu.Unlock()
		if err := r.sleep(ctx, late); err != nil {
			return Batch{}, err
		}
	}
}

func (r *Reader) sleep(ctx context.Context, most time.Duration) error {
	var timeout <-chan time.Time
	if most < time.Hour {
		timer := time.NewTimer(most)
		defer timer.Stop()
		timeout = timer.C
	}
	select {
	case <-r.news:
	case <-timeout:
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-r.f.l.ctx.Done():
		return ErrClosed
	}
	return nil
}

// Close ends the reader.
func (r *Reader) Close() {
	r.f.mu.Lock()
	defer r.f.mu.Unlock()
	if r.closed {
		return
	}
	r.closed = true
	r.f.queued -= r.bytes
	r.chunks, r.bytes = nil, 0
	if r.broker != nil {
		delete(r.broker.ready, r)
	}
	if r.followed {
		r.followed = false
		r.f.l.stable.follow(r.at, -1)
	}
	r.wake()
}

// bad is the error for bytes that are no log (seam L3).
func (r *Reader) bad(at table.Offset, cause error) error {
	if errors.Is(cause, ErrUnavailable) {
		return cause
	}
	return fmt.Errorf("%w: %w", ErrBadRecord, table.Errorf("XX001", "topic %s partition %d at offset %d: %w", r.topic.Name, r.bucket, at, cause))
}

// hungry, healthy, ill and wake: the caller holds fetcher.mu.

func (r *Reader) hungry(f *fetcher) bool {
	return r.bytes == 0 || r.bytes < readerBytes && f.queued < totalBytes
}

func (r *Reader) healthy(l *Log) {
	r.tries, r.last = 0, nil
	if !r.followed {
		r.followed = true
		l.stable.follow(r.at, 1)
	}
}

func (r *Reader) ill(l *Log, err error) {
	if r.tries++; r.last == nil {
		r.since = time.Now()
	}
	r.last = err
	if r.followed {
		r.followed = false
		l.stable.follow(r.at, -1)
	}
}

func (r *Reader) wake() {
	select {
	case r.news <- struct{}{}:
	default:
	}
}
