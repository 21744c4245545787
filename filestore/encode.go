package filestore

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
	"unsafe"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/deprecated"

	"dtstore/table"
)

// class is how values of a type become Parquet values.
type class uint8

const (
	classBool class = iota
	classInt32
	classInt64
	classFloat
	classDouble
	classBytes
	classDecimal32
	classDecimal64
	classDecimalFixed
	classMillis
	classMicros
	classInt96
)

func classOf(t table.Type) class {
	switch t.Kind {
	case table.Boolean:
		return classBool
	case table.TinyInt, table.SmallInt, table.Int, table.Date, table.Time:
		return classInt32
	case table.BigInt:
		return classInt64
	case table.Float:
		return classFloat
	case table.Double:
		return classDouble
	case table.Decimal:
		switch {
		case t.Precision <= 9:
			return classDecimal32
		case t.Precision <= 18:
			return classDecimal64
		}
		return classDecimalFixed
	case table.Timestamp, table.TimestampLTZ:
		switch {
		case t.Precision <= 3:
			return classMillis
		case t.Precision <= 6:
			return classMicros
		}
		return classInt96
	}
	return classBytes
}

// encoder gathers the values of one column for its next page.
type encoder struct {
	column
	class class
	index int // of the column in the file
	def   int // definition level of a value that is set
	width int // bytes of a wide decimal
	vals  []parquet.Value
	arena []byte // memory of wide decimals and copied strings
}

func newEncoder(c column, index int) encoder {
	e := encoder{column: c, class: classOf(c.typ), index: index}
	if !c.typ.NotNull {
		e.def = 1
	}
	if e.class == classDecimalFixed {
		e.width = decimalBytes(c.typ.Precision)
	}
	return e
}

// add takes one value.
func (e *encoder) add(v table.Value) error {
	if v.IsNull() {
		if e.def == 0 {
			return fmt.Errorf("column %s: NULL in a NOT NULL column", e.name)
		}
		e.vals = append(e.vals, parquet.NullValue().Level(0, 0, e.index))
		return nil
	}
	var p parquet.Value
	switch e.class {
	case classBool:
		p = parquet.BooleanValue(v.Bool())
	case classInt32:
		if v.Int() != int64(int32(v.Int())) {
			return e.range_(v.Int())
		}
		p = parquet.Int32Value(int32(v.Int()))
	case classInt64:
		p = parquet.Int64Value(v.Int())
	case classFloat:
		p = parquet.FloatValue(float32(v.Float()))
	case classDouble:
		p = parquet.DoubleValue(v.Float())
	case classBytes:
		s := v.Str()
		p = parquet.ByteArrayValue(unsafe.Slice(unsafe.StringData(s), len(s)))
	case classDecimal32, classDecimal64:
		hi, lo := v.Decimal()
		if hi != int64(lo)>>63 || e.class == classDecimal32 && int64(lo) != int64(int32(lo)) {
			return fmt.Errorf("column %s: a decimal is over %d digits", e.name, e.typ.Precision)
		}
		if e.class == classDecimal32 {
			p = parquet.Int32Value(int32(lo))
		} else {
			p = parquet.Int64Value(int64(lo))
		}
	case classDecimalFixed:
		b, err := e.fixed(v)
		if err != nil {
			return err
		}
		p = parquet.FixedLenByteArrayValue(b)
	case classMillis:
		p = parquet.Int64Value(floorDiv(v.Micros(), 1000))
	case classMicros:
		p = parquet.Int64Value(v.Micros())
	case classInt96:
		day := floorDiv(v.Micros(), dayMicros)
		nanos := uint64((v.Micros()-day*dayMicros)*1000 + int64(v.Nanos()))
		day += julianEpoch
		if day != int64(int32(day)) {
			return e.range_(v.Micros())
		}
		p = parquet.Int96Value(deprecated.Int96{uint32(nanos), uint32(nanos >> 32), uint32(int32(day))})
	}
	e.vals = append(e.vals, p.Level(0, e.def, e.index))
	return nil
}

func (e *encoder) range_(v int64) error {
	return fmt.Errorf("column %s: %d does not fit %v", e.name, v, e.typ)
}

// fixed is a wide decimal as big-endian two's complement of e.width bytes.
func (e *encoder) fixed(v table.Value) ([]byte, error) {
	hi, lo := v.Decimal()
	var b [16]byte
	binary.BigEndian.PutUint64(b[:], uint64(hi))
	binary.BigEndian.PutUint64(b[8:], lo)
	cut := 16 - e.width
	sign := byte(hi >> 63)
	for _, c := range b[:cut] {
		if c != sign {
			return nil, fmt.Errorf("column %s: a decimal is over %d digits", e.name, e.typ.Precision)
		}
	}
	if cut > 0 && (b[cut]^sign)&0x80 != 0 {
		return nil, fmt.Errorf("column %s: a decimal is over %d digits", e.name, e.typ.Precision)
	}
	if cap(e.arena)-len(e.arena) < e.width {
		e.arena = make([]byte, 0, max(1024, pageRows*e.width)) // what was handed out keeps the old one
	}
	at := len(e.arena)
	e.arena = append(e.arena, b[cut:]...)
	return e.arena[at:len(e.arena):len(e.arena)], nil
}

// reset forgets the page.
func (e *encoder) reset() {
	clear(e.vals) // do not keep strings alive
	e.vals, e.arena = e.vals[:0], e.arena[:0]
}

// repetitive says whether a sample of the column has so few different values
// that a dictionary makes it smaller.
func (e *encoder) repetitive() bool {
	const enough = 64 // a shorter sample says nothing
	n := len(e.vals)
	if n < enough || e.class == classBool {
		return e.class == classInt96
	}
	share := 4
	if e.class == classBytes {
		share = 2
	}
	return e.distinct(n/share) < n/share
}

// packs says whether in a sample of the column neighbours differ by so little
// that storing the differences makes it smaller. It also makes it quicker to
// read: there is less to decompress.
func (e *encoder) packs() bool {
	var width int
	switch e.class {
	case classInt32, classDecimal32:
		width = 32
	case classInt64, classDecimal64, classMillis, classMicros:
		width = 64
	default:
		return false
	}
	const block = 128 // as the encoding has them: one bit width for each
	var total, n int
	var last, lo, hi int64
	for _, v := range e.vals {
		if v.IsNull() {
			continue
		}
		x := v.Int64()
		if width == 32 {
			x = int64(v.Int32())
		}
		if d := x - last; n%block == 1 {
			lo, hi = d, d
		} else if n > 0 {
			lo, hi = min(lo, d), max(hi, d)
		}
		if n%block == 0 && n > 0 {
			total += bits.Len64(uint64(hi - lo))
		}
		last = x
		n++
	}
	blocks := (n - 1) / block
	return blocks > 0 && total/blocks <= width*5/8
}

// distinct counts different values, up to limit.
func (e *encoder) distinct(limit int) int {
	switch e.class {
	case classBytes, classDecimalFixed:
		seen := make(map[string]struct{}, 256)
		for _, v := range e.vals {
			if v.IsNull() {
				continue
			}
			b := v.ByteArray()
			if _, ok := seen[string(b)]; ok {
				continue
			}
			seen[string(b)] = struct{}{}
			if len(seen) >= limit {
				break
			}
		}
		return len(seen)
	}
	seen := make(map[[2]uint64]struct{}, 256)
	for _, v := range e.vals {
		var k [2]uint64
		switch e.class {
		case classInt32, classDecimal32:
			k[0] = uint64(v.Int32())
		case classFloat:
			k[0] = uint64(math.Float32bits(v.Float()))
		case classDouble:
			k[0] = math.Float64bits(v.Double())
		case classInt96:
			x := v.Int96()
			k = [2]uint64{uint64(x[0]) | uint64(x[1])<<32, uint64(x[2])}
		default:
			k[0] = uint64(v.Int64())
		}
		if seen[k] = struct{}{}; len(seen) >= limit {
			break
		}
	}
	return len(seen)
}
