package logstore

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"dtstore/table"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kversion"
)

// Sizes that decide how an append travels.
const (
	// batchBytes is the largest plain batch: one of 8 MB costs a broker 40 to
	// 120 ms, larger ones stall everybody behind them.
	batchBytes = 8 << 20
	// topicBytes is max.message.bytes of our topics: the largest single record.
	topicBytes = 16 << 20
	// roundBytes bounds one produce request (brokers refuse above 100 MB).
	roundBytes = 32 << 20
	// bigProducers is how many appends past batchBytes run at the same time.
	bigProducers = 4
	// sharedTimeout is the transaction timeout of shared transactions, counted
	// by the broker from the transaction's start.
	sharedTimeout = 10 * time.Second
	// bigTimeout is Kafka's default transaction.max.timeout.ms.
	bigTimeout = 15 * time.Minute
)

// Written names one log partition and the offsets that were written there.
type Written struct {
	Topic  Topic
	Bucket table.Bucket
	Span   table.Span // from the first to past the last record
}

// Note is what makes a transaction of the embedded log survive a kill between
// two of its markers.
type Note struct {
	ProducerID    int64
	ProducerEpoch int16
	Parts         []Written
}

// Embedded is what the in-process log adds to the protocol: its own syncs.
type Embedded interface {
	// Sync returns once everything answered so far for these log partitions is
	// on the disk. After an error the log is broken.
	Sync(ctx context.Context, parts []Written) error
	// Note makes the note and the rows it names durable. It comes before the
	// transaction is ended.
	Note(ctx context.Context, note Note) error
	// Ended says that the transaction of the note was answered as committed.
	Ended(ctx context.Context, note Note) error
	// Broken is nil, or why nothing can be written until a restart.
	Broken() error
}

// Options of a Log. Brokers is required.
type Options struct {
	Brokers    []string
	Prefix     string        // of topics and transactional ids
	InstanceID string        // stable per server: a restart ends its predecessor's transactions
	Embedded   Embedded      // nil: a real broker
	Timeout    time.Duration // how long an append waits for a broker; 0 means 5 s
	Logger     *slog.Logger  // nil: none
	// ClientOptions are added to every Kafka client; tests cut connections with them.
	ClientOptions []kgo.Opt
}

// Validate reports every fault of the options.
func (o Options) Validate() error {
	var errs []error
	if len(o.Brokers) == 0 {
		errs = append(errs, errors.New("brokers: none given"))
	}
	if o.InstanceID == "" {
		errs = append(errs, errors.New("instance id: empty"))
	}
	if o.Timeout < 0 {
		errs = append(errs, fmt.Errorf("timeout: %v is negative", o.Timeout))
	}
	return errors.Join(errs...)
}

// Log appends to and reads the logs of all tables. Any number of goroutines
// may use it.
type Log struct {
	opts   Options
	cl     *kgo.Client // requests that do not wait: metadata, produce, offsets
	txcl   *kgo.Client // transactions, capped to the classic protocol
	meta   metadata
	stable stable
	keys   tracker
	queue  KeyQueue
	commit commits
	gather gatherer
	fetch  *fetcher

	ctx    context.Context // ends with Close
	cancel context.CancelFunc

	mu     sync.Mutex // guards closed: nothing starts once Close waits
	closed bool
	wg     sync.WaitGroup // every goroutine that the log starts
}

// Open connects to the brokers, ends open transactions of a predecessor with
// the same InstanceID, and starts the gatherer. It fails with ErrUnavailable
// if no broker answers within the timeout.
func Open(ctx context.Context, o Options) (*Log, error) {
	if err := o.Validate(); err != nil {
		return nil, fmt.Errorf("log options: %w", err)
	}
	if o.Timeout == 0 {
		o.Timeout = 5 * time.Second
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	l := &Log{opts: o}
	l.ctx, l.cancel = context.WithCancel(context.Background())
	if err := l.open(ctx); err != nil {
		l.Close()
		return nil, err
	}
	return l, nil
}

func (l *Log) open(ctx context.Context) error {
	var err error
	if l.cl, err = l.client(); err != nil {
		return err
	}
	// The classic transaction protocol (Kafka 3.7) is what both brokers speak
	// alike: the epoch stays, and the same EndTxn may be sent again until answered.
	classic := kversion.V3_7_0()
	classic.SetMaxKeyVersion(24, 3) // later AddPartitionsToTxn is for brokers only
	if l.txcl, err = l.client(kgo.MaxVersions(classic)); err != nil {
		return err
	}
	ping, cancel := context.WithTimeout(ctx, l.opts.Timeout)
	defer cancel()
	if err := l.cl.Ping(ping); err != nil {
		return l.unavailable(err)
	}
	ctx, cancel = context.WithTimeout(ctx, l.opts.Timeout+coordinatorWait)
	defer cancel()
	l.meta.init(l)
	l.stable.init(l)
	l.keys.init(&l.stable)
	l.queue.init()
	l.gather.init(l)
	if l.fetch, err = newFetcher(l); err != nil {
		return err
	}
	if err := l.gather.initProducers(ctx); err != nil {
		return err
	}
	l.start(l.gather.run)
	l.start(l.stable.run)
	return nil
}

// start runs f in a goroutine that Close waits for; false once it was closed.
func (l *Log) start(f func()) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return false
	}
	l.wg.Go(f)
	return true
}

func (l *Log) client(more ...kgo.Opt) (*kgo.Client, error) {
	opts := []kgo.Opt{
		kgo.SeedBrokers(l.opts.Brokers...),
		kgo.ClientID("dtstore"),
		kgo.MetadataMinAge(100 * time.Millisecond), // a new topic must not wait 5 s
		kgo.DialTimeout(time.Second),
		kgo.RetryTimeout(l.opts.Timeout),
		kgo.RequestRetries(8),
		kgo.BrokerMaxReadBytes(128 << 20),
		kgo.DisableIdempotentWrite(), // we bring our own producer ids
	}
	cl, err := kgo.NewClient(append(append(opts, more...), l.opts.ClientOptions...)...)
	if err != nil {
		return nil, fmt.Errorf("kafka client: %w", err)
	}
	return cl, nil
}

// Close ends every goroutine and connection. Appends under way get their
// outcome; what was not sent is ErrNo.
func (l *Log) Close() error {
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	l.cancel()
	if l.fetch != nil {
		l.fetch.close()
	}
	l.wg.Wait()
	for _, cl := range []*kgo.Client{l.cl, l.txcl} {
		if cl != nil {
			cl.Close()
		}
	}
	return nil
}
