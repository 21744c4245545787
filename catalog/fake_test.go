package catalog_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"dtstore/catalog"
	"dtstore/logstore"
	"dtstore/objstore"
	"dtstore/table"
)

var _ catalog.Log = (*logstore.Log)(nil)

// fakeLog is a Kafka of topics without records.
type fakeLog struct {
	mu     sync.Mutex
	topics map[string]logstore.Topic
	used   map[string]bool // topics that hold records
	broken func(op string) error
}

func newLog() *fakeLog {
	return &fakeLog{topics: map[string]logstore.Topic{}, used: map[string]bool{}, broken: func(string) error { return nil }}
}

func (l *fakeLog) CreateTopic(_ context.Context, name string, partitions int, _ logstore.TopicOptions) (logstore.Topic, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.broken("create"); err != nil {
		return logstore.Topic{}, err
	}
	if t, ok := l.topics[name]; ok {
		if l.used[name] || t.Partitions != partitions {
			return logstore.Topic{}, table.Errorf("42P07", "topic \"%s\" already exists", name)
		}
		return t, nil
	}
	l.topics[name] = logstore.Topic{Name: name, ID: logstore.TopicID(uuid.NewString()), Partitions: partitions}
	return l.topics[name], nil
}

func (l *fakeLog) Topic(_ context.Context, name string) (logstore.Topic, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.broken("topic"); err != nil {
		return logstore.Topic{}, err
	}
	t, ok := l.topics[name]
	if !ok {
		return t, fmt.Errorf("topic %s: %w", name, logstore.ErrNoTopic)
	}
	return t, nil
}

func (l *fakeLog) DeleteTopic(_ context.Context, t logstore.Topic) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.broken("delete"); err != nil {
		return err
	}
	if l.topics[t.Name].ID == t.ID {
		delete(l.topics, t.Name)
		delete(l.used, t.Name)
	}
	return nil
}

func (l *fakeLog) names() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Join(slices.Sorted(maps.Keys(l.topics)), " ")
}

func open(t testing.TB, s objstore.Store, l catalog.Log) *catalog.Catalog {
	t.Helper()
	// Fresh: nothing is taken from the cache unchecked.
	c, err := catalog.Open(t.Context(), catalog.Options{Store: s, Log: l, Fresh: time.Nanosecond})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func column(name, typ string) table.Field {
	t, err := table.ParseType(typ)
	if err != nil {
		panic(err)
	}
	return table.Field{Name: name, Type: t}
}

func keyed(database, name string) catalog.Definition {
	return catalog.Definition{
		Database: database, Name: name, PrimaryKey: []string{"id"},
		Fields: []table.Field{column("id", "BIGINT"), column("v", "STRING")},
	}
}

// says is an error as a client sees it, in one line.
func says(err error) string {
	if err == nil {
		return "ok"
	}
	text := table.SQLState(err) + " " + err.Error()
	var e *table.Error
	if ok := asError(err, &e); ok {
		if e.Detail != "" {
			text += " | " + e.Detail
		}
		if e.Hint != "" {
			text += " | " + e.Hint
		}
	}
	return text
}
