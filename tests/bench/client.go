package main

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// client fetches a whole table in binary.
func client(ctx context.Context, b *bench) error {
	name, err := b.loaded(ctx, b.rows)
	if err != nil {
		return err
	}
	ours, theirs, err := b.connect(ctx)
	if err != nil {
		return err
	}
	defer ours.Close(ctx)
	defer theirs.Close(ctx)
	var best [2]measure
	for range 3 {
		for i, side := range []struct {
			conn *pgx.Conn
			pid  int
		}{{ours, b.ours.pid()}, {theirs, b.theirs.pid()}} {
			m, err := timed(side.pid, func() error { return fetch(ctx, side.conn, "SELECT * FROM "+name, b.rows) })
			if err != nil {
				return err
			}
			if best[i].time == 0 || m.time < best[i].time {
				best[i] = m
			}
		}
	}
	b.results.add(result{work: count(b.rows) + " rows to a client, binary", ours: best[0], peer: best[1], name: "PostgreSQL", aim: 0.8})
	return nil
}

// fetch reads all rows, whose values stay as they came.
func fetch(ctx context.Context, c *pgx.Conn, query string, want int) error {
	rows, err := c.Query(ctx, query)
	if err != nil {
		return err
	}
	defer rows.Close()
	n := 0
	for rows.Next() {
		if len(rows.RawValues()[0]) != 8 {
			return fmt.Errorf("a key of %d bytes", len(rows.RawValues()[0]))
		}
		n++
	}
	if rows.Err() == nil && n != want {
		return fmt.Errorf("%d rows instead of %d", n, want)
	}
	return rows.Err()
}
