package table

import "fmt"

// Offset is a change's place in its bucket's log.
type Offset int64

// Sequence orders the changes of one key: the bucket's base plus the offset.
type Sequence int64

// SnapshotID numbers the snapshots of a table, from 1.
type SnapshotID int64

// Bucket is a hash part of a table and, with the same number, a log partition.
// A table without fixed buckets has bucket 0 alone.
type Bucket int32

// Span is the half-open range [From, To) of one bucket's log.
type Span struct{ From, To Offset }

func (s Span) String() string { return fmt.Sprintf("[%d,%d)", s.From, s.To) }

// Empty says whether the span holds no offset.
func (s Span) Empty() bool { return s.From >= s.To }

// RowKind says what a change does to the table, with the format's numbers.
type RowKind byte

// The row kinds, as Paimon stores them in _VALUE_KIND.
const (
	Insert       RowKind = 0 // +I
	UpdateBefore RowKind = 1 // -U
	UpdateAfter  RowKind = 2 // +U
	Delete       RowKind = 3 // -D
)

var rowKinds = [...]string{"+I", "-U", "+U", "-D"}

func (k RowKind) String() string {
	if int(k) < len(rowKinds) {
		return rowKinds[k]
	}
	return fmt.Sprintf("RowKind(%d)", byte(k))
}

// Retract says whether the kind takes a row away (-U, -D).
func (k RowKind) Retract() bool { return k == UpdateBefore || k == Delete }

// Row has one value for each field of its schema. It is not modified once
// handed over.
type Row []Value

// Partition is the serialized BinaryRow (4-byte arity and row) of a row's
// partition columns, as manifests hold it. Of an unpartitioned table it is
// the 12-byte empty row.
type Partition string

// Key orders rows of a keyed table: the partition columns, then the trimmed
// key, in an encoding whose byte order is the format's order. It is empty for
// append tables.
type Key string

// TrimmedKey is the same encoding of the trimmed primary key alone: the order
// of rows inside one partition and bucket.
type TrimmedKey string

// Change is one record of a table's log.
type Change struct {
	Offset Offset
	Kind   RowKind // Insert, UpdateAfter or Delete
	Before Row     // the row it replaced; nil for Insert
	After  Row     // the new row; nil for Delete
}

// Row is the row that the change is about: the new one or, of a deletion, the
// old one.
func (c Change) Row() Row {
	if c.Kind == Delete {
		return c.Before
	}
	return c.After
}

// KeyValue is one physical row of a sorted run. In append tables Key is empty.
type KeyValue struct {
	Key  TrimmedKey
	Seq  Sequence
	Kind RowKind
	Row  Row
}
