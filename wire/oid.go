package wire

import (
	"dtstore/table"
)

// The type ids of Postgres' catalog that results and parameters may have.
const (
	OIDBool        uint32 = 16
	OIDBytea       uint32 = 17
	OIDChar        uint32 = 18 // "char", one byte
	OIDName        uint32 = 19
	OIDInt8        uint32 = 20
	OIDInt2        uint32 = 21
	OIDInt2Vector  uint32 = 22
	OIDInt4        uint32 = 23
	OIDRegproc     uint32 = 24
	OIDText        uint32 = 25
	OIDOid         uint32 = 26
	OIDXid         uint32 = 28
	OIDOidVector   uint32 = 30
	OIDJSON        uint32 = 114
	OIDFloat4      uint32 = 700
	OIDFloat8      uint32 = 701
	OIDUnknown     uint32 = 705
	OIDBpchar      uint32 = 1042
	OIDVarchar     uint32 = 1043
	OIDDate        uint32 = 1082
	OIDTime        uint32 = 1083
	OIDTimestamp   uint32 = 1114
	OIDTimestamptz uint32 = 1184
	OIDInterval    uint32 = 1186
	OIDTimetz      uint32 = 1266
	OIDNumeric     uint32 = 1700
	OIDRegclass    uint32 = 2205
	OIDRegtype     uint32 = 2206
	OIDRecord      uint32 = 2249
	OIDVoid        uint32 = 2278
	OIDUUID        uint32 = 2950
	OIDJSONB       uint32 = 3802

	OIDJSONArray        uint32 = 199
	OIDBoolArray        uint32 = 1000
	OIDByteaArray       uint32 = 1001
	OIDCharArray        uint32 = 1002
	OIDNameArray        uint32 = 1003
	OIDInt2Array        uint32 = 1005
	OIDInt4Array        uint32 = 1007
	OIDTextArray        uint32 = 1009
	OIDBpcharArray      uint32 = 1014
	OIDVarcharArray     uint32 = 1015
	OIDInt8Array        uint32 = 1016
	OIDFloat4Array      uint32 = 1021
	OIDFloat8Array      uint32 = 1022
	OIDOidArray         uint32 = 1028
	OIDTimestampArray   uint32 = 1115
	OIDDateArray        uint32 = 1182
	OIDTimeArray        uint32 = 1183
	OIDTimestamptzArray uint32 = 1185
	OIDIntervalArray    uint32 = 1187
	OIDNumericArray     uint32 = 1231
	OIDTimetzArray      uint32 = 1270
	OIDUUIDArray        uint32 = 2951
	OIDJSONBArray       uint32 = 3807
)

// Column describes a result column.
type Column struct {
	Name      string
	TableOID  uint32 // of the table whose column it is, else 0
	Attribute int16  // its number in that table, else 0
	OID       uint32
	Typmod    int32 // as Postgres encodes lengths and precisions; -1 means none
	Format    int16 // 0 text, 1 binary
}

// ColumnOf is the column of a table's field: its type's OID and typmod.
func ColumnOf(name string, t table.Type) Column {
	c := Column{Name: name, Typmod: -1}
	switch t.Kind {
	case table.Boolean:
		c.OID = OIDBool
	case table.TinyInt, table.SmallInt:
		c.OID = OIDInt2
	case table.Int:
		c.OID = OIDInt4
	case table.BigInt:
		c.OID = OIDInt8
	case table.Float:
		c.OID = OIDFloat4
	case table.Double:
		c.OID = OIDFloat8
	case table.Decimal:
		c.OID, c.Typmod = OIDNumeric, int32(t.Precision<<16|t.Scale)+4
	case table.Char:
		c.OID, c.Typmod = OIDBpchar, int32(t.Length)+4
	case table.VarChar:
		c.OID = OIDText
		if t.Length <= 10485760 { // the longest that Postgres knows
			c.OID, c.Typmod = OIDVarchar, int32(t.Length)+4
		}
	case table.Binary, table.VarBinary:
		c.OID = OIDBytea
	case table.Date:
		c.OID = OIDDate
	case table.Time:
		c.OID, c.Typmod = OIDTime, int32(min(t.Precision, 6))
	case table.Timestamp, table.TimestampLTZ:
		c.OID = OIDTimestamp
		if t.Kind == table.TimestampLTZ {
			c.OID = OIDTimestamptz
		}
		if t.Precision < 6 {
			c.Typmod = int32(t.Precision)
		}
	default:
		c.OID = OIDText
	}
	return c
}

// WithFormats copies columns with the result formats of a Bind message: none
// means text, one is for all, else one for each (08P01 if not).
func WithFormats(columns []Column, formats []int16) ([]Column, error) {
	if len(formats) > 1 && len(formats) != len(columns) {
		return nil, table.Errorf("08P01", "bind message has %d result formats but query has %d columns", len(formats), len(columns))
	}
	out := make([]Column, len(columns))
	copy(out, columns)
	for i := range out {
		switch len(formats) {
		case 0:
			out[i].Format = 0
		case 1:
			out[i].Format = formats[0]
		default:
			out[i].Format = formats[i]
		}
		if f := out[i].Format; f != 0 && f != 1 {
			return nil, table.Errorf("22023", "unsupported format code: %d", f)
		}
	}
	return out, nil
}

var arrays = map[uint32]uint32{
	OIDJSON: OIDJSONArray, OIDBool: OIDBoolArray, OIDBytea: OIDByteaArray, OIDChar: OIDCharArray, OIDName: OIDNameArray,
	OIDInt2: OIDInt2Array, OIDInt4: OIDInt4Array, OIDText: OIDTextArray, OIDBpchar: OIDBpcharArray, OIDVarchar: OIDVarcharArray,
	OIDInt8: OIDInt8Array, OIDFloat4: OIDFloat4Array, OIDFloat8: OIDFloat8Array, OIDOid: OIDOidArray,
	OIDTimestamp: OIDTimestampArray, OIDDate: OIDDateArray, OIDTime: OIDTimeArray, OIDTimestamptz: OIDTimestamptzArray,
	OIDInterval: OIDIntervalArray, OIDNumeric: OIDNumericArray, OIDTimetz: OIDTimetzArray, OIDUUID: OIDUUIDArray, OIDJSONB: OIDJSONBArray,
}

var elements = func() map[uint32]uint32 {
	m := map[uint32]uint32{}
	for elem, array := range arrays {
		m[array] = elem
	}
	return m
}()

// ArrayOf is the array type of an element type, 0 if it has none here.
func ArrayOf(oid uint32) uint32 { return arrays[oid] }

// ElementOf is the element type of an array type, 0 if oid is no array.
func ElementOf(oid uint32) uint32 { return elements[oid] }

// typeSize is pg_type.typlen: bytes, or -1 for a variable size.
func typeSize(oid uint32) int16 {
	switch oid {
	case OIDBool, OIDChar:
		return 1
	case OIDInt2:
		return 2
	case OIDInt4, OIDFloat4, OIDDate, OIDOid, OIDXid, OIDRegclass, OIDRegproc, OIDRegtype, OIDVoid:
		return 4
	case OIDInt8, OIDFloat8, OIDTime, OIDTimestamp, OIDTimestamptz:
		return 8
	case OIDTimetz:
		return 12
	case OIDInterval, OIDUUID:
		return 16
	case OIDName:
		return 64
	case OIDUnknown:
		return -2
	}
	return -1
}

// typeName is the type's name in messages.
func typeName(oid uint32) string {
	if t, ok := nativeType(oid); ok {
		return t.SQLName()
	}
	if elem := ElementOf(oid); elem != 0 {
		return typeName(elem) + "[]"
	}
	switch oid {
	case OIDNumeric:
		return "numeric"
	case OIDInterval:
		return "interval"
	case OIDTimetz:
		return "time with time zone"
	case OIDUUID:
		return "uuid"
	case OIDJSON:
		return "json"
	case OIDJSONB:
		return "jsonb"
	case OIDOid:
		return "oid"
	case OIDTime:
		return "time"
	}
	return "unknown"
}

// nativeType is the table type whose values stand for a type in rows, for the
// types that are more than text.
func nativeType(oid uint32) (table.Type, bool) {
	switch oid {
	case OIDBool:
		return table.Type{Kind: table.Boolean}, true
	case OIDInt2:
		return table.Type{Kind: table.SmallInt}, true
	case OIDInt4:
		return table.Type{Kind: table.Int}, true
	case OIDInt8:
		return table.Type{Kind: table.BigInt}, true
	case OIDFloat4:
		return table.Type{Kind: table.Float}, true
	case OIDFloat8:
		return table.Type{Kind: table.Double}, true
	case OIDBytea:
		return table.Type{Kind: table.VarBinary, Length: table.MaxLength}, true
	case OIDDate:
		return table.Type{Kind: table.Date}, true
	case OIDTimestamp:
		return table.Type{Kind: table.Timestamp, Precision: 9}, true
	case OIDTimestamptz:
		return table.Type{Kind: table.TimestampLTZ, Precision: 9}, true
	}
	return table.Type{}, false
}

// isText says whether values of the type are their own text.
func isText(oid uint32) bool {
	switch oid {
	case OIDText, OIDVarchar, OIDBpchar, OIDName, OIDUnknown, OIDJSON, OIDChar, OIDVoid:
		return true
	}
	return false
}
