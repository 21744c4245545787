package exec

import (
	"encoding/binary"
	"fmt"
	"math"
	"unsafe"

	duckdb "github.com/duckdb/duckdb-go-bindings"

	"dtstore/table"
)

// Value is one cell of a result, or a parameter. For the types that tables have
// it is exactly a table.Value; for the others:
//
//	Time      Int, microseconds of the day (not the milliseconds of tables)
//	Interval  made by IntervalOf, read by IntervalFrom
//	UUID      DecimalOf(high, low) of its 128 bits
//	JSON      Str
//	List      made by ListOf, read by Elements
//	Numeric   unscaled, at the type's Scale (0 if it has none)
type Value = table.Value

// IntervalOf makes an Interval.
func IntervalOf(months, days int32, micros int64) Value {
	return table.DecimalOf(int64(months)<<32|int64(uint32(days)), uint64(micros))
}

// IntervalFrom reads an Interval.
func IntervalFrom(v Value) (months, days int32, micros int64) {
	hi, lo := v.Decimal()
	return int32(hi >> 32), int32(hi), int64(lo)
}

// ListOf makes a List of elem.
func ListOf(elem Type, values []Value) Value {
	b := binary.AppendUvarint(nil, uint64(len(values)))
	for _, v := range values {
		b = appendElement(b, elem, v)
	}
	return table.BytesOf(b)
}

func appendElement(b []byte, elem Type, v Value) []byte {
	if v.IsNull() {
		return append(b, 0)
	}
	b = append(b, 1)
	switch elem.ID {
	case Text, Unknown, Bytea, JSON:
		b = binary.AppendUvarint(b, uint64(len(v.Str())))
		return append(b, v.Str()...)
	}
	hi, lo := v.Decimal() // every other value is its two words
	return binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(b, uint64(hi)), lo)
}

// Elements reads a List of elem.
func Elements(elem Type, v Value) []Value {
	b := []byte(v.Str())
	n, k := binary.Uvarint(b)
	b = b[k:]
	out := make([]Value, 0, n)
	for range n {
		null := b[0] == 0
		if b = b[1:]; null {
			out = append(out, table.Null())
			continue
		}
		switch elem.ID {
		case Text, Unknown, Bytea, JSON:
			l, k := binary.Uvarint(b)
			out = append(out, table.BytesOf(b[k:k+int(l)]))
			b = b[k+int(l):]
		default:
			out = append(out, table.DecimalOf(int64(binary.LittleEndian.Uint64(b)), binary.LittleEndian.Uint64(b[8:])))
			b = b[16:]
		}
	}
	return out
}

// reader copies one column of a chunk into rows.
type reader func(vec duckdb.Vector, n int, set func(i int, v Value))

// isNull tests bit i of a validity mask; a nil mask has no NULLs.
func isNull(mask unsafe.Pointer, i int) bool {
	return mask != nil && *(*uint64)(unsafe.Add(mask, i/64*8))>>(i%64)&1 == 0
}

func plainReader[T any](make func(T) Value) reader {
	return func(vec duckdb.Vector, n int, set func(int, Value)) {
		data := unsafe.Slice((*T)(duckdb.VectorGetData(vec)), n)
		mask := duckdb.VectorGetValidity(vec)
		for i := range data {
			if !isNull(mask, i) {
				set(i, make(data[i]))
			}
		}
	}
}

// readStrings copies all strings of the vector at once and cuts that copy.
func readStrings(vec duckdb.Vector, n int, set func(int, Value)) {
	data := unsafe.Slice((*duckString)(duckdb.VectorGetData(vec)), n)
	mask := duckdb.VectorGetValidity(vec)
	total := 0
	for i := range data {
		if !isNull(mask, i) {
			total += int(data[i].length)
		}
	}
	buf := make([]byte, 0, total)
	for i := range data {
		if !isNull(mask, i) {
			buf = append(buf, data[i].bytes()...)
		}
	}
	all := unsafe.String(unsafe.SliceData(buf), len(buf)) // buf is never written again
	for i := range data {
		if !isNull(mask, i) {
			l := int(data[i].length)
			set(i, table.StringOf(all[:l]))
			all = all[l:]
		}
	}
}

// bytes is the string's content in DuckDB's memory.
func (s *duckString) bytes() []byte {
	if s.length <= inlineBytes {
		return s.inline[:s.length]
	}
	return unsafe.Slice(*(**byte)(unsafe.Pointer(&s.inline[4])), s.length)
}

type duckInterval struct {
	months, days int32
	micros       int64
}

// readerOf is the reader of a DuckDB type that is plain (typeOfDuck).
func readerOf(lt duckdb.LogicalType) (reader, error) {
	integer := func(v int64) Value { return table.IntOf(v) }
	id := duckdb.GetTypeId(lt)
	if id == duckdb.TypeDecimal {
		id = duckdb.DecimalInternalType(lt)
		switch id {
		case duckdb.TypeSmallInt:
			return plainReader(func(v int16) Value { return table.DecimalOfInt(int64(v)) }), nil
		case duckdb.TypeInteger:
			return plainReader(func(v int32) Value { return table.DecimalOfInt(int64(v)) }), nil
		case duckdb.TypeBigInt:
			return plainReader(func(v int64) Value { return table.DecimalOfInt(v) }), nil
		}
	}
	switch id {
	case duckdb.TypeBoolean:
		return plainReader(func(v bool) Value { return table.BoolOf(v) }), nil
	case duckdb.TypeTinyInt:
		return plainReader(func(v int8) Value { return integer(int64(v)) }), nil
	case duckdb.TypeUTinyInt:
		return plainReader(func(v uint8) Value { return integer(int64(v)) }), nil
	case duckdb.TypeSmallInt:
		return plainReader(func(v int16) Value { return integer(int64(v)) }), nil
	case duckdb.TypeUSmallInt:
		return plainReader(func(v uint16) Value { return integer(int64(v)) }), nil
	case duckdb.TypeInteger, duckdb.TypeDate, duckdb.TypeIntegerLiteral:
		return plainReader(func(v int32) Value { return integer(int64(v)) }), nil
	case duckdb.TypeUInteger:
		return plainReader(func(v uint32) Value { return integer(int64(v)) }), nil
	case duckdb.TypeBigInt, duckdb.TypeTime:
		return plainReader(integer), nil
	case duckdb.TypeUBigInt:
		return plainReader(func(v uint64) Value { return table.DecimalOf(0, v) }), nil
	case duckdb.TypeHugeInt:
		return plainReader(func(v hugeInt) Value { return table.DecimalOf(v.hi, v.lo) }), nil
	case duckdb.TypeUUID:
		return plainReader(func(v hugeInt) Value { return table.DecimalOf(v.hi^math.MinInt64, v.lo) }), nil
	case duckdb.TypeFloat:
		return plainReader(func(v float32) Value { return table.FloatOf(float64(v)) }), nil
	case duckdb.TypeDouble:
		return plainReader(func(v float64) Value { return table.FloatOf(v) }), nil
	case duckdb.TypeVarchar, duckdb.TypeBlob:
		return readStrings, nil
	case duckdb.TypeTimestamp, duckdb.TypeTimestampTZ:
		return plainReader(func(v int64) Value { return table.TimestampOf(v, 0) }), nil
	case duckdb.TypeTimestampNS:
		return plainReader(func(v int64) Value {
			n := (v%1000 + 1000) % 1000
			return table.TimestampOf((v-n)/1000, int(n))
		}), nil
	case duckdb.TypeInterval:
		return plainReader(func(v duckInterval) Value { return IntervalOf(v.months, v.days, v.micros) }), nil
	case duckdb.TypeSQLNull, duckdb.TypeInvalid:
		return func(duckdb.Vector, int, func(int, Value)) {}, nil
	case duckdb.TypeList:
		return listReader(lt)
	}
	return nil, fmt.Errorf("result of DuckDB type %d", id)
}

type duckList struct{ offset, length uint64 }

func listReader(lt duckdb.LogicalType) (reader, error) {
	child := duckdb.ListTypeChildType(lt)
	defer duckdb.DestroyLogicalType(&child)
	elem, _, _ := typeOfDuck(child)
	read, err := readerOf(child)
	if err != nil {
		return nil, err
	}
	return func(vec duckdb.Vector, n int, set func(int, Value)) {
		all := make([]Value, duckdb.ListVectorGetSize(vec))
		read(duckdb.ListVectorGetChild(vec), len(all), func(i int, v Value) { all[i] = v })
		data := unsafe.Slice((*duckList)(duckdb.VectorGetData(vec)), n)
		mask := duckdb.VectorGetValidity(vec)
		for i, l := range data {
			if !isNull(mask, i) {
				set(i, ListOf(elem, all[l.offset:l.offset+l.length]))
			}
		}
	}, nil
}
