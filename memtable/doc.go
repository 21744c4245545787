// Package memtable holds one bucket's changes that no snapshot covers yet.
//
// A [Table] is fed with the changes of one bucket's log, in order. It keeps
// every version, ordered by key and then offset, so that it can answer for an
// older horizon: a query that started at offset 10 does not see offset 12.
// When it is frozen, [Table.Runs] gives what a flush writes.
//
// What must stay true: only the bucket's loop applies changes, and nobody
// after Freeze; any number of goroutines may read at any time. Offsets only
// rise; Span says exactly which part of the log was applied, holes (markers,
// skipped records) included.
package memtable
