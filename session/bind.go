package session

import (
	"context"
	"errors"
	"io"
	"slices"
	"sync"

	"dtstore/catalog"
	"dtstore/exec"
	"dtstore/merge"
	"dtstore/planner"
	"dtstore/scan"
	"dtstore/snapshot"
	"dtstore/sql"
	"dtstore/table"
)

// bound is a query whose tables are found.
type bound struct {
	se   *Session
	tree *exec.Tree
	refs []boundRef // of our tables, in the tree's order
	text sql.Rewritten
	base int // 1-based character of the text's start in the query text, less 1

	second bool // read as MySQL's: places in text are not those of the query text
}

type boundRef struct {
	ref   *exec.Ref
	table *catalog.Table
}

// bind rewrites and parses a query's text, and finds its tables. The engine's
// grammar comes first; text that it refuses is tried as MySQL's.
func (se *Session) bind(ctx context.Context, text string, base int) (*bound, error) {
	b := &bound{se: se, base: base}
	var err error
	if b.text, err = sql.Rewrite(text, sql.RewriteOptions{Setting: se.settings.lookup}); err != nil {
		return nil, shift(err, base)
	}
	b.tree, err = se.srv.Engine.Parse(ctx, b.text.SQL)
	if errors.Is(err, exec.ErrSyntax) {
		other, myErr := sql.FromMySQL(text)
		switch {
		case table.SQLState(myErr) == "0A000":
			return nil, shift(myErr, base)
		case myErr == nil:
			if tree, treeErr := se.srv.Engine.Parse(ctx, other); treeErr == nil {
				b.tree, b.second, err = tree, true, nil
				b.text = sql.Rewritten{SQL: other}
			}
		}
	}
	if err != nil {
		return nil, b.place(err)
	}
	for _, ref := range b.tree.Refs {
		if ref.Catalogue {
			continue
		}
		if ref.Catalog != "" && ref.Catalog != databaseName {
			return nil, b.at(table.Errorf("0A000", "cross-database references are not implemented: \"%s.%s.%s\"", ref.Catalog, ref.Schema, ref.Name), ref.Pos)
		}
		if ref.Version != nil || ref.Timestamp != nil {
			return nil, b.at(table.Errorf("0A000", "time travel is not supported yet"), ref.Pos)
		}
		t, err := se.resolve(ctx, ref.Schema, ref.Name)
		if err == nil {
			err = readable(t)
		}
		if err != nil {
			return nil, b.at(err, ref.Pos)
		}
		b.refs = append(b.refs, boundRef{ref, t})
	}
	return b, nil
}

// at gives an error the position of a byte of the rewritten text.
func (b *bound) at(err error, pos int) error {
	var e *table.Error
	if !errors.As(err, &e) || e.Position != 0 || b.second {
		return err
	}
	return e.At(b.text.Position(pos+1) + b.base)
}

// place turns a position in the rewritten text into one in the query text.
func (b *bound) place(err error) error {
	var e *table.Error
	if !errors.As(err, &e) || e.Position == 0 {
		return err
	}
	if b.second {
		return e.At(0)
	}
	return e.At(b.text.Position(e.Position) + b.base)
}

// shift moves an error's position from a fragment to the query text.
func shift(err error, base int) error {
	var e *table.Error
	if !errors.As(err, &e) || e.Position == 0 {
		return err
	}
	return e.At(e.Position + base)
}

// tables of the query, each once.
func (b *bound) tables() []*catalog.Table {
	var out []*catalog.Table
	for _, r := range b.refs {
		if !slices.Contains(out, r.table) {
			out = append(out, r.table)
		}
	}
	return out
}

func columnsOf(s *table.Schema) []exec.Column {
	out := make([]exec.Column, len(s.Fields))
	for i, f := range s.Fields {
		out[i] = exec.Column{Name: f.Name, Type: f.Type}
	}
	return out
}

// describe finds the types of parameters and columns, without reading.
func (b *bound) describe(ctx context.Context, declared []exec.Type) (params []exec.Type, columns []exec.ResultColumn, err error) {
	var handles []*exec.Handle
	defer func() {
		for _, h := range handles {
			h.Close()
		}
	}()
	text, err := b.tree.Render(func(ref *exec.Ref) (string, error) {
		h, err := b.se.srv.Engine.Register(ctx, exec.Relation{Columns: columnsOf(b.of(ref).Schema), Open: func(context.Context, []int) (exec.Source, error) { return exec.Rows(nil), nil }})
		if err != nil {
			return "", err
		}
		handles = append(handles, h)
		return h.SQL(), nil
	})
	if err != nil {
		return nil, nil, b.place(err)
	}
	st, err := b.se.engine.Prepare(ctx, text, declared)
	if err != nil {
		return nil, nil, b.engineError(err)
	}
	defer st.Close()
	return b.oids(st.Params()), st.Columns(), nil
}

func (b *bound) of(ref *exec.Ref) *catalog.Table {
	for _, r := range b.refs {
		if r.ref == ref {
			return r.table
		}
	}
	return nil
}

// predicates are those of a reference that may prune its table. all is false
// if one of them is not among the result.
func (b *bound) predicates(r boundRef, params []param) (preds []planner.Predicate, all bool) {
	all = true
	for _, p := range r.ref.Predicates {
		lits := make([]planner.Literal, len(p.Args))
		for i, l := range p.Args {
			lits[i] = literal(l, params)
		}
		bp, ok := planner.Bind(r.table.Schema, p.Column, planner.Op(p.Op), lits, b.se.settings.location())
		if !ok {
			all = false
			continue
		}
		preds = append(preds, bp)
	}
	return preds, all
}

// fields of a table that a reference can use; nil for all.
func fields(r boundRef) []int {
	if r.ref.All {
		return nil
	}
	out := []int{}
	for _, name := range r.ref.Columns {
		if i := r.table.Schema.Index(name); i >= 0 {
			out = append(out, i)
		}
	}
	return out
}

// plan makes the plan of one reference over a view.
func (b *bound) plan(ctx context.Context, r boundRef, tv *tableView, preds []planner.Predicate) (planner.Plan, error) {
	req := planner.Request{Schema: r.table.Schema, Predicates: preds, Covered: tv.covered, Horizon: tv.horizon}
	f := planner.NewFilter(req)
	if tv.snapshot == nil {
		return planner.Make(req, nil)
	}
	var wanted snapshot.Filter
	if len(r.table.Schema.PartitionIndexes()) > 0 { // else all files, which the history has folded already
		wanted = snapshot.Filter{Bounds: f.Manifest, Partition: f.Partition}
	}
	live, err := b.se.srv.Catalog.History(r.table).Entries(ctx, tv.snapshot, wanted)
	if err != nil {
		return planner.Plan{}, err
	}
	if err := planner.CheckEntries(live); err != nil {
		return planner.Plan{}, err
	}
	last := int64(-1)
	for i := range live {
		if id := live[i].File.SchemaID; id != last {
			if err := r.table.CheckSchema(id); err != nil {
				return planner.Plan{}, err
			}
			last = id
		}
	}
	return planner.Make(req, live)
}

func (b *bound) target(t *catalog.Table) (scan.Target, error) {
	overlay, err := b.se.tx.buffer.overlay(t)
	return scan.Target{Path: t.Path, Schema: t.Schema, Topic: t.Topic, Overlay: overlay}, err
}

// opened is a query that is ready to run: its relations stand in rendered text.
type opened struct {
	text    string
	plans   []planner.Plan // as bound.refs
	scans   []*scan.Scan   // likewise
	handles []*exec.Handle
}

func (o *opened) close() {
	for _, h := range o.handles {
		h.Close()
	}
	for _, s := range o.scans {
		if s != nil {
			s.Close()
		}
	}
	o.handles, o.scans = nil, nil
}

// open plans and scans every table, and renders the query over them. ctx must
// live as long as the query runs.
func (b *bound) open(ctx context.Context, v *view, params []param) (o *opened, err error) {
	o = &opened{}
	defer func() {
		if err != nil {
			o.close()
		}
	}()
	// The text may name the tables in another order than the tree, and more than once.
	texts := make([]string, len(b.refs))
	o.scans, o.plans = make([]*scan.Scan, len(b.refs)), make([]planner.Plan, len(b.refs))
	o.text, err = b.tree.Render(func(ref *exec.Ref) (text string, err error) {
		i := slices.IndexFunc(b.refs, func(r boundRef) bool { return r.ref == ref })
		if texts[i] != "" {
			return texts[i], nil
		}
		r := b.refs[i]
		preds, _ := b.predicates(r, params)
		p, err := b.plan(ctx, r, v.tables[r.table.Path], preds)
		if err != nil {
			return "", err
		}
		target, err := b.target(r.table)
		if err != nil {
			return "", err
		}
		s, err := b.se.srv.Reader.Open(ctx, target, p, fields(r))
		if err != nil {
			return "", err
		}
		o.scans[i], o.plans[i] = s, p
		texts[i], err = b.relation(ctx, o, r.table.Schema, s)
		return texts[i], err
	})
	return o, err
}

// relation gives the SQL of a scan: files for the engine's own reader, the
// tail's rows, or merged rows.
func (b *bound) relation(ctx context.Context, o *opened, schema *table.Schema, s *scan.Scan) (string, error) {
	columns := columnsOf(schema)
	register := func(r exec.Relation) (string, error) {
		h, err := b.se.srv.Engine.Register(ctx, r)
		if err != nil {
			return "", err
		}
		o.handles = append(o.handles, h)
		return h.SQL(), nil
	}
	if s.Merged != nil {
		return register(mergedRelation(columns, s.Merged))
	}
	var parts []string
	if len(s.Files) > 0 {
		p := exec.ParquetScan{Columns: columns}
		for _, f := range s.Files {
			p.Files = append(p.Files, exec.File{Path: f.Path, Rows: f.Rows, Dead: f.Dead})
		}
		if len(s.Hide) > 0 {
			p.Hidden = hidden(schema, columns, s.Hide)
		}
		h, err := b.se.srv.Engine.Parquet(ctx, p)
		if err != nil {
			return "", err
		}
		o.handles = append(o.handles, h)
		parts = append(parts, h.SQL())
	}
	if len(s.Tail) > 0 || len(parts) == 0 {
		text, err := register(memoryRelation(columns, s.Tail))
		if err != nil {
			return "", err
		}
		if len(parts) == 0 {
			return text, nil
		}
		parts = append(parts, text)
	}
	return exec.Union(parts...), nil
}

// hidden is the keys of the tail, which hide rows of files.
func hidden(schema *table.Schema, columns []exec.Column, rows []table.Row) *exec.Hidden {
	h := &exec.Hidden{Key: schema.PrimaryIndexes()}
	var names []exec.Column
	leading := true // the key is what the rows begin with: they can be read as they are
	for j, i := range h.Key {
		names = append(names, columns[i])
		leading = leading && i == j
	}
	if leading {
		h.Keys = memoryRelation(names, rows)
		return h
	}
	n := len(h.Key)
	keys, cells := make([]table.Row, len(rows)), make(table.Row, len(rows)*n)
	for r, row := range rows {
		key := cells[r*n : (r+1)*n : (r+1)*n]
		for j, i := range h.Key {
			key[j] = row[i]
		}
		keys[r] = key
	}
	h.Keys = memoryRelation(names, keys)
	return h
}

func memoryRelation(columns []exec.Column, rows []table.Row) exec.Relation {
	return exec.Relation{Columns: columns, Rows: int64(len(rows)), Threads: 2, Open: func(context.Context, []int) (exec.Source, error) { return exec.Rows(rows), nil }}
}

// mergedThreads read parts of a merged scan at a time.
const mergedThreads = 2

func mergedRelation(columns []exec.Column, parts []scan.Part) exec.Relation {
	r := exec.Relation{Columns: columns, Threads: mergedThreads}
	for _, p := range parts {
		r.Rows += p.Rows
	}
	r.Open = func(context.Context, []int) (exec.Source, error) { return &mergedSource{parts: parts}, nil }
	return r
}

// mergedSource hands out batches of merged parts; each call works on a part
// that no other call works on.
type mergedSource struct {
	mu    sync.Mutex // guards the rest
	parts []scan.Part
	idle  []merge.Iterator
	ended bool
}

const mergedBatch = 2048

func (m *mergedSource) take(ctx context.Context) (merge.Iterator, error) {
	m.mu.Lock()
	if n := len(m.idle); n > 0 {
		it := m.idle[n-1]
		m.idle = m.idle[:n-1]
		m.mu.Unlock()
		return it, nil
	}
	if len(m.parts) == 0 {
		m.mu.Unlock()
		return nil, io.EOF
	}
	p := m.parts[0]
	m.parts = m.parts[1:]
	m.mu.Unlock()
	return p.Open(ctx)
}

func (m *mergedSource) Next(ctx context.Context) (exec.Batch, error) {
	for {
		it, err := m.take(ctx)
		if err != nil {
			return nil, err
		}
		batch := make(exec.Batch, 0, mergedBatch)
		for len(batch) < mergedBatch {
			kv, err := it.Next()
			if errors.Is(err, io.EOF) {
				if err := it.Close(); err != nil {
					return nil, err
				}
				it = nil
				break
			}
			if err != nil {
				return nil, errors.Join(err, it.Close())
			}
			batch = append(batch, slices.Clone(kv.Row))
		}
		if it != nil {
			m.mu.Lock()
			m.idle = append(m.idle, it)
			m.mu.Unlock()
		}
		if len(batch) > 0 {
			return batch, nil
		}
	}
}

func (m *mergedSource) Close() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, it := range m.idle {
		it.Close()
	}
	m.idle, m.parts = nil, nil
}

// engineError places an error of the engine, whose position is in rendered
// text and means nothing to the client: what it is about is looked for in the
// query text.
func (b *bound) engineError(err error) error {
	var e *table.Error
	if errors.As(err, &e) && e.Position != 0 {
		err = e.At(0)
	}
	return b.place(b.tree.Locate(err))
}
