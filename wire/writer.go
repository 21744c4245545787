package wire

import (
	"encoding/binary"
	"fmt"
	"sync"
	"time"

	"dtstore/table"

	"github.com/jackc/pgproto3/v2"
)

const (
	flushBytes = 32 << 10 // buffered output that is sent without being asked
	maxQueued  = 64       // notices from other goroutines
	maxRow     = 1 << 30  // bytes of one row, as in Postgres
)

// Writer takes a session's answers. It belongs to the connection's goroutine:
// a session uses it inside a call (or inside NewSession), never elsewhere.
//
// What is written is sent when 32 KiB have gathered, at Flush, and at the end
// of each cycle. Sending waits for the client to read. Once sending has failed
// every method that can returns that error.
type Writer struct {
	conn     *conn
	buf      []byte
	err      error // of sending
	extended bool  // in the extended protocol: Columns sends nothing
	enc      rowEncoder
	loc      *time.Location // of timestamps with time zone; nil is UTC

	mu    sync.Mutex // guards queue
	queue []Notice   // from other goroutines
}

// Columns says what the following rows have. In a simple query it sends the
// RowDescription; in Execute, Describe has done so.
func (w *Writer) Columns(columns []Column) error {
	w.enc.set(columns)
	if !w.extended {
		w.description(columns)
	}
	return w.err
}

// Row sends one row, a value for each column of Columns. The values are copied
// out before it returns. An error that is not of sending (a value without a
// representation) has sent nothing of the row.
func (w *Writer) Row(row []table.Value) error {
	if w.err != nil {
		return w.err
	}
	w.room()
	buf, err := w.enc.dataRow(w.buf, row, w.loc)
	if err != nil {
		return err
	}
	w.buf = buf
	if len(w.buf) >= flushBytes {
		w.flush()
	}
	return w.err
}

// Complete ends a statement with its command tag.
func (w *Writer) Complete(tag string) error {
	w.text('C', printable(tag))
	return w.err
}

// Suspended ends an Execute that has given maxRows rows and may go on.
func (w *Writer) Suspended() { w.empty('s') }

// Empty answers a text without statements.
func (w *Writer) Empty() { w.empty('I') }

// Notice sends a message beside the result.
func (w *Writer) Notice(n Notice) error {
	buf, err := n.encode(w.buf)
	if err != nil {
		return err
	}
	w.buf = buf
	return w.err
}

// ParameterStatus tells a parameter's value, at the start and when it changes.
func (w *Writer) ParameterStatus(name, value string) {
	start := len(w.buf)
	w.begin('S')
	w.cstring(printable(name))
	w.cstring(printable(value))
	w.finishAt(start)
}

// SetLocation sets the zone in which timestamps with time zone are printed.
// The default is UTC.
func (w *Writer) SetLocation(l *time.Location) { w.loc = l }

// Location is the zone set last.
func (w *Writer) Location() *time.Location {
	if w.loc == nil {
		return time.UTC
	}
	return w.loc
}

// Flush sends what has gathered, before a stream waits for more.
func (w *Writer) Flush() error {
	w.flush()
	return w.err
}

func (w *Writer) flush() {
	w.dequeue()
	if w.err == nil && len(w.buf) > 0 {
		_, w.err = w.conn.net.Write(w.buf)
	}
	w.buf = w.buf[:0]
}

// enqueue takes a notice from any goroutine.
func (w *Writer) enqueue(n Notice) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.queue) < maxQueued {
		w.queue = append(w.queue, n)
	}
}

func (w *Writer) dequeue() {
	w.mu.Lock()
	queue := w.queue
	w.queue = nil
	w.mu.Unlock()
	for _, n := range queue {
		w.Notice(n)
	}
}

// room takes a pooled buffer when a small one is nearly full.
func (w *Writer) room() {
	if cap(w.buf) < largeBuffer && len(w.buf) > cap(w.buf)/2 && len(w.buf) > smallBuffer/4 {
		large := *largeBuffers.Get().(*[]byte)
		w.buf = append(large[:0], w.buf...)
	}
}

// idle gives back a large buffer before a long wait. Nothing may be unsent but
// the answers of a pipeline that has neither Sync nor Flush yet.
func (w *Writer) idle() {
	if len(w.buf) > 0 || cap(w.buf) <= smallBuffer {
		return
	}
	if cap(w.buf) == largeBuffer {
		large := w.buf[:largeBuffer]
		largeBuffers.Put(&large)
	}
	w.buf = nil
}

// endCall forgets what belongs to one Query or Execute.
func (w *Writer) endCall() { w.enc.set(nil) }

// The messages. Each is begun, filled and finished in the buffer.

func (w *Writer) begin(kind byte) { w.buf = append(w.buf, kind, 0, 0, 0, 0) }

// finishAt sets the length of the message that begins at start.
func (w *Writer) finishAt(start int) {
	binary.BigEndian.PutUint32(w.buf[start+1:], uint32(len(w.buf)-start-1))
	if len(w.buf) >= flushBytes {
		w.flush()
	}
}

func (w *Writer) empty(kind byte) { w.buf = append(w.buf, kind, 0, 0, 0, 4) }

func (w *Writer) cstring(s string) { w.buf = append(append(w.buf, s...), 0) }

func (w *Writer) text(kind byte, s string) {
	start := len(w.buf)
	w.begin(kind)
	w.cstring(s)
	w.finishAt(start)
}

func (w *Writer) error(severity string, e *pgproto3.ErrorResponse) {
	e.Severity, e.SeverityUnlocalized = severity, severity
	buf, err := e.Encode(w.buf)
	if err != nil {
		panic(fmt.Sprintf("wire: encode an error response: %v", err))
	}
	w.buf = buf
}

func (w *Writer) readyForQuery(status TxStatus) { w.buf = append(w.buf, 'Z', 0, 0, 0, 5, byte(status)) }

func (w *Writer) authenticated() { w.buf = append(w.buf, 'R', 0, 0, 0, 8, 0, 0, 0, 0) }

func (w *Writer) backendKey(pid, secret uint32) {
	w.buf = append(w.buf, 'K', 0, 0, 0, 12)
	w.buf = binary.BigEndian.AppendUint32(w.buf, pid)
	w.buf = binary.BigEndian.AppendUint32(w.buf, secret)
}

// negotiate says that we speak 3.0 and which options we do not have.
func (w *Writer) negotiate(unknown []string) {
	start := len(w.buf)
	w.begin('v')
	w.buf = binary.BigEndian.AppendUint32(w.buf, version30)
	w.buf = binary.BigEndian.AppendUint32(w.buf, uint32(len(unknown)))
	for _, name := range unknown {
		w.cstring(name)
	}
	w.finishAt(start)
}

func (w *Writer) parameters(oids []uint32) {
	start := len(w.buf)
	w.begin('t')
	w.buf = binary.BigEndian.AppendUint16(w.buf, uint16(len(oids)))
	for _, oid := range oids {
		w.buf = binary.BigEndian.AppendUint32(w.buf, oid)
	}
	w.finishAt(start)
}

func (w *Writer) description(columns []Column) {
	start := len(w.buf)
	w.begin('T')
	w.buf = binary.BigEndian.AppendUint16(w.buf, uint16(len(columns)))
	for _, c := range columns {
		w.cstring(printable(c.Name))
		w.buf = binary.BigEndian.AppendUint32(w.buf, c.TableOID)
		w.buf = binary.BigEndian.AppendUint16(w.buf, uint16(c.Attribute))
		w.buf = binary.BigEndian.AppendUint32(w.buf, c.OID)
		w.buf = binary.BigEndian.AppendUint16(w.buf, uint16(typeSize(c.OID)))
		w.buf = binary.BigEndian.AppendUint32(w.buf, uint32(c.Typmod))
		w.buf = binary.BigEndian.AppendUint16(w.buf, uint16(c.Format))
	}
	w.finishAt(start)
}
