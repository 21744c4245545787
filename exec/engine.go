package exec

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"unsafe"

	duckdb "github.com/duckdb/duckdb-go-bindings"
)

// Options of an Engine. The zero value works, and spills nothing to disk.
type Options struct {
	SpoolDir    string   // where sorts and joins spill; "" means nowhere
	MemoryBytes int64    // DuckDB's own limit; 0 means 1 GiB
	Threads     int      // 0 means one per CPU
	Readable    []string // folders whose Parquet files our relations may name
	Database    string   // what current_database() says; "" means dtstore
	User        string   // who owns everything in the catalog; "" means dtstore
}

// Engine is one DuckDB instance. All methods may be called from any goroutine.
type Engine struct {
	opts  Options
	db    duckdb.Database
	extra unsafe.Pointer // C memory that holds a handle of the engine, for the callbacks
	nonce string         // makes placeholders unguessable
	trees treeCache
	shim  shim

	relations sync.Map // id (int64) to *relation or *mask
	nextID    atomic.Int64

	mu     sync.Mutex // guards idle, open, closed
	idle   []*conn
	open   int
	closed bool
}

// conn is one DuckDB connection. One goroutine uses it at a time; only
// Interrupt and QueryProgress may be called beside it.
type conn struct {
	c        duckdb.Connection
	timeZone string // "" is UTC
	path     string // search_path as it stands
	identity string // the SETs that made its variables
}

// maxIdle is how many connections are kept for the next session.
const maxIdle = 16

// Open makes an engine. Its settings are final: what user SQL may do is decided
// before the first statement.
func Open(o Options) (*Engine, error) {
	if o.MemoryBytes == 0 {
		o.MemoryBytes = 1 << 30
	}
	if o.Threads == 0 {
		o.Threads = runtime.NumCPU()
	}
	if o.Database == "" {
		o.Database = "dtstore"
	}
	if o.User == "" {
		o.User = "dtstore"
	}
	e := &Engine{opts: o, nonce: newNonce()}
	if err := e.start(); err != nil {
		return nil, fmt.Errorf("open engine: %w", err)
	}
	if err := e.prime(); err != nil {
		return nil, errors.Join(fmt.Errorf("open engine: %w", err), e.Close())
	}
	return e, nil
}

func (e *Engine) start() error {
	var cfg duckdb.Config
	if duckdb.CreateConfig(&cfg) != duckdb.StateSuccess {
		return errors.New("no configuration")
	}
	defer duckdb.DestroyConfig(&cfg)
	for k, v := range map[string]string{
		"autoinstall_known_extensions": "false", // an unknown name must never start a download
		"autoload_known_extensions":    "false",
		"allow_community_extensions":   "false",
		"threads":                      strconv.Itoa(e.opts.Threads),
		"memory_limit":                 strconv.FormatInt(e.opts.MemoryBytes, 10) + "B",
		"default_null_order":           "nulls_last_on_asc_first_on_desc",
	} {
		if duckdb.SetConfig(cfg, k, v) != duckdb.StateSuccess {
			return fmt.Errorf("setting %s = %s", k, v)
		}
	}
	var msg string
	if duckdb.OpenExt("", &e.db, cfg, &msg) != duckdb.StateSuccess {
		return errors.New(msg)
	}
	return nil
}

// prime makes the shim, registers the table function and then shuts the door to
// files other than ours.
func (e *Engine) prime() error {
	c, err := e.connect()
	if err != nil {
		return err
	}
	defer e.release(c)
	for _, extension := range []string{"icu", "json", "parquet"} { // they are in the library
		if err := c.exec("LOAD " + extension); err != nil {
			return fmt.Errorf("extension %s: %w", extension, err)
		}
	}
	if err := e.createShim(c); err != nil {
		return fmt.Errorf("catalog shim: %w", err)
	}
	e.extra = hold(e)
	if err := errors.Join(e.registerRows(c), e.registerLive(c)); err != nil {
		return err
	}
	dirs := make([]string, 0, len(e.opts.Readable))
	for _, d := range e.opts.Readable {
		abs, err := filepath.Abs(d)
		if err != nil {
			return fmt.Errorf("readable folder %s: %w", d, err)
		}
		dirs = append(dirs, literal(abs+string(filepath.Separator)))
	}
	settings := []string{"SET allowed_directories = [" + strings.Join(dirs, ", ") + "]"}
	if e.opts.SpoolDir != "" {
		if err := os.MkdirAll(e.opts.SpoolDir, 0o700); err != nil {
			return fmt.Errorf("spool folder: %w", err)
		}
		settings = append(settings, "SET temp_directory = "+literal(e.opts.SpoolDir))
	} else {
		settings = append(settings, "SET temp_directory = ''")
	}
	// Data files never change, so the cache of their bytes need not look again.
	settings = append(settings, "SET validate_external_file_cache = 'NO_VALIDATION'", "SET enable_external_access = false")
	for _, s := range settings {
		if err := c.exec(s); err != nil {
			return fmt.Errorf("%s: %w", s, err)
		}
	}
	return nil
}

// Close ends the engine. All sessions must have been closed.
func (e *Engine) Close() error {
	e.mu.Lock()
	idle, open := e.idle, e.open
	e.idle, e.closed = nil, true
	e.mu.Unlock()
	for _, c := range idle {
		duckdb.Disconnect(&c.c)
	}
	duckdb.Close(&e.db)
	e.freeRows()
	if open > len(idle) {
		return fmt.Errorf("close engine: %d connections are in use", open-len(idle))
	}
	return nil
}

// acquire gives a connection with a clean session state.
func (e *Engine) acquire() (*conn, error) {
	e.mu.Lock()
	if e.closed {
		e.mu.Unlock()
		return nil, errors.New("engine is closed")
	}
	if n := len(e.idle); n > 0 {
		c := e.idle[n-1]
		e.idle = e.idle[:n-1]
		e.mu.Unlock()
		return c, nil
	}
	e.mu.Unlock()
	return e.connect()
}

// release takes a connection back. No result of it may be open.
func (e *Engine) release(c *conn) {
	e.mu.Lock()
	if !e.closed && len(e.idle) < maxIdle {
		e.idle = append(e.idle, c)
		e.mu.Unlock()
		return
	}
	e.open--
	e.mu.Unlock()
	duckdb.Disconnect(&c.c)
}

func (e *Engine) connect() (*conn, error) {
	c := &conn{}
	if duckdb.Connect(e.db, &c.c) != duckdb.StateSuccess {
		return nil, errors.New("no connection")
	}
	e.mu.Lock()
	e.open++
	e.mu.Unlock()
	for _, s := range []string{
		"SET TimeZone = 'UTC'",
		"SET integer_division = true",
		"SET streaming_buffer_size = '1MB'", // the newer default of 10 MB delays the first row
		"SET enable_progress_bar = true",
		"SET enable_progress_bar_print = false",
	} {
		if err := c.exec(s); err != nil {
			duckdb.Disconnect(&c.c)
			return nil, fmt.Errorf("%s: %w", s, err)
		}
	}
	return c, nil
}

// exec runs a statement of ours that has no result.
func (c *conn) exec(text string) error {
	var res duckdb.Result
	defer duckdb.DestroyResult(&res)
	if duckdb.Query(c.c, text, &res) != duckdb.StateSuccess {
		return engineError(duckdb.ResultErrorType(&res), duckdb.ResultError(&res))
	}
	return nil
}

// setTimeZone makes name the zone of the connection.
func (c *conn) setTimeZone(name string) error {
	if c.timeZone == name {
		return nil
	}
	zone := name
	if zone == "" {
		zone = "UTC"
	}
	if err := c.exec("SET TimeZone = " + literal(zone)); err != nil {
		return err
	}
	c.timeZone = name
	return nil
}

// setPath makes path the search path of the connection; the first use of a
// connection sets it, since the shim does not exist before.
func (c *conn) setPath(path string) error {
	if c.path == path {
		return nil
	}
	if err := c.exec("SET search_path = " + literal(path)); err != nil {
		return err
	}
	c.path = path
	return nil
}

func (c *conn) setIdentity(sets string) error {
	if c.identity == sets {
		return nil
	}
	if sets == "" {
		sets = "RESET VARIABLE dt_user; RESET VARIABLE dt_database; RESET VARIABLE dt_pid; RESET VARIABLE dt_schema; RESET VARIABLE dt_path"
	}
	if err := c.exec(sets); err != nil {
		return err
	}
	c.identity = sets
	return nil
}

// watch interrupts the connection when ctx ends, until the returned function is
// called. That function returns only when no interrupt can come any more.
func (c *conn) watch(ctx context.Context) (stop func()) {
	if ctx.Done() == nil {
		return func() {}
	}
	done := make(chan struct{})
	cancel := context.AfterFunc(ctx, func() {
		duckdb.Interrupt(c.c)
		close(done)
	})
	return func() {
		if !cancel() {
			<-done
		}
	}
}

// literal quotes a string for SQL.
func literal(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

// ident quotes an identifier for SQL.
func ident(s string) string { return `"` + strings.ReplaceAll(s, `"`, `""`) + `"` }
