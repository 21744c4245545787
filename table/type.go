package table

import (
	"fmt"
	"strconv"
	"strings"
)

// Kind is the family of a type.
type Kind uint8

// The kinds. Unsupported stands for every type of the format that dtstore does
// not store (nested types, VARIANT, BLOB …); its text is kept.
const (
	Unsupported Kind = iota
	Boolean
	TinyInt
	SmallInt
	Int
	BigInt
	Float
	Double
	Decimal
	Char
	VarChar // STRING is VARCHAR(MaxLength)
	Binary
	VarBinary // BYTES is VARBINARY(MaxLength)
	Date
	Time
	Timestamp
	TimestampLTZ
)

// MaxLength is the length of STRING and BYTES.
const MaxLength = 2147483647

// Type is a column's type as the format knows it.
type Type struct {
	Kind      Kind
	Length    int // characters of CHAR and VARCHAR, bytes of BINARY and VARBINARY
	Precision int // DECIMAL 1..38, TIME 0..3 (9 read), TIMESTAMP 0..9
	Scale     int // DECIMAL
	NotNull   bool
	Text      string // Unsupported only: the type as its schema has it
}

var kindNames = map[string]Kind{
	"BOOLEAN": Boolean, "TINYINT": TinyInt, "SMALLINT": SmallInt, "INT": Int, "INTEGER": Int, "BIGINT": BigInt,
	"FLOAT": Float, "DOUBLE": Double, "DECIMAL": Decimal, "NUMERIC": Decimal, "DEC": Decimal,
	"CHAR": Char, "VARCHAR": VarChar, "STRING": VarChar, "BINARY": Binary, "VARBINARY": VarBinary, "BYTES": VarBinary,
	"DATE": Date, "TIME": Time, "TIMESTAMP": Timestamp, "TIMESTAMP_LTZ": TimestampLTZ,
}

// String is the type as Paimon's Java code spells it in schema files.
func (t Type) String() string {
	s := t.base()
	if t.NotNull {
		s += " NOT NULL"
	}
	return s
}

func (t Type) base() string {
	switch t.Kind {
	case Boolean:
		return "BOOLEAN"
	case TinyInt:
		return "TINYINT"
	case SmallInt:
		return "SMALLINT"
	case Int:
		return "INT"
	case BigInt:
		return "BIGINT"
	case Float:
		return "FLOAT"
	case Double:
		return "DOUBLE"
	case Decimal:
		return fmt.Sprintf("DECIMAL(%d, %d)", t.Precision, t.Scale)
	case Char:
		return fmt.Sprintf("CHAR(%d)", t.Length)
	case VarChar:
		if t.Length == MaxLength {
			return "STRING"
		}
		return fmt.Sprintf("VARCHAR(%d)", t.Length)
	case Binary:
		return fmt.Sprintf("BINARY(%d)", t.Length)
	case VarBinary:
		if t.Length == MaxLength {
			return "BYTES"
		}
		return fmt.Sprintf("VARBINARY(%d)", t.Length)
	case Date:
		return "DATE"
	case Time:
		return fmt.Sprintf("TIME(%d)", t.Precision)
	case Timestamp:
		return fmt.Sprintf("TIMESTAMP(%d)", t.Precision)
	case TimestampLTZ:
		return fmt.Sprintf("TIMESTAMP(%d) WITH LOCAL TIME ZONE", t.Precision)
	}
	return t.Text
}

// Nullable returns the type without NOT NULL.
func (t Type) Nullable() Type {
	t.NotNull = false
	return t
}

// IsString says whether values are text (CHAR, VARCHAR, STRING).
func (t Type) IsString() bool { return t.Kind == Char || t.Kind == VarChar }

// IsBinary says whether values are bytes (BINARY, VARBINARY, BYTES).
func (t Type) IsBinary() bool { return t.Kind == Binary || t.Kind == VarBinary }

// IsInteger says whether values are integers of 8 to 64 bits.
func (t Type) IsInteger() bool { return t.Kind >= TinyInt && t.Kind <= BigInt }

// IsTimestamp says whether values are TIMESTAMP or TIMESTAMP_LTZ.
func (t Type) IsTimestamp() bool { return t.Kind == Timestamp || t.Kind == TimestampLTZ }

// ParseType reads an atomic type in the grammar of Paimon's schema files
// (paimon-format.md 2.1). A type that dtstore does not store comes back as
// Unsupported with its text; text that is no type at all is an error.
func ParseType(text string) (Type, error) {
	rest := strings.ToUpper(strings.Join(strings.Fields(text), " "))
	t := Type{}
	for _, suffix := range []string{" NOT NULL", " NULL"} {
		if s, ok := strings.CutSuffix(rest, suffix); ok {
			t.NotNull, rest = suffix == " NOT NULL", s
			break
		}
	}
	word := rest
	if i := strings.IndexAny(rest, " (<"); i >= 0 {
		word = rest[:i]
	}
	if word == "" {
		return Type{}, fmt.Errorf("type %q is empty", text)
	}
	kind, ok := kindNames[word]
	if !ok {
		return Type{Kind: Unsupported, NotNull: t.NotNull, Text: rest}, nil
	}
	t.Kind = kind
	rest = strings.TrimSpace(rest[len(word):])
	params, rest, err := typeParams(rest)
	if err != nil {
		return Type{}, fmt.Errorf("type %q: %w", text, err)
	}
	switch {
	case rest == "":
	case rest == "PRECISION" && word == "DOUBLE":
	case rest == "WITHOUT TIME ZONE" && (kind == Time || kind == Timestamp):
	case rest == "WITH LOCAL TIME ZONE" && kind == Timestamp:
		t.Kind = TimestampLTZ
	case strings.HasPrefix(rest, "ARRAY"), strings.HasPrefix(rest, "MULTISET"):
		return Type{Kind: Unsupported, NotNull: t.NotNull, Text: strings.ToUpper(text)}, nil
	default:
		return Type{}, fmt.Errorf("type %q: unexpected %q", text, rest)
	}
	if err := t.fill(word, params); err != nil {
		return Type{}, fmt.Errorf("type %q: %w", text, err)
	}
	return t, nil
}

func typeParams(s string) (params []int, rest string, err error) {
	if !strings.HasPrefix(s, "(") {
		return nil, s, nil
	}
	inside, rest, ok := strings.Cut(s[1:], ")")
	if !ok {
		return nil, "", fmt.Errorf("missing )")
	}
	for p := range strings.SplitSeq(inside, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(p))
		if err != nil || n < 0 || n > MaxLength {
			return nil, "", fmt.Errorf("bad parameter %q", p)
		}
		params = append(params, n)
	}
	return params, strings.TrimSpace(rest), nil
}

// fill sets length, precision and scale from the parameters or the defaults.
func (t *Type) fill(word string, params []int) error {
	get := func(i, def int) int {
		if i < len(params) {
			return params[i]
		}
		return def
	}
	most := 1
	switch t.Kind {
	case Char, VarChar, Binary, VarBinary:
		t.Length = get(0, 1)
		if word == "STRING" || word == "BYTES" {
			most, t.Length = 0, MaxLength
		}
		if t.Length < 1 {
			return fmt.Errorf("length %d", t.Length)
		}
	case Decimal:
		most = 2
		t.Precision, t.Scale = get(0, 10), get(1, 0)
		if t.Precision < 1 || t.Precision > 38 || t.Scale > t.Precision {
			return fmt.Errorf("precision %d, scale %d", t.Precision, t.Scale)
		}
	case Time:
		t.Precision = get(0, 0)
	case Timestamp, TimestampLTZ:
		t.Precision = get(0, 6)
	default:
		most = 0
	}
	if t.Precision > 9 && t.Kind != Decimal {
		return fmt.Errorf("precision %d", t.Precision)
	}
	if len(params) > most {
		return fmt.Errorf("%d parameters", len(params))
	}
	return nil
}
