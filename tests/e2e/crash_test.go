package e2e_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// TestKill kills the server at random moments under writes: what was
// acknowledged is there afterwards, once; transactions are whole; what nobody
// knows has happened or has not.
func TestKill(t *testing.T) {
	seed := *firstSeed
	if seed == 0 {
		seed = uint64(time.Now().UnixNano()) % 1_000_000
	}
	for i := range *seeds {
		t.Run(fmt.Sprintf("seed=%d", seed+uint64(i)), func(t *testing.T) { killHistory(t, seed+uint64(i)) })
	}
}

// kills of one history.
const kills = 4

func killHistory(t *testing.T, seed uint64) {
	r := rand.New(rand.NewPCG(seed, 1))
	data := t.TempDir()
	h := &history{t: t, r: r, data: data}
	for i := range 3 + r.IntN(4) {
		h.workers = append(h.workers, &worker{id: i, r: rand.New(rand.NewPCG(seed, uint64(i)+2)), known: state{}, done: map[string]int{}})
	}
	s := run(t, data)
	do(t, s.connect(t.Context(), t), crashTables...)
	s.kill()
	for i := range kills {
		if r.IntN(3) == 0 { // into the recovery
			s := launch(t, data, h.flags()...)
			time.Sleep(time.Duration(r.IntN(1500)) * time.Millisecond)
			s.kill()
		}
		h.round(i)
		if t.Failed() {
			return
		}
	}
	s = run(t, data, h.flags()...)
	h.compare(s, "after the last kill")
	do(t, s.connect(t.Context(), t), "CHECKPOINT")
	h.compare(s, "after CHECKPOINT")
	s.stop()
	noSequenceTwice(t, data)
	total := map[string]int{}
	for _, w := range h.workers {
		for k, n := range w.done {
			total[k] += n
		}
	}
	t.Logf("%d workers: %v", len(h.workers), total)
}

// history is one seed's run.
type history struct {
	t       *testing.T
	r       *rand.Rand
	data    string
	workers []*worker
}

// flags make checkpoints as frequent as the seed wants.
func (h *history) flags() []string {
	every := []string{"100ms", "400ms", "2s", "1m"}[h.r.IntN(4)]
	return []string{"--checkpoint-interval", every}
}

// round starts the server, compares, lets the workers write and kills it.
func (h *history) round(n int) {
	s := run(h.t, h.data, h.flags()...)
	h.compare(s, fmt.Sprintf("round %d", n))
	if h.t.Failed() {
		return
	}
	ctx, cancel := context.WithCancel(h.t.Context())
	defer cancel()
	var wg sync.WaitGroup
	for _, w := range h.workers {
		wg.Go(func() {
			if err := w.work(ctx, s.sql); err != nil {
				h.t.Errorf("round %d: %v", n, err)
			}
		})
	}
	wg.Go(func() { h.remake(ctx, s.sql) })
	if h.r.IntN(2) == 0 {
		wg.Go(func() { upkeep(ctx, s.sql, rand.New(rand.NewPCG(h.r.Uint64(), 3))) })
	}
	time.Sleep(time.Duration(h.r.IntN(2500)) * time.Millisecond)
	s.kill()
	cancel()
	wg.Wait()
}

// remake makes a table, fills it and drops it, again and again. Whatever a kill
// leaves of it, the next one begins empty.
func (h *history) remake(ctx context.Context, url string) {
	c, err := pgx.Connect(ctx, url)
	if err != nil {
		return
	}
	defer c.Close(context.WithoutCancel(ctx))
	for ctx.Err() == nil {
		for _, sql := range []string{"DROP TABLE IF EXISTS again", "CREATE TABLE again (id bigint PRIMARY KEY, v text) WITH ('bucket' = '2')", "INSERT INTO again SELECT i, 'v' FROM generate_series(1, 20) t(i)", "CHECKPOINT"} {
			if _, err := c.Exec(ctx, sql); err != nil {
				if !broken(err) {
					h.t.Errorf("%s: %v", sql, err)
				}
				return
			}
			if sql[:6] == "CREATE" {
				var n int
				if err := c.QueryRow(ctx, "SELECT count(*) FROM again").Scan(&n); err == nil && n != 0 {
					h.t.Errorf("a table that was just made has %d rows", n)
				}
			}
		}
	}
}

// upkeep flushes and compacts while others write, until the connection breaks.
func upkeep(ctx context.Context, url string, r *rand.Rand) {
	c, err := pgx.Connect(ctx, url)
	if err != nil {
		return
	}
	defer c.Close(context.WithoutCancel(ctx))
	for {
		sql := "CHECKPOINT"
		if r.IntN(2) == 0 {
			sql = "ALTER TABLE " + crashNames[r.IntN(len(crashNames))] + " COMPACT"
		}
		if _, err := c.Exec(ctx, sql); err != nil && sqlState(err) == "" {
			return
		}
	}
}

// compare reads all rows and holds them against what each worker was told. An
// operation of unknown outcome must have happened or not, all of it.
func (h *history) compare(s *server, when string) {
	h.t.Helper()
	c := s.connect(h.t.Context(), h.t)
	got, err := read(h.t.Context(), c, len(h.workers))
	if err != nil {
		h.t.Errorf("%s: %v", when, err)
		return
	}
	for i, w := range h.workers {
		without := w.known.diff(got[i])
		if without == "" {
			w.maybe = nil
			continue
		}
		if w.maybe != nil {
			with := w.known.apply(w.maybe)
			diff := with.diff(got[i])
			if diff == "" {
				w.known, w.maybe = with, nil
				continue
			}
			h.t.Errorf("%s: worker %d: an operation of unknown outcome is there in part; were it there:\n\t%s\nwere it not:\n\t%s", when, i, diff, without)
			continue
		}
		h.t.Errorf("%s: worker %d:\n\t%s", when, i, without)
	}
}
