//go:build peers

package psql_test

import (
	"io"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/creack/pty"

	"dtstore/tests/dtest"
)

// terminal is a psql on a terminal, as a person has it.
type terminal struct {
	t    *testing.T
	file *os.File
	mu   sync.Mutex
	text string // printed and not yet looked at
}

func openTerminal(t *testing.T, s *dtest.Server) *terminal {
	t.Helper()
	c := command(t.Context(), s, "-v", "PROMPT1=ready> ", "-v", "PROMPT2=more> ", "--pset=pager=off")
	c.Env = append(c.Env, "TERM=xterm")
	f, err := pty.StartWithSize(c, &pty.Winsize{Rows: 50, Cols: 200})
	if err != nil {
		t.Fatal(err)
	}
	p := &terminal{t: t, file: f}
	go func() {
		buf := make([]byte, 4096)
		for {
			n, err := f.Read(buf)
			p.mu.Lock()
			p.text += string(buf[:n])
			p.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	t.Cleanup(func() {
		io.WriteString(f, "\x03\\q\n")
		f.Close()
		c.Process.Kill()
		c.Wait()
	})
	return p
}

func (p *terminal) write(text string) {
	if _, err := io.WriteString(p.file, text); err != nil {
		p.t.Fatal(err)
	}
}

// wait reads on until the text is printed, and gives what came up to it.
func (p *terminal) wait(text string) string {
	p.t.Helper()
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		p.mu.Lock()
		if before, after, ok := strings.Cut(p.text, text); ok {
			p.text = after
			p.mu.Unlock()
			return before
		}
		seen := p.text
		p.mu.Unlock()
		if time.Now().After(end) {
			p.t.Fatalf("no %q in %q", text, seen)
		}
	}
}

const endless = "SELECT count(*) FROM generate_series(1, 100000) a, generate_series(1, 100000) b, generate_series(1, 1000) c;\n"

// TestInterrupt presses Ctrl-C on statements that run and that stream.
func TestInterrupt(t *testing.T) {
	s := dtest.Start(t, dtest.Options{})
	run(t, s, "", "CREATE TABLE feed (id int PRIMARY KEY, v text);\nINSERT INTO feed VALUES (1, 'first');\n")
	p := openTerminal(t, s)
	p.wait("ready> ")
	interrupted := func(how string) {
		t.Helper()
		began := time.Now()
		p.write("\x03")
		p.wait("canceling statement due to user request")
		p.wait("ready> ")
		if d := time.Since(began); d > 5*time.Second {
			t.Errorf("%s: the interrupt took %v", how, d)
		}
		p.write("SELECT 'still ' || 'here';\n")
		p.wait("still here")
		p.wait("ready> ")
	}

	p.write("\\echo 'go' 'on'\n")
	p.wait("go on")
	p.write(endless)
	time.Sleep(500 * time.Millisecond) // it runs: psql prints nothing that could be waited for
	interrupted("running")

	p.write("SET execution.runtime_mode = streaming;\n")
	p.wait("SET\r\n")
	p.write("\\set FETCH_COUNT 1\n")
	p.write("SELECT id, v FROM feed;\n")
	p.wait("streaming: this SELECT does not end by itself")
	p.wait("first")
	for _, v := range []string{"second", "third"} { // rows come as they are written
		run(t, s, "", "UPDATE feed SET v = '"+v+"';\n")
		p.wait("-U")
		p.wait("+U")
		p.wait(v)
	}
	interrupted("streaming")

	p.write("COPY (SELECT id, v FROM feed) TO STDOUT;\n")
	p.wait("+I\t1\tthird")
	run(t, s, "", "DELETE FROM feed;\n")
	p.wait("-D\t1")
	interrupted("COPY of a stream")

	p.write("\\unset FETCH_COUNT\n")
	p.write("RESET execution.runtime_mode;\n")
	p.wait("RESET\r\n")
	p.write("SELECT 'ti' || 'ck' \\watch 0.2\n")
	p.wait("tick")
	p.wait("tick")
	p.write("\x03")
	p.wait("ready> ")
	p.write("SELECT count(*) AS gone FROM feed;\n")
	p.wait("gone")
}

// TestTabCompletion presses Tab where psql asks the catalogue: nothing may fail,
// in a transaction too, which an error would abort.
func TestTabCompletion(t *testing.T) {
	s := dtest.Start(t, dtest.Options{})
	run(t, s, "", "CREATE TABLE customers (id int PRIMARY KEY, full_name text);\n")
	p := openTerminal(t, s)
	p.wait("ready> ")
	p.write("BEGIN;\n")
	p.wait("BEGIN\r\n")
	for _, c := range []struct{ typed, completed string }{
		{"SELECT * FROM cust\t", "omers "},
		{"UPDATE cust\t", "omers "},
		{"UPDATE customers SET ful\t", "l_name "},
		{"SET execution.runtime\t\t", ""},
		{"DROP TABLE cust\t", "omers "},
		{"INSERT INTO cust\t", "omers "},
		{"\\d cust\t", "omers"},
		{"SELECT full\t\t", ""},
		{"SET search_path TO pub\t", ""},
		{"ALTER TABLE cust\t", "omers "},
		{"GRANT SELECT ON cust\t", ""},
		{"\\c dts\t", ""},
		{"SHOW statement\t\t", ""},
	} {
		p.wait("ready> ")
		p.write(c.typed)
		if c.completed != "" {
			p.wait(c.completed)
		}
		time.Sleep(50 * time.Millisecond)
		p.write("\x15\x15") // empties the line
		p.write("\nSELECT 'alive ' || 'still';\n")
		p.wait("alive still")
	}
}
