package embedded

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"sync"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"
)

// Options of a Server.
type Options struct {
	Dir    string       // data directory, made if need be
	Listen string       // loopback address for Kafka clients; port 0 takes a free one
	Logger *slog.Logger // nil discards
}

// Server is a Kafka broker in this process with its log in a directory. Its
// methods may be called from any goroutine.
type Server struct {
	dir   string
	addr  string
	lock  *os.File
	kafka *kfake.Cluster
	watch *watch
	sync  *syncer

	close    sync.Once
	closeErr error
}

// Open locks the data directory, seals what is in it and starts the broker.
//
// Errors: ErrLocked; a port in use, an address that is not loopback, files of
// another format version, damage that no crash explains. Each says what to do,
// and leaves files as they were or better.
func Open(ctx context.Context, o Options) (*Server, error) {
	if o.Dir == "" {
		return nil, errors.New("embedded log: no data directory")
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	lock, err := lockDir(o.Dir)
	if err != nil {
		return nil, err
	}
	s := &Server{dir: o.Dir, lock: lock, watch: &watch{log: o.Logger}}
	if err := s.start(ctx, o.Listen); err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	return s, nil
}

func (s *Server) start(ctx context.Context, addr string) error {
	ln, err := listen(addr)
	if err != nil {
		return err
	}
	s.addr = ln.Addr().String()
	parts, err := seal(ctx, s.dir)
	if err != nil {
		ln.Close()
		return err
	}
	s.sync, err = newSyncer(s.dir, s.watch, parts)
	if err != nil {
		ln.Close()
		return err
	}
	s.kafka, err = kfake.NewCluster(
		kfake.NumBrokers(1),
		kfake.ListenFn(func(string, string) (net.Listener, error) { return ln, nil }),
		kfake.DataDir(filepath.Join(s.dir, kafkaDir)),
		kfake.WithLogger(s.watch),
		// Java clients before 4.0, Flink's connector among them, die on a
		// later broker's ApiVersions answer.
		kfake.MaxVersions(kversion.V3_7_0()),
	)
	if err != nil {
		ln.Close()
		return errors.Join(fmt.Errorf("start the embedded log in %s: %w", s.dir, err), s.sync.stop())
	}
	if err := s.settle(); err != nil {
		s.kafka.Close()
		return errors.Join(err, s.sync.stop())
	}
	return nil
}

// settle does what can be done only once kfake has opened its files.
func (s *Server) settle() error {
	s.kafka.ControlKey(int16(kmsg.DeleteRecords), s.keepLast)
	if err := s.watch.err(); err != nil { // it cut something that the seal had left
		return err
	}
	// Read and from now on stale: kfake would believe it after a crash.
	kafka := filepath.Join(s.dir, kafkaDir)
	if err := os.Remove(filepath.Join(kafka, "seq_windows.json")); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return syncDir(kafka)
}

// keepLast lowers a trim that would empty a partition: emptied and opened
// again, kfake would begin it at offset 0. It runs in kfake, before the request.
func (s *Server) keepLast(req kmsg.Request) (kmsg.Response, error, bool) {
	r, ok := req.(*kmsg.DeleteRecordsRequest)
	if !ok {
		return nil, nil, false
	}
	for _, t := range r.Topics {
		for i := range t.Partitions {
			p := &t.Partitions[i]
			info := s.kafka.PartitionInfo(t.Topic, p.Partition)
			if info == nil || info.LogStartOffset >= info.HighWatermark {
				continue
			}
			if p.Offset == -1 || p.Offset == info.HighWatermark {
				p.Offset = max(info.HighWatermark-1, info.LogStartOffset)
			}
		}
	}
	return nil, nil, false
}

// Addr is the broker's address, as clients reach it.
func (s *Server) Addr() string { return s.addr }

// Broken returns an error that is ErrBroken once a write or a sync failed.
// Looked at after kfake's answer it covers that answer.
func (s *Server) Broken() error { return s.watch.err() }

// Sync returns once all that kfake had answered for the partitions before the
// call is on the disk. Concurrent calls are gathered into one round.
//
// fs.ErrNotExist: the partition was deleted. ctx's error: not known. Any other
// error is ErrBroken: whether the rows are durable is not known, and nothing
// may be written any more.
func (s *Server) Sync(ctx context.Context, parts []TopicPartition) error {
	return s.sync.do(ctx, &syncRequest{parts: parts})
}

// Note puts the note and the rows of its partitions on the disk, in one round.
// Call it when all rows have been answered and before EndTxn. The errors are
// Sync's; after any of them the transaction's outcome is not known.
func (s *Server) Note(ctx context.Context, n Note) error {
	if err := n.validate(); err != nil {
		return err
	}
	n = n.merged()
	return s.sync.do(ctx, &syncRequest{parts: n.partitions(), note: &n})
}

// Ended says that kfake has answered EndTxn for the noted transaction: it puts
// the markers on the disk and lets the note go. Of a transaction that was
// aborted nobody may be told before it returns nil: until then a crash commits
// it, as its note says.
func (s *Server) Ended(ctx context.Context, n Note) error {
	n = n.merged()
	return s.sync.do(ctx, &syncRequest{parts: n.partitions(), ended: &n})
}

// Close stops the broker, puts its files on the disk and lets the directory
// go. Close clients before.
func (s *Server) Close() error {
	s.close.Do(func() {
		s.kafka.Close()
		s.closeErr = errors.Join(s.sync.stop(), s.watch.err(), s.lock.Close())
	})
	return s.closeErr
}
