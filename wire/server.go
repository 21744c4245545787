package wire

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"time"

	"dtstore/table"
)

// Options of a Server. All but NewSession may be zero.
type Options struct {
	// NewSession is called on the connection's goroutine once a client has
	// said who it is. It sends the initial parameters with w.ParameterStatus
	// and may send notices. ctx lives as long as the connection. An error
	// refuses the client (FATAL, with its SQLSTATE).
	NewSession func(ctx context.Context, info StartupInfo, w *Writer) (Session, error)

	MaxConnections  int           // clients at one time, 53300 beyond; 0 means 2000
	LoginTimeout    time.Duration // until the start-up packet; 0 means 10 s
	MaxMessageBytes int           // of one message after login; 0 means 64 MiB
	Grace           time.Duration // of running calls when Serve's ctx ends; 0 means 5 s
	Logger          *slog.Logger  // nil discards
}

// Validate says what is wrong with the options, all at once.
func (o Options) Validate() error {
	var errs []error
	if o.NewSession == nil {
		errs = append(errs, errors.New("wire: NewSession is nil"))
	}
	if o.MaxConnections < 0 || o.LoginTimeout < 0 || o.MaxMessageBytes < 0 || o.Grace < 0 {
		errs = append(errs, fmt.Errorf("wire: a limit is negative: %d connections, login %v, %d message bytes, grace %v",
			o.MaxConnections, o.LoginTimeout, o.MaxMessageBytes, o.Grace))
	}
	return errors.Join(errs...)
}

func (o Options) withDefaults() Options {
	if o.MaxConnections == 0 {
		o.MaxConnections = 2000
	}
	if o.LoginTimeout == 0 {
		o.LoginTimeout = 10 * time.Second
	}
	if o.MaxMessageBytes == 0 {
		o.MaxMessageBytes = 64 << 20
	}
	if o.Grace == 0 {
		o.Grace = 5 * time.Second
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o
}

// spare connections above MaxConnections may be open before login: they bring
// cancel requests, or are told that there are too many.
const spare = 64

// Server accepts connections and serves each on a goroutine of its own.
type Server struct {
	opts Options

	mu       sync.Mutex       // guards what follows
	conns    map[uint32]*conn // by process id
	admitted int              // of them, past the start-up packet
	lastPID  uint32
	closing  bool
	listener map[net.Listener]struct{}
	all      sync.WaitGroup // connection goroutines; Add only under mu while not closing
}

// NewServer makes a server.
func NewServer(o Options) (*Server, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	return &Server{opts: o.withDefaults(), conns: map[uint32]*conn{}, listener: map[net.Listener]struct{}{}}, nil
}

func (s *Server) now() time.Time { return time.Now() }

// Serve accepts connections from l until ctx ends, then shuts down with
// Options.Grace, or until Shutdown. It closes l. All connections have ended
// when it returns; nil means that it was asked to stop.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	defer l.Close()
	s.mu.Lock()
	if s.closing {
		s.mu.Unlock()
		return nil
	}
	s.listener[l] = struct{}{}
	s.mu.Unlock()
	stop := context.AfterFunc(ctx, func() { l.Close() })
	defer stop()
	err := s.accept(context.WithoutCancel(ctx), l)
	s.mu.Lock()
	delete(s.listener, l)
	asked := s.closing || ctx.Err() != nil
	s.mu.Unlock()
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.opts.Grace)
	defer cancel()
	s.Shutdown(grace)
	if asked {
		return nil
	}
	return err
}

// accept takes connections until the listener fails for good.
func (s *Server) accept(ctx context.Context, l net.Listener) error {
	for pause := time.Millisecond; ; {
		nc, err := l.Accept()
		if errors.Is(err, net.ErrClosed) {
			return err
		}
		if err != nil { // out of file descriptors, or the client left already
			s.opts.Logger.Warn("accept a connection", "error", err)
			time.Sleep(pause)
			pause = min(2*pause, time.Second)
			continue
		}
		pause = time.Millisecond
		if tcp, ok := nc.(*net.TCPConn); ok {
			tcp.SetKeepAliveConfig(net.KeepAliveConfig{Enable: true, Idle: time.Minute, Interval: 15 * time.Second, Count: 4})
		}
		if c := s.open(ctx, nc); c != nil {
			go func() {
				defer s.all.Done()
				defer s.forget(c)
				c.serve()
			}()
		}
	}
}

// open registers a connection; nil if it must be turned away unheard.
func (s *Server) open(ctx context.Context, nc net.Conn) *conn {
	secret, err := newSecret()
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil || s.closing || len(s.conns) >= s.opts.MaxConnections+spare {
		nc.Close()
		return nil
	}
	for {
		s.lastPID = max((s.lastPID+1)&0x7fffffff, 1)
		if s.conns[s.lastPID] == nil {
			break
		}
	}
	c := newConn(ctx, s, nc, s.lastPID, secret)
	s.conns[c.pid] = c
	s.all.Add(1)
	return c
}

// admit counts a client that has said who it is.
func (s *Server) admit(c *conn) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closing:
		return table.Errorf("57P03", "the database system is shutting down")
	case s.admitted >= s.opts.MaxConnections:
		return table.Errorf("53300", "sorry, too many clients already")
	}
	s.admitted++
	c.admitted = true
	return nil
}

func (s *Server) forget(c *conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.conns, c.pid)
	if c.admitted {
		s.admitted--
	}
}

// cancel carries out a cancel request. Nothing tells the sender whether the
// key was right.
func (s *Server) cancel(pid uint32, key []byte) {
	s.mu.Lock()
	c := s.conns[pid]
	s.mu.Unlock()
	if c != nil && len(key) == 4 && c.matches(binary.BigEndian.Uint32(key)) {
		c.run.interrupt(errCanceled)
	}
}

// Cancel ends the running call of a connection with 57014, and says whether
// there is such a connection.
func (s *Server) Cancel(pid uint32) bool {
	s.mu.Lock()
	c := s.conns[pid]
	s.mu.Unlock()
	if c == nil {
		return false
	}
	c.run.interrupt(errCanceled)
	return true
}

// Terminate ends a connection, and says whether there was one.
func (s *Server) Terminate(pid uint32) bool {
	s.mu.Lock()
	c := s.conns[pid]
	s.mu.Unlock()
	if c == nil {
		return false
	}
	c.run.drain()
	c.run.interrupt(errShutdown)
	return true
}

// Shutdown stops accepting and ends all connections: idle ones at once with
// FATAL 57P01, the others after their running call. When ctx ends, running
// calls are cancelled, and a little later their sockets are closed. It returns
// when every connection's goroutine has ended.
func (s *Server) Shutdown(ctx context.Context) error {
	s.mu.Lock()
	s.closing = true
	for l := range s.listener {
		l.Close()
	}
	for _, c := range s.conns {
		c.run.drain()
	}
	s.mu.Unlock()
	done := make(chan struct{})
	go func() { s.all.Wait(); close(done) }()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
	}
	s.each(func(c *conn) { c.run.interrupt(errShutdown) })
	cut := time.NewTimer(lastWords)
	defer cut.Stop()
	select {
	case <-done:
		return nil
	case <-cut.C:
	}
	s.each(func(c *conn) {
		s.opts.Logger.Warn("connection did not end in time and is cut", "pid", c.pid)
		c.stop(errShutdown)
		c.net.Close()
	})
	<-done
	return ctx.Err()
}

func (s *Server) each(f func(*conn)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.conns {
		f(c)
	}
}
