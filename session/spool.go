package session

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"slices"

	"dtstore/catalog"
	"dtstore/logstore"
	"dtstore/table"
)

// spool keeps a transaction's inserted rows on the disk: a file for each
// bucket, of records
//
//	8 bytes LE the change's number · uvarint length · the row as a serialized BinaryRow
//
// The files have no names once they are open: whatever happens, they are gone
// with the process. A key that comes twice stays twice, in order: the later
// one wins when the log is read.
type spool struct {
	dir   string
	t     *catalog.Table
	files map[table.Bucket]*spoolFile

	head, row []byte // reused by add
}

type spoolFile struct {
	f     *os.File
	w     *bufio.Writer
	rows  int64
	bytes int64
}

func newSpool(dir string, t *catalog.Table) (*spool, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("spool folder: %w", err)
	}
	return &spool{dir: dir, t: t, files: map[table.Bucket]*spoolFile{}}, nil
}

func (s *spool) add(b table.Bucket, c table.Change) error {
	f := s.files[b]
	if f == nil {
		file, err := os.CreateTemp(s.dir, "rows-*")
		if err != nil {
			return fmt.Errorf("spool rows: %w", err)
		}
		if err := os.Remove(filepath.Clean(file.Name())); err != nil {
			return errors.Join(fmt.Errorf("spool rows: %w", err), file.Close())
		}
		f = &spoolFile{f: file, w: bufio.NewWriterSize(file, 1<<20)}
		s.files[b] = f
	}
	s.row = table.AppendSerialized(s.row[:0], s.t.Schema.Types(), c.After)
	s.head = binary.LittleEndian.AppendUint64(s.head[:0], uint64(c.Offset))
	s.head = binary.AppendUvarint(s.head, uint64(len(s.row)))
	if _, err := f.w.Write(s.head); err != nil {
		return spoolError(err)
	}
	if _, err := f.w.Write(s.row); err != nil {
		return spoolError(err)
	}
	f.rows++
	f.bytes += int64(len(s.head) + len(s.row))
	return nil
}

// bytes on the disk.
func (s *spool) bytes() int64 {
	var n int64
	for _, f := range s.files {
		n += f.bytes
	}
	return n
}

// ops is all rows, in the order in which they came.
func (s *spool) ops() ([]op, error) {
	var out []op
	for _, b := range s.buckets() {
		err := s.each(b, func(number mark, _ int64, data []byte) error {
			row, err := table.DecodeSerialized(s.t.Schema.Types(), bytes.Clone(data))
			out = append(out, op{b, table.Change{Offset: number, Kind: table.Insert, After: row}})
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	slices.SortFunc(out, func(a, b op) int { return cmp.Compare(a.change.Offset, b.change.Offset) })
	return out, nil
}

func spoolError(err error) error {
	return table.Errorf("53100", "rows of the transaction cannot be kept on the disk: %w", err).
		WithHint("Free space in the folder spool of the server's data, or load in smaller transactions.")
}

// buckets that have rows, in order.
func (s *spool) buckets() []table.Bucket {
	var out []table.Bucket
	for b, f := range s.files {
		if f.rows > 0 {
			out = append(out, b)
		}
	}
	slices.Sort(out)
	return out
}

// each reads a bucket's rows from the start; at is the byte where one begins.
func (s *spool) each(b table.Bucket, yield func(number mark, at int64, row []byte) error) error {
	f := s.files[b]
	if err := f.w.Flush(); err != nil {
		return spoolError(err)
	}
	in := &counter{r: bufio.NewReaderSize(io.NewSectionReader(f.f, 0, 1<<62), 1<<20)}
	var buf []byte
	for range f.rows {
		at := in.n
		var head [8]byte
		if _, err := io.ReadFull(in, head[:]); err != nil {
			return fmt.Errorf("read spooled rows: %w", err)
		}
		n, err := binary.ReadUvarint(in)
		if err != nil {
			return fmt.Errorf("read spooled rows: %w", err)
		}
		buf = slices.Grow(buf[:0], int(n))[:n]
		if _, err := io.ReadFull(in, buf); err != nil {
			return fmt.Errorf("read spooled rows: %w", err)
		}
		if err := yield(mark(binary.LittleEndian.Uint64(head[:])), at, buf); err != nil {
			return err
		}
	}
	return nil
}

type counter struct {
	r *bufio.Reader
	n int64
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	return n, err
}

func (c *counter) ReadByte() (byte, error) {
	b, err := c.r.ReadByte()
	if err == nil {
		c.n++
	}
	return b, err
}

var errStop = errors.New("stop")

// truncate forgets the rows whose number is at or above m.
func (s *spool) truncate(m mark) error {
	for b, f := range s.files {
		rows, end := int64(0), int64(-1)
		err := s.each(b, func(number mark, at int64, _ []byte) error {
			if number >= m {
				end = at
				return errStop
			}
			rows++
			return nil
		})
		if err != nil && !errors.Is(err, errStop) {
			return err
		}
		if end < 0 {
			continue
		}
		if err := f.f.Truncate(end); err != nil {
			return spoolError(err)
		}
		if _, err := f.f.Seek(end, io.SeekStart); err != nil {
			return spoolError(err)
		}
		f.rows, f.bytes = rows, end
		f.w.Reset(f.f)
	}
	return nil
}

// spoolBatch is how many records are handed to the log at a time.
const spoolBatch = 5000

// records yields a bucket's rows as records of a commit.
func (s *spool) records(b table.Bucket, codec *logstore.Codec, commit string, touched []logstore.TopicPartition) iter.Seq2[[]logstore.Record, error] {
	return func(yield func([]logstore.Record, error) bool) {
		var batch []logstore.Record
		first := true
		err := s.each(b, func(_ mark, _ int64, data []byte) error {
			row, err := table.DecodeSerialized(s.t.Schema.Types(), data)
			if err != nil {
				return fmt.Errorf("read spooled rows: %w", err)
			}
			batch = append(batch, codec.Encode(table.Change{Kind: table.Insert, After: row}, commit, first, touched))
			first = false
			if len(batch) == spoolBatch {
				if !yield(batch, nil) {
					return errStop
				}
				batch = nil
			}
			return nil
		})
		switch {
		case errors.Is(err, errStop):
		case err != nil:
			yield(nil, err)
		case len(batch) > 0:
			yield(batch, nil)
		}
	}
}

func (s *spool) close() {
	for _, f := range s.files {
		f.f.Close()
	}
	s.files = nil
}
