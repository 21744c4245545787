package embedded_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"dtstore/logstore/embedded"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// begin starts a transaction with one row named key in each of the partitions
// [0, n) and returns its note, not yet written.
func begin(t *testing.T, tx *kgo.Client, id, key string, n int32) embedded.Note {
	t.Helper()
	if err := tx.BeginTransaction(); err != nil {
		t.Fatal(err)
	}
	var note embedded.Note
	for p := range n {
		last := put(t, tx, "t", p, key, 10)
		note.Parts = append(note.Parts, embedded.NotedPart{Topic: "t", TopicID: id, Partition: p, Last: last})
	}
	var err error
	if note.ProducerID, note.ProducerEpoch, err = tx.ProducerID(t.Context()); err != nil {
		t.Fatal(err)
	}
	return note
}

func end(t *testing.T, tx *kgo.Client, how kgo.TransactionEndTry) {
	t.Helper()
	if err := tx.EndTransaction(t.Context(), how); err != nil {
		t.Fatal(err)
	}
}

// rig is a server with topic t of 3 partitions, and a transactional client.
type rig struct {
	dir string
	s   *embedded.Server
	tx  *kgo.Client
	id  string
}

func newRig(t *testing.T) rig {
	dir := t.TempDir()
	s := open(t, dir)
	tx := client(t, s.Addr(), kgo.TransactionalID("srv"))
	return rig{dir, s, tx, topic(t, client(t, s.Addr()), "t", 3, "1000000")}
}

// undo takes the last bytes of a copied partition's file away: what was not
// written when the kill came.
func undo(t *testing.T, dir string, partition int, bytes int64) {
	t.Helper()
	path := filepath.Join(partDir(dir, fmt.Sprintf("t-%d", partition)), "0.dat")
	st, err := os.Stat(path)
	if err == nil {
		err = os.Truncate(path, st.Size()-bytes)
	}
	if err != nil {
		t.Fatal(err)
	}
}

const markerBytes = 78

// An open transaction stays invisible, and nothing of it comes back later
// with the next commit of the same transactional id.
func TestOpenTransactionIsAborted(t *testing.T) {
	r := newRig(t)
	begin(t, r.tx, r.id, "never", 3)
	dir := crashCopy(t, r.dir)
	s := open(t, dir)
	for p := range int32(3) {
		wantKeys(t, s.Addr(), "t", p)
	}
	tx := client(t, s.Addr(), kgo.TransactionalID("srv"))
	begin(t, tx, r.id, "second", 3)
	end(t, tx, kgo.TryCommit)
	s = open(t, crashCopy(t, dir))
	for p := range int32(3) {
		wantKeys(t, s.Addr(), "t", p, "second")
	}
}

// A kill between the two writes of a batch loses its index entry, and with it
// that the rows are of an open transaction.
func TestLostIndexEntry(t *testing.T) {
	r := newRig(t)
	begin(t, r.tx, r.id, "never", 1)
	put(t, r.tx0(t), "t", 0, "plain", 1)
	for _, lose := range []int64{1, 15, 30} {
		dir := crashCopy(t, r.dir)
		idx := filepath.Join(partDir(dir, "t-0"), "0.idx")
		whole, err := os.ReadFile(idx)
		if err == nil {
			err = os.Truncate(idx, int64(len(whole))-lose)
		}
		if err != nil {
			t.Fatal(err)
		}
		wantKeys(t, open(t, dir).Addr(), "t", 0, "plain")
		mended, err := os.ReadFile(idx)
		if err != nil || len(mended) != len(whole)+15 || string(mended[:len(whole)]) != string(whole) {
			t.Errorf("index before the crash %x, mended %x, %v", whole, mended, err)
		}
	}
}

// From Note on, the transaction is committed.
func TestNotedTransactionIsCommitted(t *testing.T) {
	r := newRig(t)
	put(t, r.tx0(t), "t", 1, "before", 1)
	note := begin(t, r.tx, r.id, "noted", 3)
	for _, p := range note.Parts { // named twice, as a shared transaction may
		p.Last = max(0, p.Last-1)
		note.Parts = append(note.Parts, p)
	}
	if err := r.s.Note(t.Context(), note); err != nil {
		t.Fatal(err)
	}
	dir := crashCopy(t, r.dir)
	for range 2 { // sealed twice: once more changes nothing
		s := open(t, dir)
		for p := range int32(3) {
			want := []string{"before", "noted"}
			if p != 1 {
				want = want[1:]
			}
			wantKeys(t, s.Addr(), "t", p, want...)
		}
		s.Close()
	}
}

// Killed inside EndTxn: some partitions have the marker. It decides, either way.
func TestHalfEndedTransaction(t *testing.T) {
	for _, how := range []kgo.TransactionEndTry{kgo.TryCommit, kgo.TryAbort} {
		for kept := range 3 {
			r := newRig(t)
			note := begin(t, r.tx, r.id, "half", 3)
			if err := r.s.Note(t.Context(), note); err != nil {
				t.Fatal(err)
			}
			end(t, r.tx, how)
			dir := crashCopy(t, r.dir)
			for p := range 3 {
				if p != kept {
					undo(t, dir, p, markerBytes)
				}
			}
			s := open(t, dir)
			var want []string
			if how == kgo.TryCommit {
				want = []string{"half"}
			}
			for p := range int32(3) {
				wantKeys(t, s.Addr(), "t", p, want...)
			}
		}
	}
}

// A note is written together with the rows, so it may be there without them:
// then EndTxn was never sent.
func TestNoteWithoutAllItsRows(t *testing.T) {
	r := newRig(t)
	note := begin(t, r.tx, r.id, "void", 3)
	if err := r.s.Note(t.Context(), note); err != nil {
		t.Fatal(err)
	}
	dir := crashCopy(t, r.dir)
	undo(t, dir, 1, 1)
	s := open(t, dir)
	for p := range int32(3) {
		wantKeys(t, s.Addr(), "t", p)
	}
}

// A note is for one transaction of its producer, not for the next, nor for one
// in a topic made anew at the same offsets.
func TestNoteIsForItsTransactionOnly(t *testing.T) {
	r := newRig(t)
	note := begin(t, r.tx, r.id, "first", 3)
	if err := r.s.Note(t.Context(), note); err != nil {
		t.Fatal(err)
	}
	end(t, r.tx, kgo.TryCommit)
	begin(t, r.tx, r.id, "second", 3)
	s := open(t, crashCopy(t, r.dir))
	for p := range int32(3) {
		wantKeys(t, s.Addr(), "t", p, "first")
	}
	end(t, r.tx, kgo.TryAbort)
	if err := r.s.Ended(t.Context(), note); err != nil {
		t.Fatal(err)
	}

	other := newRig(t)
	note = begin(t, other.tx, r.id, "of another topic t", 3) // r's id
	if err := other.s.Note(t.Context(), note); err != nil {
		t.Fatal(err)
	}
	s = open(t, crashCopy(t, other.dir))
	for p := range int32(3) {
		wantKeys(t, s.Addr(), "t", p)
	}
}

// A client that outlived the server must not hear that a transaction which
// the seal aborted is committed. kfake says so to any second EndTxn whose
// like came before.
func TestSurvivingClientIsFenced(t *testing.T) {
	r := newRig(t)
	begin(t, r.tx, r.id, "first", 3)
	end(t, r.tx, kgo.TryCommit)
	begin(t, r.tx, r.id, "second", 3)
	dir := crashCopy(t, r.dir)
	addr := r.s.Addr()
	r.s.Close()
	s, err := embedded.Open(t.Context(), embedded.Options{Dir: dir, Listen: addr})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	if err := r.tx.EndTransaction(ctx, kgo.TryCommit); err == nil {
		t.Error("the commit of an aborted transaction was answered with success")
	}
	wantKeys(t, addr, "t", 0, "first")
}

// A clean stop with a transaction in progress: kfake would go on with it.
func TestCleanStopInATransaction(t *testing.T) {
	r := newRig(t)
	begin(t, r.tx, r.id, "open", 3)
	r.s.Close()
	s := open(t, r.dir)
	put(t, client(t, s.Addr()), "t", 0, "after", 1)
	wantKeys(t, s.Addr(), "t", 0, "after")
}

// Torn ends go; damage in what was on the disk before is refused, untouched.
func TestDamage(t *testing.T) {
	r := newRig(t)
	for i := range 4 {
		put(t, r.tx0(t), "t", 0, fmt.Sprint(i), 100)
	}
	dir := crashCopy(t, r.dir)
	dat := filepath.Join(partDir(dir, "t-0"), "0.dat")
	flip(t, dat, -50) // never synced, never sealed: a crash's
	s := open(t, dir)
	wantKeys(t, s.Addr(), "t", 0, "0", "1", "2")
	put(t, client(t, s.Addr()), "t", 0, "new", 100)
	s.Close()
	flip(t, dat, 100)
	before, _ := os.ReadFile(dat)
	_, err := embedded.Open(t.Context(), embedded.Options{Dir: dir, Listen: "127.0.0.1:0"})
	if err == nil || !strings.Contains(err.Error(), "already on the disk") {
		t.Errorf("damage in sealed rows: %v", err)
	}
	if after, _ := os.ReadFile(dat); string(after) != string(before) {
		t.Error("the damaged file was changed")
	}
}

// Whoever reaches the port may send what kfake takes and Kafka does not: a batch
// without rows, timestamps of no calendar. What follows it is not lost.
func TestOddBatches(t *testing.T) {
	r := newRig(t)
	cl := r.tx0(t)
	put(t, cl, "t", 0, "before", 1)
	odd := cl.ProduceSync(t.Context(), &kgo.Record{Topic: "t", Key: []byte("odd"), Timestamp: time.UnixMilli(1 << 60)})
	if err := odd.FirstErr(); err != nil {
		t.Fatal(err)
	}
	b := kmsg.RecordBatch{Magic: 2, LastOffsetDelta: -1, ProducerID: -1, ProducerEpoch: -1, FirstSequence: -1}
	raw := b.AppendTo(nil)
	binary.BigEndian.PutUint32(raw[8:], uint32(len(raw)-12))
	binary.BigEndian.PutUint32(raw[17:], crc32.Checksum(raw[21:], crc32.MakeTable(crc32.Castagnoli)))
	req := kmsg.NewPtrProduceRequest()
	req.Acks, req.TimeoutMillis = -1, 1000
	req.Topics = []kmsg.ProduceRequestTopic{{Topic: "t", Partitions: []kmsg.ProduceRequestTopicPartition{{Records: raw}}}}
	resp, err := req.RequestWith(t.Context(), cl)
	if err != nil || resp.Topics[0].Partitions[0].ErrorCode != 0 {
		t.Fatalf("kfake no longer takes an empty batch: %+v, %v", resp, err)
	}
	put(t, cl, "t", 0, "after", 1)
	dir := crashCopy(t, r.dir)
	for range 2 {
		s := open(t, dir)
		wantKeys(t, s.Addr(), "t", 0, "before", "odd", "after")
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// tx0 is a plain client.
func (r rig) tx0(t *testing.T) *kgo.Client { return client(t, r.s.Addr()) }

// flip changes a byte of a file; from the end if at is negative.
func flip(t *testing.T, path string, at int) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if at < 0 {
		at += len(b)
	}
	b[at] ^= 1
	if err := os.WriteFile(path, b, 0o644); err != nil {
		t.Fatal(err)
	}
}

// A power cut may lose the end of a segment that was never synced and keep the
// next one: what lies behind the gap goes too.
func TestGapBetweenSegments(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	cl := client(t, s.Addr())
	topic(t, cl, "t", 1, "500")
	for i := range 9 {
		put(t, cl, "t", 0, fmt.Sprint(i), 300)
	}
	cut := crashCopy(t, dir)
	undo(t, cut, 0, 1)
	again := open(t, cut)
	wantKeys(t, again.Addr(), "t", 0, "0")
	if off := put(t, client(t, again.Addr()), "t", 0, "1", 1); off != 1 {
		t.Errorf("the next row got offset %d", off)
	}

	// Synced, the same is refused.
	if err := s.Sync(t.Context(), []embedded.TopicPartition{{Topic: "t"}}); err != nil {
		t.Fatal(err)
	}
	cut = crashCopy(t, dir)
	undo(t, cut, 0, 1)
	if _, err := embedded.Open(t.Context(), embedded.Options{Dir: cut, Listen: "127.0.0.1:0"}); err == nil {
		t.Error("the loss of synced rows was not noticed")
	}

	// A trimmed segment that comes back is no loss.
	cut = crashCopy(t, dir)
	if err := os.Remove(filepath.Join(partDir(cut, "t-0"), "2.dat")); err != nil {
		t.Fatal(err)
	}
	wantKeys(t, open(t, cut).Addr(), "t", 0, "4", "5", "6", "7", "8")
}
