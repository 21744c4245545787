package snapshot_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"dtstore/manifest"
	"dtstore/objstore"
	"dtstore/objstore/fault"
	"dtstore/snapshot"
	"dtstore/table"

	"github.com/google/uuid"
)

// counter counts reads.
type counter struct {
	objstore.Store
	gets int
}

func (c *counter) Get(ctx context.Context, key string) ([]byte, error) {
	c.gets++
	return c.Store.Get(ctx, key)
}

// script is a history that calls everything: CREATE, flushes, a compaction, expiry, sweep, DROP
// and CREATE again. It goes on after errors, as a server does, from what it can read; what it was
// told to be done is in the result.
type script struct {
	t       *testing.T
	store   objstore.Store
	tab     *snapshot.Table
	log     snapshot.LogID
	told    map[string]error // by commit id
	commits []snapshot.Commit
}

func runScript(t *testing.T, store objstore.Store) *script {
	s := &script{t: t, store: store, tab: open(store), log: logID, told: map[string]error{}}
	ctx := t.Context()
	s.create()
	for range 4 {
		s.flush()
	}
	s.compact()
	s.flush()
	s.expire()
	s.flush()
	_, _ = s.tab.Sweep(ctx, time.Unix(0, 0))
	// A restart.
	s.tab = open(store)
	s.flush()
	if err := s.tab.Drop(ctx, s.log); err == nil {
		s.log = "5b1c2a52-0000-4000-8000-000000000002"
		s.create()
		s.flush()
		s.flush()
	}
	return s
}

func (s *script) create() {
	text := fmt.Sprintf(`{"id":0,"fields":[{"id":0,"name":"k","type":"BIGINT NOT NULL"}],"partitionKeys":[],"primaryKeys":["k"],"options":{"dtstore.topic-id":%q}}`, s.log)
	for range 3 {
		if err := s.store.Put(s.t.Context(), path+"/schema/schema-0", []byte(text)); err == nil {
			break
		}
	}
	for range 3 {
		if _, err := s.tab.Create(s.t.Context(), s.log, 2, 0); err == nil {
			return
		}
	}
}

func (s *script) commit(c snapshot.Commit) {
	_, err := s.tab.Commit(s.t.Context(), c)
	s.told[c.ID] = err
	s.commits = append(s.commits, c)
}

// flush flushes one offset of bucket 0 and one of bucket 1, from where they end.
func (s *script) flush() {
	cur, err := s.tab.Latest(s.t.Context())
	if err != nil {
		return
	}
	log, covered, _, err := s.tab.Position(s.t.Context(), cur)
	if err != nil {
		return
	}
	c := snapshot.Commit{ID: uuid.NewString(), User: "u", Log: log, Kind: "APPEND"}
	for b := range table.Bucket(2) {
		at := covered[b]
		e := file("data-"+c.ID+".parquet", b, 0, int64(at.Base)+int64(at.To), 1, int64(at.To), int64(at.To))
		if err := s.store.Put(s.t.Context(), dataKey(e), []byte("x")); err != nil {
			return
		}
		c.Advances = append(c.Advances, snapshot.Advance{Bucket: b, Span: table.Span{From: at.To, To: at.To + 1}, Base: at.Base})
		c.Add = append(c.Add, e)
	}
	s.commit(c)
}

func (s *script) compact() {
	cur, err := s.tab.Latest(s.t.Context())
	if err != nil {
		return
	}
	live, err := s.tab.Entries(s.t.Context(), cur, snapshot.Filter{Buckets: []table.Bucket{0}})
	if err != nil || len(live) == 0 {
		return
	}
	rows, hi := int64(0), int64(0)
	for _, e := range live {
		rows, hi = rows+e.File.Rows, max(hi, int64(e.File.MaxSeq))
	}
	e := file("merged-"+uuid.NewString(), 0, 1, 0, rows, 0, hi)
	if err := s.store.Put(s.t.Context(), dataKey(e), []byte("x")); err != nil {
		return
	}
	s.commit(snapshot.Commit{ID: uuid.NewString(), User: "u", Log: s.log, Kind: "COMPACT", Remove: live, Add: []manifest.Entry{e}})
}

func (s *script) expire() {
	_, _ = s.tab.Expire(s.t.Context(), snapshot.ExpireOptions{RetainMin: 2, Retained: 1, Now: time.Now().Add(time.Hour)})
}

// check opens the table again, on the store without faults, and compares it with what was told.
func (s *script) check(name string, store objstore.Store) {
	t, ctx := s.t, s.t.Context()
	tab := open(store)
	cur, err := tab.Latest(ctx)
	if errors.Is(err, snapshot.ErrDropped) || errors.Is(err, snapshot.ErrNone) {
		return // CREATE, or CREATE after DROP, did not come through
	}
	if err != nil {
		t.Errorf("%s: %v", name, err)
		return
	}
	log, covered, _, err := tab.Position(ctx, cur)
	if err != nil {
		t.Errorf("%s: %v", name, err)
		return
	}
	live, err := tab.Entries(ctx, cur, snapshot.Filter{})
	if err != nil {
		t.Errorf("%s: %v", name, err)
		return
	}
	rows := map[table.Bucket]int64{}
	for _, e := range live {
		rows[e.Bucket] += e.File.Rows
		if _, err := store.Stat(ctx, dataKey(e)); err != nil {
			t.Errorf("%s: live file: %v", name, err)
		}
	}
	for b, at := range covered {
		if rows[b] != int64(at.To) {
			t.Errorf("%s: bucket %d has %d rows and is covered up to %d", name, b, rows[b], at.To)
		}
	}
	done, perhaps := table.Offset(0), table.Offset(0)
	for _, c := range s.commits {
		if c.Log != log || c.Kind != "APPEND" {
			continue
		}
		switch err := s.told[c.ID]; {
		case err == nil:
			done++
		case errors.Is(err, snapshot.ErrUnknown):
			perhaps++
		}
	}
	if to := covered[0].To; to < done || to > done+perhaps {
		t.Errorf("%s: covered up to %d, %d flushes were told done and %d unknown", name, to, done, perhaps)
	}
	// It goes on.
	again := &script{t: t, store: store, tab: tab, log: log, told: map[string]error{}}
	again.flush()
	if len(again.told) != 1 || again.told[again.commits[0].ID] != nil {
		t.Errorf("%s: the next flush: %v", name, again.told)
	}
}

var faultsFlag = flag.Int("faults", 200, "so many faults are drawn of all calls of the script; 0: every call in every way")

// TestFaultAtEveryCall breaks call k of the script in each way, for every k that is drawn. What
// fails names its call and kind, which fail again: the script draws nothing.
func TestFaultAtEveryCall(t *testing.T) {
	whole := fault.New(objstore.NewMem(), fault.Plan{})
	clean := runScript(t, whole)
	for id, err := range clean.told {
		if err != nil {
			t.Fatalf("without faults commit %s: %v", id, err)
		}
	}
	calls := len(whole.Calls())
	if calls < 150 {
		t.Fatalf("the script makes only %d calls", calls)
	}
	var all []fault.Fault
	for k := 1; k <= calls; k++ {
		for _, kind := range []fault.Kind{fault.Fail, fault.Lose, fault.Late, fault.Truncate} {
			all = append(all, fault.Fault{Call: k, Kind: kind, After: 1 + k%5})
		}
	}
	if n := *faultsFlag; n > 0 {
		rng := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 0))
		rng.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		all = all[:min(n, len(all))]
	}
	for _, f := range all {
		mem := objstore.NewMem()
		store := fault.New(mem, fault.Plan{Faults: []fault.Fault{f}})
		s := runScript(t, store)
		store.Land()
		s.check(fmt.Sprintf("call %d %v", f.Call, f.Kind), mem)
	}
}

// TestGoesAway: from call k on nothing answers any more; the last words may be lost.
func TestGoesAway(t *testing.T) {
	whole := fault.New(objstore.NewMem(), fault.Plan{})
	runScript(t, whole)
	step := 1
	if *faultsFlag > 0 {
		step = max(1, 4*len(whole.Calls()) / *faultsFlag)
	}
	for k := 1; k <= len(whole.Calls()); k += step {
		mem := objstore.NewMem()
		gone := errors.New("gone")
		store := fault.New(mem, fault.Plan{
			Faults: []fault.Fault{{Call: k, Kind: fault.Lose}},
			Down: func(c fault.Call) error {
				if c.N > k {
					return gone
				}
				return nil
			},
		})
		s := runScript(t, store)
		s.check(fmt.Sprintf("gone after call %d", k), mem)
	}
}
