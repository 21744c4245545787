package wire

import (
	"context"
	"errors"
	"os"
	"sync"
	"time"

	"dtstore/table"
)

const (
	// watchAfter is how long a call runs before its client is watched. Short
	// calls then pay for no second goroutine.
	watchAfter = 100 * time.Millisecond
	// maxPipelined bounds what a watcher reads ahead. A client that has sent
	// more than this during one call is not watched any further.
	maxPipelined = 256 << 10
	// lastWords is how long a client may take to read after its call was
	// cancelled, or to take a final error.
	lastWords = 5 * time.Second
)

var (
	errCanceled = table.Errorf("57014", "canceling statement due to user request")
	errGone     = table.Errorf("08006", "connection to client lost")
)

// long ago, as a deadline, wakes whoever reads.
var longAgo = time.Unix(1, 0)

// running is the part of a connection that other goroutines reach: whether a
// call runs, its context, and the watcher of the socket.
//
// While a call runs, the connection's goroutine does not read the socket
// (COPY pauses the watch while it does); a watcher may. Between calls there is
// no watcher.
type running struct {
	conn *conn

	active bool        // begun and not ended; the connection's goroutine only
	timer  *time.Timer // starts the watcher

	mu       sync.Mutex              // guards what follows
	busy     bool                    // a call runs
	held     bool                    // the connection's goroutine may read: no watcher starts
	woken    bool                    // a read deadline is set to wake it from COPY
	draining bool                    // no further cycle begins
	hurried  bool                    // a write deadline is set
	ctx      context.Context         // of calls, replaced once it has ended
	cancel   context.CancelCauseFunc // ends ctx
	watcher  chan struct{}           // closed when the watcher has ended; nil if there is none

	// The watcher's, until its channel is closed.
	ahead []byte // bytes it read
	err   error  // the socket's end
}

func (r *running) init(c *conn) {
	r.conn = c
	r.ctx, r.cancel = context.WithCancelCause(c.ctx)
	r.timer = time.AfterFunc(time.Hour, r.watch)
	r.timer.Stop()
}

// login ends the start-up phase, whose deadline is gone now.
func (r *running) login() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.draining {
		r.conn.net.SetReadDeadline(longAgo)
	}
}

// stop frees what init made.
func (r *running) stop() {
	r.end()
	r.timer.Stop()
	r.cancel(errGone)
}

// context is that of the call to be made.
func (r *running) context() context.Context { return r.ctx }

// begin says that calls may run from now on.
func (r *running) begin() {
	if r.active {
		return
	}
	r.active = true
	r.mu.Lock()
	r.busy, r.held = true, false
	if r.ctx.Err() != nil && r.conn.ctx.Err() == nil {
		r.ctx, r.cancel = context.WithCancelCause(r.conn.ctx)
	}
	if r.draining {
		r.conn.net.SetReadDeadline(time.Time{}) // a COPY of this cycle may go on
	} else if r.hurried {
		r.conn.net.SetWriteDeadline(time.Time{})
		r.hurried = false
	}
	r.mu.Unlock()
	r.timer.Reset(watchAfter)
}

// end says that no call runs and takes the socket back from the watcher.
func (r *running) end() {
	if !r.active {
		return
	}
	r.active = false
	r.pause()
	r.mu.Lock()
	r.busy = false
	r.rest()
	if r.draining {
		r.conn.net.SetReadDeadline(longAgo)
	}
	r.mu.Unlock()
}

// pause ends the watcher, if there is one, keeps what it read, and leaves the
// socket to the connection's goroutine: for COPY in the middle of a call.
func (r *running) pause() {
	r.timer.Stop()
	r.mu.Lock()
	r.held = true
	done := r.watcher
	if done != nil {
		r.conn.net.SetReadDeadline(longAgo)
	}
	r.mu.Unlock()
	if done == nil {
		return
	}
	<-done
	r.mu.Lock()
	r.watcher = nil
	r.conn.net.SetReadDeadline(time.Time{})
	if r.busy && r.ctx.Err() != nil {
		r.wake()
	}
	r.mu.Unlock()
	if len(r.ahead) > 0 {
		r.conn.guard.add(r.ahead)
		r.ahead = nil
	}
	if r.err != nil {
		r.conn.in.err = r.err
	}
}

// resume lets a watcher start again after pause.
func (r *running) resume() {
	r.mu.Lock()
	r.held = false
	r.rest()
	r.mu.Unlock()
	r.timer.Reset(watchAfter)
}

// wake makes a COPY that waits for the client return; rest undoes it. The
// caller holds mu.
func (r *running) wake() {
	r.conn.net.SetReadDeadline(longAgo)
	r.woken = true
}

func (r *running) rest() {
	if r.woken {
		r.conn.net.SetReadDeadline(time.Time{})
		r.woken = false
	}
}

// watch reads the socket while a call runs: it keeps what arrives and ends the
// call when the client goes away.
func (r *running) watch() {
	r.mu.Lock()
	if !r.busy || r.held || r.watcher != nil {
		r.mu.Unlock()
		return
	}
	done := make(chan struct{})
	r.watcher = done
	cancel := r.cancel
	r.mu.Unlock()
	defer close(done)
	buf := make([]byte, smallBuffer)
	for len(r.ahead) < maxPipelined {
		n, err := r.conn.net.Read(buf)
		r.ahead = append(r.ahead, buf[:n]...)
		if errors.Is(err, os.ErrDeadlineExceeded) {
			return
		}
		if err != nil {
			r.err = err
			cancel(errGone)
			return
		}
	}
}

// interrupt ends the running call, if any, with cause.
func (r *running) interrupt(cause error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.busy {
		r.cancel(cause)
		r.hurry()
		if r.held {
			r.wake()
		}
	}
}

// hurry bounds how long a write may still block.
func (r *running) hurry() {
	r.conn.net.SetWriteDeadline(r.conn.srv.now().Add(lastWords))
	r.hurried = true
}

// drain lets the running call finish and ends the connection after it.
func (r *running) drain() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.draining = true
	if !r.busy {
		r.conn.net.SetReadDeadline(longAgo)
		r.hurry()
	}
}

func (r *running) drained() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.draining
}
