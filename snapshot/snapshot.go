package snapshot

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"dtstore/table"
)

// formatVersion is the version of Paimon's snapshot format that we write, and the highest that
// we read.
const formatVersion = 3

const maxSnapshotBytes = 4 << 20

// Snapshot is one state of a table (paimon-format 3). Optional keys are nil when absent. It is
// not modified once made.
type Snapshot struct {
	ID               table.SnapshotID
	SchemaID         int64
	BaseList         string // manifest list of everything before this commit
	BaseListSize     *int64 // bytes
	DeltaList        string // manifest list of this commit's changes
	DeltaListSize    *int64
	ChangelogList    *string
	ChangelogSize    *int64
	IndexManifest    *string
	CommitUser       string
	CommitIdentifier int64
	CommitKind       string
	TimeMillis       int64 // epoch, UTC; never less than the previous snapshot's
	TotalRecords     int64 // physical rows of the live files
	DeltaRecords     int64
	ChangelogRecords *int64
	Watermark        *int64
	Statistics       *string
	Properties       map[string]string
	NextRowID        *int64

	unknown map[string]json.RawMessage // keys that mean nothing to us
	log     *logRecord                 // dtstore.log, decoded
	raw     []byte                     // the file's bytes, if it was read from one or put into one
}

// key is one known key of the JSON object.
type key struct {
	name     string
	value    any // pointer to the field
	required bool
}

// keys lists the known keys in the order in which they are written; version is apart.
func (s *Snapshot) keys() []key {
	return []key{
		{"id", &s.ID, true},
		{"schemaId", &s.SchemaID, true},
		{"baseManifestList", &s.BaseList, true},
		{"baseManifestListSize", &s.BaseListSize, false},
		{"deltaManifestList", &s.DeltaList, true},
		{"deltaManifestListSize", &s.DeltaListSize, false},
		{"changelogManifestList", &s.ChangelogList, false},
		{"changelogManifestListSize", &s.ChangelogSize, false},
		{"indexManifest", &s.IndexManifest, false},
		{"commitUser", &s.CommitUser, true},
		{"commitIdentifier", &s.CommitIdentifier, true},
		{"commitKind", &s.CommitKind, true},
		{"timeMillis", &s.TimeMillis, true},
		{"totalRecordCount", &s.TotalRecords, false},
		{"deltaRecordCount", &s.DeltaRecords, false},
		{"changelogRecordCount", &s.ChangelogRecords, false},
		{"watermark", &s.Watermark, false},
		{"statistics", &s.Statistics, false},
		{"properties", &s.Properties, false},
		{"nextRowId", &s.NextRowID, false},
	}
}

// Decode reads a snapshot file. A file of a newer format, ours or Paimon's, is refused.
func Decode(b []byte) (*Snapshot, error) {
	if len(b) > maxSnapshotBytes {
		return nil, fmt.Errorf("snapshot of %d bytes, at most %d are read", len(b), maxSnapshotBytes)
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal(b, &object); err != nil {
		return nil, fmt.Errorf("snapshot: %w", err)
	}
	version := 1
	if raw, ok := object["version"]; ok {
		if err := json.Unmarshal(raw, &version); err != nil {
			return nil, fmt.Errorf("snapshot: version: %w", err)
		}
		delete(object, "version")
	}
	if version < 2 || version > formatVersion {
		return nil, table.Errorf("0A000", "snapshot format version %d cannot be read, only 2 and %d", version, formatVersion).
			WithHint("The table was written by another version of Paimon; read it with that.")
	}
	s := &Snapshot{raw: slices.Clone(b)}
	for _, k := range s.keys() {
		raw, ok := object[k.name]
		if !ok || (!k.required && string(raw) == "null") {
			if k.required {
				return nil, fmt.Errorf("snapshot: no key %q", k.name)
			}
			delete(object, k.name)
			continue
		}
		if string(raw) == "null" {
			return nil, fmt.Errorf("snapshot: key %q is null", k.name)
		}
		if err := k.set(raw); err != nil {
			return nil, fmt.Errorf("snapshot: key %q: %w", k.name, err)
		}
		delete(object, k.name)
	}
	if len(object) > 0 {
		s.unknown = object
	}
	if err := s.check(); err != nil {
		return nil, fmt.Errorf("snapshot %d: %w", s.ID, err)
	}
	return s, nil
}

func (s *Snapshot) check() error {
	if s.ID < 1 {
		return errors.New("id below 1")
	}
	for _, name := range []*string{&s.BaseList, &s.DeltaList, s.ChangelogList, s.IndexManifest, s.Statistics} {
		if name != nil {
			if err := checkName(*name); err != nil {
				return err
			}
		}
	}
	return s.checkProperties()
}

// checkName refuses what is not the name of a file in a folder of the table.
func checkName(name string) error {
	if name == "" || name == "." || name == ".." || len(name) > 255 || strings.ContainsAny(name, "/\\\x00") {
		return fmt.Errorf("%q is not a file name", name)
	}
	return nil
}

// set decodes raw into k's field.
func (k key) set(raw json.RawMessage) error {
	switch v := k.value.(type) { // the frequent ones without reflection
	case *int64:
		n, err := strconv.ParseInt(string(raw), 10, 64)
		*v = n
		return err
	case **int64:
		n, err := strconv.ParseInt(string(raw), 10, 64)
		*v = &n
		return err
	}
	return json.Unmarshal(raw, k.value)
}

// Encode returns the file of s. Keys that Decode did not know come last, as they were.
func (s *Snapshot) Encode() ([]byte, error) {
	var b bytes.Buffer
	fmt.Fprintf(&b, "{\n  \"version\" : %d", formatVersion)
	put := func(name string, value any) error {
		fmt.Fprintf(&b, ",\n  %q : ", name)
		if n, ok := integer(value); ok {
			b.Write(strconv.AppendInt(b.AvailableBuffer(), n, 10))
			return nil
		}
		v, err := json.Marshal(value)
		if err != nil {
			return fmt.Errorf("encode snapshot %d: %s: %w", s.ID, name, err)
		}
		if m, ok := value.(*map[string]string); ok && len(*m) > 0 {
			return json.Indent(&b, v, "  ", "  ")
		}
		b.Write(v)
		return nil
	}
	for _, k := range s.keys() {
		if absent(k.value) {
			continue
		}
		if err := put(k.name, k.value); err != nil {
			return nil, err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.unknown)) {
		quoted, err := json.Marshal(name)
		if err != nil {
			return nil, fmt.Errorf("encode snapshot %d: %s: %w", s.ID, name, err)
		}
		fmt.Fprintf(&b, ",\n  %s : %s", quoted, s.unknown[name])
	}
	b.WriteString("\n}")
	return b.Bytes(), nil
}

// integer returns the number that value points to, if it is one.
func integer(value any) (int64, bool) {
	switch v := value.(type) {
	case *int64:
		return *v, true
	case *table.SnapshotID:
		return int64(*v), true
	case **int64:
		return **v, true
	}
	return 0, false
}

// absent tells whether the key that value points to is left out of the file.
func absent(value any) bool {
	switch v := value.(type) {
	case **int64:
		return *v == nil
	case **string:
		return *v == nil
	case *map[string]string:
		return len(*v) == 0
	}
	return false
}
