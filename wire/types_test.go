package wire_test

import (
	"dtstore/table"
	"dtstore/wire"
)

// oneOfEach is a value of every type that results have.
var oneOfEach = []struct {
	column wire.Column
	value  table.Value
}{
	{wire.Column{Name: "b", OID: wire.OIDBool, Typmod: -1}, table.BoolOf(true)},
	{wire.Column{Name: "i2", OID: wire.OIDInt2, Typmod: -1}, table.IntOf(-2)},
	{wire.Column{Name: "i4", OID: wire.OIDInt4, Typmod: -1}, table.IntOf(-4)},
	{wire.Column{Name: "i8", OID: wire.OIDInt8, Typmod: -1}, table.IntOf(-8)},
	{wire.Column{Name: "f4", OID: wire.OIDFloat4, Typmod: -1}, table.FloatOf(1.5)},
	{wire.Column{Name: "f8", OID: wire.OIDFloat8, Typmod: -1}, table.FloatOf(1e20)},
	{wire.Column{Name: "n", OID: wire.OIDNumeric, Typmod: 10<<16 + 2 + 4}, table.DecimalOfInt(-12350)},
	{wire.Column{Name: "free", OID: wire.OIDNumeric, Typmod: -1}, table.StringOf("1.50")},
	{wire.Column{Name: "s", OID: wire.OIDText, Typmod: -1}, table.StringOf("té")},
	{wire.Column{Name: "c", OID: wire.OIDBpchar, Typmod: 5 + 4}, table.StringOf("ab")},
	{wire.Column{Name: "v", OID: wire.OIDVarchar, Typmod: 20 + 4}, table.StringOf("")},
	{wire.Column{Name: "by", OID: wire.OIDBytea, Typmod: -1}, table.BytesOf([]byte{0, 255})},
	{wire.Column{Name: "d", OID: wire.OIDDate, Typmod: -1}, table.IntOf(10957)},
	{wire.Column{Name: "t", OID: wire.OIDTime, Typmod: 3}, table.IntOf(3723004)},
	{wire.Column{Name: "ts", OID: wire.OIDTimestamp, Typmod: -1}, table.TimestampOf(1648756800123456, 0)},
	{wire.Column{Name: "ns", OID: wire.OIDTimestamp, Typmod: -1}, table.TimestampOf(-1, 999)},
	{wire.Column{Name: "tz", OID: wire.OIDTimestamptz, Typmod: -1}, table.TimestampOf(1648756800123456, 0)},
	{wire.Column{Name: "iv", OID: wire.OIDInterval, Typmod: -1}, table.StringOf("1 year 2 mons -3 days +04:05:06.7")},
	{wire.Column{Name: "u", OID: wire.OIDUUID, Typmod: -1}, table.StringOf("00112233-4455-6677-8899-aabbccddeeff")},
	{wire.Column{Name: "j", OID: wire.OIDJSON, Typmod: -1}, table.StringOf(`{"a":1}`)},
	{wire.Column{Name: "a", OID: wire.OIDInt4Array, Typmod: -1}, table.StringOf("{1,NULL,3}")},
	{wire.Column{Name: "tza", OID: wire.OIDTimestamptzArray, Typmod: -1}, table.StringOf(`{"2022-04-01 00:00:00.123456+00",NULL}`)},
	{wire.Column{Name: "iv2", OID: wire.OIDInt2Vector, Typmod: -1}, table.StringOf("1 2")},
	{wire.Column{Name: "null", OID: wire.OIDInt4, Typmod: -1}, table.Null()},
}

func typeColumns() []wire.Column {
	var cols []wire.Column
	for _, c := range oneOfEach {
		cols = append(cols, c.column)
	}
	return cols
}

func typeRow() []table.Value {
	var row []table.Value
	for _, c := range oneOfEach {
		row = append(row, c.value)
	}
	return row
}
