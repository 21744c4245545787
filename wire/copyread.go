package wire

import (
	"bytes"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"dtstore/table"
)

const (
	maxRecord  = 64 << 20 // bytes of one row of COPY data
	maxContext = 100      // bytes of a row or field that an error's CONTEXT shows
)

// CopyColumn is a column that COPY fills.
type CopyColumn struct {
	Name string
	Type table.Type
}

// CopyReader reads rows from COPY data in text, CSV or binary format. It holds
// one row and what came with it.
type CopyReader struct {
	src     io.Reader
	chunks  chunker // src, if it gives its messages without a copy
	o       CopyOptions
	columns []CopyColumn
	parsers []fieldParser
	oids    []uint32
	loc     *time.Location

	buf     []byte // what is read and not yet taken, from pos
	pos     int
	own     []byte // storage behind buf when a record spans messages
	eof     bool   // src has ended
	done    bool   // the data has ended; what follows is thrown away
	started bool   // the header was read

	eol    byte // '\n' or '\r', 0 until the first line has ended
	crlf   bool // lines end with \r\n
	line   int  // number of the record's last line
	fields []field
	text   []byte // storage for unescaped fields of the record
}

// field is one field of a record: bytes valid until the next one.
type field struct {
	b    []byte
	null bool
}

// chunker is a reader that can give its next bytes without copying them; they
// are valid until the next call.
type chunker interface{ chunk() ([]byte, error) }

// NewCopyReader reads rows of columns from r. loc is the zone of timestamps
// with time zone that name none. o must be valid.
func NewCopyReader(r io.Reader, o CopyOptions, columns []CopyColumn, loc *time.Location) *CopyReader {
	c := &CopyReader{src: r, o: o.withDefaults(), columns: columns, loc: loc}
	c.chunks, _ = r.(chunker)
	for _, col := range columns {
		c.parsers = append(c.parsers, parserOf(col.Type, loc))
		c.oids = append(c.oids, ColumnOf(col.Name, col.Type).OID)
	}
	return c
}

// Next reads a row into dst, a value for each column; io.EOF after the last,
// when the source has been read to its end. The values keep nothing of the
// reader's. Errors carry a CONTEXT with table, line and column; the reader is
// of no use after one. 22P04: the data is not of the format. 22P02 and others
// of [table.ParseText]: a value is not of its type. 22021: not UTF-8.
func (c *CopyReader) Next(dst []table.Value) error {
	if len(dst) != len(c.columns) {
		panic("wire: CopyReader.Next with a row of another width")
	}
	if !c.started {
		c.started = true
		if err := c.head(); err != nil {
			return err
		}
	}
	if c.o.Format == CopyBinary {
		return c.nextBinary(dst)
	}
	rec, err := c.record()
	if err != nil {
		return err
	}
	if err := c.split(rec); err != nil {
		return c.at(err, rec)
	}
	for i := range c.fields {
		f := &c.fields[i]
		if f.null {
			dst[i] = table.Null()
			continue
		}
		if dst[i], err = c.parsers[i].parse(f.b); err != nil {
			return c.atColumn(err, i, f)
		}
	}
	if n := len(c.fields); n < len(dst) {
		return c.at(badFormat("missing data for column \"%s\"", c.columns[n].Name), rec)
	}
	return nil
}

// head reads what comes before the first row.
func (c *CopyReader) head() error {
	if c.o.Format == CopyBinary {
		return c.binaryHead()
	}
	if c.o.Header == HeaderNone {
		return nil
	}
	rec, err := c.record()
	if err == io.EOF {
		return nil
	}
	if err != nil || c.o.Header == HeaderYes {
		return err
	}
	if err := c.split(rec); err != nil || len(c.fields) != len(c.columns) {
		return c.at(badFormat("wrong number of fields in header line: got %d, expected %d", len(c.fields), len(c.columns)), rec)
	}
	for i, f := range c.fields {
		if string(f.b) != c.columns[i].Name {
			return c.at(badFormat("column name mismatch in header line field %d: got \"%s\", expected \"%s\"", i+1, clip(string(f.b)), c.columns[i].Name), rec)
		}
	}
	return nil
}

// at adds the record to an error.
func (c *CopyReader) at(err error, rec []byte) error {
	return c.where(err, ": \""+excerpt(rec)+"\"")
}

func (c *CopyReader) atColumn(err error, i int, f *field) error {
	what := ", column " + c.columns[i].Name
	if c.o.Format != CopyBinary {
		what += ": \"" + excerpt(f.b) + "\""
	}
	return c.where(err, what)
}

// About gives an error of the session's about the row read last its CONTEXT.
func (c *CopyReader) About(err error) error { return c.where(err, "") }

func (c *CopyReader) where(err error, what string) error {
	te, ok := err.(*table.Error)
	if !ok {
		return err
	}
	return te.WithWhere("COPY %s, line %d%s", c.o.Table, c.line, what)
}

// excerpt is user data as an error shows it.
func excerpt(b []byte) string {
	s := string(b)
	if len(s) > maxContext {
		s = s[:maxContext]
		for len(s) > 0 && !utf8.ValidString(s[len(s)-1:]) && !utf8.RuneStart(s[len(s)-1]) {
			s = s[:len(s)-1]
		}
		s += "..."
	}
	return strings.ToValidUTF8(s, "")
}

// more reads on. Bytes from pos on are kept; buf and pos may change.
func (c *CopyReader) more() error {
	if c.chunks != nil {
		return c.moreChunk()
	}
	rest := len(c.buf) - c.pos
	if cap(c.own) < rest+largeBuffer/2 {
		bigger := make([]byte, max(2*rest, largeBuffer))
		copy(bigger, c.buf[c.pos:])
		c.own = bigger
	} else {
		copy(c.own[:cap(c.own)], c.buf[c.pos:])
	}
	c.own = c.own[:cap(c.own)]
	n, err := c.src.Read(c.own[rest:])
	c.buf, c.pos = c.own[:rest+n], 0
	return c.ended(err)
}

// moreChunk takes a whole message: as it is when nothing is left of the last,
// else copied behind the rest.
func (c *CopyReader) moreChunk() error {
	if c.pos < len(c.buf) {
		c.own = append(c.own[:0], c.buf[c.pos:]...)
	} else {
		c.own = c.own[:0]
	}
	c.buf, c.pos = c.own, 0
	b, err := c.chunks.chunk()
	if err != nil {
		return c.ended(err)
	}
	if len(c.own) == 0 {
		c.buf = b
		return nil
	}
	c.own = append(c.own, b...)
	c.buf = c.own
	return nil
}

func (c *CopyReader) ended(err error) error {
	if err == io.EOF {
		c.eof = true
		return nil
	}
	return err
}

// record is the next row's bytes without its end of line; io.EOF after the
// last, with the source read to its end.
func (c *CopyReader) record() ([]byte, error) {
	if c.done {
		return nil, c.drain()
	}
	s := lineScan{from: c.pos}
	c.line++
	for {
		end, next, err := c.find(&s)
		if err != nil {
			return nil, c.where(err, "")
		}
		if end < 0 && !c.eof {
			if len(c.buf)-c.pos > maxRecord {
				return nil, c.where(table.Errorf("54000", "COPY row is longer than %d bytes", maxRecord), "")
			}
			old := c.pos
			if err := c.more(); err != nil {
				return nil, c.where(err, "")
			}
			s.from += c.pos - old
			continue
		}
		if end < 0 {
			if end, next = len(c.buf), len(c.buf); end == c.pos {
				return nil, io.EOF
			}
			if s.quoted {
				return nil, c.at(badFormat("unterminated CSV quoted field"), c.buf[c.pos:])
			}
		}
		rec := c.buf[c.pos:end]
		c.pos = next
		if len(rec) == 2 && rec[0] == '\\' && rec[1] == '.' {
			c.done = true
			return nil, c.drain()
		}
		if bytes.IndexByte(rec, 0) >= 0 || !utf8.Valid(rec) {
			return nil, c.where(invalidUTF8(rec), "")
		}
		return rec, nil
	}
}

// drain reads what follows the end of the data.
func (c *CopyReader) drain() error {
	for !c.eof {
		c.pos = len(c.buf)
		if err := c.more(); err != nil {
			return err
		}
	}
	return io.EOF
}

// lineScan is how far the search for a record's end has come.
type lineScan struct {
	from   int
	quoted bool // CSV: inside quotes
	escape bool // the last byte escapes the next
}

// find looks for the record's end: the place of its end of line and the place
// after it, or -1 if more bytes are needed.
func (c *CopyReader) find(s *lineScan) (end, next int, err error) {
	csv := c.o.Format == CopyCSV
	special := byte('\\')
	if csv {
		special = c.o.Quote
	}
	if c.eol != 0 && !s.quoted && !s.escape {
		if at := bytes.IndexByte(c.buf[s.from:], c.eol); at >= 0 && bytes.IndexByte(c.buf[s.from:s.from+at], special) < 0 {
			return c.trim(s.from+at, special)
		}
	}
	for i := s.from; i < len(c.buf); i++ {
		b := c.buf[i]
		s.from = i + 1
		switch {
		case !csv && s.escape:
			s.escape = false
			continue
		case !csv && b == '\\':
			s.escape = true
			continue
		case csv && s.quoted && b == c.o.Escape && c.o.Escape != c.o.Quote:
			s.escape = !s.escape
			continue
		case csv && b == c.o.Quote && !s.escape:
			s.quoted = !s.quoted
		}
		s.escape = false
		if b != '\n' && b != '\r' {
			continue
		}
		if s.quoted {
			if b == c.eol { // not in the first line, as in Postgres
				c.line++
			}
			continue
		}
		if c.eol == 0 {
			if b == '\r' && i+1 == len(c.buf) && !c.eof {
				s.from = i
				return -1, 0, nil
			}
			c.eol, c.crlf = b, false
			if b == '\r' && i+1 < len(c.buf) && c.buf[i+1] == '\n' {
				c.eol, c.crlf = '\n', true
				continue
			}
		}
		if b == c.eol {
			return c.trim(i, special)
		}
	}
	return -1, 0, nil
}

// trim gives the record whose end of line is at end, without its \r, and
// refuses ends of line of another kind than the first.
func (c *CopyReader) trim(end int, special byte) (int, int, error) {
	next := end + 1
	if c.crlf {
		if end == c.pos || c.buf[end-1] != '\r' {
			return 0, 0, c.literal("newline", `\n`)
		}
		end--
	}
	other, name, as := byte('\r'), "carriage return", `\r`
	if c.eol == '\r' {
		other, name, as = '\n', "newline", `\n`
	}
	line := c.buf[c.pos:end]
	if bytes.IndexByte(line, other) >= 0 && bytes.IndexByte(line, special) < 0 {
		return 0, 0, c.literal(name, as)
	}
	return end, next, nil
}

func (c *CopyReader) literal(what, as string) error {
	if c.o.Format == CopyCSV {
		return badFormat("unquoted %s found in data", what).WithHint("Use quoted CSV field to represent %s.", what)
	}
	return badFormat("literal %s found in data", what).WithHint("Use \"%s\" to represent %s.", as, what)
}
