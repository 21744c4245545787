package catalog

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"dtstore/logstore"
	"dtstore/objstore"
	"dtstore/snapshot"
	"dtstore/table"
)

// DefaultDatabase always exists.
const DefaultDatabase = "public"

// Log is what the catalog needs of the log.
type Log interface {
	CreateTopic(ctx context.Context, name string, partitions int, o logstore.TopicOptions) (logstore.Topic, error)
	Topic(ctx context.Context, name string) (logstore.Topic, error)
	DeleteTopic(ctx context.Context, t logstore.Topic) error
}

// Options of a Catalog. Store and Log are required.
type Options struct {
	Store       objstore.Store
	Log         Log
	TopicPrefix string           // of the topics of new tables
	Fresh       time.Duration    // how long a cached schema is not checked; 0 means 1 s
	Now         func() time.Time // nil means time.Now
}

// Catalog is a warehouse. Any goroutine may call it.
type Catalog struct {
	store  objstore.Store
	log    Log
	prefix string
	fresh  time.Duration
	now    func() time.Time
	shared *snapshot.Cache // of all tables

	mu        sync.RWMutex               // guards the rest; not held during calls of others
	tables    map[name]cached            // by name
	histories map[string]*snapshot.Table // by path
	changed   uint64                     // counts our changes: what was read before one is not cached after it
	busy      map[name]chan struct{}     // closed when the change of this table that is under way ends
}

type name struct{ database, table string }

func (n name) path() string { return n.database + ".db/" + n.table }

// cached is a table as its files said it is at a moment.
type cached struct {
	table *Table
	raw   []byte // of the newest schema file
	at    time.Time
}

// Table is a table as its newest schema says it is. It is not modified.
type Table struct {
	Database, Name string
	Path           string // the folder: "db.db/t"
	Schema         *table.Schema
	Topic          logstore.Topic // its log; zero if foreign
	Foreign        bool           // another engine's: read-only
	Unreadable     error          // why its rows cannot be read: 0A000, or XX001 for a damaged schema (which then has no columns); else nil
	Options        TableOptions

	schemaIDs []int64 // the schemas with the columns of the newest
}

// display is the table's name in messages.
func (t *Table) display() string { return t.Database + "." + t.Name }

// Open returns the catalog of a warehouse and makes its default database.
func Open(ctx context.Context, o Options) (*Catalog, error) {
	c := &Catalog{
		store: o.Store, log: o.Log, prefix: o.TopicPrefix, fresh: o.Fresh, now: o.Now, shared: snapshot.NewCache(0),
		tables: map[name]cached{}, histories: map[string]*snapshot.Table{}, busy: map[name]chan struct{}{},
	}
	if c.fresh == 0 {
		c.fresh = time.Second
	}
	if c.now == nil {
		c.now = time.Now
	}
	if err := c.store.MakeFolder(ctx, DefaultDatabase+".db/"); err != nil {
		return nil, fmt.Errorf("open warehouse: %w", err)
	}
	return c, nil
}

// History returns the snapshots of a table.
func (c *Catalog) History(t *Table) *snapshot.Table {
	c.mu.RLock()
	h := c.histories[t.Path]
	c.mu.RUnlock()
	if h != nil {
		return h
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if h = c.histories[t.Path]; h == nil {
		h = snapshot.OpenShared(c.store, t.Path, c.shared)
		c.histories[t.Path] = h
	}
	return h
}

// Table returns the table of that name, which is exact. Without one the error is
// 42P01 with what may have been meant, without the database 3F000.
func (c *Catalog) Table(ctx context.Context, database, tableName string) (*Table, error) {
	n := name{database, tableName}
	t, err := c.lookup(ctx, n)
	if err != nil {
		return nil, fmt.Errorf("look up table %s.%s: %w", database, tableName, err)
	}
	if t == nil {
		return nil, c.noTable(ctx, n)
	}
	return t, nil
}

// Tables returns the tables of a database in order of their names, those that
// cannot be read included; 3F000 without the database.
func (c *Catalog) Tables(ctx context.Context, database string) ([]*Table, error) {
	names, err := c.tableNames(ctx, database)
	if err != nil {
		return nil, err
	}
	if len(names) == 0 {
		if err := c.needDatabase(ctx, database); err != nil {
			return nil, err
		}
	}
	found := make([]*Table, len(names))
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(16) // enough to hide a store's latency
	for i, tableName := range names {
		g.Go(func() (err error) {
			found[i], err = c.lookup(gctx, name{database, tableName})
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return nil, fmt.Errorf("list tables of %s: %w", database, err)
	}
	found = slices.DeleteFunc(found, func(t *Table) bool { return t == nil })
	slices.SortFunc(found, func(a, b *Table) int { return strings.Compare(a.Name, b.Name) })
	return found, nil
}

// tableNames are the folders that may be tables.
func (c *Catalog) tableNames(ctx context.Context, database string) ([]string, error) {
	if objstore.CheckKey(database+".db") != nil || strings.Contains(database, "/") {
		return nil, nil
	}
	var names []string
	for n, err := range c.store.Folders(ctx, database+".db/") {
		if err != nil {
			return nil, fmt.Errorf("list tables of %s: %w", database, err)
		}
		names = append(names, n)
	}
	return names, nil
}

// lookup returns the table or nil, from the cache while it is fresh.
func (c *Catalog) lookup(ctx context.Context, n name) (*Table, error) {
	c.mu.RLock()
	e, ok := c.tables[n]
	before := c.changed
	c.mu.RUnlock()
	now := c.now()
	if ok && now.Sub(e.at) < c.fresh {
		return e.table, nil
	}
	if objstore.CheckKey(n.path()) != nil || strings.Contains(n.database, "/") || strings.Contains(n.table, "/") {
		return nil, nil
	}
	if ok {
		same, err := c.unchanged(ctx, e)
		if err != nil {
			return nil, err
		}
		if same {
			c.keep(n, cached{e.table, e.raw, now}, before)
			return e.table, nil
		}
	}
	e, err := c.load(ctx, n)
	if err != nil {
		return nil, err
	}
	e.at = now
	c.keep(n, e, before)
	return e.table, nil
}

// keep caches what was read while before was the count of changes.
func (c *Catalog) keep(n name, e cached, before uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.changed != before {
		return
	}
	if e.table == nil {
		delete(c.tables, n)
	} else {
		c.tables[n] = e
	}
}

// forget drops what is cached of a table, and what is being read of it.
func (c *Catalog) forget(n name) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.changed++
	delete(c.tables, n)
}

// unchanged says whether the cached schema is the newest still: the next is not
// there, and it has the same bytes.
func (c *Catalog) unchanged(ctx context.Context, e cached) (bool, error) {
	if e.raw == nil {
		return false, nil
	}
	_, err := c.store.Stat(ctx, schemaKey(e.table.Path, e.table.Schema.ID+1))
	if !errors.Is(err, objstore.ErrNotExist) {
		return false, err
	}
	raw, err := c.store.Get(ctx, schemaKey(e.table.Path, e.table.Schema.ID))
	if errors.Is(err, objstore.ErrNotExist) {
		return false, nil
	}
	return bytes.Equal(raw, e.raw), err
}

// load reads a table's schemas; the entry has no table if there is none.
func (c *Catalog) load(ctx context.Context, n name) (cached, error) {
	ids, err := c.schemaIDs(ctx, n)
	if err != nil || len(ids) == 0 {
		return cached{}, err
	}
	t := &Table{Database: n.database, Name: n.table, Path: n.path(), Foreign: true}
	var versions []*table.Schema
	var raw []byte
	for _, id := range ids {
		raw, err = c.store.Get(ctx, schemaKey(t.Path, id))
		if errors.Is(err, objstore.ErrNotExist) {
			return cached{}, nil // it is being dropped
		} else if err != nil {
			return cached{}, err
		}
		s, err := DecodeSchema(raw)
		if err == nil && s.ID != id {
			err = fmt.Errorf("the file says %d", s.ID)
		}
		if err != nil {
			t.Schema = &table.Schema{Options: map[string]string{}}
			t.Options = OptionsOf(t.Schema)
			t.Unreadable = badSchema(t, id, err)
			return cached{table: t}, nil // without bytes: read again each time it is not fresh
		}
		versions = append(versions, s)
	}
	t.Schema = versions[len(versions)-1]
	t.Options = OptionsOf(t.Schema)
	// A creator that slept through a DROP and a CREATE may have put its schema
	// beside that of the table that is there now.
	versions = slices.DeleteFunc(versions, func(s *table.Schema) bool { return s.Options[optTopicID] != t.Schema.Options[optTopicID] })
	for _, s := range versions {
		if sameColumns(s, t.Schema) {
			t.schemaIDs = append(t.schemaIDs, s.ID)
		}
	}
	t.Unreadable = readable(t.display(), versions)
	if id := t.Schema.Options[optTopicID]; id != "" {
		t.Foreign = false
		t.Topic = logstore.Topic{Name: t.Schema.Options[optTopic], ID: logstore.TopicID(id), Partitions: t.Schema.LogPartitions()}
		if alive, err := c.finishCreate(ctx, t, raw); err != nil || !alive {
			return cached{}, err
		}
	}
	return cached{table: t, raw: raw}, nil
}

func badSchema(t *Table, id int64, err error) error {
	if errors.Is(err, errNewer) {
		return table.Errorf("0A000", "table \"%s\" cannot be read: its schema file has a %w", t.display(), err).
			WithHint("Use a newer dtserver for this warehouse.")
	}
	return table.Errorf("XX001", "table \"%s\" cannot be read: its file %s is damaged: %w", t.display(), schemaKey(t.Path, id), err).
		WithHint("Restore the file, or remove the table's folder from the warehouse.")
}

// schemaIDs lists a table's schemas in ascending order.
func (c *Catalog) schemaIDs(ctx context.Context, n name) ([]int64, error) {
	prefix := n.path() + "/schema/"
	var ids []int64
	for o, err := range c.store.List(ctx, prefix+schemaPrefix) {
		if err != nil {
			return nil, err
		}
		if id, ok := schemaID(strings.TrimPrefix(o.Key, prefix)); ok {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids, nil
}

// finishCreate puts the first snapshot of a table of ours whose creator died
// before that. It reports whether the table exists: one marked as dropped does
// not, though its schema may still be there.
func (c *Catalog) finishCreate(ctx context.Context, t *Table, raw []byte) (alive bool, err error) {
	h := c.History(t)
	_, err = h.Latest(ctx)
	if errors.Is(err, snapshot.ErrNone) {
		// A DROP in this process may just have taken the last of it.
		end, changeErr := c.change(ctx, name{t.Database, t.Name})
		if changeErr != nil {
			return false, changeErr
		}
		defer end()
		now, getErr := c.store.Get(ctx, schemaKey(t.Path, t.Schema.ID))
		if errors.Is(getErr, objstore.ErrNotExist) || getErr == nil && !bytes.Equal(now, raw) {
			return false, nil
		} else if getErr != nil {
			return false, getErr
		}
		if id, dropped, err := c.droppedLog(ctx, name{t.Database, t.Name}); err != nil || dropped && id == t.Topic.ID {
			return false, err
		}
		if gone, err := c.logGone(ctx, t.Schema); err != nil || gone {
			return false, err
		}
		if _, err = h.Create(ctx, snapshot.LogID(t.Topic.ID), t.Topic.Partitions, t.Schema.ID); err != nil {
			return false, err
		}
	}
	var fault *table.Error
	switch {
	case errors.Is(err, snapshot.ErrDropped) && !errors.Is(err, snapshot.ErrNone):
		return false, nil
	case errors.As(err, &fault): // such as a snapshot of a newer format
		if t.Unreadable == nil {
			t.Unreadable = err
		}
	case ctx.Err() != nil, errors.Is(err, snapshot.ErrNone):
		return false, err
	}
	return true, nil // what else is wrong with its snapshots, who reads them will say
}

// logGone says whether the topic of a schema is not there, or has another id by
// now. Such a schema without any snapshot is no table: its put arrived after the
// DROP, or its log is lost and never held anything.
func (c *Catalog) logGone(ctx context.Context, s *table.Schema) (bool, error) {
	topic, err := c.log.Topic(ctx, s.Options[optTopic])
	if errors.Is(err, logstore.ErrNoTopic) {
		return true, nil
	}
	return err == nil && string(topic.ID) != s.Options[optTopicID], err
}

// noTable is the error for a table that is not there.
func (c *Catalog) noTable(ctx context.Context, n name) error {
	if err := c.needDatabase(ctx, n.database); err != nil {
		return err
	}
	e := table.Errorf("42P01", "relation \"%s.%s\" does not exist", n.database, n.table)
	if n.database == DefaultDatabase {
		e = table.Errorf("42P01", "relation \"%s\" does not exist", n.table)
	}
	tables, err := c.Tables(ctx, n.database)
	if err != nil {
		return err
	}
	var names []string
	for _, t := range tables {
		names = append(names, t.Name)
	}
	if near := table.Nearest(n.table, names); near != "" {
		return e.WithHint("Did you mean \"%s\"?", near)
	}
	return e
}

// change waits until nobody in this process changes the table, then lets the
// caller do it until it calls end. Others of this process see no state cached
// from before or meanwhile.
func (c *Catalog) change(ctx context.Context, n name) (end func(), err error) {
	for {
		c.mu.Lock()
		other, ok := c.busy[n]
		if !ok {
			done := make(chan struct{})
			c.busy[n] = done
			c.mu.Unlock()
			c.forget(n)
			return func() {
				c.forget(n)
				c.mu.Lock()
				delete(c.busy, n)
				c.mu.Unlock()
				close(done)
			}, nil
		}
		c.mu.Unlock()
		select {
		case <-other:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}
