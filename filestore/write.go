package filestore

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress"
	"github.com/parquet-go/parquet-go/compress/gzip"
	"github.com/parquet-go/parquet-go/compress/zstd"

	"dtstore/manifest"
	"dtstore/merge"
	"dtstore/table"
)

const (
	// pageRows is where every column's page ends, so that row i of the table
	// is in page i/pageRows of each: a lookup reads one page a column, and
	// Java, when it skips pages, skips the same rows of INT96 columns.
	pageRows = 2048
	// pageBytes ends a page sooner if its strings are long.
	pageBytes = 1 << 20
	// groupBytes is where a row group ends; until then it is held in memory.
	groupBytes = 8 << 20
	// groupRows bounds the rows of a group that compresses well: readers share
	// out work by row groups.
	groupRows = 1 << 18
	// dictBytes is how large a column's dictionary may grow before its further
	// pages are plain. Without it one dictionary of a million strings cost
	// 553 MB.
	dictBytes = 256 << 10
	// footerIndexBytes is how much of a string the page index keeps.
	footerIndexBytes = 64
)

// WriteRun writes rows to new data files of a place and returns their entries,
// all of kind ADD. Rows of a keyed table must come in ascending key order, one
// row for a key: that is checked, as is NULL in a NOT NULL column. Rows of an
// append table may come in any order. A file ends at the target size. source
// is 0 for rows from the log, 1 for a compaction.
//
// When WriteRun returns the files are durable; on an error none is left that
// it could remove. No rows give no entries. rows is not closed.
func (s *Store) WriteRun(ctx context.Context, p Place, level, source int, rows merge.Iterator) (entries []manifest.Entry, err error) {
	w := &runWriter{s: s, place: p, level: level, source: source, id: uuid.NewString(), target: s.target(p.Schema)}
	defer func() {
		if err != nil {
			w.abort(context.WithoutCancel(ctx))
			err = fmt.Errorf("write %s: %w", folder(p), err)
		}
	}()
	if w.codec, err = codec(p.Schema.Options); err != nil {
		return nil, err
	}
	if _, err := PartitionPath(p.Schema, p.Partition); err != nil {
		return nil, err
	}
	for n := 0; ; n++ {
		if n%1024 == 0 && ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		kv, err := rows.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		if err := w.add(ctx, kv); err != nil {
			return nil, err
		}
	}
	if err := w.finish(ctx); err != nil {
		return nil, err
	}
	return w.entries, nil
}

func (s *Store) target(schema *table.Schema) int64 {
	if s.opts.TargetFileBytes > 0 {
		return s.opts.TargetFileBytes
	}
	if n, err := ParseBytes(schema.Options["target-file-size"]); err == nil && n > 0 {
		return n
	}
	if schema.Keyed() {
		return 128 << 20
	}
	return 256 << 20
}

// ParseBytes reads a size as table options have it: a number and b, k, kb, m,
// mb, g, gb, t or tb, in any case; a bare number is bytes.
func ParseBytes(text string) (int64, error) {
	t := strings.ToLower(strings.TrimSpace(text))
	digits := strings.TrimRight(t, "bkmgtyes ")
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || n < 0 {
		return 0, fmt.Errorf("size %q", text)
	}
	shift, ok := map[string]int{"": 0, "b": 0, "bytes": 0, "k": 10, "kb": 10, "m": 20, "mb": 20, "g": 30, "gb": 30, "t": 40, "tb": 40}[strings.TrimSpace(t[len(digits):])]
	if !ok || n > math.MaxInt64>>shift {
		return 0, fmt.Errorf("size %q", text)
	}
	return n << shift, nil
}

// codec is the compression that the table's options ask for.
func codec(options map[string]string) (compress.Codec, error) {
	switch name := strings.ToLower(options["file.compression"]); name {
	case "", "zstd":
		level := zstd.SpeedFastest
		if n, err := strconv.Atoi(options["file.compression.zstd-level"]); err == nil && n >= 3 {
			level = zstd.SpeedDefault
			if n >= 7 {
				level = zstd.SpeedBetterCompression
			}
		}
		return &zstd.Codec{Level: level}, nil
	case "snappy":
		return &parquet.Snappy, nil
	case "gzip":
		return &gzip.Codec{Level: gzip.DefaultCompression}, nil
	case "none", "uncompressed":
		return &parquet.Uncompressed, nil
	default:
		return nil, table.Errorf("0A000", "file.compression %q is not supported", name).
			WithHint("Use zstd, snappy, gzip or none.")
	}
}

// runWriter writes one run as one or more files.
type runWriter struct {
	s       *Store
	place   Place
	level   int
	source  int
	id      string // of the run, in its files' names
	target  int64
	codec   compress.Codec
	last    table.TrimmedKey // of the row before
	any     bool             // there was one
	cur     *fileWriter      // nil between files
	entries []manifest.Entry
}

func (w *runWriter) add(ctx context.Context, kv *table.KeyValue) error {
	if w.place.Schema.Keyed() {
		if w.any && kv.Key <= w.last {
			return fmt.Errorf("key %x follows %x: rows of a run must ascend", string(kv.Key), string(w.last))
		}
		w.last, w.any = kv.Key, true
	}
	if len(kv.Row) != len(w.place.Schema.Fields) {
		return fmt.Errorf("row of %d values for %d columns", len(kv.Row), len(w.place.Schema.Fields))
	}
	if w.cur == nil {
		f, err := w.create()
		if err != nil {
			return err
		}
		w.cur = f
	}
	if err := w.cur.add(kv); err != nil {
		return err
	}
	if w.cur.full && w.cur.size() >= w.target {
		return w.finish(ctx)
	}
	return nil
}

// finish ends the current file and puts it into the store.
func (w *runWriter) finish(ctx context.Context) error {
	if w.cur == nil {
		return nil
	}
	f := w.cur
	entry, err := f.close()
	if err != nil {
		return err
	}
	w.cur = nil
	key := folder(w.place) + "/" + f.name
	undo := func() {}
	if w.s.cache != nil {
		undo = w.s.cache.adopt(key, f.temp, entry.File.Size)
	}
	if err := w.s.objs.PutFile(ctx, key, f.temp); err != nil {
		undo()
		os.Remove(f.temp)
		return err
	}
	w.entries = append(w.entries, entry)
	return nil
}

// abort removes what an unsuccessful run leaves: nothing refers to it, its
// names are its own.
func (w *runWriter) abort(ctx context.Context) {
	if w.cur != nil {
		w.cur.out.Close()
		os.Remove(w.cur.temp)
		w.cur = nil
	}
	for _, e := range w.entries {
		_ = w.s.Remove(ctx, w.place, e.File) // else a sweep finds it
	}
}

// create begins the next file. In a directory it is written beside its final
// place, under a name that is never listed; else in the spool folder.
func (w *runWriter) create() (*fileWriter, error) {
	name := "data-" + w.id + "-" + strconv.Itoa(len(w.entries)) + ".parquet"
	var out *os.File
	var err error
	if w.s.local != nil {
		dir := w.s.local.LocalPath(folder(w.place))
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return nil, err
		}
		out, err = os.OpenFile(filepath.Join(dir, "."+name+"."+uuid.NewString()+".tmp"), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o644)
	} else {
		out, err = os.CreateTemp(w.s.opts.SpoolDir, "dtstore-*.parquet.tmp")
	}
	if err != nil {
		return nil, err
	}
	return newFileWriter(w, name, out), nil
}

// fileWriter writes one data file: rows become columns of values, a page's
// worth at a time.
type fileWriter struct {
	schema *table.Schema
	name   string
	temp   string
	out    *os.File
	buf    *bufio.Writer
	count  countingWriter
	codec  compress.Codec
	level  int
	source int
	group  manifest.Group

	cols   []encoder
	stats  []columnStats // by field
	rows   int           // in the page being gathered
	bytes  int           // of its strings
	full   bool          // a page has just been written
	pq     *parquet.GenericWriter[any]
	rg     *parquet.ConcurrentRowGroupWriter
	rgRows int64

	total          int64
	deletes        int64
	minSeq, maxSeq table.Sequence
	keys           []int     // fields of the trimmed key
	first, last    table.Row // of which only the key is set
}

func newFileWriter(w *runWriter, name string, out *os.File) *fileWriter {
	f := &fileWriter{
		schema: w.place.Schema, name: name, temp: out.Name(), out: out, codec: w.codec, level: w.level, source: w.source,
		group: manifest.Group{Partition: w.place.Partition, Bucket: w.place.Bucket},
	}
	f.keys = f.schema.KeyIndexes()
	f.buf = bufio.NewWriterSize(out, 256<<10)
	f.count.w = f.buf
	for i, c := range layout(f.schema) {
		f.cols = append(f.cols, newEncoder(c, i))
	}
	for _, t := range f.schema.Types() {
		f.stats = append(f.stats, newColumnStats(t))
	}
	return f
}

type countingWriter struct {
	w io.Writer
	n int64
}

func (c *countingWriter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.n += int64(n)
	return n, err
}

func (f *fileWriter) size() int64 {
	n := f.count.n
	if f.rg != nil {
		n += f.rg.Size()
	}
	return n
}

func (f *fileWriter) add(kv *table.KeyValue) error {
	f.full = false
	for i := range f.cols {
		c := &f.cols[i]
		var v table.Value
		switch c.role {
		case seqRole:
			v = table.IntOf(int64(kv.Seq))
		case kindRole:
			v = table.IntOf(int64(kv.Kind))
		case keyRole:
			v = kv.Row[c.field]
		default:
			v = kv.Row[c.field]
			f.stats[c.field].add(v)
			f.bytes += v.Bytes()
		}
		if err := c.add(v); err != nil {
			return err
		}
	}
	if f.total == 0 {
		f.minSeq, f.maxSeq = kv.Seq, kv.Seq
		f.first, f.last = make(table.Row, len(kv.Row)), make(table.Row, len(kv.Row))
		for _, i := range f.keys {
			f.first[i] = kv.Row[i]
		}
	}
	f.minSeq, f.maxSeq = min(f.minSeq, kv.Seq), max(f.maxSeq, kv.Seq)
	if kv.Kind.Retract() {
		f.deletes++
	}
	f.total++
	f.rows++
	for _, i := range f.keys {
		f.last[i] = kv.Row[i]
	}
	if f.rows >= pageRows || f.bytes >= pageBytes {
		return f.flush()
	}
	return nil
}

// flush writes the gathered rows as one page of each column.
func (f *fileWriter) flush() error {
	if f.rows == 0 {
		return nil
	}
	if f.pq == nil {
		if err := f.open(); err != nil {
			return err
		}
	}
	if err := f.writePages(); err != nil {
		return err
	}
	for i := range f.stats {
		f.stats[i].settle()
	}
	for i := range f.cols {
		f.cols[i].reset()
	}
	f.rgRows += int64(f.rows)
	f.rows, f.bytes, f.full = 0, 0, true
	if f.rg.Size() >= groupBytes || f.rgRows+pageRows > groupRows {
		return f.endGroup()
	}
	return nil
}

// pageWriters bounds how many columns are encoded and compressed at a time.
const pageWriters = 4

// writePages encodes and compresses a page of each column, several columns at
// a time: a column writer shares nothing with the others.
func (f *fileWriter) writePages() error {
	columns := f.rg.ColumnWriters()
	errs := make([]error, len(columns))
	var next atomic.Int32
	work := func() {
		for {
			i := int(next.Add(1)) - 1
			if i >= len(columns) {
				return
			}
			if _, errs[i] = columns[i].WriteRowValues(f.cols[i].vals); errs[i] == nil {
				errs[i] = columns[i].Flush() // ends the page
			}
		}
	}
	var wg sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), pageWriters, len(columns)) - 1 {
		wg.Go(work)
	}
	work()
	wg.Wait()
	return errors.Join(errs...)
}

func (f *fileWriter) endGroup() error {
	if f.rg == nil || f.rgRows == 0 {
		return nil
	}
	f.rgRows = 0
	_, err := f.rg.Commit()
	return err
}

// open begins the Parquet file. The rows of the first page decide which
// columns get a dictionary.
func (f *fileWriter) open() error {
	g := &group{Group: parquet.Group{}}
	var bounds []parquet.WriterOption
	for i := range f.cols {
		c := &f.cols[i]
		n := c.node()
		switch {
		case c.repetitive():
			n = parquet.Encoded(n, &parquet.RLEDictionary)
		case c.packs():
			n = parquet.Encoded(n, &parquet.DeltaBinaryPacked)
		}
		g.fields = append(g.fields, &namedField{n, c.name})
		if noFooterBounds(c.typ) {
			bounds = append(bounds, parquet.SkipPageBounds(c.name), parquet.SkipPageStatistics(c.name))
		}
	}
	options := []parquet.WriterOption{
		parquet.NewSchema(schemaName, g),
		parquet.DataPageVersion(1),
		parquet.Compression(f.codec),
		parquet.CreatedBy("dtstore", "1", ""),
		parquet.DefaultEncoding(&parquet.Plain), // Java misreads DELTA_LENGTH_BYTE_ARRAY, the library's default
		parquet.DictionaryMaxBytes(dictBytes),
		parquet.MaxRowsPerRowGroup(groupRows),
		parquet.ColumnIndexSizeLimit(func([]string) int { return footerIndexBytes }),
	}
	f.pq = parquet.NewGenericWriter[any](&f.count, append(options, bounds...)...)
	f.rg = f.pq.BeginRowGroup()
	return nil
}

// close ends the file and describes it. PutFile syncs it.
func (f *fileWriter) close() (manifest.Entry, error) {
	err := f.flush()
	if err == nil {
		err = f.endGroup()
	}
	if err == nil {
		err = f.pq.Close()
	}
	if err == nil {
		err = f.buf.Flush()
	}
	if err == nil {
		err = f.dropBoundless()
	}
	if e := f.out.Close(); err == nil {
		err = e
	}
	if err != nil {
		return manifest.Entry{}, err
	}
	now := time.Now().UTC().UnixMilli()
	file := manifest.File{
		Name: f.name, Size: f.count.n, Rows: f.total,
		MinKey: []byte(table.EmptyPartition), MaxKey: []byte(table.EmptyPartition),
		KeyStats: manifest.Stats{Min: []byte(table.EmptyPartition), Max: []byte(table.EmptyPartition), NullCounts: []*int64{}},
		MinSeq:   f.minSeq, MaxSeq: f.maxSeq, SchemaID: f.schema.ID, Level: f.level, ExtraFiles: []string{},
		CreationMillis: &now, DeleteRows: &f.deletes, Source: &f.source,
	}
	all := make([]int, len(f.schema.Fields))
	for i := range all {
		all[i] = i
	}
	file.ValueStats = statsOf(f.stats, all, valueStatsChars)
	if f.schema.Keyed() {
		file.MinKey, file.MaxKey = f.schema.BinaryKey(f.first), f.schema.BinaryKey(f.last)
		file.KeyStats = statsOf(f.stats, f.schema.KeyIndexes(), keyStatsChars)
	}
	return manifest.Entry{
		Kind: manifest.Add, Partition: f.group.Partition, Bucket: f.group.Bucket,
		TotalBuckets: f.schema.TotalBuckets(), File: file,
	}, nil
}
