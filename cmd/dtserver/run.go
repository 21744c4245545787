package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"dtstore/table"
)

// Exit statuses.
const (
	statusFailed = 1
	statusUsage  = 2
)

// drainTime bounds the last flush: what it does not reach stays in the log.
const drainTime = 30 * time.Second

// run is the process: it returns its exit status.
func run(args []string, out, errs io.Writer) int {
	c, err := parse(args, out, errs)
	var a asked
	switch {
	case errors.As(err, &a):
		return a.status
	case err != nil:
		return fail(errs, err, statusUsage)
	}
	log := slog.New(slog.NewTextHandler(errs, &slog.HandlerOptions{Level: c.level()}))
	ctx, stop := context.WithCancelCause(context.Background())
	defer stop(nil)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, syscall.SIGTERM, os.Interrupt)
	go func() {
		s := <-signals
		log.Info("stopping", "signal", s)
		stop(errSignal{s})
		s = <-signals
		fmt.Fprintf(errs, "dtserver: %v again: ended at once; what was acknowledged is in the log\n", s)
		os.Exit(statusFailed)
	}()

	began := time.Now()
	s, err := start(ctx, c, log)
	var sig errSignal
	if err != nil && errors.As(context.Cause(ctx), &sig) {
		log.Debug("asked to stop before it was ready", "err", err)
		return 0
	}
	if err != nil {
		return fail(errs, err, statusFailed)
	}
	limitHeap(s.shares)
	s.greet(out, time.Since(began))
	if err := errors.Join(s.serve(ctx), s.close()); err != nil {
		return fail(errs, err, statusFailed)
	}
	fmt.Fprintln(out, "dtserver: stopped")
	return 0
}

// errSignal is why the process ends.
type errSignal struct{ os.Signal }

func (e errSignal) Error() string { return "got " + e.Signal.String() }

// fail prints the one line that says what is wrong and what to do.
func fail(w io.Writer, err error, status int) int {
	text := err.Error()
	var hinted *table.Error
	if errors.As(err, &hinted) && hinted.Hint != "" {
		text += "; " + hinted.Hint
	}
	fmt.Fprintln(w, "dtserver:", strings.ReplaceAll(text, "\n", "; "))
	return status
}

// greet says how to reach the server.
func (s *server) greet(w io.Writer, took time.Duration) {
	host, port, _ := net.SplitHostPort(s.listener.Addr().String())
	kafka := s.config.Kafka
	if s.broker != nil {
		kafka = s.broker.Addr() + " (embedded, stored in " + s.data.log() + ")"
	}
	warehouse := s.config.Warehouse
	if !strings.Contains(warehouse, "://") {
		if abs, err := filepath.Abs(warehouse); err == nil {
			warehouse = abs
		}
	}
	fmt.Fprintf(w, `dtserver %s is ready after %d ms.

  SQL     psql -h %s -p %s dtstore
  Kafka   %s
  Files   %s
  Data    %s

Ctrl-C stops it.
`, version, took.Milliseconds(), host, port, kafka, warehouse, s.data.path)
}

// serve answers clients until ctx ends or something breaks, then flushes what
// the memtables hold.
func (s *server) serve(ctx context.Context) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	adopted := make(chan struct{})
	go func() { defer close(adopted); s.tables.run(ctx) }()
	go func() {
		select {
		case <-s.claim.Lost():
			stop(s.claim.Err())
		case <-ctx.Done():
		}
	}()
	err := s.wire.Serve(ctx, s.listener)
	var sig errSignal
	if ctx.Err() != nil && !errors.As(context.Cause(ctx), &sig) {
		err = errors.Join(err, context.Cause(ctx))
	}
	stop(nil)
	<-adopted
	drain, cancel := context.WithTimeoutCause(context.Background(), drainTime, fmt.Errorf("not done within %v", drainTime))
	defer cancel()
	if lost := s.claim.Err(); lost != nil {
		return err // the files are another server's now
	}
	if drainErr := s.owner.Drain(drain); drainErr != nil {
		err = errors.Join(err, fmt.Errorf("the last flush failed, and what was acknowledged waits in the log for the next start: %w", drainErr))
	}
	return err
}
