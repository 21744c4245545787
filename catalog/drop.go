package catalog

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"dtstore/logstore"
	"dtstore/objstore"
	"dtstore/snapshot"
	"dtstore/table"
)

// DropTable removes a table: a last snapshot that says so, then its files, then
// its topic (seam C4). 42P01 if there is none, 0A000 for one of another engine.
//
// After an error the table is there, or it is gone and something of it is left,
// which [Catalog.Recover] or a CREATE of that name removes.
func (c *Catalog) DropTable(ctx context.Context, database, tableName string) error {
	t, err := c.Table(ctx, database, tableName)
	if err != nil {
		return err
	}
	if err := t.writable("drop"); err != nil {
		return err
	}
	// While Kafka is away nothing shall be half done.
	if _, err := c.log.Topic(ctx, t.Topic.Name); err != nil && !errors.Is(err, logstore.ErrNoTopic) {
		return fmt.Errorf("drop table %s: %w", t.display(), err)
	}
	n := name{database, tableName}
	end, err := c.change(ctx, n)
	if err != nil {
		return err
	}
	defer end()
	if err := c.History(t).Drop(ctx, snapshot.LogID(t.Topic.ID)); errors.Is(err, snapshot.ErrFenced) {
		return table.Errorf("42P01", "relation \"%s\" does not exist", tableName).WithDetail("It was dropped meanwhile.")
	} else if err != nil {
		return fmt.Errorf("drop table %s: %w", t.display(), err)
	}
	c.mu.Lock()
	delete(c.histories, t.Path)
	c.mu.Unlock()
	if err := c.log.DeleteTopic(ctx, t.Topic); err != nil {
		return fmt.Errorf("drop table %s: its files are gone, its topic %s is not: %w", t.display(), t.Topic.Name, err)
	}
	return nil
}

func droppedKey(n name) string { return n.path() + "/snapshot/dropped" }

// finishDrop removes what a DROP that was broken off has left: the caller has
// the table's change. A table that was not dropped is left as it is.
func (c *Catalog) finishDrop(ctx context.Context, n name) error {
	if err := c.finishMarked(ctx, n); err != nil {
		return err
	}
	id, dropped, err := c.droppedLog(ctx, n)
	if err != nil {
		return err
	}
	if err := c.removeOrphan(ctx, n, id); err != nil || !dropped {
		return err
	}
	return c.removeLeft(ctx, n, id)
}

// droppedLog reads what the last dropped table of this name has left: the id of
// its topic.
func (c *Catalog) droppedLog(ctx context.Context, n name) (logstore.TopicID, bool, error) {
	body, err := c.store.Get(ctx, droppedKey(n))
	if errors.Is(err, objstore.ErrNotExist) {
		return "", false, nil
	} else if err != nil {
		return "", false, err
	}
	var mark struct {
		TopicID logstore.TopicID `json:"topicId"`
	}
	if err := json.Unmarshal(body, &mark); err != nil {
		return "", false, fmt.Errorf("read mark of dropped table %s: %w", n.path(), err)
	}
	return mark.TopicID, true, nil
}

// removeOrphan removes schema files of ours that are of no table: of the one
// that was dropped, or without snapshot and log.
func (c *Catalog) removeOrphan(ctx context.Context, n name, dropped logstore.TopicID) error {
	ids, err := c.schemaIDs(ctx, n)
	if err != nil || len(ids) == 0 {
		return err
	}
	body, err := c.store.Get(ctx, schemaKey(n.path(), ids[len(ids)-1]))
	if err != nil {
		return err
	}
	s, err := DecodeSchema(body)
	if err != nil || s.Options[optTopicID] == "" {
		return nil // not ours to judge
	}
	if s.Options[optTopicID] != string(dropped) {
		if _, err := snapshot.OpenShared(c.store, n.path(), c.shared).Latest(ctx); !errors.Is(err, snapshot.ErrNone) {
			return nil
		}
		if gone, err := c.logGone(ctx, s); err != nil || !gone {
			return err
		}
	}
	for _, id := range ids {
		if err := c.store.Delete(ctx, schemaKey(n.path(), id)); err != nil {
			return err
		}
	}
	return nil
}

// finishMarked finishes a DROP whose mark is still the newest snapshot.
func (c *Catalog) finishMarked(ctx context.Context, n name) error {
	h := snapshot.OpenShared(c.store, n.path(), c.shared)
	_, err := h.Latest(ctx)
	if !errors.Is(err, snapshot.ErrDropped) || errors.Is(err, snapshot.ErrNone) {
		return nil // none, or a living one; whether it can be read is not asked here
	}
	ids, err := h.List(ctx)
	if err != nil || len(ids) == 0 {
		return err
	}
	last, err := h.Read(ctx, ids[len(ids)-1])
	if err != nil {
		return err
	}
	log, _, ok := last.Log()
	if !ok || !last.Dropped() {
		return nil // another table by now
	}
	return h.Drop(ctx, log)
}

// removeLeft removes the topic and the files of a dropped table, unless another
// has its place. Without a schema nothing in the folder is of a table.
func (c *Catalog) removeLeft(ctx context.Context, n name, id logstore.TopicID) error {
	topicName, err := logstore.TopicName(c.prefix, n.database, n.table)
	if err != nil {
		return nil // no topic of that name was ever made
	}
	topic, err := c.log.Topic(ctx, topicName)
	if err == nil && topic.ID == id {
		err = c.log.DeleteTopic(ctx, topic)
	}
	if err != nil && !errors.Is(err, logstore.ErrNoTopic) {
		return err
	}
	ids, err := c.schemaIDs(ctx, n)
	if err != nil || len(ids) > 0 {
		return err
	}
	prefix := n.path() + "/"
	var keys []string
	folders := map[string]bool{}
	for o, err := range c.store.List(ctx, prefix) {
		if err != nil {
			return err
		}
		if o.Key != droppedKey(n) {
			keys = append(keys, o.Key)
		}
		if rest := strings.TrimPrefix(o.Key, prefix); strings.Contains(rest, "/") {
			folders[prefix+rest[:strings.IndexByte(rest, '/')+1]] = true
		}
	}
	// Shorter numbers are smaller: snapshots go in ascending order (seam C4).
	slices.SortStableFunc(keys, func(a, b string) int { return len(a) - len(b) })
	for _, key := range keys {
		if err := c.store.Delete(ctx, key); err != nil {
			return err
		}
	}
	for f := range folders {
		if err := c.store.Delete(ctx, f); err != nil {
			return err
		}
	}
	return nil
}

// Recover finishes what a killed server left half dropped, in all databases.
// Nothing depends on it: it gives back space, and topics.
func (c *Catalog) Recover(ctx context.Context) error {
	databases, err := c.Databases(ctx)
	if err != nil {
		return err
	}
	for _, database := range databases {
		names, err := c.tableNames(ctx, database)
		if err != nil {
			return err
		}
		for _, tableName := range names {
			n := name{database, tableName}
			if objstore.CheckKey(n.path()) != nil {
				continue
			}
			if err := c.recoverTable(ctx, n); err != nil {
				return fmt.Errorf("finish the drop of %s.%s: %w", database, tableName, err)
			}
		}
	}
	return nil
}

func (c *Catalog) recoverTable(ctx context.Context, n name) error {
	if _, err := c.store.Stat(ctx, droppedKey(n)); errors.Is(err, objstore.ErrNotExist) {
		// Without the file only the newest snapshot can say it; a table that can
		// be looked up is alive.
		ids, err := c.schemaIDs(ctx, n)
		if err != nil || len(ids) == 0 {
			return err
		}
		if t, err := c.lookup(ctx, n); t != nil || err != nil {
			return err
		}
	}
	end, err := c.change(ctx, n)
	if err != nil {
		return err
	}
	defer end()
	return c.finishDrop(ctx, n)
}
