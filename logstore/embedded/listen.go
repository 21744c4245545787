package embedded

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Limits of one request. kfake allocates whatever length a client names, and
// crashes on a request key that does not exist (the first bytes of an HTTP
// request, say), so the listener looks first.
const (
	maxProduceBytes = 128 << 20
	maxRequestBytes = 4 << 20
	minRequestBytes = 10 // key, version, correlation id, client id's length
)

// listen opens the listener. The log has neither passwords nor encryption, so
// it is reached only from this machine.
func listen(addr string) (net.Listener, error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, fmt.Errorf("kafka address %q: %w", addr, err)
	}
	ip, err := net.ResolveTCPAddr("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("kafka address %q: %w", addr, err)
	}
	if !ip.IP.IsLoopback() {
		return nil, fmt.Errorf("kafka address %q: the embedded log has no authentication and answers only on a loopback address such as 127.0.0.1:%s", addr, port)
	}
	ln, err := net.Listen("tcp", addr)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("kafka address %s is in use, perhaps by another server: stop that one, or choose another port: %w", net.JoinHostPort(host, port), err)
	}
	if err != nil {
		return nil, fmt.Errorf("kafka address %s: %w", addr, err)
	}
	return guarded{ln}, nil
}

// guarded is a listener whose connections refuse what would harm kfake.
type guarded struct{ net.Listener }

func (g guarded) Accept() (net.Conn, error) {
	c, err := g.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &guardedConn{Conn: c}, nil
}

// guardedConn checks the head of each request before it hands any of it on.
// Only one goroutine reads.
type guardedConn struct {
	net.Conn
	head [6]byte // length, key
	have []byte  // of head, not handed on yet
	body int64   // bytes of the request still to come from Conn
}

func (c *guardedConn) Read(p []byte) (int, error) {
	if len(c.have) == 0 && c.body == 0 {
		if err := c.next(); err != nil {
			return 0, err
		}
	}
	if len(c.have) > 0 {
		n := copy(p, c.have)
		c.have = c.have[n:]
		return n, nil
	}
	n, err := c.Conn.Read(p[:min(int64(len(p)), c.body)])
	c.body -= int64(n)
	return n, err
}

// next reads and checks the head of the next request.
func (c *guardedConn) next() error {
	if _, err := io.ReadFull(c.Conn, c.head[:]); err != nil {
		return err
	}
	n := int64(binary.BigEndian.Uint32(c.head[:]))
	key := int16(binary.BigEndian.Uint16(c.head[4:]))
	limit := int64(maxRequestBytes)
	if key == int16(kmsg.Produce) {
		limit = maxProduceBytes
	}
	if n < minRequestBytes || n > limit || key < 0 || kmsg.RequestForKey(key) == nil {
		return fmt.Errorf("no Kafka request: key %d, %d bytes", key, n)
	}
	c.have, c.body = c.head[:], n-2
	return nil
}
