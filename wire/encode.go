package wire

import (
	"encoding/binary"
	"encoding/hex"
	"math"
	"strconv"
	"time"
	"unicode/utf8"

	"dtstore/table"
)

// Infinite dates and timestamps, as days and microseconds; their negations are
// -infinity. Tables do not store them; queries may compute them.
const (
	DateInfinity      = math.MaxInt32
	TimestampInfinity = math.MaxInt64
)

// pgEpoch is 2000-01-01, from which Postgres' binary formats count.
const (
	pgEpochDays   = 10957
	pgEpochMicros = pgEpochDays * microsPerDay
)

// codec says how a column's values become bytes; chosen once per result.
type codec uint8

const (
	textForm   codec = iota // the text form as it is; what the other text codecs do with one
	textString              // text types
	textInt
	textBool
	textBytea
	textFloat4
	textFloat8
	textNumeric
	textDate
	textTime
	textTimestamp
	textTimestamptz
	textBpchar
	textZonedArray
	binaryForm // through the text form
	binaryString
	binaryBool
	binaryInt2
	binaryInt4
	binaryInt8
	binaryFloat4
	binaryFloat8
	binaryNumeric
	binaryDate
	binaryTime
	binaryTimestamp
)

// cell is a column as the encoder needs it.
type cell struct {
	codec codec
	scale uint16 // of a numeric
	width int32  // of a bpchar
	oid   uint32
}

func cellOf(c Column) cell {
	e := cell{oid: c.OID}
	if c.Typmod > 4 {
		switch c.OID {
		case OIDNumeric:
			e.scale = uint16(c.Typmod-4) & 0x7ff
		case OIDBpchar:
			e.width = c.Typmod - 4
		}
	}
	if c.Format == 1 {
		e.codec = binaryCodec(c.OID)
	} else {
		e.codec = textCodec(c.OID)
		if e.codec == textString && e.width > 0 {
			e.codec = textBpchar
		}
	}
	if e.width > 0 && e.codec == binaryString {
		e.codec = textBpchar
	}
	return e
}

func textCodec(oid uint32) codec {
	switch oid {
	case OIDBool:
		return textBool
	case OIDInt2, OIDInt4, OIDInt8, OIDOid, OIDXid, OIDRegclass, OIDRegproc, OIDRegtype:
		return textInt
	case OIDFloat4:
		return textFloat4
	case OIDFloat8:
		return textFloat8
	case OIDBytea:
		return textBytea
	case OIDNumeric:
		return textNumeric
	case OIDDate:
		return textDate
	case OIDTime:
		return textTime
	case OIDTimestamp:
		return textTimestamp
	case OIDTimestamptz:
		return textTimestamptz
	case OIDTimestamptzArray:
		return textZonedArray
	}
	if isText(oid) {
		return textString
	}
	return textForm
}

func binaryCodec(oid uint32) codec {
	switch oid {
	case OIDBool:
		return binaryBool
	case OIDInt2:
		return binaryInt2
	case OIDInt4, OIDOid, OIDXid, OIDRegclass, OIDRegproc, OIDRegtype:
		return binaryInt4
	case OIDInt8:
		return binaryInt8
	case OIDFloat4:
		return binaryFloat4
	case OIDFloat8:
		return binaryFloat8
	case OIDNumeric:
		return binaryNumeric
	case OIDDate:
		return binaryDate
	case OIDTime:
		return binaryTime
	case OIDTimestamp, OIDTimestamptz:
		return binaryTimestamp
	case OIDBytea:
		return binaryString
	}
	if isText(oid) {
		return binaryString
	}
	return binaryForm
}

// AppendText appends a value that is not NULL in text format. loc is the zone
// of timestamps with time zone.
func AppendText(dst []byte, c Column, v table.Value, loc *time.Location) ([]byte, error) {
	c.Format = 0
	e := cellOf(c)
	return e.append(dst, &v, loc)
}

// AppendBinary appends a value that is not NULL in binary format: 22008 for a
// time it cannot hold, 22P02 and the like for a text form that is none.
func AppendBinary(dst []byte, c Column, v table.Value) ([]byte, error) {
	c.Format = 1
	e := cellOf(c)
	return e.append(dst, &v, time.UTC)
}

// append encodes one value that is not NULL.
func (e *cell) append(dst []byte, v *table.Value, loc *time.Location) ([]byte, error) {
	switch e.codec {
	case textString, binaryString:
		return append(dst, v.Str()...), nil
	case textBpchar:
		dst = append(dst, v.Str()...)
		for n := utf8.RuneCountInString(v.Str()); n < int(e.width); n++ {
			dst = append(dst, ' ')
		}
		return dst, nil
	case textBytea:
		dst = append(dst, `\x`...)
		return hex.AppendEncode(dst, []byte(v.Str())), nil
	}
	if e.codec < binaryForm {
		if s := v.Str(); s != "" {
			if e.codec == textZonedArray || e.codec == textTimestamptz {
				return appendZoned(dst, e.oid, s, loc)
			}
			return append(dst, s...), nil
		}
		return e.appendText(dst, v, loc), nil
	}
	if s := v.Str(); s != "" || e.codec == binaryForm {
		return appendBinaryForm(dst, e.oid, s)
	}
	return e.appendBinary(dst, v)
}

// appendText encodes a native value.
func (e *cell) appendText(dst []byte, v *table.Value, loc *time.Location) []byte {
	switch e.codec {
	case textInt:
		return strconv.AppendInt(dst, v.Int(), 10)
	case textBool:
		if v.Bool() {
			return append(dst, 't')
		}
		return append(dst, 'f')
	case textFloat4:
		return table.AppendFloat(dst, v.Float(), 32)
	case textFloat8:
		return table.AppendFloat(dst, v.Float(), 64)
	case textNumeric:
		return table.AppendDecimal(dst, *v, int(e.scale))
	case textDate:
		if s := infinite(v.Int(), DateInfinity, math.MinInt32); s != "" {
			return append(dst, s...)
		}
		return appendDate(dst, v)
	case textTime:
		return table.AppendText(dst, table.Type{Kind: table.Time}, *v, nil)
	case textTimestamp, textTimestamptz:
		if s := infinite(v.Micros(), TimestampInfinity, math.MinInt64); s != "" {
			return append(dst, s...)
		}
		return appendTimestamp(dst, v, e.codec == textTimestamptz, loc)
	}
	return dst // the text form of a type without a native one is never empty
}

// infinite is the word for an infinite value, or "".
func infinite(v, infinity, least int64) string {
	switch {
	case v == infinity:
		return "infinity"
	case v == -infinity || v == least:
		return "-infinity"
	}
	return ""
}

// appendBinary encodes a native value.
func (e *cell) appendBinary(dst []byte, v *table.Value) ([]byte, error) {
	be := binary.BigEndian
	switch e.codec {
	case binaryInt8:
		return be.AppendUint64(dst, uint64(v.Int())), nil
	case binaryInt4:
		return be.AppendUint32(dst, uint32(v.Int())), nil
	case binaryInt2:
		return be.AppendUint16(dst, uint16(v.Int())), nil
	case binaryBool:
		return append(dst, byte(v.Int()&1)), nil
	case binaryFloat8:
		if v.Float() != v.Float() { // one NaN for all
			return be.AppendUint64(dst, 0x7ff8<<48), nil
		}
		return be.AppendUint64(dst, math.Float64bits(v.Float())), nil
	case binaryFloat4:
		return be.AppendUint32(dst, math.Float32bits(float32(v.Float()))), nil
	case binaryNumeric:
		var text [64]byte
		return appendNumeric(dst, table.AppendDecimal(text[:0], *v, int(e.scale)))
	case binaryDate:
		days := v.Int()
		switch infinite(days, DateInfinity, math.MinInt32) {
		case "infinity":
			return be.AppendUint32(dst, math.MaxInt32), nil
		case "-infinity":
			return be.AppendUint32(dst, 1<<31), nil
		}
		days -= pgEpochDays
		if days <= math.MinInt32 || days >= math.MaxInt32 {
			return nil, table.Errorf("22008", "date out of range")
		}
		return be.AppendUint32(dst, uint32(days)), nil
	case binaryTime:
		return be.AppendUint64(dst, uint64(v.Int()*1000)), nil
	case binaryTimestamp:
		micros := v.Micros()
		switch infinite(micros, TimestampInfinity, math.MinInt64) {
		case "infinity":
			return be.AppendUint64(dst, math.MaxInt64), nil
		case "-infinity":
			return be.AppendUint64(dst, 1<<63), nil
		}
		if micros < math.MinInt64+pgEpochMicros+1 {
			return nil, table.Errorf("22008", "timestamp out of range")
		}
		return be.AppendUint64(dst, uint64(micros-pgEpochMicros)), nil
	}
	return nil, table.Errorf("XX000", "value of type %s has no text form", typeName(e.oid))
}

// rowEncoder turns rows into DataRow messages.
type rowEncoder struct {
	cells []cell
	keep  [8]cell // storage for small results
}

func (r *rowEncoder) set(columns []Column) {
	if r.cells == nil {
		r.cells = r.keep[:0]
	}
	r.cells = r.cells[:0]
	for _, c := range columns {
		r.cells = append(r.cells, cellOf(c))
	}
}

// dataRow appends a DataRow. On an error the returned slice is of no use and
// dst is as it was.
func (r *rowEncoder) dataRow(dst []byte, row []table.Value, loc *time.Location) ([]byte, error) {
	if len(row) != len(r.cells) {
		return nil, table.Errorf("XX000", "row has %d values for %d columns", len(row), len(r.cells))
	}
	start := len(dst)
	dst = append(dst, 'D', 0, 0, 0, 0, byte(len(row)>>8), byte(len(row)))
	var err error
	for i := range row {
		if dst, err = r.cells[i].field(dst, &row[i], loc); err != nil {
			return nil, err
		}
	}
	size := len(dst) - start - 1
	if size > maxRow {
		return nil, table.Errorf("54000", "row of %d bytes is larger than the protocol allows", size)
	}
	binary.BigEndian.PutUint32(dst[start+1:], uint32(size))
	return dst, nil
}

// field appends a value with its length, as DataRow and binary COPY have it.
func (e *cell) field(dst []byte, v *table.Value, loc *time.Location) ([]byte, error) {
	if v.IsNull() {
		return append(dst, 0xff, 0xff, 0xff, 0xff), nil
	}
	at := len(dst)
	dst, err := e.append(append(dst, 0, 0, 0, 0), v, loc)
	if err != nil {
		return nil, err
	}
	binary.BigEndian.PutUint32(dst[at:], uint32(len(dst)-at-4))
	return dst, nil
}
