package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"time"
)

// options are the flags.
type options struct {
	full    bool
	only    string
	rows    int
	big     int
	seconds time.Duration
	flights string
	dir     string
	profile string
	server  string
}

// bench is what the works share.
type bench struct {
	options
	dir     string // temporary; gone at the end
	ours    *dtserver
	theirs  *postgres
	results table
}

// work is one group of rows of the table.
type work struct {
	name string
	run  func(ctx context.Context, b *bench) error
}

// works in order: those that follow load read what it loaded.
var works = []work{
	{"load", load},
	{"upsert", upsert},
	{"point", point},
	{"client", client},
	{"aggregate", aggregate},
	{"latency", latency},
	{"stream", stream},
	{"compaction", compact},
	{"restart", restart},
	{"plan", plan},
}

func main() {
	if len(os.Args) > 2 && os.Args[1] == "child" {
		if err := child(os.Args[2:]); err != nil {
			fmt.Fprintln(os.Stderr, "bench:", err)
			os.Exit(1)
		}
		return
	}
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run() error {
	var o options
	flag.BoolVar(&o.full, "full", false, "the sizes of the aims: 10 M rows, 5 M changes, 250 MB runs")
	flag.StringVar(&o.only, "only", "", "works to run, separated by commas (default: all)")
	flag.IntVar(&o.rows, "rows", 0, "rows of the table that is loaded and read (default 300000, with -full 1000000)")
	flag.IntVar(&o.big, "big", 0, "rows of a second, large load (default none, with -full 10000000)")
	flag.DurationVar(&o.seconds, "time", 3*time.Second, "how long each throughput is measured")
	flag.StringVar(&o.flights, "flights", "", "CSV of scripts/flights.sh (default: a file in the user's cache folder, made when it is missing)")
	flag.StringVar(&o.dir, "dir", "", "folder for the servers' data (default: the system's temporary folder)")
	flag.StringVar(&o.profile, "profile", "", "folder for CPU profiles of our server, one for each work")
	flag.StringVar(&o.server, "server", "", "a built dtserver to take instead of building one (with -profile it must have the profiler of dtserver.go)")
	flag.Parse()
	if o.rows == 0 {
		o.rows = pick(o.full, 1_000_000, 300_000)
	}
	if o.big == 0 && o.full {
		o.big = 10_000_000
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	return execute(ctx, o)
}

// execute runs the works; what they measured is printed even if one fails.
func execute(ctx context.Context, o options) (err error) {
	dir, err := os.MkdirTemp(o.dir, "dtbench-")
	if err != nil {
		return err
	}
	if err := os.Chmod(dir, 0o755); err != nil { // PostgreSQL runs as another user
		return err
	}
	b := &bench{options: o, dir: dir}
	defer os.RemoveAll(dir)
	if b.flights, err = flightsFile(ctx, o.flights); err != nil {
		return err
	}
	if b.ours, err = startOurs(ctx, filepath.Join(dir, "ours"), o.server, o.profile); err != nil {
		return err
	}
	defer b.ours.kill()
	if b.theirs, err = startPostgres(ctx, filepath.Join(dir, "postgres")); err != nil {
		return err
	}
	defer b.theirs.stop()
	defer func() { b.results.print(os.Stdout) }()
	for _, w := range works {
		if o.only != "" && !contains(strings.Split(o.only, ","), w.name) {
			continue
		}
		began := time.Now()
		fmt.Fprintf(os.Stderr, "%s …\n", w.name)
		done := b.ours.profiling(w.name)
		err := w.run(ctx, b)
		done()
		if err != nil {
			return fmt.Errorf("%s: %w", w.name, err)
		}
		fmt.Fprintf(os.Stderr, "%s took %.1f s\n", w.name, time.Since(began).Seconds())
	}
	return nil
}

func contains(list []string, s string) bool {
	for _, x := range list {
		if x == s {
			return true
		}
	}
	return false
}

func pick[T any](first bool, a, b T) T {
	if first {
		return a
	}
	return b
}
