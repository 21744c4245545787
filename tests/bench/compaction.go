package main

import (
	"context"
	"database/sql"
	"encoding/gob"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"dtstore/catalog"
	"dtstore/compaction"
	"dtstore/filestore"
	"dtstore/manifest"
	"dtstore/merge"
	"dtstore/objstore"
	row "dtstore/table"
)

const compactRuns = 4

// compact merges four overlapping runs, beside DuckDB sorting and writing the
// same rows. Each side is a process of its own, for its memory.
func compact(ctx context.Context, b *bench) error {
	rows := pick(b.full, 14_000_000, 500_000) // of one run; 14 M are 250 MB
	dir := filepath.Join(b.dir, "compaction")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	if _, err := b.child(ctx, "runs", dir, strconv.Itoa(rows)); err != nil {
		return err
	}
	var ours, theirs childReport
	for range pick(b.full, 1, 2) {
		for _, side := range []struct {
			name string
			best *childReport
		}{{"merge", &ours}, {"sort", &theirs}} {
			r, err := b.child(ctx, side.name, dir)
			if err != nil {
				return err
			}
			if side.best.Took == 0 || r.Took < side.best.Took {
				*side.best = r
			}
		}
	}
	if ours.Rows != theirs.Rows {
		return fmt.Errorf("%d rows instead of %d", ours.Rows, theirs.Rows)
	}
	b.results.add(result{work: fmt.Sprintf("compaction of %d overlapping runs of %d MB", compactRuns, ours.Bytes/compactRuns>>20), ours: measure{time: ours.Took, cpu: ours.CPU},
		peer: measure{time: theirs.Took, cpu: theirs.CPU}, name: "DuckDB, sorting and writing", aim: 0.7,
		notes: fmt.Sprintf("peak resident %d MB, DuckDB's %d MB", ours.Peak>>20, theirs.Peak>>20)})
	return nil
}

// childReport is what a child process has measured.
type childReport struct {
	Took, CPU   time.Duration
	Rows, Bytes int64
	Peak        int64
}

func (b *bench) child(ctx context.Context, args ...string) (r childReport, err error) {
	self, err := os.Executable()
	if err != nil {
		return r, err
	}
	cmd := exec.CommandContext(ctx, self, append([]string{"child"}, args...)...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return r, fmt.Errorf("child %s: %w", args[0], err)
	}
	return r, json.Unmarshal(out, &r)
}

// child is the process' other main: its work is measured alone.
func child(args []string) error {
	ctx := context.Background()
	var r childReport
	var err error
	cpu, began := cpuOf(os.Getpid()), time.Now()
	switch args[0] {
	case "runs":
		rows, _ := strconv.Atoi(args[2])
		err = writeRuns(ctx, args[1], rows)
	case "merge":
		r, err = mergeRuns(ctx, args[1])
	case "sort":
		r, err = sortRuns(ctx, args[1])
	default:
		err = errors.New("no such child")
	}
	if err != nil {
		return err
	}
	r.Took, r.CPU, r.Peak = time.Since(began), cpuOf(os.Getpid())-cpu, peakOf(os.Getpid())
	return json.NewEncoder(os.Stdout).Encode(r)
}

func compactPlace() (filestore.Place, error) {
	schema, err := catalog.Definition{Database: "public", Name: "c", PrimaryKey: []string{"id"}, Fields: []row.Field{
		{Name: "id", Type: row.Type{Kind: row.BigInt}}, {Name: "at", Type: row.Type{Kind: row.Timestamp, Precision: 6}}, {Name: "delay", Type: row.Type{Kind: row.Int}},
		{Name: "distance", Type: row.Type{Kind: row.Int}}, {Name: "origin", Type: row.Type{Kind: row.VarChar, Length: 3}}, {Name: "v", Type: row.Type{Kind: row.VarChar, Length: 40}}}}.Schema()
	return filestore.Place{Path: "public.db/c", Schema: schema, Partition: row.EmptyPartition}, err
}

func compactStore(dir string) (*filestore.Store, error) {
	objs, err := objstore.OpenDir(dir)
	if err != nil {
		return nil, err
	}
	return filestore.Open(objs, filestore.Options{TargetFileBytes: 1 << 40})
}

func writeRuns(ctx context.Context, dir string, rows int) error {
	files, err := compactStore(dir)
	if err != nil {
		return err
	}
	place, err := compactPlace()
	if err != nil {
		return err
	}
	var runs [][]manifest.Entry
	for n := range compactRuns {
		entries, err := files.WriteRun(ctx, place, 0, 0, newGenerated(place.Schema, rows, n))
		if err != nil {
			return err
		}
		runs = append(runs, entries)
	}
	f, err := os.Create(filepath.Join(dir, "runs.gob"))
	if err != nil {
		return err
	}
	return errors.Join(gob.NewEncoder(f).Encode(runs), f.Close())
}

func readRuns(dir string) (runs [][]manifest.Entry, err error) {
	f, err := os.Open(filepath.Join(dir, "runs.gob"))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return runs, gob.NewDecoder(f).Decode(&runs)
}

func mergeRuns(ctx context.Context, dir string) (r childReport, err error) {
	runs, err := readRuns(dir)
	if err != nil {
		return r, err
	}
	files, err := compactStore(dir)
	if err != nil {
		return r, err
	}
	place, err := compactPlace()
	if err != nil {
		return r, err
	}
	u := compaction.Unit{Output: 5, DropRetractions: true}
	for _, entries := range slices.Backward(runs) {
		u.Runs = append(u.Runs, manifest.SortedRun{Files: entries})
		for _, e := range entries {
			r.Bytes += e.File.Size
		}
	}
	res, err := compaction.Run(ctx, files, place, u, 1<<40)
	if err != nil {
		return r, err
	}
	r.Rows, _ = res.Rows()
	return r, nil
}

func sortRuns(ctx context.Context, dir string) (r childReport, err error) {
	runs, err := readRuns(dir)
	if err != nil {
		return r, err
	}
	place, err := compactPlace()
	if err != nil {
		return r, err
	}
	var names []string
	for _, entries := range runs {
		for _, e := range entries {
			names = append(names, filepath.Join(dir, filepath.FromSlash(filestore.DataPath(place, e.File))))
			r.Rows += e.File.Rows
		}
	}
	db, err := sql.Open("duckdb", "")
	if err != nil {
		return r, err
	}
	defer db.Close()
	if _, err := db.ExecContext(ctx, "SET memory_limit = '4GB'"); err != nil {
		return r, err
	}
	if _, err := db.ExecContext(ctx, "SET temp_directory = '"+filepath.Join(dir, "temp")+"'"); err != nil {
		return r, err
	}
	out := filepath.Join(dir, "sorted.parquet")
	_, err = db.ExecContext(ctx, "COPY (SELECT * FROM "+readParquet(names)+" ORDER BY id) TO '"+out+"' (FORMAT parquet, COMPRESSION zstd)")
	return r, errors.Join(err, os.Remove(out))
}

// generated is the rows of one run: every second key, so that runs overlap and
// half of their keys are in two of them.
type generated struct {
	schema *row.Schema
	left   int
	id     int64
	seq    row.Sequence
	rand   *rand.Rand
	kv     row.KeyValue
	places []row.Value
}

func newGenerated(schema *row.Schema, rows, n int) *generated {
	g := &generated{schema: schema, left: rows, id: int64(n % 2), seq: row.Sequence(n * rows), rand: rand.New(rand.NewPCG(uint64(n), 1))}
	for range 300 {
		g.places = append(g.places, row.StringOf(string([]byte{'A' + byte(g.rand.IntN(26)), 'A' + byte(g.rand.IntN(26)), 'A' + byte(g.rand.IntN(26))})))
	}
	return g
}

func (g *generated) Next() (*row.KeyValue, error) {
	if g.left == 0 {
		return nil, io.EOF
	}
	g.left--
	r := row.Row{row.IntOf(g.id), row.TimestampOf(978307200000000+g.id*60_000_000, 0), row.IntOf(int64(g.rand.NormFloat64() * 30)), row.IntOf(int64(g.rand.IntN(2000) + 100)),
		g.places[g.rand.IntN(len(g.places))], row.StringOf(strconv.FormatUint(g.rand.Uint64(), 36))}
	g.kv = row.KeyValue{Key: g.schema.TrimmedKey(r), Seq: g.seq, Row: r}
	g.id += 2
	g.seq++
	return &g.kv, nil
}

func (g *generated) Close() error { return nil }

var _ merge.Iterator = (*generated)(nil)
