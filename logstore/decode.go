package logstore

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"math"
	"strconv"
	"unicode/utf8"
	"unsafe"

	"dtstore/table"

	"github.com/valyala/fastjson"
)

// rowSlab is how many rows share one piece of memory.
const rowSlab = 16

// rowDecoder is the reused memory of Decode.
type rowDecoder struct {
	parser fastjson.Parser
	text   []byte        // the row's texts, one after another
	spans  []textSpan    // which column has which
	values []table.Value // what is left of a slab
	number []byte
	err    error
}

type textSpan struct{ column, from, to int }

// Decode reads a record back. ErrForeign: the record belongs to another table
// that had this topic's name; skip it. ErrBadRecord: somebody else wrote it,
// or it is damaged; the error names topic, log partition and offset.
func (c *Codec) Decode(f Fetched) (table.Change, Meta, error) {
	var m Meta
	var topic []byte
	schema := int64(-1)
	for i := range f.Headers {
		h := &f.Headers[i]
		switch h.Key {
		case HeaderCommit:
			m.commit = h.Value
		case HeaderTopic:
			topic = h.Value
		case HeaderSchema:
			if len(h.Value) == 1 {
				schema = int64(h.Value[0]) - '0'
			} else if n, err := strconv.ParseInt(string(h.Value), 10, 64); err == nil {
				schema = n
			}
		case HeaderParts:
			m.touched = h.Value
		}
	}
	m.SchemaID = schema
	if topic == nil {
		return table.Change{}, m, c.bad(f, errors.New("it has no topic id: another program wrote it"))
	}
	if !bytes.Equal(topic, c.topic[:]) {
		return table.Change{}, m, fmt.Errorf("offset %d: %w", f.Offset, ErrForeign)
	}
	if schema < 0 || len(m.touched)%20 != 0 {
		return table.Change{}, m, c.bad(f, errors.New("its headers are damaged"))
	}
	d, _ := c.decs.Get().(*rowDecoder)
	if d == nil {
		d = &rowDecoder{}
	}
	ch, err := c.decodeValue(d, f.Value)
	if len(f.Value) < 1<<20 { // the parser keeps as much memory as its largest record took
		c.decs.Put(d)
	}
	if err != nil {
		return table.Change{}, m, c.bad(f, err)
	}
	ch.Offset = f.Offset
	return ch, m, nil
}

func (c *Codec) bad(f Fetched, cause error) error {
	return fmt.Errorf("%w: %w", ErrBadRecord, table.Errorf("XX001", "topic id %s: record at offset %d: %w", c.id, f.Offset, cause).
		WithHint("Another program wrote to the topic. The bucket stops here until the record is trimmed away."))
}

func (c *Codec) decodeValue(d *rowDecoder, value []byte) (ch table.Change, err error) {
	if ch, ok := c.decodeOwn(d, value); ok {
		return ch, nil
	}
	v, err := d.parser.ParseBytes(value)
	if err != nil {
		return ch, err
	}
	var before, after *fastjson.Value
	var op []byte
	o, err := v.Object()
	if err != nil {
		return ch, err
	}
	o.Visit(func(key []byte, v *fastjson.Value) {
		switch string(key) {
		case "before":
			before = v
		case "after":
			after = v
		case "op":
			op, _ = v.StringBytes()
		}
	})
	needBefore, needAfter := false, false
	switch string(op) {
	case "c":
		ch.Kind, needAfter = table.Insert, true
	case "u":
		ch.Kind, needBefore, needAfter = table.UpdateAfter, true, true
	case "d":
		ch.Kind, needBefore = table.Delete, true
	default:
		return ch, fmt.Errorf("op %.20q is none of c, u, d", op)
	}
	if ch.Before, err = c.decodeRow(d, before, needBefore); err != nil {
		return ch, fmt.Errorf("before: %w", err)
	}
	if ch.After, err = c.decodeRow(d, after, needAfter); err != nil {
		return ch, fmt.Errorf("after: %w", err)
	}
	return ch, nil
}

func (c *Codec) decodeRow(d *rowDecoder, v *fastjson.Value, want bool) (table.Row, error) {
	if v == nil || v.Type() == fastjson.TypeNull {
		if want {
			return nil, errors.New("it is null")
		}
		return nil, nil
	}
	if !want {
		return nil, errors.New("it is not null")
	}
	o, err := v.Object()
	if err != nil {
		return nil, err
	}
	n := len(c.fields)
	row := d.row(n)
	d.err = nil
	next := 0 // our own records have the columns in order
	o.Visit(func(key []byte, v *fastjson.Value) {
		if d.err != nil {
			return
		}
		i := next
		if i >= n || c.fields[i].name != string(key) {
			if i = c.schema.Index(string(key)); i < 0 {
				return // a column of another schema
			}
		}
		next = i + 1
		if err := d.value(&row[i], i, &c.fields[i].Type, v); err != nil {
			d.err = fmt.Errorf("column %s: %w", c.fields[i].name, err)
		}
	})
	if d.err != nil {
		clear(row)
		return nil, d.err
	}
	d.texts(row)
	for i := range row {
		if row[i].IsNull() && c.fields[i].NotNull {
			return nil, fmt.Errorf("column %s is null", c.fields[i].name)
		}
	}
	return row, nil
}

// row begins a row of NULLs.
func (d *rowDecoder) row(n int) table.Row {
	if len(d.values) < n {
		d.values = make([]table.Value, n*rowSlab)
	}
	row := d.values[:n:n]
	d.values = d.values[n:]
	d.text, d.spans = d.text[:0], d.spans[:0]
	return row
}

// texts makes one string of the row's texts and gives each column its part.
func (d *rowDecoder) texts(row table.Row) {
	if len(d.spans) == 0 {
		return
	}
	all := string(d.text)
	for _, s := range d.spans {
		row[s.column] = table.StringOf(all[s.from:s.to])
	}
}

// value decodes one cell; texts are gathered, to be one string in the end.
func (d *rowDecoder) value(dst *table.Value, column int, t *table.Type, v *fastjson.Value) error {
	switch v.Type() {
	case fastjson.TypeNull:
		*dst = table.Null()
		return nil
	case fastjson.TypeTrue, fastjson.TypeFalse:
		if t.Kind != table.Boolean {
			return errForm
		}
		*dst = table.BoolOf(v.Type() == fastjson.TypeTrue)
		return nil
	case fastjson.TypeNumber:
		switch t.Kind {
		case table.TinyInt, table.SmallInt, table.Int, table.BigInt, table.Float, table.Double, table.Decimal:
			d.number = v.MarshalTo(d.number[:0])
			x, err := parseNumber(t, d.number)
			*dst = x
			return err
		}
		return errForm
	case fastjson.TypeString:
	default:
		return errForm
	}
	s, _ := v.StringBytes()
	from := len(d.text)
	switch t.Kind {
	case table.Char, table.VarChar:
		if !utf8.Valid(s) {
			return errors.New("it is not UTF-8")
		}
		d.text = append(d.text, s...)
	case table.Binary, table.VarBinary:
		var err error
		if d.text, err = base64.StdEncoding.Strict().AppendDecode(d.text, s); err != nil {
			return err
		}
	case table.Date, table.Time, table.Timestamp, table.TimestampLTZ:
		x, err := parseTemporal(t, s)
		*dst = x
		return err
	case table.Decimal:
		x, err := exactDecimal(t, string(s))
		*dst = x
		return err
	case table.Float, table.Double:
		switch unsafe.String(unsafe.SliceData(s), len(s)) {
		case "NaN":
			*dst = table.FloatOf(math.NaN())
		case "Infinity":
			*dst = table.FloatOf(math.Inf(1))
		case "-Infinity":
			*dst = table.FloatOf(math.Inf(-1))
		case "-0.0":
			*dst = table.FloatOf(math.Copysign(0, -1))
		default:
			return errForm
		}
		return nil
	default:
		return errForm
	}
	d.spans = append(d.spans, textSpan{column, from, len(d.text)})
	return nil
}
