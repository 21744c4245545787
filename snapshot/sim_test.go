package snapshot_test

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"dtstore/manifest"
	"dtstore/objstore"
	"dtstore/snapshot"
	"dtstore/table"
)

var (
	seedFlag      = flag.Uint64("sim.seed", 0, "run this one history of the simulation and print it")
	offFlag       = flag.String("sim.off", "", "switch this rule off in the history of -sim.seed")
	historiesFlag = flag.Int("sim.histories", 2_000, "histories of the simulation; 10000 take half a minute on two idle cores")
)

const simBuckets = 2

type simCommit snapshot.Commit

// world is one history: some processes on one disk, one call at a time, in an order drawn from
// a seed.
type world struct {
	t         testing.TB
	rng       *rand.Rand
	disk      map[string]object
	late      []lateWrite
	actors    []*actor
	now       int // steps so far
	ids       int
	faultRate float64
	retain    int
	off       []string
	trace     *strings.Builder // nil: not kept
	cache     *snapshot.Cache
	schema    *table.Schema
	events    map[string]int
	files     map[string][]table.Span // by name: the offsets a data file holds
	m         model
}

func (w *world) log(format string, args ...any) {
	if w.trace != nil {
		fmt.Fprintf(w.trace, "%4d "+format+"\n", append([]any{w.now}, args...)...)
	}
}

func (w *world) clock() time.Time { return time.UnixMilli(int64(w.now)) }

func (w *world) newID() string {
	w.ids++
	return fmt.Sprintf("id%05d", w.ids)
}

func dataKey(e manifest.Entry) string {
	return fmt.Sprintf("%s/bucket-%d/%s", path, e.Bucket, e.File.Name)
}

func (w *world) putSchema(log snapshot.LogID) {
	w.log("SCHEMA with log %s", log)
	w.disk[path+"/schema/schema-0"] = object{fmt.Appendf(nil, `{"id":0,"fields":[{"id":0,"name":"k","type":"BIGINT NOT NULL"}],"partitionKeys":[],"primaryKeys":["k"],"options":{"dtstore.topic-id":%q}}`, log), w.clock()}
}

func (w *world) schemaLog() snapshot.LogID {
	var s struct{ Options map[string]snapshot.LogID }
	if err := json.Unmarshal(w.disk[path+"/schema/schema-0"].body, &s); err != nil {
		return ""
	}
	return s.Options["dtstore.topic-id"]
}

// history runs the history of a seed, with some rules switched off, and returns what it broke.
func history(t testing.TB, seed uint64, trace bool, off ...string) (broke string, text string) {
	rng := rand.New(rand.NewPCG(seed, 1))
	w := &world{
		t: t, rng: rng, disk: map[string]object{}, off: off, cache: snapshot.NewCache(0), files: map[string][]table.Span{}, events: map[string]int{}, m: newModel(), retain: 1 + rng.IntN(3),
		schema: &table.Schema{Fields: []table.Field{{Name: "k", Type: table.Type{Kind: table.BigInt, NotNull: true}}}, PrimaryKeys: []string{"k"}},
	}
	if rng.IntN(2) == 0 {
		w.faultRate = []float64{0.01, 0.03, 0.1}[rng.IntN(3)]
	}
	if trace {
		w.trace = &strings.Builder{}
		defer func() { text = w.trace.String() }()
	}
	defer func() {
		for _, a := range w.actors {
			a.stop()
		}
		counted.add(w)
		if v := recover(); v != nil {
			bad, ok := v.(violation)
			if !ok {
				panic(v)
			}
			broke = string(bad)
		}
	}()
	w.m.tables = 1
	w.putSchema("log-1")
	for range 2 + rng.IntN(2) {
		n := 2 + rng.IntN(6)
		w.start("owner", func(a *actor) { a.owner(n) })
	}
	for range 1 + rng.IntN(3) {
		n := 1 + rng.IntN(4)
		w.start("compactor", func(a *actor) { a.compactor(n) })
	}
	if rng.IntN(3) > 0 {
		n := 1 + rng.IntN(5)
		w.start("expirer", func(a *actor) { a.expirer(n) })
	}
	w.start("reader", func(a *actor) { a.reader(1 + rng.IntN(8)) })
	if rng.IntN(3) == 0 {
		n := 1 + rng.IntN(2)
		w.start("dropper", func(a *actor) { a.dropper(n) })
	}
	if rng.IntN(4) == 0 {
		n := 1 + rng.IntN(3)
		w.start("foreign", func(a *actor) { a.foreign(n) })
	}
	w.run()
	w.checkEnd()
	return "", ""
}

// run lets the processes go on in a random order, some steps of one at a time, until all have
// ended. Now and then one falls asleep between two calls, for as long as others take for several
// commits.
func (w *world) run() {
	const maxSteps = 20_000
	for {
		var awake, asleep []*actor
		for _, a := range w.actors {
			switch {
			case a.done:
			case a.until > w.now:
				asleep = append(asleep, a)
			default:
				awake = append(awake, a)
			}
		}
		if len(awake) == 0 {
			if len(asleep) == 0 {
				break
			}
			w.now++
			continue
		}
		a := awake[w.rng.IntN(len(awake))]
		for range 1 + w.rng.IntN(12) {
			w.now++
			w.land()
			if _, ok := a.next(); !ok {
				a.done = true
				break
			}
			if w.rng.IntN(40) == 0 {
				a.until = w.now + w.rng.IntN(400)
				w.events["asleep"]++
				w.log("%s falls asleep until %d", a.name, a.until)
				break
			}
		}
		if w.now > maxSteps {
			w.violated("after %d steps it has not ended", maxSteps)
		}
	}
	w.now += 1000
	w.land()
}

// land makes the late requests happen whose time has come.
func (w *world) land() {
	for i := 0; i < len(w.late); i++ {
		if l := w.late[i]; l.at <= w.now {
			w.late = append(w.late[:i], w.late[i+1:]...)
			i--
			l.do()
		}
	}
}

// foreignCommit publishes entries on top of cur as another engine does.
func foreignCommit(t testing.TB, store objstore.Store, schema *table.Schema, cur *snapshot.Snapshot, entries []manifest.Entry, newID func() string) {
	ctx := context.Background()
	put := func(name string, b []byte, err error) *int64 {
		if err == nil {
			err = store.Put(ctx, path+"/manifest/"+name, b)
		}
		if err != nil {
			t.Errorf("foreign commit: %v", err)
		}
		size := int64(len(b))
		return &size
	}
	var base []manifest.ListEntry
	for _, name := range []string{cur.BaseList, cur.DeltaList} {
		b, err := store.Get(ctx, path+"/manifest/"+name)
		if err != nil {
			t.Errorf("foreign commit: %v", err)
			return
		}
		list, err := manifest.DecodeList(b)
		if err != nil {
			t.Errorf("foreign commit: %v", err)
		}
		base = append(base, list...)
	}
	id := newID()
	b, err := manifest.EncodeEntries(entries)
	size := put("manifest-"+id+"-0", b, err)
	delta, err := manifest.Summarize(schema, "manifest-"+id+"-0", *size, entries)
	if err != nil {
		t.Errorf("foreign commit: %v", err)
	}
	next := &snapshot.Snapshot{
		ID: cur.ID + 1, SchemaID: cur.SchemaID, BaseList: "manifest-list-" + id + "-0", DeltaList: "manifest-list-" + id + "-1",
		CommitUser: "foreign", CommitIdentifier: 1, CommitKind: "APPEND", TimeMillis: cur.TimeMillis,
	}
	b, err = manifest.EncodeList(base)
	next.BaseListSize = put(next.BaseList, b, err)
	b, err = manifest.EncodeList([]manifest.ListEntry{delta})
	next.DeltaListSize = put(next.DeltaList, b, err)
	b, err = next.Encode()
	if err == nil {
		err = store.PutIfAbsent(ctx, fmt.Sprintf("%s/snapshot/snapshot-%d", path, next.ID), b)
	}
	if err != nil {
		t.Errorf("foreign commit: %v", err)
	}
}

// TestSimulation is the specification of this package: in no history is an invariant broken.
func TestSimulation(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(800)) // its garbage is small and plenty
	if *seedFlag != 0 {
		var off []string
		if *offFlag != "" {
			off = []string{*offFlag}
		}
		broke, text := history(t, *seedFlag, true, off...)
		t.Logf("history of seed %d:\n%s", *seedFlag, text)
		if broke != "" {
			t.Errorf("seed %d: %s", *seedFlag, broke)
		}
		return
	}
	n := *historiesFlag
	if testing.Short() {
		n = min(n, 300)
	}
	if seed, broke := search(t, n); broke != "" {
		_, text := history(t, seed, true)
		t.Fatalf("history of seed %d:\n%s\nseed %d (-sim.seed=%d): %s", seed, text, seed, seed, broke)
	}
	for _, event := range []string{"committed", "fenced", "conflict", "unknown", "other error", "stray", "drop", "foreign", "read", "asleep", "expired"} {
		t.Logf("%-12s %d", event, counted.events[event])
		if counted.events[event] == 0 && n >= 1000 {
			t.Errorf("no history had the event %q", event)
		}
	}
}

// counted says what the histories had in them: a simulation in which nothing happens proves
// nothing.
var counted counters

type counters struct {
	sync.Mutex
	events map[string]int
}

func (c *counters) add(w *world) {
	c.Lock()
	defer c.Unlock()
	if c.events == nil {
		c.events = map[string]int{}
	}
	for name, n := range w.events {
		c.events[name] += n
	}
}

// search runs histories until one breaks something, and returns it.
func search(t testing.TB, n int, off ...string) (seed uint64, broke string) {
	var next, found atomic.Uint64
	var wait sync.WaitGroup
	var mu sync.Mutex
	for range runtime.GOMAXPROCS(0) {
		wait.Go(func() {
			for {
				s := next.Add(1)
				if s > uint64(n) || found.Load() != 0 {
					return
				}
				if b, _ := history(t, s, false, off...); b != "" {
					found.Store(s)
					mu.Lock()
					if seed == 0 || s < seed {
						seed, broke = s, b
					}
					mu.Unlock()
				}
			}
		})
	}
	wait.Wait()
	return seed, broke
}

// TestRulesAreNeeded switches off one rule at a time: each time a history breaks an invariant.
func TestRulesAreNeeded(t *testing.T) {
	for _, rule := range snapshot.Rules {
		seed, broke := search(t, 10_000, rule)
		if broke == "" {
			t.Errorf("without %q nothing broke", rule)
			continue
		}
		t.Logf("without %q seed %d breaks: %s", rule, seed, broke)
	}
}
