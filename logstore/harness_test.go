package logstore_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"dtstore/logstore"
	"dtstore/table"

	"github.com/google/uuid"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kversion"
)

// external names brokers to test against instead of kfake (build tag peers,
// environment DTSTORE_KAFKA).
var external []string

var counter atomic.Int64

// brokers starts an in-memory kfake as the embedded log does, or gives the
// external ones.
func brokers(t testing.TB) []string {
	if len(external) > 0 {
		return external
	}
	c, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.MaxVersions(kversion.V3_7_0()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c.ListenAddrs()
}

func open(t testing.TB, addrs []string, change ...func(*logstore.Options)) *logstore.Log {
	t.Helper()
	o := logstore.Options{Brokers: addrs, InstanceID: uuid.NewString(), Timeout: 30 * time.Second}
	for _, f := range change {
		f(&o)
	}
	l, err := logstore.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

func create(t testing.TB, l *logstore.Log, partitions int) logstore.Topic {
	t.Helper()
	name := fmt.Sprintf("%s-%d-%d", strings.ReplaceAll(strings.ToLower(t.Name()), "/", "-"), time.Now().UnixNano(), counter.Add(1))
	topic, err := l.CreateTopic(t.Context(), name, partitions, logstore.TopicOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return topic
}

// rec makes a record of a commit.
func rec(commit, key, value string) logstore.Record {
	u := uuid.MustParse(commit)
	return logstore.Record{Key: []byte(key), Value: []byte(value), Headers: []logstore.Header{{Key: logstore.HeaderCommit, Value: u[:]}}}
}

// put makes an append of one record per bucket named.
func put(topic logstore.Topic, value string, buckets ...table.Bucket) logstore.Append {
	a := logstore.Append{ID: uuid.NewString()}
	for _, b := range buckets {
		a.Parts = append(a.Parts, logstore.Part{Topic: topic, Bucket: b, Records: []logstore.Record{rec(a.ID, value, value)}})
	}
	return a
}

func mustAppend(t testing.TB, l *logstore.Log, a logstore.Append) []logstore.Appended {
	t.Helper()
	spans, err := l.Append(t.Context(), a)
	if err != nil {
		t.Fatal(err)
	}
	return spans
}

// readTo gives "offset:value" of all records, with markers as "offset!", from
// an offset until the reader's position reaches to.
func readTo(t testing.TB, l *logstore.Log, topic logstore.Topic, b table.Bucket, from, to table.Offset) []string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	r, err := l.Read(ctx, topic, b, from)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var out []string
	for next := from; next < to; {
		batch, err := r.Next(ctx)
		if err != nil {
			t.Fatalf("read %s/%d from %d to %d, at %d, got %v: %v", topic.Name, b, from, to, next, out, err)
		}
		for _, f := range batch.Records {
			if f.Control {
				out = append(out, fmt.Sprintf("%d!", f.Offset))
			} else {
				out = append(out, fmt.Sprintf("%d:%s", f.Offset, f.Value))
			}
		}
		next = batch.Next
	}
	return out
}

// client is a plain Kafka client, for what other programs do to a topic.
func client(t testing.TB, addrs []string, opts ...kgo.Opt) *kgo.Client {
	t.Helper()
	cl, err := kgo.NewClient(append([]kgo.Opt{kgo.SeedBrokers(addrs...), kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.MetadataMinAge(50 * time.Millisecond)}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cl.Close)
	return cl
}
