package wire_test

import (
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"dtstore/table"
	"dtstore/wire"

	"github.com/cockroachdb/datadriven"
)

var typeOIDs = map[string]uint32{
	"bool": wire.OIDBool, "bytea": wire.OIDBytea, "int2": wire.OIDInt2, "int4": wire.OIDInt4, "int8": wire.OIDInt8, "oid": wire.OIDOid,
	"float4": wire.OIDFloat4, "float8": wire.OIDFloat8, "numeric": wire.OIDNumeric, "text": wire.OIDText, "varchar": wire.OIDVarchar,
	"name": wire.OIDName, "unknown": wire.OIDUnknown, "json": wire.OIDJSON, "jsonb": wire.OIDJSONB, "date": wire.OIDDate, "time": wire.OIDTime,
	"timetz": wire.OIDTimetz, "timestamp": wire.OIDTimestamp, "timestamptz": wire.OIDTimestamptz, "interval": wire.OIDInterval, "uuid": wire.OIDUUID,
	"int4[]": wire.OIDInt4Array, "int8[]": wire.OIDInt8Array, "text[]": wire.OIDTextArray, "float8[]": wire.OIDFloat8Array, "bool[]": wire.OIDBoolArray,
	"numeric[]": wire.OIDNumericArray, "timestamptz[]": wire.OIDTimestamptzArray, "date[]": wire.OIDDateArray, "uuid[]": wire.OIDUUIDArray,
	"bytea[]": wire.OIDByteaArray, "interval[]": wire.OIDIntervalArray, "time[]": wire.OIDTimeArray,
}

// TestCodec reads text parameters and shows them as text and binary results.
// What it prints was compared with PostgreSQL 15.
//
//	decode TYPE [zone=ZONE]   each input line is Go-quoted or bare
func TestCodec(t *testing.T) {
	datadriven.RunTest(t, "testdata/codec", func(t *testing.T, d *datadriven.TestData) string {
		loc := time.UTC
		var zone string
		if d.MaybeScanArgs(t, "zone", &zone); zone != "" {
			var err error
			if loc, err = time.LoadLocation(zone); err != nil {
				t.Fatal(err)
			}
		}
		oid, ok := typeOIDs[d.CmdArgs[0].Key]
		if !ok {
			t.Fatalf("no type %s", d.CmdArgs[0].Key)
		}
		var out strings.Builder
		for line := range strings.SplitSeq(d.Input, "\n") {
			in := line
			if s, err := strconv.Unquote(line); err == nil {
				in = s
			}
			fmt.Fprintf(&out, "%s => %s\n", line, describe(oid, in, loc))
		}
		return out.String()
	})
}

func describe(oid uint32, in string, loc *time.Location) string {
	v, err := wire.DecodeParam(oid, 0, []byte(in), loc)
	if err != nil {
		return showError(err)
	}
	col := wire.Column{OID: oid, Typmod: -1}
	text, err := wire.AppendText(nil, col, v, loc)
	if err != nil {
		return "text: " + showError(err)
	}
	bin, err := wire.AppendBinary(nil, col, v)
	if err != nil {
		return fmt.Sprintf("%s binary: %s", text, showError(err))
	}
	back, err := wire.ParamText(oid, 1, bin, loc)
	if err != nil {
		return fmt.Sprintf("%s %x, which cannot be read: %s", text, bin, showError(err))
	}
	if back != string(text) {
		return fmt.Sprintf("%s %x, which reads as %s", text, bin, back)
	}
	return fmt.Sprintf("%s %x", text, bin)
}

func sprint(v any) string { return fmt.Sprint(v) }

func showError(err error) string {
	var e *table.Error
	if errors.As(err, &e) {
		return e.Code + " " + e.Message
	}
	return err.Error()
}

// TestCodecRoundTrips: for every type, text to value to binary to value to
// text ends where it began.
func TestCodecRoundTrips(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rnd := rand.New(rand.NewPCG(seed, 0))
	zones := []*time.Location{time.UTC, time.FixedZone("", 5*3600+1800), time.FixedZone("", -3*3600)}
	for name, oid := range typeOIDs {
		for range 500 {
			loc := zones[rnd.IntN(len(zones))]
			in := randomText(rnd, strings.TrimSuffix(name, "[]"))
			if strings.HasSuffix(name, "[]") {
				vals := make([]table.Value, rnd.IntN(4))
				for i := range vals {
					if rnd.IntN(4) > 0 {
						vals[i] = table.StringOf(randomText(rnd, strings.TrimSuffix(name, "[]")))
					}
				}
				b, err := wire.AppendArray(nil, wire.Column{OID: wire.OIDText}, vals, nil)
				if err != nil {
					t.Fatal(err)
				}
				in = string(b)
			}
			text, err := wire.ParamText(oid, 0, []byte(in), loc)
			if err != nil {
				t.Fatalf("%s %q: %v", name, in, err)
			}
			if again, err := wire.ParamText(oid, 0, []byte(text), loc); err != nil || again != text {
				t.Fatalf("%s %q is printed as %q and that as %q, %v", name, in, text, again, err)
			}
			v, err := wire.DecodeParam(oid, 0, []byte(in), loc)
			if err != nil {
				t.Fatal(err)
			}
			bin, err := wire.AppendBinary(nil, wire.Column{OID: oid, Typmod: -1}, v)
			if err != nil {
				t.Fatalf("%s %q: %v", name, in, err)
			}
			back, err := wire.ParamText(oid, 1, bin, loc)
			if err != nil || back != text {
				t.Fatalf("%s %q: text %q, binary %x reads as %q, %v", name, in, text, bin, back, err)
			}
		}
	}
}

func randomText(rnd *rand.Rand, name string) string {
	digits := func(n int) string {
		b := make([]byte, n)
		for i := range b {
			b[i] = byte('0' + rnd.IntN(10))
		}
		return string(b)
	}
	date := func() string {
		return fmt.Sprintf("%04d-%02d-%02d", 1+rnd.IntN(9999+rnd.IntN(2)*40000), 1+rnd.IntN(12), 1+rnd.IntN(28))
	}
	ancient := func() string { return fmt.Sprintf("%04d-%02d-%02d", 1+rnd.IntN(4700), 1+rnd.IntN(12), 1+rnd.IntN(28)) }
	clock := func() string {
		s := fmt.Sprintf("%02d:%02d:%02d", rnd.IntN(24), rnd.IntN(60), rnd.IntN(60))
		if n := rnd.IntN(7); n > 0 {
			s += "." + digits(n)
		}
		return s
	}
	sign := []string{"", "-"}[rnd.IntN(2)]
	switch name {
	case "bool":
		return []string{"t", "false", "yes", "0", "on"}[rnd.IntN(5)]
	case "int2":
		return strconv.Itoa(int(int16(rnd.Uint32())))
	case "int4":
		return strconv.Itoa(int(int32(rnd.Uint32() >> rnd.IntN(32))))
	case "int8":
		return strconv.FormatInt(int64(rnd.Uint64()>>rnd.IntN(64)), 10)
	case "oid":
		return strconv.Itoa(int(rnd.Uint32()))
	case "float4":
		f := math.Float32frombits(rnd.Uint32())
		return strconv.FormatFloat(float64(f), 'g', -1, 32)
	case "float8":
		return strconv.FormatFloat(math.Float64frombits(rnd.Uint64()), 'g', -1, 64)
	case "numeric":
		s := sign + digits(1+rnd.IntN(25))
		if n := rnd.IntN(14); n > 0 {
			s += "." + digits(n)
		}
		if rnd.IntN(4) == 0 {
			s += "e" + strconv.Itoa(rnd.IntN(20)-10)
		}
		return s
	case "date":
		return []string{date(), ancient() + " BC"}[rnd.IntN(2)]
	case "time":
		return clock()
	case "timetz":
		return clock() + []string{"+00", "-03:30", "+05:30:15", "Z"}[rnd.IntN(4)]
	case "timestamp":
		return []string{date() + " " + clock(), ancient() + " " + clock() + " BC"}[rnd.IntN(2)]
	case "timestamptz":
		return date() + " " + clock() + []string{"", "+02", "-03:30"}[rnd.IntN(3)]
	case "interval":
		return fmt.Sprintf("%d mons %d days %s%s", rnd.IntN(100)-50, rnd.IntN(100)-50, sign, clock())
	case "uuid":
		return fmt.Sprintf("%08x-%04x-%04x-%04x-%012x", rnd.Uint32(), rnd.IntN(65536), rnd.IntN(65536), rnd.IntN(65536), rnd.Uint64()>>16)
	case "bytea":
		return `\x` + hex.EncodeToString([]byte(digits(rnd.IntN(9))))
	case "json", "jsonb":
		return `{"a": "` + digits(rnd.IntN(9)) + `"}`
	}
	return strings.Map(func(r rune) rune { return []rune(`a "\{},NUL😀	`)[int(r)%12] }, digits(rnd.IntN(9)))
}

// FuzzBinaryParam: no bytes make a decoder panic, and what it accepts can be
// read again from its text.
func FuzzBinaryParam(f *testing.F) {
	for _, c := range oneOfEach {
		if !c.value.IsNull() {
			b, err := wire.AppendBinary(nil, c.column, c.value)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(c.column.OID, b)
		}
	}
	f.Fuzz(func(t *testing.T, oid uint32, b []byte) {
		text, err := wire.ParamText(oid, 1, b, time.UTC)
		if err != nil {
			return
		}
		if again, err := wire.ParamText(oid, 0, []byte(text), time.UTC); err != nil {
			if table.SQLState(err) != "22008" && table.SQLState(err) != "22007" { // intervals and dates beyond what text takes
				t.Errorf("oid %d %x: %q cannot be read: %v", oid, b, text, err)
			}
		} else if again != text {
			t.Errorf("oid %d %x: %q, then %q", oid, b, text, again)
		}
	})
}

// FuzzTextParam is FuzzBinaryParam for text.
func FuzzTextParam(f *testing.F) {
	for _, c := range oneOfEach {
		if !c.value.IsNull() {
			b, err := wire.AppendText(nil, c.column, c.value, nil)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(c.column.OID, b)
		}
	}
	f.Fuzz(func(t *testing.T, oid uint32, b []byte) {
		text, err := wire.ParamText(oid, 0, b, time.UTC)
		if err != nil {
			return
		}
		if again, err := wire.ParamText(oid, 0, []byte(text), time.UTC); err != nil || again != text {
			t.Errorf("oid %d %q: %q, then %q, %v", oid, b, text, again, err)
		}
		v, err := wire.DecodeParam(oid, 0, b, time.UTC)
		if err != nil {
			t.Fatal(err)
		}
		wire.AppendBinary(nil, wire.Column{OID: oid, Typmod: -1}, v)
	})
}
