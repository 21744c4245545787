package wire

import (
	"encoding/binary"
	"encoding/hex"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"dtstore/table"
)

// DecodeParam reads a parameter's value in text (0) or binary (1) format; nil
// is NULL. The result is a native value for bool, ints, oid, floats, text,
// bytea, date, timestamp, timestamptz (text without a zone is in loc) and for
// times in whole milliseconds; for all other types it is the canonical text
// form, as a string. A type it does not know is taken as text (0A000 in
// binary). Errors: 22P02, 22003, 22007, 22008 and 22021 as Postgres has them,
// 22P03 for a malformed binary value.
func DecodeParam(oid uint32, format int16, b []byte, loc *time.Location) (table.Value, error) {
	if b == nil {
		return table.Null(), nil
	}
	switch format {
	case 0:
		if oid != OIDBytea {
			if err := checkBytes(b); err != nil {
				return table.Value{}, err
			}
		}
		return fromText(oid, string(b), loc)
	case 1:
		return fromBinary(oid, b, loc)
	}
	return table.Value{}, table.Errorf("22023", "unsupported format code: %d", format)
}

// ParamText is DecodeParam's value in its canonical text form. b is not nil.
func ParamText(oid uint32, format int16, b []byte, loc *time.Location) (string, error) {
	v, err := DecodeParam(oid, format, b, loc)
	if err != nil {
		return "", err
	}
	text, err := AppendText(nil, Column{OID: oid, Typmod: -1}, v, loc)
	return string(text), err
}

// fromText reads a value from text that is UTF-8.
func fromText(oid uint32, s string, loc *time.Location) (table.Value, error) {
	switch oid {
	case OIDDate, OIDTimestamp, OIDTimestamptz:
		if v, ok := fromInfinity(oid, s); ok {
			return v, nil
		}
	case OIDNumeric:
		return stringOr(plainNumeric(s))
	case OIDOid, OIDXid:
		n, err := strconv.ParseUint(strings.TrimSpace(s), 10, 32)
		if err != nil {
			return table.Value{}, table.Errorf("22P02", "invalid input syntax for type oid: \"%s\"", clip(s))
		}
		return table.IntOf(int64(n)), nil
	case OIDRegclass, OIDRegproc, OIDRegtype:
		if n, err := strconv.ParseUint(s, 10, 32); err == nil {
			return table.IntOf(int64(n)), nil
		}
		return table.StringOf(s), nil
	case OIDTime:
		return timeFromText(s)
	case OIDTimetz:
		clock, east, err := timetzFromText(s, loc)
		if err != nil {
			return table.Value{}, err
		}
		return table.StringOf(timetzText(clock, east)), nil
	case OIDInterval:
		v, err := parseInterval(s)
		if err != nil {
			return table.Value{}, err
		}
		return table.StringOf(v.text()), nil
	case OIDUUID:
		return stringOr(canonicalUUID(s))
	}
	if elem := ElementOf(oid); elem != 0 {
		return stringOr(canonicalArray(elem, s, loc))
	}
	if t, ok := nativeType(oid); ok {
		return table.ParseText(t, s, loc)
	}
	return table.StringOf(s), nil
}

func stringOr(s string, err error) (table.Value, error) {
	if err != nil {
		return table.Value{}, err
	}
	return table.StringOf(s), nil
}

func fromInfinity(oid uint32, s string) (table.Value, bool) {
	s = strings.TrimSpace(s)
	sign := int64(1)
	switch {
	case strings.HasPrefix(s, "-"):
		sign, s = -1, s[1:]
	case strings.HasPrefix(s, "+"):
		s = s[1:]
	}
	if !strings.EqualFold(s, "infinity") {
		return table.Value{}, false
	}
	if oid == OIDDate {
		return table.IntOf(sign * DateInfinity), true
	}
	return table.TimestampOf(sign*TimestampInfinity, 0), true
}

// timeFromText reads a time of day to the microsecond.
func timeFromText(s string) (table.Value, error) {
	micros, ok := parseSignedClock(strings.TrimSpace(s))
	if !ok || strings.HasPrefix(strings.TrimSpace(s), "-") {
		return table.Value{}, table.Errorf("22007", "invalid input syntax for type time: \"%s\"", clip(s))
	}
	if micros > 24*microsPerHour {
		return table.Value{}, table.Errorf("22008", "date/time field value out of range: \"%s\"", clip(s))
	}
	return timeValue(micros), nil
}

// timeValue is native if the time is in whole milliseconds of a day.
func timeValue(micros int64) table.Value {
	if micros%1000 == 0 && micros < 24*microsPerHour {
		return table.IntOf(micros / 1000)
	}
	return table.StringOf(clockText(uint64(micros)))
}

func timetzFromText(text string, loc *time.Location) (micros int64, east int, err error) {
	s := strings.TrimSpace(text)
	clock := s
	at := strings.IndexAny(s, "+-Zz ")
	if at > 0 {
		clock = s[:at]
	}
	v, err := timeFromText(clock)
	if err != nil {
		return 0, 0, table.Errorf("22007", "invalid input syntax for type time with time zone: \"%s\"", clip(text))
	}
	micros, _ = parseSignedClock(clock)
	_ = v
	if at <= 0 {
		if loc != nil {
			_, east = time.Now().In(loc).Zone()
		}
		return micros, east, nil
	}
	// The zone rules of timestamps hold for times too: let them read it.
	ts, err := table.ParseText(table.Type{Kind: table.TimestampLTZ, Precision: 6}, "2000-01-01 00:00:00"+s[at:], time.UTC)
	if err != nil {
		return 0, 0, table.Errorf("22007", "invalid input syntax for type time with time zone: \"%s\"", clip(text))
	}
	return micros, int((pgEpochMicros - ts.Micros()) / microsPerSecond), nil
}

func timetzText(micros int64, east int) string {
	sign := "+"
	if east < 0 {
		sign, east = "-", -east
	}
	zone := strconv.Itoa(100 + east/3600)[1:]
	if east%3600 != 0 {
		zone += ":" + strconv.Itoa(100 + east/60%60)[1:]
	}
	if east%60 != 0 {
		zone += ":" + strconv.Itoa(100 + east%60)[1:]
	}
	return clockText(uint64(micros)) + sign + zone
}

// canonicalUUID accepts capitals, braces and hyphens after any four digits.
func canonicalUUID(text string) (string, error) {
	s := strings.TrimSpace(text)
	if strings.HasPrefix(s, "{") && strings.HasSuffix(s, "}") {
		s = s[1 : len(s)-1]
	}
	b, err := hex.DecodeString(strings.ReplaceAll(s, "-", ""))
	if err != nil || len(b) != 16 || strings.HasPrefix(s, "-") || strings.HasSuffix(s, "-") || strings.Contains(s, "--") {
		return "", table.Errorf("22P02", "invalid input syntax for type uuid: \"%s\"", clip(text))
	}
	return uuidText(b), nil
}

func uuidText(b []byte) string {
	h := hex.EncodeToString(b)
	return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
}

// canonicalArray checks every element and prints the array again.
func canonicalArray(elem uint32, text string, loc *time.Location) (string, error) {
	elems, dims, err := ParseArray(text)
	if err != nil {
		return "", err
	}
	cell := cellOf(Column{OID: elem, Typmod: -1})
	var buf []byte
	for i := range elems {
		if elems[i].Null {
			continue
		}
		v, err := fromText(elem, elems[i].Text, loc)
		if err != nil {
			return "", err
		}
		if buf, err = cell.append(buf[:0], &v, loc); err != nil {
			return "", err
		}
		elems[i].Text = string(buf)
	}
	return string(appendArrayText(nil, elems, dims)), nil
}

// appendZoned prints the text form of timestamps with time zone, single or in
// an array, in the zone of the session.
func appendZoned(dst []byte, oid uint32, s string, loc *time.Location) ([]byte, error) {
	v, err := fromText(oid, s, time.UTC)
	if err != nil {
		return nil, err
	}
	if oid == OIDTimestamptz {
		e := cell{codec: textTimestamptz, oid: oid}
		return e.appendText(dst, &v, loc), nil
	}
	if loc != nil && loc != time.UTC {
		if s, err = canonicalArray(OIDTimestamptz, v.Str(), loc); err != nil {
			return nil, err
		}
		return append(dst, s...), nil
	}
	return append(dst, v.Str()...), nil
}

// appendBinaryForm appends the binary form of a text form.
func appendBinaryForm(dst []byte, oid uint32, s string) ([]byte, error) {
	be := binary.BigEndian
	switch oid {
	case OIDNumeric:
		plain, err := plainNumeric(s)
		if err != nil {
			return nil, err
		}
		return appendNumeric(dst, []byte(plain))
	case OIDTime:
		micros, ok := parseSignedClock(s)
		if !ok {
			return nil, table.Errorf("22007", "invalid input syntax for type time: \"%s\"", clip(s))
		}
		return be.AppendUint64(dst, uint64(micros)), nil
	case OIDTimetz:
		micros, east, err := timetzFromText(s, time.UTC)
		if err != nil {
			return nil, err
		}
		return be.AppendUint32(be.AppendUint64(dst, uint64(micros)), uint32(-east)), nil
	case OIDInterval:
		v, err := parseInterval(s)
		if err != nil {
			return nil, err
		}
		dst = be.AppendUint64(dst, uint64(v.micros))
		return be.AppendUint32(be.AppendUint32(dst, uint32(v.days)), uint32(v.months)), nil
	case OIDUUID:
		id, err := canonicalUUID(s)
		if err != nil {
			return nil, err
		}
		b, _ := hex.DecodeString(strings.ReplaceAll(id, "-", ""))
		return append(dst, b...), nil
	case OIDJSONB:
		return append(append(dst, 1), s...), nil
	case OIDInt2Vector, OIDOidVector:
		return appendVector(dst, oid, s)
	}
	if elem := ElementOf(oid); elem != 0 {
		return appendBinaryArray(dst, elem, s)
	}
	v, err := fromText(oid, s, time.UTC)
	if err != nil {
		return nil, err
	}
	e := cellOf(Column{OID: oid, Typmod: -1, Format: 1})
	if e.codec == binaryForm || v.Str() != "" {
		return nil, table.Errorf("0A000", "no binary output function available for type %s", typeName(oid)).
			WithHint("Ask for the result in text format.")
	}
	return e.appendBinary(dst, &v)
}

// appendVector is an int2vector or oidvector: numbers between blanks, an array
// from 0 in binary.
func appendVector(dst []byte, oid uint32, s string) ([]byte, error) {
	elem, size := OIDInt2, 2
	if oid == OIDOidVector {
		elem, size = OIDOid, 4
	}
	words := strings.Fields(s)
	be := binary.BigEndian
	dst = be.AppendUint32(be.AppendUint32(be.AppendUint32(dst, 1), 0), elem)
	dst = be.AppendUint32(be.AppendUint32(dst, uint32(len(words))), 0)
	for _, w := range words {
		n, err := strconv.ParseInt(w, 10, 64)
		if err != nil {
			return nil, table.Errorf("22P02", "invalid input syntax for type %s: \"%s\"", "smallint", clip(w))
		}
		dst = be.AppendUint32(dst, uint32(size))
		if size == 2 {
			dst = be.AppendUint16(dst, uint16(n))
		} else {
			dst = be.AppendUint32(dst, uint32(n))
		}
	}
	return dst, nil
}

// fixedBinary has the sizes that the binary forms of fixed-size types must have.
func fixedBinary(oid uint32) int {
	switch oid {
	case OIDBool:
		return 1
	case OIDInt2:
		return 2
	case OIDInt4, OIDFloat4, OIDDate, OIDOid, OIDXid, OIDRegclass, OIDRegproc, OIDRegtype:
		return 4
	case OIDInt8, OIDFloat8, OIDTime, OIDTimestamp, OIDTimestamptz:
		return 8
	case OIDTimetz:
		return 12
	case OIDInterval, OIDUUID:
		return 16
	}
	return -1
}

// fromBinary reads a value in binary format.
func fromBinary(oid uint32, b []byte, loc *time.Location) (table.Value, error) {
	if n := fixedBinary(oid); n >= 0 && len(b) != n {
		return table.Value{}, badBinary(oid)
	}
	be := binary.BigEndian
	switch oid {
	case OIDBool:
		return table.BoolOf(b[0] != 0), nil
	case OIDInt2:
		return table.IntOf(int64(int16(be.Uint16(b)))), nil
	case OIDInt4:
		return table.IntOf(int64(int32(be.Uint32(b)))), nil
	case OIDInt8:
		return table.IntOf(int64(be.Uint64(b))), nil
	case OIDOid, OIDXid, OIDRegclass, OIDRegproc, OIDRegtype:
		return table.IntOf(int64(be.Uint32(b))), nil
	case OIDFloat4:
		return table.FloatOf(float64(math.Float32frombits(be.Uint32(b)))), nil
	case OIDFloat8:
		return table.FloatOf(math.Float64frombits(be.Uint64(b))), nil
	case OIDBytea:
		return table.BytesOf(b), nil
	case OIDNumeric:
		return stringOr(numericText(b))
	case OIDDate:
		return dateFromBinary(int64(int32(be.Uint32(b)))), nil
	case OIDTimestamp, OIDTimestamptz:
		return timestampFromBinary(int64(be.Uint64(b)))
	case OIDTime, OIDTimetz:
		return timeFromBinary(oid, b)
	case OIDInterval:
		v := interval{micros: int64(be.Uint64(b)), days: int32(be.Uint32(b[8:])), months: int32(be.Uint32(b[12:]))}
		return table.StringOf(v.text()), nil
	case OIDUUID:
		return table.StringOf(uuidText(b)), nil
	case OIDJSONB:
		if len(b) == 0 || b[0] != 1 {
			return table.Value{}, table.Errorf("22P03", "unsupported jsonb version number")
		}
		b = b[1:]
	default:
		if elem := ElementOf(oid); elem != 0 {
			return stringOr(arrayText(elem, b, loc))
		}
		if !isText(oid) {
			return table.Value{}, table.Errorf("0A000", "no binary input function available for type %s (oid %d)", typeName(oid), oid).
				WithHint("Send the parameter in text format.")
		}
	}
	if err := checkBytes(b); err != nil {
		return table.Value{}, err
	}
	return table.StringOf(string(b)), nil
}

func dateFromBinary(days int64) table.Value {
	switch days {
	case math.MaxInt32:
		return table.IntOf(DateInfinity)
	case math.MinInt32:
		return table.IntOf(-DateInfinity)
	}
	return table.IntOf(days + pgEpochDays)
}

func timestampFromBinary(micros int64) (table.Value, error) {
	switch {
	case micros == math.MaxInt64:
		return table.TimestampOf(TimestampInfinity, 0), nil
	case micros == math.MinInt64:
		return table.TimestampOf(-TimestampInfinity, 0), nil
	case micros >= 9223371331200000000: // 294277-01-01, Postgres' end
		return table.Value{}, table.Errorf("22008", "timestamp out of range")
	}
	micros += pgEpochMicros
	if micros >= 9223371331200000000 || micros < -210866803200000000 { // 4714-11-24 BC
		return table.Value{}, table.Errorf("22008", "timestamp out of range")
	}
	return table.TimestampOf(micros, 0), nil
}

func timeFromBinary(oid uint32, b []byte) (table.Value, error) {
	micros := int64(binary.BigEndian.Uint64(b))
	if micros < 0 || micros > 24*microsPerHour {
		return table.Value{}, table.Errorf("22008", "time out of range")
	}
	if oid == OIDTime {
		return timeValue(micros), nil
	}
	west := int32(binary.BigEndian.Uint32(b[8:]))
	if west < -16*3600 || west > 16*3600 {
		return table.Value{}, table.Errorf("22009", "time zone displacement out of range")
	}
	return table.StringOf(timetzText(micros, -int(west))), nil
}

func badBinary(oid uint32) error {
	return table.Errorf("22P03", "incorrect binary data format for type %s", typeName(oid))
}

// checkBytes refuses text with NUL or bytes that are not UTF-8.
func checkBytes(b []byte) error {
	for _, c := range b {
		if c == 0 {
			return invalidUTF8(b)
		}
	}
	if !utf8.Valid(b) {
		return invalidUTF8(b)
	}
	return nil
}

// invalidUTF8 names the first offending bytes of a text, as Postgres does.
func invalidUTF8(b []byte) error {
	for i := 0; i < len(b); {
		r, n := utf8.DecodeRune(b[i:])
		if b[i] == 0 || r == utf8.RuneError && n <= 1 {
			want := 1
			switch c := b[i]; {
			case c >= 0xf0:
				want = 4
			case c >= 0xe0:
				want = 3
			case c >= 0xc0:
				want = 2
			}
			var hexes []string
			for _, c := range b[i:min(i+want, len(b))] {
				hexes = append(hexes, "0x"+hex.EncodeToString([]byte{c}))
			}
			return table.Errorf("22021", "invalid byte sequence for encoding \"UTF8\": %s", strings.Join(hexes, " "))
		}
		i += n
	}
	return table.Errorf("22021", "invalid byte sequence for encoding \"UTF8\"")
}

// clip keeps a client's long text out of messages.
func clip(s string) string {
	if len(s) > 100 {
		s = s[:100] + "…"
	}
	return strings.ToValidUTF8(s, "")
}
