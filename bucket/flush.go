package bucket

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"dtstore/filestore"
	"dtstore/manifest"
	"dtstore/snapshot"
	"dtstore/table"
)

// commits is the table's committer: it flushes at every checkpoint, when a
// memtable is full, and on request.
func (k *keeper) commits(ctx context.Context) {
	tick := time.NewTicker(k.o.opts.Checkpoint)
	defer tick.Stop()
	retry := time.NewTimer(time.Hour)
	defer retry.Stop()
	pause := firstPause
	for {
		var r request
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case <-retry.C:
		case r = <-k.requests:
		}
		err := k.checkpoint(ctx, r)
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		} else if err != nil {
			k.log.Error("flush failed; it is tried again", "table", k.name(), "err", err, "in", pause)
			retry.Reset(pause)
			pause = min(pause*2, lastPause)
		} else {
			pause = firstPause
		}
		k.mu.Lock()
		k.failed = err
		k.mu.Unlock()
		k.wake()
		if r.done != nil {
			r.done <- err
		}
	}
}

// checkpoint has all loops freeze, and flushes until nothing frozen is left.
// Buckets that are stopped are left out; their error is returned if the
// request needs them.
func (k *keeper) checkpoint(ctx context.Context, r request) error {
	var last positions
	for idle := 0; ; {
		stopped := k.freezeAll(ctx, r)
		again, err := k.commitFrozen(ctx)
		if err != nil {
			return err
		}
		if !again && r.horizon == nil {
			return nil
		}
		pos, err := k.position(ctx)
		if err != nil {
			return err
		}
		switch {
		case !again && pos.covers(r.horizon):
			return nil
		case pos.ahead(last):
			// A loop whose flush was behind froze less than was asked for, or a
			// bucket was fenced: both go on from here.
			last, idle = pos, 0
		case !again && stopped != nil && !errors.Is(stopped, errReset):
			return fmt.Errorf("snapshot %d of %s does not cover the log: %w", pos.snapshot.ID, k.name(), stopped)
		default:
			if idle++; idle > 5 {
				return fmt.Errorf("snapshot %d of %s does not cover the log: its buckets kept being fenced; does another server own the table?", pos.snapshot.ID, k.name())
			}
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
}

// freezeAll asks all loops at once, and returns the error of one that could
// not go as far as asked.
func (k *keeper) freezeAll(ctx context.Context, r request) error {
	answers := make(chan error, len(k.loops))
	for i, l := range k.loops {
		f := freezing{force: r.force, done: answers}
		if i < len(r.horizon) {
			f.upTo = r.horizon[i]
		}
		go func() {
			select {
			case l.freeze <- f:
			case <-ctx.Done():
				answers <- context.Cause(ctx)
			}
		}()
	}
	var first error
	for range k.loops {
		select {
		case err := <-answers:
			if err != nil && first == nil {
				first = err
			}
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return first
}

// commitFrozen writes all frozen memtables and commits one snapshot. again:
// some buckets were fenced and have started anew, the rest must be committed.
func (k *keeper) commitFrozen(ctx context.Context) (again bool, err error) {
	t := k.table()
	c := snapshot.Commit{ID: uuid.NewString(), User: k.o.opts.User, Log: snapshot.LogID(t.Topic.ID), Kind: "APPEND", SchemaID: t.Schema.ID}
	for _, l := range k.loops {
		fs := l.unflushed()
		if len(fs) == 0 {
			continue
		}
		for _, f := range fs {
			if err := k.write(ctx, l.bucket, f); err != nil {
				return false, err
			}
			c.Add = append(c.Add, f.entries...)
		}
		span := table.Span{From: fs[0].mem.Span().From, To: fs[len(fs)-1].mem.Span().To}
		c.Advances = append(c.Advances, snapshot.Advance{Bucket: l.bucket, Span: span, Base: fs[0].base})
	}
	if len(c.Advances) == 0 {
		return false, nil
	}
	if sync := k.o.opts.SyncLog; sync != nil {
		var buckets []table.Bucket
		for _, a := range c.Advances {
			buckets = append(buckets, a.Bucket)
		}
		if err := sync(ctx, t.Topic, buckets); err != nil {
			return false, fmt.Errorf("sync the log of %s: %w", k.name(), err)
		}
	}
	s, err := k.history.Commit(ctx, c)
	var fenced *snapshot.FencedError
	switch {
	case err == nil:
		for _, a := range c.Advances {
			k.loops[a.Bucket].committed(a.Span.To)
		}
		k.log.Info("snapshot committed", "table", k.name(), "snapshot", s.ID, "files", len(c.Add), "rows", s.DeltaRecords)
		k.lookToCompact()
		k.maintain(ctx)
		return false, nil
	case errors.As(err, &fenced) && len(fenced.Buckets) > 0:
		for _, b := range fenced.Buckets {
			k.loops[b].forget()
		}
		k.log.Warn("buckets were fenced", "table", k.name(), "buckets", fenced.Buckets, "err", err)
		return true, nil
	case errors.Is(err, snapshot.ErrFenced), errors.Is(err, snapshot.ErrUnknown):
		for _, a := range c.Advances {
			k.loops[a.Bucket].forget()
		}
	}
	return false, fmt.Errorf("commit %s: %w", k.name(), err)
}

// write makes a frozen memtable's files, once.
func (k *keeper) write(ctx context.Context, b table.Bucket, f *frozen) error {
	if f.written {
		return nil
	}
	var entries []manifest.Entry
	for part, rows := range f.mem.Runs(f.base) {
		more, err := k.o.files.WriteRun(ctx, k.place(part, b), 0, sourceAppend, rows)
		if err != nil {
			return fmt.Errorf("flush %s bucket %d %v: %w", k.name(), b, f.mem.Span(), err)
		}
		entries = append(entries, more...)
	}
	f.entries, f.written = entries, true
	return nil
}

// sourceAppend is _FILE_SOURCE of files made from the log.
const sourceAppend = 0

func (k *keeper) place(part table.Partition, b table.Bucket) filestore.Place {
	t := k.table()
	return filestore.Place{Path: t.Path, Schema: t.Schema, Partition: part, Bucket: b}
}
