package e2e_test

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

var peersDir = flag.String("peers", "", "folder of kafka.sh and s3.sh: run TestPeersKilled with them")

// peer is a Kafka or an S3 server that one of the scripts runs.
type peer struct {
	script string
	dir    string
	port   string
}

func (p peer) do(t testing.TB, verb string) {
	t.Helper()
	args := []string{p.script, verb, p.dir}
	if verb == "start" {
		args = append(args, p.port)
	}
	// The peer keeps what it inherits, so its output goes to a file.
	out, err := os.Create(filepath.Join(p.dir, verb+".out"))
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	cmd := exec.Command("bash", args...)
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Run(); err != nil {
		text, _ := os.ReadFile(out.Name())
		t.Fatalf("%s %s: %v\n%s", p.script, verb, err, text)
	}
}

func startPeer(t testing.TB, script string) (peer, string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(l.Addr().String())
	l.Close()
	p := peer{filepath.Join(*peersDir, script), t.TempDir(), port}
	p.do(t, "start")
	t.Cleanup(func() { p.do(t, "kill") })
	return p, "127.0.0.1:" + port
}

// TestPeersKilled kills Kafka, S3 and the server at random moments under
// writes. A server whose Kafka or S3 comes back goes on by itself.
func TestPeersKilled(t *testing.T) {
	if *peersDir == "" {
		t.Log("without -peers there is nobody to kill")
		return
	}
	t.Setenv("AWS_ACCESS_KEY_ID", "dtstore")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "dtstoresecret")
	kafka, brokers := startPeer(t, "kafka.sh")
	store, endpoint := startPeer(t, "s3.sh")
	*kafkaAddr, *s3Endpoint = brokers, "http://"+endpoint
	t.Cleanup(func() { *kafkaAddr, *s3Endpoint = "", "" })
	if err := os.Mkdir(filepath.Join(store.dir, "objects", *s3Bucket), 0o755); err != nil {
		t.Fatal(err)
	}
	seed := *firstSeed
	if seed == 0 {
		seed = uint64(time.Now().UnixNano()) % 1_000_000
	}
	for i := range *seeds {
		t.Run(fmt.Sprintf("seed=%d", seed+uint64(i)), func(t *testing.T) { peersHistory(t, seed+uint64(i), kafka, store) })
	}
}

func peersHistory(t *testing.T, seed uint64, kafka, store peer) {
	data := t.TempDir()
	h := &history{t: t, r: rand.New(rand.NewPCG(seed, 1)), data: data}
	for i := range 4 {
		h.workers = append(h.workers, &worker{id: i, r: rand.New(rand.NewPCG(seed, uint64(i)+2)), known: state{}, done: map[string]int{}})
	}
	s := run(t, data)
	do(t, s.connect(t.Context(), t), crashTables...)
	for n, victim := range []peer{kafka, store, kafka, store} {
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		for _, w := range h.workers {
			wg.Go(func() {
				if err := w.work(ctx, s.sql); err != nil {
					t.Errorf("round %d: %v", n, err)
				}
			})
		}
		time.Sleep(time.Duration(500+h.r.IntN(2000)) * time.Millisecond)
		victim.do(t, "kill")
		time.Sleep(time.Duration(h.r.IntN(2000)) * time.Millisecond)
		victim.do(t, "start")
		h.goesOn(s)
		cancel()
		wg.Wait()
		// What was unknown is decided once the next life has ended the open
		// transactions of this one.
		s.kill()
		s = run(t, data, h.flags()...)
		h.compare(s, fmt.Sprintf("round %d, %s was killed", n, filepath.Base(victim.script)))
		if t.Failed() {
			return
		}
	}
	do(t, s.connect(t.Context(), t), "CHECKPOINT")
	h.compare(s, "after CHECKPOINT")
	s.stop()
	noSequenceTwice(t, data)
}

// goesOn waits until the server writes, reads and flushes again.
func (h *history) goesOn(s *server) {
	h.t.Helper()
	limit := time.Now().Add(patience)
	for {
		err := func() error {
			ctx, cancel := context.WithTimeout(h.t.Context(), 20*time.Second)
			defer cancel()
			c, err := pgx.Connect(ctx, s.sql)
			if err != nil {
				return err
			}
			defer c.Close(ctx)
			for _, sql := range []string{"CREATE TABLE IF NOT EXISTS probe (id int PRIMARY KEY)", "INSERT INTO probe VALUES (1)", "SELECT * FROM probe", "CHECKPOINT"} {
				if _, err := c.Exec(ctx, sql); err != nil {
					return fmt.Errorf("%s: %w", sql, err)
				}
			}
			return nil
		}()
		if err == nil {
			return
		}
		if time.Now().After(limit) {
			h.t.Fatalf("the server does not go on: %v", err)
		}
		time.Sleep(200 * time.Millisecond)
	}
}
