package session_test

import (
	"context"
	"flag"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"
)

var postgresFlag = flag.String("postgres", "", "run testdata/postgres against this server, with -rewrite to take its answers")

// TestPostgresScripts runs scripts whose answers were taken from PostgreSQL 15:
//
//	go test ./session -run TestPostgresScripts -postgres postgres://… -rewrite
func TestPostgresScripts(t *testing.T) {
	t.Parallel()
	runScripts(t, "testdata/postgres", *postgresFlag)
}

// TestScripts runs scripts about what PostgreSQL does not have.
func TestScripts(t *testing.T) {
	t.Parallel()
	runScripts(t, "testdata/ours", "")
}

func runScripts(t *testing.T, dir, server string) {
	files, err := filepath.Glob(dir + "/*")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	for _, f := range files {
		t.Run(filepath.Base(f), func(t *testing.T) {
			if server == "" {
				t.Parallel()
			}
			url := server
			if url == "" {
				url = fmt.Sprintf("postgres://tester@%s/dtstore", open(t, options{bufferBytes: 64 << 10}).addr)
			}
			s := &script{t: t, url: url, conns: map[string]*talker{}}
			defer s.close()
			if server != "" {
				s.on("a").simple("DROP SCHEMA public CASCADE; CREATE SCHEMA public")
			}
			datadriven.RunTest(t, f, func(t *testing.T, d *datadriven.TestData) string { return s.run(t, d) })
		})
	}
}

// script talks to one server over named connections.
//
//	query [conn]            a simple query
//	pipeline [conn]         a message a line: parse NAME SQL, bind PORTAL STATEMENT [f] values…, describe s|p NAME, execute PORTAL [max], close s|p NAME, flush, sync
//	copy [conn]             COPY … FROM STDIN in the first line, then its data
//	cancel [conn]           after start
//	start [conn], end [conn]   a simple query that goes on in the background; until [conn] waits for a text in its answer
type script struct {
	t     *testing.T
	url   string
	conns map[string]*talker
}

func (s *script) close() {
	for _, c := range s.conns {
		c.hj.Conn.Close()
	}
}

// talker is one connection, below any driver.
type talker struct {
	t   *testing.T
	hj  *pgconn.HijackedConn
	out strings.Builder

	told, shown map[string]string // parameters
}

func (s *script) on(name string) *talker {
	if c := s.conns[name]; c != nil {
		return c
	}
	cfg, err := pgconn.ParseConfig(s.url)
	if err != nil {
		s.t.Fatal(err)
	}
	c, err := pgconn.ConnectConfig(context.Background(), cfg)
	if err != nil {
		s.t.Fatal(err)
	}
	hj, err := c.Hijack()
	if err != nil {
		s.t.Fatal(err)
	}
	s.conns[name] = &talker{t: s.t, hj: hj, told: maps.Clone(hj.ParameterStatuses), shown: maps.Clone(hj.ParameterStatuses)}
	return s.conns[name]
}

func (s *script) run(t *testing.T, d *datadriven.TestData) string {
	name := "a"
	if len(d.CmdArgs) > 0 {
		name = d.CmdArgs[0].Key
	}
	c := s.on(name)
	c.out.Reset()
	switch d.Cmd {
	case "query":
		c.simple(d.Input)
	case "copy":
		head, data, _ := strings.Cut(d.Input, "\n")
		c.send(&pgproto3.Query{String: head})
		for data != "" { // in small pieces
			n := min(7, len(data))
			c.send(&pgproto3.CopyData{Data: []byte(data[:n])})
			data = data[n:]
		}
		c.send(&pgproto3.CopyData{Data: []byte("\n")})
		c.send(&pgproto3.CopyDone{})
		c.answers(1)
	case "start":
		c.send(&pgproto3.Query{String: d.Input})
	case "cancel":
		done := make(chan struct{})
		stopped := make(chan struct{})
		go func() { // one that comes before the query has begun has no effect
			defer close(stopped)
			for {
				s.cancel(c)
				select {
				case <-done:
					return
				case <-time.After(50 * time.Millisecond):
				}
			}
		}()
		c.answers(1)
		close(done)
		<-stopped
	case "end":
		c.answers(1)
	case "until": // the answer so far has this text
		for !strings.Contains(c.out.String(), d.Input) {
			c.next()
		}
	case "pipeline":
		c.pipeline(d.Input)
	default:
		t.Fatalf("%s: unknown command %s", d.Pos, d.Cmd)
	}
	return c.out.String()
}

func (s *script) cancel(c *talker) {
	cfg, _ := pgconn.ParseConfig(s.url)
	conn, err := cfg.DialFunc(context.Background(), "tcp", fmt.Sprintf("%s:%d", cfg.Host, cfg.Port))
	if err != nil {
		s.t.Fatal(err)
	}
	defer conn.Close()
	b, _ := (&pgproto3.CancelRequest{ProcessID: c.hj.PID, SecretKey: c.hj.SecretKey}).Encode(nil)
	conn.Write(b)
	io.Copy(io.Discard, conn)
}

func (c *talker) send(m pgproto3.FrontendMessage) {
	c.hj.Frontend.Send(m)
	if err := c.hj.Frontend.Flush(); err != nil {
		c.t.Fatal(err)
	}
}

func (c *talker) simple(q string) {
	c.send(&pgproto3.Query{String: q})
	c.answers(1)
}

// answers reads until so many ReadyForQuery came.
func (c *talker) answers(n int) {
	for n > 0 {
		if _, ok := c.next().(*pgproto3.ReadyForQuery); ok {
			n--
		}
	}
}

// next reads one message.
func (c *talker) next() pgproto3.BackendMessage {
	c.hj.Conn.SetReadDeadline(time.Now().Add(60 * time.Second))
	m, err := c.hj.Frontend.Receive()
	if err != nil {
		c.t.Fatalf("after %q: %v", c.out.String(), err)
	}
	c.show(m)
	return m
}

func (c *talker) show(m pgproto3.BackendMessage) {
	w := &c.out
	switch m := m.(type) {
	case *pgproto3.RowDescription:
		for i, f := range m.Fields {
			if i > 0 {
				w.WriteString(", ")
			}
			fmt.Fprintf(w, "%s:%d", f.Name, f.DataTypeOID)
			if f.TypeModifier != -1 {
				fmt.Fprintf(w, "(%d)", f.TypeModifier)
			}
			if f.Format != 0 {
				w.WriteString(" binary")
			}
		}
		w.WriteString("\n")
	case *pgproto3.DataRow:
		for i, v := range m.Values {
			if i > 0 {
				w.WriteString(" | ")
			}
			switch {
			case v == nil:
				w.WriteString("NULL")
			case printable(v):
				w.Write(v)
			default:
				fmt.Fprintf(w, "%x", v)
			}
		}
		w.WriteString("\n")
	case *pgproto3.CommandComplete:
		fmt.Fprintf(w, "%s\n", m.CommandTag)
	case *pgproto3.ErrorResponse:
		fmt.Fprintf(w, "%s %s: %s\n", m.Severity, m.Code, m.Message)
		if m.Where != "" {
			fmt.Fprintf(w, "  context: %s\n", m.Where)
		}
	case *pgproto3.NoticeResponse:
		fmt.Fprintf(w, "%s %s: %s\n", m.Severity, m.Code, m.Message)
	case *pgproto3.ReadyForQuery:
		for _, name := range slices.Sorted(maps.Keys(c.told)) {
			if c.told[name] != c.shown[name] {
				fmt.Fprintf(w, "parameter %s = %s\n", name, c.told[name])
			}
		}
		c.shown = maps.Clone(c.told)
		if m.TxStatus != 'I' {
			fmt.Fprintf(w, "(%c)\n", m.TxStatus)
		}
	case *pgproto3.ParameterStatus:
		c.told[m.Name] = m.Value
	case *pgproto3.ParameterDescription:
		fmt.Fprintf(w, "parameters %v\n", m.ParameterOIDs)
	case *pgproto3.CopyData:
		fmt.Fprintf(w, "%s", m.Data)
	case *pgproto3.NoData:
		w.WriteString("no data\n")
	case *pgproto3.PortalSuspended:
		w.WriteString("suspended\n")
	case *pgproto3.EmptyQueryResponse:
		w.WriteString("empty\n")
	case *pgproto3.CopyInResponse, *pgproto3.CopyOutResponse, *pgproto3.CopyDone, *pgproto3.ParseComplete, *pgproto3.BindComplete, *pgproto3.CloseComplete:
	default:
		fmt.Fprintf(w, "%T\n", m)
	}
}

func printable(b []byte) bool {
	for _, c := range string(b) {
		if c < ' ' || c == 0xfffd {
			return false
		}
	}
	return true
}

func (c *talker) pipeline(text string) {
	syncs := 0
	for line := range strings.Lines(text) {
		word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		name, rest, _ := strings.Cut(rest, " ")
		if name == "-" {
			name = ""
		}
		switch word {
		case "parse":
			c.hj.Frontend.Send(&pgproto3.Parse{Name: name, Query: rest})
		case "bind": // bind PORTAL STATEMENT values…; a leading "b" asks for binary results
			st, rest, _ := strings.Cut(rest, " ")
			if st == "-" {
				st = ""
			}
			m := &pgproto3.Bind{DestinationPortal: name, PreparedStatement: st}
			for i, v := range strings.Fields(rest) {
				switch {
				case i == 0 && v == "binary":
					m.ResultFormatCodes = []int16{1}
				case v == "NULL":
					m.Parameters = append(m.Parameters, nil)
				default:
					m.Parameters = append(m.Parameters, []byte(strings.ReplaceAll(v, "_", " ")))
				}
			}
			c.hj.Frontend.Send(m)
		case "describe", "close":
			kind := name[0] - 'a' + 'A'
			if rest == "-" {
				rest = ""
			}
			if word == "close" {
				c.hj.Frontend.Send(&pgproto3.Close{ObjectType: kind, Name: rest})
			} else {
				c.hj.Frontend.Send(&pgproto3.Describe{ObjectType: kind, Name: rest})
			}
		case "execute":
			var n uint32
			fmt.Sscan(rest, &n)
			c.hj.Frontend.Send(&pgproto3.Execute{Portal: name, MaxRows: n})
		case "query":
			c.hj.Frontend.Send(&pgproto3.Query{String: name + " " + rest})
		case "sync":
			c.hj.Frontend.Send(&pgproto3.Sync{})
			syncs++
		default:
			c.t.Fatalf("pipeline: %q", line)
		}
	}
	if err := c.hj.Frontend.Flush(); err != nil {
		c.t.Fatal(err)
	}
	c.answers(syncs)
}
