package exec

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"sync"

	duckdb "github.com/duckdb/duckdb-go-bindings"

	"dtstore/table"
)

// Column is a named column of a relation.
type Column struct {
	Name string
	Type table.Type
}

// Relation is rows made in Go that a query reads like a table.
type Relation struct {
	Columns []Column
	Rows    int64 // an estimate for DuckDB's planner; 0 is unknown
	Threads int   // how many goroutines may call Next of one Source at once; 0 means 1
	// Open begins a scan. Only the columns in projection (indexes of Columns)
	// will be looked at. It is called once for each scan of the relation: not at
	// all if DuckDB finds that it needs no row, several times if a query names
	// it in a CTE that DuckDB copies.
	Open func(ctx context.Context, projection []int) (Source, error)
}

// Batch is rows in the relation's columns; what is not projected may be
// anything, and a row may be cut short after its last projected column.
type Batch = []table.Row

// Source yields the rows of one scan.
type Source interface {
	// Next gives the next rows, which stay as they are until the source is
	// closed, or io.EOF. Batches of some thousand rows are best.
	Next(ctx context.Context) (Batch, error)
	Close()
}

// relation is a registered Relation.
type relation struct {
	Relation
	ctx   context.Context
	types []vectorType
}

// Handle is a registered relation. Its SQL may be put wherever a query may name
// a table, until Close.
type Handle struct {
	engine *Engine
	sql    string
	ids    []int64 // what it holds in engine.relations
}

// Register makes r readable for SQL. When ctx ends, scans of it fail.
func (e *Engine) Register(ctx context.Context, r Relation) (*Handle, error) {
	reg := &relation{Relation: r, ctx: ctx, types: make([]vectorType, len(r.Columns))}
	for i, c := range r.Columns {
		t, err := vectorTypeOf(c.Type)
		if err != nil {
			return nil, fmt.Errorf("column %s: %w", c.Name, err)
		}
		reg.types[i] = t
	}
	id := e.nextID.Add(1)
	e.relations.Store(id, reg)
	return &Handle{engine: e, sql: fmt.Sprintf("%s(%d)", rowsFunction, id), ids: []int64{id}}, nil
}

// SQL is what stands for the relation in a FROM.
func (h *Handle) SQL() string { return h.sql }

// Close forgets the relation. A scan that has begun goes on; prepared
// statements that name it fail. Streams over masked files must be closed before. It may be called on a nil Handle, and twice.
func (h *Handle) Close() {
	if h == nil {
		return
	}
	for _, id := range h.ids {
		h.engine.relations.Delete(id)
	}
}

// rowsFunction is the table function behind every relation from Go.
const rowsFunction = "dt_rows"

// scan is one scan of a relation by DuckDB.
type scan struct {
	rel        *relation
	source     Source
	projection []int // by vector of the chunk; none for a vector nobody reads

	mu   sync.Mutex // guards source.Next if the relation has one thread, and ended
	done bool
}

// none stands for a vector of a chunk that is no column of the relation.
const none = -1

// cursor is what one thread of a scan has left of its last batch.
type cursor struct{ rest Batch }

func openScan(rel *relation, projection []int) (*scan, error) {
	if err := rel.ctx.Err(); err != nil {
		return nil, context.Cause(rel.ctx)
	}
	columns := make([]int, 0, len(projection))
	for _, c := range projection {
		if c != none {
			columns = append(columns, c)
		}
	}
	source, err := rel.Open(rel.ctx, columns)
	if err != nil {
		return nil, err
	}
	return &scan{rel: rel, source: source, projection: projection}, nil
}

// fill puts the next rows into chunk; none means the end.
func (s *scan) fill(c *cursor, chunk duckdb.DataChunk) (err error) {
	defer func() {
		if r := recover(); r != nil { // a panic must not unwind into DuckDB
			err = fmt.Errorf("panic in a row source: %v\n%s", r, debug.Stack())
		}
	}()
	for len(c.rest) == 0 {
		if c.rest, err = s.next(); errors.Is(err, io.EOF) {
			duckdb.DataChunkSetSize(chunk, 0)
			return nil
		} else if err != nil {
			return err
		}
	}
	n := min(len(c.rest), vectorSize)
	rows := c.rest[:n]
	for i, col := range s.projection {
		if col == none {
			continue
		}
		if err := s.rel.types[col].write(duckdb.DataChunkGetVector(chunk, duckdb.IdxT(i)), rows, col); err != nil {
			return fmt.Errorf("column %s: %w", s.rel.Columns[col].Name, err)
		}
	}
	duckdb.DataChunkSetSize(chunk, duckdb.IdxT(n))
	c.rest = c.rest[n:]
	return nil
}

func (s *scan) next() (Batch, error) {
	if err := s.rel.ctx.Err(); err != nil {
		return nil, context.Cause(s.rel.ctx)
	}
	if s.rel.Threads > 1 {
		return s.source.Next(s.rel.ctx)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.done {
		return nil, io.EOF
	}
	b, err := s.source.Next(s.rel.ctx)
	s.done = err != nil
	return b, err
}

// sourceMessage is the text of a source's error as DuckDB carries it: with the
// code, so that engineError finds it again.
func sourceMessage(err error) string {
	return markCode(table.SQLState(err), firstLine(err.Error()))
}

func firstLine(s string) string {
	for i := range len(s) {
		if s[i] == '\n' {
			return s[:i]
		}
	}
	return s
}

// Rows makes a source of rows in memory, cut into batches that threads share.
func Rows(rows []table.Row) Source { return &sliceSource{rows: rows} }

type sliceSource struct {
	mu   sync.Mutex // guards rows
	rows []table.Row
}

func (s *sliceSource) Next(context.Context) (Batch, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.rows) == 0 {
		return nil, io.EOF
	}
	n := min(len(s.rows), 4*vectorSize)
	b := s.rows[:n]
	s.rows = s.rows[n:]
	return b, nil
}

func (s *sliceSource) Close() {}
