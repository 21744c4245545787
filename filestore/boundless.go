package filestore

import (
	"encoding/binary"
	"fmt"

	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

// dropBoundless takes the column indexes of columns without bounds out of the
// footer of the finished file. The library writes them with bounds of zeros,
// which Java believes: Flink's `d = 19.875` then finds no row.
func (f *fileWriter) dropBoundless() error {
	const ending = 8 // the footer's length and the magic
	var end [ending]byte
	if _, err := f.out.ReadAt(end[:], f.count.n-ending); err != nil {
		return fmt.Errorf("read back %s: %w", f.temp, err)
	}
	at := f.count.n - ending - int64(binary.LittleEndian.Uint32(end[:]))
	footer := make([]byte, f.count.n-ending-at)
	if _, err := f.out.ReadAt(footer, at); err != nil {
		return fmt.Errorf("read back %s: %w", f.temp, err)
	}
	var p thrift.CompactProtocol
	var meta format.FileMetaData
	if err := thrift.Unmarshal(&p, footer, &meta); err != nil {
		return fmt.Errorf("read back the footer of %s: %w", f.temp, err)
	}
	for g := range meta.RowGroups {
		for i := range meta.RowGroups[g].Columns {
			if c := &meta.RowGroups[g].Columns[i]; noFooterBounds(f.cols[i].typ) {
				c.ColumnIndexOffset, c.ColumnIndexLength = 0, 0
			}
		}
	}
	out, err := thrift.Marshal(&p, &meta)
	if err != nil {
		return fmt.Errorf("footer of %s: %w", f.temp, err)
	}
	binary.LittleEndian.PutUint32(end[:], uint32(len(out)))
	out = append(out, end[:]...)
	if _, err := f.out.WriteAt(out, at); err != nil {
		return err
	}
	f.count.n = at + int64(len(out))
	return f.out.Truncate(f.count.n)
}
