package e2e_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// refused starts a server that must not start, and checks the one line that it
// says.
func refused(t *testing.T, data string, want []string, flags ...string) {
	t.Helper()
	s := launch(t, data, flags...)
	if status := s.wait(); status <= 0 {
		t.Fatalf("exit status %d", status)
	}
	text, _ := s.output.text()
	var lines []string
	for line := range strings.Lines(text) {
		if !strings.Contains(line, "level=") {
			lines = append(lines, line)
		}
	}
	if len(lines) != 1 || !strings.HasPrefix(lines[0], "dtserver: ") {
		t.Fatalf("not one line:\n%s", text)
	}
	for _, w := range want {
		if !strings.Contains(lines[0], w) {
			t.Errorf("%q is not in: %s", w, lines[0])
		}
	}
}

func TestRefusedStarts(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed := free.Addr().String()
	free.Close()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	newer := t.TempDir()
	if err := os.WriteFile(filepath.Join(newer, "server.json"), []byte(`{"format":99,"instance":"0193b0a0-0000-7000-8000-000000000000"}`), 0o644); err != nil {
		t.Fatal(err)
	}
	// An S3 service that takes every put, as some do.
	careless := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.Copy(io.Discard, r.Body) }))
	defer careless.Close()
	t.Setenv("AWS_ACCESS_KEY_ID", "test")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "test")

	for _, c := range []struct {
		name  string
		data  string // "": a new folder
		flags []string
		want  []string
	}{
		{"not loopback", "", []string{"--listen", "0.0.0.0:0"}, []string{"--listen 0.0.0.0:0", "no TLS and no authentication", "127.0.0.1"}},
		{"every address", "", []string{"--listen", ":7432"}, []string{"no TLS and no authentication"}},
		{"kafka not loopback", "", []string{"--kafka-listen", "0.0.0.0:0"}, []string{"--kafka-listen 0.0.0.0:0", "no authentication"}},
		{"port taken", "", []string{"--listen", taken.Addr().String()}, []string{"--listen " + taken.Addr().String(), "in use", "choose another port"}},
		{"kafka port taken", "", []string{"--kafka-listen", taken.Addr().String()}, []string{taken.Addr().String(), "in use", "another port"}},
		{"kafka away", "", []string{"--kafka", closed}, []string{"--kafka " + closed, "does not answer", "correct --kafka"}},
		{"s3 away", "", []string{"--warehouse", "s3://b/p", "--s3-endpoint", "http://" + closed, "--s3-path-style"}, []string{"s3://b/p", closed, "--s3-endpoint"}},
		{"s3 without conditions", "", []string{"--warehouse", "s3://b/p", "--s3-endpoint", careless.URL, "--s3-path-style"}, []string{"s3://b/p", "If-None-Match"}},
		{"warehouse is no URL", "", []string{"--warehouse", "s4://b/p"}, []string{"--warehouse", "s3://bucket/prefix"}},
		{"data is a file", file, nil, []string{file, "--data"}},
		{"data under a file", filepath.Join(file, "x"), nil, []string{file, "--data"}},
		{"warehouse cannot be", "", []string{"--warehouse", "/proc/dtserver"}, []string{"--warehouse /proc/dtserver", "choose a folder"}},
		{"warehouse is a file", "", []string{"--warehouse", file}, []string{"--warehouse " + file, "choose a folder"}},
		{"newer data", newer, nil, []string{"newer dtserver", "format 99"}},
		{"too little memory", "", []string{"--memory", "1MB"}, []string{"--memory", "at least"}},
		{"no size", "", []string{"--memory", "much"}, []string{"--memory", "no size"}},
		{"no such flag", "", []string{"--lisen", "x"}, []string{"--lisen", "--help"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			data := c.data
			if data == "" {
				data = t.TempDir()
			}
			refused(t, data, c.want, c.flags...)
		})
	}
}

// A second server on the same data folder, and on the same Kafka and prefix,
// is refused; another prefix is another world.
func TestTwoServers(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	s := run(t, data, "--topic-prefix", "first.", "--kafka", "embedded")
	refused(t, data, []string{data, "in use by another server", "--data"})
	// It waits for as long as a killed server's claim would last.
	refused(t, t.TempDir(), []string{s.kafka, "another server", "--topic-prefix"}, "--kafka", s.kafka, "--topic-prefix", "first.")
	other := run(t, t.TempDir(), "--kafka", s.kafka, "--topic-prefix", "other.")
	do(t, other.connect(t.Context(), t), "CREATE TABLE t (id int PRIMARY KEY)", "INSERT INTO t VALUES (1)")
	do(t, s.connect(t.Context(), t), "CREATE TABLE t (id int PRIMARY KEY)", "INSERT INTO t VALUES (2)")
	want(t, other.connect(t.Context(), t), "SELECT * FROM t", "1\n")
	other.stop()
	// A claim that was let go can be taken at once, one of a killed server when it
	// has ended.
	other = run(t, t.TempDir(), "--kafka", s.kafka, "--topic-prefix", "other.")
	other.kill()
	other = run(t, t.TempDir(), "--kafka", s.kafka, "--topic-prefix", "other.")
	other.stop()
	s.stop()
}

// A hundred tables do not delay the first query.
func TestFirstQuery(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	s := run(t, data)
	c := s.connect(t.Context(), t)
	for i := range 30 {
		do(t, c, fmt.Sprintf("CREATE TABLE t%d (id int PRIMARY KEY)", i), fmt.Sprintf("INSERT INTO t%d VALUES (%d)", i, i))
	}
	s.kill()
	s = run(t, data)
	began := time.Now()
	c = s.connect(t.Context(), t)
	want(t, c, "SELECT * FROM t29", "29\n")
	t.Logf("first query after %v", time.Since(began))
	do(t, c, "CHECKPOINT", "DROP TABLE t29")
	s.stop()
}

func TestAsked(t *testing.T) {
	t.Parallel()
	for flag, want := range map[string]string{"--version": "dtserver ", "--help": "DTSTORE_KAFKA_LISTEN"} {
		s := launch(t, t.TempDir(), flag)
		if status := s.wait(); status != 0 {
			t.Errorf("%s: exit status %d", flag, status)
		}
		if text, _ := s.output.text(); !strings.Contains(text, want) {
			t.Errorf("%s does not say %q:\n%s", flag, want, text)
		}
	}
}

// Flags can be given by the environment.
func TestEnvironment(t *testing.T) {
	t.Setenv("DTSTORE_TOPIC_PREFIX", "env.")
	s := run(t, t.TempDir())
	c := s.connect(t.Context(), t)
	do(t, c, "CREATE TABLE t (id int PRIMARY KEY)")
	if got := rows(t, c, "DESCRIBE DETAIL TABLE t"); !strings.Contains(got, "env.public.t") {
		t.Fatalf("topic has no prefix:\n%s", got)
	}
	s.stop()
}

// A database is dtstore, postgres, one's own name or a schema.
func TestDatabases(t *testing.T) {
	t.Parallel()
	s := run(t, t.TempDir())
	do(t, s.connect(t.Context(), t), "CREATE SCHEMA shop")
	for db, code := range map[string]string{"dtstore": "", "postgres": "", "tester": "", "shop": "", "nowhere": "3D000"} {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		c, err := pgx.Connect(ctx, strings.Replace(s.sql, "/dtstore?", "/"+db+"?", 1))
		if sqlState(err) != code || (err != nil) != (code != "") {
			t.Errorf("database %s: %v", db, err)
		}
		if c != nil {
			c.Close(ctx)
		}
		cancel()
	}
	s.stop()
}
