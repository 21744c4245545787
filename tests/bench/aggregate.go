package main

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	_ "github.com/duckdb/duckdb-go/v2" // the peer
	"github.com/jackc/pgx/v5"

	"dtstore/catalog"
	"dtstore/filestore"
	"dtstore/manifest"
	"dtstore/objstore"
	"dtstore/snapshot"
)

// aggregate is one pass over all columns: of one run, with a fifth of the keys
// updated, and with 100,000 rows in the tail. The floor is DuckDB over the same
// files, which neither folds keys nor sees the tail.
func aggregate(ctx context.Context, b *bench) error {
	name, err := b.loaded(ctx, b.rows)
	if err != nil {
		return err
	}
	c, err := pgx.Connect(ctx, b.ours.url())
	if err != nil {
		return err
	}
	defer c.Close(ctx)
	if err := b.aggregateOnce(ctx, c, name, "aggregate, one run (raw)", 1/1.1); err != nil {
		return err
	}
	fifth, err := b.prepared(b.rows, 5)
	if err != nil {
		return err
	}
	if err := copyFile(ctx, c, name, fifth, (b.rows+4)/5); err != nil {
		return err
	}
	if err := settle(ctx, c, name); err != nil {
		return err
	}
	if err := b.aggregateOnce(ctx, c, name, "aggregate, 20 % of the keys updated (masked)", 1/1.5); err != nil {
		return err
	}
	tail, err := b.prepared(100_000, 1)
	if err != nil {
		return err
	}
	if err := copyFile(ctx, c, name, tail, 100_000); err != nil {
		return err
	}
	return b.aggregateOnce(ctx, c, name, "aggregate, and 100 k rows in the tail", 1/1.6)
}

const aggregateText = "SELECT origin, count(*) AS n, sum(delay) AS delay, avg(distance) AS distance, max(date) AS latest FROM %s GROUP BY origin ORDER BY origin"

func (b *bench) aggregateOnce(ctx context.Context, c *pgx.Conn, name, work string, aim float64) error {
	files, err := b.files(ctx, name)
	if err != nil {
		return err
	}
	db, err := sql.Open("duckdb", "")
	if err != nil {
		return err
	}
	defer db.Close()
	var ours, floor measure
	for range 5 {
		began, cpu := time.Now(), cpuOf(b.ours.pid())
		n, err := total(ctx, c, fmt.Sprintf(aggregateText, name))
		if err != nil {
			return err
		}
		if n != int64(b.rows) {
			return fmt.Errorf("%s: %d rows instead of %d", work, n, b.rows)
		}
		if d := time.Since(began); ours.time == 0 || d < ours.time {
			ours = measure{time: d, cpu: cpuOf(b.ours.pid()) - cpu}
		}
		began, cpu = time.Now(), cpuOf(os.Getpid())
		rows, err := db.QueryContext(ctx, fmt.Sprintf(aggregateText, readParquet(files)))
		if err != nil {
			return err
		}
		for rows.Next() {
		}
		if err := rows.Close(); err != nil {
			return err
		}
		if d := time.Since(began); floor.time == 0 || d < floor.time {
			floor = measure{time: d, cpu: cpuOf(os.Getpid()) - cpu}
		}
	}
	b.results.add(result{work: work, ours: ours, peer: floor, name: "DuckDB on the files", aim: aim, notes: fmt.Sprintf("%d files", len(files))})
	return nil
}

// total runs the query and adds up its counts.
func total(ctx context.Context, c *pgx.Conn, query string) (n int64, err error) {
	rows, err := c.Query(ctx, query)
	if err != nil {
		return 0, err
	}
	defer rows.Close()
	for rows.Next() {
		v, err := rows.Values()
		if err != nil {
			return 0, err
		}
		n += v[1].(int64)
	}
	return n, rows.Err()
}

func readParquet(files []string) string {
	quoted := make([]string, len(files))
	for i, f := range files {
		quoted[i] = "'" + strings.ReplaceAll(f, "'", "''") + "'"
	}
	return "read_parquet([" + strings.Join(quoted, ", ") + "])"
}

// files are the live data files of a table of ours.
func (b *bench) files(ctx context.Context, name string) ([]string, error) {
	root := filepath.Join(b.ours.data, "warehouse")
	store, err := objstore.OpenDir(root)
	if err != nil {
		return nil, err
	}
	raw, err := store.Get(ctx, "public.db/"+name+"/schema/schema-0")
	if err != nil {
		return nil, err
	}
	schema, err := catalog.DecodeSchema(raw)
	if err != nil {
		return nil, err
	}
	history := snapshot.Open(store, "public.db/"+name)
	latest, err := history.Latest(ctx)
	if err != nil {
		return nil, err
	}
	live, err := history.Entries(ctx, latest, snapshot.Filter{})
	if err != nil {
		return nil, err
	}
	var out []string
	for _, e := range live {
		out = append(out, filepath.Join(root, filepath.FromSlash(dataPath(name, e, schema))))
	}
	return out, nil
}

func dataPath(name string, e manifest.Entry, schema *schemaType) string {
	return filestore.DataPath(filestore.Place{Path: "public.db/" + name, Schema: schema, Partition: e.Partition, Bucket: e.Bucket}, e.File)
}
