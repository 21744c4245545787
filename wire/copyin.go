package wire

import (
	"context"
	"errors"
	"io"
	"os"

	"dtstore/table"

	"github.com/jackc/pgproto3/v2"
)

// CopyIn asks the client for data: it sends CopyInResponse and returns the
// bytes of its CopyData messages. io.EOF is CopyDone; CopyFail is 57014. The
// session may stop reading at any time: what still comes is thrown away. It
// must read to io.EOF before it answers Complete. The reader is the call's.
func (w *Writer) CopyIn(binary bool, columns int) (io.Reader, error) {
	format := byte(0)
	if binary {
		format = 1
	}
	w.copyResponse('G', format, columns)
	w.conn.run.pause()
	w.flush()
	if w.err != nil {
		return nil, w.err
	}
	return &copyIn{conn: w.conn}, nil
}

// copyResponse is CopyInResponse or CopyOutResponse.
func (w *Writer) copyResponse(kind, format byte, columns int) {
	start := len(w.buf)
	w.begin(kind)
	w.buf = append(w.buf, format, byte(columns>>8), byte(columns))
	for range columns {
		w.buf = append(w.buf, 0, format)
	}
	w.finishAt(start)
}

// copyIn reads CopyData messages while the watch of the socket is paused.
type copyIn struct {
	conn *conn
	rest []byte // of the message at hand
	err  error
}

func (r *copyIn) Read(p []byte) (int, error) {
	if len(r.rest) == 0 {
		var err error
		if r.rest, err = r.chunk(); err != nil {
			return 0, err
		}
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

// chunk is the data of the next message; it is valid until the next call.
func (r *copyIn) chunk() ([]byte, error) {
	for r.err == nil {
		msg, err := r.conn.decode()
		if err != nil {
			r.end(r.broken())
			break
		}
		switch m := msg.(type) {
		case *pgproto3.CopyData:
			if len(m.Data) > 0 {
				return m.Data, nil
			}
		case *pgproto3.CopyDone:
			r.end(io.EOF)
		case *pgproto3.CopyFail:
			r.end(table.Errorf("57014", "COPY from stdin failed: %s", m.Message))
		case *pgproto3.Sync, *pgproto3.Flush:
			// A client of the extended protocol may send them early; they mean nothing here.
		case *pgproto3.Terminate:
			r.conn.in.err = io.EOF
			r.conn.guard.drop()
			r.end(errGone)
		default:
			r.end(table.Errorf("08P01", "unexpected message type 0x%02X during COPY from stdin", r.conn.guard.kind))
		}
	}
	return nil, r.err
}

// end is called once, with the answer to all further reads.
func (r *copyIn) end(err error) {
	r.err = err
	r.conn.run.resume()
}

// broken says why there is no next message. If it cannot be framed, the
// connection has no next message either.
func (r *copyIn) broken() error {
	c := r.conn
	switch {
	case c.guard.framed():
		if c.guard.kind == 'f' {
			return table.Errorf("57014", "COPY from stdin failed")
		}
		return table.Errorf("08P01", "invalid message format during COPY from stdin")
	case errors.Is(c.guard.err, os.ErrDeadlineExceeded):
		if cause := context.Cause(c.run.context()); cause != nil {
			return cause
		}
		return errShutdown
	case c.guard.err != nil && !errors.Is(c.guard.err, errLength):
		c.in.err = c.guard.err
		return errGone
	}
	c.in.err = io.EOF
	c.guard.drop()
	return table.Errorf("08P01", "invalid message during COPY from stdin")
}
