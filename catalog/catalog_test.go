package catalog_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"dtstore/catalog"
	"dtstore/objstore"
	"dtstore/snapshot"
	"dtstore/table"
)

func must[T any](t testing.TB, v T, err error) T {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func wantFault(t *testing.T, err error, code, text string) {
	t.Helper()
	if got := says(err); !strings.HasPrefix(got, code) || !strings.Contains(got, text) {
		t.Errorf("%s; want %s with %q", got, code, text)
	}
}

func listing(t testing.TB, s objstore.Store, prefix string) string {
	var keys []string
	for o, err := range s.List(t.Context(), prefix) {
		keys = append(keys, must(t, o, err).Key)
	}
	return strings.Join(keys, " ")
}

func TestLife(t *testing.T) {
	s, l := objstore.NewMem(), newLog()
	c := open(t, s, l)
	def := keyed("public", "orders")
	def.Options = map[string]string{"bucket": "3", "log.retention": "2 h"}
	tab, err := c.CreateTable(t.Context(), def)
	must(t, tab, err)
	if tab.Foreign || tab.Unreadable != nil || tab.Path != "public.db/orders" || tab.Topic.Name != "public.orders" || tab.Topic.Partitions != 3 || tab.Options.LogRetention != 2*time.Hour {
		t.Errorf("%+v", tab)
	}
	if !tab.Schema.Fields[0].Type.NotNull || tab.Schema.Fields[1].Type.NotNull {
		t.Error("the key alone is NOT NULL")
	}
	snap := c.History(tab)
	first, err := snap.Latest(t.Context())
	id, covered, ok := must(t, first, err).Log()
	if !ok || string(id) != string(tab.Topic.ID) || len(covered) != 3 || first.ID != 1 {
		t.Errorf("first snapshot %d: log %s of %s, %v", first.ID, id, tab.Topic.ID, covered)
	}
	_, err = c.CreateTable(t.Context(), def)
	wantFault(t, err, "42P07", "orders")

	// Another process sees the same.
	again, err := open(t, s, l).Table(t.Context(), "public", "orders")
	if must(t, again, err).Topic != tab.Topic || string(catalog.EncodeSchema(again.Schema)) != string(catalog.EncodeSchema(tab.Schema)) {
		t.Errorf("%+v, %+v", again, tab)
	}

	for _, name := range []string{"order", "Orders", "ordersx"} {
		_, err := c.Table(t.Context(), "public", name)
		wantFault(t, err, "42P01", `mean "orders"`)
	}
	_, err = c.Table(t.Context(), "publik", "orders")
	wantFault(t, err, "3F000", `mean "public"`)
	_, err = c.Table(t.Context(), "public", "nothing_like_it")
	wantFault(t, err, "42P01", "does not exist")
	for _, odd := range []string{"", "..", "../x", "a/b", "\x00", strings.Repeat("x", 3000)} {
		_, err := c.Table(t.Context(), "public", odd)
		wantFault(t, err, "42P01", "")
		_, err = c.Table(t.Context(), odd, "orders")
		wantFault(t, err, "3F000", "")
		_, err = c.Tables(t.Context(), odd)
		wantFault(t, err, "3F000", "")
	}

	must(t, 0, c.DropTable(t.Context(), "public", "orders"))
	if left := listing(t, s, ""); left != "public.db/orders/snapshot/dropped" || l.names() != "" {
		t.Errorf("left %q, topics %q", left, l.names())
	}
	wantFault(t, c.DropTable(t.Context(), "public", "orders"), "42P01", "orders")

	// The numbers of the dropped one are not used again.
	next, err := c.CreateTable(t.Context(), keyed("public", "orders"))
	first, err2 := c.History(must(t, next, err)).Latest(t.Context())
	if must(t, first, err2).ID != 3 || next.Topic.ID == tab.Topic.ID || next.Schema.ID == 0 {
		t.Errorf("snapshot %d, schema %d, topic %v", first.ID, next.Schema.ID, next.Topic)
	}
	altered, err := c.SetOptions(t.Context(), "public", "orders", map[string]string{"log.retention": "1 s"}, nil)
	if must(t, altered, err).Schema.ID != next.Schema.ID+1 || altered.Options.LogRetention != time.Second || altered.Unreadable != nil {
		t.Errorf("%+v", altered)
	}
	for id, code := range map[int64]string{next.Schema.ID: "ok", altered.Schema.ID: "ok", 0: "0A000", altered.Schema.ID + 1: "40001"} {
		wantFault(t, altered.CheckSchema(id), code, "")
	}
}

func TestDatabases(t *testing.T) {
	s, l := objstore.NewMem(), newLog()
	c := open(t, s, l)
	must(t, 0, c.CreateDatabase(t.Context(), "shop"))
	wantFault(t, c.CreateDatabase(t.Context(), "shop"), "42P06", "shop")
	wantFault(t, c.CreateDatabase(t.Context(), "public"), "42P06", "public")
	for name, code := range map[string]string{"pg_x": "42939", "information_schema": "42939", "a/b": "42602", "": "42602", "..": "42602", "a\nb": "42602", strings.Repeat("x", 128): "42622"} {
		wantFault(t, c.CreateDatabase(t.Context(), name), code, "")
	}
	must(t, 0, c.CreateDatabase(t.Context(), "empty"))
	names, err := c.Databases(t.Context())
	if got := fmt.Sprint(must(t, names, err)); got != "[empty public shop]" {
		t.Error(got)
	}
	tables, err := c.Tables(t.Context(), "empty")
	if len(must(t, tables, err)) != 0 {
		t.Error(tables)
	}
	for _, n := range []string{"b", "a"} {
		_, err := c.CreateTable(t.Context(), keyed("shop", n))
		must(t, 0, err)
	}
	tables, err = c.Tables(t.Context(), "shop")
	if len(must(t, tables, err)) != 2 || tables[0].Name != "a" {
		t.Error(tables)
	}
	_, err = c.CreateTable(t.Context(), keyed("shpo", "t"))
	wantFault(t, err, "3F000", `mean "shop"`)
	wantFault(t, c.DropDatabase(t.Context(), "shop", false), "2BP01", "CASCADE")
	wantFault(t, c.DropDatabase(t.Context(), "public", true), "2BP01", "default")
	wantFault(t, c.DropDatabase(t.Context(), "none", true), "3F000", "none")
	must(t, 0, c.DropTable(t.Context(), "shop", "a")) // leaves its mark
	must(t, 0, c.DropDatabase(t.Context(), "shop", true))
	must(t, 0, c.DropDatabase(t.Context(), "empty", false))
	names, err = c.Databases(t.Context())
	if got := fmt.Sprint(must(t, names, err)); got != "[public]" || listing(t, s, "") != "" || l.names() != "" {
		t.Errorf("%s, files %q, topics %q", got, listing(t, s, ""), l.names())
	}

	// Nothing that is not ours is removed.
	must(t, 0, s.Put(t.Context(), "mine.db/notes/readme", nil))
	wantFault(t, c.DropDatabase(t.Context(), "mine", true), "55006", "mine.db/notes/readme")
	golden := open(t, goldenWarehouse(t), l)
	wantFault(t, golden.DropTable(t.Context(), "g", "upserts"), "0A000", "another engine")
	wantFault(t, golden.DropDatabase(t.Context(), "g", true), "0A000", "another engine")
}

// TestDamaged: one bad schema file is one unreadable table.
func TestDamaged(t *testing.T) {
	s := objstore.NewMem()
	c := open(t, s, newLog())
	_, err := c.CreateTable(t.Context(), keyed("public", "good"))
	must(t, 0, err)
	for name, body := range map[string]string{"bad": "{", "newer": `{"version":4,"id":0,"fields":[]}`, "other": `{"version":3,"id":7,"fields":[{"id":0,"name":"a","type":"INT"}]}`} {
		must(t, 0, s.Put(t.Context(), "public.db/"+name+"/schema/schema-0", []byte(body)))
	}
	must(t, 0, s.Put(t.Context(), "public.db/nothing/readme", nil))
	tables, err := c.Tables(t.Context(), "public")
	if len(must(t, tables, err)) != 4 {
		t.Fatal(tables)
	}
	for i, code := range []string{"XX001", "ok", "0A000", "XX001"} {
		wantFault(t, tables[i].Unreadable, code, "")
	}
	wantFault(t, tables[0].Writable(), "0A000", "")
	_, err = c.CreateTable(t.Context(), keyed("public", "bad"))
	wantFault(t, err, "42P07", "bad")
	// A newer server's option makes our own table unreadable, not wrong.
	raw, err := s.Get(t.Context(), "public.db/good/schema/schema-0")
	must(t, raw, err)
	changed := strings.Replace(string(raw), `"write-only" : "true"`, `"write-only" : "true", "dtstore.codec" : "2"`, 1)
	must(t, 0, s.Put(t.Context(), "public.db/good/schema/schema-0", []byte(changed)))
	tab, err := c.Table(t.Context(), "public", "good")
	wantFault(t, must(t, tab, err).Unreadable, "0A000", "dtstore.codec")
}

// TestHalfMade: whoever finds a schema without snapshot puts it; a schema whose
// log is gone is no table.
func TestHalfMade(t *testing.T) {
	s, l := objstore.NewMem(), newLog()
	c := open(t, s, l)
	tab, err := c.CreateTable(t.Context(), keyed("public", "t"))
	must(t, tab, err)
	schema, err := s.Get(t.Context(), "public.db/t/schema/schema-0")
	must(t, schema, err)
	for o := range s.List(t.Context(), "public.db/t/snapshot/") {
		must(t, 0, s.Delete(t.Context(), o.Key))
	}
	found, err := open(t, s, l).Table(t.Context(), "public", "t")
	first, err2 := c.History(must(t, found, err)).Latest(t.Context())
	if must(t, first, err2).ID != 1 {
		t.Error(first.ID)
	}
	must(t, 0, c.DropTable(t.Context(), "public", "t"))

	must(t, 0, s.Put(t.Context(), "public.db/t/schema/schema-0", schema)) // a put that arrives now
	_, err = c.Table(t.Context(), "public", "t")
	wantFault(t, err, "42P01", "")
	must(t, 0, c.Recover(t.Context()))
	if left := listing(t, s, ""); left != "public.db/t/snapshot/dropped" {
		t.Error(left)
	}
	must(t, 0, s.Put(t.Context(), "public.db/t/schema/schema-0", schema))
	tab, err = c.CreateTable(t.Context(), keyed("public", "t"))
	must(t, tab, err)
	must(t, 0, s.Put(t.Context(), "public.db/t/schema/schema-0", schema)) // and one that arrives after that
	found, err = c.Table(t.Context(), "public", "t")
	if must(t, found, err).Topic != tab.Topic || found.Unreadable != nil {
		t.Errorf("%+v", found)
	}
}

// TestKafkaAway: a DROP that cannot end does not begin, a CREATE leaves nothing.
func TestKafkaAway(t *testing.T) {
	s, l := objstore.NewMem(), newLog()
	c := open(t, s, l)
	_, err := c.CreateTable(t.Context(), keyed("public", "t"))
	must(t, 0, err)
	before := listing(t, s, "")
	l.broken = func(string) error { return table.Errorf("57P03", "Kafka does not answer") }
	wantFault(t, c.DropTable(t.Context(), "public", "t"), "57P03", "Kafka")
	_, err = c.CreateTable(t.Context(), keyed("public", "u"))
	wantFault(t, err, "57P03", "Kafka")
	if after := listing(t, s, ""); after != before {
		t.Errorf("%q, before %q", after, before)
	}
	tab, err := open(t, s, l).Table(t.Context(), "public", "t")
	must(t, tab, err)

	// The topic outlives its table, and goes with the next CREATE.
	l.broken = func(op string) error {
		if op == "delete" {
			return table.Errorf("57P03", "Kafka does not answer")
		}
		return nil
	}
	wantFault(t, c.DropTable(t.Context(), "public", "t"), "57P03", "topic")
	l.used["public.t"] = true
	l.broken = func(string) error { return nil }
	next, err := c.CreateTable(t.Context(), keyed("public", "t"))
	if must(t, next, err).Topic.ID == tab.Topic.ID {
		t.Error("the old topic is used again")
	}
}

// TestConcurrent: of many creators of one name one wins; readers never see half
// a table while it comes and goes.
func TestConcurrent(t *testing.T) {
	s, l := objstore.NewMem(), newLog()
	c, err := catalog.Open(t.Context(), catalog.Options{Store: s, Log: l})
	must(t, 0, err)
	var wg sync.WaitGroup
	for round := range 20 {
		results := make([]error, 4)
		for i := range results {
			wg.Go(func() { _, results[i] = c.CreateTable(t.Context(), keyed("public", "t")) })
		}
		for range 3 {
			wg.Go(func() {
				for range 20 {
					tab, err := c.Table(t.Context(), "public", "t")
					if err == nil && (tab.Unreadable != nil || tab.Topic.ID == "") {
						t.Errorf("%+v", tab)
					} else if err != nil && table.SQLState(err) != "42P01" {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		won := 0
		for _, err := range results {
			if err == nil {
				won++
			} else if table.SQLState(err) != "42P07" {
				t.Error(err)
			}
		}
		tab, err := c.Table(t.Context(), "public", "t")
		if won != 1 || err != nil {
			t.Fatalf("round %d: %d winners of %v, %v", round, won, results, err)
		}
		if _, err := c.History(tab).Latest(t.Context()); err != nil {
			t.Fatal(err)
		}
		for i := range results {
			wg.Go(func() { results[i] = c.DropTable(t.Context(), "public", "t") })
		}
		wg.Wait()
		for _, err := range results {
			if err != nil && table.SQLState(err) != "42P01" {
				t.Error(err)
			}
		}
		if _, err := c.Table(t.Context(), "public", "t"); table.SQLState(err) != "42P01" {
			t.Errorf("round %d: after DROP: %v", round, err)
		}
	}
	if left := listing(t, s, ""); left != "public.db/t/snapshot/dropped" || l.names() != "" {
		t.Errorf("left %q, topics %q", left, l.names())
	}
}

// TestFresh: what others change is seen once the cached schema is checked.
func TestFresh(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	s, l := objstore.NewMem(), newLog()
	c, err := catalog.Open(t.Context(), catalog.Options{Store: s, Log: l, Now: func() time.Time { return now }})
	must(t, 0, err)
	_, err = c.CreateTable(t.Context(), keyed("public", "t"))
	must(t, 0, err)
	other := open(t, s, l)
	_, err = other.SetOptions(t.Context(), "public", "t", map[string]string{"log.retention": "7 s"}, nil)
	must(t, 0, err)
	for range 2 {
		tab, err := c.Table(t.Context(), "public", "t")
		if must(t, tab, err).Schema.ID != 0 {
			t.Error("checked too early")
		}
	}
	now = now.Add(time.Second)
	tab, err := c.Table(t.Context(), "public", "t")
	if must(t, tab, err).Options.LogRetention != 7*time.Second {
		t.Error("not seen")
	}
	must(t, 0, other.DropTable(t.Context(), "public", "t"))
	now = now.Add(time.Second)
	if _, err := c.Table(t.Context(), "public", "t"); table.SQLState(err) != "42P01" {
		t.Error(err)
	}
	if _, err := c.History(tab).Latest(t.Context()); !errors.Is(err, snapshot.ErrDropped) {
		t.Error(err)
	}
}
