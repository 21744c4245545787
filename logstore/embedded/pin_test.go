package embedded

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kversion"
)

// pinned is the version whose files we know how to read. Before changing it:
// read what changed in kfake's persist.go, data.go and txns.go, bring
// FORMAT.md up to date, and run the long crash trial.
const pinned = "v0.0.0-20260918054303-01f206a7e32c"

func TestPinnedVersion(t *testing.T) {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Version}}", "github.com/twmb/franz-go/pkg/kfake").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	if v := strings.TrimSpace(string(out)); v != pinned {
		t.Errorf("kfake is %s, and %s is what we know how to read", v, pinned)
	}
}

// kfakeDir lets kfake write a log of plain rows, commits and aborts over
// several segments, by itself, and closes it.
func kfakeDir(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	c, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.DataDir(dir), kfake.MaxVersions(kversion.V3_7_0()))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	seeds := kgo.SeedBrokers(c.ListenAddrs()...)
	part := kgo.RecordPartitioner(kgo.ManualPartitioner())
	plain, err := kgo.NewClient(seeds, part)
	if err != nil {
		t.Fatal(err)
	}
	defer plain.Close()
	size := "900"
	if _, err := kadm.NewClient(plain).CreateTopic(ctx, 2, 1, map[string]*string{"segment.bytes": &size}, "a.b_c"); err != nil {
		t.Fatal(err)
	}
	tx, err := kgo.NewClient(seeds, part, kgo.TransactionalID("pin"))
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Close()
	put := func(cl *kgo.Client, i int) {
		// Timestamps fall as often as they rise.
		at := time.UnixMilli(int64(1_700_000_000_000 + i*7919%1000))
		r := &kgo.Record{Topic: "a.b_c", Partition: int32(i % 2), Key: []byte(fmt.Sprint(i)), Value: make([]byte, 10+i*3), Timestamp: at}
		if err := cl.ProduceSync(ctx, r).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 40 {
		put(plain, i)
		if err := tx.BeginTransaction(); err != nil {
			t.Fatal(err)
		}
		put(tx, i)
		put(plain, i+1)
		put(tx, i+1)
		if err := tx.EndTransaction(ctx, kgo.TransactionEndTry(i%3 != 0)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// What we read in kfake's files, and would write in its place, is what kfake
// writes: byte for byte for the index, value for value for the snapshot.
func TestFormatIsTheOneWeKnow(t *testing.T) {
	dir := kfakeDir(t)
	parts, err := readTopics(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(parts) != 2 || parts[0].Topic != "a.b_c" || parts[0].id == (topicID{}) {
		t.Fatalf("topics.json holds two partitions of a.b_c, read as %+v", parts)
	}
	for _, lp := range parts {
		pdir := filepath.Join(dir, "partitions", partitionDir(lp.TopicPartition))
		bases, _, err := listSegments(pdir)
		if err != nil || len(bases) < 4 {
			t.Fatalf("%s: segments %v, %v", pdir, bases, err)
		}
		files := map[string][]byte{}
		for _, e := range must(os.ReadDir(pdir)) {
			files[e.Name()] = must(os.ReadFile(filepath.Join(pdir, e.Name())))
		}
		checkIndexes(t, lp, pdir, bases, files)

		p, err := scanPartition(dir, lp, 0, nil)
		if err != nil {
			t.Fatal(err)
		}
		if p.changed || len(p.open) != 0 {
			t.Errorf("%s: a clean log was mended: open %v", pdir, p.open)
		}
		if err := p.writeSnapshot(); err != nil {
			t.Fatal(err)
		}
		var theirs, ours snapshotFile
		decodeStrictly(t, files["snapshot.json"], &theirs)
		decodeStrictly(t, must(os.ReadFile(p.snapshotPath())), &ours)
		theirs.CreatedAt, ours.CreatedAt = time.Time{}, time.Time{}
		if !reflect.DeepEqual(theirs, ours) {
			t.Errorf("%s: snapshot.json\nkfake's %+v\nours    %+v", pdir, theirs, ours)
		}
		if len(ours.AbortedTxns) == 0 {
			t.Errorf("%s: no aborted transactions seen", pdir)
		}
	}
}

func checkIndexes(t *testing.T, lp logPartition, pdir string, bases []int64, files map[string][]byte) {
	t.Helper()
	p := &partition{logPartition: lp, dir: pdir, open: map[int64]*openTxn{}}
	for _, base := range bases {
		s := segment{base: base}
		r, err := p.readSegment(base, 0, nil)
		if err != nil || r.damage != "" {
			t.Fatal(err, r.damage)
		}
		if have := files[filepath.Base(s.idx(pdir))]; !bytes.Equal(have, r.index) {
			t.Errorf("%s\nkfake's %x\nours    %x", s.idx(pdir), have, r.index)
		}
		// A marker of ours is kfake's own, but for the time.
		body := files[filepath.Base(s.dat(pdir))]
		_, _, err = readBatches(bytes.NewReader(body), int64(len(body)), 0, func(b *batch) error {
			if !b.control {
				return nil
			}
			have := body[b.at : b.at+b.bytes]
			want := marker(b.first, b.leaderEpoch, b.producer, b.commit, time.UnixMilli(b.maxTimestamp))
			if !bytes.Equal(have, want) {
				t.Errorf("marker at %d\nkfake's %x\nours    %x", b.first, have, want)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// Field by field: a field that we do not know would be lost when we write
// the file.
func decodeStrictly(t *testing.T, body []byte, v any) {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		t.Fatalf("%s: %v", body, err)
	}
}

// pids.log and groups.log are framed as we think, and what we append is read.
func TestEntryLogFormat(t *testing.T) {
	dir := kfakeDir(t)
	path := filepath.Join(dir, "pids.log")
	body := must(os.ReadFile(path))
	entries, txn := 0, pidEntry{}
	good, err := readEntries(body, func(version int, data []byte) error {
		entries++
		var e struct {
			pidEntry
			TxID string `json:"txid"`
		}
		if err := json.Unmarshal(data, &e); err != nil {
			return err
		}
		if e.TxID == "pin" {
			txn = e.pidEntry
		}
		return checkVersion(path, version)
	})
	if err != nil || good != len(body) || entries < 2 || txn.Type != "init" {
		t.Fatalf("%d entries in %d of %d bytes, %v: the transaction's is %+v", entries, good, len(body), err, txn)
	}
	// Fenced by us: the producer's next epoch is two further, not one.
	if err := fence(path, map[producer]bool{{txn.PID, txn.Epoch}: false}); err != nil {
		t.Fatal(err)
	}
	c, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.DataDir(dir), kfake.MaxVersions(kversion.V3_7_0()))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	cl, err := kgo.NewClient(kgo.SeedBrokers(c.ListenAddrs()...), kgo.TransactionalID("pin"))
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	if id, epoch, err := cl.ProducerID(t.Context()); err != nil || id != txn.PID || epoch != txn.Epoch+2 {
		t.Errorf("after the fence of %+v the producer is %d, %d, %v", txn, id, epoch, err)
	}
}

// The formats of kfake's warnings that we match, as its source has them.
func TestPersistFaultsAreKfakes(t *testing.T) {
	src := kfakeSource(t)
	formats := regexp.MustCompile(`Logf\(LogLevel(?:Warn|Error),\s*"([^"]*)"`).FindAllSubmatch(src, -1)
	if len(formats) < 30 {
		t.Fatalf("only %d messages found in kfake's source", len(formats))
	}
	for _, f := range persistFaults {
		n := 0
		for _, m := range formats {
			if bytes.HasPrefix(m[1], []byte(f)) {
				n++
			}
		}
		if n == 0 {
			t.Errorf("no message of kfake begins with %q", f)
		}
	}
	// And no fault that we do not know.
	for _, m := range formats {
		w := &watch{log: discard}
		var logger kfake.Logger = w
		logger.Logf(kfake.LogLevelWarn, string(m[1]), nil)
		fault := regexp.MustCompile(`persist|truncat|rebuild|corrupt|dir: |stat |marker|control`).Match(m[1])
		if known := w.err() != nil; fault && !known && !bytes.HasPrefix(m[1], []byte("session_state.json")) {
			t.Errorf("%q looks like a fault of the files and is not matched", m[1])
		}
	}
}
