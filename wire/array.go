package wire

import (
	"encoding/binary"
	"strings"
	"time"

	"dtstore/table"
)

// maxDims is Postgres' limit of an array's dimensions.
const maxDims = 6

// ArrayElement is one element of an array's text form.
type ArrayElement struct {
	Text string
	Null bool
}

// ParseArray reads an array's text form, {1,NULL,"a b",{…}}, without looking
// at its elements. dims has the size of each dimension, none for {}. Lower
// bounds ([2:3]={…}) are read and dropped. Errors are 22P02.
func ParseArray(text string) (elems []ArrayElement, dims []int, err error) {
	p := arrayParser{s: strings.TrimSpace(text)}
	if strings.HasPrefix(p.s, "[") {
		at := strings.IndexByte(p.s, '=')
		if at < 0 || strings.Trim(p.s[:at], "[]:+-0123456789") != "" {
			return nil, nil, p.malformed(text)
		}
		p.s = strings.TrimSpace(p.s[at+1:])
	}
	if !p.nested(0) || p.i != len(p.s) {
		return nil, nil, p.malformed(text)
	}
	return p.elems, p.dims, nil
}

// arrayParser reads one array. dims[d] is set by the first subarray of depth
// d; the others must agree.
type arrayParser struct {
	s     string
	i     int
	elems []ArrayElement
	dims  []int
	leaf  int // depth of the elements, once known
}

func (p *arrayParser) malformed(text string) error {
	return table.Errorf("22P02", "malformed array literal: \"%s\"", clip(text)).
		WithDetail("Array values are written {1,2,NULL} or {\"a b\",\"c\"}, all parts of a dimension of one length.")
}

func (p *arrayParser) peek() byte {
	for p.i < len(p.s) && isBlank(p.s[p.i]) {
		p.i++
	}
	if p.i < len(p.s) {
		return p.s[p.i]
	}
	return 0
}

func isBlank(c byte) bool { return c == ' ' || c >= '\t' && c <= '\r' }

func (p *arrayParser) nested(depth int) bool {
	if depth >= maxDims || p.peek() != '{' {
		return false
	}
	p.i++
	if p.peek() == '}' { // only the whole array may be empty
		p.i++
		return depth == 0
	}
	first := len(p.dims) == depth
	if first {
		p.dims = append(p.dims, 0)
	}
	for n := 1; ; n++ {
		if p.peek() == '{' {
			if p.leaf != 0 && p.leaf == depth+1 || !p.nested(depth+1) {
				return false
			}
		} else {
			if p.leaf == 0 {
				p.leaf = depth + 1
			}
			if p.leaf != depth+1 || len(p.dims) != depth+1 || !p.element() {
				return false
			}
		}
		switch p.peek() {
		case ',':
			p.i++
		case '}':
			p.i++
			if p.dims[depth] == 0 {
				p.dims[depth] = n
			}
			return p.dims[depth] == n
		default:
			return false
		}
	}
}

func (p *arrayParser) element() bool {
	if p.peek() == '"' {
		var b strings.Builder
		for p.i++; p.i < len(p.s); p.i++ {
			switch c := p.s[p.i]; c {
			case '"':
				p.i++
				p.elems = append(p.elems, ArrayElement{Text: b.String()})
				return true
			case '\\':
				p.i++
				if p.i == len(p.s) {
					return false
				}
				b.WriteByte(p.s[p.i])
			default:
				b.WriteByte(c)
			}
		}
		return false
	}
	var b strings.Builder
	keep := 0 // length up to the last character that is not a bare blank
	escaped := false
	for p.i < len(p.s) && p.s[p.i] != ',' && p.s[p.i] != '}' {
		c := p.s[p.i]
		if c == '{' || c == '"' {
			return false
		}
		solid := !isBlank(c)
		if c == '\\' {
			p.i++
			if p.i == len(p.s) {
				return false
			}
			c, solid, escaped = p.s[p.i], true, true
		}
		b.WriteByte(c)
		if solid {
			keep = b.Len()
		}
		p.i++
	}
	s := b.String()[:keep]
	if s == "" {
		return false
	}
	null := !escaped && strings.EqualFold(s, "NULL")
	if null {
		s = ""
	}
	p.elems = append(p.elems, ArrayElement{Text: s, Null: null})
	return true
}

// appendArrayText appends elements of the given dimensions as {…}.
func appendArrayText(dst []byte, elems []ArrayElement, dims []int) []byte {
	if len(elems) == 0 {
		return append(dst, "{}"...)
	}
	size := dims[0]
	step := len(elems) / size
	dst = append(dst, '{')
	for i := range size {
		if i > 0 {
			dst = append(dst, ',')
		}
		switch {
		case len(dims) > 1:
			dst = appendArrayText(dst, elems[i*step:(i+1)*step], dims[1:])
		case elems[i].Null:
			dst = append(dst, "NULL"...)
		default:
			dst = appendElement(dst, elems[i].Text)
		}
	}
	return append(dst, '}')
}

// appendElement quotes an element where its text would be misread.
func appendElement(dst []byte, s string) []byte {
	plain := s != "" && !strings.EqualFold(s, "NULL")
	for i := 0; plain && i < len(s); i++ {
		switch c := s[i]; c {
		case '{', '}', ',', '"', '\\':
			plain = false
		default:
			plain = !isBlank(c)
		}
	}
	if plain {
		return append(dst, s...)
	}
	dst = append(dst, '"')
	for i := range len(s) {
		if s[i] == '"' || s[i] == '\\' {
			dst = append(dst, '\\')
		}
		dst = append(dst, s[i])
	}
	return append(dst, '"')
}

// AppendArray appends the text form of a one-dimensional array of values, to
// be sent as a string under the array's OID.
func AppendArray(dst []byte, elem Column, values []table.Value, loc *time.Location) ([]byte, error) {
	elem.Format = 0
	e := cellOf(elem)
	dst = append(dst, '{')
	var text []byte
	for i := range values {
		if i > 0 {
			dst = append(dst, ',')
		}
		if values[i].IsNull() {
			dst = append(dst, "NULL"...)
			continue
		}
		var err error
		if text, err = e.append(text[:0], &values[i], loc); err != nil {
			return nil, err
		}
		dst = appendElement(dst, string(text))
	}
	return append(dst, '}'), nil
}

// appendBinaryArray turns an array's text form into binary.
func appendBinaryArray(dst []byte, elem uint32, text string) ([]byte, error) {
	elems, dims, err := ParseArray(text)
	if err != nil {
		return nil, err
	}
	be := binary.BigEndian
	nulls := uint32(0)
	for _, e := range elems {
		if e.Null {
			nulls = 1
		}
	}
	dst = be.AppendUint32(dst, uint32(len(dims)))
	dst = be.AppendUint32(dst, nulls)
	dst = be.AppendUint32(dst, elem)
	for _, n := range dims {
		dst = be.AppendUint32(dst, uint32(n))
		dst = be.AppendUint32(dst, 1)
	}
	cell := cellOf(Column{OID: elem, Typmod: -1, Format: 1})
	for _, e := range elems {
		v := table.Null()
		if !e.Null {
			if v, err = fromText(elem, e.Text, time.UTC); err != nil {
				return nil, err
			}
		}
		if dst, err = cell.field(dst, &v, time.UTC); err != nil {
			return nil, err
		}
	}
	return dst, nil
}

// arrayText is the text form of a binary array.
func arrayText(elem uint32, b []byte, loc *time.Location) (string, error) {
	r := binaryReader{b: b}
	count, _ := r.int32(), r.int32()
	oid := uint32(r.int32())
	if r.short || count < 0 || count > maxDims {
		return "", badBinary(ArrayOf(elem))
	}
	if oid != elem && !(isText(oid) && isText(elem)) {
		return "", table.Errorf("42804", "binary data has array element type %d (%s) instead of expected %d (%s)", oid, typeName(oid), elem, typeName(elem))
	}
	total := 1
	var dims []int
	for range count {
		n := int(r.int32())
		r.int32()
		if r.short || n < 0 || n > len(b)/4 || total*max(n, 1) > len(b)/4 {
			return "", badBinary(ArrayOf(elem))
		}
		dims, total = append(dims, n), total*n
	}
	if count == 0 || total == 0 {
		return "{}", nil
	}
	elems := make([]ArrayElement, total)
	for i := range elems {
		field, null := r.field()
		if r.short {
			return "", badBinary(ArrayOf(elem))
		}
		if elems[i].Null = null; null {
			continue
		}
		text, err := ParamText(elem, 1, field, loc)
		if err != nil {
			return "", err
		}
		elems[i].Text = text
	}
	if len(r.b) > 0 {
		return "", badBinary(ArrayOf(elem))
	}
	return string(appendArrayText(nil, elems, dims)), nil
}

// binaryReader takes a binary value apart. short says that it ended early.
type binaryReader struct {
	b     []byte
	short bool
}

func (r *binaryReader) take(n int) []byte {
	if n < 0 || n > len(r.b) {
		r.short, r.b = true, nil
		return nil
	}
	b := r.b[:n]
	r.b = r.b[n:]
	return b
}

func (r *binaryReader) int32() int32 {
	if b := r.take(4); b != nil {
		return int32(binary.BigEndian.Uint32(b))
	}
	return 0
}

// field reads a length, -1 for NULL, and as many bytes.
func (r *binaryReader) field() (b []byte, null bool) {
	n := r.int32()
	if n == -1 {
		return nil, true
	}
	return r.take(int(n)), false
}
