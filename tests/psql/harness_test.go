//go:build peers

package psql_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"dtstore/tests/dtest"
)

// command is psql as a user's: no start-up file, English, UTC.
func command(ctx context.Context, s *dtest.Server, args ...string) *exec.Cmd {
	all := append([]string{"-X", "-h", "127.0.0.1", "-p", fmt.Sprint(s.Port), "-U", "tester", "-d", "dtstore"}, args...)
	c := exec.CommandContext(ctx, "psql", all...)
	c.Env = append(os.Environ(), "PAGER=cat", "PGTZ=UTC", "LC_ALL=C.UTF-8", "PSQL_HISTORY=/dev/null")
	return c
}

// run feeds psql a script and gives what it printed, stdout and stderr in order.
func run(t *testing.T, s *dtest.Server, dir, script string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	c := command(ctx, s, args...)
	c.Dir = dir
	c.Stdin = strings.NewReader(script)
	out, err := c.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !asExit(err, &exit) {
		t.Fatalf("psql (Debian: postgresql-client): %v", err)
	}
	text := string(out)
	if exit != nil {
		text += fmt.Sprintf("exit status %d\n", exit.ExitCode())
	}
	return text
}

func asExit(err error, to **exec.ExitError) bool {
	e, ok := err.(*exec.ExitError)
	*to = e
	return ok
}

// masks hide what differs from run to run.
var masks = []struct {
	from *regexp.Regexp
	to   string
}{
	{regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`), "UUID"},
	{regexp.MustCompile(`Time: [0-9.]+ ms`), "Time: N ms"},
	{regexp.MustCompile(`\b\d+ (bytes|kB|MB)\b`), "N $1"},
	{regexp.MustCompile(`\((every|i=)[^)]*\)`), "(every Ns)"},
	{regexp.MustCompile(`\w{3} \w{3} [ \d]\d \d\d:\d\d:\d\d \d{4}`), "DATE"},
	{regexp.MustCompile(`port "\d+"`), `port "PORT"`},
	{regexp.MustCompile(`oid \d+`), "oid N"},
	{regexp.MustCompile(`"/[^"]*/`), `"…/`},
}

func mask(text string) string {
	for _, m := range masks {
		text = m.from.ReplaceAllString(text, m.to)
	}
	var lines []string
	for line := range strings.SplitSeq(strings.TrimRight(text, "\n"), "\n") {
		lines = append(lines, strings.TrimRight(line, " "))
	}
	return strings.Join(lines, "\n") + "\n"
}
