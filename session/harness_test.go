package session_test

import (
	"context"
	"fmt"
	"net"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"dtstore/bucket"
	"dtstore/catalog"
	"dtstore/exec"
	"dtstore/filestore"
	"dtstore/logstore"
	"dtstore/logstore/embedded"
	"dtstore/objstore"
	"dtstore/scan"
	"dtstore/session"
	"dtstore/wire"
)

// house is a whole server in this process, on a folder of its own.
type house struct {
	t       testing.TB
	dir     string
	addr    string
	kafka   string
	catalog *catalog.Catalog
	owner   *bucket.Owner
	log     *logstore.Log
	store   objstore.Store
	stop    func()
}

// keeper adapts the owner, as cmd/dtserver does.
type keeper struct{ *bucket.Owner }

func (k keeper) Compact(ctx context.Context, t *catalog.Table) (session.CompactReport, error) {
	r, err := k.Owner.Compact(ctx, t)
	return session.CompactReport(r), err
}

func (k keeper) Status(id logstore.TopicID) ([]session.BucketStatus, bool) {
	all, ok := k.Owner.Status(id)
	out := make([]session.BucketStatus, len(all))
	for i, s := range all {
		out[i] = session.BucketStatus(s)
	}
	return out, ok
}

// synced adapts the embedded log, as cmd/dtserver does.
type synced struct{ s *embedded.Server }

func (e synced) Sync(ctx context.Context, parts []logstore.Written) error {
	out := make([]embedded.TopicPartition, len(parts))
	for i, p := range parts {
		out[i] = embedded.TopicPartition{Topic: p.Topic.Name, Partition: int32(p.Bucket)}
	}
	return e.s.Sync(ctx, out)
}

func (e synced) note(n logstore.Note) embedded.Note {
	out := embedded.Note{ProducerID: n.ProducerID, ProducerEpoch: n.ProducerEpoch}
	for _, p := range n.Parts {
		out.Parts = append(out.Parts, embedded.NotedPart{Topic: p.Topic.Name, TopicID: string(p.Topic.ID), Partition: int32(p.Bucket), Last: int64(p.Span.To) - 1})
	}
	return out
}

func (e synced) Note(ctx context.Context, n logstore.Note) error  { return e.s.Note(ctx, e.note(n)) }
func (e synced) Ended(ctx context.Context, n logstore.Note) error { return e.s.Ended(ctx, e.note(n)) }
func (e synced) Broken() error                                    { return e.s.Broken() }

// options of a house.
type options struct {
	bucket      bucket.Options
	dir         string
	bufferBytes int64
	noMemory    bool                                // every tail is read from the log
	store       func(objstore.Store) objstore.Store // wraps the directory
}

func open(t testing.TB, o options) *house {
	t.Helper()
	ctx := context.Background()
	h := &house{t: t, dir: o.dir}
	if h.dir == "" {
		h.dir = t.TempDir()
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	emb, err := embedded.Open(ctx, embedded.Options{Dir: filepath.Join(h.dir, "log"), Listen: "127.0.0.1:0"})
	must(err)
	h.kafka = emb.Addr()
	h.log, err = logstore.Open(ctx, logstore.Options{Brokers: []string{emb.Addr()}, InstanceID: uuid.NewString(), Embedded: synced{emb}})
	must(err)
	directory, err := objstore.OpenDir(filepath.Join(h.dir, "warehouse"))
	must(err)
	var store objstore.Store = directory
	if o.store != nil {
		store = o.store(store)
	}
	h.store = store
	h.catalog, err = catalog.Open(ctx, catalog.Options{Store: store, Log: h.log})
	must(err)
	files, err := filestore.Open(store, filestore.Options{SpoolDir: filepath.Join(h.dir, "spool")})
	must(err)
	o.bucket.User = uuid.NewString()
	h.owner, err = bucket.New(h.catalog, h.log, files, o.bucket)
	must(err)
	dbs, err := h.catalog.Databases(ctx)
	must(err)
	for _, db := range dbs {
		tables, err := h.catalog.Tables(ctx, db)
		must(err)
		for _, tb := range tables {
			h.owner.Adopt(tb)
		}
	}
	engine, err := exec.Open(exec.Options{SpoolDir: filepath.Join(h.dir, "spool"), MemoryBytes: 1 << 30, Readable: []string{filepath.Join(h.dir, "warehouse")}, Database: "dtstore"})
	must(err)
	readers := scan.Options{Files: files, Log: h.log, Memory: h.owner}
	if o.noMemory {
		readers.Memory = nil
	}
	srv, err := session.NewServer(session.Options{Catalog: h.catalog, Log: h.log, Engine: engine, Keeper: keeper{h.owner}, Spool: filepath.Join(h.dir, "spool"),
		BufferBytes: o.bufferBytes, Reader: scan.New(readers)})
	must(err)
	ws, err := wire.NewServer(wire.Options{NewSession: srv.NewSession})
	must(err)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(err)
	h.addr = l.Addr().String()
	served := make(chan error, 1)
	go func() { served <- ws.Serve(context.Background(), l) }()
	h.stop = func() {
		h.stop = func() {}
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		ws.Shutdown(ctx)
		<-served
		h.owner.Close()
		h.log.Close()
		engine.Close()
		emb.Close()
	}
	t.Cleanup(func() { h.stop() })
	return h
}

func (h *house) connect() *pgx.Conn {
	h.t.Helper()
	c, err := pgx.Connect(context.Background(), fmt.Sprintf("postgres://tester@%s/dtstore", h.addr))
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() { c.Close(context.Background()) })
	return c
}
