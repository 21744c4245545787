package logstore

import (
	"encoding/binary"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"

	"dtstore/table"
)

// The headers of our records (FORMAT.md).
const (
	HeaderCommit = "c" // the commit's uuid, 16 bytes
	HeaderTopic  = "t" // the topic's id, 16 bytes
	HeaderSchema = "s" // the schema's id, decimal text
	HeaderKind   = "k" // +I, +U or -D
	HeaderParts  = "p" // on a commit's first record in a log partition: what it touches
)

// TopicPartition is one log partition that a commit touches.
type TopicPartition struct {
	Topic     TopicID
	Partition table.Bucket
}

// Codec turns the changes of one table into records and back. Any number of
// goroutines may use it.
type Codec struct {
	schema  *table.Schema
	topic   uuid
	id      TopicID
	fields  []column
	key     []int // of the whole primary key
	headers atomic.Pointer[commitHeaders]
	encs    sync.Pool // *encoder
	decs    sync.Pool // *rowDecoder
}

// column is a field with what encoding it needs.
type column struct {
	table.Type
	name  string
	quote string // "name":
}

// commitHeaders are the headers of one commit's records, by row kind: all
// records share the slices.
type commitHeaders struct {
	commit string
	by     [4][]Header
}

// NewCodec makes the codec of a table whose log is the topic.
func NewCodec(schema *table.Schema, topic TopicID) *Codec {
	c := &Codec{schema: schema, id: topic, key: schema.PrimaryIndexes()}
	c.topic, _ = parseUUID(string(topic))
	for _, f := range schema.Fields {
		c.fields = append(c.fields, column{f.Type, f.Name, string(append(appendJSONString(nil, f.Name), ':'))})
	}
	return c
}

// Meta is what a record's headers say beside the change.
type Meta struct {
	commit   []byte
	SchemaID int64
	touched  []byte
}

// CommitID is the commit that wrote the record.
func (m Meta) CommitID() string { return commitText(m.commit) }

// First says whether the record is its commit's first in its log partition.
func (m Meta) First() bool { return len(m.touched) > 0 }

// Touched are the log partitions that the commit writes to; only a commit's
// first record in a log partition tells.
func (m Meta) Touched() []TopicPartition {
	var out []TopicPartition
	for b := m.touched; len(b) >= 20; b = b[20:] {
		out = append(out, TopicPartition{uuid(b[:16]).text(), table.Bucket(binary.BigEndian.Uint32(b[16:]))})
	}
	return out
}

// commitBytes is the header of a commit id: 16 bytes for a uuid, else its text.
func commitBytes(id string) []byte {
	if u, ok := parseUUID(id); ok && string(u.text()) == id {
		return u[:]
	}
	return []byte(id)
}

func commitText(b []byte) string {
	if len(b) == 16 {
		return string(uuid(b).text())
	}
	return string(b)
}

// headersOf are the shared headers of a commit's records of one kind.
func (c *Codec) headersOf(commit string, kind table.RowKind) []Header {
	h := c.headers.Load()
	if h == nil || h.commit != commit {
		h = &commitHeaders{commit: commit}
		id, topic, schema := commitBytes(commit), c.topic, []byte(strconv.FormatInt(c.schema.ID, 10))
		for k := range h.by {
			h.by[k] = []Header{{HeaderCommit, id}, {HeaderTopic, topic[:]}, {HeaderSchema, schema}, {HeaderKind, []byte(table.RowKind(k).String())}}
		}
		c.headers.Store(h)
	}
	return h.by[kind]
}

// Encode makes the record of a change. first marks the commit's first record
// in its log partition, which also lists the log partitions touched.
func (c *Codec) Encode(ch table.Change, commit string, first bool, touched []TopicPartition) Record {
	e, _ := c.encs.Get().(*encoder)
	if e == nil {
		e = &encoder{}
	}
	if cap(e.slab)-len(e.slab) < slabRest {
		e.slab = make([]byte, 0, slabBytes)
	}
	free := e.slab[len(e.slab):]
	b := free
	if len(c.key) > 0 {
		b = c.appendKey(b, ch.Row())
	}
	keyLen := len(b)
	b = c.appendValue(b, ch)
	if cap(b) == cap(free) { // a record that outgrew the slab has memory of its own
		e.slab = e.slab[:len(e.slab)+len(b)]
	}
	own := b[:len(b):len(b)]
	c.encs.Put(e)

	r := Record{Value: own[keyLen:], Headers: c.headersOf(commit, ch.Kind)}
	if keyLen > 0 {
		r.Key = own[:keyLen:keyLen]
	}
	if first {
		parts := make([]byte, 0, 20*len(touched))
		for _, t := range touched {
			id, _ := parseUUID(string(t.Topic))
			parts = binary.BigEndian.AppendUint32(append(parts, id[:]...), uint32(t.Partition))
		}
		r.Headers = append(r.Headers[:len(r.Headers):len(r.Headers)], Header{HeaderParts, parts})
	}
	return r
}

// A slab of memory is cut into the keys and values of several records; one
// with less than slabRest left is given up.
const (
	slabBytes = 32 << 10
	slabRest  = 1 << 10
)

// encoder is the slab that Encode writes to.
type encoder struct{ slab []byte }

// appendKey appends the primary key as a JSON object.
func (c *Codec) appendKey(b []byte, row table.Row) []byte {
	b = append(b, '{')
	for i, x := range c.key {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, c.fields[x].quote...)
		b = appendJSON(b, &c.fields[x].Type, &row[x])
	}
	return append(b, '}')
}

// appendValue appends the Debezium envelope.
func (c *Codec) appendValue(b []byte, ch table.Change) []byte {
	b = append(b, `{"before":`...)
	b = c.appendRow(b, ch.Before)
	b = append(b, `,"after":`...)
	b = c.appendRow(b, ch.After)
	switch ch.Kind {
	case table.Insert:
		return append(b, `,"op":"c"}`...)
	case table.UpdateAfter:
		return append(b, `,"op":"u"}`...)
	case table.Delete:
		return append(b, `,"op":"d"}`...)
	}
	panic(fmt.Sprintf("logstore: encode a change of kind %v", ch.Kind))
}

func (c *Codec) appendRow(b []byte, row table.Row) []byte {
	if row == nil {
		return append(b, "null"...)
	}
	if len(row) != len(c.fields) {
		panic(fmt.Sprintf("logstore: encode a row of %d values for %d columns", len(row), len(c.fields)))
	}
	b = append(b, '{')
	for i := range c.fields {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, c.fields[i].quote...)
		b = appendJSON(b, &c.fields[i].Type, &row[i])
	}
	return append(b, '}')
}
