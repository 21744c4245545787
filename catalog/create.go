package catalog

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"dtstore/logstore"
	"dtstore/snapshot"
	"dtstore/table"
)

func sortedKeys(m map[string]string) []string { return slices.Sorted(maps.Keys(m)) }

// CreateTable makes a table: its topic, then its schema file, then its first,
// empty snapshot (seam C3). 42P07 if it exists, or if its topic does and holds
// something. What an earlier CREATE or DROP of that name left half done is
// finished first.
//
// On an error that is not a *table.Error the table may have been made, or may
// yet be: then it is there whole, for whoever finds the schema puts the snapshot.
func (c *Catalog) CreateTable(ctx context.Context, d Definition) (*Table, error) {
	s, err := d.Schema()
	if err != nil {
		return nil, err
	}
	n := name{d.Database, d.Name}
	if err := c.needDatabase(ctx, n.database); err != nil {
		return nil, err
	}
	topic, err := logstore.TopicName(c.prefix, n.database, n.table)
	if err != nil {
		return nil, err
	}
	if t, err := c.lookup(ctx, n); err != nil {
		return nil, fmt.Errorf("create table %s.%s: %w", n.database, n.table, err)
	} else if t != nil {
		return nil, exists(n)
	}
	if err := c.create(ctx, n, s, topic); err != nil {
		var fault *table.Error
		if errors.As(err, &fault) {
			return nil, err
		}
		return nil, fmt.Errorf("create table %s.%s: %w", n.database, n.table, err)
	}
	return c.Table(ctx, n.database, n.table)
}

func exists(n name) error {
	return table.Errorf("42P07", "relation \"%s\" already exists", n.table).
		WithHint("CREATE TABLE IF NOT EXISTS leaves it as it is.")
}

func (c *Catalog) create(ctx context.Context, n name, s *table.Schema, topicName string) error {
	end, err := c.change(ctx, n)
	if err != nil {
		return err
	}
	defer end()
	if err := c.finishDrop(ctx, n); err != nil {
		return err
	}
	if ids, err := c.schemaIDs(ctx, n); err != nil {
		return err
	} else if len(ids) > 0 {
		return exists(n)
	}
	topic, err := c.log.CreateTopic(ctx, topicName, s.LogPartitions(), logstore.TopicOptions{})
	if err != nil {
		return err
	}
	s.Options[optTopic], s.Options[optTopicID] = topic.Name, string(topic.ID)
	s.TimeMillis = c.now().UnixMilli()
	if _, dropped, err := c.droppedLog(ctx, n); err != nil {
		return err
	} else if dropped {
		// A server that was stopped in the middle of the DROP and goes on after
		// this would delete a schema-0, which it has listed. The number is one
		// that no table of this name had.
		s.ID = s.TimeMillis / 1000
	}
	body := EncodeSchema(s)
	key := schemaKey(n.path(), s.ID)
	err = c.store.PutIfAbsent(ctx, key, body)
	if err != nil {
		// Another creator may share our empty topic: nobody deletes it here.
		there, getErr := c.store.Get(ctx, key)
		switch {
		case getErr == nil && bytes.Equal(there, body):
		case getErr == nil:
			return exists(n)
		default:
			return err
		}
	}
	h := snapshot.OpenShared(c.store, n.path(), c.shared)
	if _, err := h.Create(ctx, snapshot.LogID(topic.ID), topic.Partitions, s.ID); err != nil {
		return err
	}
	return nil
}

// writable says whether the server may change the table: 0A000 for one of
// another engine.
func (t *Table) writable(verb string) error {
	if !t.Foreign {
		return nil
	}
	return table.Errorf("0A000", "cannot %s table \"%s\": it belongs to another engine, and dtstore only reads it", verb, t.display()).
		WithHint("CREATE TABLE makes one that dtstore writes; copy the rows with INSERT INTO … SELECT.")
}

// Writable says whether rows of the table may be changed: 0A000 for one of
// another engine, or one that cannot be read.
func (t *Table) Writable() error {
	if err := t.writable("write to"); err != nil {
		return err
	}
	return t.Unreadable
}
