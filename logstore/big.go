package logstore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"dtstore/table"
)

// appendBig writes an append that fits no batch: a transaction of its own,
// whose open time holds back answers in its own buckets only. Its checks come
// last, when all is written, so that they see whatever was appended meanwhile.
func (l *Log) appendBig(ctx context.Context, p *pending) outcome {
	var prod *producer
	select {
	case prod = <-l.gather.big:
	case <-ctx.Done():
		return outcome{err: no(context.Cause(ctx))}
	case <-l.ctx.Done():
		return outcome{err: no(ErrClosed)}
	}
	done := make(chan outcome, 1)
	ok := l.start(func() {
		spans, parts, err := l.writeBig(ctx, prod, p)
		if err == nil {
			err = l.admitBig(p, spans)
		}
		if err != nil {
			if !errors.Is(err, ErrConflict) {
				err = no(err)
			}
			done <- outcome{err: err}
			l.gather.abandon(prod)
			l.gather.big <- prod
			return
		}
		c, err := l.finish(prod, parts, p.a.ID)
		done <- outcome{spans: spans, err: err}
		l.seeThrough(c, err)
		l.gather.big <- prod
	})
	if !ok {
		l.gather.big <- prod
		return outcome{err: no(ErrClosed)}
	}
	return <-done // writing ends with ctx; the commit after it soon
}

// writeBig encodes and sends batch after batch, one log partition at a time;
// the next is encoded while the last is under way.
func (l *Log) writeBig(ctx context.Context, prod *producer, p *pending) (spans []Appended, parts []Written, err error) {
	ctx, cancel := context.WithTimeout(ctx, prod.timeout*9/10)
	defer cancel()
	stop := context.AfterFunc(l.ctx, cancel)
	defer stop()
	if err := prod.ready(ctx); err != nil {
		return nil, nil, err
	}
	var ats []tp
	var topics []Topic
	for i, pp := range p.parts {
		ats, topics = append(ats, pp.at), append(topics, p.a.Parts[i].Topic)
	}
	if err := prod.enlist(ctx, ats, topics); err != nil {
		return nil, nil, err
	}
	for i := range p.parts {
		span, err := l.writeBigPart(ctx, prod, &p.a.Parts[i], p.parts[i].at)
		if err != nil {
			return nil, nil, err
		}
		part := &p.a.Parts[i]
		spans = append(spans, Appended{part.Topic.ID, part.Bucket, span})
		parts = append(parts, Written{part.Topic, part.Bucket, span})
	}
	return spans, parts, nil
}

// bigBatchBytes is the batch of a big append: smaller than batchBytes, so that
// encoding, sending and other appends overlap.
const bigBatchBytes = 2 << 20

func (l *Log) writeBigPart(ctx context.Context, prod *producer, part *Part, at tp) (span table.Span, err error) {
	span.From = -1
	now := time.Now().UnixMilli()
	sent := make(chan error, 1) // holds the outcome of the batch under way
	sent <- nil
	w, spare := &batchWriter{}, &batchWriter{}
	w.reset(make([]byte, 0, bigBatchBytes), now)
	spare.reset(make([]byte, 0, bigBatchBytes), now)
	flush := func() error {
		if err := <-sent; err != nil {
			sent <- nil
			return err
		}
		b := &produceBatch{topic: part.Topic, at: at, count: w.count, data: w.finish(0, 0, 0, attrTxn)}
		go func() {
			err := prod.write(ctx, []*produceBatch{b})
			if err == nil {
				if span.From < 0 {
					span.From = b.offset
				}
				span.To = b.offset + table.Offset(b.count)
			}
			sent <- err
		}()
		w, spare = spare, w
		return nil
	}
	add := func(records []Record) error {
		for i := range records {
			r := &records[i]
			n := maxRecordBytes(r)
			if n > topicBytes-batchHead {
				return table.Errorf("54000", "a row of topic %s takes %d bytes in the log, the limit is %d", part.Topic.Name, n, topicBytes)
			}
			if w.count > 0 && len(w.buf)+n > bigBatchBytes {
				if err := flush(); err != nil {
					return err
				}
				w.reset(w.buf, now)
			}
			w.add(r)
		}
		return nil
	}
	err = add(part.Records)
	if part.More != nil && err == nil {
		for records, e := range part.More {
			if err = e; err == nil {
				err = add(records)
			}
			if err != nil {
				break
			}
		}
	}
	if err == nil && w.count > 0 {
		err = flush()
	}
	if last := <-sent; err == nil {
		err = last
	}
	if err == nil && span.From < 0 {
		err = fmt.Errorf("append to %s: no records", part.Topic.Name)
	}
	return span, err
}

// admitBig checks, and records the keys, in one step.
func (l *Log) admitBig(p *pending, spans []Appended) error {
	g := &l.gather
	g.gate.Lock()
	defer g.gate.Unlock()
	hits := l.keys.conflicts(p.a.Checks)
	g.mu.Lock()
	for _, c := range p.a.Checks {
		if g.stuckCheck(c) {
			hits = append(hits, c)
		}
	}
	g.mu.Unlock()
	if len(hits) > 0 {
		return &ConflictError{hits}
	}
	for i, pp := range p.parts {
		keys := pp.keys
		if p.a.Parts[i].More != nil {
			keys = nil
		}
		l.keys.record(pp.at, spans[i].Span.To, keys)
	}
	return nil
}
