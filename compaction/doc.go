// Package compaction says which sorted runs of a bucket to merge, and merges
// them.
//
// [Policy.Pick] and [Policy.Full] choose, from the runs alone, a [Unit] of
// work in the universal style of the format (paimon-format.md 8.1): few runs
// are kept, each much larger than those newer than it. [Run] does the unit:
// it reads the files, writes new ones and says which entries a COMPACT commit
// adds and removes. [PickAppend] chooses small files of an append table to
// join.
//
// What must stay true: a unit takes whole runs that are next to each other in
// age, so that levels ≥ 1 stay disjoint and a lower level stays newer; nothing
// is written to level 0 of a keyed table; retractions are dropped only where
// nothing older can lie below them. Files are never deleted here: the old ones
// belong to older snapshots, and the commit may still fail.
package compaction
