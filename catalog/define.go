package catalog

import (
	"slices"
	"strings"

	"dtstore/table"
)

// Definition is what CREATE TABLE says.
type Definition struct {
	Database, Name string
	Fields         []table.Field // names, types, descriptions; ids are given
	PrimaryKey     []string      // empty: an append table
	PartitionBy    []string
	Options        map[string]string
	Comment        string
}

const (
	maxColumns      = 1600 // as PostgreSQL
	maxCommentBytes = 64 << 10
)

// Schema checks the definition and returns the table's first schema, without
// what only CreateTable knows (the topic, the time). Columns of the primary key
// are made NOT NULL. Faults have the SQLSTATE that PostgreSQL gives them.
func (d Definition) Schema() (*table.Schema, error) {
	if err := checkName("table", d.Name); err != nil {
		return nil, err
	}
	if err := d.checkColumns(); err != nil {
		return nil, err
	}
	if err := d.checkKeys(); err != nil {
		return nil, err
	}
	if len(d.Comment) > maxCommentBytes {
		return nil, table.Errorf("54000", "the table's comment is longer than %d bytes", maxCommentBytes)
	}
	s := &table.Schema{
		HighestFieldID: len(d.Fields) - 1, Comment: d.Comment,
		PartitionKeys: slices.Clone(d.PartitionBy), PrimaryKeys: slices.Clone(d.PrimaryKey), Options: map[string]string{},
	}
	for i, f := range d.Fields {
		f.ID = i
		if slices.Contains(d.PrimaryKey, f.Name) {
			f.Type.NotNull = true
		}
		s.Fields = append(s.Fields, f)
	}
	if err := setOptions(s.Options, d.Options, nil); err != nil {
		return nil, err
	}
	if err := fillBuckets(s); err != nil {
		return nil, err
	}
	s.Options["file.format"] = "parquet"
	s.Options[optWriteOnly] = "true"
	return s, checkTogether(s)
}

func (d Definition) checkColumns() error {
	if len(d.Fields) == 0 {
		return table.Errorf("42P16", "table \"%s\" needs at least one column", d.Name)
	}
	if len(d.Fields) > maxColumns {
		return table.Errorf("54011", "tables can have at most %d columns", maxColumns)
	}
	seen := map[string]string{}
	for _, f := range d.Fields {
		if err := checkName("column", f.Name); err != nil {
			return err
		}
		low := strings.ToLower(f.Name)
		switch other, ok := seen[low]; {
		case ok && other == f.Name:
			return table.Errorf("42701", "column \"%s\" specified more than once", f.Name)
		case ok:
			return table.Errorf("42701", "columns \"%s\" and \"%s\" differ only in case", other, f.Name).
				WithHint("Other readers of the files would take them for one.")
		}
		seen[low] = f.Name
		if forbiddenName(f.Name) {
			return table.Errorf("42939", "column name \"%s\" is reserved by the file format", f.Name).WithHint("Choose another name.")
		}
		if f.Type.Kind == table.Unsupported {
			return table.Errorf("0A000", "column \"%s\" has the type %s, which is not implemented", f.Name, f.Type.Nullable())
		}
		if len(f.Description) > maxCommentBytes {
			return table.Errorf("54000", "the comment of column \"%s\" is longer than %d bytes", f.Name, maxCommentBytes)
		}
	}
	return nil
}

// forbiddenName says whether the format needs a column name for itself
// (paimon-format.md 2.2), in any case of its letters.
func forbiddenName(n string) bool {
	n = strings.ToUpper(n)
	return strings.HasPrefix(n, "_KEY_") || slices.Contains([]string{"_SEQUENCE_NUMBER", "_VALUE_KIND", "_LEVEL", "ROWKIND", "_ROW_ID"}, n)
}

func (d Definition) field(n string) *table.Field {
	for i := range d.Fields {
		if d.Fields[i].Name == n {
			return &d.Fields[i]
		}
	}
	return nil
}

// checkList says whether the names are columns, each once.
func (d Definition) checkList(what string, names []string) error {
	for i, n := range names {
		if d.field(n) == nil {
			e := table.Errorf("42703", "column \"%s\" named in %s does not exist", n, what)
			var all []string
			for _, f := range d.Fields {
				all = append(all, f.Name)
			}
			if near := table.Nearest(n, all); near != "" {
				e = e.WithHint("Did you mean \"%s\"?", near)
			}
			return e
		}
		if slices.Contains(names[:i], n) {
			return table.Errorf("42701", "column \"%s\" appears twice in %s", n, what)
		}
	}
	return nil
}

func (d Definition) checkKeys() error {
	if err := d.checkList("the primary key", d.PrimaryKey); err != nil {
		return err
	}
	if err := d.checkList("PARTITIONED BY", d.PartitionBy); err != nil {
		return err
	}
	for _, p := range d.PartitionBy {
		if len(d.PrimaryKey) > 0 && !slices.Contains(d.PrimaryKey, p) {
			return table.Errorf("0A000", "the primary key of a partitioned table must include all partition columns").
				WithDetail("The primary key lacks the column \"%s\".", p).
				WithHint("Write PRIMARY KEY (%s).", strings.Join(append(slices.Clone(d.PrimaryKey), p), ", "))
		}
		if t := d.field(p).Type; t.IsBinary() || t.Kind == table.Float || t.Kind == table.Double {
			return table.Errorf("0A000", "a table cannot be partitioned by column \"%s\" of type %s", p, t.SQLName()).
				WithHint("Its values would not give the same folder names in every engine.")
		}
	}
	if len(d.PrimaryKey) > 0 && len(d.PrimaryKey) == len(d.PartitionBy) {
		return table.Errorf("42P16", "the primary key must have a column that is not a partition column").
			WithHint("All rows of a partition would be one row.")
	}
	return nil
}

// setOptions checks a client's options and stores them in into.
func setOptions(into, given map[string]string, only func(key string) error) error {
	if len(given) > maxOptions {
		return table.Errorf("54000", "more than %d options", maxOptions)
	}
	for _, k := range sortedKeys(given) {
		v, err := checkOption(k, given[k])
		if err != nil {
			return err
		}
		if only != nil {
			if err := only(k); err != nil {
				return err
			}
		}
		into[k] = v
	}
	return nil
}

// fillBuckets decides the number of buckets, which is always stored: a table
// with a key and no number would be one of dynamic buckets to other engines.
func fillBuckets(s *table.Schema) error {
	count, given := s.Options["bucket"]
	key, hasKey := s.Options["bucket-key"]
	switch {
	case !given && s.Keyed():
		s.Options["bucket"] = "1"
	case !given:
		s.Options["bucket"] = "-1"
	case count == "-1" && s.Keyed():
		return table.Errorf("0A000", "option 'bucket' = '-1' (dynamic buckets) is not implemented for a table with a primary key").
			WithHint("Leave it out for one bucket, or give a number.")
	case count != "-1" && !s.Keyed() && !hasKey:
		return table.Errorf("22023", "a table without primary key and with 'bucket' = '%s' needs the option 'bucket-key'", count).
			WithHint("Name the columns that place a row in a bucket, or leave 'bucket' out.")
	}
	if !hasKey {
		return nil
	}
	if s.Options["bucket"] == "-1" {
		return table.Errorf("22023", "option 'bucket-key' needs the option 'bucket' with a number of buckets")
	}
	var names []string
	for n := range strings.SplitSeq(key, ",") {
		n = strings.TrimSpace(n)
		switch {
		case s.Index(n) < 0:
			return table.Errorf("42703", "column \"%s\" named in option 'bucket-key' does not exist", n)
		case slices.Contains(names, n):
			return table.Errorf("42701", "column \"%s\" appears twice in option 'bucket-key'", n)
		case slices.Contains(s.PartitionKeys, n):
			return table.Errorf("22023", "column \"%s\" in option 'bucket-key' is a partition column", n)
		case s.Keyed() && !slices.Contains(s.PrimaryKeys, n):
			return table.Errorf("22023", "column \"%s\" in option 'bucket-key' is not in the primary key", n).
				WithHint("All versions of a row must land in one bucket.")
		}
		names = append(names, n)
	}
	s.Options["bucket-key"] = strings.Join(names, ",")
	return nil
}

// checkTogether checks options that depend on each other.
func checkTogether(s *table.Schema) error {
	o := OptionsOf(s)
	if o.StopTrigger < o.CompactionTrigger {
		return table.Errorf("22023", "option 'num-sorted-run.stop-trigger' (%d) is below 'num-sorted-run.compaction-trigger' (%d)", o.StopTrigger, o.CompactionTrigger).
			WithHint("Writers would wait for a compaction that never begins.")
	}
	if o.RetainMax > 0 && o.RetainMax < o.RetainMin {
		return table.Errorf("22023", "option 'snapshot.num-retained.max' (%d) is below 'snapshot.num-retained.min' (%d)", o.RetainMax, o.RetainMin).
			WithHint("Set both.")
	}
	return nil
}
