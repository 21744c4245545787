package table_test

import (
	"cmp"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"dtstore/table"
)

// samples of each type, edges among them.
func samples(r *rand.Rand) map[string][]table.Value {
	ints := func(min, max int64) (vs []table.Value) {
		for _, i := range []int64{min, -1, 0, 1, max, min + r.Int64N(100), max - r.Int64N(100)} {
			vs = append(vs, table.IntOf(i))
		}
		return vs
	}
	var floats, singles, decimals, stamps, strs []table.Value
	for _, f := range []float64{0, math.Copysign(0, -1), 1.5, -2.25, 1e300, -1e-300, math.Inf(1), math.Inf(-1), math.NaN(), 1e15, 1e-5} {
		floats = append(floats, table.FloatOf(f))
		if g := float64(float32(f)); !math.IsInf(g, 0) || math.IsInf(f, 0) {
			singles = append(singles, table.FloatOf(g))
		}
	}
	for range 20 {
		floats = append(floats, table.FloatOf(r.NormFloat64()))
		singles = append(singles, table.FloatOf(float64(float32(r.NormFloat64()))))
		d, _ := table.ParseDecimal(table.Type{Kind: table.Decimal, Precision: 38, Scale: 10}, strings.Repeat("-", r.IntN(2))+strings.Repeat("9", r.IntN(28))+"1."+strings.Repeat("5", r.IntN(11)))
		decimals = append(decimals, d)
		stamps = append(stamps, table.TimestampOf(r.Int64N(1e17)-5e16, r.IntN(1000)))
		strs = append(strs, table.StringOf(strings.Repeat("aé\x01", r.IntN(4))+string(rune(r.IntN(300)+1))))
	}
	strs = append(strs, table.StringOf(""), table.StringOf("a"), table.StringOf("ab"))
	return map[string][]table.Value{
		"BOOLEAN": {table.BoolOf(true), table.BoolOf(false)}, "TINYINT": ints(-128, 127), "SMALLINT": ints(-32768, 32767),
		"INT": ints(math.MinInt32, math.MaxInt32), "BIGINT": ints(math.MinInt64, math.MaxInt64), "DATE": ints(-2440588, 106751000),
		"TIME(3)": ints(0, 86399999), "FLOAT": singles, "DOUBLE": floats, "DECIMAL(38, 10)": decimals, "TIMESTAMP(9)": stamps,
		"TIMESTAMP(9) WITH LOCAL TIME ZONE": stamps, "STRING": strs, "BYTES": append(strs, table.StringOf("\x00\xff\x00")),
	}
}

func TestOrderedKeyAndText(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for name, values := range samples(r) {
		typ, err := table.ParseType(name)
		if err != nil {
			t.Fatal(err)
		}
		if name == "TIME(3)" {
			values = values[2:]
			for i := range values {
				values[i] = table.IntOf(abs(values[i].Int()) % 86400000)
			}
		}
		values = append(values, table.Null())
		for _, a := range values {
			ka := table.AppendOrdered(nil, typ, a)
			back, rest, err := table.DecodeOrdered(append(ka, 7), typ)
			if err != nil || len(rest) != 1 || !table.Equal(typ, a, back) {
				t.Fatalf("%s %s: decodes to %s, rest %d, %v", name, table.Text(typ, a), table.Text(typ, back), len(rest), err)
			}
			for _, b := range values {
				kb := table.AppendOrdered(nil, typ, b)
				if c := cmp.Compare(string(ka), string(kb)); c != table.Compare(typ, a, b) {
					t.Fatalf("%s: %s against %s: keys %d, values %d", name, table.Text(typ, a), table.Text(typ, b), c, table.Compare(typ, a, b))
				}
			}
			if a.IsNull() {
				continue
			}
			text := table.Text(typ, a)
			parsed, err := table.ParseText(typ, text, time.UTC)
			if err != nil || !table.Equal(typ, a, parsed) {
				t.Fatalf("%s: text %q reads back as %s, %v", name, text, table.Text(typ, parsed), err)
			}
		}
	}
}

func abs(i int64) int64 { return max(i, -i) }

func TestParseText(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ typ, in, want string }{
		{"INT", " 42 ", "42"}, {"INT", "2147483648", "22003"}, {"INT", "1.5", "22P02"}, {"INT", "", "22P02"},
		{"TINYINT", "128", "22003"}, {"BOOLEAN", "YES", "t"}, {"BOOLEAN", "maybe", "22P02"},
		{"DECIMAL(10,2)", "1.005", "1.01"}, {"DECIMAL(10,2)", "-1.005", "-1.01"}, {"DECIMAL(10,2)", "123456789", "22003"},
		{"DECIMAL(10,2)", "1e2", "100.00"}, {"DECIMAL(10,2)", ".5", "0.50"}, {"DECIMAL(10,2)", "1x", "22P02"}, {"DECIMAL(10,2)", "NaN", "22003"},
		{"DECIMAL(38,0)", "99999999999999999999999999999999999999", "99999999999999999999999999999999999999"},
		{"DECIMAL(38,0)", "99999999999999999999999999999999999999.5", "22003"}, {"DECIMAL(38,38)", "-0.00000000000000000000000000000000000001", "-0.00000000000000000000000000000000000001"},
		{"DECIMAL(38,0)", "0e99999", "0"}, {"DECIMAL(5,0)", "1e-99999", "0"},
		{"VARCHAR(3)", "abcd", "22001"}, {"VARCHAR(3)", "ab   ", "ab "}, {"CHAR(3)", "ab   ", "ab"}, {"VARCHAR(2)", "éé", "éé"},
		{"STRING", "a\x00b", "22021"}, {"STRING", "\xe2\x22\x2c", "22021"}, {"BYTES", `\x00fF`, `\x00ff`}, {"BYTES", `a\\b\001`, `\x615c6201`},
		{"DATE", "2024-02-29", "2024-02-29"}, {"DATE", "2023-02-29", "22008"}, {"DATE", "0001-12-31 BC", "0001-12-31 BC"}, {"DATE", "10000-01-01", "10000-01-01"},
		{"DATE", "infinity", "22008"}, {"DATE", "hello", "22007"}, {"DATE", "20240514", "2024-05-14"},
		{"TIME(3)", "12:34:56.7896", "12:34:56.79"}, {"TIME(3)", "23:59:59.9999", "23:59:59.999"}, {"TIME(3)", "25:00", "22008"},
		{"TIMESTAMP(6)", "1969-12-31 23:59:59.999999", "1969-12-31 23:59:59.999999"}, {"TIMESTAMP(3)", "2024-01-01T10:00:00.0006", "2024-01-01 10:00:00.001"},
		{"TIMESTAMP(9)", "1900-01-01 00:00:00.000000001", "1900-01-01 00:00:00.000000001"}, {"TIMESTAMP(6)", "2024-01-0112:30", "22007"},
		{"TIMESTAMP(6)", "2024-01-01 24:00:00", "2024-01-02 00:00:00"}, {"TIMESTAMP(6)", "300000-01-01 00:00:00", "22008"},
		{"TIMESTAMP_LTZ(6)", "2022-03-31 20:00:00.123456-04", "2022-04-01 00:00:00.123456+00"}, {"TIMESTAMP_LTZ(6)", "2024-07-01 12:00:00", "2024-07-01 10:00:00+00"},
		{"TIMESTAMP_LTZ(6)", "2024-07-01 12:00:00Z", "2024-07-01 12:00:00+00"}, {"TIMESTAMP_LTZ(6)", "2024-07-01 12:00:00 America/New_York", "2024-07-01 16:00:00+00"},
		{"TIMESTAMP_LTZ(6)", "2024-07-01 12:00:00+99", "22007"},
		{"DOUBLE", "1e400", "22003"}, {"DOUBLE", "-inf", "-Infinity"}, {"FLOAT", "1e6", "1e+06"}, {"DOUBLE", "0x10", "22P02"}, {"DOUBLE", "100000", "100000"}, {"FLOAT", "0.0001", "0.0001"}, {"FLOAT", "0.00009", "9e-05"}, {"DOUBLE", "0.0001", "0.0001"},
		{"DOUBLE", "1e-400", "22003"}, {"DOUBLE", "-0e5", "-0"},
	} {
		typ, err := table.ParseType(c.typ)
		if err != nil {
			t.Fatal(err)
		}
		v, err := table.ParseText(typ, c.in, berlin)
		got := table.Text(typ, v)
		if err != nil {
			got = table.SQLState(err)
		}
		if got != c.want {
			t.Errorf("%s from %q: %s (%v), want %s", c.typ, c.in, got, err, c.want)
		}
	}
}

func TestParseType(t *testing.T) {
	for in, want := range map[string]string{
		"decimal(10,2) not null": "DECIMAL(10, 2) NOT NULL", "STRING": "STRING", "VARCHAR(2147483647)": "STRING", "double precision": "DOUBLE",
		"TIMESTAMP(3) WITH LOCAL TIME ZONE NOT NULL": "TIMESTAMP(3) WITH LOCAL TIME ZONE NOT NULL", "timestamp_ltz": "TIMESTAMP(6) WITH LOCAL TIME ZONE",
		"CHAR": "CHAR(1)", "BYTES": "BYTES", "VARIANT": "VARIANT", "INT ARRAY": "INT ARRAY",
		"DECIMAL(39,0)": "error", "INT(3)": "error", "VARCHAR(": "error", "": "error", "TIMESTAMP(10)": "error", "CHAR(0)": "error",
	} {
		typ, err := table.ParseType(in)
		got := typ.String()
		if err != nil {
			got = "error"
		}
		if got != want {
			t.Errorf("%q: %s (%v), want %s", in, got, err, want)
		}
	}
}

func FuzzParseText(f *testing.F) {
	for _, s := range []string{"2024-01-01 00:00:00+02", "1e5", `\x00`, "12:00", "0001-01-01 BC"} {
		f.Add(s)
	}
	names := []string{"INT", "DOUBLE", "DECIMAL(20, 3)", "DATE", "TIME(3)", "TIMESTAMP(9)", "TIMESTAMP_LTZ(6)", "VARCHAR(5)", "CHAR(5)", "BYTES", "BOOLEAN"}
	f.Fuzz(func(t *testing.T, s string) {
		for _, n := range names {
			typ, _ := table.ParseType(n)
			v, err := table.ParseText(typ, s, time.UTC)
			if err != nil {
				continue
			}
			text := table.Text(typ, v)
			if again, err := table.ParseText(typ, text, time.UTC); err != nil || !table.Equal(typ, v, again) {
				t.Fatalf("%s: %q is %q, which reads as %s (%v)", n, s, text, table.Text(typ, again), err)
			}
		}
	})
}
