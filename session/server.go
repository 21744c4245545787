package session

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"dtstore/catalog"
	"dtstore/exec"
	"dtstore/logstore"
	"dtstore/scan"
	"dtstore/table"
	"dtstore/wire"
)

// Keeper is what sessions need of the owner of buckets.
type Keeper interface {
	// Adopt starts keeping a table that was made or altered; Release ends it
	// before a DROP.
	Adopt(t *catalog.Table)
	Release(id logstore.TopicID)
	// Checkpoint returns when snapshots cover the horizon.
	Checkpoint(ctx context.Context, t *catalog.Table, horizon []table.Offset) error
	Compact(ctx context.Context, t *catalog.Table) (CompactReport, error)
	// Room returns when some buckets of a table can take more changes.
	Room(ctx context.Context, id logstore.TopicID, buckets []table.Bucket) error
	// Pin keeps a snapshot from expiry until release.
	Pin(path string, id table.SnapshotID) (release func())
	Status(id logstore.TopicID) ([]BucketStatus, bool)
}

// CompactReport says what a compaction did.
type CompactReport struct {
	Snapshot    table.SnapshotID
	Buckets     int
	FilesBefore int
	FilesAfter  int
	RowsBefore  int64
	RowsAfter   int64
	BytesBefore int64
	BytesAfter  int64
}

// BucketStatus is what a bucket is at.
type BucketStatus struct {
	Bucket  table.Bucket
	Covered table.Offset // the latest snapshot reaches so far
	Applied table.Offset // the memtables reach so far
	Rows    int          // versions that no snapshot has
	Bytes   int64
	Err     error // why it stopped
}

// Options of a Server.
type Options struct {
	Catalog     *catalog.Catalog
	Log         *logstore.Log
	Engine      *exec.Engine
	Reader      *scan.Reader
	Keeper      Keeper
	Spool       string // folder for what a transaction buffers beyond BufferBytes
	BufferBytes int64  // of one transaction's rows in memory; 0 means 128 MiB
	Version     string // of dtserver, for version()
	Logger      *slog.Logger
	Cancel      func(pid uint32) bool // pg_cancel_backend
	Terminate   func(pid uint32) bool // pg_terminate_backend
}

// Server is what all sessions share.
type Server struct {
	Options
	ddl     chan struct{} // one place: one CREATE, ALTER or DROP at a time
	refresh refresher
	codecs  codecs
	started time.Time
}

// NewServer makes a Server.
func NewServer(o Options) (*Server, error) {
	if o.Catalog == nil || o.Engine == nil || o.Reader == nil || o.Keeper == nil {
		return nil, errors.New("session: a server needs a catalog, an engine, a reader and a keeper")
	}
	if o.BufferBytes == 0 {
		o.BufferBytes = 128 << 20
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return &Server{Options: o, ddl: make(chan struct{}, 1), started: time.Now()}, nil
}

// NewSession is wire's way in.
func (s *Server) NewSession(ctx context.Context, info wire.StartupInfo, w *wire.Writer) (wire.Session, error) {
	path, database, err := s.searchPath(ctx, info)
	if err != nil {
		return nil, err
	}
	engine, err := s.Engine.Session(ctx)
	if err != nil {
		return nil, err
	}
	se := &Session{srv: s, ctx: ctx, info: info, out: w, engine: engine, database: database,
		statements: map[string]*prepared{}, portals: map[string]*portal{}}
	se.settings = newSettings(se, info, path)
	if err := se.settings.start(ctx, w); err != nil {
		engine.Close()
		return nil, err
	}
	return se, nil
}

// searchPath finds out what a connection asked for: the database dtstore,
// postgres, the user's own name, or a schema, which then leads the path.
func (s *Server) searchPath(ctx context.Context, info wire.StartupInfo) (path []string, database string, err error) {
	switch info.Database {
	case "", databaseName, "postgres", info.User:
		return []string{catalog.DefaultDatabase}, databaseName, nil
	}
	names, err := s.Catalog.Databases(ctx)
	if err != nil {
		return nil, "", err
	}
	if slices.Contains(names, info.Database) {
		return []string{info.Database, catalog.DefaultDatabase}, databaseName, nil
	}
	return nil, "", table.Errorf("3D000", "database %q does not exist", info.Database).
		WithHint("There is one database, %q; its schemas are: %s.", databaseName, joinSome(names, 10))
}

// databaseName is the one Postgres database that there is.
const databaseName = "dtstore"

func joinSome(names []string, most int) string {
	out := ""
	for i, n := range names {
		if i == most {
			return out + ", …"
		}
		if i > 0 {
			out += ", "
		}
		out += n
	}
	return out
}

// resolve finds a table by the name in a statement. position is where the name
// stands, for the error.
func (se *Session) resolve(ctx context.Context, schema, name string) (*catalog.Table, error) {
	if schema != "" {
		return se.srv.Catalog.Table(ctx, schema, name)
	}
	var first error
	for _, db := range se.settings.searchPath() {
		t, err := se.srv.Catalog.Table(ctx, db, name)
		if err == nil {
			return t, nil
		}
		if c := table.SQLState(err); c != "42P01" && c != "3F000" {
			return nil, err
		}
		if first == nil || table.SQLState(first) != "42P01" {
			first = err // a schema of the path that does not exist says nothing of the table
		}
	}
	none := table.Errorf("42P01", "relation %q does not exist", name)
	var e *table.Error
	if errors.As(first, &e) && e.Code == "42P01" && e.Hint != "" {
		none = none.WithHint("%s", e.Hint)
	}
	return nil, none
}

// readable refuses tables that cannot be read.
func readable(t *catalog.Table) error { return t.Unreadable }

// writable refuses tables that are not ours.
func writable(t *catalog.Table) error {
	if t.Unreadable != nil {
		return t.Unreadable
	}
	if t.Foreign {
		return table.Errorf("0A000", "table %s.%s was made by another engine and can only be read", t.Database, t.Name).
			WithHint("Make a table here and INSERT INTO it SELECT from this one.")
	}
	return nil
}

// recoverTo turns a panic of ours into an error of one statement: other
// sessions go on. The stack goes to the log.
func (se *Session) recoverTo(err *error) {
	if r := recover(); r != nil {
		se.srv.Logger.Error("panic in a statement", "panic", r, "stack", stack())
		*err = fmt.Errorf("panic in a statement: %v", r)
	}
}
