package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/twmb/franz-go/pkg/kgo"
)

const (
	latencyWriters = 8
	latencyRows    = 25                    // of one INSERT
	latencyPause   = 40 * time.Millisecond // of one writer: together 5,000 rows/s
	latencyLimit   = 20 * time.Millisecond // the aim
)

// latency is how long after its acknowledgement a row reaches an endless
// SELECT and a Kafka consumer, at 5,000 rows a second.
func latency(ctx context.Context, b *bench) error {
	c, err := pgx.Connect(ctx, b.ours.url())
	if err != nil {
		return err
	}
	defer c.Close(ctx)
	if _, err := c.Exec(ctx, "CREATE TABLE arrivals (id bigint PRIMARY KEY, v varchar(100))"); err != nil {
		return err
	}
	// pgx waits for the first row before it says that a query has begun.
	if _, err := c.Exec(ctx, "INSERT INTO arrivals VALUES (-1, 'the first')"); err != nil {
		return err
	}
	rounds := int(2 * b.seconds / latencyPause)
	n := latencyWriters * rounds * latencyRows
	acked := make([]time.Time, n)
	bySQL, byKafka := make([]time.Time, n), make([]time.Time, n)
	ctx, cancel := context.WithTimeout(ctx, 10*b.seconds+time.Minute)
	defer cancel()
	var readers sync.WaitGroup
	var sqlErr, kafkaErr error
	ready := make(chan struct{}, 2)
	readers.Go(func() { sqlErr = followSQL(ctx, b.ours.url(), bySQL, ready) })
	readers.Go(func() { kafkaErr = followKafka(ctx, b.ours.kafka, byKafka, ready) })
	<-ready
	<-ready
	began := time.Now()
	if err := writeSteadily(ctx, b.ours.url(), rounds, acked); err != nil {
		return err
	}
	rate := float64(n) / time.Since(began).Seconds()
	readers.Wait()
	if err := errors.Join(sqlErr, kafkaErr); err != nil {
		return err
	}
	for _, r := range []struct {
		name string
		at   []time.Time
	}{{"a SQL stream", bySQL}, {"a Kafka consumer", byKafka}} {
		p99, p50 := percentiles(r.at, acked)
		b.results.add(result{work: "row acknowledged → at " + r.name + ", p99", ours: measure{time: max(p99, time.Microsecond)}, peer: measure{time: latencyLimit}, name: "limit", aim: 1,
			notes: fmt.Sprintf("%.0f rows/s, median %.1f ms", rate, float64(p50.Microseconds())/1000)})
	}
	return nil
}

func percentiles(at, acked []time.Time) (p99, p50 time.Duration) {
	d := make([]time.Duration, len(at))
	for i := range at {
		d[i] = max(0, at[i].Sub(acked[i])) // a row may be seen before its writer is told
	}
	slices.Sort(d)
	return d[len(d)*99/100], d[len(d)/2]
}

func writeSteadily(ctx context.Context, url string, rounds int, acked []time.Time) error {
	var wg sync.WaitGroup
	var first atomic.Pointer[error]
	for w := range latencyWriters {
		wg.Go(func() {
			if err := writer(ctx, url, w, rounds, acked); err != nil {
				first.CompareAndSwap(nil, &err)
			}
		})
	}
	wg.Wait()
	if e := first.Load(); e != nil {
		return *e
	}
	return nil
}

func writer(ctx context.Context, url string, w, rounds int, acked []time.Time) error {
	c, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	defer c.Close(ctx)
	var text strings.Builder
	text.WriteString("INSERT INTO arrivals VALUES ")
	for i := range latencyRows {
		fmt.Fprintf(&text, "%s($%d, 'a row that is followed')", pick(i == 0, "", ", "), i+1)
	}
	next := time.Now().Add(latencyPause * time.Duration(w) / latencyWriters)
	for round := range rounds {
		time.Sleep(time.Until(next))
		next = next.Add(latencyPause)
		from := (w*rounds + round) * latencyRows
		args := make([]any, latencyRows)
		for i := range args {
			args[i] = int64(from + i)
		}
		if _, err := c.Exec(ctx, text.String(), args...); err != nil {
			return err
		}
		now := time.Now()
		for i := range latencyRows {
			acked[from+i] = now
		}
	}
	return nil
}

func followSQL(ctx context.Context, url string, at []time.Time, ready chan<- struct{}) error {
	c, err := pgx.Connect(ctx, url)
	if err != nil {
		ready <- struct{}{}
		return err
	}
	defer c.PgConn().Conn().Close() // the SELECT does not end
	if _, err = c.Exec(ctx, "SET execution.runtime_mode = streaming"); err != nil {
		ready <- struct{}{}
		return err
	}
	rows, err := c.Query(ctx, "SELECT id, v FROM arrivals")
	ready <- struct{}{}
	if err != nil {
		return err
	}
	for seen := -1; seen < len(at) && rows.Next(); seen++ {
		var kind, v string
		var id int64
		if err := rows.Scan(&kind, &id, &v); err != nil {
			return err
		}
		if id >= 0 {
			at[id] = time.Now()
		}
	}
	return rows.Err()
}

func followKafka(ctx context.Context, port int, at []time.Time, ready chan<- struct{}) error {
	client, err := kgo.NewClient(kgo.SeedBrokers(fmt.Sprintf("127.0.0.1:%d", port)), kgo.ConsumeTopics("public.arrivals"),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	ready <- struct{}{}
	if err != nil {
		return err
	}
	defer client.Close()
	for seen := -1; seen < len(at); {
		fetches := client.PollFetches(ctx)
		if err := fetches.Err0(); err != nil {
			return err
		}
		now := time.Now()
		var bad error
		fetches.EachRecord(func(r *kgo.Record) {
			var key struct{ ID int64 }
			if err := json.Unmarshal(r.Key, &key); err != nil {
				bad = err
				return
			}
			if seen++; key.ID >= 0 {
				at[key.ID] = now
			}
		})
		if bad != nil {
			return bad
		}
	}
	return nil
}
