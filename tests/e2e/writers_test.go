package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// worker writes rows that are its own, over one connection, and notes what it
// was told.
type worker struct {
	id    int
	r     *rand.Rand
	known state    // acknowledged
	maybe []change // of the last operation, if its outcome was not told
	next  int64    // row id of the append table
	done  map[string]int
}

// keysEach is how many keys of each table a worker writes.
const keysEach = 40

func (w *worker) key() int64 { return int64(w.id)*1000 + w.r.Int64N(keysEach) }

// text is a value: mostly short, now and then long.
func (w *worker) text() string {
	n := w.r.IntN(60)
	if w.r.IntN(30) == 0 {
		n = w.r.IntN(30_000)
	}
	return strings.Repeat(string(rune('a'+w.r.IntN(26))), n)
}

// statement is one SQL statement and what it changes.
type statement struct {
	sql     string
	args    []any
	changes []change
}

// upsert writes some rows of a keyed table.
func (w *worker) upsert(name string, count int) statement {
	columns, place5 := "id, w, n, v", ""
	if name == "part" {
		columns, place5 = "id, w, n, v, p", ", %d"
	}
	st := statement{}
	var b strings.Builder
	fmt.Fprintf(&b, "INSERT INTO %s (%s) VALUES ", name, columns)
	for i := range count {
		if i > 0 {
			b.WriteString(", ")
		}
		k, r := w.key(), row{w.r.Int64N(1000), w.text()}
		fmt.Fprintf(&b, "(%d, %d, %d, $%d", k, w.id, r.n, i+1)
		if place5 != "" {
			fmt.Fprintf(&b, place5, k%3)
		}
		b.WriteString(")")
		st.args = append(st.args, r.v)
		st.changes = append(st.changes, change{place{name, k}, &r})
	}
	st.sql = b.String()
	return st
}

// appends writes new rows of the append table.
func (w *worker) appends(count int) statement {
	st := statement{}
	var b strings.Builder
	b.WriteString("INSERT INTO app (id, w, n, v) VALUES ")
	for i := range count {
		if i > 0 {
			b.WriteString(", ")
		}
		w.next++
		id, r := int64(w.id)*1_000_000_000+w.next, row{w.r.Int64N(1000), w.text()}
		fmt.Fprintf(&b, "(%d, %d, %d, $%d)", id, w.id, r.n, i+1)
		st.args = append(st.args, r.v)
		st.changes = append(st.changes, change{place{"app", id}, &r})
	}
	st.sql = b.String()
	return st
}

// count adds one to n of the worker's rows: done twice it shows.
func (w *worker) count(now state, name string) statement {
	st := statement{sql: fmt.Sprintf("UPDATE %s SET n = n + 1 WHERE w = %d", name, w.id)}
	for at, r := range now {
		if at.table == name {
			st.changes = append(st.changes, change{at, &row{r.n + 1, r.v}})
		}
	}
	return st
}

// remove deletes some of the worker's rows.
func (w *worker) remove(now state, name string) statement {
	k := w.key()
	st := statement{sql: fmt.Sprintf("DELETE FROM %s WHERE w = $1 AND id BETWEEN %d AND %d", name, k, k+3), args: []any{w.id}}
	for at := range now {
		if at.table == name && at.id >= k && at.id <= k+3 {
			st.changes = append(st.changes, change{at, nil})
		}
	}
	return st
}

func (w *worker) keyed() string { return crashNames[w.r.IntN(3)] }

// any draws a statement that is right in the state now.
func (w *worker) any(now state) statement {
	switch w.r.IntN(8) {
	case 0, 1, 2:
		return w.upsert(w.keyed(), 1+w.r.IntN(3))
	case 3:
		return w.upsert(w.keyed(), 1+w.r.IntN(30))
	case 4:
		return w.appends(1 + w.r.IntN(20))
	case 5:
		return w.count(now, w.keyed())
	case 6:
		return w.remove(now, w.keyed())
	}
	return w.appends(1)
}

// work writes until the connection breaks or ctx ends. Half of what it does is
// transactions over several tables.
func (w *worker) work(ctx context.Context, url string) error {
	c, err := pgx.Connect(ctx, url)
	if err != nil {
		return nil // not up yet, or down again
	}
	defer c.Close(context.WithoutCancel(ctx))
	for ctx.Err() == nil {
		if w.r.IntN(2) == 0 {
			err = w.single(ctx, c)
		} else {
			err = w.transaction(ctx, c)
		}
		if err != nil {
			if broken(err) {
				return nil
			}
			return fmt.Errorf("worker %d: %w", w.id, err)
		}
	}
	return nil
}

// broken says whether an error is of the kill, not of the server's mind.
func broken(err error) bool {
	switch sqlState(err) {
	case "":
		return true
	case "57P01", "57P03": // it is stopping, or Kafka is away
		return true
	case "40003", "08007", "58030": // nobody knows, for Kafka or S3 is away
		return true
	}
	return false
}

// unknown says whether an operation that ended so may have happened.
func unknown(err error) bool {
	switch sqlState(err) {
	case "", "57P01", "57014", "40003", "08007", "08006":
		return true
	}
	return false
}

func (w *worker) single(ctx context.Context, c *pgx.Conn) error {
	st := w.any(w.known)
	tag, err := c.Exec(ctx, st.sql, st.args...)
	return w.note(tag, err, st.changes, "single")
}

// note takes an operation's outcome down.
func (w *worker) note(_ pgconn.CommandTag, err error, changes []change, what string) error {
	switch {
	case err == nil:
		w.known = w.known.apply(changes)
		w.done[what]++
		return nil
	case unknown(err):
		w.maybe = changes
		w.done["unknown"]++
	}
	return err
}

func (w *worker) transaction(ctx context.Context, c *pgx.Conn) error {
	if _, err := c.Exec(ctx, "BEGIN"); err != nil {
		return err
	}
	now := w.known
	var changes []change
	for range 2 + w.r.IntN(4) {
		st := w.any(now)
		if _, err := c.Exec(ctx, st.sql, st.args...); err != nil {
			return err // COMMIT was not sent: it did not happen
		}
		now = now.apply(st.changes)
		changes = append(changes, st.changes...)
	}
	if w.r.IntN(10) == 0 {
		_, err := c.Exec(ctx, "ROLLBACK")
		return err
	}
	tag, err := c.Exec(ctx, "COMMIT")
	if err == nil && tag.String() != "COMMIT" {
		return errors.New("COMMIT answered " + tag.String())
	}
	return w.note(tag, err, changes, "transaction")
}
