package filestore

import (
	"encoding/binary"
	"fmt"
)

// deltaHead is the head of a DELTA_BINARY_PACKED page.
type deltaHead struct {
	block, minis, total int
	first               int64
}

// readDeltaHead reads the head and gives what follows it.
func readDeltaHead(b []byte) (h deltaHead, rest []byte, err error) {
	var n [3]uint64
	for i := range n {
		v, k := binary.Uvarint(b)
		if k <= 0 || v > maxPageRows {
			return h, nil, errShortPage
		}
		n[i], b = v, b[k:]
	}
	h = deltaHead{block: int(n[0]), minis: int(n[1]), total: int(n[2])}
	if h.minis == 0 || h.block == 0 || h.block > 1<<16 || h.block%(h.minis*8) != 0 {
		return h, nil, fmt.Errorf("delta blocks of %d values in %d parts", h.block, h.minis)
	}
	first, k := binary.Varint(b)
	if k <= 0 {
		return h, nil, errShortPage
	}
	h.first = first
	return h, b[k:], nil
}

// deltaAt decodes value at alone: the first value and the sum of the
// differences up to there. Arithmetic wraps around, as the encoding wants.
func deltaAt(body []byte, at int) (int64, error) {
	h, b, err := readDeltaHead(body)
	if err != nil {
		return 0, err
	}
	if at >= h.total {
		return 0, errShortPage
	}
	v := h.first
	per := h.block / h.minis
	for at > 0 {
		least, k := binary.Varint(b)
		if k <= 0 || len(b)-k < h.minis {
			return 0, errShortPage
		}
		widths := b[k : k+h.minis]
		b = b[k+h.minis:]
		for _, w := range widths {
			if at == 0 {
				return v, nil
			}
			width, size := uint(w), int(w)*per/8
			if width > 64 {
				return 0, fmt.Errorf("bit width %d", width)
			}
			n := min(at, per)
			if (n*int(width)+7)/8 > len(b) {
				return 0, errShortPage
			}
			v += int64(n)*least + sumPacked(b, n, width)
			at -= n
			b = b[min(size, len(b)):]
		}
	}
	return v, nil
}

// sumPacked adds up n numbers of width bits. b holds them all.
func sumPacked(b []byte, n int, width uint) (sum int64) {
	if width == 0 {
		return 0
	}
	mask := uint64(1)<<width - 1 // of width 64 all bits
	bit := uint(0)
	i := 0
	for ; i < n; i++ {
		at := bit >> 3
		if int(at)+9 > len(b) {
			break
		}
		x := binary.LittleEndian.Uint64(b[at:])>>(bit&7) | uint64(b[at+8])<<1<<(63-bit&7)
		sum += int64(x & mask)
		bit += width
	}
	for ; i < n; i++ {
		var tail [24]byte
		copy(tail[:], b[bit>>3:])
		x := binary.LittleEndian.Uint64(tail[:])>>(bit&7) | uint64(tail[8])<<1<<(63-bit&7)
		sum += int64(x & mask)
		bit += width
	}
	return sum
}
