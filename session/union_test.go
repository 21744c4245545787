package session_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"dtstore/bucket"
)

// TestUnionOfFilesAndTail is B03 (deduplicate) and B11: files and the tail of
// the log together, from memory and from the log itself, as rows and merged.
func TestUnionOfFilesAndTail(t *testing.T) {
	t.Parallel()
	for _, noMemory := range []bool{false, true} {
		h := open(t, options{noMemory: noMemory, bucket: bucket.Options{Checkpoint: time.Hour}})
		c := h.connect()
		for _, extra := range []string{"", ", fine timestamp(9)"} {
			for _, part := range []string{"", "int", "date", "timestamp", "text"} {
				t.Run(fmt.Sprintf("memory %v, partition %q%s", !noMemory, part, extra), func(t *testing.T) {
					key, by, p := "id", "", ""
					if part != "" {
						key, by, p = "p, id", " PARTITIONED BY (p)", "p "+part+" NOT NULL, "
					}
					exec1(t, c, "DROP TABLE IF EXISTS t")
					exec1(t, c, "CREATE TABLE t ("+p+"id int NOT NULL, v int"+extra+", PRIMARY KEY ("+key+"))"+by)
					value := map[string]string{"": "", "int": "7", "date": "'2024-02-29'", "timestamp": "'2024-02-29 12:30:00'", "text": "'x y'"}[part]
					put := func(id, v int) {
						t.Helper()
						row := fmt.Sprintf("%d, %d", id, v)
						cols := "id, v"
						if part != "" {
							row, cols = value+", "+row, "p, "+cols
						}
						exec1(t, c, "INSERT INTO t ("+cols+") VALUES ("+row+")")
					}
					check := func(want string) {
						t.Helper()
						if got := rows(t, c, "SELECT id, v FROM t ORDER BY id"); got != want {
							t.Fatalf("got %s\nwant %s", got, want)
						}
					}
					check("") // both empty
					for i := range 3 {
						put(i, i)
					}
					check("0 0; 1 1; 2 2") // no file
					exec1(t, c, "CHECKPOINT")
					check("0 0; 1 1; 2 2") // no tail
					for i := 3; i < 6; i++ {
						put(i, i)
					}
					check("0 0; 1 1; 2 2; 3 3; 4 4; 5 5") // (a)
					put(1, 100)
					put(-1, -1)
					put(11, 11)
					check("-1 -1; 0 0; 1 100; 2 2; 3 3; 4 4; 5 5; 11 11") // (c)
					exec1(t, c, "DELETE FROM t WHERE id IN (0, 2, 5)")
					check("-1 -1; 1 100; 3 3; 4 4; 11 11") // (b)
					if got := rows(t, c, "SELECT id FROM t WHERE v = 1"); got != "" {
						t.Fatalf("an old version came back: %s", got)
					}
					exec1(t, c, "CHECKPOINT")
					// The old version's file matches, the newer one's statistics do not (seam R3).
					for q, want := range map[string]string{"v = 1": "", "v < 2": "-1", "v = 100": "1", "id = 1": "1", "id = 2": "", "v = 2": "", "id >= 4 AND v > 3": "4; 11"} {
						if got := rows(t, c, "SELECT id FROM t WHERE "+q+" ORDER BY id"); got != want {
							t.Fatalf("%s: got %s, want %s", q, got, want)
						}
					}
					if got := rows(t, c, "SELECT count(*), count(v) FROM t"); got != "5 5" {
						t.Fatal(got)
					}
					exec1(t, c, "ALTER TABLE t COMPACT")
					check("-1 -1; 1 100; 3 3; 4 4; 11 11")
					if got := rows(t, c, "SELECT 1 FROM t WHERE EXISTS (SELECT 1 FROM t)"); got != "1; 1; 1; 1; 1" {
						t.Fatal(got)
					}
					exec1(t, c, "DELETE FROM t")
					check("")
					exec1(t, c, "CHECKPOINT")
					check("")
					exec1(t, c, "ALTER TABLE t COMPACT")
					check("")
				})
			}
		}
		h.stop()
	}
}

// TestOuterJoinsAreNotPruned: a WHERE over an outer join's result is not one
// over its tables.
func TestOuterJoinsAreNotPruned(t *testing.T) {
	t.Parallel()
	h := open(t, options{})
	c := h.connect()
	exec1(t, c, "CREATE TABLE a (id int primary key, v int) WITH ('bucket' = '2')")
	exec1(t, c, "CREATE TABLE b (id int primary key, v int) WITH ('bucket' = '3')")
	for _, q := range []string{"INSERT INTO a VALUES (1, 1), (2, 2), (3, NULL)", "CHECKPOINT", "INSERT INTO b VALUES (1, 10), (2, NULL)", "CHECKPOINT", "INSERT INTO b VALUES (5, 50)"} {
		exec1(t, c, q)
		if q == "CHECKPOINT" {
			continue
		}
	}
	for q, want := range map[string]string{
		"SELECT a.id FROM a LEFT JOIN b ON a.id = b.id WHERE b.id IS NULL ORDER BY 1":                                                                                       "3",
		"SELECT a.id FROM a LEFT JOIN b ON a.id = b.id AND b.v = 10 WHERE b.id IS NULL ORDER BY 1":                                                                          "2; 3",
		"SELECT a.id FROM a LEFT JOIN b ON a.id = b.id AND a.v = 1 ORDER BY 1":                                                                                              "1; 2; 3",
		"SELECT b.id FROM a RIGHT JOIN b USING (id) WHERE a.id IS NULL":                                                                                                     "5",
		"SELECT a.id, b.id FROM a FULL JOIN b ON a.id = b.id WHERE a.v IS NULL ORDER BY a.id":                                                                               "3 <nil>; <nil> 5",
		"SELECT id FROM a WHERE NOT EXISTS (SELECT 1 FROM b WHERE b.id = a.id) ORDER BY 1":                                                                                  "3",
		"SELECT id FROM a WHERE id NOT IN (SELECT id FROM b WHERE id = 1) ORDER BY 1":                                                                                       "2; 3",
		"SELECT id FROM a WHERE id = 1 OR v = 2 ORDER BY 1":                                                                                                                 "1; 2",
		"SELECT count(*) FROM a WHERE id = 1 UNION ALL SELECT count(*) FROM a":                                                                                              "1; 3",
		"SELECT x.id FROM a x, a y WHERE x.id = 1 AND y.id = 2":                                                                                                             "1",
		"SELECT a.id FROM a JOIN LATERAL (SELECT v FROM b WHERE b.id = a.id) s ON true WHERE a.id = 2":                                                                      "2",
		"SELECT id FROM (SELECT id, row_number() OVER (ORDER BY id DESC) AS n FROM a) s WHERE n = 1 AND id > 0":                                                             "3",
		"SELECT id FROM (SELECT id FROM a ORDER BY id LIMIT 1) s WHERE id = 2":                                                                                              "",
		"SELECT id, n FROM (SELECT id, count(*) OVER () AS n FROM a) s WHERE id = 2":                                                                                        "2 3",
		"WITH w AS (SELECT * FROM a) SELECT (SELECT count(*) FROM w), id FROM w WHERE id = 1":                                                                               "3 1",
		"SELECT (SELECT max(id) FROM a), id FROM a WHERE id = 1":                                                                                                            "3 1",
		"SELECT (SELECT max(v) FROM b) FROM a WHERE id = 1":                                                                                                                 "50",
		"SELECT id, (SELECT sum(v) FROM b WHERE b.id = 5)::int, (SELECT count(*) FROM a WHERE id > 1) FROM a WHERE EXISTS (SELECT 1 FROM b WHERE b.id = a.id AND b.id = 1)": "1 50 2",
		"SELECT id FROM a WHERE id = (SELECT max(id) FROM a WHERE v = 2)":                                                                                                   "2",
		"SELECT id FROM a WHERE id = 1 AND id = 2":                                                                                                                          "",
		"SELECT id FROM a WHERE id IN (1, 1, 2) AND v = 2":                                                                                                                  "2",
		"SELECT id FROM a WHERE id = 5.0 OR id + 0 = 2":                                                                                                                     "2",
		"SELECT id FROM a WHERE id = '2'":                                                                                                                                   "2",
		"SELECT id FROM a WHERE id = 2::bigint":                                                                                                                             "2",
		"SELECT id FROM a WHERE id = 2.0":                                                                                                                                   "2",
		"SELECT id FROM a WHERE id = 2.5":                                                                                                                                   "",
		"SELECT id FROM a WHERE id < 2.5 ORDER BY 1":                                                                                                                        "1; 2",
		"SELECT id FROM a WHERE abs(id) = 2":                                                                                                                                "2",
		"SELECT id FROM a WHERE id = NULL":                                                                                                                                  "",
		"SELECT *, v AS w FROM a WHERE id = 1":                                                                                                                              "1 1 1",
		"SELECT z.v FROM a AS z WHERE z.id = 2":                                                                                                                             "2",
	} {
		if got := rows(t, c, q); got != want {
			t.Errorf("%s: got %s, want %s", q, got, want)
		}
	}
	for _, q := range []string{"SELECT b.id FROM a WHERE id = 1", "SELECT a.id FROM a AS z WHERE z.id = 1", "SELECT nosuch FROM a WHERE id = 1", "SELECT id FROM a WHERE nosuch = 1 AND id = 1"} {
		if _, err := c.Exec(context.Background(), q); sqlState(err) == "" {
			t.Errorf("%s: no error", q)
		}
	}
	r, err := c.Query(context.Background(), "SELECT *, v AS w FROM a WHERE id = 1")
	if err != nil {
		t.Fatal(err)
	}
	if d := r.FieldDescriptions(); len(d) != 3 || d[2].Name != "w" {
		t.Errorf("columns %v", d)
	}
	r.Close()
}
