package session_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
)

// The model of the differential test: tables are maps, values are numbers. A
// column without a pool holds integers; one with a pool holds places in it, and
// pools are in ascending order, so that numbers compare as the values do.

const null = math.MinInt64

type column struct {
	name, sql string
	pool      []string
	required  bool
}

var pools = map[string][]string{
	"boolean":        {"f", "t"},
	"smallint":       {"-32768", "-1", "0", "7", "32767"},
	"real":           {"-Infinity", "-1.5", "0", "3.4028235e+38", "Infinity", "NaN"},
	"double":         {"-Infinity", "-1e+300", "-0.1", "0", "1e-07", "0.1", "Infinity", "NaN"},
	"numeric(38,10)": {"-1234567890123456789012345678.1234567890", "-0.0000000001", "0.0000000000", "2.5000000000", "9999999999999999999999999999.9999999999"},
	"numeric(9,2)":   {"-9999999.99", "-0.01", "0.00", "12.30", "9999999.99"},
	"date":           {"0001-01-01", "1899-12-31", "1969-12-31", "1970-01-01", "2024-02-29", "9999-12-31"},
	"timestamp(3)":   {"1900-01-01 00:00:00", "1969-12-31 23:59:59.999", "1970-01-01 00:00:00.001", "2024-02-29 12:00:00.5"},
	"timestamp":      {"0001-01-01 00:00:00", "1969-12-31 23:59:59.999999", "1970-01-01 00:00:00", "2024-02-29 12:00:00.000001"},
	"timestamp(9)":   {"1677-09-22 00:00:00.000000001", "1969-12-31 23:59:59.999999998", "1969-12-31 23:59:59.999999999", "2024-01-01 00:00:00.000000001", "2262-04-11 00:00:00.999999999"},
	"timestamptz":    {"1969-12-31 23:59:59.999999+00", "2022-04-01 00:00:00.123456+00", "2038-01-19 03:14:08+00"},
	"time":           {"00:00:00", "12:34:56.789", "23:59:59.999"},
	"bytea":          {`\x`, `\x00`, `\x00ff`, `\x5c27`, `\xff`},
	"varchar(20)":    {"", " ", "A", "a", "a\tb", "a b", "it's", "zürich", "日本", "😀"},
}

func col(name, typ string) column { return column{name: name, sql: typ, pool: pools[typ]} }

func req(name, typ string) column {
	c := col(name, typ)
	c.required = true
	return c
}

type tableDef struct {
	name    string
	cols    []column
	key     []int // nil: an append table
	part    []int
	buckets int
	with    string
}

// def is the tables of one run.
func defs(r *rand.Rand, with string) []tableDef {
	b := func() int { return 1 + r.IntN(4) }
	return []tableDef{
		{name: "plain", cols: []column{req("id", "bigint"), col("v", "int"), col("s", "varchar(20)")}, key: []int{0}, buckets: b(), with: with},
		{name: "composite", cols: []column{col("v", "int"), req("a", "int"), req("b", "varchar(20)"), col("d", "date")}, key: []int{1, 2}, buckets: b(), with: with},
		{name: "parted", cols: []column{req("p", "varchar(20)"), req("id", "int"), col("v", "int"), col("s", "varchar(20)")}, key: []int{0, 1}, part: []int{0}, buckets: b(), with: with},
		{name: "dated", cols: []column{req("d", "date"), req("id", "int"), col("v", "int"), col("n", "numeric(38,10)")}, key: []int{1, 0}, part: []int{0}, buckets: b(), with: with},
		{name: "odd", cols: []column{req("k", "numeric(9,2)"), req("y", "bytea"), req("t", "timestamp"), col("v", "int")}, key: []int{1, 0, 2}, buckets: b(), with: with},
		{name: "kinds", cols: []column{req("id", "int"), col("v", "int"), col("bo", "boolean"), col("si", "smallint"), col("re", "real"), col("db", "double"), col("n1", "numeric(38,10)"), col("n2", "numeric(9,2)"),
			col("dt", "date"), col("t3", "timestamp(3)"), col("t6", "timestamp"), col("tz", "timestamptz"), col("tm", "time"), col("bt", "bytea"), col("vc", "varchar(20)")}, key: []int{0}, buckets: b(), with: with},
		{name: "fine", cols: []column{req("id", "int"), col("v", "int"), col("t9", "timestamp(9)")}, key: []int{0}, buckets: b(), with: with},
		{name: "appended", cols: []column{col("id", "bigint"), col("v", "int"), col("s", "varchar(20)"), col("t9", "timestamp(9)")}, with: with},
		{name: "logged", cols: []column{col("d", "date"), col("v", "int"), col("s", "varchar(20)")}, part: []int{0}, with: with},
	}
}

func (d tableDef) names(cols []int) string {
	out := make([]string, len(cols))
	for i, c := range cols {
		out[i] = d.cols[c].name
	}
	return strings.Join(out, ", ")
}

func (d tableDef) create() string {
	var parts []string
	for _, c := range d.cols {
		t := c.name + " " + c.sql
		if c.sql == "double" {
			t = c.name + " double precision"
		}
		if c.required {
			t += " NOT NULL"
		}
		parts = append(parts, t)
	}
	if d.key != nil {
		parts = append(parts, "PRIMARY KEY ("+d.names(d.key)+") NOT ENFORCED")
	}
	q := "CREATE TABLE " + d.name + " (" + strings.Join(parts, ", ") + ")"
	if d.part != nil {
		q += " PARTITIONED BY (" + d.names(d.part) + ")"
	}
	with := d.with
	if d.buckets > 0 {
		with += fmt.Sprintf(", 'bucket' = '%d'", d.buckets)
	}
	return q + " WITH (" + with + ")"
}

// row is the cells of a row.
type row []int64

func (d tableDef) random(r *rand.Rand) row {
	out := make(row, len(d.cols))
	for i, c := range d.cols {
		switch {
		case !c.required && r.IntN(6) == 0:
			out[i] = null
		case c.pool != nil:
			out[i] = int64(r.IntN(len(c.pool)))
		default:
			out[i] = int64(r.IntN(40))
		}
	}
	return out
}

func (d tableDef) keyOf(x row) string {
	var b strings.Builder
	for _, i := range d.key {
		fmt.Fprintf(&b, "%d|", x[i])
	}
	return b.String()
}

func (c column) text(v int64) string {
	switch {
	case v == null:
		return "NULL"
	case c.pool != nil:
		return c.pool[v]
	}
	return strconv.FormatInt(v, 10)
}

func (c column) literal(v int64) string {
	switch {
	case v == null:
		return "NULL"
	case c.pool != nil:
		return "'" + strings.ReplaceAll(c.pool[v], "'", "''") + "'"
	}
	return strconv.FormatInt(v, 10)
}

// cast is a literal for a comparison, of the column's type.
func (c column) cast(v int64) string {
	if c.pool == nil {
		return c.literal(v)
	}
	return c.literal(v) + "::" + strings.Replace(c.sql, "double", "double precision", 1)
}

func (d tableDef) texts(x row) []string {
	out := make([]string, len(x))
	for i, v := range x {
		out[i] = d.cols[i].text(v)
	}
	return out
}

func (d tableDef) tuple(x row) string {
	out := make([]string, len(x))
	for i, v := range x {
		out[i] = d.cols[i].literal(v)
	}
	return "(" + strings.Join(out, ", ") + ")"
}

// state is the rows of a table: by key, or of an append table in order.
type state struct {
	rows map[string]row
	list []row
}

func (s *state) clone() *state {
	c := &state{rows: make(map[string]row, len(s.rows)), list: slices.Clone(s.list)}
	for k, v := range s.rows {
		c.rows[k] = v
	}
	return c
}

func (s *state) put(d tableDef, x row) {
	if d.key == nil {
		s.list = append(s.list, x)
		return
	}
	s.rows[d.keyOf(x)] = x
}

func (s *state) all() []row {
	out := slices.Clone(s.list)
	for _, x := range s.rows {
		out = append(out, x)
	}
	return out
}

func (s *state) where(c cond) []row {
	var out []row
	for _, x := range s.all() {
		if c.keep(x) {
			out = append(out, x)
		}
	}
	return out
}

// lines is rows as sorted text.
func (d tableDef) lines(rows []row) []string {
	out := make([]string, len(rows))
	for i, x := range rows {
		out[i] = strings.Join(d.texts(x), "|")
	}
	slices.Sort(out)
	return out
}

// cond is a WHERE.
type cond struct {
	sql  string
	keep func(row) bool
}

// condition makes a random WHERE, on key or value columns.
func (d tableDef) condition(r *rand.Rand, s *state) cond {
	c := d.comparison(r, s)
	if r.IntN(3) == 0 {
		e := d.comparison(r, s)
		return cond{c.sql + " AND " + e.sql, func(x row) bool { return c.keep(x) && e.keep(x) }}
	}
	return c
}

func (d tableDef) wholeKey(r *rand.Rand, s *state) cond {
	x := d.random(r)
	if all := s.all(); len(all) > 0 && r.IntN(4) > 0 {
		x = all[r.IntN(len(all))]
	}
	var parts []string
	for _, i := range d.key {
		parts = append(parts, d.cols[i].name+" = "+d.cols[i].cast(x[i]))
	}
	return cond{strings.Join(parts, " AND "), func(y row) bool { return d.keyOf(x) == d.keyOf(y) }}
}

func (d tableDef) comparison(r *rand.Rand, s *state) cond {
	if d.key != nil && r.IntN(3) == 0 {
		return d.wholeKey(r, s)
	}
	i := r.IntN(len(d.cols))
	if r.IntN(3) == 0 && d.key != nil {
		i = d.key[r.IntN(len(d.key))]
	}
	c := d.cols[i]
	v := int64(r.IntN(40))
	if c.pool != nil {
		v = int64(r.IntN(len(c.pool)))
	}
	known := func(f func(int64) bool) func(row) bool { return func(x row) bool { return x[i] != null && f(x[i]) } }
	switch r.IntN(9) {
	case 0:
		return cond{c.name + " < " + c.cast(v), known(func(n int64) bool { return n < v })}
	case 1:
		return cond{c.name + " >= " + c.cast(v), known(func(n int64) bool { return n >= v })}
	case 2:
		return cond{c.name + " <> " + c.cast(v), known(func(n int64) bool { return n != v })}
	case 3:
		return cond{c.name + " IS NULL", func(x row) bool { return x[i] == null }}
	case 4:
		return cond{c.name + " IS NOT NULL", func(x row) bool { return x[i] != null }}
	case 5:
		w := max(v-3, 0)
		return cond{c.name + " BETWEEN " + c.cast(w) + " AND " + c.cast(v), known(func(n int64) bool { return n >= w && n <= v })}
	case 6:
		w := max(v-1, 0)
		return cond{c.name + " IN (" + c.cast(w) + ", " + c.cast(v) + ")", known(func(n int64) bool { return n == w || n == v })}
	case 7:
		if c.sql == "varchar(20)" {
			p := []string{"a", "A", "z", "日"}[r.IntN(4)]
			return cond{c.name + " LIKE '" + p + "%'", known(func(n int64) bool { return strings.HasPrefix(c.pool[n], p) })}
		}
		return cond{"NOT (" + c.name + " > " + c.cast(v) + ")", known(func(n int64) bool { return n <= v })}
	}
	return cond{c.name + " = " + c.cast(v), known(func(n int64) bool { return n == v })}
}
