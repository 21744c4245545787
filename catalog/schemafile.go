package catalog

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

const schemaVersion = 3 // of the files that we write, and the newest that we read

// schemaFile is the JSON of schema-N; FORMAT.md.
type schemaFile struct {
	Version        *int              `json:"version"`
	ID             *int64            `json:"id"`
	Fields         []schemaField     `json:"fields"`
	HighestFieldID int               `json:"highestFieldId"`
	PartitionKeys  []string          `json:"partitionKeys"`
	PrimaryKeys    []string          `json:"primaryKeys"`
	Options        map[string]string `json:"options"`
	Comment        string            `json:"comment"`
	TimeMillis     int64             `json:"timeMillis"`
}

type schemaField struct {
	ID          *int            `json:"id"`
	Name        string          `json:"name"`
	Type        json.RawMessage `json:"type"`
	Description string          `json:"description"`
	Default     string          `json:"defaultValue"`
}

// errNewer is what DecodeSchema returns for a file of a later format.
var errNewer = errors.New("newer format")

// DecodeSchema reads a schema file (paimon-format.md 2). Columns of types that
// dtstore does not store have the kind Unsupported and their type's text. What
// it returns is consistent: keys name columns, ids and names are unique.
func DecodeSchema(body []byte) (*table.Schema, error) {
	var f schemaFile
	if err := json.Unmarshal(body, &f); err != nil {
		return nil, err
	}
	version := 1
	if f.Version != nil {
		version = *f.Version
	}
	if version > schemaVersion {
		return nil, fmt.Errorf("%w: version %d of schema files, this server knows %d", errNewer, version, schemaVersion)
	}
	if f.ID == nil || *f.ID < 0 {
		return nil, errors.New("no id")
	}
	s := &table.Schema{
		ID: *f.ID, HighestFieldID: f.HighestFieldID, PartitionKeys: f.PartitionKeys, PrimaryKeys: f.PrimaryKeys,
		Options: f.Options, Comment: f.Comment, TimeMillis: f.TimeMillis,
	}
	if s.Options == nil {
		s.Options = map[string]string{}
	}
	// What older versions meant by leaving an option out.
	if _, ok := s.Options["bucket"]; version <= 1 && !ok {
		s.Options["bucket"] = "1"
	}
	if _, ok := s.Options["file.format"]; version <= 2 && !ok {
		s.Options["file.format"] = "orc"
	}
	for _, ff := range f.Fields {
		typ, err := decodeType(ff.Type, 0)
		if err != nil {
			return nil, fmt.Errorf("column %q: %w", ff.Name, err)
		}
		if ff.ID == nil {
			return nil, fmt.Errorf("column %q has no id", ff.Name)
		}
		s.Fields = append(s.Fields, table.Field{ID: *ff.ID, Name: ff.Name, Type: typ, Description: ff.Description, Default: ff.Default})
	}
	if err := checkShape(s); err != nil {
		return nil, err
	}
	return s, nil
}

// checkShape says what makes a schema inconsistent in itself.
func checkShape(s *table.Schema) error {
	if len(s.Fields) == 0 {
		return errors.New("no columns")
	}
	ids, names := map[int]bool{}, map[string]bool{}
	for _, f := range s.Fields {
		if f.Name == "" || names[f.Name] {
			return fmt.Errorf("column name %q is empty or twice there", f.Name)
		}
		if f.ID < 0 || ids[f.ID] {
			return fmt.Errorf("column %q: id %d is negative or twice there", f.Name, f.ID)
		}
		ids[f.ID], names[f.Name] = true, true
	}
	for what, keys := range map[string][]string{"primaryKeys": s.PrimaryKeys, "partitionKeys": s.PartitionKeys} {
		seen := map[string]bool{}
		for _, k := range keys {
			if !names[k] || seen[k] {
				return fmt.Errorf("%s: %q is no column or twice there", what, k)
			}
			seen[k] = true
		}
	}
	return nil
}

// maxNesting bounds the depth of a type; beyond it is no type of a real table.
const maxNesting = 100

// decodeType reads a type: a string, or an object for nested types.
func decodeType(raw json.RawMessage, depth int) (table.Type, error) {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || depth > maxNesting {
		return table.Type{}, errors.New("no type, or one nested too deep")
	}
	if raw[0] == '"' {
		var text string
		if err := json.Unmarshal(raw, &text); err != nil {
			return table.Type{}, err
		}
		return table.ParseType(text)
	}
	var nested struct {
		Type                string
		Element, Key, Value json.RawMessage
		Fields              []schemaField
	}
	if err := json.Unmarshal(raw, &nested); err != nil {
		return table.Type{}, err
	}
	word, notNull := strings.CutSuffix(strings.ToUpper(nested.Type), " NOT NULL")
	var inside []string
	for _, part := range []json.RawMessage{nested.Element, nested.Key, nested.Value} {
		if part == nil {
			continue
		}
		t, err := decodeType(part, depth+1)
		if err != nil {
			return table.Type{}, err
		}
		inside = append(inside, t.String())
	}
	for _, f := range nested.Fields {
		t, err := decodeType(f.Type, depth+1)
		if err != nil {
			return table.Type{}, err
		}
		inside = append(inside, f.Name+" "+t.String())
	}
	if word == "" || len(inside) == 0 {
		return table.Type{}, fmt.Errorf("%.60q is no type", raw)
	}
	return table.Type{Kind: table.Unsupported, NotNull: notNull, Text: word + "<" + strings.Join(inside, ", ") + ">"}, nil
}

// EncodeSchema writes a schema file in the layout that Paimon's Java code gives
// it, options in order of their names. All types must be ones that we store.
func EncodeSchema(s *table.Schema) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "{\n  \"version\" : %d,\n  \"id\" : %d,\n  \"fields\" : [ ", schemaVersion, s.ID)
	for i, f := range s.Fields {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "{\n    \"id\" : %d,\n    \"name\" : %s,\n    \"type\" : %s", f.ID, quote(f.Name), quote(f.Type.String()))
		if f.Description != "" {
			fmt.Fprintf(&b, ",\n    \"description\" : %s", quote(f.Description))
		}
		if f.Default != "" {
			fmt.Fprintf(&b, ",\n    \"defaultValue\" : %s", quote(f.Default))
		}
		b.WriteString("\n  }")
	}
	fmt.Fprintf(&b, " ],\n  \"highestFieldId\" : %d,\n  \"partitionKeys\" : %s,\n  \"primaryKeys\" : %s,\n  \"options\" : {",
		s.HighestFieldID, quoteList(s.PartitionKeys), quoteList(s.PrimaryKeys))
	for i, k := range slices.Sorted(maps.Keys(s.Options)) {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, "\n    %s : %s", quote(k), quote(s.Options[k]))
	}
	if len(s.Options) > 0 {
		b.WriteString("\n ")
	}
	fmt.Fprintf(&b, " },\n  \"comment\" : %s,\n  \"timeMillis\" : %d\n}", quote(s.Comment), s.TimeMillis)
	return b.Bytes()
}

// quote is a JSON string, with no more escapes than JSON wants.
func quote(s string) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(s); err != nil {
		panic(fmt.Sprintf("catalog: encode %q: %v", s, err))
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func quoteList(names []string) string {
	if len(names) == 0 {
		return "[ ]"
	}
	quoted := make([]string, len(names))
	for i, n := range names {
		quoted[i] = quote(n)
	}
	return "[ " + strings.Join(quoted, ", ") + " ]"
}

const schemaPrefix = "schema-"

// schemaKey is the object of a table's schema id.
func schemaKey(path string, id int64) string {
	return path + "/schema/" + schemaPrefix + strconv.FormatInt(id, 10)
}

// schemaID parses the name of a schema file; other files may lie beside it.
func schemaID(name string) (int64, bool) {
	digits, ok := strings.CutPrefix(name, schemaPrefix)
	id, err := strconv.ParseInt(digits, 10, 64)
	if !ok || err != nil || id < 0 || strconv.FormatInt(id, 10) != digits {
		return 0, false
	}
	return id, true
}

// sameColumns says whether two versions have the same columns: id, name and
// type, in the same order, and the same keys.
func sameColumns(a, b *table.Schema) bool {
	return slices.EqualFunc(a.Fields, b.Fields, func(x, y table.Field) bool { return x.ID == y.ID && x.Name == y.Name && x.Type == y.Type }) &&
		slices.Equal(a.PrimaryKeys, b.PrimaryKeys) && slices.Equal(a.PartitionKeys, b.PartitionKeys)
}
