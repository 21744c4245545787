package snapshot_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"time"

	"dtstore/manifest"
	"dtstore/snapshot"
	"dtstore/table"
)

// actor is one process.
type actor struct {
	view
	next  func() (struct{}, bool)
	stop  func()
	until int // asleep up to this step: a zombie
	done  bool
	tab   *snapshot.Table
}

// start makes a process that runs body.
func (w *world) start(name string, body func(a *actor)) {
	a := &actor{view: view{w: w, name: fmt.Sprintf("%s%d", name, len(w.actors))}}
	a.next, a.stop = iter.Pull(func(yield func(struct{}) bool) {
		a.yield = yield
		body(a)
	})
	a.tab = snapshot.OpenShared(&a.view, path, w.cache)
	a.tab.SetIDs(w.newID)
	a.tab.SetClock(w.clock, func(context.Context, int) error {
		if a.over {
			return errOver
		}
		return nil
	})
	for _, rule := range w.off {
		a.tab.SwitchOff(rule)
	}
	w.actors = append(w.actors, a)
}

// owner flushes its buckets as the log goes on, from the position that it knows. Others may own
// the same buckets: they, or it, are zombies then.
func (a *actor) owner(commits int) {
	w, ctx := a.w, context.Background()
	var log snapshot.LogID
	var at map[table.Bucket]snapshot.Covered // nil: to be read
	for range commits {
		if at == nil {
			log, at = a.position(ctx)
			if at == nil {
				continue
			}
		}
		c := simCommit{ID: w.newID(), User: a.name, Log: log, Kind: "APPEND"}
		for _, b := range slices.Sorted(maps.Keys(at)) {
			if w.rng.IntN(3) == 0 {
				continue
			}
			span := table.Span{From: at[b].To, To: at[b].To + table.Offset(w.rng.IntN(4))}
			c.Advances = append(c.Advances, snapshot.Advance{Bucket: b, Span: span, Base: at[b].Base})
			if !span.Empty() {
				e, err := a.writeFile(ctx, b, 0, []table.Span{span}, int64(at[b].Base))
				if err != nil {
					c.Advances = c.Advances[:len(c.Advances)-1]
					continue
				}
				c.Add = append(c.Add, e)
			}
		}
		if len(c.Advances) == 0 {
			continue
		}
		err := a.commit(ctx, c)
		if fenced := (*snapshot.FencedError)(nil); errors.As(err, &fenced) && w.rng.IntN(2) == 0 {
			rest := c.without(fenced.Buckets, w.newID())
			if len(rest.Advances) > 0 {
				_ = a.commit(ctx, rest)
			}
			at = nil
			continue
		}
		if err != nil {
			at = nil // C2: forget, begin again at the tip
			continue
		}
		for _, adv := range c.Advances {
			at[adv.Bucket] = snapshot.Covered{To: adv.Span.To, Base: adv.Base}
		}
	}
}

// without returns c without the given buckets, as another commit.
func (c simCommit) without(buckets []table.Bucket, id string) simCommit {
	out := c
	out.ID = id
	out.Advances = slices.DeleteFunc(slices.Clone(c.Advances), func(a snapshot.Advance) bool { return slices.Contains(buckets, a.Bucket) })
	out.Add = slices.DeleteFunc(slices.Clone(c.Add), func(e manifest.Entry) bool { return slices.Contains(buckets, e.Bucket) })
	return out
}

// position reads where the table ends, and begins a table that was left without a snapshot.
func (a *actor) position(ctx context.Context) (snapshot.LogID, map[table.Bucket]snapshot.Covered) {
	s, err := a.read(ctx)
	if errors.Is(err, snapshot.ErrNone) {
		if log := a.w.schemaLog(); log != "" {
			_, _ = a.tab.Create(ctx, log, simBuckets, 0)
		}
		return "", nil
	}
	if err != nil {
		return "", nil
	}
	log, at, _, err := a.tab.Position(ctx, s)
	if err != nil {
		return "", nil
	}
	return log, maps.Clone(at)
}

// read is Latest, checked.
func (a *actor) read(ctx context.Context) (*snapshot.Snapshot, error) {
	from, state, changes, faults := a.w.m.newest, a.w.m.state, a.w.m.changes, a.faults
	s, err := a.tab.Latest(ctx)
	if !a.over {
		a.w.checkRead(a, s, err, from, state, changes, faults)
	}
	return s, err
}

// commit is Commit, checked.
func (a *actor) commit(ctx context.Context, c simCommit) error {
	w := a.w
	w.m.intended[c.ID] = snapshot.Commit(c)
	faults, expiries, changes := a.faults, w.m.expiries, w.m.changes
	w.log("%s: COMMIT %s %s %v +%d -%d", a.name, c.ID, c.Kind, c.Advances, len(c.Add), len(c.Remove))
	s, err := a.tab.Commit(ctx, snapshot.Commit(c))
	w.log("%s: COMMIT %s gives %v", a.name, c.ID, err)
	if !a.over {
		w.checkOutcome(a, snapshot.Commit(c), s, err, faults, expiries, changes)
	}
	return err
}

// writeFile puts a data file that holds the changes at the given offsets.
func (a *actor) writeFile(ctx context.Context, b table.Bucket, level int, spans []table.Span, base int64) (manifest.Entry, error) {
	name := "data-" + a.w.newID() + ".parquet"
	lo, hi, rows := spans[0].From, spans[0].To, int64(0)
	for _, s := range spans {
		lo, hi, rows = min(lo, s.From), max(hi, s.To), rows+int64(s.To-s.From)
	}
	e := file(name, b, level, base+int64(lo), rows, int64(lo), int64(hi)-1)
	e.File.MaxSeq = table.Sequence(base + int64(hi) - 1)
	a.w.files[name] = spans
	return e, a.Put(ctx, dataKey(e), []byte(name))
}

// compactor merges some runs of a bucket, all rows kept.
func (a *actor) compactor(times int) {
	w, ctx := a.w, context.Background()
	for range times {
		s, err := a.read(ctx)
		if err != nil {
			continue
		}
		b := table.Bucket(w.rng.IntN(simBuckets))
		live, err := a.tab.Entries(ctx, s, snapshot.Filter{Buckets: []table.Bucket{b}})
		if err != nil {
			continue
		}
		log, _, _, err := a.tab.Position(ctx, s)
		if err != nil {
			continue
		}
		c := simCommit{ID: w.newID(), User: a.name, Log: log, Kind: "COMPACT"}
		var spans []table.Span
		highest := table.Sequence(0)
		for _, e := range live {
			// All of level 0 and 1, or a part of level 0 and another level.
			if e.File.Level <= 1 && w.rng.IntN(4) > 0 {
				c.Remove = append(c.Remove, e)
				spans = append(spans, w.files[e.File.Name]...)
				highest = max(highest, e.File.MaxSeq)
			}
		}
		if len(spans) == 0 {
			continue
		}
		out, err := a.writeFile(ctx, b, 1+w.rng.IntN(2), spans, 0)
		if err != nil {
			continue
		}
		out.File.MinSeq, out.File.MaxSeq = 0, highest
		c.Add = []manifest.Entry{out}
		_ = a.commit(ctx, c)
	}
}

// expirer removes old snapshots, as many as it may.
func (a *actor) expirer(times int) {
	ctx := context.Background()
	for range times {
		a.w.m.expiries++
		done, err := a.tab.Expire(ctx, snapshot.ExpireOptions{RetainMin: a.w.retain, Retained: 1, Now: a.w.clock().Add(time.Hour), DataKey: dataKey})
		a.w.m.expiries++
		a.w.events["expired"] += len(done.Snapshots)
		a.w.log("%s: EXPIRE gives %v, %v", a.name, done.Snapshots, err)
	}
}

// reader looks at the latest snapshot and at its files.
func (a *actor) reader(times int) {
	ctx := context.Background()
	for range times {
		s, err := a.read(ctx)
		if err != nil {
			continue
		}
		faults := a.faults
		_, err = a.tab.Entries(ctx, s, snapshot.Filter{})
		if err != nil && !a.over && a.faults == faults && s.ID == a.w.m.newest && a.w.m.state == "live" {
			a.w.violated("%s: %v", a.name, err)
		}
	}
}

// dropper drops the table and makes another in its place, some times.
func (a *actor) dropper(times int) {
	w, ctx := a.w, context.Background()
	for range times {
		for range w.rng.IntN(60) {
			if _, err := a.Stat(ctx, "nap"); a.over || err == nil {
				return
			}
		}
		for range 20 {
			err := a.tab.Drop(ctx, w.m.log)
			w.log("%s: DROP %s gives %v", a.name, w.m.log, err)
			if err == nil || a.over {
				break
			}
		}
		if w.m.state == "live" || a.over || w.schemaLog() != "" {
			return // it could not
		}
		w.m.tables++
		log := snapshot.LogID(fmt.Sprintf("log-%d", w.m.tables))
		w.putSchema(log)
		for range 20 {
			_, err := a.tab.Create(ctx, log, simBuckets, 0)
			w.log("%s: CREATE %s gives %v", a.name, log, err)
			if err == nil || a.over {
				break
			}
		}
	}
}

// foreign commits as another engine does: on top of the latest, with none of our properties.
// It does so at one stroke; two engines that do not know our rules are beyond them.
func (a *actor) foreign(times int) {
	w, ctx := a.w, context.Background()
	for range times {
		if _, err := a.Stat(ctx, "nap"); a.over || err == nil {
			return
		}
		if w.m.state != "live" {
			continue
		}
		quiet := &view{w: w, name: a.name}
		cur, err := snapshot.Decode(w.m.legit[w.m.newest])
		if err != nil {
			w.violated("foreign: %v", err)
		}
		b := table.Bucket(w.rng.IntN(simBuckets))
		e := file("foreign-"+w.newID()+".parquet", b, 0, int64(w.m.maxSeq[b])+1, 2, 1000, 1001)
		_ = quiet.Put(ctx, dataKey(e), []byte("x"))
		w.m.foreign = []manifest.Entry{e}
		w.log("%s: FOREIGN COMMIT of %s", a.name, e.File.Name)
		foreignCommit(w.t, quiet, w.schema, cur, w.m.foreign, w.newID)
	}
}
