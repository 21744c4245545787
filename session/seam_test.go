package session_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/twmb/franz-go/pkg/kgo"

	"dtstore/bucket"
	"dtstore/filestore"
	"dtstore/objstore"
	"dtstore/objstore/fault"
	"dtstore/table"
)

func failsWith(t testing.TB, c interface {
	Exec(ctx context.Context, q string, args ...any) (pgconn.CommandTag, error)
}, q, code string, words ...string) {
	t.Helper()
	_, err := c.Exec(context.Background(), q)
	var e *pgconn.PgError
	if !errors.As(err, &e) || e.Code != code {
		t.Errorf("%s: %v, want %s", q, err, code)
		return
	}
	for _, w := range words {
		if !strings.Contains(e.Message+e.Detail+e.Hint, w) {
			t.Errorf("%s: %s %s %s does not say %q", q, e.Message, e.Detail, e.Hint, w)
		}
	}
}

// keyIn finds a key of each of two buckets, by asking where its row went.
func twoBuckets(t testing.TB, h *house, name string) (zero, one int) {
	t.Helper()
	tb, err := h.catalog.Table(context.Background(), "public", name)
	if err != nil {
		t.Fatal(err)
	}
	zero, one = -1, -1
	for i := 1; zero < 0 || one < 0; i++ {
		row := intRow(tb.Schema, i)
		if tb.Schema.BucketOf(row) == 0 {
			zero = i
		} else {
			one = i
		}
	}
	return zero, one
}

// TestBadRecordStopsOneBucket is seam L3 and A8: a record that cannot be
// decoded stops its bucket with XX001, others go on; a record of another table
// is skipped.
func TestBadRecordStopsOneBucket(t *testing.T) {
	t.Parallel()
	h := open(t, options{})
	c := h.connect()
	exec1(t, c, "CREATE TABLE t (id int primary key, v int) WITH ('bucket' = '2')")
	zero, one := twoBuckets(t, h, "t")
	exec1(t, c, "INSERT INTO t VALUES ($1, 1), ($2, 1)", zero, one)
	k, err := kgo.NewClient(kgo.SeedBrokers(h.kafka), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err != nil {
		t.Fatal(err)
	}
	defer k.Close()
	send := func(r *kgo.Record) {
		t.Helper()
		r.Topic = "public.t"
		if err := k.ProduceSync(context.Background(), r).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	send(&kgo.Record{Partition: 1, Key: []byte("x"), Value: []byte("y"), Headers: []kgo.RecordHeader{{Key: "c", Value: make([]byte, 16)}, {Key: "t", Value: []byte("another table id")}, {Key: "s", Value: []byte("0")}, {Key: "k", Value: []byte("+I")}}})
	exec1(t, c, "CHECKPOINT")
	if got := rows(t, c, "SELECT * FROM t WHERE id = $1", one); got != fmt.Sprint(one, 1) {
		t.Fatal(got)
	}
	send(&kgo.Record{Partition: 1, Key: []byte("{}"), Value: []byte("nonsense")})
	exec1(t, c, "INSERT INTO t VALUES ($1, 2)", zero)
	failsWith(t, c, fmt.Sprintf("SELECT * FROM t WHERE id = %d", one), "XX001", "public.t", "partition 1", "offset")
	failsWith(t, c, "SELECT * FROM t", "XX001", "public.t")
	failsWith(t, c, "CHECKPOINT", "XX001", "public.t", "partition 1")
	failsWith(t, c, fmt.Sprintf("INSERT INTO t VALUES (%d, 3)", one), "XX001", "public.t", "partition 1")
	exec1(t, c, "INSERT INTO t VALUES ($1, 3)", zero)
	exec1(t, c, "UPDATE t SET v = v + 1 WHERE id = $1", zero)
	if got := rows(t, c, "SELECT v FROM t WHERE id = $1", zero); got != "4" {
		t.Fatal(got)
	}
	failsWith(t, c, "CHECKPOINT", "XX001")
	if got := rows(t, c, "SELECT v FROM t WHERE id = $1", zero); got != "4" {
		t.Fatal(got)
	}
	exec1(t, c, "DROP TABLE t")
}

// down is a store whose writes can be made to fail.
type down struct {
	objstore.Store
	broken atomic.Bool
}

var errFull = errors.New("no space left on device")

func (d *down) fail() error {
	if d.broken.Load() {
		return errFull
	}
	return nil
}

func (d *down) Put(ctx context.Context, k string, b []byte) error {
	if err := d.fail(); err != nil {
		return err
	}
	return d.Store.Put(ctx, k, b)
}

func (d *down) PutIfAbsent(ctx context.Context, k string, b []byte) error {
	if err := d.fail(); err != nil {
		return err
	}
	return d.Store.PutIfAbsent(ctx, k, b)
}

func (d *down) PutFile(ctx context.Context, k, p string) error {
	if err := d.fail(); err != nil {
		return err
	}
	return d.Store.PutFile(ctx, k, p)
}

func (d *down) LocalPath(k string) string { return d.Store.(objstore.Local).LocalPath(k) }

// TestFullDisk: when files cannot be written, writers are held back and then
// refused with the reason; nothing acknowledged is lost; it mends by itself.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	var d *down
	h := open(t, options{bucket: bucket.Options{FlushBytes: 4 << 10, Checkpoint: time.Hour}, store: func(s objstore.Store) objstore.Store {
		d = &down{Store: s}
		return d
	}})
	c := h.connect()
	exec1(t, c, "CREATE TABLE t (id int primary key, v text)")
	d.broken.Store(true)
	n := 0
	var err error
	for ; n < 200; n++ {
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		_, err = c.Exec(ctx, "INSERT INTO t SELECT $1 * 10 + g, repeat('x', 200) FROM generate_series(0, 9) AS g", n)
		cancel()
		if err != nil {
			break
		}
	}
	var e *pgconn.PgError
	if !errors.As(err, &e) || e.Code != "53400" || !strings.Contains(e.Message, "no space") || e.Hint == "" {
		t.Fatalf("after %d inserts: %v", n, err)
	}
	if got := rows(t, c, "SELECT count(*) FROM t"); got != fmt.Sprint(n*10) {
		t.Fatalf("%s rows, %d acknowledged", got, n*10)
	}
	d.broken.Store(false)
	exec1(t, c, "CHECKPOINT")
	exec1(t, c, "INSERT INTO t VALUES (-1, 'after')")
	if got := rows(t, c, "SELECT count(*) FROM t"); got != fmt.Sprint(n*10+1) {
		t.Fatalf("%s rows, %d acknowledged", got, n*10+1)
	}
	h.stop()
	h = open(t, options{dir: h.dir})
	if got := rows(t, h.connect(), "SELECT count(*) FROM t"); got != fmt.Sprint(n*10+1) {
		t.Fatalf("%s rows after the restart, %d acknowledged", got, n*10+1)
	}
}

// TestShakyStore runs writers and checkpoints over a store that loses one call
// in ten, in each way there is.
func TestShakyStore(t *testing.T) {
	t.Parallel()
	var shaky atomic.Pointer[fault.Store]
	for seed := range uint64(3) {
		var gate *flaky
		h := open(t, options{bucket: bucket.Options{FlushBytes: 2 << 10, Checkpoint: 20 * time.Millisecond}, store: func(s objstore.Store) objstore.Store {
			f := fault.New(s, fault.Plan{Rate: 0.1, Seed: seed})
			shaky.Store(f)
			gate = &flaky{Store: s, shaky: f, local: s.(objstore.Local)}
			return gate
		}})
		c := h.connect()
		exec1(t, c, "CREATE TABLE k (id int primary key, v int) WITH ('num-sorted-run.compaction-trigger' = '2')")
		exec1(t, c, "CREATE TABLE a (id int)")
		gate.on.Store(true)
		done := 0
		for i := range 60 {
			exec1(t, c, "INSERT INTO a VALUES ($1)", i)
			exec1(t, c, "INSERT INTO k VALUES ($1, $2)", i%10, i)
			done++
		}
		gate.on.Store(false)
		shaky.Load().Land()
		check := func(what string) {
			t.Helper()
			if got := rows(t, c, "SELECT count(*), count(DISTINCT id), sum(id)::int FROM a"); got != "60 60 1770" {
				t.Fatalf("seed %d %s: append table %s", seed, what, got)
			}
			if got := rows(t, c, "SELECT count(*), sum(v)::int FROM k"); got != "10 545" {
				t.Fatalf("seed %d %s: keyed table %s", seed, what, got)
			}
		}
		check("while it was mended")
		exec1(t, c, "CHECKPOINT")
		check("after CHECKPOINT")
		exec1(t, c, "ALTER TABLE k COMPACT")
		exec1(t, c, "ALTER TABLE a COMPACT")
		check("after COMPACT")
		h.stop()
	}
}

// flaky goes through the shaky store while it is on.
type flaky struct {
	objstore.Store
	shaky objstore.Store
	local objstore.Local
	on    atomic.Bool
}

func (f *flaky) LocalPath(k string) string { return f.local.LocalPath(k) }

func (f *flaky) store() objstore.Store {
	if f.on.Load() {
		return f.shaky
	}
	return f.Store
}

func (f *flaky) Put(ctx context.Context, k string, b []byte) error { return f.store().Put(ctx, k, b) }
func (f *flaky) PutIfAbsent(ctx context.Context, k string, b []byte) error {
	return f.store().PutIfAbsent(ctx, k, b)
}
func (f *flaky) PutFile(ctx context.Context, k, p string) error { return f.store().PutFile(ctx, k, p) }
func (f *flaky) Delete(ctx context.Context, k string) error     { return f.store().Delete(ctx, k) }

// TestTwoOwners has a second owner flush and compact the same tables: each
// fences the other again and again, and no row is lost or doubled (C1, C2).
func TestTwoOwners(t *testing.T) {
	t.Parallel()
	o := bucket.Options{FlushBytes: 2 << 10, Checkpoint: 30 * time.Millisecond}
	h := open(t, options{bucket: o})
	c := h.connect()
	exec1(t, c, "CREATE TABLE k (id int primary key, v int) WITH ('bucket' = '2', 'num-sorted-run.compaction-trigger' = '2')")
	exec1(t, c, "CREATE TABLE a (id int)")
	files, err := filestore.Open(h.store, filestore.Options{SpoolDir: filepath.Join(h.dir, "spool2")})
	if err != nil {
		t.Fatal(err)
	}
	o.User = "another"
	other, err := bucket.New(h.catalog, h.log, files, o)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	for _, name := range []string{"k", "a"} {
		tb, err := h.catalog.Table(context.Background(), "public", name)
		if err != nil {
			t.Fatal(err)
		}
		other.Adopt(tb)
	}
	for i := range 150 {
		exec1(t, c, "INSERT INTO a VALUES ($1)", i)
		exec1(t, c, "INSERT INTO k VALUES ($1, $2)", i%10, i)
		if i%10 == 0 {
			if got := rows(t, c, "SELECT count(*), count(DISTINCT id) FROM a"); got != fmt.Sprint(i+1, i+1) {
				t.Fatalf("after %d: %s", i+1, got)
			}
			if got := rows(t, c, "SELECT max(v) FROM k"); got != fmt.Sprint(i) {
				t.Fatalf("after %d: %s", i+1, got)
			}
		}
	}
	exec1(t, c, "CHECKPOINT")
	if got := rows(t, c, "SELECT count(*), count(DISTINCT id), sum(id)::int FROM a"); got != "150 150 11175" {
		t.Fatal(got)
	}
	if got := rows(t, c, "SELECT count(*), sum(v)::int FROM k"); got != "10 1445" {
		t.Fatal(got)
	}
}

// TestCursorKeepsItsFiles: what a running cursor reads stays, however many
// snapshots expire meanwhile (R5), and goes afterwards.
func TestCursorKeepsItsFiles(t *testing.T) {
	t.Parallel()
	h := open(t, options{bucket: bucket.Options{Checkpoint: time.Hour}})
	a, b := h.connect(), h.connect()
	exec1(t, a, "CREATE TABLE t (id int primary key, v int) WITH ('snapshot.num-retained.min' = '1', 'snapshot.time-retained' = '1 ms', 'log.retention' = '1 ms')")
	exec1(t, a, "INSERT INTO t SELECT g, 0 FROM generate_series(1, 6000) AS g")
	exec1(t, a, "CHECKPOINT")
	exec1(t, a, "BEGIN")
	exec1(t, a, "DECLARE c CURSOR FOR SELECT id, v FROM t")
	if got := rows(t, a, "FETCH 2 FROM c"); len(strings.Split(got, "; ")) != 2 {
		t.Fatal(got)
	}
	for i := range 5 {
		exec1(t, b, "UPDATE t SET v = $1", i+1)
		exec1(t, b, "ALTER TABLE t COMPACT")
		exec1(t, b, "CHECKPOINT")
	}
	if got := len(strings.Split(rows(t, a, "FETCH ALL FROM c"), "; ")); got != 5998 {
		t.Fatalf("%d rows", got)
	}
	exec1(t, a, "COMMIT")
	exec1(t, b, "INSERT INTO t VALUES (1, 9)")
	exec1(t, b, "CHECKPOINT")
	n := 0
	for _, err := range h.store.List(context.Background(), "public.db/t/bucket-0/") {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	if n > 4 {
		t.Errorf("%d data files are left", n)
	}
}

// TestDropUnderReaders: a table that is dropped ends its streams and cursors
// with an error, and one of the same name starts empty (C3).
func TestDropUnderReaders(t *testing.T) {
	t.Parallel()
	h := open(t, options{})
	c, s := h.connect(), h.connect()
	exec1(t, c, "CREATE TABLE t (id int primary key)")
	exec1(t, c, "INSERT INTO t VALUES (1)")
	exec1(t, s, "SET execution.runtime_mode = streaming")
	ended := make(chan error, 1)
	began := make(chan bool, 1)
	go func() {
		r, err := s.Query(context.Background(), "SELECT id FROM t")
		if err != nil {
			ended <- err
			return
		}
		for r.Next() {
			began <- true
		}
		ended <- r.Err()
	}()
	<-began
	exec1(t, c, "DROP TABLE t")
	exec1(t, c, "CREATE TABLE t (id int primary key)")
	if got := rows(t, c, "SELECT count(*) FROM t"); got != "0" {
		t.Error(got)
	}
	exec1(t, c, "INSERT INTO t VALUES (2)")
	select {
	case err := <-ended:
		if sqlState(err) == "" || sqlState(err) == "XX000" {
			t.Errorf("the stream ended with %v", err)
		}
	case <-time.After(20 * time.Second):
		t.Error("the stream of a dropped table goes on")
	}
	exec1(t, c, "CHECKPOINT")
	if got := rows(t, c, "SELECT id FROM t"); got != "2" {
		t.Error(got)
	}
}

// TestStreamBehindTheLog: a stream whose client reads too slowly ends with
// 72000 once the log has forgotten what it needs (seam R5).
func TestStreamBehindTheLog(t *testing.T) {
	t.Parallel()
	h := open(t, options{bucket: bucket.Options{Checkpoint: time.Hour}})
	c, s := h.connect(), h.raw()
	exec1(t, c, "CREATE TABLE t (id int primary key, v text)")
	exec1(t, c, "INSERT INTO t VALUES (1, 'a')")
	if _, _, err := s.exec("SET execution.runtime_mode = streaming; BEGIN; DECLARE c CURSOR FOR SELECT id, v FROM t"); err != nil {
		t.Fatal(err)
	}
	if _, lines, err := s.exec("FETCH 1 FROM c"); err != nil || len(lines) != 1 {
		t.Fatal(lines, err)
	}
	// Its snapshot is pinned until its last row; the log is not.
	for i := range 5 {
		exec1(t, c, "INSERT INTO t VALUES ($1, 'b')", i+2)
	}
	tb, err := h.catalog.Table(context.Background(), "public", "t")
	if err != nil {
		t.Fatal(err)
	}
	bounds, err := h.log.Bounds(context.Background(), tb.Topic)
	if err != nil {
		t.Fatal(err)
	}
	if err := h.log.Trim(context.Background(), tb.Topic, map[table.Bucket]table.Offset{0: bounds[0].High - 1}); err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.exec("FETCH 10 FROM c"); sqlState(err) != "72000" {
		t.Errorf("the stream ended with %v", err)
	}
	if _, _, err := s.exec("ROLLBACK; SELECT 1"); err != nil {
		t.Error(err)
	}
}

// TestNothingIsLeft: a server that stops leaves no goroutine behind.
func TestNothingIsLeft(t *testing.T) {
	before := runtime.NumGoroutine()
	h := open(t, options{bucket: bucket.Options{Checkpoint: 20 * time.Millisecond}})
	c := h.raw()
	for _, q := range []string{"CREATE TABLE t (id int primary key, v int) WITH ('bucket' = '3')", "INSERT INTO t VALUES (1, 1), (2, 2), (3, 3)", "CHECKPOINT",
		"BEGIN", "DECLARE c CURSOR FOR SELECT * FROM t", "FETCH 1 FROM c", "SELECT count(*) FROM t", "ROLLBACK", "ALTER TABLE t COMPACT"} {
		if _, _, err := c.exec(q); err != nil {
			t.Fatal(err)
		}
	}
	s := h.raw()
	s.exec("SET execution.runtime_mode = streaming")
	mr := s.c.Exec(context.Background(), "SELECT * FROM t")
	mr.NextResult()
	mr.ResultReader().NextRow()
	h.stop()
	c.c.Close(context.Background())
	s.c.Conn().Close()
	for range 100 {
		if runtime.NumGoroutine() <= before+2 {
			return
		}
		runtime.Gosched()
		time.Sleep(20 * time.Millisecond)
	}
	buf := make([]byte, 1<<20)
	t.Errorf("%d goroutines before, %d after:\n%s", before, runtime.NumGoroutine(), buf[:runtime.Stack(buf, true)])
}
