package exec

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"

	duckdb "github.com/duckdb/duckdb-go-bindings"

	"dtstore/table"
)

// Session is one client's place in the engine: its time zone and identity,
// and one connection kept at hand. Streams that are open at the same time each
// get a connection of their own, since DuckDB has one result per connection.
// One goroutine uses a session at a time; Interrupt may come from any.
type Session struct {
	engine   *Engine
	timeZone string
	identity string

	mu      sync.Mutex // guards free, running, closed
	free    *conn
	running map[*conn]bool
	closed  bool
}

// Session opens a session with time zone UTC.
func (e *Engine) Session(context.Context) (*Session, error) {
	return &Session{engine: e, running: map[*conn]bool{}}, nil
}

// Close gives the connections back. Streams must be closed before.
func (s *Session) Close() {
	s.mu.Lock()
	c := s.free
	s.free, s.closed = nil, true
	s.mu.Unlock()
	if c != nil {
		s.engine.release(c)
	}
}

// SetTimeZone sets the zone of TIMESTAMPTZ texts and of now(); unknown names
// are 22023.
func (s *Session) SetTimeZone(name string) error {
	c, err := s.take()
	if err != nil {
		return err
	}
	defer s.give(c)
	if err := c.setTimeZone(name); err != nil {
		return table.Errorf("22023", "invalid value for parameter %q: %q", "TimeZone", name)
	}
	s.timeZone = name
	return nil
}

// Identity is what the functions current_user, current_schema, pg_backend_pid
// and so on say. Zero fields leave the engine's own words.
type Identity struct {
	User, Database string
	SearchPath     []string // the schemas that exist, first the current one
	PID            int32
}

// SetIdentity says who the session is.
func (s *Session) SetIdentity(id Identity) {
	var b strings.Builder
	set := func(name, value string) { fmt.Fprintf(&b, "SET VARIABLE %s = %s; ", name, value) }
	text := func(name, value string) {
		if value == "" {
			set(name, "NULL")
		} else {
			set(name, literal(value))
		}
	}
	text("dt_user", id.User)
	text("dt_database", id.Database)
	set("dt_pid", strconv.Itoa(int(id.PID)))
	if len(id.SearchPath) == 0 {
		set("dt_schema", "NULL")
		set("dt_path", "NULL")
	} else {
		path := make([]string, len(id.SearchPath))
		for i, p := range id.SearchPath {
			path[i] = literal(p)
		}
		set("dt_schema", path[0])
		set("dt_path", "["+strings.Join(path, ", ")+"]")
	}
	s.identity = b.String()
}

// take gives a connection in the session's state.
func (s *Session) take() (*conn, error) {
	s.mu.Lock()
	c := s.free
	s.free = nil
	s.mu.Unlock()
	if c == nil {
		var err error
		if c, err = s.engine.acquire(); err != nil {
			return nil, err
		}
	}
	s.mu.Lock()
	s.running[c] = true
	s.mu.Unlock()
	for _, err := range []error{c.setPath(shimPath), c.setTimeZone(s.timeZone), c.setIdentity(s.identity)} {
		if err != nil {
			s.give(c)
			return nil, err
		}
	}
	return c, nil
}

func (s *Session) give(c *conn) {
	s.mu.Lock()
	delete(s.running, c)
	keep := s.free == nil && !s.closed
	if keep {
		s.free = c
	}
	s.mu.Unlock()
	if !keep {
		s.engine.release(c)
	}
}

// Interrupt ends whatever the session runs with 57014, within milliseconds. The
// session stays usable.
func (s *Session) Interrupt() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.running {
		duckdb.Interrupt(c.c)
	}
}

// Progress is how much of the running query is done, 0 to 100, or -1 if that is
// not known.
func (s *Session) Progress() float64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.running {
		p := duckdb.QueryProgress(c.c)
		percent, _, _ := duckdb.QueryProgressTypeMembers(&p)
		return percent
	}
	return -1
}

// Explain gives DuckDB's plan of rendered text, a line each; with analyze it
// runs the query.
func (s *Session) Explain(ctx context.Context, sql string, analyze bool, args []Arg) ([]string, error) {
	head := "EXPLAIN "
	if analyze {
		head = "EXPLAIN ANALYZE "
	}
	st, err := s.prepare(ctx, head+sql, nil)
	if err != nil {
		return nil, err
	}
	defer st.Close()
	rows, err := st.Run(ctx, args)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var lines []string
	for {
		batch, err := rows.Next(ctx)
		if err != nil {
			return lines, eof(err)
		}
		for _, row := range batch {
			lines = append(lines, splitLines(row[len(row)-1].Str())...)
		}
	}
}
