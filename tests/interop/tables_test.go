//go:build peers

package interop_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"dtstore/table"
	"dtstore/tests/agree"
)

// column of a test table. The rows that a generator makes are canonical texts
// (agree.Cell).
type column struct {
	name string
	typ  table.Type
}

func col(name, typ string) column {
	t, err := table.ParseType(typ)
	if err != nil {
		panic(err)
	}
	return column{name, t}
}

// scalars are one column of every scalar type.
var scalars = []column{col("b", "BOOLEAN"), col("i8", "TINYINT"), col("i16", "SMALLINT"), col("i32", "INT"), col("i64", "BIGINT"), col("f32", "FLOAT"), col("f64", "DOUBLE"),
	col("d9", "DECIMAL(9, 2)"), col("d18", "DECIMAL(18, 4)"), col("d38", "DECIMAL(38, 10)"), col("c", "CHAR(5)"), col("vc", "VARCHAR(10)"), col("s", "STRING"),
	col("bin", "BINARY(3)"), col("vb", "VARBINARY(8)"), col("bts", "BYTES"), col("dt", "DATE"), col("tm", "TIME(3)"),
	col("ts0", "TIMESTAMP(0)"), col("ts3", "TIMESTAMP(3)"), col("ts6", "TIMESTAMP(6)"), col("ts9", "TIMESTAMP(9)"), col("tz3", "TIMESTAMP(3) WITH LOCAL TIME ZONE"), col("tz6", "TIMESTAMP(6) WITH LOCAL TIME ZONE")}

// edges are values at the ends of each type's range, and such as codecs trip over.
func edges(t table.Type) []string {
	switch t.Kind {
	case table.Boolean:
		return []string{"true", "false"}
	case table.TinyInt:
		return []string{"-128", "127", "0"}
	case table.SmallInt:
		return []string{"-32768", "32767", "0"}
	case table.Int:
		return []string{"-2147483648", "2147483647", "0"}
	case table.BigInt:
		return []string{"-9223372036854775808", "9223372036854775807", "0"}
	case table.Float:
		return []string{"NaN", "Infinity", "-Infinity", "-0", "0", "3.4028235e38", "1e-45", "0.1"}
	case table.Double:
		return []string{"NaN", "Infinity", "-Infinity", "-0", "0", "1.7976931348623157e308", "5e-324", "0.1"}
	case table.Decimal:
		nines := strings.Repeat("9", t.Precision-t.Scale) + "." + strings.Repeat("9", t.Scale)
		return []string{"-" + nines, nines, "0." + strings.Repeat("0", t.Scale), "-0." + strings.Repeat("0", t.Scale-1) + "1"}
	case table.Char:
		return []string{"abcde", "äöüßé", "🦆🦆🦆🦆🦆"}
	case table.VarChar:
		if t.Length < 100 {
			return []string{"", "a b", "🦆 quack ß"}
		}
		return []string{"", strings.Repeat("long ", 400), "quo'te \"d\" \\ back", "tab\there\nline", "🏴‍☠️ 漢字 \u200d", "null", "NULL", "NaN"}
	case table.Binary:
		return []string{"0x000000", "0xffffff", "0x00ff80"}
	case table.VarBinary:
		return []string{"0x", "0x00", "0xff", "0x5c7830"}
	case table.Date:
		return []string{"0001-01-01", "1582-10-15", "1969-12-31", "1970-01-01", "9999-12-31"}
	case table.Time:
		return []string{"00:00:00", "00:00:00.001", "23:59:59.999"}
	case table.Timestamp, table.TimestampLTZ:
		frac := "." + strings.Repeat("9", t.Precision)
		if t.Precision == 0 {
			frac = ""
		}
		out := []string{"1969-12-31 23:59:59" + frac, "1970-01-01 00:00:00", "1900-02-28 12:34:56" + frac, "2262-04-11 23:47:16", "1680-01-01 00:00:00"}
		if t.Precision < 9 {
			out = append(out, "0001-01-01 00:00:00", "9999-12-31 23:59:59"+frac)
		}
		return out
	}
	panic(t.String())
}

// value draws a value: null, an edge or something ordinary.
func value(r *rand.Rand, t table.Type) string {
	switch r.IntN(8) {
	case 0:
		if !t.NotNull {
			return agree.Null
		}
	case 1, 2:
		e := edges(t)
		return e[r.IntN(len(e))]
	}
	return ordinary(r, t)
}

func ordinary(r *rand.Rand, t table.Type) string {
	day := func() string { return fmt.Sprintf("20%02d-%02d-%02d", r.IntN(30), 1+r.IntN(12), 1+r.IntN(28)) }
	clock := func(precision int) string {
		s := fmt.Sprintf("%02d:%02d:%02d", r.IntN(24), r.IntN(60), r.IntN(60))
		if precision > 0 {
			s += "." + fmt.Sprintf("%09d", r.IntN(1_000_000_000))[:precision]
		}
		return s
	}
	hex := func(n int) string {
		b := make([]byte, n)
		for i := range b {
			b[i] = byte(r.Uint32())
		}
		return fmt.Sprintf("0x%x", b)
	}
	switch t.Kind {
	case table.Boolean:
		return fmt.Sprint(r.IntN(2) == 0)
	case table.TinyInt, table.SmallInt, table.Int, table.BigInt:
		return fmt.Sprint(r.IntN(200) - 100)
	case table.Float, table.Double:
		return fmt.Sprint(float64(r.IntN(2000)-1000) / 8)
	case table.Decimal:
		return fmt.Sprintf("%d.%0*d", r.IntN(200)-100, t.Scale, r.IntN(100))
	case table.Char:
		return fmt.Sprintf("c%04d", r.IntN(50))
	case table.VarChar:
		return fmt.Sprintf("v%d", r.IntN(50))
	case table.Binary:
		return hex(t.Length)
	case table.VarBinary:
		return hex(r.IntN(8))
	case table.Date:
		return day()
	case table.Time:
		return clock(3)
	case table.Timestamp, table.TimestampLTZ:
		return day() + " " + clock(t.Precision)
	}
	panic(t.String())
}

// ours is the value in our SQL: text that takes the column's type.
func ours(t table.Type, v string) string {
	switch {
	case v == agree.Null:
		return "NULL"
	case t.Kind == table.Binary || t.Kind == table.VarBinary:
		v = `\x` + v[2:]
	case t.Kind == table.TimestampLTZ:
		v += "+00"
	}
	return "'" + strings.ReplaceAll(v, "'", "''") + "'"
}

// flinks is the value in Flink's SQL, typed.
func flinks(t table.Type, v string) string {
	quoted := "'" + strings.ReplaceAll(v, "'", "''") + "'"
	switch t.Kind {
	case table.Char, table.VarChar:
		return quoted
	case table.Binary, table.VarBinary:
		return "x'" + v[2:] + "'"
	case table.Date:
		return "DATE " + quoted
	case table.Timestamp:
		return "TIMESTAMP " + quoted
	case table.TimestampLTZ:
		return fmt.Sprintf("CAST(TIMESTAMP %s AS TIMESTAMP_LTZ(%d))", quoted, t.Precision)
	}
	t.NotNull = false
	return "CAST(" + quoted + " AS " + t.String() + ")"
}

// fixture is a table and what it must hold.
type fixture struct {
	name       string
	columns    []column
	key        []string // nil: an append table
	partitions []string
	buckets    int
	bucketKey  string
	rows       map[string][]string // by key, or by number for an append table
}

func (f *fixture) types() []table.Type {
	out := make([]table.Type, len(f.columns))
	for i, c := range f.columns {
		out[i] = c.typ
	}
	return out
}

func (f *fixture) index(name string) int {
	i := slices.IndexFunc(f.columns, func(c column) bool { return c.name == name })
	if i < 0 {
		panic(name)
	}
	return i
}

func (f *fixture) keyOf(row []string) string {
	if f.key == nil {
		return fmt.Sprint(len(f.rows))
	}
	var k []string
	for _, name := range f.key {
		k = append(k, row[f.index(name)])
	}
	return strings.Join(k, "\t")
}

func (f *fixture) create() string {
	var items []string
	for _, c := range f.columns {
		items = append(items, c.name+" "+c.typ.String())
	}
	if f.key != nil {
		items = append(items, "PRIMARY KEY ("+strings.Join(f.key, ", ")+") NOT ENFORCED")
	}
	sql := "CREATE TABLE " + f.name + " (" + strings.Join(items, ", ") + ")"
	if f.partitions != nil {
		sql += " PARTITIONED BY (" + strings.Join(f.partitions, ", ") + ")"
	}
	var options []string
	if f.buckets != 0 {
		options = append(options, fmt.Sprintf("'bucket' = '%d'", f.buckets))
	}
	if f.bucketKey != "" {
		options = append(options, "'bucket-key' = '"+f.bucketKey+"'")
	}
	if options != nil {
		sql += " WITH (" + strings.Join(options, ", ") + ")"
	}
	return sql
}

// insert draws n rows, the first of which are made of edges, and gives the
// statement that writes them.
func (f *fixture) insert(r *rand.Rand, n int, edge bool) string {
	var values []string
	for i := range n {
		row := make([]string, len(f.columns))
		for j, c := range f.columns {
			e := edges(c.typ)
			if row[j] = value(r, c.typ); edge && i < 8 && !slices.Contains(f.partitions, c.name) {
				row[j] = e[i%len(e)]
			} else if slices.Contains(f.partitions, c.name) {
				row[j] = partitionValues(c.typ)[r.IntN(3)]
			}
			if row[j] == agree.Null && (slices.Contains(f.key, c.name) || slices.Contains(f.partitions, c.name)) {
				row[j] = ordinary(r, c.typ)
			}
		}
		if i := slices.IndexFunc(f.columns, func(c column) bool { return c.name == "id" }); i >= 0 {
			row[i] = fmt.Sprint(r.IntN(4 * n))
		}
		f.rows[f.keyOf(row)] = row
		values = append(values, f.literals(row))
	}
	return "INSERT INTO " + f.name + " VALUES " + strings.Join(values, ", ")
}

func partitionValues(t table.Type) []string {
	switch t.Kind {
	case table.VarChar:
		return []string{"eu/west", "a=b c%", "🦆"}
	case table.Int:
		return []string{"-1", "0", "2024"}
	case table.Date:
		return []string{"1969-12-31", "2024-02-29", "2000-01-01"}
	}
	panic(t.String())
}

func (f *fixture) literals(row []string) string {
	out := make([]string, len(row))
	for i, v := range row {
		out[i] = ours(f.columns[i].typ, v)
	}
	return "(" + strings.Join(out, ", ") + ")"
}

// where is the condition that finds one row by its key.
func (f *fixture) where(row []string) string {
	var out []string
	for _, k := range f.key {
		i := f.index(k)
		out = append(out, k+" = "+ours(f.columns[i].typ, row[i]))
	}
	return strings.Join(out, " AND ")
}

// change draws updates and deletions of a third of the rows, a statement each.
func (f *fixture) change(r *rand.Rand) (statements []string) {
	keys := make([]string, 0, len(f.rows))
	for k := range f.rows {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	for _, k := range keys {
		row := f.rows[k]
		switch r.IntN(6) {
		case 0:
			statements = append(statements, "DELETE FROM "+f.name+" WHERE "+f.where(row))
			delete(f.rows, k)
		case 1:
			row = slices.Clone(row)
			var sets []string
			for i, c := range f.columns {
				if !slices.Contains(f.key, c.name) && r.IntN(3) == 0 {
					row[i] = value(r, c.typ)
					sets = append(sets, c.name+" = "+ours(c.typ, row[i]))
				}
			}
			if sets != nil {
				statements = append(statements, "UPDATE "+f.name+" SET "+strings.Join(sets, ", ")+" WHERE "+f.where(row))
				f.rows[k] = row
			}
		}
	}
	return statements
}

// want are the canonical rows the table must hold.
func (f *fixture) want(t testing.TB) []string {
	t.Helper()
	var out []string
	for _, row := range f.rows {
		out = append(out, f.canonical(t, row))
	}
	return out
}

func (f *fixture) canonical(t testing.TB, row []string) string {
	t.Helper()
	cells := make([]*string, len(row))
	for i, v := range row {
		if v == agree.Null {
			continue
		}
		if f.columns[i].typ.Kind == table.TimestampLTZ {
			v += "Z"
		}
		cells[i] = &v
	}
	line, err := agree.Row(f.types(), cells)
	if err != nil {
		t.Fatal(err)
	}
	return line
}

func fixtures() []*fixture {
	keyed := func(c column) column { c.typ.NotNull = true; return c }
	id := keyed(col("id", "INT"))
	out := []*fixture{
		{name: "types", columns: append([]column{id}, scalars...), key: []string{"id"}},
		{name: "spread", columns: append([]column{id}, scalars...), key: []string{"id"}, buckets: 3},
		{name: "parts", columns: append([]column{id, keyed(col("p", "STRING"))}, scalars...), key: []string{"id", "p"}, partitions: []string{"p"}, buckets: 3},
		{name: "days", columns: append([]column{keyed(col("day", "DATE")), keyed(col("p", "INT")), id}, scalars...), key: []string{"day", "p", "id"}, partitions: []string{"day", "p"}},
		{name: "keys", columns: []column{keyed(col("s", "STRING")), keyed(col("d", "DECIMAL(18, 4)")), keyed(col("w", "DECIMAL(38, 10)")), keyed(col("day", "DATE")), keyed(col("ts", "TIMESTAMP(3)")), keyed(col("tu", "TIMESTAMP(6)")),
			keyed(col("ok", "BOOLEAN")), keyed(col("big", "BIGINT")), keyed(col("bts", "BYTES")), keyed(col("dbl", "DOUBLE")), col("n", "INT")}, key: []string{"s", "d", "w", "day", "ts", "tu", "ok", "big", "bts", "dbl"}, buckets: 3},
		{name: "nanos", columns: []column{keyed(col("tn", "TIMESTAMP(9)")), col("n", "INT")}, key: []string{"tn"}, buckets: 2},
		{name: "words", columns: []column{keyed(col("s", "STRING")), col("n", "INT")}, key: []string{"s"}, buckets: 3},
		{name: "appended", columns: append([]column{col("id", "INT")}, scalars...)},
		{name: "appended_parts", columns: append([]column{col("id", "INT"), col("p", "STRING"), col("day", "DATE")}, scalars...), partitions: []string{"p", "day"}},
		{name: "appended_buckets", columns: append([]column{col("id", "INT")}, scalars...), buckets: 3, bucketKey: "id"},
	}
	for _, f := range out {
		f.rows = map[string][]string{}
	}
	return out
}
