// Package logstore is the log of every table: a Kafka topic with one log
// partition per bucket. It appends, reads, trims and bounds logs, and knows
// how a change lies in a record ([Codec], FORMAT.md).
//
// [Log] is the door. [Log.Append] gathers what arrives while a round trip runs
// and sends it together: one self-encoded record batch per bucket, or one
// shared transaction for what touches several buckets. It answers when readers
// can see the records. [Log.Read] follows one bucket, read-committed, with
// positions that are right past markers and aborted records. [Log.Horizon] is
// where a query stops reading.
//
// What must stay true:
//   - an answer is yes (nil), no ([ErrNo], [ErrConflict]) or unknown
//     ([ErrUnknown]); what may still land is never called "no";
//   - a plain batch is sent again only as it was, with its producer id and
//     sequence number, and never after the embedded log said that a write
//     failed;
//   - the records of one append become visible together: one batch, or one
//     transaction;
//   - a change that was appended after a statement's horizon to a key that the
//     statement read is a conflict ([ErrConflict]), never overwritten;
//   - the gatherer waits for no last stable offset: sessions do.
package logstore
