// Package objstore keeps whole objects by key: get (also in part), put,
// put-if-absent, list, delete.
//
// Everything that dtstore persists beside the log lies in a [Store]: schemas,
// snapshots, manifests and data files. [Dir] is a local directory, [Mem] a map
// for tests, objstore/s3 a bucket of an S3 service; objstore/fault wraps any of
// them and breaks chosen calls. objstore/storetest holds the one conformance
// suite that all of them pass.
//
// What must stay true:
//
//   - An object is read whole or not at all: no reader sees half of a Put.
//   - PutIfAbsent has exactly one winner. The commit of a snapshot is nothing
//     but this call, so a store that only pretends is worse than none:
//     [Probe] checks it when a server starts.
//   - When a put returns nil the object survives a crash of the machine (as far
//     as the disk tells the truth).
//   - No key reaches outside the store: [CheckKey] stands before every call.
package objstore
