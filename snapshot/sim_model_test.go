package snapshot_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"dtstore/manifest"
	"dtstore/snapshot"
	"dtstore/table"
)

// model is the truth about the table, built from what is put on the disk: the legitimate next
// snapshot is the one with the next number that was never used; whatever else appears under a
// snapshot's name is a stray.
type model struct {
	newest  table.SnapshotID
	state   string                      // none, live or dropped
	changes int                         // how often state changed
	legit   map[table.SnapshotID][]byte // all there ever were
	log     snapshot.LogID
	covered map[table.Bucket]snapshot.Covered
	maxSeq  map[table.Bucket]table.Sequence // highest sequence committed so far
	live    map[string]manifest.Entry       // by identity

	intended  map[string]snapshot.Commit // by commit id: what was asked for
	committed map[string]table.SnapshotID
	never     map[string]error // commits of which it was said that they are not in the table
	foreign   []manifest.Entry // of the commit that another engine is making
	tables    int
	expiries  int
}

func newModel() model {
	return model{
		state: "none", legit: map[table.SnapshotID][]byte{}, intended: map[string]snapshot.Commit{},
		committed: map[string]table.SnapshotID{}, never: map[string]error{},
	}
}

// violation ends a history that broke an invariant.
type violation string

func (w *world) violated(format string, args ...any) {
	panic(violation(fmt.Sprintf(format, args...)))
}

func (w *world) become(state string) {
	w.m.state = state
	w.m.changes++
}

// published checks a snapshot at the moment at which it appears.
func (w *world) published(name string, body []byte) {
	m := &w.m
	id, err := strconv.ParseInt(name, 10, 64)
	if err != nil {
		w.violated("snapshot file %q", name)
	}
	s, err := snapshot.Decode(body)
	if err != nil {
		w.violated("snapshot %d does not decode: %v", id, err)
	}
	if s.ID <= m.newest {
		w.events["stray"]++
		w.log("    snapshot %d is a stray, the table is at %d", s.ID, m.newest)
		return
	}
	if s.ID != m.newest+1 {
		w.violated("snapshot %d was put, the table is at %d: a hole", s.ID, m.newest)
	}
	m.newest, m.legit[s.ID] = s.ID, bytes.Clone(body)
	log, covered, ours := s.Log()
	switch {
	case !ours:
		w.events["foreign"]++
		w.publishedFiles(s, m.foreign, nil)
		return
	case s.Dropped():
		if m.state != "live" || log != m.log {
			w.violated("snapshot %d drops the log %s of a table that is %s with %s", s.ID, log, m.state, m.log)
		}
		w.events["drop"]++
		w.become("dropped")
		return
	case m.state != "live":
		if log != w.schemaLog() {
			w.violated("snapshot %d begins a table with the log %s, its schema says %s", s.ID, log, w.schemaLog())
		}
		w.become("live")
		m.log, m.covered = log, covered
		m.maxSeq, m.live = map[table.Bucket]table.Sequence{}, map[string]manifest.Entry{}
		for b := range covered {
			m.maxSeq[b] = -1
		}
		return
	}
	c, ok := m.intended[s.CommitID()]
	if !ok {
		w.violated("snapshot %d: nobody asked for commit %q", s.ID, s.CommitID())
	}
	if log != m.log || c.Log != m.log {
		w.violated("snapshot %d: a commit to %s on the table with the log %s", s.ID, c.Log, m.log)
	}
	if at, twice := m.committed[c.ID]; twice {
		w.violated("commit %s is in snapshot %d and again in %d", c.ID, at, s.ID)
	}
	if err := m.never[c.ID]; err != nil {
		w.violated("commit %s is in snapshot %d, but the committer was told: %v", c.ID, s.ID, err)
	}
	m.committed[c.ID] = s.ID
	w.publishedAdvances(s, c, covered)
	w.publishedFiles(s, c.Add, c.Remove)
}

func (w *world) publishedAdvances(s *snapshot.Snapshot, c snapshot.Commit, covered map[table.Bucket]snapshot.Covered) {
	m := &w.m
	want := maps.Clone(m.covered)
	for _, a := range c.Advances {
		if m.covered[a.Bucket].To != a.Span.From {
			w.violated("snapshot %d: bucket %d was covered up to %d and is flushed over %v", s.ID, a.Bucket, m.covered[a.Bucket].To, a.Span)
		}
		if first := a.Base + table.Sequence(a.Span.From); !a.Span.Empty() && first <= m.maxSeq[a.Bucket] {
			w.violated("snapshot %d: bucket %d gets sequence %d, it had %d already", s.ID, a.Bucket, first, m.maxSeq[a.Bucket])
		}
		want[a.Bucket] = snapshot.Covered{To: a.Span.To, Base: a.Base}
	}
	for b, at := range covered {
		if at.To != want[b].To || at.Base < want[b].Base {
			w.violated("snapshot %d: bucket %d is covered up to %v, it should be %v", s.ID, b, at, want[b])
		}
	}
	m.covered = covered
}

func (w *world) publishedFiles(s *snapshot.Snapshot, add, remove []manifest.Entry) {
	m := &w.m
	for _, e := range remove {
		if _, ok := m.live[e.Identity()]; !ok {
			w.violated("snapshot %d removes file %s, which is not live", s.ID, e.File.Name)
		}
		delete(m.live, e.Identity())
	}
	for _, e := range add {
		if _, ok := m.live[e.Identity()]; ok {
			w.violated("snapshot %d adds file %s, which is live", s.ID, e.File.Name)
		}
		m.live[e.Identity()] = e
		m.maxSeq[e.Bucket] = max(m.maxSeq[e.Bucket], e.File.MaxSeq)
	}
}

// checkOutcome compares what a committer was told with the truth.
func (w *world) checkOutcome(a *actor, c snapshot.Commit, s *snapshot.Snapshot, err error, faults, expiries, changes int) {
	at, done := w.m.committed[c.ID]
	switch {
	case err == nil:
		w.events["committed"]++
		if !done || s.ID != at {
			w.violated("%s was told that commit %s is in snapshot %d; it is in %d", a.name, c.ID, s.ID, at)
		}
	case errors.Is(err, snapshot.ErrUnknown):
		w.events["unknown"]++
		if a.faults == faults && w.m.expiries == expiries && w.m.changes == changes {
			w.violated("%s was told that commit %s is unknown, though nothing had broken: %v", a.name, c.ID, err)
		}
	default:
		switch {
		case errors.Is(err, snapshot.ErrFenced):
			w.events["fenced"]++
		case errors.Is(err, snapshot.ErrConflict):
			w.events["conflict"]++
		default:
			w.events["other error"]++
		}
		if done {
			w.violated("%s was told that commit %s is not in the table (%v); it is in snapshot %d", a.name, c.ID, err, at)
		}
		w.m.never[c.ID] = err
	}
}

// checkRead compares what a reader got from Latest with the truth before and after.
func (w *world) checkRead(a *actor, s *snapshot.Snapshot, err error, from table.SnapshotID, state string, changes, faults int) {
	switch {
	case err == nil:
		w.events["read"]++
		if s.ID < from {
			w.violated("%s got snapshot %d as the latest, %d had been published: back in time", a.name, s.ID, from)
		}
		if state != "live" && w.m.changes == changes {
			w.violated("%s got snapshot %d of a table that is %s", a.name, s.ID, state)
		}
		if !bytes.Equal(w.m.legit[s.ID], snapshot.Raw(s)) {
			w.violated("%s got as snapshot %d one that is not in the table", a.name, s.ID)
		}
	case errors.Is(err, snapshot.ErrDropped), errors.Is(err, snapshot.ErrNone):
		if state == "live" && w.m.changes == changes {
			w.violated("%s was told %v of a live table", a.name, err)
		}
	default:
		if a.faults == faults {
			w.violated("%s: latest: %v", a.name, err)
		}
	}
}

// checkEnd looks at the disk when all is quiet.
func (w *world) checkEnd() {
	ctx, m := context.Background(), &w.m
	v := &view{w: w, name: "checker"}
	tab := snapshot.Open(v, path)
	s, err := tab.Latest(ctx)
	if m.state != "live" {
		if err == nil {
			w.violated("the table is %s and has the snapshot %d", m.state, s.ID)
		}
		return
	}
	if err != nil || s.ID != m.newest {
		w.violated("at the end the latest is %v (%v), it should be %d", s, err, m.newest)
	}
	ids, err := tab.List(ctx)
	if err != nil || len(ids) == 0 || ids[len(ids)-1] != m.newest {
		w.violated("at the end there are %v (%v)", ids, err)
	}
	for i, id := range ids {
		if id != m.newest-table.SnapshotID(len(ids)-1-i) {
			w.violated("at the end the ids have a hole: %v", ids)
		}
		// An expiry may have been broken off after it removed files of older ones.
		if int(m.newest-id) < w.retain {
			w.checkSnapshot(ctx, tab, id)
		}
	}
	live, err := tab.Entries(ctx, s, snapshot.Filter{})
	if err != nil {
		w.violated("at the end: %v", err)
	}
	if len(live) != len(m.live) {
		w.violated("at the end %d files are live, it should be %d", len(live), len(m.live))
	}
	for _, e := range live {
		if _, ok := m.live[e.Identity()]; !ok {
			w.violated("at the end file %s is live and should not be", e.File.Name)
		}
	}
	w.checkCover(live)
	// Nobody is fenced for ever.
	log, covered, _, err := tab.Position(ctx, s)
	if err != nil {
		w.violated("at the end: position: %v", err)
	}
	c := snapshot.Commit{ID: w.newID(), User: "checker", Log: log, Kind: "APPEND"}
	for b, at := range covered {
		c.Advances = append(c.Advances, snapshot.Advance{Bucket: b, Span: table.Span{From: at.To, To: at.To + 1}, Base: at.Base})
	}
	m.intended[c.ID] = c
	if _, err := tab.Commit(ctx, c); err != nil {
		w.violated("at the end a commit from the latest position fails: %v", err)
	}
}

func (w *world) checkSnapshot(ctx context.Context, tab *snapshot.Table, id table.SnapshotID) {
	s, err := tab.Read(ctx, id)
	if err != nil {
		w.violated("at the end: %v", err)
	}
	if !bytes.Equal(snapshot.Raw(s), w.m.legit[id]) {
		w.violated("at the end snapshot %d is not the one that was published", id)
	}
	live, err := tab.Entries(ctx, s, snapshot.Filter{})
	if err != nil {
		w.violated("at the end: %v", err)
	}
	for _, e := range live {
		if _, ok := w.disk[dataKey(e)]; !ok {
			w.violated("at the end file %s of snapshot %d does not exist", e.File.Name, id)
		}
	}
}

// checkCover looks whether each offset below what is covered lies in exactly one live file: the
// compactions of the simulation keep every row.
func (w *world) checkCover(live []manifest.Entry) {
	for b, at := range w.m.covered {
		var spans []table.Span
		groups := []manifest.Entry{}
		for _, e := range live {
			if e.Bucket == b {
				spans = append(spans, w.files[e.File.Name]...)
				groups = append(groups, e)
			}
		}
		if _, err := manifest.Runs(w.schema, groups); err != nil {
			w.violated("at the end: %v", err)
		}
		slices.SortFunc(spans, func(x, y table.Span) int { return int(x.From - y.From) })
		next := table.Offset(0)
		for _, s := range spans {
			if s.From != next {
				w.violated("at the end bucket %d has the offsets %v after %d", b, s, next)
			}
			next = s.To
		}
		if next != at.To {
			w.violated("at the end bucket %d has offsets up to %d, it is covered up to %d", b, next, at.To)
		}
	}
}
