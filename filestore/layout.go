package filestore

import (
	"reflect"

	"github.com/parquet-go/parquet-go"

	"dtstore/table"
)

// Ids and names of the columns that a keyed table's files have besides the
// table's own (paimon-format.md 7.1).
const (
	keyPrefix  = "_KEY_"
	seqName    = "_SEQUENCE_NUMBER"
	kindName   = "_VALUE_KIND"
	keyIDBase  = 1073741823
	seqID      = 2147483646
	kindID     = 2147483645
	schemaName = "paimon_schema"
)

type role uint8

const (
	valueRole role = iota
	keyRole
	seqRole
	kindRole
)

// column is one column of a data file that we write.
type column struct {
	name  string
	typ   table.Type
	id    int
	role  role
	field int // in Schema.Fields, for keys and values
}

// layout lists the columns of the table's data files in order: keys, sequence
// number and kind of a keyed table, then all fields.
func layout(s *table.Schema) []column {
	var cols []column
	if s.Keyed() {
		for _, i := range s.KeyIndexes() {
			f := s.Fields[i]
			cols = append(cols, column{keyPrefix + f.Name, f.Type, keyIDBase + f.ID, keyRole, i})
		}
		cols = append(cols,
			column{seqName, table.Type{Kind: table.BigInt, NotNull: true}, seqID, seqRole, -1},
			column{kindName, table.Type{Kind: table.TinyInt, NotNull: true}, kindID, kindRole, -1})
	}
	for i, f := range s.Fields {
		cols = append(cols, column{f.Name, f.Type, f.ID, valueRole, i})
	}
	return cols
}

// node is the column's place in the Parquet schema, as Java expects it
// (paimon-format.md 7.6). Field id 0 cannot be written: the library takes it
// for unset, and readers go by name.
func (c column) node() parquet.Node {
	n := parquet.FieldID(leaf(c.typ), c.id)
	if c.typ.NotNull {
		return parquet.Required(n)
	}
	return parquet.Optional(n)
}

func leaf(t table.Type) parquet.Node {
	switch t.Kind {
	case table.Boolean:
		return parquet.Leaf(parquet.BooleanType)
	case table.TinyInt:
		return parquet.Int(8)
	case table.SmallInt:
		return parquet.Int(16)
	case table.Int:
		return parquet.Leaf(parquet.Int32Type)
	case table.BigInt:
		return parquet.Leaf(parquet.Int64Type)
	case table.Float:
		return parquet.Leaf(parquet.FloatType)
	case table.Double:
		return parquet.Leaf(parquet.DoubleType)
	case table.Decimal:
		switch {
		case t.Precision <= 9:
			return parquet.Decimal(t.Scale, t.Precision, parquet.Int32Type)
		case t.Precision <= 18:
			return parquet.Decimal(t.Scale, t.Precision, parquet.Int64Type)
		}
		return parquet.Decimal(t.Scale, t.Precision, parquet.FixedLenByteArrayType(decimalBytes(t.Precision)))
	case table.Char, table.VarChar:
		return parquet.String()
	case table.Binary, table.VarBinary:
		return parquet.Leaf(parquet.ByteArrayType)
	case table.Date:
		return parquet.Date()
	case table.Time:
		return parquet.TimeAdjusted(parquet.Millisecond, true)
	case table.Timestamp, table.TimestampLTZ:
		utc := t.Kind == table.TimestampLTZ
		switch {
		case t.Precision <= 3:
			return parquet.TimestampAdjusted(parquet.Millisecond, utc)
		case t.Precision <= 6:
			return parquet.TimestampAdjusted(parquet.Microsecond, utc)
		}
		return parquet.Leaf(parquet.Int96Type)
	}
	panic("filestore: no Parquet type for " + t.String())
}

// decimalBytes is the least n with 2^(8n-1) ≥ 10^precision.
func decimalBytes(precision int) int {
	return [...]int{0, 1, 1, 2, 2, 3, 3, 4, 4, 4, 5, 5, 6, 6, 6, 7, 7, 8, 8, 9, 9, 9, 10, 10, 11, 11, 11, 12, 12, 13, 13, 13,
		14, 14, 15, 15, 16, 16, 16}[precision]
}

// unbounded says whether the column gets no bounds, in footers and in
// manifests: readers compare bytes signed; of INT96 bounds make no sense.
func unbounded(t table.Type) bool {
	return t.IsBinary() || isInt96(t)
}

func isInt96(t table.Type) bool { return t.IsTimestamp() && t.Precision > 6 }

// noFooterBounds says whether the library's own page and chunk bounds must be
// left out: it compares wide decimals unsigned and ignores NaN.
func noFooterBounds(t table.Type) bool {
	return unbounded(t) || t.Kind == table.Decimal && t.Precision > 18 || t.Kind == table.Float || t.Kind == table.Double
}

// group is a Parquet group that keeps the order of its fields; the library's
// sorts them by name.
type group struct {
	parquet.Group
	fields []parquet.Field
}

func (g *group) Fields() []parquet.Field { return g.fields }
func (g *group) GoType() reflect.Type    { return reflect.TypeFor[struct{}]() }

type namedField struct {
	parquet.Node
	name string
}

func (f *namedField) Name() string { return f.name }
func (f *namedField) Value(reflect.Value) reflect.Value {
	panic("filestore: rows are written by column")
}
