package sql

import (
	"slices"
	"strconv"
	"strings"

	"dtstore/table"
)

// typeName is one spelling of a type. The table below holds PostgreSQL's and Flink's.
type typeName struct {
	kind     table.Kind
	postgres string // what PREPARE's parameter is called
	params   int    // how many may be given in parentheses
	length   int    // of a string or bytes type without (n)
	def      int    // precision when none is given
	limit    int    // largest parameter
}

const (
	maxChar      = 10485760 // PostgreSQL's limit of char(n) and varchar(n)
	maxPrecision = 9        // of a timestamp
	maxTime      = 3        // TIME is kept in milliseconds
)

// types maps a name, lower case, to its type. What is missing on purpose is in unbuilt.
var types = map[string]typeName{
	"boolean": {kind: table.Boolean, postgres: "bool"}, "bool": {kind: table.Boolean, postgres: "bool"},
	"tinyint":  {kind: table.TinyInt, postgres: "int2"},
	"smallint": {kind: table.SmallInt, postgres: "int2"}, "int2": {kind: table.SmallInt, postgres: "int2"},
	"int": {kind: table.Int, postgres: "int4"}, "integer": {kind: table.Int, postgres: "int4"}, "int4": {kind: table.Int, postgres: "int4"},
	"bigint": {kind: table.BigInt, postgres: "int8"}, "int8": {kind: table.BigInt, postgres: "int8"},
	"real": {kind: table.Float, postgres: "float4"}, "float4": {kind: table.Float, postgres: "float4"},
	"float": {kind: table.Double, postgres: "float8", params: 1, limit: 53}, "float8": {kind: table.Double, postgres: "float8"},
	"double": {kind: table.Double, postgres: "float8"}, "double precision": {kind: table.Double, postgres: "float8"},
	"numeric":                        {kind: table.Decimal, postgres: "numeric", params: 2, limit: 38},
	"decimal":                        {kind: table.Decimal, postgres: "numeric", params: 2, limit: 38},
	"dec":                            {kind: table.Decimal, postgres: "numeric", params: 2, limit: 38},
	"char":                           {kind: table.Char, postgres: "bpchar", params: 1, length: 1, limit: maxChar},
	"character":                      {kind: table.Char, postgres: "bpchar", params: 1, length: 1, limit: maxChar},
	"nchar":                          {kind: table.Char, postgres: "bpchar", params: 1, length: 1, limit: maxChar},
	"bpchar":                         {kind: table.Char, postgres: "bpchar", params: 1, length: 1, limit: maxChar},
	"varchar":                        {kind: table.VarChar, postgres: "varchar", params: 1, length: table.MaxLength, limit: table.MaxLength},
	"character varying":              {kind: table.VarChar, postgres: "varchar", params: 1, length: table.MaxLength, limit: table.MaxLength},
	"text":                           {kind: table.VarChar, postgres: "text", length: table.MaxLength},
	"string":                         {kind: table.VarChar, postgres: "text", length: table.MaxLength},
	"bytea":                          {kind: table.VarBinary, postgres: "bytea", length: table.MaxLength},
	"bytes":                          {kind: table.VarBinary, postgres: "bytea", length: table.MaxLength},
	"blob":                           {kind: table.VarBinary, postgres: "bytea", length: table.MaxLength},
	"varbinary":                      {kind: table.VarBinary, postgres: "bytea", params: 1, length: table.MaxLength, limit: table.MaxLength},
	"binary":                         {kind: table.Binary, postgres: "bytea", params: 1, length: 1, limit: table.MaxLength},
	"date":                           {kind: table.Date, postgres: "date"},
	"time":                           {kind: table.Time, postgres: "time", params: 1, def: maxTime, limit: maxTime},
	"time without time zone":         {kind: table.Time, postgres: "time", params: 1, def: maxTime, limit: maxTime},
	"timestamp":                      {kind: table.Timestamp, postgres: "timestamp", params: 1, def: 6, limit: maxPrecision},
	"datetime":                       {kind: table.Timestamp, postgres: "timestamp", params: 1, def: 6, limit: maxPrecision},
	"timestamp without time zone":    {kind: table.Timestamp, postgres: "timestamp", params: 1, def: 6, limit: maxPrecision},
	"timestamptz":                    {kind: table.TimestampLTZ, postgres: "timestamptz", params: 1, def: 6, limit: maxPrecision},
	"timestamp_ltz":                  {kind: table.TimestampLTZ, postgres: "timestamptz", params: 1, def: 6, limit: maxPrecision},
	"timestamp with time zone":       {kind: table.TimestampLTZ, postgres: "timestamptz", params: 1, def: 6, limit: maxPrecision},
	"timestamp with local time zone": {kind: table.TimestampLTZ, postgres: "timestamptz", params: 1, def: 6, limit: maxPrecision},
}

// unbuilt are types that people know and dtstore does not store, with what to write.
var unbuilt = map[string]string{
	"serial": hintSerial, "bigserial": hintSerial, "smallserial": hintSerial, "serial2": hintSerial, "serial4": hintSerial, "serial8": hintSerial,
	"uuid": "Store its text: char(36).", "uniqueidentifier": "Store its text: char(36).",
	"json": "Store it as text; json functions take text.", "jsonb": "Store it as text; json functions take text.",
	"xml": "Store it as text.", "variant": "Store it as text.", "hstore": "Store it as text.",
	"interval": "Store a number of seconds as bigint, or two timestamps.",
	"timetz":   "Store it as timestamptz, or as time.", "time with time zone": "Store it as timestamptz, or as time.",
	"money": "Use numeric(20, 2).", "array": hintNested, "map": hintNested, "row": hintNested, "multiset": hintNested, "struct": hintNested, "raw": hintNested,
	"bit": "Use bytea, or boolean columns.", "varbit": "Use bytea, or boolean columns.", "bit varying": "Use bytea, or boolean columns.",
	"inet": "Store its text.", "cidr": "Store its text.", "macaddr": "Store its text.", "citext": "Use text and compare lower(x).",
	"point": "Store its parts as double precision columns.", "geometry": "Store its text or bytes.", "geography": "Store its text or bytes.",
	"tsvector": "Store the text.", "tsquery": "Store the text.", "oid": "Use bigint.", "name": "Use text.", "regclass": "Use text.",
	"hugeint": "Use numeric(38, 0).", "mediumint": "Use int.", "year": "Use smallint.", "enum": "Use text.", "set": "Use text.",
	"longtext": "Use text.", "mediumtext": "Use text.", "tinytext": "Use text.", "clob": "Use text.", "nvarchar": "Use varchar(n).", "vector": "Store its bytes.",
	"number": "Use numeric(p, s).", "varchar2": "Use varchar(n).", "timestamp_s": "Use timestamp(0).", "timestamp_ms": "Use timestamp(3).", "timestamp_ns": "Use timestamp(9).",
}

const (
	hintSerial = "There are no sequences: declare bigint, and give each row its number (or a random key) when inserting."
	hintNested = "Store it as text (JSON), or give its parts columns of their own."
)

// typeWords are the words that may follow the first one of a type's name.
func (p *parser) typeWord() string {
	word := p.label().Name
	switch word {
	case "pg_catalog":
		if p.acceptPunct(".") {
			word = p.label().Name
		}
	case "national":
		word = p.label().Name
	case "double":
		if p.accept("precision") {
			word = "double precision"
		}
	}
	switch word {
	case "character", "char", "nchar":
		if p.accept("varying") {
			word = "character varying"
		}
	case "bit":
		if p.accept("varying") {
			word = "bit varying"
		}
	}
	return word
}

// columnType reads a type. Its fault is 42704 for a name that nobody knows, 0A000
// for one that cannot be stored.
func (p *parser) columnType() table.Type {
	start := p.tok.Start
	if p.tok.Kind != Word && p.tok.Kind != Quoted {
		p.unexpectedHint("A column needs a type, such as bigint or text.")
		return table.Type{}
	}
	word := p.typeWord()
	if (word == "array" || word == "map" || word == "row" || word == "multiset") && (p.isPunct("<") || p.isPunct("(")) {
		p.noType(start, word)
		return table.Type{}
	}
	params := p.typeParams()
	if word == "time" || word == "timestamp" {
		word = p.typeZone(word)
	}
	if word == "interval" && !p.isPunct(",") && !p.isPunct(")") {
		p.noType(start, word)
		return table.Type{}
	}
	if p.isPunct("[") || p.is("array", "multiset") {
		p.refuse(start, "arrays cannot be stored", hintNested)
		return table.Type{}
	}
	n, ok := types[word]
	if !ok || p.fault != nil {
		p.noType(start, word)
		return table.Type{}
	}
	if p.is("unsigned", "zerofill", "signed") {
		p.refuse(p.tok.Start, "unsigned numbers cannot be stored", "Use the next larger type, or numeric(20, 0).")
	}
	t, err := n.build(word, params)
	if err != nil {
		p.failAt(start, err)
	}
	return t
}

func (p *parser) noType(start int, word string) {
	if hint, ok := unbuilt[word]; ok {
		p.refuse(start, "type "+word+" cannot be stored", hint)
		return
	}
	names := make([]string, 0, len(types))
	for n := range types {
		names = append(names, n)
	}
	slices.Sort(names)
	e := table.Errorf("42704", "type \"%s\" does not exist", word)
	if near := table.Nearest(word, names); near != "" {
		e = e.WithHint("Did you mean %s?", near)
	}
	p.failAt(start, e)
}

// typeZone reads WITH TIME ZONE and its kin.
func (p *parser) typeZone(word string) string {
	for _, zone := range []string{"without time zone", "with time zone", "with local time zone"} {
		if p.accept(strings.Fields(zone)...) {
			return word + " " + zone
		}
	}
	return word
}

func (p *parser) typeParams() []int {
	var out []int
	if !p.isPunct("(") {
		return nil
	}
	p.next()
	for p.fault == nil {
		minus := p.acceptPunct("-")
		n, err := strconv.Atoi(numberValue(p.text()))
		if p.tok.Kind != Number || err != nil {
			p.unexpected()
			return nil
		}
		if minus {
			n = -n
		}
		out = append(out, n)
		p.next()
		if !p.acceptPunct(",") {
			break
		}
	}
	p.expectPunct(")")
	return out
}

// build makes the type of a spelling and its parameters.
func (n typeName) build(word string, params []int) (table.Type, *table.Error) {
	t := table.Type{Kind: n.kind, Length: n.length, Precision: n.def}
	if len(params) > n.params {
		return t, table.Errorf("42601", "type %s takes %d parameters, not %d", word, n.params, len(params))
	}
	if n.kind == table.Decimal {
		return decimal(word, params)
	}
	if len(params) == 0 {
		return t, nil
	}
	v := params[0]
	switch n.kind {
	case table.Double: // float(p): the bits of its mantissa
		if v < 1 || v > n.limit {
			return t, table.Errorf("22023", "precision for type float must be between 1 and 53 bits")
		}
		if v <= 24 {
			t.Kind = table.Float
		}
	case table.Time, table.Timestamp, table.TimestampLTZ:
		if v < 0 || v > maxPrecision {
			return t, table.Errorf("22023", "%s(%d) precision must be between 0 and %d", word, v, n.limit)
		}
		if v > n.limit {
			return t, table.Errorf("0A000", "type %s(%d) cannot be stored", word, v).WithHint("The table format keeps milliseconds: write time(3).")
		}
		t.Precision = v
	default:
		if v < 1 || v > n.limit {
			return t, table.Errorf("22023", "length for type %s must be between 1 and %d", word, n.limit)
		}
		t.Length = v
	}
	return t, nil
}

func decimal(word string, params []int) (table.Type, *table.Error) {
	t := table.Type{Kind: table.Decimal}
	if len(params) == 0 {
		return t, table.Errorf("0A000", "type %s without a precision cannot be stored", word).
			WithHint("Write %s(38, s) with the number s of digits behind the point, or double precision.", word)
	}
	t.Precision = params[0]
	if len(params) > 1 {
		t.Scale = params[1]
	}
	switch {
	case t.Precision > 38:
		return t, table.Errorf("0A000", "type %s(%d, %d) cannot be stored", word, t.Precision, t.Scale).WithHint("The table format has at most 38 digits.")
	case t.Precision < 1:
		return t, table.Errorf("22023", "%s precision %d must be between 1 and 38", strings.ToUpper(word), t.Precision)
	case t.Scale < 0 || t.Scale > t.Precision:
		return t, table.Errorf("22023", "%s scale %d must be between 0 and precision %d", strings.ToUpper(word), t.Scale, t.Precision)
	}
	return t, nil
}

// ParseType reads a column type in PostgreSQL's or Flink's spelling.
func ParseType(text string) (table.Type, error) {
	p, err := newParser(text)
	if err != nil {
		return table.Type{}, err
	}
	t := p.columnType()
	if p.fault == nil && p.tok.Kind != EOF {
		p.unexpected()
	}
	if p.fault != nil {
		return table.Type{}, p.fault
	}
	return t, nil
}

// paramType reads a type in PREPARE: any name is allowed, arrays too.
func (p *parser) paramType() ParamType {
	start := p.tok.Start
	word := p.typeWord()
	params := p.typeParams()
	if word == "time" || word == "timestamp" {
		word = p.typeZone(word)
	}
	array := false
	for p.acceptPunct("[") {
		if p.tok.Kind == Number {
			p.next()
		}
		p.expectPunct("]")
		array = true
	}
	if p.fault != nil {
		return ParamType{}
	}
	n, ok := types[word]
	if !ok {
		n.postgres = word
	}
	if array {
		return ParamType{Name: n.postgres + "[]"}
	}
	out := ParamType{Name: n.postgres}
	if n.kind == table.Unsupported || n.kind == table.Decimal && len(params) == 0 {
		return out
	}
	t, err := n.build(word, params)
	if err != nil {
		p.failAt(start, err)
	}
	out.Type = t
	return out
}
