// Package table holds the words of the project: schemas, types, values, rows,
// row kinds, changes, keys, buckets, offsets and spans.
//
// A [Schema] describes a table as Apache Paimon's schema files do. A [Row] has
// one [Value] for each of its fields. [Schema.Key], [Schema.Partition] and
// [Schema.BucketOf] place a row. A [Change] is a row with its row kind and its
// place in the log of its bucket; a [KeyValue] is a row as it lies in a run.
//
// What must stay true: rows are never modified once handed over; the order of
// keys ([Key], [TrimmedKey]) as bytes is the order of the format (Paimon's key
// order, nulls first); BinaryRow bytes are Paimon's to the bit, since bucket
// hashes and manifests depend on them.
package table
