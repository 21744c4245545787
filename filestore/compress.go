package filestore

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"
)

// maxPageBytes bounds what one page may claim to be when decompressed. Java's
// pages have 1 MB, but one value may have many.
const maxPageBytes = 1 << 30

var zstdReader = sync.OnceValue(func() *zstd.Decoder {
	d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(0), zstd.WithDecoderMaxMemory(maxPageBytes), zstd.WithDecoderLowmem(true))
	if err != nil {
		panic(err) // constant options
	}
	return d
})

// decompress gives the size bytes that src holds, in dst's memory if it is
// enough.
func decompress(codec format.CompressionCodec, dst, src []byte, size int) ([]byte, error) {
	if size < 0 || size > maxPageBytes {
		return nil, fmt.Errorf("page of %d bytes", size)
	}
	if codec == format.Uncompressed {
		if len(src) != size {
			return nil, fmt.Errorf("page of %d bytes claims %d", len(src), size)
		}
		return append(dst[:0], src...), nil // src is a window that moves on
	}
	if cap(dst) < size && plausible(codec, src, size) {
		dst = make([]byte, 0, size)
	}
	var err error
	switch codec {
	case format.Zstd:
		dst, err = zstdReader().DecodeAll(src, dst[:0])
	case format.Snappy:
		var n int
		if n, err = snappy.DecodedLen(src); err == nil && n != size {
			err = fmt.Errorf("snappy block of %d bytes", n)
		}
		if err == nil {
			dst, err = snappy.Decode(dst[:cap(dst)], src)
		}
	case format.Gzip:
		dst, err = gunzip(dst[:0], src, size)
	case format.Lz4Raw:
		if cap(dst) < size {
			dst = make([]byte, 0, size)
		}
		dst, err = parquet.Lz4Raw.Decode(dst[:size], src)
	default:
		return nil, codecError(codec)
	}
	if err != nil {
		return nil, fmt.Errorf("decompress: %w", err)
	}
	if len(dst) != size {
		return nil, fmt.Errorf("page of %d bytes claims %d", len(dst), size)
	}
	return dst, nil
}

// plausible says whether so few bytes can really become size, so that a lie
// in a header does not cost a gigabyte before it is found out.
func plausible(codec format.CompressionCodec, src []byte, size int) bool {
	if size <= 1<<20 {
		return true
	}
	if codec == format.Zstd {
		var h zstd.Header
		return h.Decode(src) == nil && h.HasFCS && h.FrameContentSize == uint64(size)
	}
	return size/1100 <= len(src)
}

func gunzip(dst, src []byte, size int) ([]byte, error) {
	z, err := gzip.NewReader(bytes.NewReader(src))
	if err != nil {
		return nil, err
	}
	buf := bytes.NewBuffer(dst)
	if _, err := io.Copy(buf, io.LimitReader(z, int64(size)+1)); err != nil {
		return nil, err
	}
	return buf.Bytes(), nil
}

// errCodec marks a compression that is not read.
var errCodec = errors.New("compression not supported")

func codecError(c format.CompressionCodec) error {
	if c == format.Lz4 {
		return fmt.Errorf("%w: LZ4 with its old framing (file.compression = lz4); use zstd, snappy or gzip", errCodec)
	}
	return fmt.Errorf("%w: %v", errCodec, c)
}
