package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/jackc/pgx/v5"
)

// load is COPY into an empty keyed table, again over itself, then 20 % of the
// keys. The first of them leaves the table "flights" for other works.
func load(ctx context.Context, b *bench) error {
	sizes := []int{b.rows}
	if b.big > 0 {
		sizes = append(sizes, b.big)
	}
	for _, rows := range sizes {
		if err := loadRows(ctx, b, rows); err != nil {
			return fmt.Errorf("%d rows: %w", rows, err)
		}
	}
	return nil
}

func loadRows(ctx context.Context, b *bench, rows int) error {
	all, err := b.prepared(rows, 1)
	if err != nil {
		return err
	}
	fifth, err := b.prepared(rows, 5)
	if err != nil {
		return err
	}
	name := b.tableOf(rows)
	ours, theirs, err := b.connect(ctx)
	if err != nil {
		return err
	}
	defer ours.Close(ctx)
	defer theirs.Close(ctx)
	for _, c := range []*pgx.Conn{ours, theirs} {
		if _, err := c.Exec(ctx, "CREATE TABLE "+name+" "+columns); err != nil {
			return err
		}
	}
	resetPeak(b.ours.pid())
	for _, step := range []struct {
		text   string
		file   string
		n      int
		aim    float64
		direct bool
	}{{"COPY of %s rows into an empty table", all, rows, 1, true}, {"the same %s rows again", all, rows, 3, false}, {"every fifth of %s rows", fifth, (rows + 4) / 5, 3, false}} {
		m, err := timed(b.ours.pid(), func() error { return copyFile(ctx, ours, name, step.file, step.n) })
		if err != nil {
			return fmt.Errorf("ours: %w", err)
		}
		settled, err := timed(b.ours.pid(), func() error { return settle(ctx, ours, name) })
		if err != nil {
			return fmt.Errorf("ours: %w", err)
		}
		peer, err := timed(b.theirs.pid(), func() error {
			if step.direct {
				return copyFile(ctx, theirs, name, step.file, step.n)
			}
			return copyOver(ctx, theirs, name, step.file, step.n)
		})
		if err != nil {
			return fmt.Errorf("PostgreSQL: %w", err)
		}
		b.results.add(result{work: fmt.Sprintf(step.text, count(rows)), ours: m, peer: peer, name: "PostgreSQL", aim: step.aim,
			notes: fmt.Sprintf("then %.1f s until in files (cpu %.2f s); peak resident %d MB", settled.time.Seconds(), settled.cpu.Seconds(), peakOf(b.ours.pid())>>20)})
	}
	return sameTables(ctx, ours, theirs, name)
}

func (b *bench) tableOf(rows int) string { return fmt.Sprintf("flights%d", rows) }

// connect opens a connection to each side.
func (b *bench) connect(ctx context.Context) (ours, theirs *pgx.Conn, err error) {
	if ours, err = pgx.Connect(ctx, b.ours.url()); err != nil {
		return nil, nil, err
	}
	if theirs, err = pgx.Connect(ctx, b.theirs.url()); err != nil {
		ours.Close(ctx)
		return nil, nil, err
	}
	return ours, theirs, nil
}

func count(n int) string {
	if n%1_000_000 == 0 {
		return fmt.Sprintf("%d M", n/1_000_000)
	}
	return fmt.Sprintf("%d k", n/1000)
}

// copyFile loads a CSV file with COPY.
func copyFile(ctx context.Context, c *pgx.Conn, name, file string, rows int) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	tag, err := c.PgConn().CopyFrom(ctx, f, "COPY "+name+" FROM STDIN WITH (FORMAT csv)")
	if err == nil && tag.RowsAffected() != int64(rows) {
		err = fmt.Errorf("%d rows instead of %d", tag.RowsAffected(), rows)
	}
	return err
}

// copyOver is how PostgreSQL loads rows whose keys may exist.
func copyOver(ctx context.Context, c *pgx.Conn, name, file string, rows int) error {
	if _, err := c.Exec(ctx, "CREATE TEMP TABLE incoming (LIKE "+name+")"); err != nil {
		return err
	}
	if err := copyFile(ctx, c, "incoming", file, rows); err != nil {
		return err
	}
	_, err := c.Exec(ctx, "INSERT INTO "+name+" SELECT * FROM incoming ON CONFLICT (id) DO UPDATE SET date = EXCLUDED.date, delay = EXCLUDED.delay, "+
		"distance = EXCLUDED.distance, origin = EXCLUDED.origin, destination = EXCLUDED.destination")
	if err != nil {
		return err
	}
	_, err = c.Exec(ctx, "DROP TABLE incoming")
	return err
}

// settle waits until all rows are in files.
func settle(ctx context.Context, c *pgx.Conn, name string) error {
	_, err := c.Exec(ctx, "CHECKPOINT")
	return err
}

// sameTables compares both sides' sums.
func sameTables(ctx context.Context, ours, theirs *pgx.Conn, name string) error {
	var a, b [4]int64
	var ta, tb time.Time
	query := "SELECT count(*), CAST(sum(id) AS bigint), CAST(sum(delay) AS bigint), CAST(sum(distance) AS bigint), max(date) FROM " + name
	if err := ours.QueryRow(ctx, query).Scan(&a[0], &a[1], &a[2], &a[3], &ta); err != nil {
		return err
	}
	if err := theirs.QueryRow(ctx, query).Scan(&b[0], &b[1], &b[2], &b[3], &tb); err != nil {
		return err
	}
	if a != b || !ta.Equal(tb) {
		return fmt.Errorf("the tables differ: ours %v %v, PostgreSQL's %v %v", a, ta, b, tb)
	}
	return nil
}
