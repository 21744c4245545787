//go:build peers

package drivers_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"dtstore/tests/dtest"
)

// cache is where drivers are installed; PEERS_CACHE names another folder.
func cache(t *testing.T, name string) string {
	t.Helper()
	dir := os.Getenv("PEERS_CACHE")
	if dir == "" {
		base, err := os.UserCacheDir()
		if err != nil {
			t.Fatal(err)
		}
		dir = filepath.Join(base, "dtstore-peers")
	}
	dir = filepath.Join(dir, name)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

// install runs commands in a folder of the cache, once for a list of versions.
func install(t *testing.T, name, versions string, commands ...[]string) string {
	t.Helper()
	dir := cache(t, name)
	done := filepath.Join(dir, ".complete")
	if b, err := os.ReadFile(done); err == nil && string(b) == versions {
		return dir
	}
	for _, c := range commands {
		cmd := exec.Command(c[0], c[1:]...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", strings.Join(c, " "), err, out)
		}
	}
	if err := os.WriteFile(done, []byte(versions), 0o644); err != nil {
		t.Fatal(err)
	}
	return dir
}

const pythonDrivers = "psycopg[binary]==3.2.6 psycopg2-binary==2.9.10 SQLAlchemy==2.0.40 asyncpg==0.30.0 pg8000==1.31.2"

func python(t *testing.T) string {
	venv := filepath.Join(cache(t, "drivers-python"), "venv")
	pip := append([]string{filepath.Join(venv, "bin", "pip"), "install", "-q", "--disable-pip-version-check"}, strings.Fields(pythonDrivers)...)
	install(t, "drivers-python", pythonDrivers, []string{"python3", "-m", "venv", venv}, pip)
	return filepath.Join(venv, "bin", "python")
}

// script runs a program that prints "ok NAME" or "FAIL NAME why" for each check.
func script(t *testing.T, checks int, command ...string) {
	t.Helper()
	s := dtest.Start(t, dtest.Options{})
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Dir = "testdata"
	cmd.Env = append(os.Environ(), "DSN=postgresql://tester@127.0.0.1:"+fmt.Sprint(s.Port)+"/dtstore", "JDBC_URL=jdbc:postgresql://127.0.0.1:"+fmt.Sprint(s.Port)+"/dtstore?user=tester", "PYTHONDONTWRITEBYTECODE=1")
	out, err := cmd.CombinedOutput()
	ok, failed := 0, ""
	lines := bufio.NewScanner(bytes.NewReader(out))
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		switch line := lines.Text(); {
		case strings.HasPrefix(line, "ok "):
			ok++
		default:
			failed += line + "\n"
		}
	}
	if err != nil || ok < checks {
		t.Errorf("%d of %d checks passed (%v):\n%s\n--- the server\n%s", ok, checks, err, failed, s.Output())
	}
}

func TestPsycopg3(t *testing.T)   { script(t, 15, python(t), "psycopg3.py") }
func TestSQLAlchemy(t *testing.T) { script(t, 5, python(t), "sqlalchemy2.py") }
func TestAsyncpg(t *testing.T)    { script(t, 6, python(t), "asyncpg_pg8000.py") }

func TestNode(t *testing.T) {
	dir := install(t, "drivers-node", "pg 8.23.1, pg-cursor 2.22.1, pg-copy-streams 7.0.0, postgres 3.4.9",
		[]string{"npm", "install", "--no-audit", "--no-fund", "--silent", "--prefix", ".", "pg@8.23.1", "pg-cursor@2.22.1", "pg-copy-streams@7.0.0", "postgres@3.4.9"})
	t.Setenv("NODE_PATH", filepath.Join(dir, "node_modules"))
	script(t, 8, "node", "--no-deprecation", "node.js")
}

func TestJDBC(t *testing.T) {
	dir := cache(t, "drivers-pgjdbc")
	install(t, "drivers-pgjdbc", "postgresql 42.7.8", []string{"mvn", "-q", "-f", filepath.Join(dtest.Root(t), "peers", "maven", "pgjdbc.xml"),
		"dependency:copy-dependencies", "-DoutputDirectory=" + dir, "-DincludeScope=runtime"})
	script(t, 7, "java", "-cp", filepath.Join(dir, "*"), "Jdbc.java")
}
