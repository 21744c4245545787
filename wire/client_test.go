package wire_test

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"dtstore/wire"

	"github.com/cockroachdb/datadriven"
	"github.com/jackc/pgproto3/v2"
)

// raw is a client that sends frames as it is told and shows what comes back.
type raw struct {
	net.Conn
	front    *pgproto3.Frontend
	pid, key uint32
}

func dial(t testing.TB, addr string) *raw {
	t.Helper()
	nc, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { nc.Close() })
	nc.SetDeadline(time.Now().Add(20 * time.Second)) // of a test that hangs
	return &raw{Conn: nc, front: pgproto3.NewFrontend(pgproto3.NewChunkReader(nc), nc)}
}

func (r *raw) frame(kind byte, body []byte) []byte {
	b := []byte{kind}
	b = binary.BigEndian.AppendUint32(b, uint32(len(body)+4))
	return append(b, body...)
}

// login sends a start-up packet and reads to ReadyForQuery.
func (r *raw) login(t testing.TB, pairs ...string) string {
	t.Helper()
	r.Write(startupPacket(196608, pairs...))
	return r.read(1)
}

func startupPacket(version uint32, pairs ...string) []byte {
	b := binary.BigEndian.AppendUint32([]byte{0, 0, 0, 0}, version)
	for _, s := range pairs {
		b = append(append(b, s...), 0)
	}
	b = append(b, 0)
	binary.BigEndian.PutUint32(b, uint32(len(b)))
	return b
}

// read shows messages up to the n-th that waits for the client (ReadyForQuery
// or CopyInResponse), or the end of the connection.
func (r *raw) read(n int) string {
	var out strings.Builder
	for n > 0 {
		msg, err := r.front.Receive()
		if err != nil {
			switch {
			case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), strings.Contains(err.Error(), "reset by peer"):
				out.WriteString("(closed)\n")
			case errors.Is(err, os.ErrDeadlineExceeded):
				out.WriteString("(nothing came)\n")
			default:
				fmt.Fprintf(&out, "(%v)\n", err)
			}
			break
		}
		out.WriteString(r.show(msg) + "\n")
		switch msg.(type) {
		case *pgproto3.ReadyForQuery, *pgproto3.CopyInResponse:
			n--
		}
	}
	return out.String()
}

func (r *raw) show(msg pgproto3.BackendMessage) string {
	switch m := msg.(type) {
	case *pgproto3.ReadyForQuery:
		return "ReadyForQuery " + string(rune(m.TxStatus))
	case *pgproto3.BackendKeyData:
		r.pid, r.key = m.ProcessID, m.SecretKey
		return "BackendKeyData"
	case *pgproto3.ErrorResponse:
		return "Error " + fields(m)
	case *pgproto3.NoticeResponse:
		e := pgproto3.ErrorResponse(*m)
		return "Notice " + fields(&e)
	case *pgproto3.RowDescription:
		var cols []string
		for _, f := range m.Fields {
			cols = append(cols, fmt.Sprintf("%s oid=%d size=%d typmod=%d format=%d table=%d.%d", f.Name, f.DataTypeOID, f.DataTypeSize, f.TypeModifier, f.Format, f.TableOID, f.TableAttributeNumber))
		}
		return "RowDescription [" + strings.Join(cols, ", ") + "]"
	case *pgproto3.DataRow:
		var vals []string
		for _, v := range m.Values {
			switch {
			case v == nil:
				vals = append(vals, "NULL")
			case strings.ContainsFunc(string(v), func(r rune) bool { return r < ' ' || r == 0xfffd }):
				vals = append(vals, "x"+hex.EncodeToString(v))
			default:
				vals = append(vals, string(v))
			}
		}
		return "DataRow " + strings.Join(vals, " | ")
	case *pgproto3.CommandComplete:
		return "CommandComplete " + string(m.CommandTag)
	case *pgproto3.ParameterStatus:
		return "ParameterStatus " + m.Name + " " + m.Value
	case *pgproto3.ParameterDescription:
		return fmt.Sprint("ParameterDescription ", m.ParameterOIDs)
	case *pgproto3.CopyData:
		return "CopyData " + strconv.Quote(string(m.Data))
	case *pgproto3.CopyInResponse:
		return fmt.Sprintf("CopyInResponse %d %d", m.OverallFormat, m.ColumnFormatCodes)
	case *pgproto3.CopyOutResponse:
		return fmt.Sprintf("CopyOutResponse %d %d", m.OverallFormat, m.ColumnFormatCodes)
	}
	return strings.TrimPrefix(fmt.Sprintf("%T", msg), "*pgproto3.")
}

func fields(m *pgproto3.ErrorResponse) string {
	s := fmt.Sprintf("%s %s %s", m.Severity, m.Code, m.Message)
	for _, f := range []struct{ name, value string }{{"detail", m.Detail}, {"hint", m.Hint}, {"where", m.Where}} {
		if f.value != "" {
			s += " (" + f.name + ": " + f.value + ")"
		}
	}
	if m.Position != 0 {
		s += fmt.Sprintf(" (position: %d)", m.Position)
	}
	return s
}

// encode turns one line of a script into bytes to send.
//
//	Query TEXT | Parse NAME TEXT [OID…] | Bind PORTAL STATEMENT [PARAM…] [-> FORMAT…] | Describe S|P NAME |
//	Execute PORTAL MAX | Close S|P NAME | Sync | Flush | CopyData "TEXT" | CopyDone | CopyFail TEXT | Terminate |
//	Hex DIGITS | Frame TYPE DIGITS | Startup VERSION NAME VALUE … | SSLRequest | GSSENCRequest
//
// - stands for an empty name, NULL for a null parameter; Go strings are quoted.
func (r *raw) encode(t testing.TB, line string) []byte {
	t.Helper()
	word, rest, _ := strings.Cut(line, " ")
	args := splitArgs(t, rest)
	enc := func(m pgproto3.FrontendMessage) []byte {
		b, err := m.Encode(nil)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	switch word {
	case "Query":
		return enc(&pgproto3.Query{String: rest})
	case "Parse":
		m := &pgproto3.Parse{Name: args[0], Query: args[1]}
		for _, a := range args[2:] {
			oid, _ := strconv.Atoi(a)
			m.ParameterOIDs = append(m.ParameterOIDs, uint32(oid))
		}
		return enc(m)
	case "Bind":
		m := &pgproto3.Bind{DestinationPortal: args[0], PreparedStatement: args[1]}
		formats := false
		for _, a := range args[2:] {
			switch {
			case a == "->":
				formats = true
			case formats:
				n, _ := strconv.Atoi(a)
				m.ResultFormatCodes = append(m.ResultFormatCodes, int16(n))
			case a == "NULL":
				m.Parameters = append(m.Parameters, nil)
			default:
				m.Parameters = append(m.Parameters, []byte(a))
			}
		}
		return enc(m)
	case "Describe":
		return enc(&pgproto3.Describe{ObjectType: args[0][0], Name: args[1]})
	case "Close":
		return enc(&pgproto3.Close{ObjectType: args[0][0], Name: args[1]})
	case "Execute":
		n, _ := strconv.Atoi(args[1])
		return enc(&pgproto3.Execute{Portal: args[0], MaxRows: uint32(n)})
	case "Sync":
		return enc(&pgproto3.Sync{})
	case "Flush":
		return enc(&pgproto3.Flush{})
	case "CopyData":
		return enc(&pgproto3.CopyData{Data: []byte(args[0])})
	case "CopyDone":
		return enc(&pgproto3.CopyDone{})
	case "CopyFail":
		return enc(&pgproto3.CopyFail{Message: rest})
	case "Terminate":
		return enc(&pgproto3.Terminate{})
	case "Startup":
		v, _ := strconv.ParseUint(args[0], 10, 32)
		return startupPacket(uint32(v), args[1:]...)
	case "SSLRequest":
		return []byte{0, 0, 0, 8, 0x04, 0xd2, 0x16, 0x2f}
	case "GSSENCRequest":
		return []byte{0, 0, 0, 8, 0x04, 0xd2, 0x16, 0x30}
	case "Hex":
		b, err := hex.DecodeString(strings.ReplaceAll(rest, " ", ""))
		if err != nil {
			t.Fatal(err)
		}
		return b
	case "Frame":
		b, err := hex.DecodeString(strings.Join(args[1:], ""))
		if err != nil {
			t.Fatal(err)
		}
		return r.frame(args[0][0], b)
	}
	t.Fatalf("unknown line %q", line)
	return nil
}

func splitArgs(t testing.TB, s string) []string {
	var args []string
	for s = strings.TrimSpace(s); s != ""; s = strings.TrimSpace(s) {
		if s[0] == '"' {
			q, err := strconv.QuotedPrefix(s)
			if err != nil {
				t.Fatal(err)
			}
			a, _ := strconv.Unquote(q)
			args, s = append(args, a), s[len(q):]
			continue
		}
		a, rest, _ := strings.Cut(s, " ")
		if a == "-" {
			a = ""
		}
		args, s = append(args, a), rest
	}
	return args
}

// TestTranscripts replays the scripts in testdata. Their commands:
//
//	connect [raw]      a connection, logged in unless raw
//	send [n=N]         sends the lines in one write; shows what comes back up to N (1) ReadyForQuery or CopyInResponse
//	bytes n=N          sends the lines; shows N raw bytes
//	cancel [wrong]     cancels by another connection once a call waits, shows what comes back
//	cancel idle        cancels while nothing runs
//	terminate          ends the connection by the server once a call waits, shows what comes back
//	committed          what the sessions have committed
func TestTranscripts(t *testing.T) {
	datadriven.Walk(t, "testdata/transcripts", func(t *testing.T, path string) {
		addr, shop, srv := start(t, wire.Options{MaxConnections: 3})
		var c *raw
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			n := 1
			d.MaybeScanArgs(t, "n", &n)
			send := func() {
				var b []byte
				for line := range strings.SplitSeq(strings.TrimSpace(d.Input), "\n") {
					if line != "" {
						b = append(b, c.encode(t, line)...)
					}
				}
				c.Write(b)
			}
			switch d.Cmd {
			case "connect":
				if c != nil {
					c.Close()
				}
				c = dial(t, addr)
				if d.HasArg("raw") {
					return ""
				}
				return c.login(t, "user", "u")
			case "send":
				send()
				return c.read(n)
			case "bytes":
				send()
				b := make([]byte, n)
				if _, err := io.ReadFull(c, b); err != nil {
					return err.Error()
				}
				return string(b)
			case "cancel":
				if !d.HasArg("idle") {
					<-shop.started
				}
				key := c.key
				if d.HasArg("wrong") {
					key++
				}
				k := dial(t, addr)
				b := binary.BigEndian.AppendUint32([]byte{0, 0, 0, 16, 0x04, 0xd2, 0x16, 0x2e}, c.pid)
				k.Write(binary.BigEndian.AppendUint32(b, key))
				if rest, err := io.ReadAll(k); len(rest) > 0 || err != nil {
					return fmt.Sprintf("cancel answered %q, %v", rest, err)
				}
				if d.HasArg("idle") {
					return ""
				}
				if d.HasArg("wrong") {
					srv.Terminate(c.pid) // the first interruption is the one that shows
				}
				return c.read(n)
			case "terminate":
				<-shop.started
				srv.Terminate(c.pid)
				return c.read(n)
			case "committed":
				shop.mu.Lock()
				defer shop.mu.Unlock()
				s := fmt.Sprintln(shop.committed)
				shop.committed = nil
				return s
			}
			t.Fatalf("unknown command %q", d.Cmd)
			return ""
		})
	})
}
