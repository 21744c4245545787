package exec

import (
	"context"
	"errors"
	"io"
	"strings"
	"sync"

	duckdb "github.com/duckdb/duckdb-go-bindings"

	"dtstore/table"
)

// Stream is the result of a running query. DuckDB works ahead by about a
// megabyte and then waits for Next.
type Stream struct {
	st  *Statement
	ctx context.Context

	mu     sync.Mutex // guards result against a Close while Next runs
	result duckdb.Result
	open   bool

	rows  []table.Row
	cells []Value
}

// start begins the execution.
func (s *Stream) start() error {
	stop := s.st.conn.watch(s.ctx)
	defer stop()
	var pending duckdb.PendingResult
	defer duckdb.DestroyPending(&pending)
	if duckdb.PendingPreparedStreaming(s.st.stmt, &pending) != duckdb.StateSuccess {
		message := duckdb.PendingError(pending)
		return stopped(s.ctx, engineError(kindOf(message), message))
	}
	if duckdb.ExecutePending(pending, &s.result) != duckdb.StateSuccess {
		err := engineError(duckdb.ResultErrorType(&s.result), duckdb.ResultError(&s.result))
		duckdb.DestroyResult(&s.result)
		return stopped(s.ctx, err)
	}
	s.open = true
	return nil
}

// Columns describes the result.
func (s *Stream) Columns() []ResultColumn { return s.st.columns }

// Next gives the next rows, up to 2048, or io.EOF. They are valid until the
// next call.
func (s *Stream) Next(ctx context.Context) ([]table.Row, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.open {
		return nil, io.EOF
	}
	for _, c := range []context.Context{s.ctx, ctx} {
		if c.Err() != nil {
			s.destroy()
			return nil, stopped(c, table.Errorf("57014", "canceling statement due to user request"))
		}
	}
	stop := s.st.conn.watch(s.ctx)
	stopNext := s.st.conn.watch(ctx)
	chunk := duckdb.FetchChunk(s.result)
	stop()
	stopNext()
	if chunk.Ptr == nil {
		message := duckdb.ResultError(&s.result)
		kind := duckdb.ResultErrorType(&s.result)
		s.destroy()
		if message != "" {
			return nil, stopped(ctx, stopped(s.ctx, engineError(kind, message)))
		}
		return nil, io.EOF
	}
	defer duckdb.DestroyDataChunk(&chunk)
	n := int(duckdb.DataChunkGetSize(chunk))
	if n == 0 {
		s.destroy()
		return nil, io.EOF
	}
	return s.read(chunk, n), nil
}

// read copies a chunk into the stream's rows.
func (s *Stream) read(chunk duckdb.DataChunk, n int) []table.Row {
	width := len(s.st.readers)
	if cap(s.cells) < n*width {
		s.cells = make([]Value, n*width)
		s.rows = make([]table.Row, n)
	}
	cells, rows := s.cells[:n*width], s.rows[:n]
	clear(cells)
	for c, read := range s.st.readers {
		read(duckdb.DataChunkGetVector(chunk, duckdb.IdxT(c)), n, func(i int, v Value) { cells[i*width+c] = v })
	}
	for i := range rows {
		rows[i] = cells[i*width : (i+1)*width : (i+1)*width]
	}
	return rows
}

// Close ends the stream. It may be called twice.
func (s *Stream) Close() { s.end() }

func (s *Stream) end() {
	if s.st.conn != nil {
		s.mu.Lock()
		s.destroy()
		s.mu.Unlock()
	}
}

// destroy frees the result, which stops what still runs for it.
func (s *Stream) destroy() {
	if !s.open {
		return
	}
	s.open = false
	duckdb.DestroyResult(&s.result)
	if s.st.stream == s {
		s.st.stream = nil
	}
}

func eof(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

func splitLines(s string) []string { return strings.Split(strings.TrimRight(s, "\n"), "\n") }
