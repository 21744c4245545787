//go:build peers

package interop_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"dtstore/table"
	"dtstore/tests/agree"
	"dtstore/tests/dtest"
)

// TestTopics has Flink read our topics as changelogs in streaming mode, and
// kcat as plain records: both end with the rows of the table. Once from the
// embedded Kafka, once from Apache Kafka.
func TestTopics(t *testing.T) {
	fl := newFlink()
	dir := t.TempDir()
	broker := kafka(t, filepath.Join(dir, "kafka"), dtest.FreePort(t))
	for _, w := range []struct{ name, kafka string }{{"embedded", ""}, {"apache", broker}} {
		o := dtest.Options{Data: filepath.Join(dir, w.name)}
		if w.kafka != "" {
			o.Args, o.KafkaPort = []string{"--kafka", w.kafka}, -1
		}
		s := dtest.Start(t, o)
		if w.kafka == "" {
			w.kafka = fmt.Sprintf("127.0.0.1:%d", s.KafkaPort)
		}
		topics(t, fl, connect(t, s), w.name, w.kafka)
	}
	fl.run(t, "-s")
}

// topics writes tables of one server and asks for their topics.
func topics(t *testing.T, fl *flink, c *client, name, kafka string) {
	const seed = 7
	r := rand.New(rand.NewPCG(seed, seed))
	for _, f := range fixtures() {
		c.must(f.create())
		c.must(f.insert(r, 16, true))
		if f.key != nil {
			for range 2 {
				for _, statement := range f.change(r) {
					c.must(statement)
				}
				c.must("BEGIN; " + f.insert(r, 16, false) + "; COMMIT")
			}
		}
		// A transaction that never was.
		c.must("BEGIN")
		c.must("INSERT INTO " + f.name + " SELECT * FROM " + f.name)
		c.must("ROLLBACK")
		sameAsModel(t, c, f)
		withKcat(t, f, kafka)
		withFlink(fl, f, name, kafka)
	}
}

func withFlink(fl *flink, f *fixture, name, kafka string) {
	var items, columns []string
	for _, c := range f.columns {
		typ := c.typ
		typ.NotNull = false
		items = append(items, "`"+c.name+"` "+typ.String())
		columns = append(columns, "`"+c.name+"`")
	}
	if f.key != nil {
		items = append(items, "PRIMARY KEY (`"+strings.Join(f.key, "`, `")+"`) NOT ENFORCED")
	}
	fl.do("CREATE TEMPORARY TABLE %s_%s (%s) WITH ('connector' = 'kafka', 'topic' = 'public.%s', 'properties.bootstrap.servers' = '%s', 'format' = 'debezium-json', "+
		"'properties.isolation.level' = 'read_committed', 'scan.startup.mode' = 'earliest-offset', 'scan.bounded.mode' = 'latest-offset')",
		name, f.name, strings.Join(items, ", "), f.name, kafka)
	// An INSERT of ours is an upsert, which only a key can tell; without a key
	// every record is a row of its own.
	fl.do("SET 'table.exec.source.cdc-events-duplicate' = '%t'", f.key != nil)
	types := f.types()
	fl.query(fmt.Sprintf("SELECT %s FROM %s_%s", strings.Join(columns, ", "), name, f.name), func(t *testing.T, rows []string) {
		got := map[string]int{}
		for _, line := range rows {
			kind, cells := flinkRow(line)
			row, err := agree.Row(types, cells)
			if err != nil {
				t.Fatal(err)
			}
			if kind == "+I" || kind == "+U" {
				got[row]++
			} else {
				got[row]--
			}
		}
		var folded []string
		for row, n := range got {
			if n < 0 {
				t.Errorf("%s, %s: Flink retracts a row that it never had: %s", name, f.name, row)
			}
			for range n {
				folded = append(folded, row)
			}
		}
		var want []string
		for _, row := range f.rows {
			row = slices.Clone(row)
			for i, c := range f.columns { // debezium-json drops the fraction of a TIME
				if c.typ.Kind == table.Time && row[i] != agree.Null {
					row[i], _, _ = strings.Cut(row[i], ".")
				}
			}
			want = append(want, f.canonical(t, row))
		}
		if diff := agree.Diff(folded, want); diff != "" {
			t.Errorf("%s, %s, from the topic: + Flink's, - ours:%s", name, f.name, diff)
		}
	})
}

// withKcat folds a topic's records by their keys.
func withKcat(t *testing.T, f *fixture, kafka string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	out, err := exec.CommandContext(ctx, "kcat", "-b", kafka, "-C", "-t", "public."+f.name, "-o", "beginning", "-e", "-q", "-K", "\t", "-X", "isolation.level=read_committed").Output()
	if err != nil {
		t.Fatalf("kcat (Debian: apt-get install kcat): %v", err)
	}
	alive := map[string]bool{}
	for i, line := range strings.Split(strings.TrimSuffix(string(out), "\n"), "\n") {
		key, value, _ := strings.Cut(line, "\t")
		var record struct {
			Op            string
			Before, After map[string]any
		}
		if err := json.Unmarshal([]byte(value), &record); err != nil {
			t.Fatalf("topic of %s: %q: %v", f.name, line, err)
		}
		switch {
		case record.Op == "d" && record.Before != nil && record.After == nil:
			delete(alive, key)
		case record.Op == "u" && record.Before != nil && record.After != nil, record.Op == "c" && record.Before == nil && record.After != nil:
			if f.key == nil {
				key = fmt.Sprint(i)
			}
			alive[key] = true
		default:
			t.Errorf("topic of %s: record %s", f.name, line)
		}
	}
	if len(alive) != len(f.rows) {
		t.Errorf("topic of %s: %d rows by kcat, not %d", f.name, len(alive), len(f.rows))
	}
}
