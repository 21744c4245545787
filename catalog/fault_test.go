package catalog_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"dtstore/catalog"
	"dtstore/objstore"
	"dtstore/objstore/fault"
	"dtstore/snapshot"
	"dtstore/table"
)

// step is one statement, and the code that says that it was done before.
type step struct {
	name string
	done string
	run  func(ctx context.Context, c *catalog.Catalog) error
}

var history = []step{
	{"create schema", "42P06", func(ctx context.Context, c *catalog.Catalog) error { return c.CreateDatabase(ctx, "x") }},
	{"create t", "42P07", create("x", "t")},
	{"create u", "42P07", create("x", "u")},
	{"alter t", "", func(ctx context.Context, c *catalog.Catalog) error {
		_, err := c.SetOptions(ctx, "x", "t", map[string]string{"log.retention": "5 s"}, nil)
		return err
	}},
	{"drop t", "42P01", func(ctx context.Context, c *catalog.Catalog) error { return c.DropTable(ctx, "x", "t") }},
	{"create t again", "42P07", create("x", "t")},
	{"drop u", "42P01", func(ctx context.Context, c *catalog.Catalog) error { return c.DropTable(ctx, "x", "u") }},
	{"create v", "42P07", create("public", "v")},
	{"drop schema", "3F000", func(ctx context.Context, c *catalog.Catalog) error { return c.DropDatabase(ctx, "x", true) }},
	{"create schema again", "42P06", func(ctx context.Context, c *catalog.Catalog) error { return c.CreateDatabase(ctx, "x") }},
	{"create w", "42P07", create("x", "w")},
}

func create(db, name string) func(context.Context, *catalog.Catalog) error {
	return func(ctx context.Context, c *catalog.Catalog) error {
		_, err := c.CreateTable(ctx, keyed(db, name))
		return err
	}
}

// TestFaultAtEachCall breaks each call of the history in turn, to the store and
// to Kafka. The client repeats what failed, on the same server or a new one;
// then what exists is what the statements say, and nothing else is left.
func TestFaultAtEachCall(t *testing.T) {
	calls, logCalls := runHistory(t, fault.Plan{}, 0, false)
	if calls < 50 || logCalls < 8 {
		t.Fatalf("%d calls of the store, %d of the log", calls, logCalls)
	}
	kinds := []fault.Fault{{Kind: fault.Fail}, {Kind: fault.Lose}, {Kind: fault.Late, After: 2}, {Kind: fault.Late, After: 9}}
	for k := 1; k <= calls; k++ {
		for i, f := range kinds {
			f.Call = k
			restart := (k+i)%2 == 0
			t.Run(fmt.Sprintf("store-%d-%v-%d", k, f.Kind, f.After), func(t *testing.T) {
				inNoTime(t, func(t *testing.T) { runHistory(t, fault.Plan{Faults: []fault.Fault{f}}, 0, restart) })
			})
		}
	}
	for k := 1; k <= logCalls; k++ {
		for _, restart := range []bool{false, true} {
			t.Run(fmt.Sprintf("log-%d-%v", k, restart), func(t *testing.T) {
				inNoTime(t, func(t *testing.T) { runHistory(t, fault.Plan{}, k, restart) })
			})
		}
	}
}

// inNoTime runs a test whose pauses cost nothing.
func inNoTime(t *testing.T, test func(*testing.T)) { synctest.Test(t, test) }

// runHistory runs it with faults, checks the end, and returns the calls made.
func runHistory(t *testing.T, plan fault.Plan, breakLog int, restart bool) (storeCalls, logCalls int) {
	mem, l := objstore.NewMem(), newLog()
	s := fault.New(mem, plan)
	l.broken = func(op string) error {
		if logCalls++; logCalls == breakLog {
			return errors.New("kafka " + op + " broken")
		}
		return nil
	}
	var c *catalog.Catalog
	for try := 0; c == nil; try++ {
		var err error
		if c, err = catalog.Open(t.Context(), catalog.Options{Store: s, Log: l, Fresh: 1}); err != nil && try > 2 {
			t.Fatal(err)
		}
	}
	for _, st := range history {
		err := st.run(t.Context(), c)
		for try := 0; err != nil; try++ {
			if lateFolder(plan, s) {
				return // a DROP SCHEMA that happens after the next CREATE SCHEMA drops that: folders have no identity
			}
			if try > 2 {
				t.Fatalf("%s: %v", st.name, err)
			}
			if restart {
				c = open(t, s, l)
			}
			if err = st.run(t.Context(), c); err != nil && table.SQLState(err) == st.done {
				err = nil // the first try did it
			}
		}
	}
	s.Land()
	l.broken = func(string) error { return nil }
	storeCalls = len(s.Calls())
	c = open(t, mem, l)
	if err := c.Recover(t.Context()); err != nil {
		t.Fatal(err)
	}
	checkEnd(t, mem, l, c)
	return storeCalls, logCalls
}

// lateFolder says whether the plan let the removal of a database's folder
// happen late.
func lateFolder(plan fault.Plan, s *fault.Store) bool {
	for _, f := range plan.Faults {
		if calls := s.Calls(); f.Kind == fault.Late && f.Call <= len(calls) {
			c := calls[f.Call-1]
			return c.Op == "delete" && strings.HasSuffix(c.Key, ".db/")
		}
	}
	return false
}

func checkEnd(t *testing.T, mem *objstore.Mem, l *fakeLog, c *catalog.Catalog) {
	var found []string
	databases, err := c.Databases(t.Context())
	for _, db := range must(t, databases, err) {
		tables, err := c.Tables(t.Context(), db)
		for _, tab := range must(t, tables, err) {
			found = append(found, tab.Path)
			topic, err := l.Topic(t.Context(), tab.Topic.Name)
			if must(t, topic, err) != tab.Topic || tab.Unreadable != nil || tab.Foreign {
				t.Errorf("%+v, its topic %v", tab, topic)
			}
			snap, err := c.History(tab).Latest(t.Context())
			if id, _, _ := must(t, snap, err).Log(); id != snapshot.LogID(tab.Topic.ID) {
				t.Errorf("%s: snapshot of log %s", tab.Path, id)
			}
			if tab.Name == "t" {
				t.Errorf("%s is there", tab.Path)
			}
		}
	}
	if got := strings.Join(found, " "); got != "public.db/v x.db/w" {
		t.Errorf("tables %s", got)
	}
	if got := l.names(); got != "public.v x.w" {
		t.Errorf("topics %s", got)
	}
	for o := range mem.List(t.Context(), "") {
		if !strings.HasPrefix(o.Key, "public.db/v/") && !strings.HasPrefix(o.Key, "x.db/w/") && !strings.HasSuffix(o.Key, "/snapshot/dropped") {
			t.Errorf("left: %s", o.Key)
		}
	}
}
