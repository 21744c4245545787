package manifest

import (
	"encoding/binary"
	"fmt"

	"dtstore/table"
)

// Kind says what an entry does with its file.
type Kind int

// The kinds, as numbered in the format.
const (
	Add    Kind = 0
	Delete Kind = 1
)

func (k Kind) String() string {
	switch k {
	case Add:
		return "ADD"
	case Delete:
		return "DELETE"
	}
	return fmt.Sprintf("kind %d", int(k))
}

// Stats are the bounds of some columns: two serialized BinaryRows and the number of nulls of
// each column (nil where unknown). A bound may be shortened: it is a bound, not a value.
type Stats struct {
	Min        []byte   `avro:"_MIN_VALUES"`
	Max        []byte   `avro:"_MAX_VALUES"`
	NullCounts []*int64 `avro:"_NULL_COUNTS"`
}

// File describes one data file (paimon-format 4.2; the tags are the names of its columns).
// Optional columns are nil when absent.
type File struct {
	Name       string         `avro:"_FILE_NAME"` // without folder
	Size       int64          `avro:"_FILE_SIZE"` // bytes
	Rows       int64          `avro:"_ROW_COUNT"` // all rows, retractions included
	MinKey     []byte         `avro:"_MIN_KEY"`   // serialized BinaryRow of the first trimmed key, never shortened
	MaxKey     []byte         `avro:"_MAX_KEY"`   // of the last one
	KeyStats   Stats          `avro:"_KEY_STATS"`
	ValueStats Stats          `avro:"_VALUE_STATS"`
	MinSeq     table.Sequence `avro:"_MIN_SEQUENCE_NUMBER"` // of its rows
	MaxSeq     table.Sequence `avro:"_MAX_SEQUENCE_NUMBER"` // of its rows, inclusive
	SchemaID   int64          `avro:"_SCHEMA_ID"`
	Level      int            `avro:"_LEVEL"`
	ExtraFiles []string       `avro:"_EXTRA_FILES"` // side files in the same folder; they live and die with the file

	CreationMillis *int64   `avro:"_CREATION_TIME"`    // wall clock of the writer (ours: UTC), epoch ms
	DeleteRows     *int64   `avro:"_DELETE_ROW_COUNT"` // rows of kind -U or -D; nil means "maybe some"
	EmbeddedIndex  []byte   `avro:"_EMBEDDED_FILE_INDEX"`
	Source         *int     `avro:"_FILE_SOURCE"`      // 0 from input, 1 from compaction
	ValueStatsCols []string `avro:"_VALUE_STATS_COLS"` // columns of ValueStats; nil means all of the file's schema
	ExternalPath   *string  `avro:"_EXTERNAL_PATH"`    // full path if outside the table's folder
	FirstRowID     *int64   `avro:"_FIRST_ROW_ID"`
	WriteCols      []string `avro:"_WRITE_COLS"`
}

// Entry adds or deletes one file of a bucket.
type Entry struct {
	Kind         Kind            `avro:"_KIND"`
	Partition    table.Partition `avro:"_PARTITION"`
	Bucket       table.Bucket    `avro:"_BUCKET"`
	TotalBuckets int             `avro:"_TOTAL_BUCKETS"` // bucket count when the file was written; -1 for tables without fixed buckets
	File         File            `avro:"_FILE"`
}

// Group is one LSM: a bucket of one partition.
type Group struct {
	Partition table.Partition
	Bucket    table.Bucket
}

// Group returns the group that e's file belongs to.
func (e Entry) Group() Group { return Group{e.Partition, e.Bucket} }

// Identity names e's file within its table (paimon-format 4.3): partition, bucket, level, name,
// extra files, embedded index and external path. A file moved to another level is another
// identity. It is opaque and only good for comparing.
func (e Entry) Identity() string {
	f := &e.File
	n := len(e.Partition) + len(f.Name) + len(f.EmbeddedIndex) + 32
	for _, x := range f.ExtraFiles {
		n += len(x) + 2
	}
	b := make([]byte, 0, n)
	b = append(binary.AppendUvarint(b, uint64(len(e.Partition))), e.Partition...)
	b = binary.AppendVarint(b, int64(e.Bucket))
	b = binary.AppendVarint(b, int64(f.Level))
	b = append(binary.AppendUvarint(b, uint64(len(f.Name))), f.Name...)
	b = binary.AppendUvarint(b, uint64(len(f.ExtraFiles)))
	for _, x := range f.ExtraFiles {
		b = append(binary.AppendUvarint(b, uint64(len(x))), x...)
	}
	b = append(binary.AppendUvarint(b, uint64(len(f.EmbeddedIndex))), f.EmbeddedIndex...)
	if f.ExternalPath != nil {
		b = append(append(b, 1), *f.ExternalPath...)
	}
	return string(b)
}

// ListEntry describes one manifest (paimon-format 4.1). Bounds are nil when unknown.
type ListEntry struct {
	Name       string `avro:"_FILE_NAME"`
	Size       int64  `avro:"_FILE_SIZE"`         // bytes
	Added      int64  `avro:"_NUM_ADDED_FILES"`   // entries of kind ADD
	Deleted    int64  `avro:"_NUM_DELETED_FILES"` // entries of kind DELETE
	Partitions Stats  `avro:"_PARTITION_STATS"`   // of the partition columns, over all entries
	SchemaID   int64  `avro:"_SCHEMA_ID"`         // largest of its entries

	MinBucket *int   `avro:"_MIN_BUCKET"`
	MaxBucket *int   `avro:"_MAX_BUCKET"`
	MinLevel  *int   `avro:"_MIN_LEVEL"`
	MaxLevel  *int   `avro:"_MAX_LEVEL"`
	MinRowID  *int64 `avro:"_MIN_ROW_ID"`
	MaxRowID  *int64 `avro:"_MAX_ROW_ID"`
}
