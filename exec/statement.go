package exec

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	duckdb "github.com/duckdb/duckdb-go-bindings"

	"dtstore/table"
)

// ResultColumn describes a column of a result.
type ResultColumn struct {
	Name string
	Type Type
}

// Arg is a parameter's value with its type. A Numeric's Precision and Scale are
// those of the value.
type Arg struct {
	Type  Type
	Value Value
}

// Statement is prepared text. It belongs to its session's goroutine. While it
// lives it keeps a connection.
type Statement struct {
	session *Session
	conn    *conn
	stmt    duckdb.PreparedStatement
	params  []Type
	raw     []Type // as DuckDB infers them, without what is declared
	columns []ResultColumn
	readers []reader
	stream  *Stream // open, or nil
}

// Prepare checks rendered text and finds the types of its parameters and
// columns. declared are the parameter types that the client gave, by number;
// Unknown ones and those past its end are inferred as Postgres would: from the
// column or value they meet, else text.
func (s *Session) Prepare(ctx context.Context, sql string, declared []Type) (*Statement, error) {
	known := append([]Type(nil), declared...)
	for tries := 0; ; tries++ {
		text := castParams(sql, known)
		st, err := s.prepare(ctx, text, known)
		if errors.Is(err, errOverloads) && !strings.Contains(sql, "_any(") {
			sql = untyped(sql)
			continue
		}
		if err != nil {
			return nil, err
		}
		n := st.open(known)
		if n == 0 {
			return st.finish(ctx, text, known)
		}
		st.Close()
		if tries > 2*maxParams {
			return nil, table.Errorf("42P18", "could not determine data type of parameter $%d", n)
		}
		for len(known) < n {
			known = append(known, Type{})
		}
		if known[n-1].ID == Numeric {
			known[n-1] = Type{ID: Numeric, Precision: 38, Scale: 10} // nothing else says which
		} else {
			known[n-1] = s.infer(ctx, text, n)
		}
	}
}

// finish describes a statement whose parameters have their types, and makes
// its columns such that readers can read.
func (st *Statement) finish(ctx context.Context, text string, known []Type) (*Statement, error) {
	if st.undescribed() { // a table function waits for its parameters
		shown, err := st.session.prepare(ctx, nullParams(text, known), nil)
		if err != nil {
			st.Close()
			return nil, err
		}
		err = shown.describe()
		st.columns, st.readers = shown.columns, shown.readers
		shown.Close()
		if err == nil && slices.ContainsFunc(st.readers, func(r reader) bool { return r == nil }) {
			err = table.Errorf("0A000", "a function in FROM takes a parameter, and a column is of a nested type").WithHint("Cast the column to json or text.")
		}
		if err != nil {
			st.Close()
			return nil, err
		}
		return st, nil
	}
	if err := st.describe(); err != nil {
		st.Close()
		return nil, err
	}
	wrapped, ok := st.wrap(text)
	if !ok {
		return st, nil
	}
	columns, params, s := st.columns, st.params, st.session
	st.Close()
	st, err := s.prepare(ctx, wrapped, known)
	if err != nil {
		return nil, err
	}
	if err := st.describe(); err != nil {
		st.Close()
		return nil, err
	}
	for i := range columns {
		columns[i].Type = st.columns[i].Type
	}
	st.columns, st.params = columns, params
	return st, nil
}

// maxParams is Postgres's own limit.
const maxParams = 65535

// infer finds the type of parameter n of text, which DuckDB left open: it looks
// at each of its occurrences alone, since one as in "$1 IS NULL" hides what
// another says.
func (s *Session) infer(ctx context.Context, text string, n int) Type {
	count := countOccurrences(text, n)
	if count > 1 && count <= 8 {
		for i := range count {
			// every other occurrence is a NULL of no type
			st, err := s.prepare(ctx, isolateParam(text, n, i), nil)
			if err != nil {
				continue
			}
			t := st.paramType(n)
			st.Close()
			if t.ID != Unknown {
				return t
			}
		}
	}
	types := append(make([]Type, n-1), Type{ID: Text})
	st, err := s.prepare(ctx, nullOthers(castParams(text, types), n), nil)
	if err != nil {
		return Type{ID: Float8} // abs($1), as Postgres prefers it
	}
	defer st.Close()
	if st.undescribed() { // generate_series(1, $1) in a FROM
		return Type{ID: Int8}
	}
	return Type{ID: Text}
}

func (s *Session) prepare(ctx context.Context, text string, declared []Type) (*Statement, error) {
	c, err := s.take()
	if err != nil {
		return nil, err
	}
	st := &Statement{session: s, conn: c}
	stop := c.watch(ctx)
	state := duckdb.Prepare(c.c, text, &st.stmt)
	stop()
	if state != duckdb.StateSuccess {
		message := duckdb.PrepareError(st.stmt)
		st.Close()
		return nil, stopped(ctx, engineError(kindOf(message), message))
	}
	n := int(duckdb.NParams(st.stmt))
	st.params, st.raw = make([]Type, n), make([]Type, n)
	for i := range n {
		st.raw[i] = st.paramType(i + 1)
		if i < len(declared) && declared[i].ID != Unknown {
			st.params[i] = declared[i]
		} else {
			st.params[i] = st.raw[i]
		}
	}
	return st, nil
}

// kindOf reads the kind of an error off its first words, where DuckDB gives
// only a text.
func kindOf(message string) duckdb.ErrorType {
	for head, kind := range map[string]duckdb.ErrorType{
		"Parser Error": duckdb.ErrorTypeParser, "Binder Error": duckdb.ErrorTypeBinder, "Catalog Error": duckdb.ErrorTypeCatalog,
		"Conversion Error": duckdb.ErrorTypeConversion, "Not implemented Error": duckdb.ErrorTypeNotImplemented,
		"INTERRUPT Error": duckdb.ErrorTypeInterrupt, "Out of Memory Error": duckdb.ErrorTypeOutOfMemory,
		"Permission Error": duckdb.ErrorTypePermission, "Invalid Input Error": duckdb.ErrorTypeInvalidInput,
		"Out of Range Error": duckdb.ErrorTypeOutOfRange, "IO Error": duckdb.ErrorTypeErrorIO, "Syntax Error": duckdb.ErrorTypeSyntax,
		"Mismatch Type Error": duckdb.ErrorTypeMismatchType, "Invalid type Error": duckdb.ErrorTypeInvalidType,
	} {
		if strings.HasPrefix(message, head) {
			return kind
		}
	}
	return duckdb.ErrorTypeInternal
}

// paramType is what DuckDB infers for parameter n, from 1.
func (st *Statement) paramType(n int) Type {
	lt := duckdb.ParamLogicalType(st.stmt, duckdb.IdxT(n))
	if lt.Ptr == nil {
		return Type{}
	}
	defer duckdb.DestroyLogicalType(&lt)
	if id := duckdb.GetTypeId(lt); id == duckdb.TypeSQLNull {
		return Type{}
	}
	t, plain, _ := typeOfDuck(lt)
	if !plain {
		return Type{ID: Text}
	}
	if t.ID == List && t.Elem.ID == Unknown {
		return Type{ID: List, Elem: &Type{ID: Text}}
	}
	if t.ID == Numeric {
		t.Precision, t.Scale = 0, 0 // a parameter is compared as it is, not rounded first
	}
	return t
}

// open is a parameter, from 1, that must be given a type, or 0.
func (st *Statement) open(known []Type) int {
	has := func(i int) bool { return i < len(known) && known[i].ID != Unknown }
	for i, t := range st.raw {
		if t.ID == Unknown && !has(i) {
			return i + 1
		}
	}
	if !st.undescribed() {
		return 0
	}
	for i, t := range st.raw {
		if t.ID == Unknown && known[i].ID == Numeric && known[i].Precision == 0 {
			return i + 1
		}
	}
	return 0
}

// undescribed says that DuckDB gave up on the columns for want of a parameter's
// type.
func (st *Statement) undescribed() bool {
	return duckdb.PreparedStatementColumnCount(st.stmt) == 1 && duckdb.PreparedStatementColumnType(st.stmt, 0) == duckdb.TypeInvalid
}

// describe fills columns and readers.
func (st *Statement) describe() error {
	n := int(duckdb.PreparedStatementColumnCount(st.stmt))
	st.columns = make([]ResultColumn, n)
	st.readers = make([]reader, n)
	for i := range n {
		lt := duckdb.PreparedStatementColumnLogicalType(st.stmt, duckdb.IdxT(i))
		t, plain, _ := typeOfDuck(lt)
		st.columns[i] = ResultColumn{Name: duckdb.PreparedStatementColumnName(st.stmt, duckdb.IdxT(i)), Type: t}
		if plain {
			r, err := readerOf(lt)
			if err != nil {
				duckdb.DestroyLogicalType(&lt)
				return fmt.Errorf("column %s: %w", st.columns[i].Name, err)
			}
			st.readers[i] = r
		}
		duckdb.DestroyLogicalType(&lt)
	}
	return nil
}

// wrap gives text whose columns are all plain, if some are not.
func (st *Statement) wrap(text string) (string, bool) {
	var names, items []string
	found := false
	for i := range st.columns {
		name := fmt.Sprintf("dt_c%d", i)
		names = append(names, name)
		lt := duckdb.PreparedStatementColumnLogicalType(st.stmt, duckdb.IdxT(i))
		if _, plain, cast := typeOfDuck(lt); !plain {
			found = true
			name = fmt.Sprintf(cast, name)
		}
		duckdb.DestroyLogicalType(&lt)
		items = append(items, name)
	}
	return "SELECT " + strings.Join(items, ", ") + " FROM (" + text + "\n) dt_q(" + strings.Join(names, ", ") + ")", found
}

// Params are the types of the parameters, by number.
func (st *Statement) Params() []Type { return st.params }

// Columns describes the result.
func (st *Statement) Columns() []ResultColumn { return st.columns }

// Close frees the statement; its stream, if open, ends.
func (st *Statement) Close() {
	if st.conn == nil {
		return
	}
	if st.stream != nil {
		st.stream.end()
	}
	duckdb.DestroyPrepare(&st.stmt)
	st.session.give(st.conn)
	st.conn = nil
}

// Run executes the statement with a value for each parameter. A stream that it
// had open is closed first. The stream ends when ctx does.
func (st *Statement) Run(ctx context.Context, args []Arg) (*Stream, error) {
	if st.stream != nil {
		st.stream.end()
	}
	if len(args) < len(st.params) {
		return nil, table.Errorf("08P01", "%d parameters are given where the statement has %d", len(args), len(st.params))
	}
	for i := range st.params {
		if err := st.bind(i+1, args[i]); err != nil {
			return nil, err
		}
	}
	rows := &Stream{st: st, ctx: ctx}
	if st.readers == nil { // EXPLAIN
		if err := st.describe(); err != nil {
			return nil, err
		}
	}
	if err := rows.start(); err != nil {
		return nil, err
	}
	st.stream = rows
	return rows, nil
}
