// Package embedded runs a Kafka broker inside this process, on a directory,
// and makes it keep what it has acknowledged.
//
// The broker is franz-go's kfake: groups, transactions, any Kafka client. It
// was made for tests. Left alone, a SIGKILL leaves its transactions committed
// in some partitions only, lets rows appear and vanish from one opening to the
// next, and a failed write or sync is told to nobody. [Open] fences it in:
//
//   - lock.go: one process to a directory. Two kfakes on one directory open
//     without an error and overwrite each other's rows.
//   - seal.go, partition.go: before kfake opens its files, they are read and
//     mended: the seal.
//   - syncer.go, active.go: [Server.Sync] puts the files on the disk, before
//     an answer and for many callers at once. kfake's own SyncWrites swallows
//     errors and is slower.
//   - note.go: [Server.Note] is a transaction's commit.
//   - watch.go: kfake's log is read for failed writes; after the first one
//     every write is refused until a restart ([Server.Broken]).
//   - listen.go: only loopback; requests that would crash kfake are cut off.
//   - kfakefiles.go, batch.go: kfake's formats. FORMAT.md has them, the tests
//     compare them with what kfake writes.
//
// # What must stay true
//
// A row is durable once Sync has returned, a transaction once Note has. The
// order of a transaction, and why:
//
//  1. Its rows are produced and answered.
//  2. Note: the note and the rows are synced together. If the power goes
//     between the two, rows are missing, and the note is void.
//  3. EndTxn(commit). A kill in the middle leaves markers in some partitions;
//     the seal appends the others, as the note or any of the markers says.
//  4. The client may be answered.
//  5. Ended: the markers are synced, and the note may go. Were it to go
//     before, a power cut that loses every marker would abort the transaction
//     at the next start.
//
// Whoever aborts a noted transaction must not tell before Ended has returned:
// until the abort markers are on the disk, the note commits it.
//
// A reader sees rows when kfake has them, which is before they are synced. So
// who keeps something durable that names offsets (a snapshot that covers them)
// syncs the partition first: after a power cut the log would otherwise end
// below what the snapshot covers, and new rows would get offsets already used.
//
// # The seal
//
// For each partition of topics.json: read every batch; cut the log at the first
// damaged one, unless that was on the disk once (durable.json), which is no
// crash's work and is refused; make each index fit. Then each transaction that
// has rows and no marker gets one. It is a commit if a note says so (see
// decideNote), else an abort. Then everything is synced, each snapshot.json is
// written, and only then are the notes dropped. Cut off anywhere, the seal runs
// again and comes to the same end: a marker that it has written decides as one
// of kfake's does.
//
// The histories that break each of these rules are the tests in seal_test.go;
// crash_test.go kills a child anywhere, powercut_test.go loses what was not
// synced.
//
// # Limits
//
// Notes are for who calls Note. A transaction of another client, over several
// partitions, may be torn by a kill inside its EndTxn: the partitions without
// a marker are aborted. Consumer groups' offsets are not synced.
// A trim is remembered over a clean stop only; after a kill the log may start
// earlier. Memory is about 76 bytes for each batch that the log holds.
package embedded
