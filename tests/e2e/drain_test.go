package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// SIGTERM under load loses nothing, flushes everything, ends soon and well.
func TestDrain(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	s := run(t, data, "--checkpoint-interval", "1h", "--grace", "2s")
	do(t, s.connect(t.Context(), t), crashTables...)
	h := &history{t: t, r: rand.New(rand.NewPCG(1, 1)), data: data}
	for i := range 4 {
		h.workers = append(h.workers, &worker{id: i, r: rand.New(rand.NewPCG(1, uint64(i)+2)), known: state{}, done: map[string]int{}})
	}
	var wg sync.WaitGroup
	for _, w := range h.workers {
		wg.Go(func() {
			if err := w.work(t.Context(), s.sql); err != nil {
				t.Errorf("worker: %v", err)
			}
		})
	}
	// One statement that runs for ever, one connection that idles.
	idle := s.connect(t.Context(), t)
	do(t, idle, "SELECT 1")
	wg.Go(func() {
		c, err := pgx.Connect(t.Context(), s.sql)
		if err != nil {
			t.Error(err)
			return
		}
		defer c.Close(context.Background())
		_, err = c.Exec(t.Context(), "SELECT sum(a.i * b.i * c.i) FROM generate_series(1, 100000) a(i), generate_series(1, 100000) b(i), generate_series(1, 100000) c(i)")
		if sqlState(err) != "57P01" {
			t.Errorf("endless statement: %v", err)
		}
	})
	time.Sleep(1500 * time.Millisecond)
	began := time.Now()
	s.stop()
	t.Logf("ended %v after SIGTERM", time.Since(began))
	wg.Wait()
	if took := time.Since(began); took > 30*time.Second {
		t.Errorf("took %v", took)
	}
	if _, err := idle.Exec(t.Context(), "SELECT 1"); err == nil {
		t.Error("the idle connection still answers")
	}
	// All of it is in files.
	for _, name := range crashNames {
		if lag := unflushed(t, data, name); lag != 0 {
			t.Errorf("%s: %d rows that no snapshot covers", name, lag)
		}
	}
	s = run(t, data)
	h.compare(s, "after the drain")
	s.stop()
	noSequenceTwice(t, data)
}

// unflushed starts the server and asks how many changes a table has above its
// newest snapshot. Markers of transactions may lie there.
func unflushed(t *testing.T, data, name string) int64 {
	t.Helper()
	s := run(t, data, "--checkpoint-interval", "1h")
	defer s.stop()
	c := s.connect(t.Context(), t)
	if _, err := c.Exec(t.Context(), "SET dtstore.read = 'snapshot'"); err != nil {
		t.Fatal(err)
	}
	var files, all int64
	if err := c.QueryRow(t.Context(), "SELECT count(*) FROM "+name).Scan(&files); err != nil {
		t.Fatal(err)
	}
	do(t, c, "RESET dtstore.read")
	if err := c.QueryRow(t.Context(), "SELECT count(*) FROM "+name).Scan(&all); err != nil {
		t.Fatal(err)
	}
	return all - files
}

// A second signal ends the server at once; what was acknowledged is in the log.
func TestSecondSignal(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	s := run(t, data, "--grace", "1h")
	c := s.connect(t.Context(), t)
	do(t, c, "CREATE TABLE t (id int PRIMARY KEY)", "INSERT INTO t VALUES (1)")
	ended := make(chan error, 1)
	go func() {
		_, err := c.Exec(t.Context(), "SELECT sum(a.i * b.i * c.i) FROM generate_series(1, 100000) a(i), generate_series(1, 100000) b(i), generate_series(1, 100000) c(i)")
		ended <- err
	}()
	time.Sleep(300 * time.Millisecond)
	s.cmd.Process.Signal(syscall.SIGTERM)
	s.await("msg=stopping")
	select {
	case err := <-ended:
		t.Fatalf("the statement ended within the grace time: %v", err)
	case <-time.After(500 * time.Millisecond):
	}
	s.cmd.Process.Signal(syscall.SIGTERM)
	if status := s.wait(); status != 1 {
		t.Errorf("exit status %d", status)
	}
	<-ended
	s = run(t, data)
	want(t, s.connect(t.Context(), t), "SELECT * FROM t", "1\n")
	s.stop()
}

// SIGTERM before the server is ready ends it well.
func TestStopWhileStarting(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	for i := range 5 {
		s := launch(t, data)
		time.Sleep(time.Duration(50*(i+1)) * time.Millisecond) // after the handler is there
		s.cmd.Process.Signal(syscall.SIGTERM)
		s.wait()
		if st, ok := s.cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || st.ExitStatus() != 0 && !st.Signaled() {
			t.Errorf("exit status %v", s.cmd.ProcessState)
		}
	}
	s := run(t, data)
	s.stop()
}

// A full or vanished warehouse does not take the server down: what it
// acknowledges is in the log.
func TestWarehouseAway(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	folder := filepath.Join(data, "warehouse")
	s := run(t, data, "--warehouse", folder)
	c := s.connect(t.Context(), t)
	do(t, c, "CREATE TABLE t (id int PRIMARY KEY, v text)", "INSERT INTO t VALUES (1, 'a')", "CHECKPOINT")
	table := filepath.Join(folder, "public.db", "t", "snapshot")
	if err := os.Rename(table, table+".away"); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(table, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	_, err := c.Exec(t.Context(), "CHECKPOINT")
	if err == nil {
		t.Error("CHECKPOINT without a place for snapshots")
	}
	if err := errors.Join(os.Remove(table), os.Rename(table+".away", table)); err != nil {
		t.Fatal(err)
	}
	do(t, c, "INSERT INTO t VALUES (2, 'b')", "CHECKPOINT")
	want(t, c, "SELECT * FROM t ORDER BY id", "1 a\n2 b\n")
	s.stop()
}

// Bytes that are no Postgres protocol end their connection, not the server.
func TestStrangeBytes(t *testing.T) {
	t.Parallel()
	s := run(t, t.TempDir())
	addr := strings.TrimPrefix(strings.Split(s.sql, "/dtstore")[0], "postgres://tester@")
	addrs := []string{addr}
	if *kafkaAddr == "" {
		addrs = append(addrs, s.kafka)
	}
	for _, b := range []string{"GET / HTTP/1.1\r\n\r\n", "\xff\xff\xff\xff\xff\xff\xff\xff", "\x00\x00\x00\x08\x04\xd2\x16\x2f", "\x00"} {
		for _, at := range addrs {
			c, err := net.Dial("tcp", at)
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprint(c, b)
			c.(*net.TCPConn).CloseWrite()
			c.SetReadDeadline(time.Now().Add(patience))
			for buf := make([]byte, 100); ; {
				if _, err := c.Read(buf); err != nil {
					break
				}
			}
			c.Close()
		}
	}
	want(t, s.connect(t.Context(), t), "SELECT 1", "1\n")
	s.stop()
}
