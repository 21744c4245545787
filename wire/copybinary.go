package wire

import (
	"encoding/binary"
	"io"

	"dtstore/table"
)

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
	if err == io.ErrUnexpectedEOF {
		c.done = true // pgx sends no trailer, and Postgres takes CopyDone for one
		return io.EOF
	}
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
