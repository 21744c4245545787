package manifest

import (
	"errors"
	"fmt"
	"slices"

	"dtstore/table"
)

// formatVersion is the constant that every record of a manifest or list carries. Files with
// another number were written by a Paimon before 0.3 or by something we do not know.
const formatVersion = 2

// maxColumns bounds what one record may hold in an array (counts of nulls, names of columns).
const maxColumns = 1 << 15

// wireEntry is an Entry as it lies in a manifest.
type wireEntry struct {
	Version int `avro:"_VERSION"`
	Entry   `avro:",inline"`
}

// wireListEntry is a ListEntry as it lies in a manifest list.
type wireListEntry struct {
	Version   int `avro:"_VERSION"`
	ListEntry `avro:",inline"`
}

// EncodeEntries returns the manifest that holds entries in their order.
func EncodeEntries(entries []Entry) ([]byte, error) {
	w, err := newWriter(entrySchema, len(entries)*512)
	if err != nil {
		return nil, fmt.Errorf("encode manifest: %w", err)
	}
	for i := range entries {
		e := wireEntry{formatVersion, entries[i]}
		if e.File.ExtraFiles == nil {
			e.File.ExtraFiles = []string{}
		}
		if err := w.Encode(&e); err != nil {
			w.abandon()
			return nil, fmt.Errorf("encode manifest entry %s: %w", e.File.Name, err)
		}
	}
	b, err := w.finish()
	if err != nil {
		return nil, fmt.Errorf("encode manifest: %w", err)
	}
	return b, nil
}

// DecodeEntries reads a manifest written by us or by Paimon 0.4 or later. The entries may point
// into memory they share: treat them as read-only. Bytes of a stranger give an error, never a
// panic, and never more memory than a fixed multiple of the file's limits.
func DecodeEntries(b []byte) ([]Entry, error) {
	r, err := newReader(b, entryRequired)
	if err != nil {
		return nil, fmt.Errorf("decode manifest: %w", err)
	}
	var out []Entry
	var e wireEntry
	for {
		e = wireEntry{}
		more, err := r.next(&e)
		if err != nil {
			return nil, fmt.Errorf("decode manifest entry %d: %w", len(out), err)
		}
		if !more {
			return out, nil
		}
		if err := e.check(); err != nil {
			return nil, fmt.Errorf("decode manifest entry %d: %w", len(out), err)
		}
		if len(out) == cap(out) {
			out = slices.Grow(out, 1+int(min(r.count, 4096)))
		}
		out = append(out, e.Entry)
	}
}

// EncodeList returns the manifest list that holds list in its order.
func EncodeList(list []ListEntry) ([]byte, error) {
	w, err := newWriter(listSchema, len(list)*128)
	if err != nil {
		return nil, fmt.Errorf("encode manifest list: %w", err)
	}
	for i := range list {
		if err := w.Encode(&wireListEntry{formatVersion, list[i]}); err != nil {
			w.abandon()
			return nil, fmt.Errorf("encode manifest list entry %s: %w", list[i].Name, err)
		}
	}
	b, err := w.finish()
	if err != nil {
		return nil, fmt.Errorf("encode manifest list: %w", err)
	}
	return b, nil
}

// DecodeList reads a manifest list; see [DecodeEntries] for what it promises.
func DecodeList(b []byte) ([]ListEntry, error) {
	r, err := newReader(b, listRequired)
	if err != nil {
		return nil, fmt.Errorf("decode manifest list: %w", err)
	}
	var out []ListEntry
	for {
		var e wireListEntry
		more, err := r.next(&e)
		if err != nil {
			return nil, fmt.Errorf("decode manifest list entry %d: %w", len(out), err)
		}
		if !more {
			return out, nil
		}
		if err := e.check(); err != nil {
			return nil, fmt.Errorf("decode manifest list entry %d: %w", len(out), err)
		}
		out = append(out, e.ListEntry)
	}
}

func checkVersion(v int) error {
	if v != formatVersion {
		return table.Errorf("0A000", "manifest format version %d cannot be read, only version %d", v, formatVersion)
	}
	return nil
}

// check refuses what no writer writes and what later code relies on.
func (e *wireEntry) check() error {
	if err := checkVersion(e.Version); err != nil {
		return err
	}
	f := &e.File
	switch {
	case e.Kind != Add && e.Kind != Delete:
		return fmt.Errorf("unknown kind %d", e.Kind)
	case f.Name == "":
		return errors.New("no file name")
	case f.Size < 0 || f.Rows < 0:
		return fmt.Errorf("file %s: %d bytes, %d rows", f.Name, f.Size, f.Rows)
	case f.Level < 0 || f.Level > maxLevel:
		return fmt.Errorf("file %s: level %d", f.Name, f.Level)
	case len(e.Partition) < emptyRowLen:
		return fmt.Errorf("file %s: partition of %d bytes", f.Name, len(e.Partition))
	case len(f.KeyStats.NullCounts) > maxColumns, len(f.ValueStats.NullCounts) > maxColumns,
		len(f.ExtraFiles) > maxColumns, len(f.ValueStatsCols) > maxColumns, len(f.WriteCols) > maxColumns:
		return fmt.Errorf("file %s: more than %d items in a column", f.Name, maxColumns)
	}
	return nil
}

func (e *wireListEntry) check() error {
	if err := checkVersion(e.Version); err != nil {
		return err
	}
	switch {
	case e.Name == "":
		return errors.New("no file name")
	case e.Size < 0 || e.Added < 0 || e.Deleted < 0:
		return fmt.Errorf("manifest %s: %d bytes, %d added, %d deleted", e.Name, e.Size, e.Added, e.Deleted)
	case len(e.Partitions.NullCounts) > maxColumns:
		return fmt.Errorf("manifest %s: more than %d partition columns", e.Name, maxColumns)
	}
	return nil
}

// emptyRowLen is the length of the serialized row of no columns.
const emptyRowLen = 12

// maxLevel is far above any level an LSM has; it only keeps nonsense out.
const maxLevel = 1 << 10
