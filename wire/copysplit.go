package wire

import (
	"bytes"
	"strconv"
)

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
