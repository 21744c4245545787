package wire

import (
	"bytes"
	"encoding/binary"
	"io"
	"strconv"
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

// split takes a record apart, into no more fields than there are columns.
func (c *CopyReader) split(rec []byte) error {
	c.fields, c.text = c.fields[:0], c.text[:0]
	special := byte('\\')
	if c.o.Format == CopyCSV {
		special = c.o.Quote
	}
	if len(c.columns) == 0 {
		if len(rec) > 0 {
			return badFormat("extra data after last expected column")
		}
		return nil
	}
	var err error
	switch {
	case bytes.IndexByte(rec, special) < 0:
		c.splitPlain(rec)
	case c.o.Format == CopyCSV:
		err = c.splitCSV(rec)
	default:
		err = c.splitText(rec)
	}
	if err != nil {
		return err
	}
	if len(c.fields) > len(c.columns) {
		return badFormat("extra data after last expected column")
	}
	return nil
}

// add appends a field whose raw bytes may be the null text.
func (c *CopyReader) add(f field, raw []byte, quoted bool) {
	i := len(c.fields)
	if string(raw) == *c.o.Null {
		switch {
		case quoted:
			f.null = forced(c.o.ForceNull, i)
		default:
			f.null = !forced(c.o.ForceNotNull, i)
		}
	}
	c.fields = append(c.fields, f)
}

// splitPlain splits a record without escapes or quotes.
func (c *CopyReader) splitPlain(rec []byte) {
	delim, start := c.o.Delimiter, 0
	for i, b := range rec {
		if b == delim {
			c.add(field{b: rec[start:i]}, rec[start:i], false)
			if start = i + 1; len(c.fields) > len(c.columns) {
				return
			}
		}
	}
	c.add(field{b: rec[start:]}, rec[start:], false)
}

// splitText splits a record with backslashes.
func (c *CopyReader) splitText(rec []byte) error {
	for start := 0; start <= len(rec) && len(c.fields) <= len(c.columns); {
		i, escaped := start, false
		for i < len(rec) && rec[i] != c.o.Delimiter {
			if rec[i] == '\\' {
				escaped = true
				i++
			}
			i++
		}
		i = min(i, len(rec))
		raw := rec[start:i]
		f := field{b: raw}
		if escaped && string(raw) != *c.o.Null {
			at := len(c.text)
			var err error
			if c.text, err = unescape(c.text, raw); err != nil {
				return err
			}
			f.b = c.text[at:len(c.text):len(c.text)]
			if err := checkBytes(f.b); err != nil { // the record was clean, escapes may not be
				return err
			}
		}
		c.add(f, raw, false)
		start = i + 1
	}
	return nil
}

// unescape undoes the escapes of the text format.
func unescape(dst, raw []byte) ([]byte, error) {
	digit := func(i, base int) (int, bool) {
		if i >= len(raw) {
			return 0, false
		}
		n, err := strconv.ParseUint(string(raw[i:i+1]), base, 8)
		return int(n), err == nil
	}
	for i := 0; i < len(raw); i++ {
		if raw[i] != '\\' {
			dst = append(dst, raw[i])
			continue
		}
		if i++; i == len(raw) {
			break // a backslash at the end of the data
		}
		switch b := raw[i]; b {
		case 'b':
			dst = append(dst, '\b')
		case 'f':
			dst = append(dst, '\f')
		case 'n':
			dst = append(dst, '\n')
		case 'r':
			dst = append(dst, '\r')
		case 't':
			dst = append(dst, '\t')
		case 'v':
			dst = append(dst, '\v')
		case '.':
			return nil, badFormat("end-of-copy marker corrupt")
		case 'x':
			n, digits := 0, 0
			for digits < 2 {
				d, ok := digit(i+1, 16)
				if !ok {
					break
				}
				n, digits, i = n*16+d, digits+1, i+1
			}
			if digits == 0 {
				n = 'x'
			}
			dst = append(dst, byte(n))
		case '0', '1', '2', '3', '4', '5', '6', '7':
			n := int(b - '0')
			for range 2 {
				d, ok := digit(i+1, 8)
				if !ok {
					break
				}
				n, i = n*8+d, i+1
			}
			dst = append(dst, byte(n))
		default:
			dst = append(dst, b)
		}
	}
	return dst, nil
}

// splitCSV splits a record with quotes.
func (c *CopyReader) splitCSV(rec []byte) error {
	quote, escape, delim := c.o.Quote, c.o.Escape, c.o.Delimiter
	for i := 0; i <= len(rec) && len(c.fields) <= len(c.columns); i++ {
		at, quoted, inside := len(c.text), false, false
		for ; i < len(rec); i++ {
			b := rec[i]
			switch {
			case inside && b == escape && i+1 < len(rec) && (rec[i+1] == escape || rec[i+1] == quote):
				i++
				c.text = append(c.text, rec[i])
			case b == quote:
				quoted, inside = true, !inside
			case b == delim && !inside:
				goto end
			default:
				c.text = append(c.text, b)
			}
		}
	end:
		if inside {
			return badFormat("unterminated CSV quoted field")
		}
		b := c.text[at:len(c.text):len(c.text)]
		c.add(field{b: b}, b, quoted)
	}
	return nil
}

// need makes n bytes available; io.ErrUnexpectedEOF if there are fewer.
func (c *CopyReader) need(n int) ([]byte, error) {
	for len(c.buf)-c.pos < n {
		if c.eof {
			return nil, io.ErrUnexpectedEOF
		}
		if err := c.more(); err != nil {
			return nil, err
		}
	}
	b := c.buf[c.pos : c.pos+n]
	c.pos += n
	return b, nil
}

func (c *CopyReader) binaryHead() error {
	b, err := c.need(len(copySignature) + 8)
	if err == io.ErrUnexpectedEOF || err == nil && string(b[:len(copySignature)]) != copySignature {
		return c.where(badFormat("COPY file signature not recognized"), "")
	}
	if err != nil {
		return c.where(err, "")
	}
	flags := binary.BigEndian.Uint32(b[11:])
	extra := binary.BigEndian.Uint32(b[15:])
	if flags&(1<<16) != 0 {
		return badFormat("invalid COPY file header (WITH OIDS)")
	}
	if flags>>16 != 0 {
		return badFormat("unrecognized critical flags in COPY file header")
	}
	if extra > maxRecord {
		return badFormat("invalid COPY file header (wrong length)")
	}
	if _, err := c.need(int(extra)); err != nil {
		return c.short(err)
	}
	return nil
}

func (c *CopyReader) short(err error) error {
	if err == io.ErrUnexpectedEOF {
		err = badFormat("unexpected EOF in COPY data")
	}
	return c.where(err, "")
}

func (c *CopyReader) nextBinary(dst []table.Value) error {
	c.line++
	b, err := c.need(2)
	if err != nil {
		return c.short(err)
	}
	count := int(int16(binary.BigEndian.Uint16(b)))
	if count == -1 {
		for !c.eof {
			if c.pos < len(c.buf) {
				return c.where(badFormat("received copy data after EOF marker"), "")
			}
			if err := c.more(); err != nil {
				return err
			}
		}
		c.done = true
		return io.EOF
	}
	if count != len(dst) {
		return c.where(badFormat("row field count is %d, expected %d", count, len(dst)), "")
	}
	for i := range dst {
		if b, err = c.need(4); err != nil {
			return c.short(err)
		}
		size := int(int32(binary.BigEndian.Uint32(b)))
		if size == -1 {
			dst[i] = table.Null()
			continue
		}
		if size < 0 || size > maxRecord {
			return c.atColumn(badFormat("invalid field size"), i, nil)
		}
		if b, err = c.need(size); err != nil {
			return c.short(err)
		}
		v, err := fromBinary(c.oids[i], b, c.loc)
		if err == nil {
			v, err = FromParam(c.columns[i].Type, v)
		}
		if err != nil {
			return c.atColumn(err, i, nil)
		}
		dst[i] = v
	}
	return nil
}
