// Package exec runs queries on DuckDB over relations that we feed it. It is the
// only package with cgo.
//
// An [Engine] is one DuckDB instance, in memory, that can read no file but our
// own and reach no network. [Engine.Parse] turns the text of a SELECT into a
// [Tree]: which tables it names, which conditions and columns concern each, and
// [Tree.Render] writes it back with every table replaced by a relation and with
// the operators that DuckDB understands otherwise than Postgres put right
// (docs/sql-differences.md). A relation is rows from Go ([Engine.Register]) or
// Parquet files, with dead rows masked ([Engine.Parquet]). A [Session] prepares
// the rendered text ([Session.Prepare]), says which parameters and columns it
// has, and runs it as a [Stream] of chunks.
//
// What must stay true: rendered text names no table, file or function that was
// not checked; a stream holds at most a few chunks, whatever the size of the
// result; every error that a client can cause is a *table.Error with SQLSTATE;
// only tree*.go and meaning*.go know the shape of DuckDB's JSON trees, which
// changes with its version.
package exec
