// Command flights prints the rows of vega-datasets' flights-3m.parquet as CSV,
// with a header and a running number from 1 in front: see scripts/flights.sh.
package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/parquet-go/parquet-go"
)

type flight struct {
	Date        time.Time `parquet:"date"`
	Delay       int64     `parquet:"delay"`
	Distance    int64     `parquet:"distance"`
	Origin      string    `parquet:"origin"`
	Destination string    `parquet:"destination"`
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "flights:", err)
		os.Exit(1)
	}
}

func run() error {
	if len(os.Args) != 2 {
		return errors.New("usage: flights FILE.parquet")
	}
	f, err := os.Open(os.Args[1])
	if err != nil {
		return err
	}
	defer f.Close()
	in := parquet.NewGenericReader[flight](f)
	defer in.Close()
	out := bufio.NewWriterSize(os.Stdout, 1<<20)
	fmt.Fprintln(out, "id,date,delay,distance,origin,destination")
	rows := make([]flight, 4096)
	for id := 1; ; {
		n, err := in.Read(rows)
		for _, r := range rows[:n] {
			at := r.Date.UTC()
			fmt.Fprintf(out, "%d,%s,%d,%d,%s,%s\n", id, at.Format("2006-01-02 15:04"), r.Delay, r.Distance, r.Origin, r.Destination)
			id++
		}
		if errors.Is(err, io.EOF) {
			return out.Flush()
		}
		if err != nil {
			return err
		}
	}
}
