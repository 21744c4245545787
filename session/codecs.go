package session

import (
	"sync"

	"dtstore/catalog"
	"dtstore/logstore"
	"dtstore/table"
)

// codecs keeps each table's codec: it reuses memory from commit to commit, and
// one made anew cost a single-row INSERT 32 KB.
type codecs struct {
	mu    sync.Mutex // guards byLog
	byLog map[logstore.TopicID]tableCodec
}

// tableCodec is a codec, and the schema that it was made for.
type tableCodec struct {
	schema *table.Schema
	codec  *logstore.Codec
}

// maxCodecs bounds what is kept; beyond it all go, dropped tables' among them.
const maxCodecs = 1000

func (c *codecs) of(t *catalog.Table) *logstore.Codec {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e, ok := c.byLog[t.Topic.ID]; ok && e.schema == t.Schema {
		return e.codec
	}
	if c.byLog == nil || len(c.byLog) >= maxCodecs {
		c.byLog = map[logstore.TopicID]tableCodec{}
	}
	e := tableCodec{t.Schema, logstore.NewCodec(t.Schema, t.Topic.ID)}
	c.byLog[t.Topic.ID] = e
	return e.codec
}
