// Package planner says what a query must read.
//
// A query names tables and, for each, [Predicate]s that every row it wants
// satisfies. [Bind] turns the literals of a query into values of the columns'
// types, dropping what could change the answer. [Plan] folds predicates into
// what to read of one table: the splits (partition and bucket) with their
// sorted runs, the files of them whose rows can matter, and the spans of the
// log that no file covers; or, if the predicates name whole primary keys,
// point look-ups.
//
// All of it is a function of its arguments: the snapshot's entries are folded
// by package snapshot, with the [Filter] made here.
//
// What must stay true: pruning only ever leaves out what cannot be in the
// answer. A predicate on a value column may drop a file from the scan, never
// from the mask (seam R3): a newer row that does not match still hides an
// older one that does. Bucket pruning uses the bucket count of the file, not
// of the schema. A literal that is not exactly a value of the column prunes
// nothing.
package planner
