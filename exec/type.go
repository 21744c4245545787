package exec

import (
	"fmt"

	duckdb "github.com/duckdb/duckdb-go-bindings"

	"dtstore/table"
)

// TypeID is a Postgres type that results and parameters may have.
type TypeID uint8

// The types. List is an array of Elem.
const (
	Unknown TypeID = iota // a parameter that may be anything, a column of NULLs
	Bool
	Int2
	Int4
	Int8
	Numeric
	Float4
	Float8
	Text
	Bytea
	Date
	Time
	Timestamp
	TimestampTZ
	Interval
	UUID
	JSON
	List
	OID
)

// Type is the type of a result column or a parameter.
type Type struct {
	ID               TypeID
	Precision, Scale int   // Numeric: what the values have; Precision 0 means no typmod
	Nanos            bool  // Timestamp of nanoseconds
	Elem             *Type // List
}

var typeInfo = [...]struct {
	oid, array uint32
	name       string
	duck       string
}{
	Unknown: {25, 1009, "text", "VARCHAR"}, Bool: {16, 1000, "boolean", "BOOLEAN"}, Int2: {21, 1005, "smallint", "SMALLINT"},
	Int4: {23, 1007, "integer", "INTEGER"}, Int8: {20, 1016, "bigint", "BIGINT"}, Numeric: {1700, 1231, "numeric", "DECIMAL"},
	Float4: {700, 1021, "real", "FLOAT"}, Float8: {701, 1022, "double precision", "DOUBLE"}, Text: {25, 1009, "text", "VARCHAR"},
	Bytea: {17, 1001, "bytea", "BLOB"}, Date: {1082, 1182, "date", "DATE"}, Time: {1083, 1183, "time without time zone", "TIME"},
	Timestamp: {1114, 1115, "timestamp without time zone", "TIMESTAMP"}, TimestampTZ: {1184, 1185, "timestamp with time zone", "TIMESTAMPTZ"},
	Interval: {1186, 1187, "interval", "INTERVAL"}, UUID: {2950, 2951, "uuid", "UUID"}, JSON: {114, 199, "json", "JSON"},
	OID: {26, 1028, "oid", "BIGINT"}, List: {},
}

// OID is the type's Postgres OID.
func (t Type) OID() uint32 {
	if t.ID == List {
		return typeInfo[t.Elem.ID].array
	}
	return typeInfo[t.ID].oid
}

// Typmod is the type modifier as Postgres sends it, -1 for none.
func (t Type) Typmod() int32 {
	if t.ID == Numeric && t.Precision > 0 {
		return int32(t.Precision<<16|t.Scale) + 4
	}
	return -1
}

// String is the type as Postgres calls it.
func (t Type) String() string {
	if t.ID == List {
		return t.Elem.String() + "[]"
	}
	if t.ID == Numeric && t.Precision > 0 {
		return fmt.Sprintf("numeric(%d,%d)", t.Precision, t.Scale)
	}
	return typeInfo[t.ID].name
}

// TypeOfOID is the type with that OID; ok is false if there is none. OID 0 and
// 705 are Unknown.
func TypeOfOID(oid uint32) (t Type, ok bool) {
	switch oid {
	case 0, 705:
		return Type{}, true
	case 1042, 1043, 19, 18:
		return Type{ID: Text}, true
	case 3802:
		return Type{ID: JSON}, true
	case 1014, 1015:
		return Type{ID: List, Elem: &Type{ID: Text}}, true
	}
	for id := Bool; int(id) < len(typeInfo); id++ {
		switch oid {
		case 0:
		case typeInfo[id].oid:
			return Type{ID: id}, true
		case typeInfo[id].array:
			return Type{ID: List, Elem: &Type{ID: id}}, true
		}
	}
	return Type{}, false
}

// TypeOf is the type that a column of a table has in results.
func TypeOf(t table.Type) Type {
	switch t.Kind {
	case table.Boolean:
		return Type{ID: Bool}
	case table.TinyInt, table.SmallInt:
		return Type{ID: Int2}
	case table.Int:
		return Type{ID: Int4}
	case table.BigInt:
		return Type{ID: Int8}
	case table.Float:
		return Type{ID: Float4}
	case table.Double:
		return Type{ID: Float8}
	case table.Decimal:
		return Type{ID: Numeric, Precision: t.Precision, Scale: t.Scale}
	case table.Binary, table.VarBinary:
		return Type{ID: Bytea}
	case table.Date:
		return Type{ID: Date}
	case table.Time:
		return Type{ID: Time}
	case table.Timestamp:
		return Type{ID: Timestamp, Nanos: t.Precision > 6}
	case table.TimestampLTZ:
		return Type{ID: TimestampTZ}
	}
	return Type{ID: Text}
}

// Table is the type of ours whose text form and comparison values of t have;
// ok is false for those no
// table has (Interval, UUID, JSON, List) and for Time, whose unit differs.
func (t Type) Table() (table.Type, bool) {
	switch t.ID {
	case Bool:
		return table.Type{Kind: table.Boolean}, true
	case Int2:
		return table.Type{Kind: table.SmallInt}, true
	case Int4:
		return table.Type{Kind: table.Int}, true
	case Int8, OID:
		return table.Type{Kind: table.BigInt}, true
	case Float4:
		return table.Type{Kind: table.Float}, true
	case Float8:
		return table.Type{Kind: table.Double}, true
	case Numeric:
		return table.Type{Kind: table.Decimal, Precision: max(t.Precision, 38*b2i(t.Precision == 0)), Scale: t.Scale}, true
	case Text, Unknown:
		return table.Type{Kind: table.VarChar, Length: table.MaxLength}, true
	case Bytea:
		return table.Type{Kind: table.VarBinary, Length: table.MaxLength}, true
	case Date:
		return table.Type{Kind: table.Date}, true
	case Timestamp:
		return table.Type{Kind: table.Timestamp, Precision: 6 + 3*b2i(t.Nanos)}, true
	case TimestampTZ:
		return table.Type{Kind: table.TimestampLTZ, Precision: 6}, true
	}
	return table.Type{}, false
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// sql is the type as DuckDB spells it in a cast.
func (t Type) sql() string {
	switch {
	case t.ID == List:
		return t.Elem.sql() + "[]"
	case t.ID == Numeric && t.Precision > 0:
		return fmt.Sprintf("DECIMAL(%d,%d)", t.Precision, t.Scale)
	case t.ID == Numeric:
		return "DECIMAL(38,10)"
	case t.ID == Timestamp && t.Nanos:
		return "TIMESTAMP_NS"
	}
	return typeInfo[t.ID].duck
}

// typeOfDuck is the type of a DuckDB type; plain is false for one whose values
// are first cast, by cast, to what is given.
func typeOfDuck(lt duckdb.LogicalType) (t Type, plain bool, cast string) {
	if duckdb.LogicalTypeGetAlias(lt) == "JSON" {
		return Type{ID: JSON}, true, ""
	}
	switch duckdb.GetTypeId(lt) {
	case duckdb.TypeBoolean:
		return Type{ID: Bool}, true, ""
	case duckdb.TypeTinyInt, duckdb.TypeUTinyInt, duckdb.TypeSmallInt:
		return Type{ID: Int2}, true, ""
	case duckdb.TypeUSmallInt, duckdb.TypeInteger:
		return Type{ID: Int4}, true, ""
	case duckdb.TypeUInteger, duckdb.TypeBigInt:
		return Type{ID: Int8}, true, ""
	case duckdb.TypeUBigInt, duckdb.TypeHugeInt:
		return Type{ID: Numeric}, true, ""
	case duckdb.TypeUHugeInt, duckdb.TypeBigNum:
		return Type{ID: Numeric}, false, "CAST(%s AS HUGEINT)"
	case duckdb.TypeDecimal:
		return Type{ID: Numeric, Precision: int(duckdb.DecimalWidth(lt)), Scale: int(duckdb.DecimalScale(lt))}, true, ""
	case duckdb.TypeFloat:
		return Type{ID: Float4}, true, ""
	case duckdb.TypeDouble:
		return Type{ID: Float8}, true, ""
	case duckdb.TypeVarchar, duckdb.TypeSQLNull, duckdb.TypeStringLiteral:
		return Type{ID: Text}, true, ""
	case duckdb.TypeIntegerLiteral:
		return Type{ID: Int4}, true, ""
	case duckdb.TypeBlob:
		return Type{ID: Bytea}, true, ""
	case duckdb.TypeDate:
		return Type{ID: Date}, true, ""
	case duckdb.TypeTime:
		return Type{ID: Time}, true, ""
	case duckdb.TypeTimeTZ, duckdb.TypeTimeNS:
		return Type{ID: Time}, false, "CAST(%s AS TIME)"
	case duckdb.TypeTimestamp:
		return Type{ID: Timestamp}, true, ""
	case duckdb.TypeTimestampNS:
		return Type{ID: Timestamp, Nanos: true}, true, ""
	case duckdb.TypeTimestampS, duckdb.TypeTimestampMS:
		return Type{ID: Timestamp}, false, "CAST(%s AS TIMESTAMP)"
	case duckdb.TypeTimestampTZ:
		return Type{ID: TimestampTZ}, true, ""
	case duckdb.TypeInterval:
		return Type{ID: Interval}, true, ""
	case duckdb.TypeUUID:
		return Type{ID: UUID}, true, ""
	case duckdb.TypeList:
		child := duckdb.ListTypeChildType(lt)
		defer duckdb.DestroyLogicalType(&child)
		elem, plain, _ := typeOfDuck(child)
		if elem.ID == List || !plain {
			return Type{ID: JSON}, false, "to_json(%s)"
		}
		return Type{ID: List, Elem: &elem}, true, ""
	case duckdb.TypeStruct, duckdb.TypeMap, duckdb.TypeUnion, duckdb.TypeArray, duckdb.TypeVariant:
		return Type{ID: JSON}, false, "to_json(%s)"
	case duckdb.TypeInvalid, duckdb.TypeAny:
		return Type{ID: Unknown}, true, ""
	}
	return Type{ID: Text}, false, "CAST(%s AS VARCHAR)" // ENUM, BIT, GEOMETRY
}
