package bucket

import (
	"context"
	"time"

	"dtstore/catalog"
	"dtstore/filestore"
	"dtstore/manifest"
	"dtstore/snapshot"
	"dtstore/table"
)

// settings are the table options that keeping it needs.
type settings struct {
	trigger, stop int
	target        int64
	retainMin     int
	retainMax     int // 0: no limit
	retained      time.Duration
	logRetention  time.Duration
}

// mark says what the snapshots covered at a time.
type mark struct {
	at      time.Time
	covered map[table.Bucket]table.Offset
}

// marks is what was covered when, oldest first: how far the log may be trimmed
// without losing what is younger than log.retention.
type marks struct{ list []mark }

// maxMarks bounds the list; with more checkpoints within log.retention, every
// other mark goes, which only delays trimming.
const maxMarks = 1000

func (m *marks) add(at time.Time, covered map[table.Bucket]table.Offset) {
	m.list = append(m.list, mark{at, covered})
	if len(m.list) > maxMarks {
		kept := m.list[:0]
		for i, x := range m.list {
			if i%2 == 0 {
				kept = append(kept, x)
			}
		}
		m.list = kept
	}
}

// before is the newest mark not younger than t, and drops the older ones.
func (m *marks) before(t time.Time) (mark, bool) {
	n := -1
	for i, x := range m.list {
		if x.at.After(t) {
			break
		}
		n = i
	}
	if n < 0 {
		return mark{}, false
	}
	m.list = m.list[n:]
	return m.list[0], true
}

// maintain expires snapshots and trims the log, after a commit. Faults are
// logged: the next commit tries again.
func (k *keeper) maintain(ctx context.Context) {
	s := settingsOf(k.table())
	now := k.o.opts.Now()
	if err := k.expire(ctx, s, now); err != nil {
		k.log.Warn("expiry failed", "table", k.name(), "err", err)
		return
	}
	if err := k.trim(ctx, now, s.logRetention); err != nil {
		k.log.Warn("trimming the log failed", "table", k.name(), "err", err)
	}
}

// expire removes snapshots that are old and many enough, and those beyond the
// greatest number whatever their age.
func (k *keeper) expire(ctx context.Context, s settings, now time.Time) error {
	o := snapshot.ExpireOptions{RetainMin: s.retainMin, Retained: s.retained, Now: now, Pinned: k.o.pinned(k.table().Path),
		DataKey: func(e manifest.Entry) string { return filestore.DataPath(k.place(e.Partition, e.Bucket), e.File) }}
	if _, err := k.history.Expire(ctx, o); err != nil || s.retainMax == 0 {
		return err
	}
	o.RetainMin, o.Retained = s.retainMax, time.Nanosecond
	_, err := k.history.Expire(ctx, o)
	return err
}

// trim lets the log forget what the oldest kept snapshot covers and what is
// older than the retention (seam L1).
func (k *keeper) trim(ctx context.Context, now time.Time, retention time.Duration) error {
	ids, err := k.history.List(ctx)
	if err != nil || len(ids) == 0 {
		return err
	}
	oldest, err := k.history.Read(ctx, ids[0])
	if err != nil {
		return err
	}
	pos, err := positionOf(ctx, k.history, oldest)
	if err != nil {
		return nil // an old snapshot of another engine: nothing is known to be covered
	}
	if len(k.marks.list) == 0 {
		k.marks.add(time.UnixMilli(oldest.TimeMillis), offsets(pos))
	}
	latest, err := k.position(ctx)
	if err != nil {
		return err
	}
	k.marks.add(now, offsets(latest))
	old, ok := k.marks.before(now.Add(-retention))
	if !ok {
		return nil
	}
	below := map[table.Bucket]table.Offset{}
	for b, c := range pos.covered {
		if at := min(c.To, old.covered[b]); at > 0 {
			below[b] = at
		}
	}
	if len(below) == 0 {
		return nil
	}
	return k.o.log.Trim(ctx, k.table().Topic, below)
}

func offsets(p positions) map[table.Bucket]table.Offset {
	out := map[table.Bucket]table.Offset{}
	for b, c := range p.covered {
		out[b] = c.To
	}
	return out
}

// orphanAge is how old an unreferenced file must be before it is swept: younger
// ones may belong to a commit that is under way (paimon-format.md 12.8).
const orphanAge = 24 * time.Hour

// sweeps removes orphans once in a while.
func (k *keeper) sweeps(ctx context.Context) {
	tick := time.NewTicker(k.o.opts.Sweep)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		gone, err := k.history.Sweep(ctx, k.o.opts.Now().Add(-orphanAge))
		if err != nil && ctx.Err() == nil {
			k.log.Warn("sweep failed", "table", k.name(), "err", err)
		}
		if len(gone) > 0 {
			k.log.Info("swept orphan files", "table", k.name(), "files", len(gone))
		}
	}
}

func settingsOf(t *catalog.Table) settings {
	o := t.Options
	return settings{trigger: o.CompactionTrigger, stop: o.StopTrigger, target: o.TargetFileBytes, retainMin: o.RetainMin, retainMax: o.RetainMax, retained: o.Retained, logRetention: o.LogRetention}
}
