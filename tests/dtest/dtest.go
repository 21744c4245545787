// Package dtest builds and runs the real server for tests that drive it from
// outside.
package dtest

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

var built = flag.String("server", "", "a built dtserver to test; empty builds one")

// binary is built once for each test process.
var binary = sync.OnceValues(func() (string, error) {
	if *built != "" {
		return filepath.Abs(*built)
	}
	dir, err := os.MkdirTemp("", "dtserver-")
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "dtserver")
	out, err := exec.Command("go", "build", "-o", path, "dtstore/cmd/dtserver").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("build dtserver: %w\n%s", err, out)
	}
	return path, nil
})

// Binary is the path of the built server.
func Binary(t testing.TB) string {
	t.Helper()
	path, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// Root is the repository's folder.
func Root(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	for err == nil {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		if dir == filepath.Dir(dir) {
			break
		}
		dir = filepath.Dir(dir)
	}
	t.Fatal("not in the repository")
	return ""
}

// FreePort is a port that nobody listens on now.
func FreePort(t testing.TB) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

// Options of a server.
type Options struct {
	Data string   // "": a temporary folder
	Args []string // further flags
	Env  []string // further environment
	Port int      // 0: a free one
	// KafkaPort of the embedded Kafka; 0: a free one. -1 with --kafka in Args.
	KafkaPort int
}

// Server is a running server.
type Server struct {
	Port      int
	KafkaPort int
	Data      string

	t     testing.TB
	cmd   *exec.Cmd
	out   *buffer
	ended chan struct{}
	err   error
}

// buffer collects the server's output.
type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// Launch starts a server and does not wait for it.
func Launch(t testing.TB, o Options) *Server {
	t.Helper()
	s := &Server{t: t, Port: o.Port, KafkaPort: o.KafkaPort, Data: o.Data, out: &buffer{}, ended: make(chan struct{})}
	if s.Port == 0 {
		s.Port = FreePort(t)
	}
	if s.Data == "" {
		s.Data = t.TempDir()
	}
	args := []string{"--listen", fmt.Sprintf("127.0.0.1:%d", s.Port), "--data", s.Data}
	if s.KafkaPort >= 0 {
		if s.KafkaPort == 0 {
			s.KafkaPort = FreePort(t)
		}
		args = append(args, "--kafka-listen", fmt.Sprintf("127.0.0.1:%d", s.KafkaPort))
	}
	s.cmd = exec.Command(Binary(t), append(args, o.Args...)...)
	s.cmd.Env = append(os.Environ(), o.Env...)
	s.cmd.Stdout, s.cmd.Stderr = s.out, s.out
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		s.err = s.cmd.Wait()
		close(s.ended)
	}()
	t.Cleanup(s.Kill)
	return s
}

// Start starts a server and returns when it answers.
func Start(t testing.TB, o Options) *Server {
	t.Helper()
	s := Launch(t, o)
	s.Ready(60 * time.Second)
	return s
}

// Ready waits until the server says that it is ready.
func (s *Server) Ready(patience time.Duration) {
	s.t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); {
		select {
		case <-s.ended:
			s.t.Fatalf("the server ended before it was ready: %v\n%s", s.err, s.Output())
		default:
		}
		if strings.Contains(s.Output(), " is ready after ") {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	s.t.Fatalf("the server was not ready within %v\n%s", patience, s.Output())
}

// Output is what the server has printed so far.
func (s *Server) Output() string { return s.out.String() }

// Kill ends the server with SIGKILL. It may be called again.
func (s *Server) Kill() {
	s.cmd.Process.Kill()
	<-s.ended
}

// Stop ends the server with SIGTERM and returns its exit status.
func (s *Server) Stop() int {
	s.t.Helper()
	s.cmd.Process.Signal(syscall.SIGTERM)
	return s.Wait(60 * time.Second)
}

// Signal sends a signal.
func (s *Server) Signal(sig os.Signal) { s.cmd.Process.Signal(sig) }

// Wait returns the exit status, once the server has ended.
func (s *Server) Wait(patience time.Duration) int {
	s.t.Helper()
	select {
	case <-s.ended:
		return s.cmd.ProcessState.ExitCode()
	case <-time.After(patience):
		s.t.Fatalf("the server did not end within %v\n%s", patience, s.Output())
		return -1
	}
}

// URL is the server's address for drivers.
func (s *Server) URL() string { return fmt.Sprintf("postgres://tester@127.0.0.1:%d/dtstore", s.Port) }

// PSQL runs Debian's psql with arguments, and gives stdout and stderr together.
func (s *Server) PSQL(ctx context.Context, args ...string) (string, error) {
	all := append([]string{"-X", "-h", "127.0.0.1", "-p", fmt.Sprint(s.Port), "-U", "tester", "-d", "dtstore"}, args...)
	out, err := exec.CommandContext(ctx, "psql", all...).CombinedOutput()
	return strings.TrimRight(string(out), "\n"), err
}
