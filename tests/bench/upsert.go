package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
)

const upsertText = "INSERT INTO kv (id, v, n) VALUES ($1, $2, $3) ON CONFLICT (id) DO UPDATE SET v = EXCLUDED.v, n = EXCLUDED.n"

// upsert is single-row durable upserts, prepared, of 100,000 keys.
func upsert(ctx context.Context, b *bench) error {
	ours, theirs, err := b.connect(ctx)
	if err != nil {
		return err
	}
	defer ours.Close(ctx)
	defer theirs.Close(ctx)
	for _, c := range []*pgx.Conn{ours, theirs} {
		if _, err := c.Exec(ctx, "CREATE TABLE kv (id bigint PRIMARY KEY, v varchar(100), n int)"); err != nil {
			return err
		}
	}
	for _, step := range []struct {
		clients int
		aim     float64
	}{{1, 0}, {8, 1}, {64, 2}} {
		op := func(ctx context.Context, c *pgx.Conn, r *rand.Rand) error {
			_, err := c.Exec(ctx, upsertText, r.Int64N(100_000), "some text of a usual length", r.Int32())
			return err
		}
		if err := b.compare(ctx, fmt.Sprintf("single-row upserts, %d clients", step.clients), step.clients, step.aim, op, op); err != nil {
			return err
		}
	}
	return nil
}

// operation is one statement of one client.
type operation func(ctx context.Context, c *pgx.Conn, r *rand.Rand) error

// compare measures how many operations a second clients get from both sides,
// in turns, and takes the better of two rounds for each.
func (b *bench) compare(ctx context.Context, name string, clients int, aim float64, ours, theirs operation) error {
	var best [2]measure
	for range 2 {
		for i, side := range []struct {
			url string
			pid int
			op  operation
		}{{b.ours.url(), b.ours.pid(), ours}, {b.theirs.url(), b.theirs.pid(), theirs}} {
			m, err := throughput(ctx, side.url, side.pid, clients, b.seconds, side.op)
			if err != nil {
				return fmt.Errorf("%s: %w", side.url, err)
			}
			if m.rate > best[i].rate {
				best[i] = m
			}
		}
	}
	b.results.add(result{work: name, ours: best[0], peer: best[1], name: "PostgreSQL", aim: aim,
		notes: fmt.Sprintf("cpu per statement %.0f µs, theirs %.0f µs", perStatement(best[0], b.seconds), perStatement(best[1], b.seconds))})
	return nil
}

func perStatement(m measure, d time.Duration) float64 {
	return float64(m.cpu.Microseconds()) / (m.rate * d.Seconds())
}

// throughput runs op from many connections for a while, after a short warm-up.
func throughput(ctx context.Context, url string, pid, clients int, d time.Duration, op operation) (measure, error) {
	conns := make([]*pgx.Conn, clients)
	for i := range conns {
		c, err := pgx.Connect(ctx, url)
		if err != nil {
			return measure{}, err
		}
		defer c.Close(ctx)
		conns[i] = c
	}
	phase := func(d time.Duration) (n int64, err error) {
		var total atomic.Int64
		var first atomic.Pointer[error]
		var wg sync.WaitGroup
		end := time.Now().Add(d)
		for i, c := range conns {
			wg.Go(func() {
				r := rand.New(rand.NewPCG(uint64(i), uint64(end.UnixNano())))
				for time.Now().Before(end) {
					if err := op(ctx, c, r); err != nil {
						first.CompareAndSwap(nil, &err)
						return
					}
					total.Add(1)
				}
			})
		}
		wg.Wait()
		if e := first.Load(); e != nil {
			return 0, *e
		}
		return total.Load(), nil
	}
	if _, err := phase(d / 4); err != nil {
		return measure{}, err
	}
	cpu, began := cpuOf(pid), time.Now()
	n, err := phase(d)
	return measure{rate: float64(n) / time.Since(began).Seconds(), cpu: cpuOf(pid) - cpu, unit: "/s"}, err
}
