package main

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/url"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"time"

	"github.com/alecthomas/kong"
)

// version of dtserver, as --version and version() say it.
const version = "0.1.0"

// config is the command line; each flag is an environment variable too.
type config struct {
	Listen     string `default:"127.0.0.1:7432" env:"DTSTORE_LISTEN" placeholder:"ADDR" help:"Where the Postgres protocol is spoken."`
	Data       string `default:"./dtdata" env:"DTSTORE_DATA" placeholder:"DIR" help:"Everything local: log/, warehouse/, cache/, spool/."`
	Warehouse  string `env:"DTSTORE_WAREHOUSE" placeholder:"DIR|s3://BUCKET/PREFIX" help:"Where the tables' files lie (default: DATA/warehouse)."`
	S3Endpoint string `name:"s3-endpoint" env:"DTSTORE_S3_ENDPOINT" placeholder:"URL" help:"S3 service that is not AWS. Credentials come from the AWS SDK's usual chain."`
	S3Region   string `name:"s3-region" env:"DTSTORE_S3_REGION" placeholder:"REGION" help:"Region of the bucket (default: AWS's own configuration)."`
	S3Path     bool   `name:"s3-path-style" env:"DTSTORE_S3_PATH_STYLE" help:"Bucket in the path and not in the host name."`

	Kafka       string `default:"embedded" env:"DTSTORE_KAFKA" placeholder:"HOST:PORT,…" help:"Brokers; \"embedded\" runs one in this process, on DATA/log."`
	KafkaListen string `default:"127.0.0.1:7492" env:"DTSTORE_KAFKA_LISTEN" placeholder:"ADDR" help:"Where the embedded Kafka answers."`
	TopicPrefix string `env:"DTSTORE_TOPIC_PREFIX" placeholder:"PREFIX" help:"A new table's topic is PREFIX<schema>.<table>."`

	CheckpointInterval time.Duration `default:"1m" env:"DTSTORE_CHECKPOINT_INTERVAL" placeholder:"DURATION" help:"How often changes become files and a snapshot."`
	Grace              time.Duration `default:"5s" env:"DTSTORE_GRACE" placeholder:"DURATION" help:"How long running statements may go on after SIGTERM."`

	Memory            size `default:"50%" env:"DTSTORE_MEMORY" placeholder:"SIZE" help:"One budget for memtables, DuckDB and caches: 4GB, or a share of the machine's such as 50%."`
	MemtableMemory    size `env:"DTSTORE_MEMTABLE_MEMORY" placeholder:"SIZE" help:"Changes that no snapshot has yet (default: a quarter of the budget, at most 256MB)."`
	EngineMemory      size `env:"DTSTORE_ENGINE_MEMORY" placeholder:"SIZE" help:"DuckDB (default: half of the budget)."`
	CacheMemory       size `env:"DTSTORE_CACHE_MEMORY" placeholder:"SIZE" help:"Pages and masks of data files (default: an eighth of the budget, at most 512MB)."`
	TransactionMemory size `env:"DTSTORE_TRANSACTION_MEMORY" placeholder:"SIZE" help:"Rows of one open transaction before they go to DATA/spool (default: a sixteenth of the budget, at most 128MB)."`
	CacheBytes        size `default:"10GB" env:"DTSTORE_CACHE_BYTES" placeholder:"SIZE" help:"Disk for local copies of S3 files, in DATA/cache."`

	LogLevel string           `default:"info" enum:"debug,info,warn,error" env:"DTSTORE_LOG_LEVEL" placeholder:"LEVEL" help:"debug, info, warn or error."`
	Version  kong.VersionFlag `help:"Print the version and exit."`
}

// asked is what a command line that only asks ends with.
type asked struct{ status int }

func (a asked) Error() string { return "nothing to run" }

// parse reads the command line. --help and --version print to out and give an
// asked.
func parse(args []string, out, errs io.Writer) (c config, err error) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case asked: // kong ends the process after help and version; we end the function
			err = r
		default:
			panic(r)
		}
	}()
	p, err := kong.New(&c,
		kong.Name("dtserver"),
		kong.Description("A streaming table store: SQL by the Postgres protocol, a Kafka log and Parquet files in one table. Needs no flag to start."),
		kong.Vars{"version": versionText()},
		kong.Writers(out, errs),
		kong.Exit(func(status int) { panic(asked{status}) }))
	if err != nil {
		return c, err
	}
	if _, err := p.Parse(args); err != nil {
		return c, fmt.Errorf("%w (dtserver --help lists the flags)", err)
	}
	if c.Warehouse == "" {
		c.Warehouse = filepath.Join(c.Data, "warehouse")
	}
	return c, c.validate()
}

// validate reports every fault that shows without asking anybody.
func (c *config) validate() error {
	var errs []error
	errs = append(errs, loopback("--listen", c.Listen))
	if c.embedded() {
		errs = append(errs, loopback("--kafka-listen", c.KafkaListen))
	}
	for _, r := range c.TopicPrefix {
		if !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-", r) {
			errs = append(errs, fmt.Errorf("--topic-prefix %q: Kafka takes only letters, digits, '.', '_' and '-'", c.TopicPrefix))
			break
		}
	}
	if len(c.TopicPrefix) > 100 {
		errs = append(errs, fmt.Errorf("--topic-prefix: %d characters leave too few of Kafka's 249 for the tables' names; take at most 100", len(c.TopicPrefix)))
	}
	if c.CheckpointInterval <= 0 {
		errs = append(errs, fmt.Errorf("--checkpoint-interval %v: must be above 0", c.CheckpointInterval))
	}
	if c.Grace < 0 {
		errs = append(errs, fmt.Errorf("--grace %v: must not be negative", c.Grace))
	}
	if strings.Contains(c.Warehouse, "://") {
		if _, _, err := c.s3(); err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// loopback refuses addresses that others can reach: there is neither TLS nor
// authentication.
func loopback(flag, addr string) error {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return fmt.Errorf("%s %q: not an address like 127.0.0.1:7432", flag, addr)
	}
	var ips []net.IP
	if ip := net.ParseIP(host); ip != nil {
		ips = []net.IP{ip}
	} else if host != "" {
		if ips, err = net.LookupIP(host); err != nil {
			return fmt.Errorf("%s %s: %w", flag, addr, err)
		}
	}
	for _, ip := range ips {
		if !ip.IsLoopback() {
			ips = nil
			break
		}
	}
	if len(ips) == 0 {
		return fmt.Errorf("%s %s: refused, since others could reach it and there is no TLS and no authentication yet; listen on a loopback address such as 127.0.0.1:%s", flag, addr, port)
	}
	return nil
}

func (c *config) embedded() bool { return c.Kafka == "embedded" }

// brokers of an external Kafka.
func (c *config) brokers() []string {
	var out []string
	for b := range strings.SplitSeq(c.Kafka, ",") {
		if b = strings.TrimSpace(b); b != "" {
			out = append(out, b)
		}
	}
	return out
}

// s3 takes the warehouse's URL apart.
func (c *config) s3() (bucket, prefix string, err error) {
	u, err := url.Parse(c.Warehouse)
	if err != nil || u.Scheme != "s3" || u.Host == "" || u.User != nil || u.RawQuery != "" {
		return "", "", errors.New("--warehouse: not a folder and not a URL like s3://bucket/prefix")
	}
	return u.Host, strings.Trim(u.Path, "/"), nil
}

func (c *config) level() slog.Level {
	var l slog.Level
	if err := l.UnmarshalText([]byte(c.LogLevel)); err != nil {
		panic(fmt.Sprintf("log level %q passed the enum", c.LogLevel))
	}
	return l
}

// versionText is what --version prints: the version, and the commit if the
// build knows it.
func versionText() string {
	text := "dtserver " + version
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" && len(s.Value) >= 12 {
				text += " (" + s.Value[:12] + ")"
			}
		}
	}
	return text + " " + runtime.Version() + " " + runtime.GOOS + "/" + runtime.GOARCH
}
