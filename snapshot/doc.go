// Package snapshot is a table's history: which states it has had, which is the latest, and how
// the next one is published by one compare-and-swap.
//
// A [Snapshot] is an immutable JSON file, snapshot/snapshot-N, that names two manifest lists and
// says how far into the log the state reaches ([Snapshot.Log]). A [Table] reads it ([Table.Latest],
// [Table.Position], [Table.Entries]) and changes it: [Table.Create] puts the first one,
// [Table.Commit] the next, [Table.Drop] the last; [Table.Expire] and [Table.Sweep] clean up.
// FORMAT.md beside this file has the bytes.
//
// What must stay true, and is proved by the simulation in sim_test.go:
//
//   - Of a table's identity (its log), each offset of a bucket lies in exactly one committed
//     flush: a commit names what it advances from, and any mismatch is [ErrFenced].
//   - The chain of snapshots has no holes, and its newest never goes back: numbers are taken by
//     put-if-absent, deleted in ascending order, and whoever took a number that had been freed
//     (its base is gone) takes it back.
//   - What a snapshot names exists: files before manifests before lists before the snapshot;
//     deletion by reference only.
//   - The outcome of a commit is yes (a snapshot), no (any error but [ErrUnknown]) or unknown;
//     on anything but yes no file that the commit names is deleted.
//
// Several processes may do all of this to one table at a time.
package snapshot
