package e2e_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
)

// row is what a worker wrote under a key.
type row struct {
	n int64
	v string
}

// place is a row's table and key. In the append table the key is the row id.
type place struct {
	table string
	id    int64
}

// tables of the kill test. one has one bucket, four has four, app is an append
// table, part has partitions.
var crashTables = []string{
	"CREATE TABLE one (id bigint PRIMARY KEY, w int, n bigint, v text) WITH (" + keepAll + ")",
	"CREATE TABLE four (id bigint PRIMARY KEY, w int, n bigint, v text) WITH ('bucket' = '4', " + keepAll + ")",
	"CREATE TABLE part (id bigint, w int, n bigint, v text, p int, PRIMARY KEY (id, p) NOT ENFORCED) PARTITIONED BY (p) WITH ('bucket' = '2', " + keepAll + ")",
	"CREATE TABLE app (id bigint, w int, n bigint, v text) WITH (" + keepAll + ")",
}

// keepAll keeps every snapshot, so that the files can be looked through at the
// end.
const keepAll = "'snapshot.num-retained.min' = '1000000', 'num-sorted-run.compaction-trigger' = '3'"

var crashNames = []string{"one", "four", "part", "app"}

// state is the rows of one worker.
type state map[place]row

// change is one row's new value; nil is its deletion.
type change struct {
	at  place
	row *row
}

// apply gives the state after the changes.
func (s state) apply(cs []change) state {
	out := maps.Clone(s)
	for _, c := range cs {
		if c.row == nil {
			delete(out, c.at)
		} else {
			out[c.at] = *c.row
		}
	}
	return out
}

// diff names what is different in got, at most a few rows of it.
func (s state) diff(got state) string {
	var out []string
	for _, at := range slices.SortedFunc(maps.Keys(s), comparePlaces) {
		if g, ok := got[at]; !ok {
			out = append(out, fmt.Sprintf("%v is lost, should have n=%d", at, s[at].n))
		} else if g != s[at] {
			out = append(out, fmt.Sprintf("%v has n=%d and %d bytes, should have n=%d and %d bytes", at, g.n, len(g.v), s[at].n, len(s[at].v)))
		}
	}
	for _, at := range slices.SortedFunc(maps.Keys(got), comparePlaces) {
		if _, ok := s[at]; !ok {
			out = append(out, fmt.Sprintf("%v with n=%d should not be there", at, got[at].n))
		}
	}
	if len(out) > 12 {
		out = append(out[:12], fmt.Sprintf("and %d more", len(out)-12))
	}
	return strings.Join(out, "\n\t")
}

func comparePlaces(a, b place) int {
	if c := strings.Compare(a.table, b.table); c != 0 {
		return c
	}
	return int(a.id - b.id)
}

// read gives what the server shows, by worker. A row of the append table that
// is there twice is an error.
func read(ctx context.Context, c *pgx.Conn, workers int) ([]state, error) {
	out := make([]state, workers)
	for i := range out {
		out[i] = state{}
	}
	for _, name := range crashNames {
		rs, err := c.Query(ctx, "SELECT id, w, n, v FROM "+name)
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", name, err)
		}
		var id, n int64
		var w int32
		var v string
		_, err = pgx.ForEachRow(rs, []any{&id, &w, &n, &v}, func() error {
			at := place{name, id}
			if int(w) >= workers {
				return fmt.Errorf("%v has worker %d", at, w)
			}
			if _, twice := out[w][at]; twice {
				return fmt.Errorf("%v is there twice", at)
			}
			out[w][at] = row{n, v}
			return nil
		})
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", name, err)
		}
	}
	return out, nil
}
