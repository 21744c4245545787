package logstore

import (
	"context"
	"fmt"
	"strings"

	"dtstore/table"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// maxTopicName is Kafka's limit.
const maxTopicName = 249

// TopicName is the topic of a new table: <prefix><database>.<table>, where
// every byte other than a-z, 0-9 and _ becomes - and two hex digits. It fails
// with 42622 if the name is longer than Kafka allows.
func TopicName(prefix, database, tbl string) (string, error) {
	var b strings.Builder
	b.WriteString(prefix)
	for i, part := range []string{database, tbl} {
		if i > 0 {
			b.WriteByte('.')
		}
		for i := range len(part) {
			if c := part[i]; c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '_' {
				b.WriteByte(c)
			} else {
				fmt.Fprintf(&b, "-%02x", c)
			}
		}
	}
	if b.Len() > maxTopicName {
		return "", table.Errorf("42622", "the topic name of table \"%s\" would have %d bytes, Kafka allows %d", tbl, b.Len(), maxTopicName).
			WithHint("Choose a shorter table name; characters other than a-z, 0-9 and _ count three times.")
	}
	return b.String(), nil
}

// confusable finds an existing topic that Kafka's metrics could not tell from
// name: the two differ in dots and underscores only.
func (l *Log) confusable(ctx context.Context, name string) (string, error) {
	req := kmsg.NewPtrMetadataRequest()
	req.Topics = nil // all
	resp, err := req.RequestWith(ctx, l.cl)
	if err != nil {
		return "", l.unavailable(err)
	}
	same := strings.ReplaceAll(name, ".", "_")
	for _, t := range resp.Topics {
		if t.Topic != nil && *t.Topic != name && strings.ReplaceAll(*t.Topic, ".", "_") == same {
			return *t.Topic, nil
		}
	}
	return "", nil
}
