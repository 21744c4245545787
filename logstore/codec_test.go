package logstore_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"syscall"
	"testing"
	"unicode/utf8"

	"dtstore/logstore"
	"dtstore/table"
)

const (
	topicA = logstore.TopicID("11111111-2222-3333-4444-555555555555")
	topicB = logstore.TopicID("aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeee")
	commit = "01234567-89ab-cdef-0123-456789abcdef"
)

func schemaOf(t testing.TB, key string, columns ...string) *table.Schema {
	t.Helper()
	s := &table.Schema{ID: 3, Options: map[string]string{"bucket": "1"}}
	for i, c := range columns {
		name, typ, _ := strings.Cut(c, " ")
		ty, err := table.ParseType(typ)
		if err != nil {
			t.Fatal(err)
		}
		s.Fields = append(s.Fields, table.Field{ID: i, Name: name, Type: ty})
	}
	if key != "" {
		s.PrimaryKeys = strings.Split(key, ",")
	}
	return s
}

func allTypes(t testing.TB) *table.Schema {
	return schemaOf(t, "k,s", "k BIGINT NOT NULL", "s STRING NOT NULL", "b BOOLEAN", "i1 TINYINT", "i2 SMALLINT", "i4 INT", "f FLOAT", "d DOUBLE",
		"n5 DECIMAL(5, 2)", "n15 DECIMAL(15, 15)", "n18 DECIMAL(18, 0)", "n38 DECIMAL(38, 10)", "n38s DECIMAL(38, 38)", "c CHAR(10)", "v VARCHAR(20)", "x BYTES", "xf BINARY(3)",
		"day DATE", "tm TIME(3)", "t0 TIMESTAMP(0)", "t6 TIMESTAMP(6)", "t9 TIMESTAMP(9)", "z3 TIMESTAMP(3) WITH LOCAL TIME ZONE", "z9 TIMESTAMP(9) WITH LOCAL TIME ZONE", "weird\"name\\ü STRING")
}

func randomValue(r *rand.Rand, t table.Type) table.Value {
	if !t.NotNull && r.IntN(8) == 0 {
		return table.Null()
	}
	pick := func(edge ...int64) int64 {
		if r.IntN(2) == 0 {
			return edge[r.IntN(len(edge))]
		}
		return int64(r.Uint64()) >> r.IntN(64)
	}
	within := func(lo, hi int64) int64 {
		switch r.IntN(4) {
		case 0:
			return lo
		case 1:
			return hi
		}
		return lo + int64(r.Uint64()%uint64(hi-lo+1))
	}
	switch t.Kind {
	case table.Boolean:
		return table.BoolOf(r.IntN(2) == 0)
	case table.TinyInt:
		return table.IntOf(int64(int8(pick(0, -128, 127))))
	case table.SmallInt:
		return table.IntOf(int64(int16(pick(0, math.MinInt16, math.MaxInt16))))
	case table.Int:
		return table.IntOf(int64(int32(pick(0, math.MinInt32, math.MaxInt32))))
	case table.BigInt:
		return table.IntOf(pick(0, math.MinInt64, math.MaxInt64))
	case table.Float:
		fs := []float32{0, float32(math.Copysign(0, -1)), float32(math.NaN()), float32(math.Inf(1)), float32(math.Inf(-1)), math.MaxFloat32, math.SmallestNonzeroFloat32, 16777217, 0.1, math.Float32frombits(r.Uint32())}
		return table.FloatOf(float64(fs[r.IntN(len(fs))]))
	case table.Double:
		fs := []float64{0, math.Copysign(0, -1), math.NaN(), math.Inf(1), math.Inf(-1), math.MaxFloat64, math.SmallestNonzeroFloat64, 1e21, 9007199254740993, 0.1, math.Float64frombits(r.Uint64()), r.NormFloat64()}
		return table.FloatOf(fs[r.IntN(len(fs))])
	case table.Decimal:
		n := 1 + r.IntN(t.Precision)
		b := make([]byte, n)
		for i := range b {
			b[i] = byte('0' + r.IntN(10))
		}
		if r.IntN(4) == 0 {
			b = []byte(strings.Repeat("9", t.Precision))
		}
		s := string(b)
		if t.Scale > 0 {
			s = fmt.Sprintf("%se-%d", s, t.Scale)
		}
		if r.IntN(2) == 0 {
			s = "-" + s
		}
		v, err := table.ParseDecimal(t, s)
		if err != nil {
			panic(err)
		}
		return v
	case table.Char, table.VarChar:
		alphabet := []rune("ab\"\\\x00\x1f\n\t/é漢🐟\u2028\uFFFD\x7f")
		n := r.IntN(min(t.Length, 12) + 1)
		var s []rune
		for range n {
			s = append(s, alphabet[r.IntN(len(alphabet))])
		}
		return table.StringOf(string(s))
	case table.Binary, table.VarBinary:
		n := r.IntN(9)
		if t.Kind == table.Binary {
			n = t.Length
		}
		b := make([]byte, n)
		for i := range b {
			b[i] = byte(r.Uint32())
		}
		return table.BytesOf(b)
	case table.Date:
		return table.IntOf(within(-719162-400000, 2932896+4000000))
	case table.Time:
		return table.IntOf(within(0, 86_399_999))
	case table.Timestamp, table.TimestampLTZ:
		micros := within(-62135596800_000_000-10_000_000_000_000_000, 253402300799_999_999+1_000_000_000_000_000)
		unit := int64(math.Pow10(max(0, 6-t.Precision)))
		micros -= ((micros % unit) + unit) % unit
		nanos := 0
		if t.Precision == 9 {
			nanos = r.IntN(1000)
		}
		return table.TimestampOf(micros, nanos)
	}
	panic(t)
}

func randomRow(r *rand.Rand, s *table.Schema) table.Row {
	row := make(table.Row, len(s.Fields))
	for i, f := range s.Fields {
		row[i] = randomValue(r, f.Type)
	}
	return row
}

func equalRows(s *table.Schema, a, b table.Row) error {
	if (a == nil) != (b == nil) || len(a) != len(b) {
		return fmt.Errorf("%d values, want %d", len(b), len(a))
	}
	for i := range a {
		same := table.Equal(s.Fields[i].Type, a[i], b[i])
		if k := s.Fields[i].Type.Kind; k == table.Float || k == table.Double {
			same = same && (math.Float64bits(a[i].Float()) == math.Float64bits(b[i].Float()) || a[i].Float() != a[i].Float())
		}
		if !same {
			return fmt.Errorf("column %s %v: %s, want %s", s.Fields[i].Name, s.Fields[i].Type, table.Text(s.Fields[i].Type, b[i]), table.Text(s.Fields[i].Type, a[i]))
		}
	}
	return nil
}

func TestRoundTrip(t *testing.T) {
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 1))
	s := allTypes(t)
	c := logstore.NewCodec(s, topicA)
	for i := range 3000 {
		ch := table.Change{Offset: table.Offset(i), Kind: []table.RowKind{table.Insert, table.UpdateAfter, table.Delete}[r.IntN(3)]}
		if ch.Kind != table.Insert {
			ch.Before = randomRow(r, s)
		}
		if ch.Kind != table.Delete {
			ch.After = randomRow(r, s)
		}
		rec := c.Encode(ch, commit, false, nil)
		if !json.Valid(rec.Value) || !json.Valid(rec.Key) {
			t.Fatalf("seed %d: no JSON: %s %s", seed, rec.Key, rec.Value)
		}
		got, meta, err := c.Decode(logstore.Fetched{Offset: ch.Offset, Record: rec})
		if err != nil {
			t.Fatalf("seed %d: %v\n%s", seed, err, rec.Value)
		}
		if got.Kind != ch.Kind || got.Offset != ch.Offset || meta.CommitID() != commit || meta.SchemaID != 3 || meta.First() {
			t.Fatalf("seed %d: %+v %+v", seed, got, meta)
		}
		spaced := rec
		spaced.Value = append([]byte{' '}, rec.Value...) // not as we write it: decoded as any JSON
		slow, _, err := c.Decode(logstore.Fetched{Record: spaced})
		if err != nil {
			t.Fatalf("seed %d: %v\n%s", seed, err, rec.Value)
		}
		for _, p := range [][2]table.Row{{ch.Before, got.Before}, {ch.After, got.After}, {ch.Before, slow.Before}, {ch.After, slow.After}} {
			if err := equalRows(s, p[0], p[1]); err != nil {
				t.Fatalf("seed %d: %v\n%s", seed, err, rec.Value)
			}
		}
	}
}

// The forms that Flink's debezium-json and other readers are told of.
func TestRecordForm(t *testing.T) {
	s := allTypes(t)
	c := logstore.NewCodec(s, topicA)
	row := make(table.Row, len(s.Fields))
	for i, text := range []string{"1", "a\"b\n", "true", "-128", "5", "6", "0.1", "1e300", "123.45", "0.5", "12", "-0.0000000001", "0.1", "char", "漢", "\\x00ff", "\\x010203",
		"2024-02-29", "12:34:56.789", "2024-01-01 00:00:00", "0001-01-01 00:00:00.000001", "9999-12-31 23:59:59.999999999", "2024-01-01 00:00:00.12+00", "1969-12-31 23:59:59.999999999+00", "w"} {
		v, err := table.ParseText(s.Fields[i].Type, text, nil)
		if err != nil {
			t.Fatal(s.Fields[i].Name, err)
		}
		row[i] = v
	}
	rec := c.Encode(table.Change{Kind: table.Insert, After: row}, commit, true, []logstore.TopicPartition{{Topic: topicA, Partition: 0}, {Topic: topicB, Partition: 7}})
	const want = `{"before":null,"after":{"k":1,"s":"a\"b\n","b":true,"i1":-128,"i2":5,"i4":6,"f":0.1,"d":1e+300,"n5":123.45,"n15":0.500000000000000,"n18":"12","n38":"-0.0000000001","n38s":"0.10000000000000000000000000000000000000","c":"char","v":"漢","x":"AP8=","xf":"AQID","day":"2024-02-29","tm":"12:34:56.789","t0":"2024-01-01 00:00:00","t6":"0001-01-01 00:00:00.000001","t9":"9999-12-31 23:59:59.999999999","z3":"2024-01-01 00:00:00.12Z","z9":"1969-12-31 23:59:59.999999999Z","weird\"name\\ü":"w"},"op":"c"}`
	if got := string(rec.Value); got != want {
		t.Errorf("value\n%s\nwant\n%s", got, want)
	}
	if got := string(rec.Key); got != `{"k":1,"s":"a\"b\n"}` {
		t.Error("key", got)
	}
	var names []string
	for _, h := range rec.Headers {
		names = append(names, fmt.Sprintf("%s=%d", h.Key, len(h.Value)))
	}
	if !slices.Equal(names, []string{"c=16", "t=16", "s=1", "k=2", "p=40"}) {
		t.Error(names)
	}
	_, meta, err := c.Decode(logstore.Fetched{Record: rec})
	if err != nil || !slices.Equal(meta.Touched(), []logstore.TopicPartition{{Topic: topicA, Partition: 0}, {Topic: topicB, Partition: 7}}) {
		t.Error(meta.Touched(), err)
	}
	append1 := logstore.NewCodec(schemaOf(t, "", "a INT"), topicA).Encode(table.Change{Kind: table.Insert, After: table.Row{table.Null()}}, "not a uuid", false, nil)
	if append1.Key != nil || string(append1.Value) != `{"before":null,"after":{"a":null},"op":"c"}` {
		t.Errorf("%s %s", append1.Key, append1.Value)
	}
	if _, meta, err := logstore.NewCodec(schemaOf(t, "", "a INT"), topicA).Decode(logstore.Fetched{Record: append1}); err != nil || meta.CommitID() != "not a uuid" {
		t.Error(meta, err)
	}
}

func TestDecodeRefuses(t *testing.T) {
	s := schemaOf(t, "k", "k INT NOT NULL", "n DECIMAL(5, 2)", "s STRING", "d DATE", "z TIMESTAMP(3) WITH LOCAL TIME ZONE", "x BYTES", "f FLOAT")
	c := logstore.NewCodec(s, topicA)
	good := c.Encode(table.Change{Kind: table.Insert, After: table.Row{table.IntOf(1), table.Null(), table.Null(), table.Null(), table.Null(), table.Null(), table.Null()}}, commit, false, nil)
	decode := func(value string) error {
		_, _, err := c.Decode(logstore.Fetched{Offset: 42, Record: logstore.Record{Value: []byte(value), Headers: good.Headers}})
		return err
	}
	for _, v := range []string{`{"after":{"k":1},"op":"c"}`, `{"op":"c","after":{"other":[1,{}],"s":"é","k":2147483647,"n":1.5}}`, `{"before":{"k":1},"after":null,"op":"d","ts_ms":5}`,
		`{"after":{"k":1,"n":"999.990000"},"op":"c"}`, `{"after":{"k":1,"n":1e2},"op":"c"}`, `{"after":{"k":1,"d":"+12024-01-01","z":"-0001-12-31T23:59:59Z"},"op":"c"}`} {
		if err := decode(v); err != nil {
			t.Errorf("%s: %v", v, err)
		}
	}
	for _, v := range []string{``, `null`, `[]`, `{}`, `x`, `{"after":{"k":1},"op":"r"}`, `{"after":null,"op":"c"}`, `{"after":{"k":1},"op":"u"}`, `{"before":{"k":1},"after":{"k":1},"op":"c"}`,
		`{"after":{"k":null},"op":"c"}`, `{"after":{},"op":"c"}`, `{"after":{"k":1.5},"op":"c"}`, `{"after":{"k":2147483648},"op":"c"}`, `{"after":{"k":"1"},"op":"c"}`, `{"after":{"k":true},"op":"c"}`,
		`{"after":{"k":1,"n":1.005},"op":"c"}`, `{"after":{"k":1,"n":1000},"op":"c"}`, `{"after":{"k":1,"n":"x"},"op":"c"}`, `{"after":{"k":1,"s":5},"op":"c"}`, "{\"after\":{\"k\":1,\"s\":\"\xff\"},\"op\":\"c\"}",
		`{"after":{"k":1,"d":"2023-02-29"},"op":"c"}`, `{"after":{"k":1,"d":"2023-1-1"},"op":"c"}`, `{"after":{"k":1,"d":"9999999999-01-01"},"op":"c"}`, `{"after":{"k":1,"d":"+999999999-01-01"},"op":"c"}`,
		`{"after":{"k":1,"z":"2024-01-01 00:00:00"},"op":"c"}`, `{"after":{"k":1,"z":"+400000-01-01 00:00:00Z"},"op":"c"}`, `{"after":{"k":1,"z":"2024-01-01 24:00:00Z"},"op":"c"}`,
		`{"after":{"k":1,"x":"=="},"op":"c"}`, `{"after":{"k":1,"x":7},"op":"c"}`, `{"after":{"k":1,"f":"nan"},"op":"c"}`, `{"after":{"k":1,"f":1e39},"op":"c"}`, strings.Repeat("[", 100000)} {
		err := decode(v)
		if !errors.Is(err, logstore.ErrBadRecord) || table.SQLState(err) != "XX001" || !strings.Contains(err.Error(), "offset 42") {
			t.Errorf("%.60s: %v", v, err)
		}
	}
	if _, _, err := logstore.NewCodec(s, topicB).Decode(logstore.Fetched{Record: good}); !errors.Is(err, logstore.ErrForeign) {
		t.Error(err)
	}
	good.Headers = nil
	if _, _, err := c.Decode(logstore.Fetched{Record: good}); !errors.Is(err, logstore.ErrBadRecord) {
		t.Error(err)
	}
}

// Whatever decodes encodes to something that decodes to the same; nothing panics.
func FuzzDecode(f *testing.F) {
	s := allTypes(f)
	c := logstore.NewCodec(s, topicA)
	r := rand.New(rand.NewPCG(1, 2))
	for range 20 {
		rec := c.Encode(table.Change{Kind: table.UpdateAfter, Before: randomRow(r, s), After: randomRow(r, s)}, commit, true, []logstore.TopicPartition{{Topic: topicA}})
		f.Add(rec.Value, "t", []byte(rec.Headers[1].Value))
	}
	f.Add([]byte(`{"after":{"k":1,"s":"\ud800"},"op":"c"}`), "s", []byte("9"))
	headers := c.Encode(table.Change{Kind: table.Insert, After: randomRow(r, s)}, commit, true, nil).Headers
	f.Fuzz(func(t *testing.T, value []byte, name string, header []byte) {
		rec := logstore.Record{Value: value, Headers: append(slices.Clone(headers), logstore.Header{Key: name, Value: header})}
		ch, _, err := c.Decode(logstore.Fetched{Record: rec})
		if err != nil {
			return
		}
		// A blank first takes the way of any JSON: it must agree with the short one.
		rec.Value = append([]byte{' '}, value...)
		slow, _, err := c.Decode(logstore.Fetched{Record: rec})
		if err != nil || slow.Kind != ch.Kind {
			t.Fatalf("%v is %v: %v", ch.Kind, slow.Kind, err)
		}
		for _, p := range [][2]table.Row{{ch.Before, slow.Before}, {ch.After, slow.After}} {
			if err := equalRows(s, p[0], p[1]); err != nil {
				t.Fatal(err)
			}
		}
		for _, row := range []table.Row{ch.Before, ch.After} {
			for i := range row {
				if s.Fields[i].Type.IsString() && !utf8.ValidString(row[i].Str()) {
					t.Fatalf("%q is not UTF-8", row[i].Str())
				}
			}
		}
		again, _, err := c.Decode(logstore.Fetched{Record: c.Encode(ch, commit, false, nil)})
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range [][2]table.Row{{ch.Before, again.Before}, {ch.After, again.After}} {
			if err := equalRows(s, p[0], p[1]); err != nil {
				t.Fatal(err)
			}
		}
	})
}

func benchRow(b *testing.B) (*table.Schema, table.Change) {
	s := schemaOf(b, "id", "id BIGINT NOT NULL", "name STRING", "city STRING", "amount DECIMAL(10, 2)", "score DOUBLE", "ok BOOLEAN", "day DATE", "at TIMESTAMP(6)")
	return s, table.Change{Kind: table.Insert, After: table.Row{table.IntOf(123456), table.StringOf("Grace Hopper"), table.StringOf("Arlington, Virginia"), table.DecimalOfInt(1234567), table.FloatOf(0.12345),
		table.BoolOf(true), table.IntOf(19000), table.TimestampOf(1700000000123456, 0)}}
}

// processorTime reports what an operation costs in processor time, which a
// busy machine distorts less than the clock.
func processorTime(b *testing.B) func() {
	used := func() int64 {
		var u syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
			b.Fatal(err)
		}
		return u.Utime.Nano() + u.Stime.Nano()
	}
	start := used()
	return func() { b.ReportMetric(float64(used()-start)/float64(b.N), "cpu-ns/op") }
}

func BenchmarkEncode(b *testing.B) {
	s, ch := benchRow(b)
	c := logstore.NewCodec(s, topicA)
	b.ReportAllocs()
	defer processorTime(b)()
	for b.Loop() {
		c.Encode(ch, commit, false, nil)
	}
}

func BenchmarkDecode(b *testing.B) {
	s, ch := benchRow(b)
	c := logstore.NewCodec(s, topicA)
	f := logstore.Fetched{Record: c.Encode(ch, commit, false, nil)}
	b.SetBytes(int64(len(f.Value)))
	b.ReportAllocs()
	defer processorTime(b)()
	for b.Loop() {
		if _, _, err := c.Decode(f); err != nil {
			b.Fatal(err)
		}
	}
}
