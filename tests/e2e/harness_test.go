package e2e_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"dtstore/objstore"
	"dtstore/objstore/s3"
)

var (
	seeds      = flag.Int("seeds", 2, "histories of the kill test")
	firstSeed  = flag.Uint64("seed", 0, "first seed; 0 draws one by the clock")
	prebuilt   = flag.String("server", "", "a server that is built already")
	kafkaAddr  = flag.String("kafka", "", "brokers of a real Kafka; empty: the embedded one")
	s3Endpoint = flag.String("s3-endpoint", "", "a real S3 service, credentials in the environment; empty: a folder")
	s3Bucket   = flag.String("s3-bucket", "dtstore-e2e", "a bucket there")
	raceServer = flag.Bool("race-server", false, "build the server with the race detector")
)

// binary is the server, built once.
var binary string

func TestMain(m *testing.M) {
	flag.Parse()
	if *prebuilt != "" {
		binary = *prebuilt
		os.Exit(m.Run())
	}
	os.Exit(buildAndRun(m))
}

func buildAndRun(m *testing.M) int {
	dir, err := os.MkdirTemp("", "dtserver-e2e-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	binary = filepath.Join(dir, "dtserver")
	args := []string{"build", "-o", binary}
	if *raceServer {
		args = append(args, "-race")
	}
	cmd := exec.Command("go", append(args, "dtstore/cmd/dtserver")...)
	if out, err := cmd.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build the server: %v\n%s", err, out)
		return 1
	}
	return m.Run()
}

// patience bounds whatever a test waits for: far above what it takes.
const patience = 60 * time.Second

// server is one process of the server.
type server struct {
	t      testing.TB
	cmd    *exec.Cmd
	output *output
	ended  chan struct{}
	err    error // of Wait, once ended is closed
	sql    string
	kafka  string
}

// output keeps what a process wrote, and tells when it grows.
type output struct {
	mu   sync.Mutex // guards buf and grew
	buf  bytes.Buffer
	grew chan struct{}
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.buf.Write(p)
	close(o.grew)
	o.grew = make(chan struct{})
	return len(p), nil
}

func (o *output) text() (string, <-chan struct{}) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.String(), o.grew
}

// launch starts a process on a data folder and any free ports, and does not
// wait for it. Later flags win.
func launch(t testing.TB, data string, flags ...string) *server {
	t.Helper()
	s := &server{t: t, output: &output{grew: make(chan struct{})}, ended: make(chan struct{})}
	args := []string{"--data", data, "--listen", "127.0.0.1:0", "--kafka-listen", "127.0.0.1:0", "--memory", "1GB"}
	if *kafkaAddr != "" {
		args = append(args, "--kafka", *kafkaAddr, "--topic-prefix", "e2e-"+world(data)+".")
	}
	if *s3Endpoint != "" {
		args = append(args, "--s3-endpoint", *s3Endpoint, "--s3-path-style", "--warehouse", "s3://"+*s3Bucket+"/"+world(data))
	}
	s.cmd = exec.Command(binary, append(args, flags...)...)
	s.cmd.Stdout, s.cmd.Stderr = s.output, s.output
	s.cmd.Env = append(os.Environ(), "GOTRACEBACK=all")
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { s.err = s.cmd.Wait(); close(s.ended) }()
	t.Cleanup(func() {
		s.kill()
		if t.Failed() {
			text, _ := s.output.text()
			t.Logf("output of %s:\n%s", strings.Join(s.cmd.Args, " "), tail(text, 200))
		}
	})
	return s
}

// world names what belongs to a data folder in a Kafka and an S3 of many.
func world(data string) string {
	sum := sha256.Sum256([]byte(data))
	return fmt.Sprintf("%d-%x", os.Getpid(), sum[:6])
}

// warehouse opens the files of a server that was stopped.
func warehouse(t testing.TB, data string) objstore.Store {
	t.Helper()
	var objects objstore.Store
	var err error
	if *s3Endpoint != "" {
		objects, err = s3.Open(t.Context(), s3.Options{Bucket: *s3Bucket, Prefix: world(data), Endpoint: *s3Endpoint, PathStyle: true})
	} else {
		objects, err = objstore.OpenDir(filepath.Join(data, "warehouse"))
	}
	if err != nil {
		t.Fatal(err)
	}
	return objects
}

// tail is the last lines of a text.
func tail(text string, lines int) string {
	all := strings.SplitAfter(text, "\n")
	if len(all) > lines {
		all = append([]string{"…\n"}, all[len(all)-lines:]...)
	}
	return strings.Join(all, "")
}

// run starts a server and waits until it is ready.
func run(t testing.TB, data string, flags ...string) *server {
	t.Helper()
	s := launch(t, data, flags...)
	s.awaitReady()
	return s
}

var (
	sqlAt   = regexp.MustCompile(`psql -h (\S+) -p (\d+)`)
	kafkaAt = regexp.MustCompile(`Kafka +([0-9.]+:\d+)`)
)

func (s *server) awaitReady() {
	s.t.Helper()
	text := s.await("Ctrl-C stops it.")
	if m := sqlAt.FindStringSubmatch(text); m != nil {
		s.sql = fmt.Sprintf("postgres://tester@%s:%s/dtstore?sslmode=disable&connect_timeout=20", m[1], m[2])
	} else {
		s.t.Fatalf("no SQL address in %q", text)
	}
	if m := kafkaAt.FindStringSubmatch(text); m != nil {
		s.kafka = m[1]
	}
}

// await waits until the process has written a text.
func (s *server) await(want string) string {
	s.t.Helper()
	limit := time.After(patience)
	for {
		text, grew := s.output.text()
		if strings.Contains(text, want) {
			return text
		}
		select {
		case <-grew:
		case <-s.ended:
			text, _ := s.output.text()
			if strings.Contains(text, want) {
				return text
			}
			s.t.Fatalf("the server ended (%v) before it said %q:\n%s", s.err, want, tail(text, 100))
		case <-limit:
			s.t.Fatalf("the server did not say %q", want)
		}
	}
}

// kill ends the process as a power switch does, if it still runs.
func (s *server) kill() {
	s.cmd.Process.Kill()
	<-s.ended
}

// wait gives the exit status of a process that ends by itself.
func (s *server) wait() int {
	s.t.Helper()
	select {
	case <-s.ended:
	case <-time.After(patience):
		s.cmd.Process.Signal(syscall.SIGQUIT)
		<-s.ended
		s.t.Fatal("the server did not end; its goroutines are in its output")
	}
	return s.cmd.ProcessState.ExitCode()
}

// stop asks the server to end, and wants it to end well.
func (s *server) stop() {
	s.t.Helper()
	s.cmd.Process.Signal(syscall.SIGTERM)
	if status := s.wait(); status != 0 {
		text, _ := s.output.text()
		s.t.Fatalf("exit status %d after SIGTERM:\n%s", status, tail(text, 50))
	}
}

// connect opens a connection that ends with the test.
func (s *server) connect(ctx context.Context, t testing.TB) *pgx.Conn {
	t.Helper()
	c, err := pgx.Connect(ctx, s.sql)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		c.Close(ctx)
	})
	return c
}

// do runs statements that must work.
func do(t testing.TB, c *pgx.Conn, statements ...string) {
	t.Helper()
	for _, s := range statements {
		if _, err := c.Exec(t.Context(), s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
}

// rows runs a query and prints each row in a line.
func rows(t testing.TB, c *pgx.Conn, query string, args ...any) string {
	t.Helper()
	r, err := c.Query(t.Context(), query, args...)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	var out strings.Builder
	for r.Next() {
		vs, err := r.Values()
		if err != nil {
			t.Fatalf("%s: %v", query, err)
		}
		fmt.Fprintln(&out, vs...)
	}
	if r.Err() != nil {
		t.Fatalf("%s: %v", query, r.Err())
	}
	return out.String()
}

func want(t testing.TB, c *pgx.Conn, query, rowsWanted string) {
	t.Helper()
	if got := rows(t, c, query); got != rowsWanted {
		t.Fatalf("%s gives\n%swant\n%s", query, got, rowsWanted)
	}
}

// sqlState of an error, "" without one.
func sqlState(err error) string {
	var s interface{ SQLState() string }
	if errors.As(err, &s) {
		return s.SQLState()
	}
	return ""
}
