package logstore

import (
	"encoding/binary"
	"hash/crc32"
	"math/bits"
)

// Header is a named note on a record.
type Header struct {
	Key   string
	Value []byte
}

// Record is one record of a log, as Kafka has it. It is not modified once
// handed over.
type Record struct {
	Key, Value      []byte // nil is null
	Headers         []Header
	TimestampMillis int64 // 0: when it is appended
}

// A record batch (message format 2, which all brokers since 0.11 speak):
//
//	 0 base offset 8      8 length 4 (of what follows)   12 leader epoch 4
//	16 magic 1           17 crc32c 4 (of what follows)    21 attributes 2
//	23 last delta 4      27 first timestamp 8             35 max timestamp 8
//	43 producer id 8     51 producer epoch 2              53 first sequence 4
//	57 record count 4    61 records
const batchHead = 61

// Attribute bits of a batch.
const (
	attrCodec   = 0x07
	attrLogTime = 0x08
	attrTxn     = 0x10
	attrControl = 0x20
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// varintLen is the length of v as a zigzag varint.
func varintLen(v int64) int {
	u := uint64(v<<1) ^ uint64(v>>63)
	return (bits.Len64(u|1) + 6) / 7
}

// bytesLen is the length of b with its own length before it; nil is -1.
func bytesLen(b []byte) int {
	if b == nil {
		return 1
	}
	return varintLen(int64(len(b))) + len(b)
}

func headersLen(hs []Header) int {
	n := varintLen(int64(len(hs)))
	for i := range hs {
		n += varintLen(int64(len(hs[i].Key))) + len(hs[i].Key) + bytesLen(hs[i].Value)
	}
	return n
}

// maxRecordBytes bounds what a record takes in a batch, wherever it lands.
func maxRecordBytes(r *Record) int {
	return 5 + 1 + 10 + 5 + bytesLen(r.Key) + bytesLen(r.Value) + headersLen(r.Headers)
}

// batchWriter encodes records into one batch.
type batchWriter struct {
	buf   []byte
	count int32
	base  int64 // first timestamp
	last  int64 // max timestamp
	// headers caches the encoding of the last record's headers: records of one
	// statement share the slice.
	headers    []Header
	headerCode []byte
}

// reset begins a new batch; now is used for records without a timestamp.
func (w *batchWriter) reset(buf []byte, nowMillis int64) {
	w.buf = append(buf[:0], make([]byte, batchHead)...)
	w.count, w.base, w.last = 0, nowMillis, nowMillis
	w.headers, w.headerCode = nil, w.headerCode[:0]
}

func sameHeaders(a, b []Header) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}

func (w *batchWriter) add(r *Record) {
	if w.count == 0 || !sameHeaders(r.Headers, w.headers) {
		w.headers = r.Headers
		w.headerCode = appendHeaders(w.headerCode[:0], r.Headers)
	}
	delta := int64(0)
	if r.TimestampMillis != 0 {
		delta = r.TimestampMillis - w.base
		w.last = max(w.last, r.TimestampMillis)
	}
	n := 1 + varintLen(delta) + varintLen(int64(w.count)) + bytesLen(r.Key) + bytesLen(r.Value) + len(w.headerCode)
	b := binary.AppendVarint(w.buf, int64(n))
	b = append(b, 0)
	b = binary.AppendVarint(b, delta)
	b = binary.AppendVarint(b, int64(w.count))
	b = appendBytes(b, r.Key)
	b = appendBytes(b, r.Value)
	w.buf = append(b, w.headerCode...)
	w.count++
}

func appendBytes(b, v []byte) []byte {
	if v == nil {
		return append(b, 1) // -1
	}
	return append(binary.AppendVarint(b, int64(len(v))), v...)
}

func appendHeaders(b []byte, hs []Header) []byte {
	b = binary.AppendVarint(b, int64(len(hs)))
	for i := range hs {
		b = binary.AppendVarint(b, int64(len(hs[i].Key)))
		b = append(b, hs[i].Key...)
		b = appendBytes(b, hs[i].Value)
	}
	return b
}

// finish completes the batch of a producer.
func (w *batchWriter) finish(pid int64, epoch int16, seq int32, attrs uint16) []byte {
	b := w.buf
	binary.BigEndian.PutUint64(b[0:], 0)
	binary.BigEndian.PutUint32(b[8:], uint32(len(b)-12))
	binary.BigEndian.PutUint32(b[12:], 0xffffffff)
	b[16] = 2
	binary.BigEndian.PutUint16(b[21:], attrs)
	binary.BigEndian.PutUint32(b[23:], uint32(w.count-1))
	binary.BigEndian.PutUint64(b[27:], uint64(w.base))
	binary.BigEndian.PutUint64(b[35:], uint64(w.last))
	binary.BigEndian.PutUint64(b[43:], uint64(pid))
	binary.BigEndian.PutUint16(b[51:], uint16(epoch))
	binary.BigEndian.PutUint32(b[53:], uint32(seq))
	binary.BigEndian.PutUint32(b[57:], uint32(w.count))
	binary.BigEndian.PutUint32(b[17:], crc32.Checksum(b[21:], castagnoli))
	return b
}
