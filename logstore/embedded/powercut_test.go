package embedded

import (
	"context"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// disk is what a power cut would leave: of each file at least the bytes that
// were there when it was synced last, and at random any more.
type disk struct {
	mu     sync.Mutex
	synced map[string]int64 // by path
	fail   error            // of the next sync
}

func (d *disk) datasync(f *os.File) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.fail != nil {
		return d.fail
	}
	st, err := f.Stat()
	if err == nil {
		d.synced[f.Name()] = st.Size()
	}
	return err
}

// cut copies the data directory as a power cut leaves it. Nothing may be
// writing. Small files that are replaced whole, and folders, are taken as they
// are: the syncer syncs folders with the first file in them, and a test below
// counts on it.
func (d *disk) cut(t *testing.T, dir string, rng *rand.Rand) string {
	t.Helper()
	d.mu.Lock()
	defer d.mu.Unlock()
	to := t.TempDir()
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		rel, _ := filepath.Rel(dir, path)
		switch {
		case err != nil:
			return err
		case e.IsDir():
			return os.MkdirAll(filepath.Join(to, rel), 0o755)
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		switch base := e.Name(); {
		case strings.HasSuffix(base, ".dat") || strings.HasPrefix(base, "notes."):
			low := min(d.synced[path], int64(len(b)))
			keep := low + rng.Int64N(int64(len(b))-low+1)
			if rng.IntN(3) == 0 { // the length is there, the bytes are not
				clear(b[keep:])
			} else {
				b = b[:keep]
			}
		case strings.HasSuffix(base, ".idx") || base == "pids.log":
			keep := rng.IntN(len(b) + 1)
			if rng.IntN(3) == 0 {
				clear(b[keep:])
			} else {
				b = b[:keep]
			}
		}
		return os.WriteFile(filepath.Join(to, rel), b, 0o644)
	})
	if err != nil {
		t.Fatal(err)
	}
	return to
}

// world is a server on such a disk, a topic and its clients.
type world struct {
	t         *testing.T
	ctx       context.Context
	dir       string
	disk      *disk
	s         *Server
	tx, plain *kgo.Client
	topicID   string
	rng       *rand.Rand
	n         int
	yes, no   map[string]bool
}

const worldParts = 3

func newWorld(t *testing.T, seed uint64) *world {
	w := &world{t: t, ctx: t.Context(), dir: t.TempDir(), disk: &disk{synced: map[string]int64{}},
		rng: rand.New(rand.NewPCG(seed, 1)), yes: map[string]bool{}, no: map[string]bool{}}
	var err error
	if w.s, err = Open(w.ctx, Options{Dir: w.dir, Listen: "127.0.0.1:0"}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.s.Close() })
	w.s.sync.datasync = w.disk.datasync
	opts := []kgo.Opt{kgo.SeedBrokers(w.s.Addr()), kgo.RecordPartitioner(kgo.ManualPartitioner())}
	w.plain = must(kgo.NewClient(opts...))
	w.tx = must(kgo.NewClient(append(opts, kgo.TransactionalID("w"))...))
	t.Cleanup(w.plain.Close)
	t.Cleanup(w.tx.Close)
	size := "700"
	r, err := kadm.NewClient(w.plain).CreateTopic(w.ctx, worldParts, 1, map[string]*string{"segment.bytes": &size}, "t")
	if err != nil {
		t.Fatal(err)
	}
	w.topicID = uuid.UUID(r.ID).String()
	return w
}

func (w *world) check(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// steps is a history of n commits; between any two steps of one, cut is called.
func (w *world) steps(n int, cut func()) {
	for range n {
		w.n++
		key := fmt.Sprintf("%04d", w.n)
		row := func(p int32) *kgo.Record {
			return &kgo.Record{Topic: "t", Partition: p, Key: []byte(key), Value: make([]byte, w.rng.IntN(300))}
		}
		if w.rng.IntN(2) == 0 {
			p := w.rng.Int32N(worldParts)
			w.check(w.plain.ProduceSync(w.ctx, row(p)).FirstErr())
			cut()
			w.check(w.s.Sync(w.ctx, []TopicPartition{{"t", p}}))
			w.yes[key] = true
			cut()
			continue
		}
		w.transaction(key, row, cut)
	}
}

func (w *world) transaction(key string, row func(int32) *kgo.Record, cut func()) {
	w.check(w.tx.BeginTransaction())
	note := Note{}
	for p := range int32(worldParts) {
		r := w.tx.ProduceSync(w.ctx, row(p))
		w.check(r.FirstErr())
		note.Parts = append(note.Parts, NotedPart{"t", w.topicID, p, r[0].Record.Offset})
		cut()
	}
	var err error
	note.ProducerID, note.ProducerEpoch, err = w.tx.ProducerID(w.ctx)
	w.check(err)
	w.check(w.s.Note(w.ctx, note))
	cut()
	if w.rng.IntN(3) == 0 {
		w.check(w.tx.EndTransaction(w.ctx, kgo.TryAbort))
		cut()
		w.check(w.s.Ended(w.ctx, note))
		w.no[key] = true
		cut()
		return
	}
	w.yes[key] = true
	w.check(w.tx.EndTransaction(w.ctx, kgo.TryCommit))
	cut()
	if w.rng.IntN(2) == 0 { // it may be left out after a commit
		w.check(w.s.Ended(w.ctx, note))
		cut()
	}
}

// verify opens a cut copy and compares it with what was answered.
func (w *world) verify(dir string) {
	w.t.Helper()
	s, err := Open(w.ctx, Options{Dir: dir, Listen: "127.0.0.1:0"})
	if err != nil {
		w.t.Fatal(err)
	}
	defer s.Close()
	cl := must(kgo.NewClient(kgo.SeedBrokers(s.Addr()), kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.KeepControlRecords(),
		kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{"t": {0: kgo.NewOffset().AtStart(), 1: kgo.NewOffset().AtStart(), 2: kgo.NewOffset().AtStart()}})))
	defer cl.Close()
	left := 0
	pos := map[int32]int64{}
	must(kadm.NewClient(cl).ListEndOffsets(w.ctx, "t")).Each(func(o kadm.ListedOffset) {
		if pos[o.Partition] = o.Offset; o.Offset > 0 {
			left++
		}
	})
	seen := map[string]int{}
	for left > 0 {
		fs := cl.PollFetches(w.ctx)
		w.check(fs.Err0())
		fs.EachRecord(func(r *kgo.Record) {
			if !r.Attrs.IsControl() {
				seen[string(r.Key)]++
			}
			if r.Offset+1 == pos[r.Partition] {
				left--
			}
		})
	}
	for key := range w.yes {
		if seen[key] != 1 && seen[key] != worldParts {
			w.t.Errorf("%s was answered, and has %d rows", key, seen[key])
		}
	}
	for key, rows := range seen {
		if w.no[key] || rows != 1 && rows != worldParts {
			w.t.Errorf("%s has %d rows; refused %v", key, rows, w.no[key])
		}
	}
}

// What was answered survives the power, too.
func TestPowerCut(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	for round := range uint64(2) {
		w := newWorld(t, seed+round)
		left := 8 // of about 100 moments
		w.steps(25, func() {
			if left > 0 && w.rng.IntN(8) == 0 {
				left--
				w.verify(w.disk.cut(t, w.dir, w.rng))
			}
		})
	}
}

// A sync that fails breaks the log, and says so to everybody.
func TestFailedSync(t *testing.T) {
	w := newWorld(t, 1)
	w.steps(3, func() {})
	w.disk.mu.Lock()
	w.disk.fail = fs.ErrPermission // any error
	w.disk.mu.Unlock()
	w.check(w.plain.ProduceSync(w.ctx, &kgo.Record{Topic: "t", Key: []byte("x")}).FirstErr())
	for range 2 {
		if err := w.s.Sync(w.ctx, []TopicPartition{{"t", 0}}); err == nil || w.s.Broken() == nil {
			t.Errorf("after a failed sync: %v, broken: %v", err, w.s.Broken())
		}
		w.disk.mu.Lock()
		w.disk.fail = nil // it stays broken
		w.disk.mu.Unlock()
	}
}

// Many at once, with segments that are full after a few rows.
func TestConcurrentSyncs(t *testing.T) {
	w := newWorld(t, 2)
	var wg sync.WaitGroup
	for p := range int32(worldParts) {
		for range 4 {
			wg.Go(func() {
				for range 50 {
					r := w.plain.ProduceSync(w.ctx, &kgo.Record{Topic: "t", Partition: p, Value: make([]byte, 200)})
					if err := r.FirstErr(); err != nil {
						t.Error(err)
					}
					if err := w.s.Sync(w.ctx, []TopicPartition{{"t", p}}); err != nil {
						t.Error(err)
					}
				}
			})
		}
	}
	wg.Wait()
	w.check(w.s.Close())
	// All segments were seen, each to its end.
	for p := range int32(worldParts) {
		dir := filepath.Join(w.dir, kafkaDir, "partitions", partitionDir(TopicPartition{"t", p}))
		bases, _, err := listSegments(dir)
		w.check(err)
		for _, base := range bases {
			path := segment{base: base}.dat(dir)
			if st := must(os.Stat(path)); w.disk.synced[path] != st.Size() {
				t.Errorf("%s: %d of %d bytes synced", path, w.disk.synced[path], st.Size())
			}
		}
	}
}

// Notes do not pile up.
func TestNoteSlotsAreUsedAgain(t *testing.T) {
	b := must(openNoteBook(t.TempDir()))
	defer b.close()
	n := Note{ProducerID: 1}
	for p := range int32(100) {
		n.Parts = append(n.Parts, NotedPart{"topic", "00000000-0000-0000-0000-000000000001", p, 1})
	}
	for i := range 1000 {
		other := n
		other.ProducerID = int64(2 + i%2)
		must(b.write([]Note{n, other}))
		b.retire(other)
	}
	for i, f := range b.slots {
		if st := must(f.Stat()); st.Size() > 2*slotBytes {
			t.Errorf("slot %d has %d bytes", i, st.Size())
		}
	}
}
