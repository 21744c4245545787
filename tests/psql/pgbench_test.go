//go:build peers

package psql_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"dtstore/tests/dtest"
)

// TestPgbench runs reads and updates of keys through pgbench's prepared mode,
// and reads what pgbench -i says.
func TestPgbench(t *testing.T) {
	s := dtest.Start(t, dtest.Options{})
	run(t, s, "", "CREATE TABLE accounts (aid int PRIMARY KEY, balance bigint, filler char(84)) WITH ('bucket' = '2');\n"+
		"INSERT INTO accounts SELECT g, 0, '' FROM generate_series(1, 1000) g;\n")
	script := filepath.Join(t.TempDir(), "work.sql")
	work := "\\set aid random(1, 1000)\nSELECT balance FROM accounts WHERE aid = :aid;\nUPDATE accounts SET balance = balance + 1 WHERE aid = :aid;\n"
	if err := os.WriteFile(script, []byte(work), 0o644); err != nil {
		t.Fatal(err)
	}
	bench := func(args ...string) (string, error) {
		args = append([]string{"-h", "127.0.0.1", "-p", fmt.Sprint(s.Port), "-U", "tester"}, append(args, "dtstore")...)
		out, err := exec.Command("pgbench", args...).CombinedOutput()
		return string(out), err
	}
	for _, mode := range []string{"prepared", "extended", "simple"} {
		out, err := bench("-n", "-f", script, "-M", mode, "-c", "4", "-t", "50")
		if err != nil || !strings.Contains(out, "number of transactions actually processed: 200/200") || !strings.Contains(out, "number of failed transactions: 0 ") {
			t.Errorf("%s: %v\n%s", mode, err, out)
		}
	}
	if got := run(t, s, "", "SELECT sum(balance) FROM accounts;\n", "-At"); got != "600\n" {
		t.Errorf("600 updates were acknowledged, the sum is %s", got)
	}
	out, err := bench("-i")
	if err == nil || !strings.Contains(out, "create its tables by hand") {
		t.Errorf("pgbench -i: %v\n%s", err, out)
	}
}
