package table

import (
	"encoding/hex"
	"errors"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// SQLName is the type as Postgres calls it, for messages.
func (t Type) SQLName() string {
	switch t.Kind {
	case Boolean:
		return "boolean"
	case TinyInt:
		return "tinyint"
	case SmallInt:
		return "smallint"
	case Int:
		return "integer"
	case BigInt:
		return "bigint"
	case Float:
		return "real"
	case Double:
		return "double precision"
	case Decimal:
		return "numeric"
	case Char:
		return "character(" + strconv.Itoa(t.Length) + ")"
	case VarChar:
		if t.Length == MaxLength {
			return "text"
		}
		return "character varying(" + strconv.Itoa(t.Length) + ")"
	case Binary, VarBinary:
		return "bytea"
	case Date:
		return "date"
	case Time:
		return "time without time zone"
	case Timestamp:
		return "timestamp without time zone"
	case TimestampLTZ:
		return "timestamp with time zone"
	}
	return strings.ToLower(t.String())
}

// ParseText reads a value from the text that Postgres accepts for the type.
// Timestamps with time zone that name no zone are in loc. Errors are 22P02
// (not of the type), 22003 (out of range), 22001 (too long), 22007 and 22008
// (dates and times), 22021 (not UTF-8).
func ParseText(t Type, s string, loc *time.Location) (Value, error) {
	switch t.Kind {
	case Char, VarChar:
		if err := checkUTF8(s); err != nil {
			return Value{}, err
		}
		return Check(t, StringOf(s))
	case Binary, VarBinary:
		b, err := parseBytea(s)
		if err != nil {
			return Value{}, err
		}
		return Check(t, Value{str: b, set: true})
	case TinyInt, SmallInt, Int, BigInt:
		return parseInt(t, s)
	case Float, Double:
		return parseFloat(t, s)
	case Decimal:
		return ParseDecimal(t, s)
	case Boolean:
		return parseBool(s)
	case Date:
		d, _, err := parseDateTime(t, strings.TrimSpace(s), nil)
		return d, err
	case Time:
		return parseTime(t, s)
	case Timestamp, TimestampLTZ:
		v, _, err := parseDateTime(t, strings.TrimSpace(s), loc)
		return v, err
	}
	return Value{}, Errorf("0A000", "values of type %s cannot be read", t)
}

// Check enforces what the declared type allows of a value that is of its kind
// already: lengths, integer ranges, digits of fractions, precision.
func Check(t Type, v Value) (Value, error) {
	if v.IsNull() {
		return v, nil
	}
	switch t.Kind {
	case Char, VarChar:
		return checkLength(t, v)
	case Binary, VarBinary:
		if len(v.str) > t.Length {
			return Value{}, Errorf("22001", "value too long for type %s", t)
		}
	case TinyInt:
		if v.lo != int64(int8(v.lo)) {
			return Value{}, Errorf("22003", "tinyint out of range")
		}
	case SmallInt:
		if v.lo != int64(int16(v.lo)) {
			return Value{}, Errorf("22003", "smallint out of range")
		}
	case Int:
		if v.lo != int64(int32(v.lo)) {
			return Value{}, Errorf("22003", "integer out of range")
		}
	case Decimal:
		if !fitsPrecision(v, t.Precision) {
			return Value{}, overflow(t)
		}
	case Timestamp, TimestampLTZ:
		return roundTimestamp(t, v)
	}
	return v, nil
}

func checkUTF8(s string) error {
	if strings.IndexByte(s, 0) >= 0 {
		return Errorf("22021", "invalid byte sequence for encoding \"UTF8\": 0x00")
	}
	if utf8.ValidString(s) {
		return nil
	}
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && n == 1 {
			return Errorf("22021", "invalid byte sequence for encoding \"UTF8\": 0x%02x", s[i])
		}
		i += n
	}
	return nil
}

// checkLength is Postgres' rule: blanks beyond the length are cut, other
// characters are an error. Trailing blanks of CHAR carry no meaning and are
// not stored.
func checkLength(t Type, v Value) (Value, error) {
	if t.Kind == Char {
		v.str = strings.TrimRight(v.str, " ")
	}
	if len(v.str) <= t.Length {
		return v, nil
	}
	n := 0
	for i := range v.str {
		if n == t.Length {
			if strings.TrimRight(v.str[i:], " ") != "" {
				return Value{}, Errorf("22001", "value too long for type %s", t.SQLName())
			}
			v.str = v.str[:i]
			return v, nil
		}
		n++
	}
	return v, nil
}

func invalid(t Type, s string) *Error {
	name := t.SQLName()
	if t.Kind == Char || t.Kind == VarChar {
		name = "text"
	}
	return Errorf("22P02", "invalid input syntax for type %s: \"%s\"", name, clip(s))
}

func outOfRange(t Type, s string) *Error {
	return Errorf("22003", "value \"%s\" is out of range for type %s", clip(s), t.SQLName())
}

// clip keeps long user text out of messages.
func clip(s string) string {
	if len(s) > 100 {
		s = strings.ToValidUTF8(s[:100], "") + "…"
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}

func parseInt(t Type, text string) (Value, error) {
	s := strings.TrimSpace(text)
	i, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		if errors.Is(err, strconv.ErrRange) {
			return Value{}, outOfRange(t, s)
		}
		return Value{}, invalid(t, text)
	}
	v := IntOf(i)
	if _, err := Check(t, v); err != nil {
		return Value{}, outOfRange(t, s)
	}
	return v, nil
}

func parseFloat(t Type, text string) (Value, error) {
	s := strings.TrimSpace(text)
	bitSize := 64
	if t.Kind == Float {
		bitSize = 32
	}
	if strings.ContainsAny(s, "_xXpP") {
		return Value{}, invalid(t, text)
	}
	f, err := strconv.ParseFloat(s, bitSize)
	switch {
	case err == nil && f == 0 && strings.ContainsAny(strings.SplitN(strings.ToLower(s), "e", 2)[0], "123456789"):
		return Value{}, Errorf("22003", "\"%s\" is out of range for type %s", clip(s), t.SQLName()) // it underflowed
	case err == nil:
		return FloatOf(f), nil
	case errors.Is(err, strconv.ErrRange) && math.IsInf(f, 0):
		return Value{}, Errorf("22003", "\"%s\" is out of range for type %s", clip(s), t.SQLName())
	}
	return Value{}, invalid(t, text)
}

func parseBool(text string) (Value, error) {
	s := strings.ToLower(strings.TrimSpace(text))
	if s != "" {
		switch {
		case strings.HasPrefix("true", s), strings.HasPrefix("yes", s), s == "on", s == "1":
			return BoolOf(true), nil
		case strings.HasPrefix("false", s), strings.HasPrefix("no", s), s == "off", s == "of", s == "0":
			return BoolOf(false), nil
		}
	}
	return Value{}, invalid(Type{Kind: Boolean}, text)
}

func parseBytea(s string) (string, error) {
	if strings.HasPrefix(s, `\x`) {
		h := s[2:]
		if strings.ContainsAny(h, " \t\n") {
			h = strings.NewReplacer(" ", "", "\t", "", "\n", "").Replace(h)
		}
		b, err := hex.DecodeString(h)
		if err != nil {
			return "", Errorf("22023", "invalid hexadecimal data in bytea value")
		}
		return string(b), nil
	}
	if strings.IndexByte(s, '\\') < 0 {
		return s, nil
	}
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' {
			b = append(b, s[i])
			continue
		}
		if i+1 < len(s) && s[i+1] == '\\' {
			b = append(b, '\\')
			i++
			continue
		}
		if i+3 >= len(s) {
			return "", Errorf("22P02", "invalid input syntax for type bytea")
		}
		n, err := strconv.ParseUint(s[i+1:i+4], 8, 8)
		if err != nil {
			return "", Errorf("22P02", "invalid input syntax for type bytea")
		}
		b = append(b, byte(n))
		i += 3
	}
	return string(b), nil
}
