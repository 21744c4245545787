// Package scan reads what a plan names: data files and the tail of the log.
//
// [Reader.Open] turns a planner.Plan into a [Scan]: files that the engine reads
// itself, each with the positions of its dead rows; the tail's rows and the
// keys in it, which hide older rows in files; or, where the engine would read a
// type otherwise (timestamps finer than microseconds, seam R4), one merged
// stream of rows. Plans that name whole keys become look-ups. [Reader.Follow]
// reads a table's log on from given offsets.
//
// What must stay true: of each key exactly one row is shown, the newest below
// the horizon, or none if that is a deletion. The tail is taken from memory
// only if that covers the whole span, else from the log itself (seam L2). A
// record of another table of the same topic name is skipped; one that cannot
// be decoded is an error (L3).
package scan
