package manifest

import (
	"fmt"
	"slices"

	"dtstore/table"
)

// Column is what statistics say about one column.
type Column struct {
	Known    bool        // false: nothing at all is known, and dense statistics leave the column out
	Min, Max table.Value // null when unknown, or when every value is null
	Nulls    *int64      // nil when unknown
}

// EncodeStats returns statistics that name every column, in order (keys, partitions). types and
// columns go together.
func EncodeStats(types []table.Type, columns []Column) Stats {
	lo, hi := make(table.Row, len(columns)), make(table.Row, len(columns))
	nulls := make([]*int64, len(columns))
	for i, c := range columns {
		lo[i], hi[i], nulls[i] = c.Min, c.Max, c.Nulls
	}
	return Stats{
		Min:        table.AppendSerialized(nil, types, lo),
		Max:        table.AppendSerialized(nil, types, hi),
		NullCounts: nulls,
	}
}

// EncodeDense returns statistics of the known columns only, and their names for
// File.ValueStatsCols: nil if all are known (paimon-format 5.4).
func EncodeDense(names []string, types []table.Type, columns []Column) (Stats, []string) {
	if !slices.ContainsFunc(columns, func(c Column) bool { return !c.Known }) {
		return EncodeStats(types, columns), nil
	}
	kept, keptNames, keptTypes := []Column{}, []string{}, []table.Type{}
	for i, c := range columns {
		if c.Known {
			kept, keptNames, keptTypes = append(kept, c), append(keptNames, names[i]), append(keptTypes, types[i])
		}
	}
	return EncodeStats(keptTypes, kept), keptNames
}

// Decode returns the columns of s, one for each of types.
func (s Stats) Decode(types []table.Type) ([]Column, error) {
	lo, err := table.DecodeSerialized(types, s.Min)
	if err != nil {
		return nil, fmt.Errorf("statistics: minima: %w", err)
	}
	hi, err := table.DecodeSerialized(types, s.Max)
	if err != nil {
		return nil, fmt.Errorf("statistics: maxima: %w", err)
	}
	if s.NullCounts != nil && len(s.NullCounts) != len(types) {
		return nil, fmt.Errorf("statistics: %d counts of nulls for %d columns", len(s.NullCounts), len(types))
	}
	out := make([]Column, len(types))
	for i := range out {
		out[i] = Column{Known: true, Min: lo[i], Max: hi[i]}
		if s.NullCounts != nil {
			out[i].Nulls = s.NullCounts[i]
		}
	}
	return out, nil
}

// ValueColumns returns what is known about each column of written, the schema that f names
// (SchemaID). Columns without statistics come with Known false.
func (f *File) ValueColumns(written *table.Schema) ([]Column, error) {
	names := f.ValueStatsCols
	if names == nil {
		names = f.WriteCols
	}
	if names == nil {
		return f.ValueStats.Decode(written.Types())
	}
	at, types := make([]int, len(names)), make([]table.Type, len(names))
	for i, name := range names {
		at[i] = written.Index(name)
		if at[i] < 0 {
			return nil, fmt.Errorf("statistics of file %s: schema %d has no column %q", f.Name, written.ID, name)
		}
		types[i] = written.Fields[at[i]].Type
	}
	columns, err := f.ValueStats.Decode(types)
	if err != nil {
		return nil, fmt.Errorf("file %s: %w", f.Name, err)
	}
	out := make([]Column, len(written.Fields))
	for i, c := range columns {
		out[at[i]] = c
	}
	return out, nil
}

// Summarize returns the list entry of a manifest that holds entries (at least one) and lies in
// size bytes under name. Only the partition columns of s are looked at.
func Summarize(s *table.Schema, name string, size int64, entries []Entry) (ListEntry, error) {
	if len(entries) == 0 {
		panic("manifest: a manifest without entries")
	}
	out := ListEntry{Name: name, Size: size, SchemaID: entries[0].File.SchemaID}
	minBucket, maxBucket := int(entries[0].Bucket), int(entries[0].Bucket)
	minLevel, maxLevel := entries[0].File.Level, entries[0].File.Level
	rowIDs := true
	seen := map[table.Partition]int64{}
	for i := range entries {
		e := &entries[i]
		if e.Kind == Delete {
			out.Deleted++
		} else {
			out.Added++
		}
		out.SchemaID = max(out.SchemaID, e.File.SchemaID)
		minBucket, maxBucket = min(minBucket, int(e.Bucket)), max(maxBucket, int(e.Bucket))
		minLevel, maxLevel = min(minLevel, e.File.Level), max(maxLevel, e.File.Level)
		seen[e.Partition]++
		if id := e.File.FirstRowID; id == nil {
			rowIDs = false
		} else if rowIDs {
			last := *id + max(e.File.Rows, 1) - 1
			if out.MinRowID == nil {
				out.MinRowID, out.MaxRowID = ptr(*id), ptr(last)
			}
			*out.MinRowID, *out.MaxRowID = min(*out.MinRowID, *id), max(*out.MaxRowID, last)
		}
	}
	if !rowIDs {
		out.MinRowID, out.MaxRowID = nil, nil
	}
	out.MinBucket, out.MaxBucket, out.MinLevel, out.MaxLevel = &minBucket, &maxBucket, &minLevel, &maxLevel
	var err error
	out.Partitions, err = partitionStats(s.PartitionTypes(), seen)
	if err != nil {
		return ListEntry{}, fmt.Errorf("manifest %s: %w", name, err)
	}
	return out, nil
}

func ptr[T any](v T) *T { return &v }

// partitionStats returns the bounds of the partitions, each with how many entries it has.
func partitionStats(types []table.Type, seen map[table.Partition]int64) (Stats, error) {
	columns := make([]Column, len(types))
	for i := range columns {
		columns[i] = Column{Known: true, Nulls: new(int64)}
	}
	for p, n := range seen {
		row, err := table.DecodeSerialized(types, []byte(p))
		if err != nil {
			return Stats{}, fmt.Errorf("partition: %w", err)
		}
		for i, v := range row {
			c := &columns[i]
			switch {
			case v.IsNull():
				*c.Nulls += n
			case c.Min.IsNull():
				c.Min, c.Max = v, v
			default:
				if table.Compare(types[i], v, c.Min) < 0 {
					c.Min = v
				}
				if table.Compare(types[i], v, c.Max) > 0 {
					c.Max = v
				}
			}
		}
	}
	return EncodeStats(types, columns), nil
}
