//go:build peers

package interop_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"dtstore/tests/agree"
	"dtstore/tests/dtest"
)

// s3 is a running S3 server with one bucket.
type s3 struct {
	dir, endpoint string
	port          int
}

var s3Env = []string{"AWS_ACCESS_KEY_ID=dtstore", "AWS_SECRET_ACCESS_KEY=dtstoresecret", "AWS_REGION=us-east-1"}

func startS3(t testing.TB, dir string) *s3 {
	t.Helper()
	s := &s3{dir: dir, port: dtest.FreePort(t)}
	t.Cleanup(func() { end(t, "s3.sh", dir) })
	s.start(t)
	// A folder among the objects is a bucket to this server.
	if err := os.Mkdir(filepath.Join(dir, "objects", "tables"), 0o755); err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *s3) start(t testing.TB) {
	t.Helper()
	s.endpoint = strings.TrimSpace(script(t, "", nil, "s3.sh", "start", s.dir, fmt.Sprint(s.port)))
}

func (s *s3) args() []string {
	return []string{"--warehouse", "s3://tables/house", "--s3-endpoint", s.endpoint, "--s3-region", "us-east-1", "--s3-path-style"}
}

// ledger is what one writer was told.
type ledger struct {
	yes, no, unknown map[int]bool
}

// TestRealParts is one table's life on Apache Kafka and S3, each of which is
// killed in the middle, as is the server.
func TestRealParts(t *testing.T) {
	for _, c := range []struct {
		name      string
		kafka, s3 bool
	}{{"kafka and s3", true, true}, {"embedded and s3", false, true}, {"kafka and folder", true, false}} {
		t.Run(c.name, func(t *testing.T) { life(t, c.kafka, c.s3) })
	}
}

// house is a server and what it stands on.
type house struct {
	t        *testing.T
	o        dtest.Options
	s        *dtest.Server
	kafkaDir string
	kafkaAt  int
	s3       *s3
}

func (h *house) start() {
	h.t.Helper()
	h.s = dtest.Start(h.t, h.o)
}

// conn is a connection of its own.
func (h *house) conn() *client { return connect(h.t, h.s) }

func life(t *testing.T, withKafka, withS3 bool) {
	dir := t.TempDir()
	h := &house{t: t, o: dtest.Options{Data: filepath.Join(dir, "data"), Env: s3Env, Port: dtest.FreePort(t), Args: []string{"--checkpoint-interval", "2s"}}}
	if withKafka {
		h.kafkaDir, h.kafkaAt = filepath.Join(dir, "kafka"), dtest.FreePort(t)
		h.o.Args = append(h.o.Args, "--kafka", kafka(t, h.kafkaDir, h.kafkaAt))
		h.o.KafkaPort = -1
	}
	if withS3 {
		h.s3 = startS3(t, filepath.Join(dir, "s3"))
		h.o.Args = append(h.o.Args, h.s3.args()...)
	}
	h.start()
	c := h.conn()
	c.must("CREATE TABLE k (id bigint PRIMARY KEY, v text, n int)")
	c.must("CREATE TABLE b (id bigint, part text, v double precision, PRIMARY KEY (id, part) NOT ENFORCED) PARTITIONED BY (part) WITH ('bucket' = '3')")
	c.must("CREATE TABLE w (id bigint PRIMARY KEY, n int) WITH ('bucket' = '2')")
	c.must("CREATE TABLE a (id bigint, v text)")
	c.must("INSERT INTO k SELECT i, 'v' || i, i FROM generate_series(1, 1000) t(i)")
	c.must("INSERT INTO b SELECT i, 'p' || (i % 3), i FROM generate_series(1, 1000) t(i)")
	c.must("INSERT INTO a VALUES (1, 'x'), (1, 'x'), (2, NULL)")
	c.must("CHECKPOINT")
	c.must("UPDATE k SET n = n + 10 WHERE id <= 500")
	c.must("DELETE FROM k WHERE id > 990")
	c.must("BEGIN; UPDATE b SET v = -v WHERE id <= 10; INSERT INTO k VALUES (-1, 'both', 0); INSERT INTO a VALUES (3, 'both'); COMMIT")
	c.must("CHECKPOINT")
	for _, tb := range []string{"k", "b", "a"} {
		c.must("ALTER TABLE " + tb + " COMPACT")
	}
	c.must("UPDATE k SET v = 'tail' WHERE id = 7")
	h.same("written")

	l := &ledger{yes: map[int]bool{}, no: map[int]bool{}, unknown: map[int]bool{}}
	h.underWrites(l, "the server", func() {
		h.s.Kill()
		h.start()
	})
	h.same("the server was killed")
	if withKafka {
		h.killKafka(l)
	}
	if withS3 {
		h.killS3(l)
	}
	if code := h.s.Stop(); code != 0 {
		t.Errorf("exit status %d\n%s", code, h.s.Output())
	}
	h.start()
	h.same("drained and started")
	h.balance(l)
	c = h.conn()
	c.must("CHECKPOINT")
	c.must("ALTER TABLE w COMPACT")
	h.balance(l)
	h.readByPypaimon(withS3, dir)
	for _, tb := range []string{"k", "b", "w", "a"} {
		c.must("DROP TABLE " + tb)
	}
	if strings.Contains(h.s.Output(), "panic") {
		t.Errorf("output:\n%s", h.s.Output())
	}
}

// same checks the rows of the fixed part.
func (h *house) same(when string) {
	h.t.Helper()
	c := h.conn()
	defer c.conn.Close(context.Background())
	for sql, want := range map[string]string{
		"SELECT count(*), sum(n), count(CASE WHEN v = 'tail' THEN 1 END) FROM k": "991|495545|1", // 1..990 summed, 500 times 10, and one more row of 0
		"SELECT n, v FROM k WHERE id = 7":                                        "17|tail",
		"SELECT count(*), sum(v) FROM b":                                         "1000|500390",
		"SELECT v FROM b WHERE id = 9 AND part = 'p0'":                           "-9",
		"SELECT count(*), count(v), max(id) FROM a":                              "4|3|3",
	} {
		results, err := c.conn.PgConn().Exec(h.t.Context(), sql).ReadAll()
		if err != nil {
			h.t.Errorf("%s: %s: %v", when, sql, err)
			continue
		}
		var got []string
		for _, row := range results[0].Rows {
			var cells []string
			for _, v := range row {
				cells = append(cells, string(v))
			}
			got = append(got, strings.Join(cells, "|"))
		}
		if strings.Join(got, "\n") != want {
			h.t.Errorf("%s: %s: %q, not %q", when, sql, got, want)
		}
	}
}

// underWrites lets four writers go on while something is done to the server,
// and until it takes writes again.
func (h *house) underWrites(l *ledger, what string, do func()) {
	h.t.Helper()
	ctx, cancel := context.WithCancel(h.t.Context())
	var mu sync.Mutex // guards l
	var wg sync.WaitGroup
	url := h.s.URL()
	base := 1 + len(l.yes) + len(l.no) + len(l.unknown)
	next := func() int { mu.Lock(); defer mu.Unlock(); base++; return base }
	for range 4 {
		wg.Go(func() {
			var conn *pgx.Conn
			for ctx.Err() == nil {
				if conn == nil || conn.IsClosed() {
					var err error
					if conn, err = pgx.Connect(context.WithoutCancel(ctx), url); err != nil {
						time.Sleep(50 * time.Millisecond)
						continue
					}
				}
				id := next()
				limit, done := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
				_, err := conn.Exec(limit, fmt.Sprintf("INSERT INTO w VALUES (%d, 1), (%d, 1)", id, -id), pgx.QueryExecModeSimpleProtocol)
				done()
				mu.Lock()
				var e *pgconn.PgError
				switch {
				case err == nil:
					l.yes[id] = true
				case errors.As(err, &e) && e.Code != "08007" && e.Code != "40003" && e.Code != "57P01":
					l.no[id] = true
					// 57P0x: Kafka or the server is away; 58030: the warehouse is.
					if !strings.HasPrefix(e.Code, "57P0") && !(e.Code == "58030" && what == "S3") {
						h.t.Errorf("%s was killed: a write was answered %s: %s", what, e.Code, e.Message)
					}
				default:
					l.unknown[id] = true
				}
				mu.Unlock()
			}
			if conn != nil {
				conn.Close(context.Background())
			}
		})
	}
	time.Sleep(700 * time.Millisecond)
	do()
	time.Sleep(700 * time.Millisecond)
	cancel()
	wg.Wait()
	h.t.Logf("%s: %d writes acknowledged, %d refused, %d unknown, so far", what, len(l.yes), len(l.no), len(l.unknown))
	h.balance(l)
}

// balance checks that w holds what was acknowledged, nothing that was refused,
// and each write whole.
func (h *house) balance(l *ledger) {
	h.t.Helper()
	c := h.conn()
	defer c.conn.Close(context.Background())
	rows, err := c.conn.Query(h.t.Context(), "SELECT id, n FROM w", pgx.QueryExecModeSimpleProtocol)
	if err != nil {
		h.t.Fatal(err)
	}
	seen := map[int]int{}
	for rows.Next() {
		var id, n int
		if err := rows.Scan(&id, &n); err != nil {
			h.t.Fatal(err)
		}
		seen[id]++
	}
	if err := rows.Err(); err != nil {
		h.t.Fatal(err)
	}
	for id, n := range seen {
		if n != 1 || seen[-id] != 1 || l.no[max(id, -id)] {
			h.t.Errorf("row %d: %d times, its twin %d times, refused %v", id, n, seen[-id], l.no[max(id, -id)])
		}
	}
	for id := range l.yes {
		if seen[id] != 1 {
			h.t.Errorf("row %d was acknowledged and is gone", id)
		}
	}
}

// until tries until it works.
func (h *house) until(what string, try func() error) {
	h.t.Helper()
	began := time.Now()
	for end := began.Add(90 * time.Second); ; time.Sleep(200 * time.Millisecond) {
		err := try()
		if err == nil {
			h.t.Logf("%s after %v", what, time.Since(began).Round(100*time.Millisecond))
			return
		}
		if time.Now().After(end) {
			h.t.Fatalf("%s: still %v\n%s", what, err, h.s.Output())
		}
	}
}

func (h *house) killKafka(l *ledger) {
	h.t.Helper()
	h.underWrites(l, "Kafka", func() {
		c := h.conn()
		script(h.t, "", nil, "kafka.sh", "kill", h.kafkaDir)
		names := func(sql, code string) {
			h.t.Helper()
			began := time.Now()
			err := c.exec(sql)
			var e *pgconn.PgError
			if !errors.As(err, &e) || e.Code != code || !strings.Contains(e.Message+e.Detail, "Kafka") {
				h.t.Errorf("Kafka is away: %v, not %s naming it", err, code)
			}
			if took := time.Since(began); took > 30*time.Second {
				h.t.Errorf("Kafka is away: %s took %v to fail", sql, took)
			}
		}
		names("SELECT count(*) FROM k", "57P03")
		names("SELECT n FROM k WHERE id = 7", "57P03")
		names("INSERT INTO k VALUES (7000, 'lost', 1)", "57P03")
		c.must("SET dtstore.read = 'snapshot'")
		if got := c.rows(fixtures()[0].types()[:1], "SELECT count(*) FROM a"); !slices.Equal(got, []string{"4"}) {
			h.t.Errorf("from files: %q", got)
		}
		c.must("RESET dtstore.read")
		script(h.t, "", nil, "kafka.sh", "start", h.kafkaDir, fmt.Sprint(h.kafkaAt))
		h.until("Kafka is back, reads and writes work", func() error {
			return errors.Join(c.exec("SELECT count(*) FROM k"), c.exec("INSERT INTO k VALUES (7001, 'probe', 0)"), c.exec("DELETE FROM k WHERE id = 7001"))
		})
		if got := c.rows(fixtures()[0].types()[:1], "SELECT count(*) FROM k WHERE id = 7000"); !slices.Equal(got, []string{"0"}) {
			h.t.Errorf("what was refused is there: %q", got)
		}
	})
	h.same("Kafka was killed")
}

func (h *house) killS3(l *ledger) {
	h.t.Helper()
	h.underWrites(l, "S3", func() {
		c := h.conn()
		script(h.t, "", nil, "s3.sh", "kill", h.s3.dir)
		began := time.Now()
		limit, cancel := context.WithTimeout(h.t.Context(), time.Minute)
		_, err := c.conn.Exec(limit, "CHECKPOINT", pgx.QueryExecModeSimpleProtocol)
		cancel()
		var e *pgconn.PgError
		if !errors.As(err, &e) || e.Code == "XX000" {
			h.t.Errorf("S3 is away: CHECKPOINT answers %v after %v", err, time.Since(began))
		} else {
			h.t.Logf("S3 is away: CHECKPOINT answers %s %s; %s (%v)", e.Code, e.Message, e.Hint, time.Since(began).Round(100*time.Millisecond))
		}
		time.Sleep(time.Second) // checkpoints by the clock fail too
		h.s3.start(h.t)
		c = h.conn()
		h.until("S3 is back, checkpoints work", func() error {
			if c.conn.IsClosed() {
				c = h.conn()
			}
			return errors.Join(c.exec("CHECKPOINT"), c.exec("SELECT count(*) FROM b"))
		})
	})
	h.same("S3 was killed")
}

// readByPypaimon checks that the files are whole for another reader.
func (h *house) readByPypaimon(withS3 bool, dir string) {
	h.t.Helper()
	warehouse, env := filepath.Join(dir, "data", "warehouse"), []string(nil)
	if withS3 {
		warehouse, env = "s3://tables/house", []string{"S3_ENDPOINT=" + h.s3.endpoint, "S3_ACCESS_KEY=dtstore", "S3_SECRET_KEY=dtstoresecret"}
	}
	f := &fixture{name: "w", columns: []column{col("id", "BIGINT"), col("n", "INT")}}
	var got []string
	for _, row := range pypaimon(h.t, warehouse, env, []request{{Table: "public.w"}})[0] {
		line, err := agree.Row(f.types(), []*string{row["id"], row["n"]})
		if err != nil {
			h.t.Fatal(err)
		}
		got = append(got, line)
	}
	c := h.conn()
	defer c.conn.Close(context.Background())
	if diff := agree.Diff(got, c.rows(f.types(), "SELECT id, n FROM w")); diff != "" {
		h.t.Errorf("w: + pypaimon's, - ours:%s", diff)
	}
}
