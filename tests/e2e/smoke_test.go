package e2e_test

import (
	"strings"
	"testing"
)

func TestSmoke(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	s := run(t, data)
	c := s.connect(t.Context(), t)
	do(t, c,
		"CREATE TABLE k (id bigint PRIMARY KEY, v text, n int)",
		"CREATE TABLE b (id bigint, part text, v double precision, PRIMARY KEY (id) NOT ENFORCED) WITH ('bucket' = '4')",
		"CREATE TABLE a (id bigint, v text)",
		"INSERT INTO k VALUES (1, 'one', 1), (2, 'two', 2), (3, 'three', 3)",
		"INSERT INTO b SELECT i, 'p' || i, i * 0.5 FROM generate_series(1, 100) t(i)",
		"INSERT INTO a VALUES (1, 'x'), (1, 'x'), (2, NULL)",
		"UPDATE k SET n = n + 10 WHERE id <= 2",
		"DELETE FROM k WHERE id = 3",
		"DELETE FROM b WHERE id > 90",
	)
	check := func() {
		t.Helper()
		want(t, c, "SELECT * FROM k ORDER BY id", "1 one 11\n2 two 12\n")
		want(t, c, "SELECT n FROM k WHERE id = 2", "12\n")
		want(t, c, "SELECT count(*), sum(v) FROM b", "90 2047.5\n")
		want(t, c, "SELECT id, v FROM a ORDER BY id", "1 x\n1 x\n2 <nil>\n")
	}
	check()
	do(t, c, "CHECKPOINT")
	check()
	do(t, c, "UPDATE b SET v = 0 WHERE id = 1", "UPDATE b SET v = 0.5 WHERE id = 1", "CHECKPOINT", "ALTER TABLE k COMPACT", "ALTER TABLE b COMPACT", "ALTER TABLE a COMPACT")
	check()
	do(t, c, "BEGIN", "INSERT INTO k VALUES (4, 'four', 4)", "DELETE FROM b WHERE id = 2")
	want(t, c, "SELECT count(*) FROM k", "3\n")
	do(t, c, "ROLLBACK")
	check()

	s.stop()
	s = run(t, data)
	c = s.connect(t.Context(), t)
	check()
	do(t, c, "INSERT INTO k VALUES (5, 'five', 5)")
	s.kill()
	s = run(t, data)
	c = s.connect(t.Context(), t)
	want(t, c, "SELECT * FROM k ORDER BY id", "1 one 11\n2 two 12\n5 five 5\n")
	do(t, c, "DELETE FROM k WHERE id = 5")
	check()
	do(t, c, "DROP TABLE k", "DROP TABLE b", "DROP TABLE a")
	want(t, c, "SELECT count(*) FROM pg_catalog.pg_tables WHERE schemaname = 'public'", "0\n")
	s.stop()
	if text, _ := s.output.text(); strings.Contains(text, "level=ERROR") {
		t.Fatalf("errors in the log:\n%s", text)
	}
}
