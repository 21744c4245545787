package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/twmb/franz-go/pkg/kgo"

	"dtstore/catalog"
	"dtstore/logstore"
	row "dtstore/table"
)

type schemaType = row.Schema

// stream is how fast an endless SELECT reads a topic, beside a consumer that
// decodes every record to a row. The SELECT begins on the empty table and is
// not read from until all is written; rows that fit socket buffers meanwhile
// are left out of the measurement.
func stream(ctx context.Context, b *bench) error {
	rows := pick(b.full, 5_000_000, 1_000_000)
	c, err := pgx.Connect(ctx, b.ours.url())
	if err != nil {
		return err
	}
	defer c.Close(ctx)
	if _, err := c.Exec(ctx, "CREATE TABLE changes "+columns+" WITH ('log.retention' = '1 d')"); err != nil {
		return err
	}
	// pgx waits for the first row before it says that a query has begun.
	if _, err := c.Exec(ctx, "INSERT INTO changes (id) VALUES (0)"); err != nil {
		return err
	}
	in, err := streaming(ctx, b.ours.url(), "SELECT * FROM changes")
	if err != nil {
		return err
	}
	defer in.conn.PgConn().Conn().Close()
	file, err := b.prepared(rows, 1)
	if err != nil {
		return err
	}
	if err := copyFile(ctx, c, "changes", file, rows); err != nil {
		return err
	}
	if err := settle(ctx, c, "changes"); err != nil { // the server has nothing else to do then
		return err
	}
	const buffered = 200_000
	var ours measure
	var began time.Time
	var cpu time.Duration
	for n := 0; n <= rows; n++ { // with the first
		if n == buffered {
			began, cpu = time.Now(), cpuOf(b.ours.pid())
		}
		if !in.rows.Next() {
			return fmt.Errorf("the stream ended after %d rows: %w", n, in.rows.Err())
		}
	}
	ours = measure{rate: float64(rows-buffered) / time.Since(began).Seconds(), unit: "rows/s", cpu: cpuOf(b.ours.pid()) - cpu}
	floor, err := consume(ctx, b.ours.kafka, b.ours.warehouse("changes"), rows)
	if err != nil {
		return err
	}
	b.results.add(result{work: "endless SELECT from the start of " + count(rows) + " changes", ours: ours, peer: floor, name: "franz-go, decoding", aim: 0.5})
	return nil
}

// open is a query whose rows are still to come.
type open struct {
	conn *pgx.Conn
	rows pgx.Rows
}

// streaming begins an endless SELECT on a connection with a small buffer.
func streaming(ctx context.Context, url, query string) (*open, error) {
	config, err := pgx.ParseConfig(url)
	if err != nil {
		return nil, err
	}
	config.DialFunc = func(ctx context.Context, network, addr string) (net.Conn, error) {
		var d net.Dialer
		conn, err := d.DialContext(ctx, network, addr)
		if err == nil {
			err = conn.(*net.TCPConn).SetReadBuffer(256 << 10)
		}
		return conn, err
	}
	c, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return nil, err
	}
	if _, err := c.Exec(ctx, "SET execution.runtime_mode = streaming"); err != nil {
		return nil, err
	}
	rows, err := c.Query(ctx, query)
	return &open{c, rows}, err
}

// consume reads a topic as any Kafka client would, and decodes our records.
func consume(ctx context.Context, port int, folder string, rows int) (measure, error) {
	raw, err := os.ReadFile(folder + "/schema/schema-0")
	if err != nil {
		return measure{}, err
	}
	schema, err := catalog.DecodeSchema(raw)
	if err != nil {
		return measure{}, err
	}
	codec := logstore.NewCodec(schema, logstore.TopicID(schema.Options["dtstore.topic-id"]))
	client, err := kgo.NewClient(kgo.SeedBrokers(fmt.Sprintf("127.0.0.1:%d", port)), kgo.ConsumeTopics(schema.Options["dtstore.topic"]),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.FetchMaxBytes(16<<20), kgo.FetchMaxPartitionBytes(16<<20))
	if err != nil {
		return measure{}, err
	}
	defer client.Close()
	began, cpu := time.Now(), cpuOf(os.Getpid())
	for n := 0; n <= rows; {
		fetches := client.PollFetches(ctx)
		if err := fetches.Err0(); err != nil {
			return measure{}, err
		}
		var bad error
		fetches.EachRecord(func(r *kgo.Record) {
			f := logstore.Fetched{Offset: row.Offset(r.Offset), Record: logstore.Record{Key: r.Key, Value: r.Value}}
			for _, h := range r.Headers {
				f.Headers = append(f.Headers, logstore.Header{Key: h.Key, Value: h.Value})
			}
			if _, _, err := codec.Decode(f); err != nil {
				bad = err
			}
			n++
		})
		if bad != nil {
			return measure{}, bad
		}
	}
	return measure{rate: float64(rows) / time.Since(began).Seconds(), unit: "rows/s", cpu: cpuOf(os.Getpid()) - cpu}, nil
}
