//go:build peers

package interop_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"dtstore/table"
	"dtstore/tests/agree"
	"dtstore/tests/dtest"
)

// patience bounds a peer's run, the first of which may fetch it.
const patience = 10 * time.Minute

// script runs one of the peers' scripts and returns its standard output.
func script(t testing.TB, stdin string, env []string, name string, args ...string) string {
	t.Helper()
	out, err := tryScript(t, stdin, env, name, args...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func tryScript(t testing.TB, stdin string, env []string, name string, args ...string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	began := time.Now()
	cmd := exec.CommandContext(ctx, filepath.Join(dtest.Root(t), "peers", name), args...)
	cmd.Env = append(os.Environ(), env...)
	cmd.Stdin = strings.NewReader(stdin)
	cmd.WaitDelay = 10 * time.Second
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	t.Logf("%s %s: %v", name, strings.Join(args, " "), time.Since(began).Round(100*time.Millisecond))
	if err != nil {
		text := errs.String()
		if len(text) > 4000 {
			text = "…" + text[len(text)-4000:]
		}
		return out.String(), fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, text)
	}
	return out.String(), nil
}

// kafka starts Apache Kafka with its data in dir and ends it with the test.
func kafka(t testing.TB, dir string, port int) string {
	t.Helper()
	t.Cleanup(func() { end(t, "kafka.sh", dir) })
	return strings.TrimSpace(script(t, "", nil, "kafka.sh", "start", dir, fmt.Sprint(port)))
}

func end(t testing.TB, name, dir string) {
	out, err := exec.Command(filepath.Join(dtest.Root(t), "peers", name), "kill", dir).CombinedOutput()
	if err != nil {
		t.Errorf("%s kill: %v\n%s", name, err, out)
	}
}

// flink is a file of statements for one run of Flink, with what becomes of the
// answers.
type flink struct {
	text    strings.Builder
	answers []func(t *testing.T, rows []string)
}

func newFlink() *flink {
	f := &flink{}
	f.do("SET 'table.local-time-zone' = 'UTC'")
	f.do("SET 'table.dml-sync' = 'true'")
	return f
}

func (f *flink) do(format string, args ...any) {
	fmt.Fprintf(&f.text, format+";\n", args...)
}

// query adds a query; answer gets its rows as "kind<TAB>cell<TAB>…", escaped.
func (f *flink) query(sql string, answer func(t *testing.T, rows []string)) {
	f.do("%s", sql)
	f.answers = append(f.answers, answer)
}

func (f *flink) run(t *testing.T, flags ...string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "in.sql")
	if err := os.WriteFile(file, []byte(f.text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := tryScript(t, "", nil, "flink-sql.sh", append(flags, "-m", file)...)
	parts := marked(out)
	if err != nil {
		t.Error(err)
		parts = parts[:max(len(parts)-1, 0)]
	} else if len(parts) != len(f.answers) {
		t.Fatalf("%d answers of %d queries", len(parts), len(f.answers))
	}
	for i, rows := range parts {
		f.answers[i](t, rows)
	}
}

// marked cuts output at its "== N" lines.
func marked(out string) (parts [][]string) {
	for line := range strings.Lines(out) {
		line = strings.TrimSuffix(line, "\n")
		// Loggers may print colours in front of the first line.
		if strings.HasPrefix(strings.TrimLeft(line, "\x1b[0m"), "== ") {
			parts = append(parts, nil)
		} else if n := len(parts); n > 0 {
			parts[n-1] = append(parts[n-1], line)
		}
	}
	return parts
}

var unescape = strings.NewReplacer(`\t`, "\t", `\n`, "\n", `\r`, "\r", `\\`, `\`)

// flinkRow splits a row of Flink's into its kind and its cells.
func flinkRow(line string) (kind string, cells []*string) {
	kind, rest, _ := strings.Cut(line, "\t")
	for cell := range strings.SplitSeq(rest, "\t") {
		if cell == `\N` {
			cells = append(cells, nil)
		} else {
			cell = unescape.Replace(cell)
			cells = append(cells, &cell)
		}
	}
	return kind, cells
}

// request is one read with pypaimon.
type request struct {
	Table string     `json:"table"`
	Where [][]string `json:"where,omitempty"`
}

// pypaimon answers requests in one process: per request its rows, a map from
// column to text each.
func pypaimon(t *testing.T, warehouse string, env []string, requests []request) [][]map[string]*string {
	t.Helper()
	var in strings.Builder
	for _, r := range requests {
		line, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		in.Write(append(line, '\n'))
	}
	parts := marked(script(t, in.String(), env, "paimon-read.sh", warehouse, "-"))
	if len(parts) != len(requests) {
		t.Fatalf("pypaimon: %d answers of %d", len(parts), len(requests))
	}
	out := make([][]map[string]*string, len(parts))
	for i, part := range parts {
		for _, line := range part {
			row := map[string]*string{}
			if err := json.Unmarshal([]byte(line), &row); err != nil {
				t.Fatalf("pypaimon: %q: %v", line, err)
			}
			out[i] = append(out[i], row)
		}
	}
	return out
}

// client asks the server in SQL and gets texts.
type client struct {
	t    testing.TB
	conn *pgx.Conn
}

func connect(t testing.TB, s *dtest.Server) *client {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), s.URL())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(context.Background()) })
	return &client{t, conn}
}

func (c *client) exec(sql string) error {
	_, err := c.conn.PgConn().Exec(c.t.Context(), sql).ReadAll()
	if err != nil {
		if len(sql) > 300 {
			sql = sql[:300] + "…"
		}
		return fmt.Errorf("%s: %w", sql, err)
	}
	return nil
}

func (c *client) must(sql string) {
	c.t.Helper()
	if err := c.exec(sql); err != nil {
		c.t.Fatal(err)
	}
}

// rows are canonical.
func (c *client) rows(types []table.Type, sql string) []string {
	c.t.Helper()
	results, err := c.conn.PgConn().Exec(c.t.Context(), sql).ReadAll()
	if err != nil {
		c.t.Fatalf("%s: %v", sql, err)
	}
	var out []string
	for _, row := range results[len(results)-1].Rows {
		cells := make([]*string, len(row))
		for i, v := range row {
			if v != nil {
				s := string(v)
				cells[i] = &s
			}
		}
		line, err := agree.Row(types, cells)
		if err != nil {
			c.t.Fatal(err)
		}
		out = append(out, line)
	}
	return out
}
