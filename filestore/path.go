package filestore

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"dtstore/manifest"
	"dtstore/table"
)

// Place is where the files of one LSM lie: a bucket of a partition of a table.
type Place struct {
	Path      string // of the table: "db.db/t"
	Schema    *table.Schema
	Partition table.Partition
	Bucket    table.Bucket
}

// DataPath is the object key of a data file of the place. A partition that
// does not fit the schema's partition columns gives a path that no file has.
func DataPath(p Place, f manifest.File) string { return folder(p) + "/" + f.Name }

// folder is the key of the bucket's folder, without a slash at its end.
func folder(p Place) string {
	parts, err := PartitionPath(p.Schema, p.Partition)
	if err != nil {
		parts = "_unreadable_partition/"
	}
	return p.Path + "/" + parts + "bucket-" + strconv.Itoa(int(p.Bucket))
}

// PartitionPath is the folders of a partition, "k1=v1/k2=v2/", "" without
// partition columns (paimon-format.md 1.3).
func PartitionPath(s *table.Schema, p table.Partition) (string, error) {
	if len(s.PartitionKeys) == 0 {
		return "", nil
	}
	row, err := s.PartitionRow(p)
	if err != nil {
		return "", fmt.Errorf("partition: %w", err)
	}
	def := s.Options["partition.default-name"]
	if def == "" {
		def = "__DEFAULT_PARTITION__"
	}
	legacy := s.Options["partition.legacy-name"] != "false"
	var b strings.Builder
	for i, name := range s.PartitionKeys {
		v := partitionText(s.PartitionTypes()[i], row[i], legacy)
		if strings.TrimFunc(v, javaBlank) == "" {
			v = def
		}
		b.WriteString(escape(name) + "=" + escape(v) + "/")
	}
	return b.String(), nil
}

// javaBlank is Java's Character.isWhitespace for what can stand in a name.
func javaBlank(r rune) bool {
	switch {
	case r >= 0x09 && r <= 0x0d, r >= 0x1c && r <= 0x20:
		return true
	case r == 0x1680, r >= 0x2000 && r <= 0x200a && r != 0x2007, r == 0x2028, r == 0x2029, r == 0x205f, r == 0x3000:
		return true
	}
	return false
}

const escaped = "\"#%'*/:=?\\{}[]^\x7f"

// escape writes a name or value as Hive does in paths.
func escape(s string) string {
	var b strings.Builder
	for i := range len(s) {
		c := s[i]
		if c < 0x20 || strings.IndexByte(escaped, c) >= 0 {
			fmt.Fprintf(&b, "%%%02X", c)
			continue
		}
		b.WriteByte(c)
	}
	return b.String()
}

// partitionText is a value as it stands in a path, "" for NULL.
func partitionText(t table.Type, v table.Value, legacy bool) string {
	if v.IsNull() {
		return ""
	}
	if !legacy {
		return castText(t, v)
	}
	switch t.Kind {
	case table.Boolean:
		return strconv.FormatBool(v.Bool())
	case table.Char, table.VarChar, table.Binary, table.VarBinary:
		return v.Str()
	case table.Float:
		return javaFloat(v.Float(), 32)
	case table.Double:
		return javaFloat(v.Float(), 64)
	case table.Decimal:
		return table.Text(t, v)
	case table.Timestamp, table.TimestampLTZ:
		return isoLocal(v)
	}
	return strconv.FormatInt(v.Int(), 10)
}

// isoLocal is Java's LocalDateTime.toString: seconds and fraction only as far
// as they are not zero, the fraction with 3, 6 or 9 digits.
func isoLocal(v table.Value) string {
	at := time.UnixMicro(v.Micros()).UTC()
	nano := at.Nanosecond() + v.Nanos()
	s := at.Format("2006-01-02T15:04")
	if y := at.Year(); y > 9999 {
		s = "+" + s
	}
	if at.Second() == 0 && nano == 0 {
		return s
	}
	s += at.Format(":05")
	switch {
	case nano == 0:
	case nano%1e6 == 0:
		s += fmt.Sprintf(".%03d", nano/1e6)
	case nano%1e3 == 0:
		s += fmt.Sprintf(".%06d", nano/1e3)
	default:
		s += fmt.Sprintf(".%09d", nano)
	}
	return s
}

// castText is the value as a cast to string in SQL gives it, for tables with
// partition.legacy-name = false.
func castText(t table.Type, v table.Value) string {
	switch t.Kind {
	case table.Boolean:
		return strconv.FormatBool(v.Bool())
	case table.Float:
		return javaFloat(v.Float(), 32)
	case table.Double:
		return javaFloat(v.Float(), 64)
	case table.Time:
		ms := v.Int()
		s := time.UnixMilli(ms).UTC().Format("15:04:05")
		return s + fraction(int(ms%1000)*1e6, t.Precision)
	case table.Timestamp, table.TimestampLTZ:
		at := time.UnixMicro(v.Micros()).UTC()
		return at.Format("2006-01-02 15:04:05") + fraction(at.Nanosecond()+v.Nanos(), t.Precision)
	case table.Date:
		return time.Unix(v.Int()*86400, 0).UTC().Format("2006-01-02")
	case table.Decimal:
		return table.Text(t, v)
	case table.Char, table.VarChar, table.Binary, table.VarBinary:
		return v.Str()
	}
	return strconv.FormatInt(v.Int(), 10)
}

// fraction has at least precision digits of nanoseconds, and no further zeros.
func fraction(nanos, precision int) string {
	digits := fmt.Sprintf("%09d", nanos)
	for len(digits) > precision && digits[len(digits)-1] == '0' {
		digits = digits[:len(digits)-1]
	}
	if digits == "" {
		return ""
	}
	return "." + digits
}

// javaFloat is Java's Float.toString or Double.toString: plain digits from
// 0.001 up to 10,000,000, else one digit before the point and an exponent.
func javaFloat(f float64, bits int) string {
	switch {
	case math.IsNaN(f):
		return "NaN"
	case math.IsInf(f, 1):
		return "Infinity"
	case math.IsInf(f, -1):
		return "-Infinity"
	}
	abs := math.Abs(f)
	if abs == 0 || abs >= 1e-3 && abs < 1e7 {
		s := strconv.FormatFloat(f, 'f', -1, bits)
		if !strings.Contains(s, ".") {
			s += ".0"
		}
		return s
	}
	s := strconv.FormatFloat(f, 'e', -1, bits)
	mantissa, exp, _ := strings.Cut(s, "e")
	if !strings.Contains(mantissa, ".") {
		mantissa += ".0"
	}
	n, _ := strconv.Atoi(exp) // FormatFloat's own
	return mantissa + "E" + strconv.Itoa(n)
}
