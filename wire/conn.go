package wire

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"runtime/debug"
	"unicode/utf8"

	"dtstore/table"

	"github.com/jackc/pgproto3/v2"
)

// conn is one connection. Its goroutine runs serve and owns everything but
// what running guards.
type conn struct {
	srv    *Server
	net    net.Conn
	in     inbound
	guard  guard
	proto  *pgproto3.Backend
	out    Writer
	run    running
	pid    uint32
	secret uint32

	ctx      context.Context // the connection's life
	stop     context.CancelCauseFunc
	admitted bool // counted by the server
	session  Session
	skip     bool // an error was answered: messages are ignored until Sync
}

// inbound is what the guard reads: the socket, until a watcher has seen its end.
type inbound struct {
	net net.Conn
	err error
}

func (i *inbound) Read(p []byte) (int, error) {
	if i.err != nil {
		return 0, i.err
	}
	return i.net.Read(p)
}

func newConn(ctx context.Context, s *Server, nc net.Conn, pid, secret uint32) *conn {
	c := &conn{srv: s, net: nc, pid: pid, secret: secret}
	c.ctx, c.stop = context.WithCancelCause(ctx)
	c.in.net = nc
	c.guard = guard{r: &c.in, buf: make([]byte, smallBuffer), limit: maxStartup}
	c.proto = pgproto3.NewBackend(&c.guard, io.Discard)
	c.out.conn = c
	c.run.init(c)
	return c
}

// errHangUp ends a connection about which nothing more is to be said.
var errHangUp = errors.New("connection ended")

// errShutdown is what a client is told when the server stops.
var errShutdown = table.Errorf("57P01", "terminating connection due to administrator command")

// serve runs the connection to its end. It never panics.
func (c *conn) serve() {
	defer c.net.Close()
	defer c.guard.release()
	defer c.stop(errGone)
	defer func() {
		if c.session != nil {
			defer func() { c.recovered("close", recover()) }()
			c.session.Close()
		}
	}()
	defer c.run.stop()
	defer func() {
		if p := recover(); p != nil {
			c.fatal(c.recovered("serve", p))
		}
	}()
	if err := c.startup(); err != nil {
		c.fatal(err)
		return
	}
	if err := c.loop(); err != nil {
		c.fatal(err)
	}
}

// recovered logs a panic and gives the error to answer; nil for none.
func (c *conn) recovered(doing string, p any) error {
	if p == nil {
		return nil
	}
	c.srv.opts.Logger.Error("panic in a connection", "doing", doing, "pid", c.pid, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
	return table.Errorf("XX000", "internal error").WithDetail("The connection is closed; the server's log has the cause.")
}

// fatal sends the last message of a connection, if the client can still be
// told something.
func (c *conn) fatal(err error) {
	if errors.Is(err, errHangUp) || errors.Is(err, io.EOF) || c.out.err != nil {
		return
	}
	c.net.SetWriteDeadline(c.srv.now().Add(lastWords))
	c.out.error("FATAL", c.answer(err))
	c.out.flush()
}

// loop reads and answers messages until the client leaves (nil), or an error
// that ends the connection.
func (c *conn) loop() error {
	for {
		msg, err := c.receive()
		if err != nil {
			return err
		}
		if msg == nil {
			continue
		}
		if _, ok := msg.(*pgproto3.Terminate); ok {
			return nil
		}
		c.run.begin()
		if err := c.handle(msg); err != nil {
			return err
		}
	}
}

// receive reads the next message. A nil message was malformed and has been
// answered; an error ends the connection.
func (c *conn) receive() (pgproto3.FrontendMessage, error) {
	if !c.guard.complete() {
		c.run.end()
		c.idle()
	}
	msg, err := c.decode()
	if err == nil {
		return msg, nil
	}
	if c.guard.framed() {
		return nil, c.malformed()
	}
	var cause error
	switch {
	case errors.Is(c.guard.err, errLength):
		cause = table.Errorf("08P01", "invalid message length in a message of type %q", string(rune(c.guard.kind)))
	case errors.Is(c.guard.err, os.ErrDeadlineExceeded):
		cause = errShutdown // the only deadline on reads after login
	case c.guard.err != nil:
		cause = errHangUp // the client is gone
	default:
		cause = table.Errorf("08P01", "invalid frontend message type %d", c.guard.kind)
	}
	return nil, cause
}

// decode is pgproto3's Receive, whose decoders panic on some bodies.
func (c *conn) decode() (msg pgproto3.FrontendMessage, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("malformed body: %v", p) // a slice out of its range
		}
	}()
	c.guard.begin()
	return c.proto.Receive()
}

// malformed answers a message whose frame is right and whose body is not.
func (c *conn) malformed() error {
	switch kind := c.guard.kind; {
	case kind == 'X':
		return errHangUp
	case kind == 'p':
		return table.Errorf("08P01", "invalid frontend message type %d", kind)
	case kind == 'd' || kind == 'c' || kind == 'f', c.skip && kind != 'S':
		return nil
	default:
		c.fail(table.Errorf("08P01", "invalid message format in a message of type %q", string(rune(kind))))
		if kind == 'Q' || kind == 'F' || kind == 'S' {
			return c.ready()
		}
		c.skip = true
		return c.out.err
	}
}

// idle prepares for a wait that may be long: everything said, little held.
func (c *conn) idle() {
	c.guard.idle()
	c.out.idle()
}

// handle answers one message. An error ends the connection.
func (c *conn) handle(msg pgproto3.FrontendMessage) error {
	switch msg.(type) {
	case *pgproto3.CopyData, *pgproto3.CopyDone, *pgproto3.CopyFail:
		return nil // strays of a COPY that failed or ended
	case *pgproto3.Query, *pgproto3.Sync, *pgproto3.FunctionCall:
	case *pgproto3.Parse, *pgproto3.Bind, *pgproto3.Describe, *pgproto3.Execute, *pgproto3.Close, *pgproto3.Flush:
		if c.skip {
			return nil
		}
		if err := c.extended(msg); err != nil {
			if c.stopped() {
				return errShutdown
			}
			c.fail(err)
			c.skip = true
			c.out.flush() // a client that waits for rows sends no Sync before it knows
		}
		return c.out.err
	default:
		return table.Errorf("08P01", "invalid frontend message type %d", c.guard.kind)
	}
	if c.skip {
		if _, sync := msg.(*pgproto3.Sync); !sync {
			return nil
		}
	}
	if err := c.cycle(msg); err != nil {
		if c.stopped() {
			return errShutdown
		}
		c.fail(err)
	}
	c.skip = false
	return c.ready()
}

// stopped says whether the server ended the call.
func (c *conn) stopped() bool { return context.Cause(c.run.context()) == error(errShutdown) }

// cycle handles the messages that end with ReadyForQuery.
func (c *conn) cycle(msg pgproto3.FrontendMessage) error {
	ctx := c.run.context()
	c.out.extended = false
	switch m := msg.(type) {
	case *pgproto3.Query:
		if err := checkText(m.String); err != nil {
			return err
		}
		defer c.out.endCall()
		return c.session.Query(ctx, m.String, &c.out)
	case *pgproto3.Sync:
		return c.session.Sync(ctx, &c.out)
	}
	return table.Errorf("0A000", "the function call protocol is not supported").WithHint("Call the function in a SELECT.")
}

// extended handles the messages of a pipeline.
func (c *conn) extended(msg pgproto3.FrontendMessage) error {
	ctx := c.run.context()
	c.out.extended = true
	switch m := msg.(type) {
	case *pgproto3.Parse:
		if err := checkText(m.Name, m.Query); err != nil {
			return err
		}
		if err := c.session.Parse(ctx, m.Name, m.Query, m.ParameterOIDs); err != nil {
			return err
		}
		c.out.empty('1')
	case *pgproto3.Bind:
		if err := c.bind(ctx, m); err != nil {
			return err
		}
		c.out.empty('2')
	case *pgproto3.Describe:
		return c.describe(ctx, m)
	case *pgproto3.Execute:
		if err := checkText(m.Portal); err != nil {
			return err
		}
		defer c.out.endCall()
		return c.session.Execute(ctx, m.Portal, max(int(int32(m.MaxRows)), 0), &c.out)
	case *pgproto3.Close:
		if err := c.close(ctx, m); err != nil {
			return err
		}
		c.out.empty('3')
	case *pgproto3.Flush:
		c.out.flush()
	}
	return nil
}

func (c *conn) bind(ctx context.Context, m *pgproto3.Bind) error {
	if err := checkText(m.DestinationPortal, m.PreparedStatement); err != nil {
		return err
	}
	if n := len(m.ParameterFormatCodes); n > 1 && n != len(m.Parameters) {
		return table.Errorf("08P01", "bind message has %d parameter formats but %d parameters", n, len(m.Parameters))
	}
	return c.session.Bind(ctx, Bind{
		Portal: m.DestinationPortal, Statement: m.PreparedStatement,
		ParamFormats: m.ParameterFormatCodes, Params: m.Parameters, ResultFormats: m.ResultFormatCodes,
	})
}

func (c *conn) describe(ctx context.Context, m *pgproto3.Describe) error {
	if err := checkText(m.Name); err != nil {
		return err
	}
	var columns []Column
	var err error
	switch m.ObjectType {
	case 'S':
		var params []uint32
		if params, columns, err = c.session.DescribeStatement(ctx, m.Name); err != nil {
			return err
		}
		c.out.parameters(params)
	case 'P':
		if columns, err = c.session.DescribePortal(ctx, m.Name); err != nil {
			return err
		}
	default:
		return table.Errorf("08P01", "invalid DESCRIBE message subtype %d", m.ObjectType)
	}
	if columns == nil {
		c.out.empty('n')
	} else {
		c.out.description(columns)
	}
	return nil
}

func (c *conn) close(ctx context.Context, m *pgproto3.Close) error {
	if err := checkText(m.Name); err != nil {
		return err
	}
	switch m.ObjectType {
	case 'S':
		return c.session.CloseStatement(ctx, m.Name)
	case 'P':
		return c.session.ClosePortal(ctx, m.Name)
	}
	return table.Errorf("08P01", "invalid CLOSE message subtype %d", m.ObjectType)
}

// fail answers an error and tells the session.
func (c *conn) fail(err error) {
	c.out.error("ERROR", c.answer(err))
	if c.session != nil {
		c.session.Fail(err)
	}
}

// ready ends a cycle. The call has ended before the client can know, so that
// a cancel sent after ReadyForQuery cannot reach it or its successor.
func (c *conn) ready() error {
	c.run.end()
	c.out.readyForQuery(c.session.Status())
	c.out.flush()
	if c.out.err == nil && c.run.drained() {
		return errShutdown
	}
	return c.out.err
}

// checkText refuses names and texts that are not UTF-8. (They end at a NUL,
// so they hold none.)
func checkText(texts ...string) error {
	for _, s := range texts {
		if !utf8.ValidString(s) {
			return invalidUTF8([]byte(s))
		}
	}
	return nil
}

// matches compares a cancel key in constant time.
func (c *conn) matches(secret uint32) bool {
	return subtle.ConstantTimeEq(int32(c.secret), int32(secret)) == 1
}
