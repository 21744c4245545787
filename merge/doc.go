// Package merge turns sorted runs into one sorted run.
//
// A run is an Iterator over physical rows in ascending order of their trimmed
// key, at most one row for a key. New merges any number of them under the
// merge engine deduplicate: of the rows of one key the newest wins, whatever
// its kind, so retractions survive until DropRetractions takes them out.
//
// Sections and Pack are the geometry of runs (paimon-format.md 8.2): which
// key ranges overlap at all, and in how few runs overlapping ranges fit.
//
// What must stay true: keys never decrease in what an Iterator yields, and a
// merged run has one row per key, the one with the highest sequence number.
package merge
