package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
)

// dtserver is our server as a process.
type dtserver struct {
	binary   string
	data     string
	port     int
	kafka    int
	pprof    int // port of the profiler; 0 without
	profiles string
	cmd      *exec.Cmd
	out      *os.File
	ended    chan struct{}
}

// profiler is added to the server's main package, by an overlay of the build,
// when profiles are wanted: the server itself has no such door.
const profiler = `package main

import (
	"net/http"
	_ "net/http/pprof"
	"os"
	"runtime"
)

func init() {
	runtime.SetMutexProfileFraction(100)
	go http.ListenAndServe("127.0.0.1:"+os.Getenv("BENCH_PPROF"), nil)
}
`

func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}

// startOurs builds the server and starts it on an empty folder.
func startOurs(ctx context.Context, dir, built, profiles string) (*dtserver, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	s := &dtserver{binary: built, data: filepath.Join(dir, "data"), profiles: profiles}
	var err error
	if built == "" {
		s.binary = filepath.Join(dir, "dtserver")
		if err = s.build(ctx, dir); err != nil {
			return nil, err
		}
	} else if profiles != "" {
		if s.pprof, err = freePort(); err != nil {
			return nil, err
		}
	}
	if s.port, err = freePort(); err != nil {
		return nil, err
	}
	if s.kafka, err = freePort(); err != nil {
		return nil, err
	}
	return s, s.start(ctx)
}

// build makes the server's binary, with the profiler if profiles are wanted.
func (s *dtserver) build(ctx context.Context, dir string) error {
	root, err := repository()
	if err != nil {
		return err
	}
	args := []string{"build", "-o", s.binary}
	if s.profiles != "" {
		if err := os.MkdirAll(s.profiles, 0o755); err != nil {
			return err
		}
		source, overlay := filepath.Join(dir, "profiler.go"), filepath.Join(dir, "overlay.json")
		text, err := json.Marshal(map[string]any{"Replace": map[string]string{filepath.Join(root, "cmd", "dtserver", "profiler.go"): source}})
		if err := errors.Join(err, os.WriteFile(source, []byte(profiler), 0o644), os.WriteFile(overlay, text, 0o644)); err != nil {
			return err
		}
		if s.pprof, err = freePort(); err != nil {
			return err
		}
		args = append(args, "-overlay", overlay)
	}
	build := exec.CommandContext(ctx, "go", append(args, "./cmd/dtserver")...)
	build.Dir = root
	if text, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("build the server: %w\n%s", err, text)
	}
	return nil
}

// start runs the server and waits until it answers a query.
func (s *dtserver) start(ctx context.Context) error {
	var err error
	if s.out, err = os.CreateTemp(filepath.Dir(s.data), "output-"); err != nil {
		return err
	}
	// Snapshots come when a memtable is full or a work asks for one.
	s.cmd = exec.Command(s.binary, "--listen", fmt.Sprintf("127.0.0.1:%d", s.port), "--kafka-listen", fmt.Sprintf("127.0.0.1:%d", s.kafka),
		"--data", s.data, "--checkpoint-interval", "1h", "--log-level", "info")
	s.cmd.Env = append(os.Environ(), "BENCH_PPROF="+strconv.Itoa(s.pprof))
	s.cmd.Stdout, s.cmd.Stderr = s.out, s.out
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := s.cmd.Start(); err != nil {
		return err
	}
	s.ended = make(chan struct{})
	go func() { s.cmd.Wait(); close(s.ended) }()
	for {
		conn, err := pgx.Connect(ctx, s.url())
		if err == nil {
			return conn.Close(ctx)
		}
		select {
		case <-s.ended:
			text, _ := os.ReadFile(s.out.Name())
			return fmt.Errorf("the server ended: %s", bytes.TrimSpace(text))
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(5 * time.Millisecond):
		}
	}
}

func (s *dtserver) url() string {
	return fmt.Sprintf("postgres://bench@127.0.0.1:%d/dtstore?sslmode=disable", s.port)
}

func (s *dtserver) pid() int { return s.cmd.Process.Pid }

func (s *dtserver) kill() {
	s.cmd.Process.Kill()
	<-s.ended
}

// stop ends the server with SIGTERM.
func (s *dtserver) stop() error {
	s.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-s.ended:
		return nil
	case <-time.After(2 * time.Minute):
		return errors.New("the server did not stop")
	}
}

// profiling takes a CPU profile until the function it returns is called.
func (s *dtserver) profiling(name string) func() {
	if s.pprof == 0 {
		return func() {}
	}
	// A profile has a fixed length: several short ones are merged by the reader.
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for n := 0; ctx.Err() == nil; n++ {
			s.fetchProfile("profile?seconds=10", fmt.Sprintf("%s-%02d.cpu", name, n))
		}
	}()
	return func() {
		cancel()
		<-ended
		s.fetchProfile("allocs", name+".allocs")
		s.fetchProfile("mutex", name+".mutex")
	}
}

func (s *dtserver) fetchProfile(what, name string) {
	resp, err := http.Get(fmt.Sprintf("http://127.0.0.1:%d/debug/pprof/%s", s.pprof, what))
	if err != nil {
		time.Sleep(time.Second) // it is restarting
		return
	}
	defer resp.Body.Close()
	f, err := os.Create(filepath.Join(s.profiles, name))
	if err != nil {
		return
	}
	io.Copy(f, resp.Body)
	f.Close()
}

// warehouse is the folder of a table.
func (s *dtserver) warehouse(table string) string {
	return filepath.Join(s.data, "warehouse", "public.db", table)
}

// output is what the server has logged.
func (s *dtserver) output() string {
	text, _ := os.ReadFile(s.out.Name())
	return strings.TrimSpace(string(text))
}

// another is the same program on another folder, not started yet.
func (s *dtserver) another(data string) (*dtserver, error) {
	if err := os.MkdirAll(filepath.Dir(data), 0o755); err != nil {
		return nil, err
	}
	o := &dtserver{binary: s.binary, data: data}
	var err error
	if o.port, err = freePort(); err != nil {
		return nil, err
	}
	o.kafka, err = freePort()
	return o, err
}
