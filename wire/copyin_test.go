package wire_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"

	"dtstore/table"
	"dtstore/wire"

	"github.com/cockroachdb/datadriven"
)

var copyTable = []wire.CopyColumn{
	{Name: "id", Type: table.Type{Kind: table.BigInt}},
	{Name: "name", Type: table.Type{Kind: table.VarChar, Length: table.MaxLength}},
	{Name: "n", Type: table.Type{Kind: table.Decimal, Precision: 10, Scale: 2}},
}

// TestCopyIn reads data as COPY t (id bigint, name text, n numeric(10,2)) FROM
// STDIN does. What it prints was compared with PostgreSQL 15.
//
//	copy [csv] [delimiter=C] [quote=C] [escape=C] [null=TEXT] [header] [match] [force_not_null] [force_null]
func TestCopyIn(t *testing.T) {
	datadriven.RunTest(t, "testdata/copyin", func(t *testing.T, d *datadriven.TestData) string {
		o := copyOptions(t, d)
		if err := o.Validate(); err != nil {
			return showError(err)
		}
		var out strings.Builder
		for line := range strings.SplitSeq(d.Input, "\n") {
			data, err := strconv.Unquote(line)
			if err != nil {
				t.Fatalf("%s: %v", line, err)
			}
			whole := readCopy(o, strings.NewReader(data))
			if bytewise := readCopy(o, iotest.OneByteReader(strings.NewReader(data))); bytewise != whole {
				t.Errorf("%s: at once %s, byte by byte %s", line, whole, bytewise)
			}
			fmt.Fprintf(&out, "%s => %s\n", line, whole)
		}
		return out.String()
	})
}

func copyOptions(t *testing.T, d *datadriven.TestData) wire.CopyOptions {
	o := wire.CopyOptions{Table: "t"}
	one := func(key string, b *byte) {
		var s string
		if d.MaybeScanArgs(t, key, &s); s != "" {
			*b = s[0]
		}
	}
	one("delimiter", &o.Delimiter)
	one("quote", &o.Quote)
	one("escape", &o.Escape)
	if d.HasArg("null") {
		var s string
		d.ScanArgs(t, "null", &s)
		o.Null = &s
	}
	if d.HasArg("csv") {
		o.Format = wire.CopyCSV
	}
	if d.HasArg("header") {
		o.Header = wire.HeaderYes
	}
	if d.HasArg("match") {
		o.Header = wire.HeaderMatch
	}
	if d.HasArg("force_not_null") {
		o.ForceNotNull = []bool{false, true, false}
	}
	if d.HasArg("force_null") {
		o.ForceNull = []bool{false, true, false}
	}
	return o
}

// readCopy shows the rows, or the error with its context.
func readCopy(o wire.CopyOptions, r io.Reader) string {
	in := wire.NewCopyReader(r, o, copyTable, nil)
	var rows []string
	row := make([]table.Value, len(copyTable))
	for {
		err := in.Next(row)
		if err == io.EOF {
			return strings.Join(rows, " ")
		}
		if err != nil {
			var e *table.Error
			if !errors.As(err, &e) {
				return err.Error()
			}
			return e.Code + " " + e.Message + " / " + strconv.Quote(e.Where)
		}
		var cells []string
		for i, v := range row {
			s := table.Text(copyTable[i].Type, v)
			if !v.IsNull() && i == 1 {
				s = strconv.Quote(s)
			}
			cells = append(cells, s)
		}
		rows = append(rows, "("+strings.Join(cells, ",")+")")
	}
}

// TestCopyRoundTrips: what COPY TO prints, COPY FROM reads, whatever the
// options and however the bytes are cut.
func TestCopyRoundTrips(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rnd := rand.New(rand.NewPCG(seed, 0))
	null := func(s string) *string { return &s }
	types := []table.Type{
		{Kind: table.BigInt}, {Kind: table.VarChar, Length: table.MaxLength}, {Kind: table.Decimal, Precision: 38, Scale: 10},
		{Kind: table.VarBinary, Length: table.MaxLength}, {Kind: table.Boolean}, {Kind: table.Float}, {Kind: table.Double}, {Kind: table.Date},
		{Kind: table.Time, Precision: 3}, {Kind: table.Timestamp, Precision: 6}, {Kind: table.TimestampLTZ, Precision: 6}, {Kind: table.SmallInt}, {Kind: table.Char, Length: 7},
	}
	var columns []wire.CopyColumn
	var cols []wire.Column
	for i, ty := range types {
		columns = append(columns, wire.CopyColumn{Name: "c" + strconv.Itoa(i), Type: ty})
		cols = append(cols, wire.ColumnOf("c"+strconv.Itoa(i), ty))
	}
	for _, o := range []wire.CopyOptions{
		{}, {Delimiter: '|', Null: null("")}, {Delimiter: ',', Null: null("nil")}, {Format: wire.CopyCSV}, {Format: wire.CopyCSV, Header: wire.HeaderMatch},
		{Format: wire.CopyCSV, Delimiter: ';', Quote: '\'', Escape: '\\', Null: null("NULL")}, {Format: wire.CopyCSV, ForceQuote: []bool{true, true}}, {Format: wire.CopyBinary},
	} {
		if err := o.Validate(); err != nil {
			t.Fatal(err)
		}
		rows := make([][]table.Value, 50)
		for i := range rows {
			for _, ty := range types {
				rows[i] = append(rows[i], randomValue(rnd, ty))
			}
		}
		data := copyOut(t, o, cols, rows)
		in := wire.NewCopyReader(&choppy{data, rnd}, o, columns, nil)
		got := make([]table.Value, len(types))
		for i, want := range rows {
			if err := in.Next(got); err != nil {
				t.Fatalf("%+v row %d: %v\n%q", o, i, err, data)
			}
			for j, ty := range types {
				if o.Null != nil && o.Format == wire.CopyText && !want[j].IsNull() && table.Text(ty, want[j]) == *o.Null {
					continue // the text format cannot tell it from NULL
				}
				if !table.Equal(ty, got[j], want[j]) {
					t.Errorf("%+v row %d %s: %q, want %q", o, i, ty, table.Text(ty, got[j]), table.Text(ty, want[j]))
				}
			}
		}
		if err := in.Next(got); err != io.EOF {
			t.Errorf("%+v: after the last row %v", o, err)
		}
	}
}

func randomValue(rnd *rand.Rand, ty table.Type) table.Value {
	if rnd.IntN(5) == 0 {
		return table.Null()
	}
	switch ty.Kind {
	case table.VarChar:
		parts := []string{"a", "\t", "\n", "\r", `\`, `\.`, `\N`, `"`, "'", ",", "|", ";", "é", "😀", " ", "NULL", "nil", "\b\f\v", "x41"}
		s := ""
		for range rnd.IntN(5) {
			s += parts[rnd.IntN(len(parts))]
		}
		return table.StringOf(s)
	case table.Char:
		return table.StringOf("ab"[:rnd.IntN(3)])
	case table.VarBinary:
		b := make([]byte, rnd.IntN(5))
		for i := range b {
			b[i] = byte(rnd.Uint32())
		}
		return table.BytesOf(b)
	case table.Boolean:
		return table.BoolOf(rnd.IntN(2) == 0)
	case table.Float:
		return table.FloatOf(float64(float32(rnd.NormFloat64())))
	case table.Double:
		return table.FloatOf([]float64{rnd.NormFloat64(), float64(rnd.IntN(100000)) / 100, -0.5}[rnd.IntN(3)])
	case table.Date:
		return table.IntOf(int64(rnd.IntN(80000) - 40000))
	case table.Time:
		return table.IntOf(int64(rnd.IntN(86400000)))
	case table.Timestamp, table.TimestampLTZ:
		return table.TimestampOf(int64(rnd.Uint64()>>12)-1<<51, 0)
	case table.SmallInt:
		return table.IntOf(int64(int16(rnd.Uint32())))
	case table.Decimal:
		if rnd.IntN(2) == 0 {
			return table.DecimalOfInt(int64(rnd.Uint64() >> rnd.IntN(64)))
		}
		return table.DecimalOf(int64(rnd.Uint32())-1<<31, rnd.Uint64())
	}
	return table.IntOf(int64(rnd.Uint64()))
}

// choppy gives a few bytes at a time.
type choppy struct {
	data []byte
	rnd  *rand.Rand
}

func (c *choppy) Read(p []byte) (int, error) {
	if len(c.data) == 0 {
		return 0, io.EOF
	}
	n := copy(p[:min(1+c.rnd.IntN(100), len(p))], c.data)
	c.data = c.data[n:]
	return n, nil
}

// FuzzCopyReader: no bytes make it panic, and how they are cut does not matter.
func FuzzCopyReader(f *testing.F) {
	for _, s := range []string{"1\ta\t1.5\n", "1,\"a\"\"b\",2\r\n", `\.`, "PGCOPY\n\xff\r\n\x00\x00\x00\x00\x00\x00\x00\x00\x00\xff\xff", "1\t\\x41\\101\\N\\\n\t\\N\n"} {
		for format := range 3 {
			f.Add(byte(format), []byte(s))
		}
	}
	f.Fuzz(func(t *testing.T, format byte, data []byte) {
		o := wire.CopyOptions{Format: wire.CopyFormat(format % 3)}
		whole := readCopy(o, bytes.NewReader(data))
		if bytewise := readCopy(o, iotest.OneByteReader(bytes.NewReader(data))); bytewise != whole {
			t.Errorf("at once %s, byte by byte %s", whole, bytewise)
		}
	})
}
