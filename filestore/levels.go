package filestore

import (
	"encoding/binary"
	"errors"
)

var errShortPage = errors.New("page is cut short")

// hybrid decodes exactly n numbers of the given bit width from Parquet's
// RLE and bit-packing hybrid, into dst. What the bytes claim beyond n is
// ignored, so hostile run lengths cost nothing.
func hybrid(dst []int32, src []byte, width uint) error {
	if width > 32 {
		return errors.New("bit width over 32")
	}
	bytes := int(width+7) / 8
	for len(dst) > 0 {
		head, k := binary.Uvarint(src)
		if k <= 0 {
			return errShortPage
		}
		src = src[k:]
		if head&1 == 0 { // a run of one value
			if len(src) < bytes {
				return errShortPage
			}
			var v uint32
			for i := range bytes {
				v |= uint32(src[i]) << (8 * i)
			}
			src = src[bytes:]
			run := dst[:min(head>>1, uint64(len(dst)))]
			for i := range run {
				run[i] = int32(v)
			}
			dst = dst[len(run):]
			continue
		}
		groups := min(head>>1, uint64(len(dst)+7)/8)
		need := int(groups) * int(width)
		packed := src
		if len(packed) > need {
			packed = packed[:need]
		}
		src = src[len(packed):]
		run := dst[:min(int(groups)*8, len(dst))]
		if len(packed)*8 < len(run)*int(width) {
			return errShortPage
		}
		unpack(run, packed, width)
		dst = dst[len(run):]
	}
	return nil
}

// unpack reads len(dst) numbers of width bits, least significant bit first.
// src holds them all.
func unpack(dst []int32, src []byte, width uint) {
	if width == 0 {
		clear(dst)
		return
	}
	mask := uint64(1)<<width - 1
	bit := uint(0)
	i := 0
	for ; i < len(dst); i++ {
		at := bit >> 3
		if int(at)+8 > len(src) {
			break
		}
		dst[i] = int32(binary.LittleEndian.Uint64(src[at:]) >> (bit & 7) & mask)
		bit += width
	}
	for ; i < len(dst); i++ {
		var tail [16]byte
		copy(tail[:], src[bit>>3:])
		dst[i] = int32(binary.LittleEndian.Uint64(tail[:]) >> (bit & 7) & mask)
		bit += width
	}
}

// oneRun says whether levels are a single run of ones for all n values: then
// no value is NULL and nothing need be decoded.
func oneRun(src []byte, n int) bool {
	head, k := binary.Uvarint(src)
	return k > 0 && head&1 == 0 && head>>1 >= uint64(n) && len(src) > k && src[k] == 1
}

// hybridAt decodes number at alone.
func hybridAt(src []byte, width uint, at int) (int32, error) {
	if width > 32 {
		return 0, errors.New("bit width over 32")
	}
	bytes := int(width+7) / 8
	for {
		head, k := binary.Uvarint(src)
		if k <= 0 {
			return 0, errShortPage
		}
		src = src[k:]
		if head&1 == 0 {
			if len(src) < bytes {
				return 0, errShortPage
			}
			if head>>1 > uint64(at) {
				var v uint32
				for i := range bytes {
					v |= uint32(src[i]) << (8 * i)
				}
				return int32(v), nil
			}
			at -= int(head >> 1)
			src = src[bytes:]
			continue
		}
		if head>>1 > uint64(at)/8 {
			bit := uint64(at) * uint64(width)
			if (bit+uint64(width)+7)/8 > uint64(len(src)) {
				return 0, errShortPage
			}
			var tail [16]byte
			copy(tail[:], src[bit>>3:])
			return int32(binary.LittleEndian.Uint64(tail[:]) >> (bit & 7) & (1<<width - 1)), nil
		}
		need := (head >> 1) * uint64(width)
		if need > uint64(len(src)) {
			return 0, errShortPage
		}
		at -= int(head>>1) * 8
		src = src[need:]
	}
}
