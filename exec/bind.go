package exec

import (
	"math"
	"strconv"
	"strings"

	duckdb "github.com/duckdb/duckdb-go-bindings"

	"dtstore/table"
)

// bind gives parameter n, from 1, its value.
func (st *Statement) bind(n int, a Arg) error {
	v, err := duckValue(a.Type, a.Value)
	if err != nil {
		return err
	}
	defer duckdb.DestroyValue(&v)
	if duckdb.BindValue(st.stmt, duckdb.IdxT(n), v) != duckdb.StateSuccess {
		return table.Errorf("22P02", "parameter $%d cannot be %v", n, a.Type)
	}
	return nil
}

// duckValue makes a DuckDB value, which the caller destroys.
func duckValue(t Type, v Value) (duckdb.Value, error) {
	if v.IsNull() {
		return duckdb.CreateNullValue(), nil
	}
	switch t.ID {
	case Bool:
		return duckdb.CreateBool(v.Bool()), nil
	case Int2:
		return duckdb.CreateInt16(int16(v.Int())), nil
	case Int4:
		return duckdb.CreateInt32(int32(v.Int())), nil
	case Int8, OID:
		return duckdb.CreateInt64(v.Int()), nil
	case Float4:
		return duckdb.CreateFloat(float32(v.Float())), nil
	case Float8:
		return duckdb.CreateDouble(v.Float()), nil
	case Numeric:
		return decimalValue(t, v)
	case Bytea:
		return duckdb.CreateBlob([]byte(v.Str())), nil
	case Date:
		return duckdb.CreateDate(duckdb.NewDate(int32(v.Int()))), nil
	case Time:
		return duckdb.CreateTime(duckdb.NewTime(v.Int())), nil
	case Timestamp:
		if v.Nanos() != 0 {
			if v.Micros() > math.MaxInt64/1000-1 || v.Micros() < math.MinInt64/1000+1 {
				return duckdb.Value{}, table.Errorf("22008", "timestamp out of range")
			}
			return duckdb.CreateTimestampNS(duckdb.NewTimestampNS(v.Micros()*1000 + int64(v.Nanos()))), nil
		}
		return duckdb.CreateTimestamp(duckdb.NewTimestamp(v.Micros())), nil
	case TimestampTZ:
		return duckdb.CreateTimestampTZ(duckdb.NewTimestamp(v.Micros())), nil
	case Interval:
		m, d, u := IntervalFrom(v)
		return duckdb.CreateInterval(duckdb.NewInterval(m, d, u)), nil
	case UUID:
		hi, lo := v.Decimal()
		return duckdb.CreateUUID(duckdb.NewUHugeInt(lo, uint64(hi))), nil
	case List:
		return listValue(*t.Elem, v)
	}
	return duckdb.CreateVarcharLength(v.Str(), duckdb.IdxT(len(v.Str()))), nil
}

func decimalValue(t Type, v Value) (duckdb.Value, error) {
	hi, lo := v.Decimal()
	p := max(t.Precision, t.Scale, 1)
	if t.Precision == 0 {
		p = 38
	}
	if p > 38 || t.Scale > p {
		return duckdb.Value{}, table.Errorf("22003", "a numeric of more than 38 digits")
	}
	return duckdb.CreateDecimal(duckdb.NewDecimal(uint8(p), uint8(t.Scale), duckdb.NewHugeInt(lo, hi))), nil
}

func listValue(elem Type, v Value) (duckdb.Value, error) {
	lt := logicalOf(elem)
	defer duckdb.DestroyLogicalType(&lt)
	var values []duckdb.Value
	defer func() {
		for i := range values {
			duckdb.DestroyValue(&values[i])
		}
	}()
	for _, e := range Elements(elem, v) {
		d, err := duckValue(elem, e)
		if err != nil {
			return duckdb.Value{}, err
		}
		values = append(values, d)
	}
	if len(values) == 0 { // the bindings' list of nothing needs a place to point to
		values = nil
	}
	return duckdb.CreateListValue(lt, values), nil
}

func logicalOf(t Type) duckdb.LogicalType {
	switch t.ID {
	case Bool:
		return duckdb.CreateLogicalType(duckdb.TypeBoolean)
	case Int2:
		return duckdb.CreateLogicalType(duckdb.TypeSmallInt)
	case Int4:
		return duckdb.CreateLogicalType(duckdb.TypeInteger)
	case Int8, OID:
		return duckdb.CreateLogicalType(duckdb.TypeBigInt)
	case Float4:
		return duckdb.CreateLogicalType(duckdb.TypeFloat)
	case Float8:
		return duckdb.CreateLogicalType(duckdb.TypeDouble)
	case Numeric:
		p := t.Precision
		if p == 0 {
			p = 38
		}
		return duckdb.CreateDecimalType(uint8(p), uint8(t.Scale))
	case Bytea:
		return duckdb.CreateLogicalType(duckdb.TypeBlob)
	case Date:
		return duckdb.CreateLogicalType(duckdb.TypeDate)
	case Time:
		return duckdb.CreateLogicalType(duckdb.TypeTime)
	case Timestamp:
		return duckdb.CreateLogicalType(duckdb.TypeTimestamp)
	case TimestampTZ:
		return duckdb.CreateLogicalType(duckdb.TypeTimestampTZ)
	case Interval:
		return duckdb.CreateLogicalType(duckdb.TypeInterval)
	case UUID:
		return duckdb.CreateLogicalType(duckdb.TypeUUID)
	}
	return duckdb.CreateLogicalType(duckdb.TypeVarchar)
}

// params puts what f returns in the place of each $n of text outside strings,
// quoted names and comments. If the parameter is the first argument of
// dt_like or dt_plus, like is that head of the call, and f's text replaces it too.
func params(text string, f func(n int, like string) string) string {
	var b strings.Builder
	from := 0
	for i := 0; i < len(text); {
		j := skipToken(text, i)
		if text[i] == '$' && j > i+1 && text[i+1] >= '0' && text[i+1] <= '9' {
			n, _ := strconv.Atoi(text[i+1 : j])
			before := text[from:i]
			cut, like := before, ""
			for _, c := range []string{likeCall, plusCall} {
				if rest, ok := strings.CutSuffix(before, c); ok {
					cut, like = rest, c
				}
			}
			b.WriteString(cut)
			b.WriteString(f(n, like))
			from = j
		}
		i = j
	}
	b.WriteString(text[from:])
	return b.String()
}

// likeCall and plusCall begin calls of the macros that give a parameter the
// type that the other operand asks for; firstCall one that only gives the
// parameter.
const likeCall, plusCall, firstCall = "dt_like(", "dt_plus(", "dt_first("

func plain(n int, like string) string { return like + "$" + strconv.Itoa(n) }

// castParams writes the known types into the text. A Numeric without precision
// is left as it is: its value brings its own.
func castParams(text string, types []Type) string {
	return params(text, func(n int, like string) string {
		if n < 1 || n > len(types) || types[n-1].ID == Unknown {
			return plain(n, like)
		}
		p := "$" + strconv.Itoa(n)
		if t := types[n-1]; t.ID != Numeric || t.Precision > 0 {
			p = "CAST(" + p + " AS " + t.sql() + ")"
		}
		if like != "" {
			p = firstCall + p
		}
		return p
	})
}

func countOccurrences(text string, of int) int {
	count := 0
	params(text, func(n int, _ string) string {
		if n == of {
			count++
		}
		return ""
	})
	return count
}

// isolateParam leaves occurrence i of parameter n and makes the others NULL.
func isolateParam(text string, of, i int) string {
	at := -1
	return params(text, func(n int, like string) string {
		if n != of {
			return plain(n, like)
		}
		if at++; at == i {
			return plain(n, like)
		}
		if like != "" {
			return firstCall + "NULL"
		}
		return "NULL"
	})
}

// nullOthers makes every parameter but n NULL.
func nullOthers(text string, but int) string {
	return params(text, func(n int, like string) string {
		switch {
		case n == but:
			return plain(n, like)
		case like != "":
			return firstCall + "NULL"
		}
		return "NULL"
	})
}

// nullParams writes NULLs of the known types for the parameters: the text has
// the same columns, and can be described where a parameter is missed.
func nullParams(text string, types []Type) string {
	return params(text, func(n int, like string) string {
		p := "NULL"
		if n >= 1 && n <= len(types) && types[n-1].ID != Unknown {
			p = "CAST(NULL AS " + types[n-1].sql() + ")"
		}
		if like != "" {
			p = firstCall + p
		}
		return p
	})
}

// untyped gives the text without the macros that are chosen by the type of an
// argument.
func untyped(text string) string {
	var b strings.Builder
	for i := 0; i < len(text); {
		j := skipToken(text, i)
		word := text[i:j]
		if untypedNames[word] && j < len(text) && text[j] == '(' {
			word += "_any"
		}
		b.WriteString(word)
		i = j
	}
	return b.String()
}

var untypedNames = set("dt_sum dt_whole dt_plus dt_bytea dt_hex dt_day dt_str dt_numeric")
