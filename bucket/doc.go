// Package bucket owns buckets: it turns their logs into files and snapshots.
//
// An [Owner] keeps a set of tables. Of each table a keeper runs one loop for
// every bucket, one committer and one compactor:
//
//	log ──► loop: memtable ──freeze──► committer: files, one snapshot for all buckets
//	                                     │
//	                                     ├─► expiry, trimming of the log
//	                                     └─► compactor: merges runs, COMPACT snapshots
//
// A loop reads its bucket's log from where the newest snapshot ends and applies
// each change to its memtable; nothing else feeds it (seam L2). At a
// checkpoint, by time, by size or on request, the committer has all loops
// freeze their memtables, writes them as level-0 files and commits one
// snapshot that says how far into each log it reaches.
//
// What must stay true: a memtable goes only when a snapshot that covers it was
// committed. When a commit was fenced, or its outcome is unknown, the buckets
// named forget their memtables and read their logs again from the tip (seam
// C2); no file is deleted. A bucket that cannot go on (a record that cannot be
// decoded, a log that is shorter or younger than the snapshot says) stops with
// an error that names the place, and others go on (L3). No lock is held across
// calls to Kafka or the store.
package bucket
