package wire

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
	"unicode/utf8"

	"dtstore/table"
)

// Codes in the place of a start-up packet's version.
const (
	codeCancel  = 80877102
	codeSSL     = 80877103
	codeGSS     = 80877104
	version30   = 3 << 16
	maxParams   = 200 // of a start-up packet; clients send a dozen
	maxKeyBytes = 256 // of a cancel request (protocol 3.2's are longer than ours)
)

// startup reads up to the start-up packet, makes the session, and sends the
// first ReadyForQuery. errHangUp means that the connection has done its work.
func (c *conn) startup() error {
	c.net.SetDeadline(c.srv.now().Add(c.srv.opts.LoginTimeout))
	info, unknown, minor, err := c.hello()
	if err != nil {
		if errors.Is(err, os.ErrDeadlineExceeded) {
			return table.Errorf("08P01", "no start-up packet within %v", c.srv.opts.LoginTimeout)
		}
		return err
	}
	if err := c.srv.admit(c); err != nil {
		return err
	}
	c.net.SetDeadline(time.Time{}) // opening the session may take long, and reads nothing
	info.PID, info.Remote, info.Notice = c.pid, c.net.RemoteAddr(), c.out.enqueue
	if minor > 0 || len(unknown) > 0 {
		c.out.negotiate(unknown)
	}
	c.out.authenticated()
	c.guard.limit = c.srv.opts.MaxMessageBytes
	session, err := c.srv.opts.NewSession(c.ctx, info, &c.out)
	if err != nil {
		return err
	}
	c.session = session
	c.out.backendKey(c.pid, c.secret)
	c.out.readyForQuery(session.Status())
	c.net.SetWriteDeadline(c.srv.now().Add(c.srv.opts.LoginTimeout))
	c.out.flush()
	if c.out.err != nil {
		return errHangUp
	}
	c.net.SetWriteDeadline(time.Time{})
	c.run.login()
	return nil
}

// hello reads encryption requests, answers them with no, and returns what the
// start-up packet says. A cancel request is carried out here.
func (c *conn) hello() (info StartupInfo, unknown []string, minor int, err error) {
	for ssl, gss := false, false; ; {
		body, err := c.packet()
		if err != nil {
			return info, nil, 0, err
		}
		code := binary.BigEndian.Uint32(body)
		switch {
		case code == codeSSL && !ssl, code == codeGSS && !gss:
			ssl, gss = ssl || code == codeSSL, gss || code == codeGSS
			if _, err := c.net.Write([]byte{'N'}); err != nil {
				return info, nil, 0, errHangUp
			}
		case code == codeCancel:
			if len(body) >= 12 && len(body) <= maxKeyBytes {
				c.srv.cancel(binary.BigEndian.Uint32(body[4:]), body[8:])
			}
			return info, nil, 0, errHangUp
		case code>>16 == 3:
			info, unknown, err = parseStartup(body[4:])
			return info, unknown, int(code & 0xffff), err
		default:
			return info, nil, 0, table.Errorf("0A000", "unsupported frontend protocol %d.%d: server supports 3.0", code>>16, code&0xffff)
		}
	}
}

// packet reads a message of the start-up phase, which has no type byte. Its
// body holds at least the code.
func (c *conn) packet() ([]byte, error) {
	head, err := c.guard.next(4)
	if err != nil {
		return nil, startupError(err)
	}
	size := int64(int32(binary.BigEndian.Uint32(head)))
	if size < 8 || size > maxStartup {
		return nil, table.Errorf("08P01", "invalid length of startup packet")
	}
	body, err := c.guard.next(int(size) - 4)
	if err != nil {
		return nil, startupError(err)
	}
	return body, nil
}

func startupError(err error) error {
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return err
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return table.Errorf("08P01", "incomplete startup packet")
	}
	return errHangUp
}

// parseStartup reads the name and value pairs of a start-up packet. unknown
// lists the protocol options (_pq_.…), none of which we have.
func parseStartup(b []byte) (info StartupInfo, unknown []string, err error) {
	layout := table.Errorf("08P01", "invalid startup packet layout: expected terminator as last byte")
	info.Params = map[string]string{}
	for {
		name, rest, ok := cutText(b)
		if !ok {
			return info, nil, layout
		}
		if name == "" {
			if len(rest) > 0 {
				return info, nil, layout
			}
			break
		}
		value, rest, ok := cutText(rest)
		if !ok {
			return info, nil, layout
		}
		b = rest
		switch {
		case !utf8.ValidString(name) || !utf8.ValidString(value):
			return info, nil, table.Errorf("22021", "startup packet holds text that is not UTF-8")
		case strings.HasPrefix(name, "_pq_."):
			unknown = append(unknown, name)
		case name == "user":
			info.User = value
		case name == "database":
			info.Database = value
		default:
			info.Params[name] = value
		}
		if len(info.Params)+len(unknown) > maxParams {
			return info, nil, table.Errorf("08P01", "startup packet has more than %d parameters", maxParams)
		}
	}
	if info.User == "" {
		return info, nil, table.Errorf("28000", "no PostgreSQL user name specified in startup packet")
	}
	if info.Database == "" {
		info.Database = info.User
	}
	return info, unknown, nil
}

func cutText(b []byte) (text string, rest []byte, ok bool) {
	for i, c := range b {
		if c == 0 {
			return string(b[:i]), b[i+1:], true
		}
	}
	return "", nil, false
}

// newSecret makes a cancel key.
func newSecret() (uint32, error) {
	var b [4]byte
	if _, err := rand.Read(b[:]); err != nil {
		return 0, fmt.Errorf("make a cancel key: %w", err)
	}
	return binary.BigEndian.Uint32(b[:]), nil
}
