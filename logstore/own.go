package logstore

import (
	"bytes"
	"encoding/base64"
	"unicode/utf8"
	"unsafe"

	"dtstore/table"
)

// decodeOwn reads a value that has exactly the form in which we write it, in a
// third of the time that any JSON takes. ok is false for whatever it does not
// expect: then the value is decoded as JSON, which also says what is wrong.
func (c *Codec) decodeOwn(d *rowDecoder, in []byte) (ch table.Change, ok bool) {
	s := own{in: in}
	if !s.literal(`{"before":`) || !s.row(c, d, &ch.Before) || !s.literal(`,"after":`) || !s.row(c, d, &ch.After) {
		return ch, false
	}
	switch string(s.in) {
	case `,"op":"c"}`:
		ch.Kind = table.Insert
		return ch, ch.Before == nil && ch.After != nil
	case `,"op":"u"}`:
		ch.Kind = table.UpdateAfter
		return ch, ch.Before != nil && ch.After != nil
	case `,"op":"d"}`:
		ch.Kind = table.Delete
		return ch, ch.Before != nil && ch.After == nil
	}
	return ch, false
}

// own is what is left of a value to read.
type own struct{ in []byte }

func (s *own) literal(want string) bool {
	if len(s.in) < len(want) || string(s.in[:len(want)]) != want {
		return false
	}
	s.in = s.in[len(want):]
	return true
}

func (s *own) row(c *Codec, d *rowDecoder, dst *table.Row) bool {
	if s.literal("null") {
		return true
	}
	row := d.row(len(c.fields))
	comma := byte('{')
	for i := range c.fields {
		f := &c.fields[i]
		if len(s.in) == 0 || s.in[0] != comma {
			return false
		}
		s.in = s.in[1:]
		if !s.literal(f.quote) || !s.value(d, i, &f.Type, &row[i]) {
			return false
		}
		comma = ','
	}
	if !s.literal("}") {
		return false
	}
	d.texts(row)
	*dst = row
	return true
}

// value reads one cell and leaves what follows it.
func (s *own) value(d *rowDecoder, column int, t *table.Type, dst *table.Value) bool {
	if len(s.in) == 0 {
		return false
	}
	switch s.in[0] {
	case 'n':
		return !t.NotNull && s.literal("null")
	case 't':
		*dst = table.BoolOf(true)
		return t.Kind == table.Boolean && s.literal("true")
	case 'f':
		*dst = table.BoolOf(false)
		return t.Kind == table.Boolean && s.literal("false")
	case '"':
		return s.quoted(d, column, t, dst)
	}
	switch t.Kind {
	case table.TinyInt, table.SmallInt, table.Int, table.BigInt:
		n, ok := s.integer()
		shift := 64 - intBits(t.Kind)
		*dst = table.IntOf(n)
		return ok && n<<shift>>shift == n
	case table.Decimal:
		n := s.span()
		v, ok := plainDecimal(t, s.in[:n])
		*dst, s.in = v, s.in[n:]
		return ok
	case table.Float, table.Double:
		n := s.span()
		v, err := parseNumber(t, s.in[:n])
		*dst, s.in = v, s.in[n:]
		return err == nil
	}
	return false
}

// integer reads up to 18 digits, so nothing overflows.
func (s *own) integer() (n int64, ok bool) {
	in, neg := s.in, false
	if in[0] == '-' {
		in, neg = in[1:], true
	}
	i := 0
	for i < len(in) && in[i]-'0' <= 9 {
		n = n*10 + int64(in[i]-'0')
		i++
	}
	if i == 0 || i > 18 || i > 1 && in[0] == '0' {
		return 0, false
	}
	s.in = in[i:]
	if neg {
		n = -n
	}
	return n, true
}

// span is the length of the number that comes.
func (s *own) span() int {
	for i, c := range s.in {
		if c == ',' || c == '}' {
			return i
		}
		if c-'0' > 9 && c != '.' && c != '-' && c != 'e' && c != '+' {
			return 0
		}
	}
	return 0
}

// plainDecimal reads -digits.digits with exactly the type's scale and at most
// its precision, up to 18 digits.
func plainDecimal(t *table.Type, in []byte) (table.Value, bool) {
	neg := false
	if len(in) > 0 && in[0] == '-' {
		in, neg = in[1:], true
	}
	whole := len(in)
	if t.Scale > 0 {
		whole -= t.Scale + 1
		if whole < 1 || in[whole] != '.' {
			return table.Value{}, false
		}
	}
	if len(in) == 0 || len(in) > 19 {
		return table.Value{}, false
	}
	n, digits := int64(0), 0
	for i, c := range in {
		if i == whole {
			continue
		}
		if c-'0' > 9 {
			return table.Value{}, false
		}
		if n = n*10 + int64(c-'0'); n > 0 {
			digits++
		}
	}
	if digits > min(t.Precision, 18) {
		return table.Value{}, false
	}
	if neg {
		n = -n
	}
	return table.DecimalOfInt(n), true
}

// quoted reads a string value of any type.
func (s *own) quoted(d *rowDecoder, column int, t *table.Type, dst *table.Value) bool {
	in := s.in[1:]
	end := bytes.IndexByte(in, '"')
	if end < 0 {
		return false
	}
	text := in[:end]
	from := len(d.text)
	if bytes.IndexByte(text, '\\') >= 0 {
		if !t.IsString() {
			return false
		}
		var ok bool
		if in, ok = d.unescape(in); !ok {
			return false
		}
		s.in = in
	} else {
		s.in = in[end+1:]
		switch t.Kind {
		case table.Char, table.VarChar:
			d.text = append(d.text, text...)
		case table.Binary, table.VarBinary:
			var err error
			if d.text, err = base64.StdEncoding.Strict().AppendDecode(d.text, text); err != nil {
				return false
			}
			d.spans = append(d.spans, textSpan{column, from, len(d.text)})
			return true
		case table.Date, table.Time, table.Timestamp, table.TimestampLTZ:
			v, err := parseTemporal(t, text)
			*dst = v
			return err == nil
		case table.Decimal:
			v, ok := plainDecimal(t, text)
			if !ok {
				var err error
				v, err = exactDecimal(t, unsafe.String(unsafe.SliceData(text), len(text)))
				ok = err == nil
			}
			*dst = v
			return ok
		default:
			return false
		}
	}
	d.spans = append(d.spans, textSpan{column, from, len(d.text)})
	return utf8.Valid(d.text[from:])
}

// unescape appends a string with the escapes that we write, up to its quote.
func (d *rowDecoder) unescape(in []byte) (rest []byte, ok bool) {
	for i := 0; i < len(in); i++ {
		c := in[i]
		switch {
		case c == '"':
			return in[i+1:], true
		case c != '\\':
			d.text = append(d.text, c)
			continue
		}
		if i++; i == len(in) {
			return nil, false
		}
		switch in[i] {
		case '"', '\\':
			d.text = append(d.text, in[i])
		case 'n':
			d.text = append(d.text, '\n')
		case 'r':
			d.text = append(d.text, '\r')
		case 't':
			d.text = append(d.text, '\t')
		case 'u':
			if i+4 >= len(in) || in[i+1] != '0' || in[i+2] != '0' {
				return nil, false
			}
			hi, lo := unhex(in[i+3]), unhex(in[i+4])
			if hi > 7 || lo > 15 {
				return nil, false
			}
			d.text = append(d.text, hi<<4|lo)
			i += 4
		default:
			return nil, false
		}
	}
	return nil, false
}
