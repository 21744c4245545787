package embedded

import (
	"bytes"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

var discard = slog.New(slog.DiscardHandler)

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// kfakeSource is the source of the kfake that we are built with.
func kfakeSource(t *testing.T) []byte {
	t.Helper()
	out, err := exec.Command("go", "list", "-f", "{{.Dir}}", "github.com/twmb/franz-go/pkg/kfake").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	paths, err := filepath.Glob(filepath.Join(strings.TrimSpace(string(out)), "*.go"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("kfake's source: %v", err)
	}
	var all bytes.Buffer
	for _, p := range paths {
		if !strings.HasSuffix(p, "_test.go") {
			all.Write(must(os.ReadFile(p)))
		}
	}
	return all.Bytes()
}
