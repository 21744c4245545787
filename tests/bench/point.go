package main

import (
	"context"
	"fmt"
	"math/rand/v2"

	"github.com/jackc/pgx/v5"
)

// point reads single rows by their key, prepared, from 8 clients.
func point(ctx context.Context, b *bench) error {
	rows := max(b.rows, b.big)
	name, err := b.loaded(ctx, rows)
	if err != nil {
		return err
	}
	op := func(ctx context.Context, c *pgx.Conn, r *rand.Rand) error {
		id := r.Int64N(int64(rows)) + 1
		var got, distance int64
		var origin string
		if err := c.QueryRow(ctx, "SELECT id, distance, origin FROM "+name+" WHERE id = $1", id).Scan(&got, &distance, &origin); err != nil {
			return err
		}
		if got != id || len(origin) != 3 {
			return fmt.Errorf("row %d %q instead of %d", got, origin, id)
		}
		return nil
	}
	return b.compare(ctx, "point read by key of "+count(rows)+" rows, 8 clients", 8, 1, op, op)
}

// loaded makes sure that both sides have the flights, and that ours are one
// run; a work that is run alone loads them itself.
func (b *bench) loaded(ctx context.Context, rows int) (string, error) {
	name := b.tableOf(rows)
	ours, theirs, err := b.connect(ctx)
	if err != nil {
		return "", err
	}
	defer ours.Close(ctx)
	defer theirs.Close(ctx)
	var there bool
	if err := theirs.QueryRow(ctx, "SELECT to_regclass($1) IS NOT NULL", name).Scan(&there); err != nil {
		return "", err
	}
	if !there {
		file, err := b.prepared(rows, 1)
		if err != nil {
			return "", err
		}
		for _, c := range []*pgx.Conn{ours, theirs} {
			if _, err := c.Exec(ctx, "CREATE TABLE "+name+" "+columns); err != nil {
				return "", err
			}
			if err := copyFile(ctx, c, name, file, rows); err != nil {
				return "", err
			}
		}
	}
	if _, err := theirs.Exec(ctx, "VACUUM (ANALYZE) "+name); err != nil {
		return "", err
	}
	return name, compacted(ctx, ours, name)
}

// compacted makes a table of ours one run, without a tail.
func compacted(ctx context.Context, c *pgx.Conn, name string) error {
	if err := settle(ctx, c, name); err != nil {
		return err
	}
	_, err := c.Exec(ctx, "ALTER TABLE "+name+" COMPACT")
	return err
}
