package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/google/uuid"

	"dtstore/catalog"
	"dtstore/manifest"
	"dtstore/objstore"
	"dtstore/planner"
	"dtstore/snapshot"
	row "dtstore/table"
)

const (
	planPartitions = 2_000
	planCommits    = 10 // of one file in each partition
	planCold       = time.Second
	planWarm       = 100 * time.Millisecond
)

// plan asks for one partition of 2,000 in a table of 20,000 files, in this
// process: first with nothing in memory, then again.
func plan(ctx context.Context, b *bench) error {
	store, schema, err := wideTable(ctx, filepath.Join(b.dir, "wide"))
	if err != nil {
		return err
	}
	v := row.IntOf(1234)
	req := planner.Request{Schema: schema, Predicates: []planner.Predicate{{Field: 1, Op: planner.Equal, Args: []row.Value{v}}}}
	once := func(h *snapshot.Table) (time.Duration, error) {
		began := time.Now()
		s, err := h.Latest(ctx)
		if err != nil {
			return 0, err
		}
		f := planner.NewFilter(req)
		live, err := h.Entries(ctx, s, snapshot.Filter{Bounds: f.Manifest, Partition: f.Partition})
		if err != nil {
			return 0, err
		}
		p, err := planner.Make(req, live)
		if err == nil && p.Files != planCommits {
			err = fmt.Errorf("%d files instead of %d", p.Files, planCommits)
		}
		return time.Since(began), err
	}
	var cold, warm time.Duration
	for range 5 {
		h := snapshot.Open(store, widePath)
		first, err := once(h)
		if err != nil {
			return err
		}
		second, err := once(h)
		if err != nil {
			return err
		}
		if cold == 0 || first < cold {
			cold = first
		}
		if warm == 0 || second < warm {
			warm = second
		}
	}
	name := fmt.Sprintf("plan over %d files in %d partitions, one asked", planPartitions*planCommits, planPartitions)
	b.results.add(result{work: name + ", cold", ours: measure{time: cold}, peer: measure{time: planCold}, name: "limit", aim: 1})
	b.results.add(result{work: name + ", warm", ours: measure{time: warm}, peer: measure{time: planWarm}, name: "limit", aim: 1})
	return nil
}

const widePath = "public.db/wide"

// wideTable makes the table; its files are named and not there.
func wideTable(ctx context.Context, dir string) (objstore.Store, *row.Schema, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, nil, err
	}
	store, err := objstore.OpenDir(dir)
	if err != nil {
		return nil, nil, err
	}
	log := uuid.NewString()
	schema, err := catalog.Definition{Database: "public", Name: "wide", PrimaryKey: []string{"p", "k"}, PartitionBy: []string{"p"}, Fields: []row.Field{
		{Name: "k", Type: row.Type{Kind: row.BigInt}}, {Name: "p", Type: row.Type{Kind: row.Int}}}}.Schema()
	if err != nil {
		return nil, nil, err
	}
	named := &row.Schema{ID: schema.ID, Fields: schema.Fields, HighestFieldID: schema.HighestFieldID, PartitionKeys: schema.PartitionKeys, PrimaryKeys: schema.PrimaryKeys,
		Options: map[string]string{"dtstore.topic-id": log, "dtstore.topic": "public.wide"}, TimeMillis: schema.TimeMillis}
	for k, v := range schema.Options {
		named.Options[k] = v
	}
	raw := catalog.EncodeSchema(named)
	if err := store.Put(ctx, widePath+"/schema/schema-0", raw); err != nil {
		return nil, nil, err
	}
	if schema, err = catalog.DecodeSchema(raw); err != nil {
		return nil, nil, err
	}
	h := snapshot.Open(store, widePath)
	if _, err := h.Create(ctx, snapshot.LogID(log), 1, 0); err != nil {
		return nil, nil, err
	}
	for n := range planCommits {
		from := row.Offset(n * planPartitions)
		c := snapshot.Commit{ID: uuid.NewString(), User: "bench", Log: snapshot.LogID(log), Kind: "APPEND",
			Advances: []snapshot.Advance{{Span: row.Span{From: from, To: from + planPartitions}}}}
		for p := range planPartitions {
			c.Add = append(c.Add, wideEntry(schema, n, p, row.Sequence(from)+row.Sequence(p)))
		}
		if _, err := h.Commit(ctx, c); err != nil {
			return nil, nil, err
		}
	}
	return store, schema, nil
}

func wideEntry(schema *row.Schema, n, p int, seq row.Sequence) manifest.Entry {
	r := row.Row{row.IntOf(int64(n)), row.IntOf(int64(p))}
	key := schema.BinaryKey(r)
	zero, source := int64(0), 0
	stats := func(types []row.Type, values row.Row) manifest.Stats {
		b := row.AppendSerialized(nil, types, values)
		s := manifest.Stats{Min: b, Max: b}
		for range types {
			s.NullCounts = append(s.NullCounts, &zero)
		}
		return s
	}
	return manifest.Entry{Partition: schema.Partition(r), TotalBuckets: 1, File: manifest.File{
		Name: fmt.Sprintf("data-%s-%d.parquet", uuid.NewString(), 0), Size: 1000, Rows: 1, MinKey: key, MaxKey: key,
		KeyStats: stats(schema.KeyTypes(), r[:1]), ValueStats: stats(schema.Types(), r), MinSeq: seq, MaxSeq: seq, ExtraFiles: []string{}, DeleteRows: &zero, Source: &source}}
}
