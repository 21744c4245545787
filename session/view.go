package session

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"dtstore/catalog"
	"dtstore/logstore"
	"dtstore/planner"
	"dtstore/snapshot"
	"dtstore/table"
	"dtstore/wire"
)

// view is what a statement sees: of each table a snapshot and, read after it,
// the horizon of its log (seam R1). The snapshots are pinned until release.
type view struct {
	tables map[string]*tableView // by path
	pins   []func()              // of snapshots
	unpin  func()                // of the horizon, if it was pinned
}

type tableView struct {
	table    *catalog.Table
	snapshot *snapshot.Snapshot // nil: a foreign table without one
	covered  planner.Covered
	horizon  []table.Offset // nil: files only
}

func (v *view) release() {
	for _, f := range v.pins {
		f()
	}
	v.pins = nil
	if v.unpin != nil {
		v.unpin()
		v.unpin = nil
	}
}

// view takes the state of tables at once: snapshots first, then one vector of
// last stable offsets.
func (se *Session) view(ctx context.Context, tables []*catalog.Table) (*view, error) {
	return se.viewFor(ctx, tables, false)
}

// viewFor is view; with check the horizon is pinned, so that what is read can be
// checked exactly at COMMIT.
func (se *Session) viewFor(ctx context.Context, tables []*catalog.Table, check bool) (*view, error) {
	if v := se.tx.pinned; v != nil {
		return v, v.has(tables)
	}
	o := viewOptions{pin: check || se.tx.repeatable(), filesOnly: se.settings.readSnapshots()}
	if o.filesOnly && slices.ContainsFunc(tables, func(t *catalog.Table) bool { return !t.Foreign }) {
		se.out.Notice(wire.Notice{Message: "rows are read from files alone, as of the latest snapshot: later changes are not shown",
			Hint: "RESET dtstore.read reads the log too."})
	}
	if se.tx.repeatable() {
		var err error
		if o.others, err = se.otherTables(ctx, tables); err != nil {
			return nil, err
		}
	}
	v, err := se.srv.view(ctx, tables, o)
	if err != nil {
		return nil, err
	}
	se.tx.queried = true
	se.tx.views = append(se.tx.views, v)
	if se.tx.repeatable() {
		se.tx.pinned = v
	}
	return v, nil
}

// dropView lets a view go early, when its statement has ended and others of
// the transaction take views of their own.
func (se *Session) dropView(v *view) {
	if se.tx == nil || se.tx.pinned == v {
		return
	}
	v.release()
	if i := slices.Index(se.tx.views, v); i >= 0 {
		se.tx.views = slices.Delete(se.tx.views, i, i+1)
	}
}

// has fails if a table was made, or made again, since the view was taken.
func (v *view) has(tables []*catalog.Table) error {
	for _, t := range tables {
		tv := v.tables[t.Path]
		if tv == nil || tv.table.Topic.ID != t.Topic.ID {
			return table.Errorf("40001", "table %s.%s was created or dropped since this transaction began", t.Database, t.Name).
				WithHint("Roll the transaction back and run it again.")
		}
	}
	return nil
}

// otherTables is what a REPEATABLE READ transaction pins besides the tables of
// its first statement: every readable table.
func (se *Session) otherTables(ctx context.Context, asked []*catalog.Table) ([]*catalog.Table, error) {
	var out []*catalog.Table
	seen := map[string]bool{}
	for _, t := range asked {
		seen[t.Path] = true
	}
	dbs, err := se.srv.Catalog.Databases(ctx)
	if err != nil {
		return nil, err
	}
	for _, db := range dbs {
		tables, err := se.srv.Catalog.Tables(ctx, db)
		if err != nil {
			return nil, err
		}
		for _, t := range tables {
			if !seen[t.Path] && t.Unreadable == nil {
				out = append(out, t)
			}
		}
	}
	return out, nil
}

type viewOptions struct {
	pin       bool             // the horizon, for checks at COMMIT
	filesOnly bool             // no horizon
	others    []*catalog.Table // if they can be read
}

func (s *Server) view(ctx context.Context, tables []*catalog.Table, o viewOptions) (_ *view, err error) {
	v := &view{tables: map[string]*tableView{}}
	defer func() {
		if err != nil {
			v.release()
		}
	}()
	var topics []logstore.Topic
	for i, t := range slices.Concat(tables, o.others) {
		if v.tables[t.Path] != nil {
			continue
		}
		tv, err := s.snapshotOf(ctx, t, v)
		if err != nil {
			if i >= len(tables) && ctx.Err() == nil {
				continue // a table that is damaged, or was dropped just now, is in nobody's way
			}
			return nil, err
		}
		v.tables[t.Path] = tv
		if !t.Foreign && !o.filesOnly {
			topics = append(topics, t.Topic)
		}
	}
	if len(topics) == 0 {
		return v, nil
	}
	var horizon map[logstore.TopicID][]table.Offset
	if o.pin {
		horizon, v.unpin, err = s.Log.PinHorizon(ctx, topics)
	} else {
		horizon, err = s.Log.Horizon(ctx, topics)
	}
	if err != nil {
		return nil, kafkaAway(err)
	}
	for _, tv := range v.tables {
		if h, ok := horizon[tv.table.Topic.ID]; ok && !tv.table.Foreign {
			tv.horizon = h
		}
	}
	return v, nil
}

// kafkaAway says what a reader can do without the log (seam R6).
func kafkaAway(err error) error {
	if errors.Is(err, logstore.ErrUnavailable) {
		return table.Errorf("57P03", "Kafka does not answer, so acknowledged rows that are not in files yet cannot be read: %w", err).
			WithHint("SET dtstore.read = 'snapshot' reads the files alone, as of the latest snapshot.")
	}
	return err
}

// snapshotOf reads and pins a table's latest snapshot, and checks that it was
// made from the table's own log (seam C3).
func (s *Server) snapshotOf(ctx context.Context, t *catalog.Table, v *view) (*tableView, error) {
	tv := &tableView{table: t, covered: planner.Covered{}}
	history := s.Catalog.History(t)
	latest, err := history.Latest(ctx)
	if errors.Is(err, snapshot.ErrNone) && t.Foreign {
		return tv, nil
	}
	if err != nil {
		return nil, fmt.Errorf("snapshot of %s.%s: %w", t.Database, t.Name, err)
	}
	tv.snapshot = latest
	v.pins = append(v.pins, s.Keeper.Pin(t.Path, latest.ID))
	if t.Foreign {
		return tv, nil
	}
	id, covered, _, err := history.Position(ctx, latest)
	if err != nil {
		return nil, fmt.Errorf("snapshot %d of %s.%s: %w", latest.ID, t.Database, t.Name, err)
	}
	if string(id) != string(t.Topic.ID) {
		return nil, table.Errorf("XX001", "snapshot %d of table %s.%s was made from another log", latest.ID, t.Database, t.Name).
			WithDetail("The table has topic %s, the snapshot %s.", t.Topic.ID, id)
	}
	for b, c := range covered {
		tv.covered[b] = c.To
	}
	return tv, nil
}
