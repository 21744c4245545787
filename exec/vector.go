package exec

/*
#include <stdint.h>

extern void duckdb_vector_assign_string_element_len(void *vector, uint64_t index, const char *str, uint64_t len);

// assign_strings puts string i, bytes[ends[i-1]:ends[i]], at rows[i] of the
// vector: one call into C for a whole chunk.
static void assign_strings(void *vector, const char *bytes, const uint32_t *rows, const uint64_t *ends, int n) {
	uint64_t from = 0;
	for (int i = 0; i < n; i++) {
		duckdb_vector_assign_string_element_len(vector, rows[i], bytes + from, ends[i] - from);
		from = ends[i];
	}
}
*/
import "C"

import (
	"math"
	"sync"
	"unsafe"

	duckdb "github.com/duckdb/duckdb-go-bindings"

	"dtstore/table"
)

// vectorSize is the number of rows in DuckDB's chunks.
const vectorSize = 2048

// vectorType is how a type of ours is written into DuckDB's vectors.
type vectorType struct {
	id           duckdb.Type
	width, scale uint8
	write        func(v duckdb.Vector, rows []table.Row, col int) error
}

func (t vectorType) logical() duckdb.LogicalType {
	if t.id == duckdb.TypeDecimal {
		return duckdb.CreateDecimalType(t.width, t.scale)
	}
	return duckdb.CreateLogicalType(t.id)
}

func vectorTypeOf(t table.Type) (vectorType, error) {
	switch t.Kind {
	case table.Boolean:
		return vectorType{id: duckdb.TypeBoolean, write: fixed(func(v table.Value) bool { return v.Bool() })}, nil
	case table.TinyInt:
		return vectorType{id: duckdb.TypeTinyInt, write: fixed(func(v table.Value) int8 { return int8(v.Int()) })}, nil
	case table.SmallInt:
		return vectorType{id: duckdb.TypeSmallInt, write: fixed(func(v table.Value) int16 { return int16(v.Int()) })}, nil
	case table.Int:
		return vectorType{id: duckdb.TypeInteger, write: fixed(func(v table.Value) int32 { return int32(v.Int()) })}, nil
	case table.BigInt:
		return vectorType{id: duckdb.TypeBigInt, write: fixed(func(v table.Value) int64 { return v.Int() })}, nil
	case table.Float:
		return vectorType{id: duckdb.TypeFloat, write: fixed(func(v table.Value) float32 { return float32(v.Float()) })}, nil
	case table.Double:
		return vectorType{id: duckdb.TypeDouble, write: fixed(func(v table.Value) float64 { return v.Float() })}, nil
	case table.Decimal:
		return decimalType(t), nil
	case table.Char, table.VarChar:
		return vectorType{id: duckdb.TypeVarchar, write: writeStrings}, nil
	case table.Binary, table.VarBinary:
		return vectorType{id: duckdb.TypeBlob, write: writeStrings}, nil
	case table.Date:
		return vectorType{id: duckdb.TypeDate, write: fixed(func(v table.Value) int32 { return int32(v.Int()) })}, nil
	case table.Time:
		return vectorType{id: duckdb.TypeTime, write: fixed(func(v table.Value) int64 { return v.Int() * 1000 })}, nil
	case table.Timestamp:
		if t.Precision > 6 {
			return vectorType{id: duckdb.TypeTimestampNS, write: writeNanos}, nil
		}
		return vectorType{id: duckdb.TypeTimestamp, write: fixed(func(v table.Value) int64 { return v.Micros() })}, nil
	case table.TimestampLTZ:
		return vectorType{id: duckdb.TypeTimestampTZ, write: fixed(func(v table.Value) int64 { return v.Micros() })}, nil
	}
	return vectorType{}, table.Errorf("0A000", "type %v cannot be read by a query", t)
}

func decimalType(t table.Type) vectorType {
	d := vectorType{id: duckdb.TypeDecimal, width: uint8(t.Precision), scale: uint8(t.Scale)}
	switch {
	case t.Precision <= 4:
		d.write = fixed(func(v table.Value) int16 { _, lo := v.Decimal(); return int16(lo) })
	case t.Precision <= 9:
		d.write = fixed(func(v table.Value) int32 { _, lo := v.Decimal(); return int32(lo) })
	case t.Precision <= 18:
		d.write = fixed(func(v table.Value) int64 { _, lo := v.Decimal(); return int64(lo) })
	default:
		d.write = fixed(func(v table.Value) hugeInt { hi, lo := v.Decimal(); return hugeInt{lo, hi} })
	}
	return d
}

// hugeInt is DuckDB's 128-bit integer in memory.
type hugeInt struct {
	lo uint64
	hi int64
}

// duckString is DuckDB's string in memory: a length, then up to 12 bytes in
// place, or 4 bytes of prefix and a pointer.
type duckString struct {
	length uint32
	inline [12]byte
}

const inlineBytes = 12

// fixed makes a writer for values of a fixed width.
func fixed[T any](get func(table.Value) T) func(duckdb.Vector, []table.Row, int) error {
	return func(vec duckdb.Vector, rows []table.Row, col int) error {
		data := unsafe.Slice((*T)(duckdb.VectorGetData(vec)), len(rows))
		nulls := nullWriter{vec: vec}
		for i, row := range rows {
			if v := row[col]; v.IsNull() {
				nulls.set(i)
			} else {
				data[i] = get(v)
			}
		}
		return nil
	}
}

// nullWriter asks for the validity mask at the first NULL only.
type nullWriter struct {
	vec  duckdb.Vector
	mask []uint64
}

func (n *nullWriter) set(i int) {
	if n.mask == nil {
		duckdb.VectorEnsureValidityWritable(n.vec)
		n.mask = unsafe.Slice((*uint64)(duckdb.VectorGetValidity(n.vec)), vectorSize/64)
	}
	n.mask[i/64] &^= 1 << (i % 64)
}

// long gathers the strings of a chunk that do not fit in place.
type long struct {
	bytes []byte
	rows  []uint32
	ends  []uint64
}

var longs = sync.Pool{New: func() any { return &long{} }}

func writeStrings(vec duckdb.Vector, rows []table.Row, col int) error {
	data := unsafe.Slice((*duckString)(duckdb.VectorGetData(vec)), len(rows))
	nulls := nullWriter{vec: vec}
	l := longs.Get().(*long)
	l.bytes, l.rows, l.ends = l.bytes[:0], l.rows[:0], l.ends[:0]
	for i, row := range rows {
		v := row[col]
		if v.IsNull() {
			nulls.set(i)
			continue
		}
		s := v.Str()
		if len(s) <= inlineBytes {
			d := duckString{length: uint32(len(s))}
			copy(d.inline[:], s)
			data[i] = d
			continue
		}
		if uint64(len(s)) > math.MaxUint32 {
			return table.Errorf("54000", "a value of %d bytes is too long for a query", len(s))
		}
		l.bytes = append(l.bytes, s...)
		l.rows, l.ends = append(l.rows, uint32(i)), append(l.ends, uint64(len(l.bytes)))
	}
	if n := len(l.rows); n > 0 {
		C.assign_strings(vec.Ptr, (*C.char)(unsafe.Pointer(&l.bytes[0])), (*C.uint32_t)(&l.rows[0]), (*C.uint64_t)(&l.ends[0]), C.int(n))
	}
	if cap(l.bytes) <= 1<<20 {
		longs.Put(l)
	}
	return nil
}

// writeNanos writes a TIMESTAMP_NS, which reaches from 1677 to 2262 only.
func writeNanos(vec duckdb.Vector, rows []table.Row, col int) error {
	data := unsafe.Slice((*int64)(duckdb.VectorGetData(vec)), len(rows))
	nulls := nullWriter{vec: vec}
	for i, row := range rows {
		v := row[col]
		if v.IsNull() {
			nulls.set(i)
			continue
		}
		if v.Micros() > math.MaxInt64/1000-1 || v.Micros() < math.MinInt64/1000+1 {
			return table.Errorf("22008", "timestamp out of range: a TIMESTAMP(7..9) is from 1677 to 2262 in a query")
		}
		data[i] = v.Micros()*1000 + int64(v.Nanos())
	}
	return nil
}
