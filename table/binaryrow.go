package table

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
)

// EmptyPartition is the partition of an unpartitioned table: arity 0 and the
// 8-byte empty row. Append tables use the same bytes for their key bounds.
const EmptyPartition = Partition("\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00")

// headBytes is the size of a BinaryRow's header and null bits.
func headBytes(arity int) int { return (arity + 63 + 8) / 64 * 8 }

// AppendBinaryRow appends the raw BinaryRow of values (paimon-format.md 5.2).
func AppendBinaryRow(dst []byte, types []Type, values Row) []byte {
	return appendBinaryRow(dst, types, values, nil)
}

// AppendSerialized appends the row with its 4-byte big-endian arity, as
// manifests hold it (5.1).
func AppendSerialized(dst []byte, types []Type, values Row) []byte {
	return appendSerialized(dst, types, values, nil)
}

func appendSerialized(dst []byte, types []Type, values Row, indexes []int) []byte {
	dst = binary.BigEndian.AppendUint32(dst, uint32(len(types)))
	return appendBinaryRow(dst, types, values, indexes)
}

// appendBinaryRow takes value i from values[indexes[i]], or values[i] if
// indexes is nil.
func appendBinaryRow(dst []byte, types []Type, values Row, indexes []int) []byte {
	start, head := len(dst), headBytes(len(types))
	dst = append(dst, make([]byte, head+8*len(types))...)
	for i, t := range types {
		v := values[i]
		if indexes != nil {
			v = values[indexes[i]]
		}
		slot := start + head + 8*i
		if v.IsNull() {
			dst[start+(i+8)/8] |= 1 << ((i + 8) % 8)
		}
		switch {
		case t.Kind == Decimal && t.Precision > 18:
			off, n := len(dst)-start, 0
			dst = append(dst, make([]byte, 16)...)
			if !v.IsNull() {
				n = copy(dst[start+off:], minimal(v))
			}
			binary.LittleEndian.PutUint64(dst[slot:], uint64(off)<<32|uint64(n))
		case t.IsTimestamp() && t.Precision > 3:
			off := len(dst) - start
			milli, nano := int64(0), int64(0)
			if !v.IsNull() {
				milli = floorDiv(v.lo, 1000)
				nano = (v.lo-milli*1000)*1000 + v.hi
			}
			dst = binary.LittleEndian.AppendUint64(dst, uint64(milli))
			binary.LittleEndian.PutUint64(dst[slot:], uint64(off)<<32|uint64(nano))
		case v.IsNull():
		case t.IsString() || t.IsBinary():
			if n := len(v.str); n <= 7 {
				copy(dst[slot:], v.str)
				dst[slot+7] = 0x80 | byte(n)
				break
			}
			off := len(dst) - start
			binary.LittleEndian.PutUint64(dst[slot:], uint64(off)<<32|uint64(len(v.str)))
			dst = append(dst, v.str...)
			for (len(dst)-start)%8 != 0 {
				dst = append(dst, 0)
			}
		default:
			putFixed(dst[slot:], t, v)
		}
	}
	return dst
}

func putFixed(slot []byte, t Type, v Value) {
	switch t.Kind {
	case Boolean, TinyInt:
		slot[0] = byte(v.lo)
	case SmallInt:
		binary.LittleEndian.PutUint16(slot, uint16(v.lo))
	case Int, Date, Time:
		binary.LittleEndian.PutUint32(slot, uint32(v.lo))
	case Float:
		binary.LittleEndian.PutUint32(slot, math.Float32bits(float32(v.Float())))
	case BigInt, Double, Decimal:
		binary.LittleEndian.PutUint64(slot, uint64(v.lo))
	case Timestamp, TimestampLTZ:
		binary.LittleEndian.PutUint64(slot, uint64(floorDiv(v.lo, 1000)))
	default:
		panic(fmt.Sprintf("table: BinaryRow of type %v", t))
	}
}

// minimal is Java's BigInteger.toByteArray: big-endian two's complement with
// no more bytes than the sign needs.
func minimal(v Value) []byte {
	var b [16]byte
	binary.BigEndian.PutUint64(b[:], uint64(v.hi))
	binary.BigEndian.PutUint64(b[8:], uint64(v.lo))
	i := 0
	for i < 15 && (b[i] == 0 && b[i+1] < 0x80 || b[i] == 0xff && b[i+1] >= 0x80) {
		i++
	}
	return b[i:]
}

// DecimalFromBytes reads a big-endian two's complement of 1 to 16 bytes, or
// more if they only extend the sign.
func DecimalFromBytes(b []byte) (Value, error) {
	if len(b) == 0 {
		return Value{}, fmt.Errorf("decimal of no bytes")
	}
	ext := byte(0)
	if b[0] >= 0x80 {
		ext = 0xff
	}
	for len(b) > 16 {
		if b[0] != ext || (b[1] >= 0x80) != (ext == 0xff) {
			return Value{}, fmt.Errorf("decimal of %d bytes is over 128 bits", len(b))
		}
		b = b[1:]
	}
	var full [16]byte
	for i := range full {
		full[i] = ext
	}
	copy(full[16-len(b):], b)
	return DecimalOf(int64(binary.BigEndian.Uint64(full[:])), binary.BigEndian.Uint64(full[8:])), nil
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

// DecodeSerialized reads a row that manifests hold. Its arity must be that of
// the types; any bytes give a row or an error.
func DecodeSerialized(types []Type, data []byte) (Row, error) {
	if len(data) < 4 {
		return nil, fmt.Errorf("binary row of %d bytes", len(data))
	}
	if n := binary.BigEndian.Uint32(data); int64(n) != int64(len(types)) {
		return nil, fmt.Errorf("binary row of %d fields where %d are expected", n, len(types))
	}
	return DecodeBinaryRow(types, data[4:])
}

// DecodeBinaryRow reads a raw BinaryRow. It never panics: bytes that do not
// fit the types are an error.
func DecodeBinaryRow(types []Type, raw []byte) (Row, error) {
	head := headBytes(len(types))
	if len(raw) < head+8*len(types) {
		return nil, fmt.Errorf("binary row of %d bytes for %d fields", len(raw), len(types))
	}
	row := make(Row, len(types))
	for i, t := range types {
		if raw[(i+8)/8]>>((i+8)%8)&1 != 0 {
			continue
		}
		v, err := decodeSlot(t, raw, raw[head+8*i:head+8*i+8])
		if err != nil {
			return nil, fmt.Errorf("field %d of type %v: %w", i, t, err)
		}
		row[i] = v
	}
	return row, nil
}

func decodeSlot(t Type, raw, slot []byte) (Value, error) {
	u := binary.LittleEndian.Uint64(slot)
	variable := func(n uint64) ([]byte, error) {
		off := u >> 32
		if off > uint64(len(raw)) || n > uint64(len(raw))-off {
			return nil, fmt.Errorf("%d bytes at %d of %d", n, off, len(raw))
		}
		return raw[off : off+n], nil
	}
	switch t.Kind {
	case Boolean:
		return BoolOf(slot[0] != 0), nil
	case TinyInt:
		return IntOf(int64(int8(slot[0]))), nil
	case SmallInt:
		return IntOf(int64(int16(u))), nil
	case Int, Date, Time:
		return IntOf(int64(int32(u))), nil
	case BigInt:
		return IntOf(int64(u)), nil
	case Float:
		return FloatOf(float64(math.Float32frombits(uint32(u)))), nil
	case Double:
		return FloatOf(math.Float64frombits(u)), nil
	case Decimal:
		if t.Precision <= 18 {
			return DecimalOfInt(int64(u)), nil
		}
		b, err := variable(u & 0xffffffff)
		if err != nil {
			return Value{}, err
		}
		return DecimalFromBytes(b)
	case Timestamp, TimestampLTZ:
		milli, nano := int64(u), int64(0)
		if t.Precision > 3 {
			b, err := variable(8)
			if err != nil {
				return Value{}, err
			}
			milli, nano = int64(binary.LittleEndian.Uint64(b)), int64(u&0xffffffff)
		}
		if milli > math.MaxInt64/1000-1 || milli < math.MinInt64/1000+1 || nano >= 1e6 {
			return Value{}, fmt.Errorf("timestamp %d ms %d ns", milli, nano)
		}
		return TimestampOf(milli*1000+nano/1000, int(nano%1000)), nil
	case Char, VarChar, Binary, VarBinary:
		if n := slot[7]; n&0x80 != 0 {
			if n&0x7f > 7 {
				return Value{}, fmt.Errorf("inline length %d", n&0x7f)
			}
			return StringOf(string(slot[:n&0x7f])), nil
		}
		b, err := variable(u & 0xffffffff)
		if err != nil {
			return Value{}, err
		}
		return StringOf(string(b)), nil
	}
	return Value{}, fmt.Errorf("not decodable")
}

// Hash is the format's bucket hash: Murmur3 x86 32-bit with seed 42 over a raw
// BinaryRow, whose length is a multiple of 8 (6.1).
func Hash(raw []byte) int32 {
	h := uint32(42)
	for i := 0; i+4 <= len(raw); i += 4 {
		k := binary.LittleEndian.Uint32(raw[i:]) * 0xcc9e2d51
		k = bits.RotateLeft32(k, 15) * 0x1b873593
		h = bits.RotateLeft32(h^k, 13)*5 + 0xe6546b64
	}
	h ^= uint32(len(raw))
	h = (h ^ h>>16) * 0x85ebca6b
	h = (h ^ h>>13) * 0xc2b2ae35
	return int32(h ^ h>>16)
}

// BucketOfHash is abs(hash % n) with a truncating %.
func BucketOfHash(hash int32, n int) Bucket {
	b := hash % int32(n)
	if b < 0 {
		b = -b
	}
	return Bucket(b)
}
