package agree

import (
	"encoding/json"
	"fmt"
	"strings"

	"dtstore/table"
)

// Schema reads columns and keys of a schema file that has scalar columns only.
func Schema(data []byte) (*table.Schema, error) {
	var f struct {
		Fields []struct {
			Name string
			Type string
		}
		PartitionKeys, PrimaryKeys []string
		Options                    map[string]string
	}
	if err := json.Unmarshal(data, &f); err != nil {
		return nil, fmt.Errorf("schema file: %w", err)
	}
	s := &table.Schema{PartitionKeys: f.PartitionKeys, PrimaryKeys: f.PrimaryKeys, Options: f.Options}
	for _, c := range f.Fields {
		t, err := table.ParseType(strings.TrimSpace(c.Type))
		if err != nil {
			return nil, fmt.Errorf("schema file: column %s: %w", c.Name, err)
		}
		s.Fields = append(s.Fields, table.Field{Name: c.Name, Type: t})
	}
	return s, nil
}
