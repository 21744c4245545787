package table

import (
	"encoding/binary"
	"fmt"
	"strings"
)

// AppendOrdered appends v in an encoding whose byte order is the order of
// Compare: a byte 0 for NULL or 1, then the value. Encodings of several
// columns one after another order as the tuple of columns.
func AppendOrdered(dst []byte, t Type, v Value) []byte {
	if v.IsNull() {
		return append(dst, 0)
	}
	dst = append(dst, 1)
	switch t.Kind {
	case Boolean:
		return append(dst, byte(v.lo))
	case TinyInt:
		return append(dst, byte(v.lo)^0x80)
	case SmallInt:
		return binary.BigEndian.AppendUint16(dst, uint16(v.lo)^1<<15)
	case Int, Date, Time:
		return binary.BigEndian.AppendUint32(dst, uint32(v.lo)^1<<31)
	case BigInt:
		return binary.BigEndian.AppendUint64(dst, uint64(v.lo)^1<<63)
	case Float, Double:
		return binary.BigEndian.AppendUint64(dst, floatOrder(v.Float()))
	case Decimal:
		dst = binary.BigEndian.AppendUint64(dst, uint64(v.hi)^1<<63)
		return binary.BigEndian.AppendUint64(dst, uint64(v.lo))
	case Timestamp, TimestampLTZ:
		dst = binary.BigEndian.AppendUint64(dst, uint64(v.lo)^1<<63)
		return binary.BigEndian.AppendUint16(dst, uint16(v.hi))
	case Char, VarChar, Binary, VarBinary:
		s := v.str
		for {
			i := strings.IndexByte(s, 0)
			if i < 0 {
				break
			}
			dst = append(dst, s[:i]...)
			dst = append(dst, 0, 0xff)
			s = s[i+1:]
		}
		dst = append(dst, s...)
		return append(dst, 0, 1)
	}
	panic(fmt.Sprintf("table: ordered key of type %v", t))
}

// DecodeOrdered reads one value that AppendOrdered wrote, and returns the
// rest. NaN comes back as the one canonical NaN.
func DecodeOrdered(b []byte, t Type) (Value, []byte, error) {
	short := fmt.Errorf("ordered key of %v is cut short", t)
	if len(b) == 0 {
		return Value{}, nil, short
	}
	if b[0] == 0 {
		return Value{}, b[1:], nil
	}
	b = b[1:]
	need := map[Kind]int{Boolean: 1, TinyInt: 1, SmallInt: 2, Int: 4, Date: 4, Time: 4, BigInt: 8, Float: 8, Double: 8,
		Decimal: 16, Timestamp: 10, TimestampLTZ: 10}[t.Kind]
	if len(b) < need {
		return Value{}, nil, short
	}
	switch t.Kind {
	case Boolean:
		return IntOf(int64(b[0])), b[1:], nil
	case TinyInt:
		return IntOf(int64(int8(b[0] ^ 0x80))), b[1:], nil
	case SmallInt:
		return IntOf(int64(int16(binary.BigEndian.Uint16(b) ^ 1<<15))), b[2:], nil
	case Int, Date, Time:
		return IntOf(int64(int32(binary.BigEndian.Uint32(b) ^ 1<<31))), b[4:], nil
	case BigInt:
		return IntOf(int64(binary.BigEndian.Uint64(b) ^ 1<<63)), b[8:], nil
	case Float, Double:
		u := binary.BigEndian.Uint64(b)
		if u>>63 != 0 {
			u ^= 1 << 63
		} else {
			u = ^u
		}
		return Value{lo: int64(u), set: true}, b[8:], nil
	case Decimal:
		return DecimalOf(int64(binary.BigEndian.Uint64(b)^1<<63), binary.BigEndian.Uint64(b[8:])), b[16:], nil
	case Timestamp, TimestampLTZ:
		return TimestampOf(int64(binary.BigEndian.Uint64(b)^1<<63), int(binary.BigEndian.Uint16(b[8:]))), b[10:], nil
	case Char, VarChar, Binary, VarBinary:
		var s []byte
		for i := 0; i+1 < len(b); i++ {
			if b[i] != 0 {
				s = append(s, b[i])
				continue
			}
			if b[i+1] == 1 {
				return StringOf(string(s)), b[i+2:], nil
			}
			s = append(s, 0)
			i++
		}
		return Value{}, nil, short
	}
	return Value{}, nil, fmt.Errorf("ordered key of type %v", t)
}
