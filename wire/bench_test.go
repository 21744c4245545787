package wire_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"testing"

	"dtstore/table"
	"dtstore/wire"

	"github.com/jackc/pgproto3/v2"
)

// bulk answers every query with n rows.
type bulk struct {
	*fake
	cols []wire.Column
	row  []table.Value
	n    int
}

func (b *bulk) Query(ctx context.Context, text string, w *wire.Writer) error {
	if err := w.Columns(b.cols); err != nil {
		return err
	}
	for range b.n {
		if err := w.Row(b.row); err != nil {
			return err
		}
	}
	return w.Complete("SELECT")
}

// BenchmarkRows measures rows from values to the socket, whose reader throws
// them away.
func BenchmarkRows(b *testing.B) {
	ints := []wire.Column{{Name: "a", OID: wire.OIDInt8}, {Name: "b", OID: wire.OIDInt4}, {Name: "c", OID: wire.OIDText}, {Name: "d", OID: wire.OIDInt8}}
	intRow := []table.Value{table.IntOf(1234567), table.IntOf(42), table.StringOf("some text"), table.IntOf(-9)}
	times := []wire.Column{{Name: "a", OID: wire.OIDDate}, {Name: "b", OID: wire.OIDTimestamp}, {Name: "c", OID: wire.OIDNumeric, Typmod: 10<<16 + 2 + 4}, {Name: "d", OID: wire.OIDFloat8}}
	timeRow := []table.Value{table.IntOf(19000), table.TimestampOf(1648756800123456, 0), table.DecimalOfInt(123456), table.FloatOf(3.25)}
	for _, bench := range []struct {
		name   string
		cols   []wire.Column
		row    []table.Value
		format int16
	}{
		{"text/ints", ints, intRow, 0}, {"binary/ints", ints, intRow, 1},
		{"text/times", times, timeRow, 0}, {"binary/times", times, timeRow, 1},
	} {
		b.Run(bench.name, func(b *testing.B) {
			cols, err := wire.WithFormats(bench.cols, []int16{bench.format})
			if err != nil {
				b.Fatal(err)
			}
			addr, _, _ := start(b, wire.Options{NewSession: func(ctx context.Context, info wire.StartupInfo, w *wire.Writer) (wire.Session, error) {
				return &bulk{fake: &fake{shop: &shop{}}, cols: cols, row: bench.row, n: b.N}, nil
			}})
			c := dial(b, addr)
			c.login(b, "user", "u")
			b.ReportAllocs()
			b.ResetTimer()
			c.Write(c.encode(b, "Query x"))
			buf := make([]byte, 1<<20)
			var tail []byte
			for !bytes.HasSuffix(tail, []byte{'Z', 0, 0, 0, 5, 'I'}) {
				n, err := c.Read(buf)
				if err != nil {
					b.Fatal(err)
				}
				tail = append(tail, buf[:n]...)
				tail = tail[max(len(tail)-6, 0):]
			}
			b.ReportMetric(float64(b.N*len(bench.row))/b.Elapsed().Seconds(), "values/s")
		})
	}
}

// BenchmarkPing measures a statement's way through the protocol.
func BenchmarkPing(b *testing.B) {
	addr, _, _ := start(b, wire.Options{})
	c := dial(b, addr)
	c.login(b, "user", "u")
	c.Write(c.encode(b, `Parse s "rows 1"`))
	c.Write(c.encode(b, `Sync`))
	c.read(1)
	var msg []byte
	for _, line := range []string{"Bind - s -> 1", "Describe P -", "Execute - 0", "Sync"} {
		msg = append(msg, c.encode(b, line)...)
	}
	b.ReportAllocs()
	for b.Loop() {
		c.Write(msg)
		for {
			m, err := c.front.Receive()
			if err != nil {
				b.Fatal(err)
			}
			if _, ok := m.(*pgproto3.ReadyForQuery); ok {
				break
			}
		}
	}
}

var copyBench = []wire.CopyColumn{
	{Name: "id", Type: table.Type{Kind: table.BigInt}},
	{Name: "date", Type: table.Type{Kind: table.Timestamp, Precision: 6}},
	{Name: "delay", Type: table.Type{Kind: table.Int}},
	{Name: "distance", Type: table.Type{Kind: table.Double}},
	{Name: "origin", Type: table.Type{Kind: table.VarChar, Length: table.MaxLength}},
}

func BenchmarkCopyIn(b *testing.B) {
	row := []table.Value{table.IntOf(123456), table.TimestampOf(1648756800123456, 0), table.IntOf(-12), table.FloatOf(1234.5), table.StringOf("SFO")}
	for _, format := range []string{"text", "csv", "binary"} {
		b.Run(format, func(b *testing.B) {
			data := encodeCopy(b, wire.CopyOptions{Format: copyFormats[format]}, copyBench, row, 100_000)
			b.SetBytes(int64(len(data) / 100_000))
			b.ReportAllocs()
			dst := make([]table.Value, len(copyBench))
			r := wire.NewCopyReader(bytes.NewReader(nil), wire.CopyOptions{Format: copyFormats[format]}, copyBench, nil)
			b.ResetTimer()
			for range b.N {
				err := r.Next(dst)
				if err != nil {
					r = wire.NewCopyReader(bytes.NewReader(data), wire.CopyOptions{Format: copyFormats[format]}, copyBench, nil)
				}
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "rows/s")
		})
	}
}

// encodeCopy makes COPY data by a COPY TO of n rows.
func encodeCopy(t testing.TB, o wire.CopyOptions, columns []wire.CopyColumn, row []table.Value, n int) []byte {
	t.Helper()
	var cols []wire.Column
	for _, c := range columns {
		cols = append(cols, wire.ColumnOf(c.Name, c.Type))
	}
	rows := make([][]table.Value, n)
	for i := range rows {
		rows[i] = row
	}
	return copyOut(t, o, cols, rows)
}

// copyOut is what a client gets of a COPY TO.
func copyOut(t testing.TB, o wire.CopyOptions, cols []wire.Column, rows [][]table.Value) []byte {
	t.Helper()
	client, server := net.Pipe()
	srv, err := wire.NewServer(wire.Options{NewSession: func(ctx context.Context, info wire.StartupInfo, w *wire.Writer) (wire.Session, error) {
		out, err := w.CopyOut(o, cols)
		if err != nil {
			return nil, err
		}
		for _, row := range rows {
			if err := out.Row(row); err != nil {
				return nil, err
			}
		}
		out.Close()
		return nil, table.Errorf("00000", "done")
	}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- srv.Serve(ctx, &oneConn{conn: server, ctx: ctx}) }()
	defer func() { stop(); <-done }()
	go client.Write(startupPacket(196608, "user", "u"))
	front := pgproto3.NewFrontend(pgproto3.NewChunkReader(client), client)
	var data []byte
	for {
		msg, err := front.Receive()
		if err != nil {
			t.Fatal(err)
		}
		switch m := msg.(type) {
		case *pgproto3.CopyData:
			data = append(data, m.Data...)
		case *pgproto3.ErrorResponse:
			if m.Code != "00000" {
				t.Fatal(fields(m))
			}
			return data
		}
	}
}

// oneConn is a listener of one connection.
type oneConn struct {
	conn net.Conn
	ctx  context.Context
}

func (l *oneConn) Accept() (net.Conn, error) {
	if c := l.conn; c != nil {
		l.conn = nil
		return c, nil
	}
	<-l.ctx.Done()
	return nil, fmt.Errorf("accept: %w", net.ErrClosed)
}
func (l *oneConn) Close() error   { return nil }
func (l *oneConn) Addr() net.Addr { return nil }

var _ io.Closer = (*oneConn)(nil)
