package session_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"dtstore/bucket"
)

var (
	seedFlag  = flag.Uint64("seed", 0, "the one seed of the differential test")
	stepsFlag = flag.Int("steps", 100, "steps of a history of the differential test")
)

// TestDifferential makes one random history after another and compares every
// answer with a map's. Replay one with -seed.
func TestDifferential(t *testing.T) {
	t.Parallel()
	seeds := []uint64{1, uint64(time.Now().UnixNano() % 1e6)}
	if *seedFlag != 0 {
		seeds = []uint64{*seedFlag}
	}
	for _, seed := range seeds {
		t.Run(fmt.Sprint("seed", seed), func(t *testing.T) {
			t.Parallel()
			newHistory(t, seed).run(*stepsFlag)
		})
	}
}

type history struct {
	t    *testing.T
	r    *rand.Rand
	seed uint64
	h    *house
	opts options
	defs []tableDef

	writer, reader, pinned *client
	committed              map[string]*state
	frozen                 map[string]*state // what the REPEATABLE READ transaction sees; nil: none is open
	tx                     map[string]*state // nil: no transaction
	marks                  []map[string]*state
	failed                 bool
	streams                []*follower
	log                    []string
}

type client struct{ c *pgconn.PgConn }

func (h *house) raw() *client {
	h.t.Helper()
	c, err := pgconn.Connect(context.Background(), fmt.Sprintf("postgres://tester@%s/dtstore", h.addr))
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() { c.Close(context.Background()) })
	return &client{c}
}

func (c *client) exec(q string) (tag string, lines []string, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	defer cancel()
	rs, err := c.c.Exec(ctx, q).ReadAll()
	if err != nil {
		return "", nil, err
	}
	for _, r := range rs {
		tag = r.CommandTag.String()
		for _, cells := range r.Rows {
			lines = append(lines, joined(cells))
		}
	}
	return tag, lines, nil
}

// prepared runs one statement in the extended protocol, with text parameters.
func (c *client) prepared(q string, args ...string) (tag string, lines []string, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	defer cancel()
	var params [][]byte
	for _, a := range args {
		params = append(params, []byte(a))
	}
	r := c.c.ExecParams(ctx, q, params, nil, nil, nil).Read()
	for _, cells := range r.Rows {
		lines = append(lines, joined(cells))
	}
	return r.CommandTag.String(), lines, r.Err
}

func joined(cells [][]byte) string {
	out := make([]string, len(cells))
	for i, c := range cells {
		out[i] = string(c)
		if c == nil {
			out[i] = "NULL"
		}
	}
	return strings.Join(out, "|")
}

func code(err error) string {
	var e *pgconn.PgError
	if errors.As(err, &e) {
		return e.Code
	}
	if err != nil {
		return err.Error()
	}
	return ""
}

func newHistory(t *testing.T, seed uint64) *history {
	r := rand.New(rand.NewPCG(seed, 7))
	x := &history{t: t, r: r, seed: seed, committed: map[string]*state{}}
	x.opts = options{dir: t.TempDir(), noMemory: r.IntN(3) == 0,
		bucket: bucket.Options{FlushBytes: []int64{1 << 10, 20 << 10, 0}[r.IntN(3)], Checkpoint: []time.Duration{20 * time.Millisecond, time.Second, time.Hour}[r.IntN(3)]}}
	x.h = open(t, x.opts)
	with := fmt.Sprintf("'num-sorted-run.compaction-trigger' = '%d', 'snapshot.num-retained.min' = '1', 'snapshot.time-retained' = '1 ms', 'log.retention' = '%d ms'", 2+r.IntN(4), 1+r.IntN(2)*3600_000)
	x.defs = defs(r, with)
	x.connect()
	for _, d := range x.defs {
		x.must(x.writer, d.create())
		x.committed[d.name] = &state{rows: map[string]row{}}
	}
	return x
}

func (x *history) connect() { x.writer, x.reader, x.pinned = x.h.raw(), x.h.raw(), x.h.raw() }

func (x *history) fatalf(format string, args ...any) {
	x.t.Helper()
	x.t.Fatalf("seed %d: %s\nthe last statements:\n%s", x.seed, fmt.Sprintf(format, args...), strings.Join(x.log[max(0, len(x.log)-25):], "\n"))
}

func (x *history) note(q string) { x.log = append(x.log, q[:min(len(q), 300)]) }

func (x *history) must(c *client, q string) []string {
	x.t.Helper()
	x.note(q)
	_, lines, err := c.exec(q)
	if err != nil {
		x.fatalf("%s: %v", q, err)
	}
	return lines
}

// visible is what the writer sees.
func (x *history) visible() map[string]*state {
	if x.tx != nil {
		return x.tx
	}
	return x.committed
}

// change runs a statement of the writer: apply is what it does to a copy of the
// table, and want the error that it must end with.
func (x *history) change(d tableDef, q string, tag, want string, apply func(*state)) {
	x.t.Helper()
	x.note(q)
	var got string
	var err error
	if strings.HasPrefix(q, "COPY ") {
		head, data, _ := strings.Cut(q, "\n")
		ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
		defer cancel()
		var ct pgconn.CommandTag
		ct, err = x.writer.c.CopyFrom(ctx, strings.NewReader(data), head)
		got = ct.String()
	} else {
		got, _, err = x.writer.exec(q)
	}
	if code(err) != want {
		x.fatalf("error %v, want %q", err, want)
	}
	if err != nil {
		x.failed = x.tx != nil
		return
	}
	if got != tag {
		x.fatalf("%s: tag %q, want %q", q, got, tag)
	}
	apply(x.visible()[d.name])
}

func (x *history) run(steps int) {
	for range 2 {
		x.follow()
	}
	for i := range steps {
		x.step(i)
	}
	x.endTx()
	x.checkAll(x.reader, x.committed)
	x.checkStreams()
	for _, d := range x.defs {
		x.must(x.reader, "ALTER TABLE "+d.name+" COMPACT")
	}
	x.checkAll(x.reader, x.committed)
	x.restart()
	x.checkAll(x.reader, x.committed)
}

func (x *history) step(i int) {
	r := x.r
	if x.failed {
		x.recover()
		return
	}
	d := x.defs[r.IntN(len(x.defs))]
	switch n := r.IntN(100); {
	case n < 22:
		x.insert(d)
	case n < 32:
		x.update(d)
	case n < 38:
		x.move(d)
	case n < 46:
		x.delete(d)
	case n < 50:
		x.copyIn(d)
	case n < 53:
		x.insertSelect(d)
	case n < 60:
		x.transaction()
	case n < 64:
		x.must(x.reader, "CHECKPOINT")
	case n < 67:
		x.must(x.reader, "ALTER TABLE "+d.name+" COMPACT")
	case n < 69 && x.tx == nil && x.frozen == nil:
		x.restart()
	case n < 72:
		x.repeatable()
	case n < 74:
		x.checkStreams()
	case n < 76:
		x.checkAll(x.writer, x.visible())
	case n < 90:
		x.query(x.writer, d, x.visible()[d.name])
	case n < 96:
		x.query(x.reader, d, x.committed[d.name])
	default:
		if x.frozen != nil {
			x.query(x.pinned, d, x.frozen[d.name])
		}
	}
}

func (x *history) rows(d tableDef) []row {
	rows := make([]row, 1+x.r.IntN(8))
	if x.r.IntN(12) == 0 {
		rows = make([]row, 300)
	}
	for i := range rows {
		rows[i] = d.random(x.r)
		if len(rows) == 300 {
			for _, k := range d.key {
				if d.cols[k].pool == nil {
					rows[i][k] = int64(x.r.IntN(1000))
				}
			}
		}
	}
	return rows
}

func (x *history) insert(d tableDef) {
	rows := x.rows(d)
	var tuples []string
	for _, y := range rows {
		tuples = append(tuples, d.tuple(y))
	}
	x.change(d, "INSERT INTO "+d.name+" VALUES "+strings.Join(tuples, ", "), fmt.Sprintf("INSERT 0 %d", len(rows)), "", func(s *state) {
		for _, y := range rows {
			s.put(d, y)
		}
	})
}

func (x *history) copyIn(d tableDef) {
	rows := x.rows(d)
	var b strings.Builder
	for _, y := range rows {
		for i, v := range y {
			if i > 0 {
				b.WriteByte('\t')
			}
			if v == null {
				b.WriteString(`\N`)
			} else {
				b.WriteString(strings.NewReplacer(`\`, `\\`, "\t", `\t`).Replace(d.cols[i].text(v)))
			}
		}
		b.WriteByte('\n')
	}
	x.change(d, "COPY "+d.name+" FROM STDIN\n"+b.String(), fmt.Sprintf("COPY %d", len(rows)), "", func(s *state) {
		for _, y := range rows {
			s.put(d, y)
		}
	})
}

func (x *history) insertSelect(d tableDef) {
	i := slices.IndexFunc(d.cols, func(c column) bool { return c.name == "id" })
	if i < 0 {
		return
	}
	c := d.condition(x.r, x.visible()[d.name])
	items := make([]string, len(d.cols))
	for j, c := range d.cols {
		items[j] = c.name
	}
	items[i] = "id + 1000"
	rows := x.visible()[d.name].where(c)
	if len(rows) > 200 {
		return
	}
	x.change(d, fmt.Sprintf("INSERT INTO %s SELECT %s FROM %s WHERE %s", d.name, strings.Join(items, ", "), d.name, c.sql), fmt.Sprintf("INSERT 0 %d", len(rows)), "", func(s *state) {
		for _, y := range rows {
			z := slices.Clone(y)
			if z[i] != null {
				z[i] += 1000
			}
			s.put(d, z)
		}
	})
}

// refusal is the error of UPDATE and DELETE on an append table.
func refusal(d tableDef) string {
	if d.key == nil {
		return "0A000"
	}
	return ""
}

func (x *history) update(d tableDef) {
	s := x.visible()[d.name]
	c := d.condition(x.r, s)
	v := slices.IndexFunc(d.cols, func(c column) bool { return c.name == "v" })
	set, to := "v = v + 1", func(y row) {
		if y[v] != null {
			y[v]++
		}
	}
	if i := x.r.IntN(len(d.cols)); x.r.IntN(2) == 0 && !slices.Contains(d.key, i) {
		n := d.random(x.r)[i]
		set, to = d.cols[i].name+" = "+d.cols[i].literal(n), func(y row) { y[i] = n }
	}
	found := s.where(c)
	x.change(d, fmt.Sprintf("UPDATE %s SET %s WHERE %s", d.name, set, c.sql), fmt.Sprintf("UPDATE %d", len(found)), refusal(d), func(s *state) {
		for _, y := range found {
			z := slices.Clone(y)
			to(z)
			s.put(d, z)
		}
	})
}

// move changes keys or partitions.
func (x *history) move(d tableDef) {
	if d.key == nil {
		return
	}
	s := x.visible()[d.name]
	c := d.condition(x.r, s)
	i := d.key[x.r.IntN(len(d.key))]
	k := d.cols[i]
	var set string
	var to func(row)
	if k.pool == nil && x.r.IntN(4) > 0 {
		by := int64(1 + x.r.IntN(30))
		set, to = fmt.Sprintf("%s = %s + %d", k.name, k.name, by), func(y row) { y[i] += by }
	} else {
		n := d.random(x.r)[i]
		set, to = k.name+" = "+k.literal(n), func(y row) { y[i] = n }
	}
	found := s.where(c)
	want := ""
	next := map[string]row{}
	old := map[string]bool{}
	for _, y := range found {
		old[d.keyOf(y)] = true
	}
	moved := false
	for _, y := range found {
		z := slices.Clone(y)
		to(z)
		if next[d.keyOf(z)] != nil {
			want = "21000"
		}
		next[d.keyOf(z)] = z
		moved = moved || d.keyOf(z) != d.keyOf(y)
	}
	for key := range next {
		if s.rows[key] != nil && !old[key] && want == "" {
			want = "23505"
		}
	}
	if !moved {
		want = ""
	}
	x.change(d, fmt.Sprintf("UPDATE %s SET %s WHERE %s", d.name, set, c.sql), fmt.Sprintf("UPDATE %d", len(found)), want, func(s *state) {
		for key := range old {
			delete(s.rows, key)
		}
		maps.Copy(s.rows, next)
	})
}

func (x *history) delete(d tableDef) {
	s := x.visible()[d.name]
	c := d.condition(x.r, s)
	found := s.where(c)
	if len(found) > 30 && x.r.IntN(3) > 0 {
		return
	}
	x.change(d, "DELETE FROM "+d.name+" WHERE "+c.sql, fmt.Sprintf("DELETE %d", len(found)), refusal(d), func(s *state) {
		for _, y := range found {
			delete(s.rows, d.keyOf(y))
		}
	})
}

func clones(m map[string]*state) map[string]*state {
	out := map[string]*state{}
	for k, v := range m {
		out[k] = v.clone()
	}
	return out
}

func (x *history) transaction() {
	if x.tx == nil {
		x.must(x.writer, "BEGIN")
		x.tx, x.marks = clones(x.committed), nil
		return
	}
	switch n := x.r.IntN(10); {
	case n < 3:
		x.must(x.writer, fmt.Sprintf("SAVEPOINT s%d", len(x.marks)))
		x.marks = append(x.marks, clones(x.tx))
	case n < 5 && len(x.marks) > 0:
		x.backTo(x.r.IntN(len(x.marks)))
	case n < 6:
		x.must(x.writer, "ROLLBACK")
		x.tx = nil
	default:
		x.endTx()
	}
}

func (x *history) backTo(i int) {
	x.must(x.writer, fmt.Sprintf("ROLLBACK TO SAVEPOINT s%d", i))
	x.tx = clones(x.marks[i])
	x.marks = x.marks[:i+1]
	x.failed = false
}

// recover ends a failed transaction.
func (x *history) recover() {
	if _, _, err := x.writer.exec("SELECT 1"); code(err) != "25P02" {
		x.fatalf("a failed transaction took a statement: %v", err)
	}
	if len(x.marks) > 0 && x.r.IntN(2) == 0 {
		x.backTo(x.r.IntN(len(x.marks)))
		return
	}
	x.note("COMMIT (failed)")
	if tag, _, err := x.writer.exec("COMMIT"); err != nil || tag != "ROLLBACK" {
		x.fatalf("COMMIT of a failed transaction: %s %v", tag, err)
	}
	x.tx, x.failed = nil, false
}

func (x *history) endTx() {
	if x.failed {
		x.recover()
	}
	if x.tx == nil {
		return
	}
	x.must(x.writer, "COMMIT")
	x.committed, x.tx = x.tx, nil
}

func (x *history) repeatable() {
	if x.frozen != nil {
		x.checkAll(x.pinned, x.frozen)
		x.must(x.pinned, "COMMIT")
		x.frozen = nil
		return
	}
	x.must(x.pinned, "BEGIN ISOLATION LEVEL REPEATABLE READ")
	x.must(x.pinned, "SELECT count(*) FROM plain")
	x.frozen = clones(x.committed)
}

func (x *history) restart() {
	x.note("restart")
	for _, f := range x.streams {
		f.stop()
	}
	if x.r.IntN(2) == 0 {
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		if err := x.h.owner.Drain(ctx); err != nil {
			x.fatalf("drain: %v", err)
		}
		cancel()
	}
	x.h.stop()
	x.h = open(x.t, x.opts)
	x.connect()
	n := len(x.streams)
	x.streams = nil
	for range n {
		x.follow()
	}
}

func (x *history) same(what string, got, want []string) {
	x.t.Helper()
	slices.Sort(got)
	if !slices.Equal(got, want) {
		x.fatalf("%s:\n got %d rows %q\nwant %d rows %q", what, len(got), diff(got, want), len(want), diff(want, got))
	}
}

// diff is what a has more than b.
func diff(a, b []string) []string {
	n := map[string]int{}
	for _, l := range b {
		n[l]++
	}
	var out []string
	for _, l := range a {
		if n[l]--; n[l] < 0 && len(out) < 10 {
			out = append(out, l)
		}
	}
	return out
}

func (x *history) checkAll(c *client, states map[string]*state) {
	x.t.Helper()
	for _, d := range x.defs {
		q := "SELECT * FROM " + d.name
		x.same(q, x.must(c, q), d.lines(states[d.name].all()))
		n := 0
		for _, y := range states[d.name].all() {
			if y[1] != null {
				n++
			}
		}
		q = fmt.Sprintf("SELECT count(*), count(%s) FROM %s", d.cols[1].name, d.name)
		x.same(q, x.must(c, q), []string{fmt.Sprintf("%d|%d", len(states[d.name].all()), n)})
	}
}

// query asks one question in one of many ways.
func (x *history) query(c *client, d tableDef, s *state) {
	w := d.condition(x.r, s)
	if d.key != nil && x.r.IntN(3) == 0 {
		w = d.wholeKey(x.r, s)
	}
	found := s.where(w)
	q := "SELECT * FROM " + d.name + " WHERE " + w.sql
	switch n := x.r.IntN(10); {
	case n < 4:
		x.same(q, x.must(c, q), d.lines(found))
	case n < 6:
		x.note("extended: " + q)
		_, lines, err := c.prepared(q)
		if err != nil {
			x.fatalf("%s: %v", q, err)
		}
		x.same(q, lines, d.lines(found))
	case n < 8:
		v := slices.IndexFunc(d.cols, func(c column) bool { return c.name == "v" })
		q := fmt.Sprintf("SELECT count(*), count(v), sum(v), min(v), max(v), count(DISTINCT v) FROM %s WHERE %s", d.name, w.sql)
		x.same(q, x.must(c, q), []string{aggregate(found, v)})
	case n < 9:
		var b strings.Builder
		q := "COPY (" + q + ") TO STDOUT"
		x.note(q)
		ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
		defer cancel()
		if _, err := c.c.CopyTo(ctx, &b, q); err != nil {
			x.fatalf("%s: %v", q, err)
		}
		var lines []string
		for l := range strings.Lines(b.String()) {
			cells := strings.Split(strings.TrimSuffix(l, "\n"), "\t")
			for i := range cells {
				cells[i] = strings.NewReplacer(`\N`, "NULL", `\\`, `\`, `\t`, "\t").Replace(cells[i])
			}
			lines = append(lines, strings.Join(cells, "|"))
		}
		x.same(q, lines, d.lines(found))
	default:
		x.cursor(c, q, d.lines(found))
	}
}

func (x *history) cursor(c *client, q string, want []string) {
	block := x.tx == nil || c != x.writer
	if c == x.pinned && x.frozen != nil {
		block = false
	}
	if block {
		x.must(c, "BEGIN")
	}
	x.must(c, "DECLARE cur CURSOR FOR "+q)
	var got []string
	for {
		part := x.must(c, "FETCH "+strconv.Itoa(1+x.r.IntN(5))+" FROM cur")
		if len(part) == 0 {
			break
		}
		got = append(got, part...)
	}
	x.must(c, "CLOSE cur")
	if block {
		x.must(c, "COMMIT")
	}
	x.same("cursor for "+q, got, want)
}

func aggregate(rows []row, v int) string {
	count, sum := 0, int64(0)
	lo, hi := int64(null), int64(null)
	distinct := map[int64]bool{}
	for _, y := range rows {
		n := y[v]
		if n == null {
			continue
		}
		count++
		sum += n
		distinct[n] = true
		if lo == null || n < lo {
			lo = n
		}
		if hi == null || n > hi {
			hi = n
		}
	}
	text := func(n int64, none bool) string {
		if none {
			return "NULL"
		}
		return strconv.FormatInt(n, 10)
	}
	return fmt.Sprintf("%d|%d|%s|%s|%s|%d", len(rows), count, text(sum, count == 0), text(lo, count == 0), text(hi, count == 0), len(distinct))
}

// follower folds a streaming SELECT of one table.
type follower struct {
	d      tableDef
	where  cond
	c      *client
	cancel context.CancelFunc
	ended  chan struct{}

	mu      sync.Mutex
	rows    map[string]string // by key, the line
	list    []string          // append tables
	err     error
	changed chan struct{}
}

// follow starts a stream over a random table, perhaps with a WHERE.
func (x *history) follow() {
	d := x.defs[x.r.IntN(len(x.defs))]
	ctx, cancel := context.WithCancel(context.Background())
	f := &follower{d: d, c: x.h.raw(), cancel: cancel, ended: make(chan struct{}), rows: map[string]string{}, changed: make(chan struct{}, 1)}
	f.where = cond{"true", func(row) bool { return true }}
	q := "SELECT * FROM " + d.name
	if x.r.IntN(2) == 0 {
		f.where = d.condition(x.r, x.committed[d.name])
		q += " WHERE " + f.where.sql
	}
	x.note("stream: " + q)
	x.must(f.c, "SET execution.runtime_mode = streaming")
	x.streams = append(x.streams, f)
	go func() {
		defer close(f.ended)
		mr := f.c.c.Exec(ctx, q)
		for mr.NextResult() {
			rr := mr.ResultReader()
			for rr.NextRow() {
				f.take(rr.Values())
			}
			if _, err := rr.Close(); err != nil {
				f.fail(err)
			}
		}
		f.fail(mr.Close())
	}()
}

func (f *follower) fail(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err == nil {
		f.err = err
	}
	select {
	case f.changed <- struct{}{}:
	default:
	}
}

func (f *follower) take(cells [][]byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	kind, cells := string(cells[0]), cells[1:]
	line := joined(cells)
	if f.d.key == nil {
		f.list = append(f.list, line)
	} else {
		var key []string
		for _, i := range f.d.key {
			key = append(key, string(cells[i]))
		}
		k := strings.Join(key, "|")
		switch kind {
		case "+I", "+U":
			f.rows[k] = line
		default:
			delete(f.rows, k)
		}
	}
	select {
	case f.changed <- struct{}{}:
	default:
	}
}

func (f *follower) stop() {
	f.cancel()
	<-f.ended
}

func (f *follower) lines() ([]string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	out := slices.Clone(f.list)
	for _, l := range f.rows {
		out = append(out, l)
	}
	slices.Sort(out)
	return out, f.err
}

// checkStreams waits until each stream's fold is the table.
func (x *history) checkStreams() {
	for _, f := range x.streams {
		want := f.d.lines(x.committed[f.d.name].where(f.where))
		late := time.After(20 * time.Second)
		for {
			got, err := f.lines()
			if slices.Equal(got, want) {
				break
			}
			if err != nil {
				x.fatalf("stream of %s WHERE %s: %v", f.d.name, f.where.sql, err)
			}
			select {
			case <-f.changed:
			case <-late:
				x.same("stream of "+f.d.name+" WHERE "+f.where.sql, got, want)
			}
		}
	}
}
