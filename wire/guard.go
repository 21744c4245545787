package wire

import (
	"encoding/binary"
	"errors"
	"io"
	"sync"
)

const (
	smallBuffer = 4 << 10  // of an idle connection
	largeBuffer = 64 << 10 // of one that reads or writes in bulk
	maxStartup  = 10000    // bytes of a start-up packet, as in Postgres
)

var largeBuffers = sync.Pool{New: func() any { b := make([]byte, largeBuffer); return &b }}

// errLength is a length field that is impossible or over the limit. What
// follows it cannot be framed, so the connection ends.
var errLength = errors.New("invalid message length")

// guard gives pgproto3 its bytes. pgproto3 trusts length fields; guard checks
// each against a limit before any memory is taken for it, and takes memory
// only as the bytes arrive. A slice it gave is valid until the next message.
type guard struct {
	r     io.Reader
	buf   []byte // its length is its capacity
	pos   int    // next byte to give
	end   int    // bytes read so far
	limit int    // most bytes of a message's body

	kind byte  // type of the message being received
	part int   // parts of it given so far: 1 the header, 2 the body
	err  error // of reading or framing; what pgproto3 makes of it is not used
}

// begin starts a new message, or goes on with one whose body was waited for
// when the wait was broken off (pgproto3 remembers the header too).
func (g *guard) begin() {
	if g.part == 1 && g.err != nil {
		g.err = nil
		return
	}
	g.kind, g.part, g.err = 0, 0, nil
}

// framed says whether the message was read whole, whatever its body says.
func (g *guard) framed() bool { return g.part == 2 && g.err == nil }

// Next gives the next n bytes: pgproto3 asks first for a header of 5 bytes,
// then for the body.
func (g *guard) Next(n int) ([]byte, error) {
	b, err := g.next(n)
	if err != nil {
		g.err = err
		return nil, err
	}
	g.part++
	if g.part == 1 {
		g.kind = b[0]
		if size := binary.BigEndian.Uint32(b[1:]); size < 4 || int64(size)-4 > int64(g.limit) {
			g.err = errLength
			return nil, errLength
		}
	}
	return b, nil
}

func (g *guard) next(n int) ([]byte, error) {
	if err := g.fill(n); err != nil {
		return nil, err
	}
	b := g.buf[g.pos : g.pos+n : g.pos+n]
	g.pos += n
	return b, nil
}

// fill reads until n bytes are buffered.
func (g *guard) fill(n int) error {
	for g.end-g.pos < n {
		g.room(n)
		m, err := g.r.Read(g.buf[g.end:])
		g.end += m
		if err != nil && g.end-g.pos < n {
			if err == io.EOF && g.end > g.pos {
				return io.ErrUnexpectedEOF
			}
			return err
		}
	}
	return nil
}

// room makes space for at least one more byte on the way to n buffered ones.
// The buffer grows only when it is full of this message's bytes.
func (g *guard) room(n int) {
	if g.pos == g.end {
		g.pos, g.end = 0, 0
	}
	if g.pos+n <= len(g.buf) && g.end < len(g.buf) {
		return
	}
	have := g.end - g.pos
	if have < len(g.buf) && (g.pos > 0 || g.end < len(g.buf)) {
		copy(g.buf, g.buf[g.pos:g.end])
		g.pos, g.end = 0, have
		return
	}
	var bigger []byte
	if len(g.buf) < largeBuffer {
		bigger = *largeBuffers.Get().(*[]byte)
	} else {
		bigger = make([]byte, min(2*len(g.buf), max(n, largeBuffer)))
	}
	copy(bigger, g.buf[g.pos:g.end])
	g.release()
	g.buf, g.pos, g.end = bigger, 0, have
}

// release gives a pooled buffer back; the caller replaces it.
func (g *guard) release() {
	if len(g.buf) == largeBuffer {
		b := g.buf
		largeBuffers.Put(&b)
	}
	g.buf = nil
}

// complete says whether the next message is here whole (or cannot be framed):
// receiving it will not wait.
func (g *guard) complete() bool {
	have := g.end - g.pos
	if g.part == 1 && g.err != nil || have < 5 {
		return false
	}
	size := binary.BigEndian.Uint32(g.buf[g.pos+1:])
	return int64(have) > int64(size)
}

// idle shrinks an empty buffer before a wait that may be long.
func (g *guard) idle() {
	if g.pos == g.end && len(g.buf) > smallBuffer {
		g.release()
		g.buf, g.pos, g.end = make([]byte, smallBuffer), 0, 0
	}
}

// add puts bytes that were read elsewhere behind the buffered ones.
func (g *guard) add(b []byte) {
	if free := len(g.buf) - g.end; free < len(b) {
		have := g.end - g.pos
		if have+len(b) <= len(g.buf) {
			copy(g.buf, g.buf[g.pos:g.end])
		} else {
			bigger := make([]byte, have+len(b))
			copy(bigger, g.buf[g.pos:g.end])
			g.release()
			g.buf = bigger
		}
		g.pos, g.end = 0, have
	}
	g.end += copy(g.buf[g.end:], b)
}

// drop forgets what is buffered: the connection has no next message.
func (g *guard) drop() { g.pos, g.end = 0, 0 }
