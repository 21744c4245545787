package main

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"github.com/jackc/pgx/v5"
)

const (
	restartTables = 100
	restartLimit  = time.Second
)

// restart is the time from the start of the process to the answer of a query
// over one of 100 tables with 1,000 snapshots together (-full; else 200).
func restart(ctx context.Context, b *bench) error {
	snapshots := pick(b.full, 10, 2)
	s, err := b.ours.another(filepath.Join(b.dir, "many", "data"))
	if err != nil {
		return err
	}
	if err := s.start(ctx); err != nil {
		return err
	}
	defer func() { s.kill() }()
	c, err := pgx.Connect(ctx, s.url())
	if err != nil {
		return err
	}
	for i := range restartTables {
		if _, err := c.Exec(ctx, fmt.Sprintf("CREATE TABLE t%d (id bigint PRIMARY KEY, v varchar(100)) WITH ('snapshot.num-retained.min' = '100')", i)); err != nil {
			return err
		}
	}
	for n := range snapshots {
		for i := range restartTables {
			if _, err := c.Exec(ctx, fmt.Sprintf("INSERT INTO t%d VALUES (%d, 'x')", i, n)); err != nil {
				return err
			}
		}
		if _, err := c.Exec(ctx, "CHECKPOINT"); err != nil {
			return err
		}
	}
	if err := c.Close(ctx); err != nil {
		return err
	}
	if err := s.stop(); err != nil {
		return err
	}
	var best time.Duration
	for range 3 {
		began := time.Now()
		if err := s.start(ctx); err != nil {
			return err
		}
		c, err := pgx.Connect(ctx, s.url())
		if err != nil {
			return err
		}
		var n int
		if err := c.QueryRow(ctx, "SELECT count(*) FROM t50").Scan(&n); err != nil {
			return err
		}
		if d := time.Since(began); best == 0 || d < best {
			best = d
		}
		if n != snapshots {
			return fmt.Errorf("%d rows instead of %d", n, snapshots)
		}
		if err := c.Close(ctx); err != nil {
			return err
		}
		if err := s.stop(); err != nil {
			return err
		}
	}
	b.results.add(result{work: fmt.Sprintf("start with %d tables, %d snapshots → first query", restartTables, restartTables*snapshots), ours: measure{time: best}, peer: measure{time: restartLimit}, name: "limit", aim: 1})
	return s.start(ctx) // for the deferred kill
}
