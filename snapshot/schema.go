package snapshot

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"dtstore/table"
)

// schemaKeys is what a commit needs of a schema file: the columns of the keys, whose types never
// change. catalog reads the whole file.
type schemaKeys struct {
	Fields []struct {
		Name string          `json:"name"`
		Type json.RawMessage `json:"type"`
	} `json:"fields"`
	PartitionKeys []string `json:"partitionKeys"`
	PrimaryKeys   []string `json:"primaryKeys"`
}

// schema returns the schema id, with the columns of its keys alone.
func (t *Table) schema(ctx context.Context, id int64) (*table.Schema, error) {
	t.mu.Lock()
	s := t.schemas[id]
	t.mu.Unlock()
	if s != nil {
		return s, nil
	}
	b, err := t.store.Get(ctx, t.key("schema", fmt.Sprintf("schema-%d", id)))
	if err != nil {
		return nil, fmt.Errorf("read schema %d of %s: %w", id, t.path, err)
	}
	s, err = decodeKeys(b)
	if err != nil {
		return nil, fmt.Errorf("read schema %d of %s: %w", id, t.path, err)
	}
	s.ID = id
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.schemas == nil {
		t.schemas = map[int64]*table.Schema{}
	}
	t.schemas[id] = s
	return s, nil
}

func decodeKeys(b []byte) (*table.Schema, error) {
	var file schemaKeys
	if err := json.Unmarshal(b, &file); err != nil {
		return nil, err
	}
	s := &table.Schema{PartitionKeys: file.PartitionKeys, PrimaryKeys: file.PrimaryKeys, Options: map[string]string{}}
	for _, f := range file.Fields {
		if !slices.Contains(file.PartitionKeys, f.Name) && !slices.Contains(file.PrimaryKeys, f.Name) {
			continue
		}
		var text string
		if err := json.Unmarshal(f.Type, &text); err != nil {
			return nil, fmt.Errorf("column %q: %w", f.Name, err)
		}
		typ, err := table.ParseType(text)
		if err != nil {
			return nil, fmt.Errorf("column %q: %w", f.Name, err)
		}
		s.Fields = append(s.Fields, table.Field{ID: len(s.Fields), Name: f.Name, Type: typ})
	}
	for _, name := range slices.Concat(file.PartitionKeys, file.PrimaryKeys) {
		if s.Index(name) < 0 {
			return nil, fmt.Errorf("no column %q", name)
		}
	}
	return s, nil
}
