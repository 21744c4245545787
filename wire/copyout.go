package wire

import (
	"encoding/binary"
	"time"

	"dtstore/table"
)

// CopyOut begins a COPY to the client: it sends CopyOutResponse (and the
// header). Rows follow, then Close, then Complete with the tag. If the session
// returns an error instead, that ends the COPY.
func (w *Writer) CopyOut(o CopyOptions, columns []Column) (*CopyWriter, error) {
	format := byte(0)
	if o.Format == CopyBinary {
		format = 1
	}
	w.copyResponse('H', format, len(columns))
	c := &CopyWriter{out: w, enc: newCopyEncoder(o, columns)}
	if o.Format == CopyBinary {
		c.signature = true // clients expect it in one message with what follows, as Postgres sends it
		return c, w.err
	}
	start := w.beginData()
	w.buf = c.enc.header(w.buf)
	w.endData(start)
	return c, w.err
}

// beginData begins a CopyData message, endData ends it, or takes it back if it
// is empty.
func (w *Writer) beginData() (start int) {
	w.begin('d')
	return len(w.buf) - 5
}

func (w *Writer) endData(start int) {
	if len(w.buf) == start+5 {
		w.buf = w.buf[:start]
		return
	}
	w.finishAt(start)
}

// CopyWriter sends rows in a format of COPY, one CopyData message each.
type CopyWriter struct {
	out       *Writer
	enc       copyEncoder
	signature bool // is still to be sent
}

// data begins a message of rows.
func (c *CopyWriter) data() (start int) {
	start = c.out.beginData()
	if c.signature {
		c.out.buf = c.enc.header(c.out.buf)
	}
	return start
}

// Row sends one row. On an error that is not of sending, nothing was sent.
func (c *CopyWriter) Row(row []table.Value) error {
	w := c.out
	if w.err != nil {
		return w.err
	}
	w.room()
	start := c.data()
	buf, err := c.enc.row(w.buf, row, w.loc)
	if err != nil {
		w.buf = w.buf[:start]
		return err
	}
	w.buf, c.signature = buf, false
	w.endData(start)
	return w.err
}

// Close sends the end of the data.
func (c *CopyWriter) Close() error {
	w := c.out
	start := c.data()
	w.buf = c.enc.trailer(w.buf)
	w.endData(start)
	w.empty('c')
	return w.err
}

// copyEncoder prints rows in a format of COPY.
type copyEncoder struct {
	o     CopyOptions
	names []string
	cells []cell
	text  []byte // of one value, before it is escaped
}

func newCopyEncoder(o CopyOptions, columns []Column) copyEncoder {
	e := copyEncoder{o: o.withDefaults()}
	for _, c := range columns {
		e.names = append(e.names, c.Name)
		c.Format = 0
		if o.Format == CopyBinary {
			c.Format = 1
		}
		e.cells = append(e.cells, cellOf(c))
	}
	return e
}

func (e *copyEncoder) header(dst []byte) []byte {
	if e.o.Format == CopyBinary {
		return append(append(dst, copySignature...), 0, 0, 0, 0, 0, 0, 0, 0)
	}
	if e.o.Header == HeaderNone {
		return dst
	}
	for i, name := range e.names {
		if i > 0 {
			dst = append(dst, e.o.Delimiter)
		}
		e.text = append(e.text[:0], name...)
		dst = e.escape(dst, i, false)
	}
	return append(dst, '\n')
}

func (e *copyEncoder) trailer(dst []byte) []byte {
	if e.o.Format == CopyBinary {
		return append(dst, 0xff, 0xff)
	}
	return dst
}

func (e *copyEncoder) row(dst []byte, row []table.Value, loc *time.Location) ([]byte, error) {
	if len(row) != len(e.cells) {
		return nil, table.Errorf("XX000", "row has %d values for %d columns", len(row), len(e.cells))
	}
	var err error
	if e.o.Format == CopyBinary {
		dst = binary.BigEndian.AppendUint16(dst, uint16(len(row)))
		for i := range row {
			if dst, err = e.cells[i].field(dst, &row[i], loc); err != nil {
				return nil, err
			}
		}
		return dst, nil
	}
	for i := range row {
		if i > 0 {
			dst = append(dst, e.o.Delimiter)
		}
		if row[i].IsNull() {
			dst = append(dst, *e.o.Null...)
			continue
		}
		c := &e.cells[i]
		if c.codec != textString && c.codec != textForm && c.codec != textBytea && row[i].Str() == "" && e.plain() {
			if dst, err = c.append(dst, &row[i], loc); err != nil { // numbers, dates: nothing to escape
				return nil, err
			}
			continue
		}
		if e.text, err = c.append(e.text[:0], &row[i], loc); err != nil {
			return nil, err
		}
		dst = e.escape(dst, i, true)
	}
	return append(dst, '\n'), nil
}

// plain says whether values of letters, digits and "+-.: " need no escapes.
func (e *copyEncoder) plain() bool {
	if e.o.ForceQuote != nil || e.o.Format == CopyCSV && *e.o.Null != "" {
		return false
	}
	d := e.o.Delimiter
	return d == '\t' || d == ',' || d == '|' || d == ';'
}

// escape appends e.text as a field.
func (e *copyEncoder) escape(dst []byte, column int, value bool) []byte {
	if e.o.Format == CopyCSV {
		return e.escapeCSV(dst, value && forced(e.o.ForceQuote, column), value)
	}
	from := 0
	for i, c := range e.text {
		var as byte
		switch c {
		case '\b':
			as = 'b'
		case '\f':
			as = 'f'
		case '\n':
			as = 'n'
		case '\r':
			as = 'r'
		case '\t':
			as = 't'
		case '\v':
			as = 'v'
		case '\\', e.o.Delimiter: // a tab that delimits is \t all the same
			as = c
		default:
			continue
		}
		dst = append(append(dst, e.text[from:i]...), '\\', as)
		from = i + 1
	}
	return append(dst, e.text[from:]...)
}

func (e *copyEncoder) escapeCSV(dst []byte, quote, value bool) []byte {
	s := e.text
	if value && string(s) == *e.o.Null || len(e.cells) == 1 && string(s) == `\.` {
		quote = true
	}
	for _, c := range s {
		if c == e.o.Delimiter || c == e.o.Quote || c == '\n' || c == '\r' {
			quote = true
			break
		}
	}
	if !quote {
		return append(dst, s...)
	}
	dst = append(dst, e.o.Quote)
	for _, c := range s {
		if c == e.o.Quote || c == e.o.Escape {
			dst = append(dst, e.o.Escape)
		}
		dst = append(dst, c)
	}
	return append(dst, e.o.Quote)
}
