// Package filestore writes and reads the data files of a table: Parquet files
// as Apache Paimon lays them out, one sorted run of an LSM bucket in one or
// more of them. FORMAT.md beside this file has the bytes.
//
// A [Store] lies over an object store. [Store.WriteRun] takes rows from a
// merge.Iterator and gives manifest entries of files that are durable.
// [Store.ReadFile] and [Store.ReadRun] give rows back, decoded column by
// column; [Store.Lookup] finds the row of one key by page index;
// [Store.Mask] finds which physical rows are no rows of the table, so that
// DuckDB may scan the files natively; [Store.Local] gives DuckDB a local file.
//
// Values go into Parquet through parquet-go's column writers. Pages are read
// by code of ours (page.go, levels.go, vector.go): it decodes into typed
// slices, and what the bytes of a file claim is bounded before it costs memory.
//
// What must stay true: the files of a keyed table have one row for a key, in
// ascending order, checked when written and when read; files are immutable, so
// footers, pages, masks and local copies are kept without asking again; bytes
// from outside never panic.
package filestore
