package catalog

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"

	"dtstore/objstore"
	"dtstore/table"
)

// SetOptions changes options of a table and removes those in reset: a new schema
// file with the next number. 42P01 without the table; as CreateTable for options
// that are not built; 55000 for those that a table keeps from its creation.
func (c *Catalog) SetOptions(ctx context.Context, database, tableName string, set map[string]string, reset []string) (*Table, error) {
	t, err := c.Table(ctx, database, tableName)
	if err != nil {
		return nil, err
	}
	if err := t.writable("alter"); err != nil {
		return nil, err
	}
	if err := c.alter(ctx, name{database, tableName}, t, set, reset); err != nil {
		var fault *table.Error
		if errors.As(err, &fault) {
			return nil, err
		}
		return nil, fmt.Errorf("alter table %s: %w", t.display(), err)
	}
	return c.Table(ctx, database, tableName)
}

const maxAlters = 20 // tries against another process that alters the same table

func (c *Catalog) alter(ctx context.Context, n name, t *Table, set map[string]string, reset []string) error {
	end, err := c.change(ctx, n)
	if err != nil {
		return err
	}
	defer end()
	for range maxAlters {
		ids, err := c.schemaIDs(ctx, n)
		if err != nil {
			return err
		}
		if len(ids) == 0 {
			return table.Errorf("42P01", "relation \"%s\" does not exist", n.table).WithDetail("It was dropped meanwhile.")
		}
		body, err := c.store.Get(ctx, schemaKey(n.path(), ids[len(ids)-1]))
		if err != nil {
			return err
		}
		s, err := DecodeSchema(body)
		if err != nil {
			return err
		}
		if s.Options[optTopicID] != string(t.Topic.ID) {
			return table.Errorf("42P01", "relation \"%s\" does not exist", n.table).WithDetail("It was dropped and created again meanwhile.")
		}
		before := maps.Clone(s.Options)
		if err := changeOptions(s, set, reset); err != nil {
			return err
		}
		if maps.Equal(before, s.Options) {
			return nil
		}
		s.ID++
		s.TimeMillis = c.now().UnixMilli()
		body = EncodeSchema(s)
		err = c.store.PutIfAbsent(ctx, schemaKey(n.path(), s.ID), body)
		if err == nil {
			return nil
		}
		there, getErr := c.store.Get(ctx, schemaKey(n.path(), s.ID))
		if getErr == nil && bytes.Equal(there, body) {
			return nil // it was put, only the answer was lost
		}
		if !errors.Is(err, objstore.ErrExist) {
			return err
		}
	}
	return table.Errorf("55006", "table \"%s\" is being altered by others", n.table).WithHint("Try again.")
}

// changeOptions applies SET and RESET to the options of s.
func changeOptions(s *table.Schema, set map[string]string, reset []string) error {
	fixed := func(k string) error {
		if builtOptions[k].fixed {
			return table.Errorf("55000", "option '%s' cannot be changed after CREATE TABLE", k).
				WithHint("Create another table with it and copy the rows with INSERT INTO … SELECT.")
		}
		return nil
	}
	if err := setOptions(s.Options, set, fixed); err != nil {
		return err
	}
	for _, k := range reset {
		if _, ok := builtOptions[k]; !ok {
			return unknownOption(k)
		}
		if err := fixed(k); err != nil {
			return err
		}
		if k != optWriteOnly && k != "file.format" {
			delete(s.Options, k)
		}
	}
	return checkTogether(s)
}
