package wire

import (
	"dtstore/table"
)

// CopyFormat is the format of COPY's data.
type CopyFormat uint8

// The formats of COPY.
const (
	CopyText CopyFormat = iota
	CopyCSV
	CopyBinary
)

// CopyHeader is COPY's HEADER option.
type CopyHeader uint8

// Whether there is a line of column names, and whether it must match.
const (
	HeaderNone CopyHeader = iota
	HeaderYes
	HeaderMatch
)

// CopyOptions are the options of a COPY. Zero bytes and a nil Null mean the
// format's defaults.
type CopyOptions struct {
	Format       CopyFormat
	Delimiter    byte // tab, or comma in CSV
	Quote        byte // CSV: "
	Escape       byte // CSV: as Quote
	Null         *string
	Header       CopyHeader
	ForceQuote   []bool // CSV out, per column; nil means none
	ForceNotNull []bool // CSV in, per column
	ForceNull    []bool // CSV in, per column
	Table        string // for the CONTEXT of errors
}

// Validate refuses what Postgres refuses (0A000, 22023).
func (o CopyOptions) Validate() error {
	unsupported := func(format string, args ...any) error { return table.Errorf("0A000", format, args...) }
	invalid := func(format string, args ...any) error { return table.Errorf("22023", format, args...) }
	csv := o.Format == CopyCSV
	if o.Format == CopyBinary {
		switch {
		case o.Delimiter != 0:
			return unsupported("cannot specify DELIMITER in BINARY mode")
		case o.Null != nil:
			return unsupported("cannot specify NULL in BINARY mode")
		case o.Header != HeaderNone:
			return unsupported("cannot specify HEADER in BINARY mode")
		}
	}
	if !csv {
		switch {
		case o.Quote != 0:
			return unsupported("COPY quote available only in CSV mode")
		case o.Escape != 0:
			return unsupported("COPY escape available only in CSV mode")
		case o.ForceQuote != nil:
			return unsupported("COPY force quote available only in CSV mode")
		case o.ForceNotNull != nil:
			return unsupported("COPY force not null available only in CSV mode")
		case o.ForceNull != nil:
			return unsupported("COPY force null available only in CSV mode")
		}
	}
	o = o.withDefaults()
	null := *o.Null
	contains := func(c byte) bool {
		for i := range len(null) {
			if null[i] == c {
				return true
			}
		}
		return false
	}
	switch {
	case o.Format == CopyBinary:
	case o.Delimiter == '\n' || o.Delimiter == '\r':
		return invalid("COPY delimiter cannot be newline or carriage return")
	case contains('\n') || contains('\r'):
		return invalid("COPY null representation cannot use newline or carriage return")
	case !csv && (o.Delimiter == '\\' || o.Delimiter == '.' || o.Delimiter >= '0' && o.Delimiter <= '9' || o.Delimiter|0x20 >= 'a' && o.Delimiter|0x20 <= 'z'):
		return invalid("COPY delimiter cannot be \"%c\"", o.Delimiter)
	case contains(o.Delimiter):
		return invalid("COPY delimiter character must not appear in the NULL specification")
	case csv && o.Delimiter == o.Quote:
		return invalid("COPY delimiter and quote must be different")
	case csv && contains(o.Quote):
		return invalid("CSV quote character must not appear in the NULL specification")
	case o.Delimiter >= 0x80 || o.Quote >= 0x80 || o.Escape >= 0x80:
		return invalid("COPY delimiter, quote and escape must be single one-byte characters")
	}
	return nil
}

func (o CopyOptions) withDefaults() CopyOptions {
	null := `\N`
	if o.Format == CopyCSV {
		null = ""
		if o.Delimiter == 0 {
			o.Delimiter = ','
		}
		if o.Quote == 0 {
			o.Quote = '"'
		}
		if o.Escape == 0 {
			o.Escape = o.Quote
		}
	}
	if o.Delimiter == 0 {
		o.Delimiter = '\t'
	}
	if o.Null == nil {
		o.Null = &null
	}
	return o
}

// forced looks a column up in one of the per-column options.
func forced(columns []bool, i int) bool { return i < len(columns) && columns[i] }

// copySignature begins binary COPY data; flags and an extension follow.
const copySignature = "PGCOPY\n\xff\r\n\x00"

func badFormat(format string, args ...any) *table.Error {
	return table.Errorf("22P04", format, args...)
}
