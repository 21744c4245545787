package embedded

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Sizes and limits of the segment files, see FORMAT.md.
const (
	batchHeaderBytes = 61      // a record batch without its records
	batchPrefixBytes = 12      // first offset and length: what the length does not count
	batchCRCFrom     = 21      // the checksum covers the rest of the batch from here
	maxBatchBytes    = 1 << 30 // kfake reads no longer batch
	maxControlBytes  = 4096    // a marker has 78 bytes
	readBufferBytes  = 256 << 10

	attrTransactional = 0x10
	attrControl       = 0x20
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// batch is the header of one record batch in a segment file.
type batch struct {
	at             int64 // position in the file
	bytes          int64
	first, last    int64 // offsets, both inclusive; kfake takes a batch without rows: last is then first-1
	leaderEpoch    int32
	attrs          uint16
	firstTimestamp int64 // ms
	maxTimestamp   int64 // ms
	producer       producer
	control        bool
	commit         bool // of a control batch: the transaction was committed
}

// producer names whose transaction a batch belongs to.
type producer struct {
	id    int64
	epoch int16
}

// inTx reports whether the batch holds rows of a transaction: what kfake
// keeps as a flag in the index file, and needs there to hide the rows.
func (b *batch) inTx() bool { return b.attrs&attrTransactional != 0 && !b.control }

// readBatches calls fn for each whole and undamaged batch of a segment file
// of size bytes whose first offset is at least from, in file order, and
// returns where the good part ends. damage says what stopped it there; it is
// empty when all of the file is good. An error is one of r or of fn.
//
// It never holds more than a buffer of the file, whatever lengths are in it.
func readBatches(r io.Reader, size, from int64, fn func(*batch) error) (good int64, damage string, err error) {
	br := bufio.NewReaderSize(r, int(min(size, readBufferBytes)))
	for good < size {
		b, damage, err := readBatch(br, size-good, from)
		if err != nil || damage != "" {
			return good, damage, err
		}
		b.at = good
		if err := fn(b); err != nil {
			return good, "", err
		}
		good += b.bytes
		from = b.last + 1
	}
	return good, "", nil
}

// readBatch reads one batch of at most left bytes.
func readBatch(br *bufio.Reader, left, from int64) (b *batch, damage string, err error) {
	if left < batchHeaderBytes {
		return nil, "the file ends inside a batch header", nil
	}
	h, err := br.Peek(batchHeaderBytes)
	if err != nil {
		return nil, "", unexpectedEOF(err)
	}
	b, damage = parseHeader(h)
	switch {
	case damage != "":
		return nil, damage, nil
	case b.bytes > left:
		return nil, "the file ends inside a batch", nil
	case b.first < from:
		return nil, fmt.Sprintf("offset %d follows offset %d", b.first, from-1), nil
	}
	want := binary.BigEndian.Uint32(h[17:])
	if b.control {
		body, err := br.Peek(int(b.bytes)) // at most maxControlBytes
		if err != nil {
			return nil, "", unexpectedEOF(err)
		}
		b.commit = isCommit(body[batchHeaderBytes:])
	}
	sum, err := checksum(br, b.bytes)
	if err != nil {
		return nil, "", err
	}
	if sum != want {
		return nil, "a batch's checksum does not match", nil
	}
	return b, "", nil
}

func parseHeader(h []byte) (*batch, string) {
	be := binary.BigEndian
	delta := int32(be.Uint32(h[23:]))
	b := &batch{
		first:          int64(be.Uint64(h)),
		bytes:          batchPrefixBytes + int64(be.Uint32(h[8:])),
		leaderEpoch:    int32(be.Uint32(h[12:])),
		attrs:          be.Uint16(h[21:]),
		firstTimestamp: int64(be.Uint64(h[27:])),
		maxTimestamp:   int64(be.Uint64(h[35:])),
		producer:       producer{int64(be.Uint64(h[43:])), int16(be.Uint16(h[51:]))},
	}
	b.last = b.first + int64(delta)
	b.control = b.attrs&attrControl != 0
	switch {
	case b.bytes < batchHeaderBytes || b.bytes > maxBatchBytes:
		return nil, fmt.Sprintf("a batch of %d bytes", b.bytes)
	case h[16] != 2:
		return nil, fmt.Sprintf("a batch of format %d, not 2", h[16])
	case delta < -1 || b.first < 0 || b.first > math.MaxInt64-math.MaxInt32:
		return nil, fmt.Sprintf("a batch at offset %d with %d more", b.first, delta)
	case b.control && b.bytes > maxControlBytes:
		return nil, fmt.Sprintf("a transaction marker of %d bytes", b.bytes)
	}
	return b, ""
}

// isCommit reads a marker's record as kfake does: what it cannot read, and
// type 0, is an abort.
func isCommit(records []byte) bool {
	var r kmsg.Record
	if len(records) < 4 || r.ReadFrom(records) != nil || len(r.Key) < 4 {
		return false
	}
	return binary.BigEndian.Uint16(r.Key[2:]) != 0
}

// checksum consumes a batch of n bytes and returns the checksum of what its
// header's checksum covers.
func checksum(br *bufio.Reader, n int64) (uint32, error) {
	if _, err := br.Discard(batchCRCFrom); err != nil {
		return 0, unexpectedEOF(err)
	}
	var sum uint32
	for n -= batchCRCFrom; n > 0; {
		chunk, err := br.Peek(int(min(n, int64(br.Size()))))
		if err != nil {
			return 0, unexpectedEOF(err)
		}
		sum = crc32.Update(sum, castagnoli, chunk)
		br.Discard(len(chunk)) // peeked: cannot fail
		n -= int64(len(chunk))
	}
	return sum, nil
}

// unexpectedEOF: the file's size promised more.
func unexpectedEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// marker encodes the batch that ends a transaction, as kfake's EndTxn writes it.
func marker(offset int64, leaderEpoch int32, p producer, commit bool, now time.Time) []byte {
	key := kmsg.ControlRecordKey{Type: kmsg.ControlRecordKeyTypeAbort}
	if commit {
		key.Type = kmsg.ControlRecordKeyTypeCommit
	}
	end := kmsg.EndTxnMarker{}
	rec := kmsg.Record{Key: key.AppendTo(nil), Value: end.AppendTo(nil)}
	rec.Length = int32(len(rec.AppendTo(nil)) - 1) // less the one byte of the length itself
	b := kmsg.RecordBatch{
		FirstOffset:          offset,
		PartitionLeaderEpoch: leaderEpoch,
		Magic:                2,
		Attributes:           attrControl | attrTransactional,
		FirstTimestamp:       now.UnixMilli(),
		MaxTimestamp:         now.UnixMilli(),
		ProducerID:           p.id,
		ProducerEpoch:        p.epoch,
		FirstSequence:        -1,
		NumRecords:           1,
		Records:              rec.AppendTo(nil),
	}
	enc := b.AppendTo(nil)
	binary.BigEndian.PutUint32(enc[8:], uint32(len(enc)-batchPrefixBytes))
	binary.BigEndian.PutUint32(enc[17:], crc32.Checksum(enc[batchCRCFrom:], castagnoli))
	return enc
}

// An index file has one entry a batch of its segment file.
const (
	indexEntryBytes = 15
	indexVersion    = 1
)

// appendIndexEntry appends the entry of b, given the greatest timestamp of
// the partition so far.
func appendIndexEntry(dst []byte, b *batch, maxTimestamp int64) []byte {
	var e [indexEntryBytes]byte
	e[0] = indexVersion
	binary.LittleEndian.PutUint32(e[2:], uint32(b.leaderEpoch))
	binary.LittleEndian.PutUint64(e[6:], uint64(maxTimestamp))
	if b.inTx() {
		e[14] = 1
	}
	e[1] = byte(crc32.Checksum(e[2:], castagnoli))
	return append(dst, e[:]...)
}

// indexAgrees reports whether the index file's bytes say what want says.
// Timestamps are left out: kfake computes them anew when it opens.
func indexAgrees(have, want []byte) bool {
	if len(have) != len(want) {
		return false
	}
	for i := 0; i < len(want); i += indexEntryBytes {
		h, w := have[i:i+indexEntryBytes], want[i:i+indexEntryBytes]
		if h[0] != w[0] || h[14] != w[14] || [4]byte(h[2:6]) != [4]byte(w[2:6]) ||
			h[1] != byte(crc32.Checksum(h[2:], castagnoli)) {
			return false
		}
	}
	return true
}

// foreignIndex reports whether an index file is whole but of another version.
func foreignIndex(have []byte) bool {
	if len(have) < indexEntryBytes || len(have)%indexEntryBytes != 0 {
		return false
	}
	foreign := false
	for ; len(have) > 0; have = have[indexEntryBytes:] {
		if have[1] != byte(crc32.Checksum(have[2:indexEntryBytes], castagnoli)) {
			return false
		}
		foreign = foreign || have[0] != indexVersion
	}
	return foreign
}
