package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"dtstore/bucket"
	"dtstore/catalog"
	"dtstore/exec"
	"dtstore/filestore"
	"dtstore/logstore"
	"dtstore/logstore/embedded"
	"dtstore/objstore"
	"dtstore/objstore/s3"
	"dtstore/scan"
	"dtstore/session"
	"dtstore/table"
	"dtstore/wire"
)

// server is everything that runs, and how to take it down.
type server struct {
	config   config
	log      *slog.Logger
	shares   shares
	data     *dataDir
	listener net.Listener
	objects  objstore.Store
	broker   *embedded.Server // nil with an external Kafka
	logs     *logstore.Log
	claim    *logstore.Claim
	engine   *exec.Engine
	catalog  *catalog.Catalog
	files    *filestore.Store
	owner    *bucket.Owner
	wire     *wire.Server
	tables   *adoption

	closers []closer // in the order of opening
}

type closer struct {
	what  string
	close func() error
}

// storeTimeout bounds the first words with the object store.
const storeTimeout = 20 * time.Second

// closing bounds the last words with Kafka.
const closing = 5 * time.Second

// start opens everything. After an error everything is closed again.
func start(ctx context.Context, c config, log *slog.Logger) (*server, error) {
	s := &server{config: c, log: log}
	for _, step := range []struct {
		what string
		open func(context.Context) error
	}{{"data folder", s.openLocal}, {"store", s.openStore}, {"log and engine", s.openLogAndEngine}, {"tables", s.openTables}, {"front", s.openFront}} {
		began := time.Now()
		err := step.open(ctx)
		log.Debug("opened", "what", step.what, "took", time.Since(began))
		if err == nil && ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		if err != nil {
			return nil, errors.Join(err, s.close())
		}
	}
	return s, nil
}

func (s *server) opened(what string, close func() error) {
	s.closers = append(s.closers, closer{what, close})
}

// close takes down what was opened, last first.
func (s *server) close() error {
	var errs []error
	for _, c := range slices.Backward(s.closers) {
		if err := c.close(); err != nil {
			errs = append(errs, fmt.Errorf("close %s: %w", c.what, err))
		}
	}
	s.closers = nil
	return errors.Join(errs...)
}

// openLocal takes what only one server of this machine can have: the data
// folder and the port. Nobody is answered before all is open.
func (s *server) openLocal(ctx context.Context) (err error) {
	if s.shares, err = s.config.cut(machineMemory()); err != nil {
		return err
	}
	if s.data, err = openData(s.config.Data); err != nil {
		return err
	}
	s.opened("data folder", s.data.close)
	var lc net.ListenConfig
	s.listener, err = lc.Listen(ctx, "tcp", s.config.Listen)
	if errors.Is(err, syscall.EADDRINUSE) {
		return fmt.Errorf("--listen %s: the address is in use, perhaps by another server; stop that one, or choose another port", s.config.Listen)
	}
	if err != nil {
		return fmt.Errorf("--listen %s: %w", s.config.Listen, err)
	}
	s.opened("listener", func() error {
		if err := s.listener.Close(); err != nil && !errors.Is(err, net.ErrClosed) { // wire closes it first
			return err
		}
		return nil
	})
	return nil
}

// openStore opens the warehouse and makes sure that it can hold one.
func (s *server) openStore(ctx context.Context) (err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, storeTimeout, fmt.Errorf("no answer within %v", storeTimeout))
	defer cancel()
	if strings.Contains(s.config.Warehouse, "://") {
		bucket, prefix, err := s.config.s3()
		if err != nil {
			return err
		}
		s.objects, err = s3.Open(ctx, s3.Options{Bucket: bucket, Prefix: prefix, Endpoint: s.config.S3Endpoint, Region: s.config.S3Region, PathStyle: s.config.S3Path})
		if err != nil {
			return fmt.Errorf("--warehouse %s: %w", s.config.Warehouse, err)
		}
		if err := objstore.Probe(ctx, s.objects); err != nil {
			at := s.config.S3Endpoint
			if at == "" {
				at = "AWS"
			}
			return fmt.Errorf("--warehouse %s at %s: %w; check --s3-endpoint, --s3-region, the bucket and the credentials", s.config.Warehouse, at, err)
		}
		return nil
	}
	if s.objects, err = objstore.OpenDir(s.config.Warehouse); err != nil {
		return fmt.Errorf("--warehouse %s: %w; choose a folder that can be written", s.config.Warehouse, err)
	}
	if err := objstore.Probe(ctx, s.objects); err != nil {
		return fmt.Errorf("--warehouse %s: %w; choose a folder that can be written", s.config.Warehouse, err)
	}
	return nil
}

// openLogAndEngine opens the two slow parts side by side.
func (s *server) openLogAndEngine(ctx context.Context) error {
	var g errgroup.Group
	var engine *exec.Engine
	g.Go(func() (err error) {
		began := time.Now()
		defer func() { s.log.Debug("opened", "what", "engine", "took", time.Since(began)) }()
		engine, err = exec.Open(exec.Options{SpoolDir: filepath.Join(s.data.spool(), "engine"), MemoryBytes: s.shares.engine, Readable: s.readable()})
		return err
	})
	logErr := s.openLog(ctx)
	err := g.Wait()
	if engine != nil {
		s.engine = engine
		s.opened("engine", engine.Close)
	}
	return errors.Join(logErr, err)
}

// readable are the folders with data files that the engine may open.
func (s *server) readable() []string {
	if strings.Contains(s.config.Warehouse, "://") {
		return []string{s.data.cache()}
	}
	return []string{s.config.Warehouse}
}

// openLog starts the embedded Kafka or connects to another, and claims it.
func (s *server) openLog(ctx context.Context) (err error) {
	o := logstore.Options{Brokers: s.config.brokers(), Prefix: s.config.TopicPrefix, InstanceID: s.data.instance, Logger: s.log}
	if s.config.embedded() {
		s.broker, err = embedded.Open(ctx, embedded.Options{Dir: s.data.log(), Listen: s.config.KafkaListen, Logger: s.log})
		if err != nil {
			return fmt.Errorf("--kafka-listen %s: %w", s.config.KafkaListen, err)
		}
		s.opened("embedded log", s.broker.Close)
		o.Brokers, o.Embedded = []string{s.broker.Addr()}, embeddedLog{s.broker}
	}
	began := time.Now()
	if s.logs, err = logstore.Open(ctx, o); err != nil {
		return s.away(err)
	}
	s.opened("log", s.logs.Close)
	s.log.Debug("opened", "what", "kafka client", "took", time.Since(began))
	began = time.Now()
	if s.claim, err = s.logs.Claim(ctx); err != nil {
		return s.away(err)
	}
	s.log.Debug("opened", "what", "claim", "took", time.Since(began))
	s.opened("claim", func() error {
		ctx, cancel := context.WithTimeout(context.Background(), closing)
		defer cancel()
		return s.claim.Release(ctx)
	})
	return nil
}

// away says what to do about a Kafka that does not answer at the start: the
// log's own hint is for a server that runs.
func (s *server) away(err error) error {
	var hinted *table.Error
	if !errors.Is(err, logstore.ErrUnavailable) || !errors.As(err, &hinted) {
		return err
	}
	return fmt.Errorf("--kafka %s: %s; start it or correct --kafka (without that flag an embedded Kafka is used)", s.config.Kafka, hinted.Message)
}

// openTables opens the parts that know tables.
func (s *server) openTables(ctx context.Context) (err error) {
	if s.catalog, err = catalog.Open(ctx, catalog.Options{Store: s.objects, Log: s.logs, TopicPrefix: s.config.TopicPrefix}); err != nil {
		return err
	}
	s.files, err = filestore.Open(s.objects, filestore.Options{CacheDir: s.data.cache(), CacheBytes: s.config.CacheBytes.bytes,
		SpoolDir: filepath.Join(s.data.spool(), "files"), MemoryBytes: s.shares.caches})
	if err != nil {
		return err
	}
	o := bucket.Options{Checkpoint: s.config.CheckpointInterval, FlushBytes: min(64<<20, s.shares.memtables/2), MemoryBytes: s.shares.memtables,
		User: uuid.NewString(), Logger: s.log}
	if s.broker != nil {
		o.SyncLog = embeddedLog{s.broker}.syncFlushed
	}
	if s.owner, err = bucket.New(s.catalog, s.logs, s.files, o); err != nil {
		return err
	}
	s.opened("tables", func() error { s.owner.Close(); return nil })
	s.sweepLitter()
	s.tables = &adoption{catalog: s.catalog, owner: s.owner, log: s.log, released: map[logstore.TopicID]bool{}}
	return nil
}

// openFront makes the sessions and the server that speaks with clients.
func (s *server) openFront(context.Context) error {
	sessions, err := session.NewServer(session.Options{
		Catalog: s.catalog, Log: s.logs, Engine: s.engine,
		Reader: scan.New(scan.Options{Files: s.files, Log: s.logs, Memory: s.owner}),
		Keeper: keeper{s.owner, s.tables},
		Spool:  filepath.Join(s.data.spool(), "transactions"), BufferBytes: s.shares.transaction,
		Version: version, Logger: s.log,
		Cancel:    func(pid uint32) bool { return s.wire.Cancel(pid) },
		Terminate: func(pid uint32) bool { return s.wire.Terminate(pid) },
	})
	if err != nil {
		return err
	}
	grace := s.config.Grace
	if grace == 0 {
		grace = time.Nanosecond // 0 would be wire's own default
	}
	s.wire, err = wire.NewServer(wire.Options{NewSession: sessions.NewSession, Grace: grace, Logger: s.log})
	return err
}
