package manifest

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sync"

	"dtstore/table"

	"github.com/klauspost/compress/zstd"
	"github.com/twmb/avro"
	"github.com/twmb/avro/ocf"
)

// Limits of what a file may make us allocate. Writers close a block after 16 to 64 KiB and a
// manifest at 8 MiB.
const (
	maxSchemaBytes = 256 << 10 // text of the schema in the header
	maxHeaderKeys  = 64
	maxBlockBytes  = 16 << 20  // one block, decompressed
	maxTotalBytes  = 512 << 20 // all blocks of a file, decompressed
)

var (
	entrySchema = avro.MustParse(entrySchemaText)
	listSchema  = avro.MustParse(listSchemaText)
	// A zstd encoder costs a millisecond and 1.6 MB to make, encoding a small manifest 30 µs
	// (measured): one is shared, and safe to be.
	zstdCodec = sync.OnceValue(func() ocf.Codec {
		return ocf.NopCloser(ocf.MustZstdCodec([]zstd.EOption{zstd.WithEncoderLevel(zstd.SpeedFastest)}, nil))
	})
	zstdDecoder = sync.OnceValue(func() *zstd.Decoder {
		d, err := zstd.NewReader(nil, zstd.WithDecoderMaxMemory(maxBlockBytes), zstd.WithDecoderConcurrency(0))
		if err != nil {
			panic(fmt.Sprintf("manifest: zstd decoder: %v", err)) // only our own options can be wrong
		}
		return d
	})
)

// writer encodes records into an object container file in memory.
type writer struct {
	*ocf.Writer
	buf *bytes.Buffer
}

func newWriter(schema *avro.Schema, size int) (*writer, error) {
	buf := bytes.NewBuffer(make([]byte, 0, 4<<10+size/4))
	w, err := ocf.NewWriter(buf, schema, ocf.WithCodec(zstdCodec()), ocf.WithSchema(schema.String()))
	if err != nil {
		return nil, err
	}
	return &writer{w, buf}, nil
}

func (w *writer) finish() ([]byte, error) {
	if err := w.Close(); err != nil {
		return nil, err
	}
	return w.buf.Bytes(), nil
}

// abandon releases what w holds; what was written is of no use.
func (w *writer) abandon() { _ = w.Close() }

// reader decodes the records of an object container file held in memory.
//
// It frames the blocks itself instead of using ocf.Reader, which parses the schema in every
// header anew: 0.3 ms, thirty times what decoding a small manifest costs (measured), and a table
// has thousands of them. Parsed schemas are kept by their text.
type reader struct {
	rest   []byte // undecoded blocks
	sync   [16]byte
	codec  string
	schema *avro.Schema
	block  []byte // undecoded records of the present block, decompressed
	count  int64  // records left in block
	total  int64  // bytes decompressed so far
}

var errTruncated = errors.New("file ends too early")

// newReader reads the header. The schema must be a record, or a union of null and a record as
// written up to 0.9, with at least the required columns.
func newReader(b []byte, required []string) (*reader, error) {
	switch {
	case bytes.HasPrefix(b, []byte("ORC")):
		return nil, table.Errorf("0A000", "manifest is in ORC format, only Avro can be read").
			WithHint("The table was written with 'manifest.format'='orc'; write it anew with 'avro'.")
	case bytes.HasPrefix(b, []byte("PAR1")):
		return nil, table.Errorf("0A000", "manifest is in Parquet format, only Avro can be read").
			WithHint("The table was written with 'manifest.format'='parquet'; write it anew with 'avro'.")
	case !bytes.HasPrefix(b, []byte("Obj\x01")):
		return nil, errors.New("not an Avro file")
	}
	r := &reader{rest: b[4:], codec: "null"}
	var text string
	err := r.header(func(key string, value []byte) {
		switch key {
		case "avro.schema":
			text = string(value)
		case "avro.codec":
			r.codec = string(value)
		}
	})
	if err != nil {
		return nil, fmt.Errorf("header: %w", err)
	}
	switch r.codec {
	case "null", "deflate", "snappy", "zstandard":
	default:
		return nil, table.Errorf("0A000", "Avro codec %q cannot be read", r.codec)
	}
	if r.schema, err = parseSchema(text, required); err != nil {
		return nil, err
	}
	return r, nil
}

// long reads a zig-zag number.
func (r *reader) long() (int64, error) {
	v, n := binary.Varint(r.rest)
	if n <= 0 {
		return 0, errTruncated
	}
	r.rest = r.rest[n:]
	return v, nil
}

func (r *reader) bytes(limit int64) ([]byte, error) {
	n, err := r.long()
	if err != nil {
		return nil, err
	}
	if n < 0 || n > limit {
		return nil, fmt.Errorf("length %d, at most %d is read", n, limit)
	}
	if n > int64(len(r.rest)) {
		return nil, errTruncated
	}
	v := r.rest[:n]
	r.rest = r.rest[n:]
	return v, nil
}

// header reads the map of metadata and the sync marker.
func (r *reader) header(each func(key string, value []byte)) error {
	for keys := int64(0); ; {
		n, err := r.long()
		if err != nil {
			return err
		}
		if n == 0 {
			break
		}
		if n < 0 { // then the length of the block in bytes follows
			n = -n
			if _, err := r.long(); err != nil {
				return err
			}
		}
		if keys += n; n < 0 || keys > maxHeaderKeys {
			return fmt.Errorf("more than %d keys", maxHeaderKeys)
		}
		for range n {
			key, err := r.bytes(maxSchemaBytes)
			if err != nil {
				return err
			}
			value, err := r.bytes(maxSchemaBytes)
			if err != nil {
				return err
			}
			each(string(key), value)
		}
	}
	if len(r.rest) < len(r.sync) {
		return errTruncated
	}
	r.rest = r.rest[copy(r.sync[:], r.rest):]
	return nil
}

// next decodes one record into v, a pointer to a zero struct; false at the end of the file.
func (r *reader) next(v any) (bool, error) {
	for r.count == 0 {
		if len(r.block) != 0 {
			return false, fmt.Errorf("%d bytes left over in a block", len(r.block))
		}
		if len(r.rest) == 0 {
			return false, nil
		}
		if err := r.nextBlock(); err != nil {
			return false, err
		}
	}
	// Every block is decompressed into memory of its own, so the records may point into it.
	rest, err := r.schema.Decode(r.block, v, avro.SkipUnknown(), avro.AliasInput())
	if err != nil {
		return false, err
	}
	if len(rest) == len(r.block) {
		return false, errors.New("a record without bytes")
	}
	r.block = rest
	r.count--
	return true, nil
}

func (r *reader) nextBlock() error {
	count, err := r.long()
	if err != nil {
		return err
	}
	data, err := r.bytes(maxBlockBytes)
	if err != nil {
		return fmt.Errorf("block: %w", err)
	}
	if len(r.rest) < len(r.sync) {
		return errTruncated
	}
	if !bytes.Equal(r.rest[:len(r.sync)], r.sync[:]) {
		return errors.New("block does not end with the sync marker")
	}
	r.rest = r.rest[len(r.sync):]
	if r.block, err = decompress(r.codec, data); err != nil {
		return fmt.Errorf("block (%s): %w", r.codec, err)
	}
	if count < 0 || count > int64(len(r.block)) {
		return fmt.Errorf("block of %d records in %d bytes", count, len(r.block))
	}
	if r.total += int64(len(r.block)); r.total > maxTotalBytes {
		return fmt.Errorf("more than %d bytes", maxTotalBytes)
	}
	r.count = count
	return nil
}

// decompress returns the block in memory that nobody else has, at most maxBlockBytes of it.
func decompress(codec string, data []byte) ([]byte, error) {
	switch codec {
	case "null":
		return slices.Clone(data), nil
	case "zstandard":
		return zstdDecoder().DecodeAll(data, nil)
	case "deflate":
		return bounded(ocf.DeflateCodec(-1), data)
	default:
		return bounded(ocf.SnappyCodec(), data)
	}
}

func bounded(c ocf.Codec, data []byte) ([]byte, error) {
	return c.(ocf.BoundedDecompressor).DecompressBounded(data, maxBlockBytes)
}

// schemaCache keeps parsed schemas by text. A warehouse has a handful of texts, one for each
// version that wrote into it; when strangers make it more, all are forgotten.
var schemaCache = struct {
	sync.Mutex
	byText map[string]*avro.Schema // guarded by the mutex; at most maxSchemas
}{byText: map[string]*avro.Schema{}}

const maxSchemas = 64

func parseSchema(text string, required []string) (*avro.Schema, error) {
	key := required[1] + text // the second column tells manifests and lists apart
	schemaCache.Lock()
	s := schemaCache.byText[key]
	schemaCache.Unlock()
	if s != nil {
		return s, nil
	}
	s, err := avro.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("schema: %w", err)
	}
	if err := checkSchema(*s.Root(), required); err != nil {
		return nil, fmt.Errorf("schema: %w", err)
	}
	schemaCache.Lock()
	defer schemaCache.Unlock()
	if len(schemaCache.byText) >= maxSchemas {
		clear(schemaCache.byText)
	}
	schemaCache.byText[key] = s
	return s, nil
}

// record returns the record that n is, or that a union with null has as its other branch.
func record(n avro.SchemaNode) (avro.SchemaNode, bool) {
	if n.Type == "union" && len(n.Branches) == 2 && n.Branches[0].Type == "null" {
		n = n.Branches[1]
	}
	return n, n.Type == "record"
}

func checkSchema(root avro.SchemaNode, required []string) error {
	rec, ok := record(root)
	if !ok {
		return errors.New("not a record")
	}
	for _, name := range required {
		i := slices.IndexFunc(rec.Fields, func(f avro.SchemaField) bool { return f.Name == name })
		if i < 0 {
			return fmt.Errorf("no column %s", name)
		}
		if name == "_FILE" {
			if err := checkSchema(rec.Fields[i].Type, fileRequired); err != nil {
				return fmt.Errorf("column _FILE: %w", err)
			}
		}
	}
	return nil
}
