package wire_test

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"dtstore/wire"

	"github.com/jackc/pgproto3/v2"
)

// pipes is a listener whose connections are made in the process.
type pipes struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func newPipes() *pipes { return &pipes{conns: make(chan net.Conn), closed: make(chan struct{})} }

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	p.once.Do(func() { close(p.closed) })
	return nil
}

func (p *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipe"} }

func (p *pipes) dial() *raw {
	client, server := net.Pipe()
	p.conns <- server
	return &raw{Conn: client, front: pgproto3.NewFrontend(pgproto3.NewChunkReader(client), client)}
}

// world is a server of fakes behind pipes, for tests in virtual time.
type world struct {
	*pipes
	shop *shop
	srv  *wire.Server
	stop func()
}

func newWorld(t *testing.T, o wire.Options) *world {
	t.Helper()
	w := &world{pipes: newPipes(), shop: &shop{started: make(chan struct{}, 16)}}
	o.NewSession = func(ctx context.Context, info wire.StartupInfo, out *wire.Writer) (wire.Session, error) {
		return &fake{shop: w.shop, info: info, w: out, statements: map[string]prepared{}, portals: map[string]*portal{}}, nil
	}
	o.Logger = slog.New(slog.DiscardHandler)
	var err error
	if w.srv, err = wire.NewServer(o); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- w.srv.Serve(ctx, w.pipes) }()
	w.stop = func() {
		stop()
		if err := <-done; err != nil {
			t.Errorf("serve: %v", err)
		}
	}
	return w
}

// client is a logged-in connection; what is sent is sent by its own goroutine,
// since a pipe holds nothing.
func (w *world) client(t *testing.T) *raw {
	t.Helper()
	c := w.dial()
	go c.Write(startupPacket(196608, "user", "u"))
	if got := c.read(1); !strings.HasSuffix(got, "ReadyForQuery I\n") {
		t.Fatalf("login: %s", got)
	}
	return c
}

func (r *raw) send(t *testing.T, lines ...string) {
	t.Helper()
	var b []byte
	for _, line := range lines {
		b = append(b, r.encode(t, line)...)
	}
	go r.Write(b)
}

func expect(t *testing.T, got, want string) {
	t.Helper()
	if !strings.Contains(got, want) {
		t.Errorf("got %q, want it to contain %q", got, want)
	}
}

func TestSlowLoris(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, wire.Options{})
		defer w.stop()
		c := w.dial()
		began := time.Now()
		var wg sync.WaitGroup
		defer wg.Wait()
		wg.Go(func() {
			for _, b := range startupPacket(196608, "user", "u", "application_name", strings.Repeat("x", 1000)) {
				if _, err := c.Write([]byte{b}); err != nil {
					return
				}
				time.Sleep(time.Second)
			}
		})
		c.read(1)
		if d := time.Since(began); d < 10*time.Second || d > 11*time.Second {
			t.Errorf("turned away after %v", d)
		}
	})
}

func TestVanishedClientEndsTheCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, wire.Options{})
		defer w.stop()
		c := w.client(t)
		c.send(t, "Query stream")
		<-readAsync(c)
		c.Close()
		time.Sleep(time.Second)
		w.shop.mu.Lock()
		defer w.shop.mu.Unlock()
		if w.shop.closed != 1 {
			t.Error("the session is still there after its client has gone")
		}
	})
}

// TestErrorNeedsNoSync: a client that reads rows with Execute and Flush waits
// for the next one, and sends no Sync before it is told of an error.
func TestErrorNeedsNoSync(t *testing.T) {
	addr, _, _ := start(t, wire.Options{})
	c := dial(t, addr)
	c.login(t, "user", "u")
	c.send(t, "Execute nope 1", "Flush")
	if msg, err := c.front.Receive(); err != nil {
		t.Error(err)
	} else if _, ok := msg.(*pgproto3.ErrorResponse); !ok {
		t.Errorf("got %T", msg)
	}
}

// readAsync reads what comes within a second.
func readAsync(c *raw) <-chan string {
	out := make(chan string, 1)
	go func() {
		c.SetReadDeadline(time.Now().Add(time.Second))
		out <- c.read(1)
		c.SetReadDeadline(time.Time{})
	}()
	return out
}

func TestPipelinedBytesAreKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, wire.Options{})
		defer w.stop()
		c := w.client(t)
		c.send(t, "Query wait")
		<-readAsync(c)
		time.Sleep(time.Second) // the watcher reads now
		b := c.encode(t, "Query insert 1")
		go func() {
			c.Write(b[:3])
			time.Sleep(time.Second)
			c.Write(b[3:])
			c.Write(c.encode(t, "Query list"))
		}()
		time.Sleep(500 * time.Millisecond)
		w.srv.Cancel(1)
		got := c.read(3)
		expect(t, got, "57014")
		expect(t, got, "INSERT 0 1")
		expect(t, got, "DataRow 1")
	})
}

func TestDrain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, wire.Options{Grace: 3 * time.Second})
		idle, waiting, copying, stuck, fresh := w.client(t), w.client(t), w.client(t), w.client(t), w.dial()
		waiting.send(t, "Query wait")
		<-readAsync(waiting)
		copying.send(t, "Query copyin text")
		copying.read(1)
		stuck.send(t, "Query rows 1000000") // and reads nothing
		synctest.Wait()
		began := time.Now()
		answers := make([]<-chan string, 0, 3)
		for _, c := range []*raw{idle, waiting, copying} {
			out := make(chan string, 1)
			go func() { out <- c.read(9) }()
			answers = append(answers, out)
		}
		w.stop()
		expect(t, <-answers[0], "FATAL 57P01 terminating connection due to administrator command\n(closed)")
		expect(t, <-answers[1], "FATAL 57P01")
		expect(t, <-answers[2], "FATAL 57P01")
		if d := time.Since(began); d > 9*time.Second {
			t.Errorf("took %v", d)
		}
		fresh.Close()
		stuck.Close()
		w.shop.mu.Lock()
		defer w.shop.mu.Unlock()
		if w.shop.closed != 4 {
			t.Errorf("%d sessions closed of 4", w.shop.closed)
		}
	})
}

// A COPY that goes on while the server drains is let finish.
func TestDrainLetsCopyFinish(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, wire.Options{Grace: 10 * time.Second})
		c := w.client(t)
		c.send(t, "Query copyin text")
		c.read(1)
		done := make(chan struct{})
		go func() { w.stop(); close(done) }()
		time.Sleep(2 * time.Second)
		c.send(t, `CopyData "1\tx\n"`, "CopyDone")
		got := c.read(9)
		expect(t, got, "COPY 1")
		expect(t, got, "57P01")
		<-done
	})
}

// Cancel wakes a COPY that waits for its client, and the rest of the data that
// comes late is thrown away, even a message that was cut in two.
func TestCancelCopy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, wire.Options{})
		defer w.stop()
		c := w.client(t)
		c.send(t, "Query copyin text")
		c.read(1)
		data := c.encode(t, `CopyData "1\tx\n"`)
		go c.Write(data[:7])
		synctest.Wait()
		w.srv.Cancel(1)
		expect(t, c.read(1), "57014")
		go func() {
			c.Write(data[7:])
			c.Write(c.encode(t, "CopyDone"))
			c.Write(c.encode(t, "Query rows 1"))
		}()
		expect(t, c.read(1), "DataRow 0 | row 0")
	})
}

func TestTooManyClients(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, wire.Options{MaxConnections: 2})
		defer w.stop()
		a, b := w.client(t), w.client(t)
		c := w.dial()
		go c.Write(startupPacket(196608, "user", "u"))
		expect(t, c.read(1), "FATAL 53300 sorry, too many clients already")
		a.Close()
		b.Close()
		synctest.Wait()
		w.client(t).Close()
	})
}

// A length field takes no memory before the bytes are there.
func TestLengthsTakeNoMemory(t *testing.T) {
	addr, _, _ := start(t, wire.Options{})
	c := dial(t, addr)
	c.login(t, "user", "u")
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	c.Write(binary.BigEndian.AppendUint32([]byte{'Q'}, 60<<20))
	c.Write(make([]byte, 10))
	d := dial(t, addr)
	d.login(t, "user", "u")
	d.Write(binary.BigEndian.AppendUint32([]byte{'Q'}, 1<<30))
	expect(t, d.read(1), "FATAL 08P01")
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > 1<<20 {
		t.Errorf("allocated %d bytes", n)
	}
}

func TestThousandIdleConnections(t *testing.T) {
	addr, _, _ := start(t, wire.Options{})
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for range 1000 {
		nc, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		defer nc.Close()
		nc.Write(startupPacket(196608, "user", "u"))
		nc.Write((&raw{}).encode(t, "Query rows 3000")) // fills the large buffers once
		buf, tail := make([]byte, 8192), []byte{}
		for strings.Count(string(tail), "Z\x00\x00\x00\x05I") < 1 || !strings.HasSuffix(string(tail), "SELECT 3000\x00Z\x00\x00\x00\x05I") {
			n, err := nc.Read(buf)
			if err != nil {
				t.Fatal(err)
			}
			tail = append(tail, buf[:n]...)
			tail = tail[max(len(tail)-100, 0):]
		}
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if mib := float64(after.HeapInuse+after.StackInuse-before.HeapInuse-before.StackInuse) / (1 << 20); mib > 50 {
		t.Errorf("1,000 idle connections hold %.0f MiB", mib)
	}
}

// script is a connection that sends what it holds and hangs up, and a listener
// that accepts one such connection after another.
type script struct {
	net.Conn // none: what is not overridden is not called
	data     []byte
	closed   chan struct{}
}

func (s *script) Read(p []byte) (int, error) {
	if len(s.data) == 0 {
		return 0, io.EOF
	}
	n := copy(p, s.data)
	s.data = s.data[n:]
	return n, nil
}

func (s *script) Close() error {
	s.closed <- struct{}{}
	return nil
}

func (s *script) Write(p []byte) (int, error)      { return len(p), nil }
func (s *script) SetDeadline(time.Time) error      { return nil }
func (s *script) SetReadDeadline(time.Time) error  { return nil }
func (s *script) SetWriteDeadline(time.Time) error { return nil }
func (s *script) RemoteAddr() net.Addr             { return &net.UnixAddr{Name: "script"} }

type scripts struct {
	left   int
	next   func() []byte
	closed chan struct{}
}

func (l *scripts) Accept() (net.Conn, error) {
	<-l.closed
	if l.left--; l.left < 0 {
		return nil, net.ErrClosed
	}
	return &script{data: l.next(), closed: l.closed}, nil
}

func (l *scripts) Close() error   { return nil }
func (l *scripts) Addr() net.Addr { return &net.UnixAddr{Name: "script"} }

// 100,000 random start-up frames: none panics, and memory stays flat.
func TestRandomFramesBeforeLogin(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rnd := rand.New(rand.NewPCG(seed, 0))
	var log strings.Builder
	var mu sync.Mutex
	srv, err := wire.NewServer(wire.Options{
		Logger: slog.New(slog.NewTextHandler(locked{&mu, &log}, nil)),
		NewSession: func(ctx context.Context, info wire.StartupInfo, w *wire.Writer) (wire.Session, error) {
			return nil, errors.New("no")
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	l := &scripts{left: 100_000, next: func() []byte { return randomStartup(rnd) }, closed: make(chan struct{}, 1)}
	l.closed <- struct{}{}
	if err := srv.Serve(t.Context(), l); !errors.Is(err, net.ErrClosed) {
		t.Errorf("serve: %v", err)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 4<<20 {
		t.Errorf("the heap grew by %d bytes", grown)
	}
	if strings.Contains(log.String(), "panic") {
		t.Error(log.String())
	}
}

// randomStartup is often nearly right.
func randomStartup(rnd *rand.Rand) []byte {
	codes := []uint32{196608, 196610, 80877102, 80877103, 80877104, 131072, rnd.Uint32()}
	body := make([]byte, rnd.IntN(60))
	for i := range body {
		body[i] = []byte{0, 0, 'u', 's', 'e', 'r', byte(rnd.Uint32())}[rnd.IntN(7)]
	}
	if rnd.IntN(3) == 0 {
		body = append([]byte("user\x00u\x00"), body...)
	}
	b := binary.BigEndian.AppendUint32(nil, uint32(len(body)+8))
	if rnd.IntN(4) == 0 {
		b = binary.BigEndian.AppendUint32(nil, rnd.Uint32()>>rnd.IntN(32))
	}
	b = binary.BigEndian.AppendUint32(b, codes[rnd.IntN(len(codes))])
	return append(b, body...)
}

// FuzzConversation sends arbitrary bytes after login: the connection may end,
// but never by a panic, and the server goes on.
func FuzzConversation(f *testing.F) {
	r := &raw{}
	for _, lines := range [][]string{
		{"Query rows 2"}, {"Parse - \"rows 1\"", "Bind - - x -> 1", "Describe P -", "Execute - 1", "Close P -", "Sync"},
		{"Query copyin text", `CopyData "1\tx\n"`, "CopyDone"}, {"Query copyin binary", `CopyData "PGCOPY"`, "CopyFail x"},
		{"Frame B 0000 0000 0001 fffffffe 0000", "Sync"}, {"Frame F 00"}, {"Flush", "Terminate"},
	} {
		var b []byte
		for _, line := range lines {
			b = append(b, r.encode(f, line)...)
		}
		f.Add(b)
	}
	var log strings.Builder
	var mu sync.Mutex
	s := &shop{started: make(chan struct{}, 16)}
	srv, err := wire.NewServer(wire.Options{
		Logger: slog.New(slog.NewTextHandler(locked{&mu, &log}, nil)),
		NewSession: func(ctx context.Context, info wire.StartupInfo, w *wire.Writer) (wire.Session, error) {
			return &tame{fake{shop: s, info: info, w: w, statements: map[string]prepared{}, portals: map[string]*portal{}}}, nil
		},
	})
	if err != nil {
		f.Fatal(err)
	}
	p := newPipes()
	go srv.Serve(context.Background(), p)
	f.Fuzz(func(t *testing.T, b []byte) {
		c := &script{data: append(startupPacket(196608, "user", "u"), b...), closed: make(chan struct{}, 9)}
		p.conns <- c
		<-c.closed
		mu.Lock()
		defer mu.Unlock()
		if s := log.String(); strings.Contains(s, "panic") {
			log.Reset()
			t.Fatal(s)
		}
	})
}

// tame is a fake that neither waits nor panics, whatever it is told.
type tame struct{ fake }

func (f *tame) Query(ctx context.Context, text string, w *wire.Writer) error {
	if strings.Contains(text, "panic") || strings.Contains(text, "wait") || strings.Contains(text, "stream") || strings.Contains(text, "rows") || strings.Contains(text, "copyout") {
		return errors.New("no")
	}
	return f.fake.Query(ctx, text, w)
}

func (f *tame) Execute(ctx context.Context, name string, maxRows int, w *wire.Writer) error {
	if p := f.portals[name]; p != nil && (len(p.text) > 8 || len(p.params) == 0 && strings.HasPrefix(p.text, "select")) {
		return errors.New("no")
	}
	return f.fake.Execute(ctx, name, maxRows, w)
}

type locked struct {
	mu *sync.Mutex
	w  io.Writer
}

func (l locked) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(p)
}
