package catalog

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"dtstore/table"
)

// readableValues are the values that leave a batch read what we build, of
// options that can change it.
var readableValues = map[string]func(value string) bool{
	"bucket":                     func(v string) bool { n, err := strconv.Atoi(v); return err == nil && (n == -1 || n >= 1) },
	"bucket-key":                 anything,
	"partition.default-name":     anything,
	"partition.legacy-name":      is("true", "false"),
	"merge-engine":               is("deduplicate"),
	"ignore-delete":              is("false"),
	"ignore-update-before":       is("false"),
	"bucket-function.type":       is("default"),
	"type":                       is("table"),
	"branch":                     is("main"),
	"file.format":                is("parquet"),
	"file.format.per.level":      perLevel(is("parquet")),
	"file.compression":           is("zstd", "snappy", "gzip", "none", "uncompressed"),
	"file.compression.per.level": perLevel(is("zstd", "snappy", "gzip", "none", "uncompressed")),
	"manifest.format":            is("avro"),
	"deletion-vectors.enabled":   is("false"),
	"data-file.thin-mode":        is("false"),
	"scan.mode":                  is("default", "latest-full", "full"),
	"row-tracking.enabled":       is("false"),
	"data-evolution.enabled":     is("false"),
	"query-auth.enabled":         is("false"),
	"primary-key.nullable":       is("false"),
	"change-tracking":            is("true"),
}

func anything(string) bool { return true }

func is(values ...string) func(string) bool {
	return func(v string) bool { return slices.Contains(values, strings.ToLower(strings.TrimSpace(v))) }
}

// perLevel reads "0:avro,3:parquet".
func perLevel(ok func(string) bool) func(string) bool {
	return func(v string) bool {
		for part := range strings.SplitSeq(v, ",") {
			if _, value, found := strings.Cut(part, ":"); !found || !ok(value) {
				return false
			}
		}
		return true
	}
}

// readable says why the rows of a table cannot be read, or cannot be read
// right: nil if they can. versions are all its schemas, the newest last.
//
// It knows a list of what is harmless and refuses the rest (seam E1): an option
// nobody has looked at may change which rows there are.
func readable(name string, versions []*table.Schema) error {
	s := versions[len(versions)-1]
	reasons := optionReasons(s)
	for _, f := range s.Fields {
		if f.Type.Kind == table.Unsupported {
			reasons = append(reasons, fmt.Sprintf("column \"%s\" of type %s", f.Name, f.Type.Nullable()))
		}
	}
	for _, old := range versions[:len(versions)-1] {
		if !sameColumns(old, s) {
			reasons = append(reasons, fmt.Sprintf("columns that changed between schema %d and schema %d", old.ID, s.ID))
			break
		}
	}
	for _, old := range versions[:len(versions)-1] {
		if old.Options["deletion-vectors.enabled"] == "true" && s.Options["deletion-vectors.enabled"] != "true" {
			reasons = append(reasons, fmt.Sprintf("deletion vectors, as of schema %d", old.ID))
			break
		}
	}
	reasons = append(reasons, shapeReasons(s)...)
	if len(reasons) == 0 {
		return nil
	}
	shown := reasons[:min(len(reasons), 3)]
	text := strings.Join(shown, "; ")
	if more := len(reasons) - len(shown); more > 0 {
		text += fmt.Sprintf("; and %d more", more)
	}
	return table.Errorf("0A000", "table \"%s\" cannot be read: dtstore does not implement its %s", name, text).
		WithHint("Read it with the engine that wrote it, for example Flink or Spark.")
}

// optionReasons lists the options of s that stand in the way, those that we
// know to change a read first.
func optionReasons(s *table.Schema) []string {
	_, own := s.Options[optTopicID]
	var known, others []string
	for _, k := range slices.Sorted(maps.Keys(s.Options)) {
		v := s.Options[k]
		reason := fmt.Sprintf("option '%s' = '%.60s'", k, v)
		if ok, special := readableValues[k]; special {
			if !ok(v) {
				known = append(known, reason)
			}
			continue
		}
		if k == optTopic || k == optTopicID {
			continue
		}
		if strings.HasPrefix(k, ourPrefix) && own {
			others = append(others, reason+", which a newer dtstore wrote")
			continue
		}
		if class(k) != harmless {
			others = append(others, reason)
		}
	}
	return append(known, others...)
}

// shapeReasons lists what of the columns and keys we cannot handle.
func shapeReasons(s *table.Schema) (reasons []string) {
	seen := map[string]string{}
	for _, f := range s.Fields {
		low := strings.ToLower(f.Name)
		if other, ok := seen[low]; ok {
			reasons = append(reasons, fmt.Sprintf("columns \"%s\" and \"%s\", which differ only in case", other, f.Name))
		}
		seen[low] = f.Name
		if forbiddenName(f.Name) {
			reasons = append(reasons, fmt.Sprintf("column \"%s\", whose name the format reserves", f.Name))
		}
	}
	if s.Keyed() {
		for _, p := range s.PartitionKeys {
			if !slices.Contains(s.PrimaryKeys, p) {
				reasons = append(reasons, fmt.Sprintf("primary key without the partition column \"%s\"", p))
			}
		}
		if len(s.PrimaryKeys) == len(s.PartitionKeys) && len(reasons) == 0 {
			reasons = append(reasons, "primary key of partition columns only")
		}
	}
	return reasons
}

// CheckSchema says whether files of that schema have the columns of t.Schema:
// 40001 if the schema is newer than t (the statement can be repeated), 0A000 if
// its columns are others or it is missing. A reader asks it of the schema of each
// file that it is about to read.
func (t *Table) CheckSchema(id int64) error {
	switch {
	case slices.Contains(t.schemaIDs, id):
		return nil
	case id > t.Schema.ID:
		return table.Errorf("40001", "table \"%s\" was altered while it was being read", t.display()).WithHint("Run the statement again.")
	}
	return table.Errorf("0A000", "table \"%s\" cannot be read: it has files of schema %d, which has other columns or is missing", t.display(), id).
		WithHint("Read it with the engine that wrote it, for example Flink or Spark.")
}
