package filestore

import (
	"encoding/binary"
	"fmt"
	"math"
	"unsafe"

	"github.com/parquet-go/parquet-go/format"

	"dtstore/table"
)

// values are what a page or dictionary stores, without NULLs. One of the
// slices is in use, as the physical type says.
type values struct {
	i32  []int32
	i64  []int64
	f32  []float32
	f64  []float64
	bits []byte // one byte for a boolean

	// Byte arrays, fixed ones and INT96 lie in data. Of byte arrays value i is
	// data[from[i]:to[i]]; of the others it is width bytes at i*width.
	data     []byte
	from, to []uint32
	width    int

	cells []table.Value // of dictionaries: the values converted, once
}

// vector is one decoded page: n rows, some of them NULL.
type vector struct {
	n int
	// at gives for each row the place of its value in vals, -1 for NULL; nil
	// means that row i has value i.
	at   []int32
	vals *values
}

// isNull says whether row i is NULL.
func (v *vector) isNull(i int) bool { return v.at != nil && v.at[i] < 0 }

// bytes is about what the vector holds in memory.
func (v *vector) bytes() int64 {
	n := int64(4*cap(v.at) + 200)
	if v.vals.cells == nil { // not the dictionary's, which counts for itself
		n += v.vals.bytes()
	}
	return n
}

func (x *values) bytes() int64 {
	return int64(4*cap(x.i32) + 8*cap(x.i64) + 4*cap(x.f32) + 8*cap(x.f64) + cap(x.bits) + cap(x.data) + 8*cap(x.from) + 40*cap(x.cells))
}

// childCount is the number of children of a schema element, 0 of a column.
func childCount(e *format.SchemaElement) int {
	if !e.NumChildren.Valid {
		return 0
	}
	return int(e.NumChildren.V)
}

func repetition(e *format.SchemaElement) format.FieldRepetitionType {
	if !e.RepetitionType.Valid {
		return format.Required
	}
	return e.RepetitionType.V
}

func physical(e *format.SchemaElement) format.Type {
	if !e.Type.Valid {
		return -1
	}
	return e.Type.V
}

// storable says whether values of type t may be stored as the element says.
func storable(t table.Type, e *format.SchemaElement) bool {
	p := physical(e)
	switch t.Kind {
	case table.Boolean:
		return p == format.Boolean
	case table.TinyInt, table.SmallInt, table.Int, table.Date, table.Time:
		return p == format.Int32
	case table.BigInt:
		return p == format.Int64
	case table.Float:
		return p == format.Float
	case table.Double:
		return p == format.Double
	case table.Decimal:
		if p == format.FixedLenByteArray {
			return e.TypeLength.Valid && e.TypeLength.V > 0 && e.TypeLength.V <= 64
		}
		return p == format.Int32 || p == format.Int64 || p == format.ByteArray
	case table.Char, table.VarChar, table.Binary, table.VarBinary:
		return p == format.ByteArray
	case table.Timestamp, table.TimestampLTZ:
		return p == format.Int64 || p == format.Int96
	}
	return false
}

// cellReader turns stored values into cells of one column.
type cellReader struct {
	typ  table.Type
	unit int64 // of INT64 timestamps: how many make a microsecond, or microseconds as a negative number
}

// The units of INT64 timestamps.
const (
	unitMicros = 1
	unitMillis = -1000
	unitNanos  = 1000
)

func newCellReader(t table.Type, e *format.SchemaElement) cellReader {
	r := cellReader{typ: t, unit: unitMicros}
	if t.Precision <= 3 {
		r.unit = unitMillis
	}
	if ts, ok := e.LogicalType.Value.(*format.TimestampType); ok {
		switch ts.Unit.Value.(type) {
		case *format.MilliSeconds:
			r.unit = unitMillis
		case *format.MicroSeconds:
			r.unit = unitMicros
		case *format.NanoSeconds:
			r.unit = unitNanos
		}
	}
	return r
}

// fill converts rows [from, from+n) of v and stores them at dst[0],
// dst[stride], …
func (r cellReader) fill(dst []table.Value, stride int, v *vector, from, n int) error {
	if v.vals.cells != nil { // a dictionary
		cells := v.vals.cells
		for i, at := range v.at[from : from+n] {
			if at < 0 {
				dst[i*stride] = table.Value{}
			} else {
				dst[i*stride] = cells[at]
			}
		}
		return nil
	}
	if v.at == nil {
		return r.fillDense(dst, stride, v.vals, from, n)
	}
	for i, at := range v.at[from : from+n] {
		if at < 0 {
			dst[i*stride] = table.Value{}
			continue
		}
		c, err := r.cell(v.vals, int(at))
		if err != nil {
			return err
		}
		dst[i*stride] = c
	}
	return nil
}

func (r cellReader) fillDense(dst []table.Value, stride int, x *values, from, n int) error {
	switch {
	case x.i64 != nil && r.typ.Kind == table.BigInt:
		for i, v := range x.i64[from : from+n] {
			dst[i*stride] = table.IntOf(v)
		}
	case x.i32 != nil && r.typ.Kind != table.Decimal:
		for i, v := range x.i32[from : from+n] {
			dst[i*stride] = table.IntOf(int64(v))
		}
	case x.from != nil && r.typ.Kind != table.Decimal:
		for i := range n {
			dst[i*stride] = table.StringOf(x.str(from + i))
		}
	default:
		for i := range n {
			c, err := r.cell(x, from+i)
			if err != nil {
				return err
			}
			dst[i*stride] = c
		}
	}
	return nil
}

// cell converts value i.
func (r cellReader) cell(x *values, i int) (table.Value, error) {
	switch r.typ.Kind {
	case table.Boolean:
		return table.BoolOf(x.bits[i] != 0), nil
	case table.Float:
		return table.FloatOf(float64(x.f32[i])), nil
	case table.Double:
		return table.FloatOf(x.f64[i]), nil
	case table.BigInt:
		return table.IntOf(x.i64[i]), nil
	case table.Decimal:
		switch {
		case x.i32 != nil:
			return table.DecimalOfInt(int64(x.i32[i])), nil
		case x.i64 != nil:
			return table.DecimalOfInt(x.i64[i]), nil
		case x.from != nil:
			return table.DecimalFromBytes(x.data[x.from[i]:x.to[i]])
		}
		return table.DecimalFromBytes(x.data[i*x.width : (i+1)*x.width])
	case table.Timestamp, table.TimestampLTZ:
		if x.i64 != nil {
			return r.timestamp(x.i64[i])
		}
		return int96(x.data[i*12 : i*12+12])
	case table.Char, table.VarChar, table.Binary, table.VarBinary:
		return table.StringOf(x.str(i)), nil
	}
	return table.IntOf(int64(x.i32[i])), nil
}

func (r cellReader) timestamp(v int64) (table.Value, error) {
	switch r.unit {
	case unitMillis:
		if v > math.MaxInt64/1000 || v < math.MinInt64/1000 {
			return table.Value{}, fmt.Errorf("timestamp of %d ms", v)
		}
		return table.TimestampOf(v*1000, 0), nil
	case unitNanos:
		us := floorDiv(v, 1000)
		return table.TimestampOf(us, int(v-us*1000)), nil
	}
	return table.TimestampOf(v, 0), nil
}

const (
	julianEpoch  = 2440588 // the Julian day of 1970-01-01
	dayMicros    = 86400e6
	maxJulianDay = 100_000_000 // beyond it microseconds would overflow
)

// int96 reads nanoseconds of the day and a Julian day. Java writes negative
// nanoseconds before 1970.
func int96(b []byte) (table.Value, error) {
	nanos := int64(binary.LittleEndian.Uint64(b))
	day := int64(int32(binary.LittleEndian.Uint32(b[8:])))
	if day > maxJulianDay || day < -maxJulianDay {
		return table.Value{}, fmt.Errorf("timestamp of Julian day %d", day)
	}
	us := floorDiv(nanos, 1000)
	return table.TimestampOf((day-julianEpoch)*dayMicros+us, int(nanos-us*1000)), nil
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

// str is byte array i as a string that shares the page's memory, which is
// never written again.
func (x *values) str(i int) string {
	b := x.data[x.from[i]:x.to[i]]
	return unsafe.String(unsafe.SliceData(b), len(b))
}
