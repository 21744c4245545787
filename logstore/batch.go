package logstore

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"slices"

	"dtstore/table"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Fetched is a record with its place. A control record is a transaction's
// marker: it has an offset and no row.
type Fetched struct {
	Offset  table.Offset
	Control bool
	Record
}

// errCorrupt is a batch that is not what its length or checksum says.
var errCorrupt = errors.New("corrupt record batch")

// batch is the head of a record batch and its undecoded records.
type batch struct {
	raw   []byte
	base  table.Offset
	next  table.Offset // first offset after it
	attrs uint16
	pid   int64
	count int
	time  int64
}

// nextBatch cuts the first whole batch off data. ok is false when the rest is
// an incomplete one, which is how brokers end an answer.
func nextBatch(data []byte) (b batch, rest []byte, ok bool, err error) {
	if len(data) < batchHead {
		return batch{}, nil, false, nil
	}
	n := int64(int32(binary.BigEndian.Uint32(data[8:]))) + 12
	if n < batchHead {
		return batch{}, nil, false, fmt.Errorf("%w: length %d", errCorrupt, n)
	}
	if n > int64(len(data)) {
		return batch{}, nil, false, nil
	}
	raw := data[:n:n]
	if raw[16] != 2 {
		return batch{}, nil, false, fmt.Errorf("%w: message format %d", errCorrupt, raw[16])
	}
	b = batch{
		raw:   raw,
		base:  table.Offset(binary.BigEndian.Uint64(raw)),
		attrs: binary.BigEndian.Uint16(raw[21:]),
		time:  int64(binary.BigEndian.Uint64(raw[27:])),
		pid:   int64(binary.BigEndian.Uint64(raw[43:])),
		count: int(int32(binary.BigEndian.Uint32(raw[57:]))),
	}
	if b.attrs&attrLogTime != 0 {
		b.time = int64(binary.BigEndian.Uint64(raw[35:]))
	}
	delta := int32(binary.BigEndian.Uint32(raw[23:]))
	if delta < 0 || b.base < 0 || b.count < 0 {
		return batch{}, nil, false, fmt.Errorf("%w: base %d, last delta %d, %d records", errCorrupt, b.base, delta, b.count)
	}
	b.next = b.base + table.Offset(delta) + 1
	return b, data[n:], true, nil
}

// endOf is the position after the last whole batch of data, at least from.
func endOf(data []byte, from table.Offset) (table.Offset, error) {
	for {
		b, rest, ok, err := nextBatch(data)
		if !ok {
			return from, err
		}
		from, data = max(from, b.next), rest
	}
}

// decoder turns fetched bytes into records.
type decoder struct{ unzip kgo.Decompressor }

// decode appends the records of data from offset from on, without those of
// aborted transactions. next is the position after the last whole batch.
// Keys and values alias data (or its decompressed form).
//
// A transaction counts as aborted from its first offset until the marker that
// ends it: the next transaction of the same producer stands for itself.
func (d *decoder) decode(dst []Fetched, data []byte, from table.Offset, aborted []kmsg.FetchResponseTopicPartitionAbortedTransaction) (out []Fetched, next table.Offset, err error) {
	next = from
	if !slices.IsSortedFunc(aborted, byFirstOffset) {
		aborted = slices.Clone(aborted)
		slices.SortFunc(aborted, byFirstOffset)
	}
	var dead map[int64]bool
	for {
		b, rest, ok, err := nextBatch(data)
		if err != nil {
			return dst, next, fmt.Errorf("after offset %d: %w", next, err)
		}
		if !ok {
			return dst, next, nil
		}
		data = rest
		for len(aborted) > 0 && table.Offset(aborted[0].FirstOffset) < b.next {
			if dead == nil {
				dead = map[int64]bool{}
			}
			dead[aborted[0].ProducerID] = true
			aborted = aborted[1:]
		}
		if b.next <= next {
			continue // it was read before
		}
		switch {
		case b.attrs&attrControl != 0:
			dst = append(dst, Fetched{Offset: b.next - 1, Control: true})
			delete(dead, b.pid)
		case b.attrs&attrTxn != 0 && dead[b.pid]:
		default:
			if dst, err = d.records(dst, &b, next); err != nil {
				return dst, next, fmt.Errorf("batch at offset %d: %w", b.base, err)
			}
		}
		next = b.next
	}
}

func byFirstOffset(a, b kmsg.FetchResponseTopicPartitionAbortedTransaction) int {
	switch {
	case a.FirstOffset < b.FirstOffset:
		return -1
	case a.FirstOffset > b.FirstOffset:
		return 1
	}
	return 0
}

// records appends the records of one batch with offsets from on.
func (d *decoder) records(dst []Fetched, b *batch, from table.Offset) ([]Fetched, error) {
	if sum := crc32.Checksum(b.raw[21:], castagnoli); sum != binary.BigEndian.Uint32(b.raw[17:]) {
		return dst, fmt.Errorf("%w: checksum", errCorrupt)
	}
	in := b.raw[batchHead:]
	if codec := b.attrs & attrCodec; codec != 0 {
		var err error
		if in, err = d.unzip.Decompress(in, kgo.CompressionCodecType(codec)); err != nil {
			return dst, fmt.Errorf("%w: %w", errCorrupt, err)
		}
	}
	dst = slices.Grow(dst, min(b.count, len(in)/7)) // a record takes at least 7 bytes
	var headers []Header                            // one slab for the batch
	for range b.count {
		n, k := binary.Varint(in)
		if k <= 0 || n < 0 || n > int64(len(in)-k) {
			return dst, fmt.Errorf("%w: record length", errCorrupt)
		}
		r := fields{b: in[k : k+int(n)]}
		in = in[k+int(n):]
		r.skip(1) // attributes
		stamp := r.varint()
		delta := r.varint()
		f := Fetched{Offset: b.base + table.Offset(delta)}
		f.TimestampMillis = b.time
		if b.attrs&attrLogTime == 0 {
			f.TimestampMillis += stamp
		}
		f.Key, f.Value = r.bytes(), r.bytes()
		headers, f.Headers = r.headers(headers)
		if r.bad || f.Offset < b.base || f.Offset >= b.next {
			return dst, fmt.Errorf("%w: record %d", errCorrupt, f.Offset)
		}
		if f.Offset >= from {
			dst = append(dst, f)
		}
	}
	return dst, nil
}

// fields reads the fields of one record; bad is set when they run out.
type fields struct {
	b   []byte
	bad bool
}

func (r *fields) skip(n int) {
	if n > len(r.b) {
		r.bad, n = true, len(r.b)
	}
	r.b = r.b[n:]
}

func (r *fields) varint() int64 {
	v, k := binary.Varint(r.b)
	if k <= 0 {
		r.bad, r.b = true, nil
		return 0
	}
	r.b = r.b[k:]
	return v
}

func (r *fields) bytes() []byte {
	n := r.varint()
	if n < 0 {
		return nil
	}
	if n > int64(len(r.b)) {
		r.bad, r.b = true, nil
		return nil
	}
	v := r.b[:n:n]
	r.b = r.b[n:]
	return v
}

// headers cuts the record's headers from the slab, which it grows.
func (r *fields) headers(slab []Header) (grown, mine []Header) {
	n := r.varint()
	if n < 0 || n > int64(len(r.b)/2) { // a header takes at least 2 bytes
		r.bad = true
		return slab, nil
	}
	if n == 0 {
		return slab, nil
	}
	if cap(slab)-len(slab) < int(n) {
		slab = make([]Header, 0, max(int(n), min(2*cap(slab), 4096), 64))
	}
	at := len(slab)
	for range n {
		key := r.bytes()
		slab = append(slab, Header{Key: headerName(key), Value: r.bytes()})
	}
	return slab, slab[at:len(slab):len(slab)]
}

// headerName is the key as a string, without allocating one for our own.
func headerName(b []byte) string {
	switch string(b) {
	case HeaderCommit:
		return HeaderCommit
	case HeaderTopic:
		return HeaderTopic
	case HeaderSchema:
		return HeaderSchema
	case HeaderKind:
		return HeaderKind
	case HeaderParts:
		return HeaderParts
	}
	return string(b)
}
