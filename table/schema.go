package table

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Field is a column. ID is the format's field id: it stays when names change.
type Field struct {
	ID          int
	Name        string
	Type        Type
	Description string
	Default     string
}

// Schema is one version of a table's columns, keys and options, as a schema
// file holds it (paimon-format.md 2). It is not modified once in use.
type Schema struct {
	ID             int64
	Fields         []Field
	HighestFieldID int
	PartitionKeys  []string
	PrimaryKeys    []string // with the partition columns
	Options        map[string]string
	Comment        string
	TimeMillis     int64

	once sync.Once
	d    derived
}

// derived is what follows from the schema, computed once.
type derived struct {
	types      []Type
	key        []int // trimmed primary key
	partition  []int
	bucketKey  []int
	buckets    int
	fullKey    []int // primary key in its own order
	keyTypes   []Type
	partTypes  []Type
	bucketType []Type
}

func (s *Schema) derive() *derived {
	s.once.Do(func() {
		d := &s.d
		for _, f := range s.Fields {
			d.types = append(d.types, f.Type)
		}
		d.partition = s.indexes(s.PartitionKeys)
		d.fullKey = s.indexes(s.PrimaryKeys)
		for _, i := range d.fullKey {
			if !slices.Contains(s.PartitionKeys, s.Fields[i].Name) {
				d.key = append(d.key, i)
			}
		}
		d.bucketKey = d.key
		if k := s.Options["bucket-key"]; k != "" {
			var names []string
			for n := range strings.SplitSeq(k, ",") {
				names = append(names, strings.TrimSpace(n))
			}
			d.bucketKey = s.indexes(names)
		}
		d.buckets = -1
		if b, err := strconv.Atoi(s.Options["bucket"]); err == nil {
			d.buckets = b
		}
		d.keyTypes, d.partTypes, d.bucketType = s.pick(d.key), s.pick(d.partition), s.pick(d.bucketKey)
	})
	return &s.d
}

func (s *Schema) pick(indexes []int) []Type {
	types := make([]Type, len(indexes))
	for i, x := range indexes {
		types[i] = s.Fields[x].Type
	}
	return types
}

// indexes gives the fields of the names; an unknown name is left out (Validate
// refuses such a schema).
func (s *Schema) indexes(names []string) []int {
	var out []int
	for _, n := range names {
		if i := s.Index(n); i >= 0 {
			out = append(out, i)
		}
	}
	return out
}

// Index is the field of that exact name, or -1.
func (s *Schema) Index(name string) int {
	for i := range s.Fields {
		if s.Fields[i].Name == name {
			return i
		}
	}
	return -1
}

// Names are the columns' names in order.
func (s *Schema) Names() []string {
	names := make([]string, len(s.Fields))
	for i, f := range s.Fields {
		names[i] = f.Name
	}
	return names
}

// Types are the columns' types in order. The slice is shared: do not modify it.
func (s *Schema) Types() []Type { return s.derive().types }

// Keyed says whether the table has a primary key; without one it is an append
// table.
func (s *Schema) Keyed() bool { return len(s.PrimaryKeys) > 0 }

// KeyIndexes are the fields of the trimmed primary key, in its order.
func (s *Schema) KeyIndexes() []int { return s.derive().key }

// KeyTypes are the types of the trimmed primary key.
func (s *Schema) KeyTypes() []Type { return s.derive().keyTypes }

// PrimaryIndexes are the fields of the whole primary key, in its order.
func (s *Schema) PrimaryIndexes() []int { return s.derive().fullKey }

// PartitionIndexes are the fields of the partition columns.
func (s *Schema) PartitionIndexes() []int { return s.derive().partition }

// PartitionTypes are the types of the partition columns.
func (s *Schema) PartitionTypes() []Type { return s.derive().partTypes }

// BucketKeyIndexes are the fields that place a row in a bucket.
func (s *Schema) BucketKeyIndexes() []int { return s.derive().bucketKey }

// Buckets is the option bucket: at least 1, or -1 (paimon-format.md 6).
func (s *Schema) Buckets() int { return s.derive().buckets }

// LogPartitions is the number of buckets that rows of this table go to, and so
// of log partitions: Buckets, or 1 for a table without fixed buckets.
func (s *Schema) LogPartitions() int { return max(s.derive().buckets, 1) }

// TotalBuckets is what manifest entries carry in _TOTAL_BUCKETS.
func (s *Schema) TotalBuckets() int {
	if b := s.derive().buckets; b > 0 {
		return b
	}
	return -1
}

// BucketOf is the bucket of a row.
func (s *Schema) BucketOf(row Row) Bucket {
	d := s.derive()
	if d.buckets <= 1 || len(d.bucketKey) == 0 {
		return 0
	}
	var buf [128]byte
	raw := appendBinaryRow(buf[:0], d.bucketType, row, d.bucketKey)
	return BucketOfHash(Hash(raw), d.buckets)
}

// Partition is the serialized partition row of a row.
func (s *Schema) Partition(row Row) Partition {
	d := s.derive()
	if len(d.partition) == 0 {
		return EmptyPartition
	}
	var buf [128]byte
	return Partition(appendSerialized(buf[:0], d.partTypes, row, d.partition))
}

// PartitionRow decodes a partition to the values of the partition columns.
func (s *Schema) PartitionRow(p Partition) (Row, error) {
	return DecodeSerialized(s.derive().partTypes, []byte(p))
}

// Key is the row's place in the order of (partition, trimmed key); "" in an
// append table.
func (s *Schema) Key(row Row) Key {
	if !s.Keyed() {
		return ""
	}
	d := s.derive()
	var buf [96]byte
	b := buf[:0]
	for i, x := range d.partition {
		b = AppendOrdered(b, d.partTypes[i], row[x])
	}
	for i, x := range d.key {
		b = AppendOrdered(b, d.keyTypes[i], row[x])
	}
	return Key(b)
}

// TrimmedKey is the row's place in the order of one partition and bucket; ""
// in an append table.
func (s *Schema) TrimmedKey(row Row) TrimmedKey {
	d := s.derive()
	var buf [96]byte
	b := buf[:0]
	for i, x := range d.key {
		b = AppendOrdered(b, d.keyTypes[i], row[x])
	}
	return TrimmedKey(b)
}

// KeyOf is TrimmedKey of the key columns' values alone, in KeyIndexes order.
func (s *Schema) KeyOf(values Row) TrimmedKey {
	var b []byte
	for i, t := range s.KeyTypes() {
		b = AppendOrdered(b, t, values[i])
	}
	return TrimmedKey(b)
}

// BinaryKey is the serialized BinaryRow of the row's trimmed key, as _MIN_KEY
// and _MAX_KEY hold it.
func (s *Schema) BinaryKey(row Row) []byte {
	d := s.derive()
	return appendSerialized(nil, d.keyTypes, row, d.key)
}

// DecodeBinaryKey turns _MIN_KEY or _MAX_KEY bytes into the ordered encoding.
func (s *Schema) DecodeBinaryKey(serialized []byte) (TrimmedKey, error) {
	row, err := DecodeSerialized(s.KeyTypes(), serialized)
	if err != nil {
		return "", fmt.Errorf("key bounds: %w", err)
	}
	return s.KeyOf(row), nil
}
