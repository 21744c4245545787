package embedded_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"dtstore/logstore/embedded"

	"github.com/google/uuid"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

// open opens a server that is closed at the test's end.
func open(t *testing.T, dir string) *embedded.Server {
	t.Helper()
	s, err := embedded.Open(t.Context(), embedded.Options{Dir: dir, Listen: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// client connects to a server.
func client(t *testing.T, addr string, opts ...kgo.Opt) *kgo.Client {
	t.Helper()
	cl, err := connect(addr, opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cl.Close)
	return cl
}

func connect(addr string, opts ...kgo.Opt) (*kgo.Client, error) {
	return kgo.NewClient(append([]kgo.Opt{
		kgo.SeedBrokers(addr),
		kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.ProducerBatchCompression(kgo.NoCompression()),
		kgo.MetadataMinAge(10 * time.Millisecond),
	}, opts...)...)
}

// createTopic makes a topic and returns its id as text.
func createTopic(ctx context.Context, cl *kgo.Client, name string, partitions int32, segmentBytes string) (string, error) {
	never := "-1"
	r, err := kadm.NewClient(cl).CreateTopic(ctx, partitions, 1, map[string]*string{
		"retention.ms": &never, "segment.bytes": &segmentBytes,
	}, name)
	if err != nil && !errors.Is(err, kerr.TopicAlreadyExists) {
		return "", err
	}
	id := uuid.UUID(r.ID)
	if err != nil || id == uuid.Nil {
		m, err := kadm.NewClient(cl).Metadata(ctx, name)
		if err != nil {
			return "", err
		}
		id = uuid.UUID(m.Topics[name].ID)
	}
	return id.String(), nil
}

func topic(t *testing.T, cl *kgo.Client, name string, partitions int32, segmentBytes string) string {
	t.Helper()
	id, err := createTopic(t.Context(), cl, name, partitions, segmentBytes)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// put produces one row and returns its offset.
func put(t *testing.T, cl *kgo.Client, topic string, partition int32, key string, valueBytes int) int64 {
	t.Helper()
	r := cl.ProduceSync(t.Context(), &kgo.Record{Topic: topic, Partition: partition, Key: []byte(key), Value: make([]byte, valueBytes)})
	if err := r.FirstErr(); err != nil {
		t.Fatal(err)
	}
	return r[0].Record.Offset
}

// keys reads a partition as a read-committed reader does, up to its last
// stable offset, which must be its end.
func keys(ctx context.Context, addr, topic string, partition int32) ([]string, error) {
	cl, err := connect(addr,
		kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.KeepControlRecords(),
		kgo.ConsumeResetOffset(kgo.NoResetOffset()))
	if err != nil {
		return nil, err
	}
	defer cl.Close()
	adm := kadm.NewClient(cl)
	starts, err := adm.ListStartOffsets(ctx, topic)
	if err != nil {
		return nil, err
	}
	ends, err := adm.ListEndOffsets(ctx, topic)
	if err != nil {
		return nil, err
	}
	start, _ := starts.Lookup(topic, partition)
	end, ok := ends.Lookup(topic, partition)
	if !ok || end.Err != nil {
		return nil, errors.Join(errors.New("no end offset"), end.Err)
	}
	var got []string
	pos := start.Offset
	cl.AddConsumePartitions(map[string]map[int32]kgo.Offset{topic: {partition: kgo.NewOffset().At(pos)}})
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	for pos < end.Offset {
		fs := cl.PollFetches(ctx)
		if err := fs.Err0(); err != nil {
			return got, err
		}
		fs.EachRecord(func(r *kgo.Record) {
			pos = r.Offset + 1
			if !r.Attrs.IsControl() {
				got = append(got, string(r.Key))
			}
		})
	}
	return got, nil
}

func wantKeys(t *testing.T, addr, topic string, partition int32, want ...string) {
	t.Helper()
	got, err := keys(t.Context(), addr, topic, partition)
	if err != nil {
		t.Fatalf("read %s-%d after %q: %v", topic, partition, got, err)
	}
	if len(got) != len(want) {
		t.Fatalf("%s-%d holds %q, want %q", topic, partition, got, want)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Fatalf("%s-%d holds %q, want %q", topic, partition, got, want)
		}
	}
}

// crashCopy copies the data directory of a running server: what a SIGKILL
// would leave.
func crashCopy(t *testing.T, dir string) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), "copy")
	if err := os.CopyFS(to, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	return to
}

func partDir(dir, name string) string { return filepath.Join(dir, "kafka", "partitions", name) }
