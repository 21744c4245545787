//go:build peers

// Package docs_test runs the examples of README.md and docs/ as a user would:
// with psql and kcat (Debian: postgresql-client, kcat).
package docs_test

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"dtstore/tests/dtest"
)

// block is a fenced example: ```psql is a conversation with psql, ```console
// commands of a shell ("$ …") with what they print.
type block struct {
	kind string
	line int // of its first line in the file
	text []string
}

func blocks(t *testing.T, file string) []block {
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var out []block
	var cur *block
	for i, line := range strings.Split(string(data), "\n") {
		kind, fence := strings.CutPrefix(line, "```")
		switch {
		case fence && cur == nil:
			cur = &block{kind: kind, line: i + 2}
		case fence:
			out = append(out, *cur)
			cur = nil
		case cur != nil:
			cur.text = append(cur.text, line)
		}
	}
	return out
}

// step is one input and what is printed for it.
type step struct {
	line  int
	input string
	want  []string
}

// steps cuts a conversation: inputs stand after a prompt, which a statement of
// several lines has on each.
func steps(b block, prompt, more *regexp.Regexp) []step {
	var out []step
	for i, line := range b.text {
		switch {
		case prompt.MatchString(line):
			out = append(out, step{line: b.line + i, input: prompt.ReplaceAllString(line, "")})
		case more != nil && more.MatchString(line):
			out[len(out)-1].input += "\n" + more.ReplaceAllString(line, "")
		case len(out) > 0:
			out[len(out)-1].want = append(out[len(out)-1].want, line)
		}
	}
	return out
}

// masks hide what differs from run to run: ids, sizes, times, offsets.
var masks = []struct{ from, to string }{
	{`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`, "UUID"},
	{`(files +\| bytes +\|) +\d+`, "$1 N"},
	{`(log +\| partition \d+ +\|) .*`, "$1 OFFSETS"},
	{`(?m)^( *\d+ \| +\d+ \| +\d+ \| +\d+ \| +\d+ \| +\d+ \|) +\d+ \| +\d+ *$`, "$1 N | N"}, // bytes of COMPACT
	{`-{3,}`, "---"},
	{` +`, " "},
}

func mask(s string) string {
	for _, m := range masks {
		s = regexp.MustCompile(m.from).ReplaceAllString(s, m.to)
	}
	var lines []string
	for line := range strings.SplitSeq(s, "\n") {
		lines = append(lines, strings.TrimRight(line, " "))
	}
	return strings.Trim(strings.Join(lines, "\n"), "\n")
}

var (
	psqlPrompt = regexp.MustCompile(`^dtstore[=*!]*# `)
	psqlMore   = regexp.MustCompile(`^dtstore[-*!]*[-(']# `)
	shPrompt   = regexp.MustCompile(`^\$ `)
)

func TestExamples(t *testing.T) {
	root := dtest.Root(t)
	files, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	files = append(files, filepath.Join(root, "README.md"))
	ran := 0
	for _, file := range files {
		all := blocks(t, file)
		name := filepath.Base(file)
		n := 0
		for _, b := range all {
			if b.kind == "psql" || b.kind == "console" {
				n++
			}
		}
		if n == 0 {
			continue
		}
		ran += n
		t.Run(name, func(t *testing.T) { runFile(t, root, name, all) })
	}
	if ran < 10 {
		t.Fatalf("only %d examples were found", ran)
	}
}

func runFile(t *testing.T, root, name string, all []block) {
	s := dtest.Start(t, dtest.Options{})
	p := openPSQL(t, s, root)
	for _, b := range all {
		switch b.kind {
		case "psql":
			for _, st := range steps(b, psqlPrompt, psqlMore) {
				compare(t, name, st, p.run(st.input))
			}
		case "console":
			for _, st := range steps(b, shPrompt, nil) {
				cmd := strings.NewReplacer("127.0.0.1:7492", fmt.Sprintf("127.0.0.1:%d", s.KafkaPort), "dtdata/", s.Data+"/").Replace(st.input)
				c := exec.Command("bash", "-c", cmd)
				c.Dir = root
				out, err := c.CombinedOutput()
				if err != nil {
					t.Errorf("%s:%d: %s: %v\n%s", name, st.line, cmd, err, out)
					continue
				}
				compare(t, name, st, string(out))
			}
		}
	}
}

func compare(t *testing.T, name string, st step, got string) {
	t.Helper()
	want := strings.Join(st.want, "\n")
	if mask(got) != mask(want) {
		t.Errorf("%s:%d: %s\n--- printed\n%s\n--- the text says\n%s", name, st.line, st.input, got, want)
	}
}

// psql is one psql for a whole file; a marker tells where an answer ends.
type psql struct {
	t   *testing.T
	in  io.WriteCloser
	out *bufio.Reader
	n   int
}

func openPSQL(t *testing.T, s *dtest.Server, dir string) *psql {
	cmd := exec.Command("psql", "-X", "-h", "127.0.0.1", "-p", fmt.Sprint(s.Port), "-U", "tester", "-d", "dtstore", "-v", "VERBOSITY=default")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "PAGER=cat", "PGTZ=UTC", "LC_ALL=C.UTF-8")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	r, w := io.Pipe()
	cmd.Stdout, cmd.Stderr = w, w
	if err := cmd.Start(); err != nil {
		t.Fatalf("psql (Debian: postgresql-client): %v", err)
	}
	t.Cleanup(func() { in.Close(); go io.Copy(io.Discard, r); cmd.Wait() })
	return &psql{t: t, in: in, out: bufio.NewReader(r)}
}

// run sends an input and reads what it prints.
func (p *psql) run(input string) string {
	p.n++
	end := fmt.Sprintf("--end-%d--", p.n)
	fmt.Fprintf(p.in, "%s\n\\warn %s\n\\echo %s\n", input, end, end)
	var out []string
	for marks := 0; marks < 2; {
		line, err := p.out.ReadString('\n')
		if err != nil {
			p.t.Fatalf("psql ended after %q: %v", input, err)
		}
		if strings.HasPrefix(line, end) {
			marks++
			continue
		}
		out = append(out, strings.TrimRight(line, "\n"))
	}
	return strings.Join(out, "\n")
}
