package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// columns of the table that is loaded, in both dialects.
const columns = "(id bigint PRIMARY KEY, date timestamp, delay int, distance int, origin varchar(3), destination varchar(3))"

// flightsFile is the CSV of scripts/flights.sh, fetched once.
func flightsFile(ctx context.Context, name string) (string, error) {
	if name == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			return "", err
		}
		name = filepath.Join(cache, "dtstore", "flights.csv")
	}
	if _, err := os.Stat(name); err == nil {
		return name, nil
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return "", err
	}
	root, err := repository()
	if err != nil {
		return "", err
	}
	tmp := name + ".tmp"
	cmd := exec.CommandContext(ctx, filepath.Join(root, "scripts", "flights.sh"), tmp)
	cmd.Stderr = os.Stderr
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("fetch the flights (or name their file with -flights): %w", err)
	}
	return name, os.Rename(tmp, name)
}

// repository is the folder with go.mod.
func repository() (string, error) {
	dir, err := os.Getwd()
	for err == nil {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			err = errors.New("start it in the repository")
		}
		dir = filepath.Dir(dir)
	}
	return "", err
}

// flights writes rows as CSV without a header: the key is the row's number
// from 1, the file is repeated with its dates shifted by a year each time. Only
// every step-th row is written.
func flights(file string, w io.Writer, rows, step int) error {
	out := bufio.NewWriterSize(w, 1<<20)
	id := 1
	for year := 0; id <= rows; year++ {
		n, err := flightsOnce(file, out, &id, rows, step, year)
		if err != nil {
			return err
		}
		if n == 0 {
			return fmt.Errorf("%s has no rows", file)
		}
	}
	return out.Flush()
}

func flightsOnce(file string, out *bufio.Writer, id *int, rows, step, year int) (n int, err error) {
	f, err := os.Open(file)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	in := bufio.NewScanner(bufio.NewReaderSize(f, 1<<20))
	in.Scan() // the header
	for in.Scan() && *id <= rows {
		line := in.Text()
		n++
		if (*id-1)%step == 0 {
			_, rest, ok := strings.Cut(line, ",")
			if !ok || len(rest) < 4 {
				return n, fmt.Errorf("%s: line %q", file, line)
			}
			y, err := strconv.Atoi(rest[:4])
			if err != nil {
				return n, fmt.Errorf("%s: line %q: %w", file, line, err)
			}
			date := rest[4:]
			if strings.HasPrefix(date, "-02-29") { // no such day in other years
				date = "-02-28" + date[6:]
			}
			fmt.Fprintf(out, "%d,%d%s\n", *id, y+year, date)
		}
		*id++
	}
	return n, in.Err()
}

// prepared is rows as a CSV file on the disk, so that making them costs
// neither side.
func (b *bench) prepared(rows, step int) (string, error) {
	name := filepath.Join(b.dir, fmt.Sprintf("flights-%d-%d.csv", rows, step))
	if _, err := os.Stat(name); err == nil {
		return name, nil
	}
	f, err := os.Create(name)
	if err != nil {
		return "", err
	}
	return name, errors.Join(flights(b.flights, f, rows, step), f.Close())
}

// timed runs f and says how long it took, and how much CPU time the process
// took meanwhile.
func timed(pid int, f func() error) (measure, error) {
	cpu, began := cpuOf(pid), time.Now()
	err := f()
	return measure{time: time.Since(began), cpu: cpuOf(pid) - cpu}, err
}
