package main

import (
	"fmt"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
)

// size is a number of bytes, or a share of the machine's memory.
type size struct {
	bytes   int64
	percent float64 // above 0: a share, bytes is not set
}

// units in the order in which they are tried; KB is 1024 bytes, as in Postgres.
var units = []struct {
	name  string
	bytes int64
}{
	{"KIB", 1 << 10}, {"MIB", 1 << 20}, {"GIB", 1 << 30}, {"TIB", 1 << 40},
	{"KB", 1 << 10}, {"MB", 1 << 20}, {"GB", 1 << 30}, {"TB", 1 << 40},
	{"K", 1 << 10}, {"M", 1 << 20}, {"G", 1 << 30}, {"T", 1 << 40}, {"B", 1},
}

// UnmarshalText reads "4GB", "512 MiB", "1073741824" or "50%".
func (s *size) UnmarshalText(text []byte) error {
	t := strings.ToUpper(strings.TrimSpace(string(text)))
	if p, ok := strings.CutSuffix(t, "%"); ok {
		f, err := strconv.ParseFloat(strings.TrimSpace(p), 64)
		if err != nil || !(f > 0 && f <= 100) {
			return fmt.Errorf("%q is no share of the memory: write a number above 0 and up to 100, such as 50%%", text)
		}
		*s = size{percent: f}
		return nil
	}
	unit := int64(1)
	for _, u := range units {
		if n, ok := strings.CutSuffix(t, u.name); ok {
			t, unit = strings.TrimSpace(n), u.bytes
			break
		}
	}
	f, err := strconv.ParseFloat(t, 64)
	if err != nil || !(f >= 0 && f*float64(unit) < 1<<60) {
		return fmt.Errorf("%q is no size: write bytes, or a number with KB, MB, GB or TB", text)
	}
	*s = size{bytes: int64(f * float64(unit))}
	return nil
}

// of resolves the size against the machine's memory.
func (s size) of(machine int64) int64 {
	if s.percent > 0 {
		return int64(float64(machine) * s.percent / 100)
	}
	return s.bytes
}

// shares is the budget, cut.
type shares struct {
	total       int64
	memtables   int64
	engine      int64
	caches      int64
	transaction int64
}

// least is what the smallest useful server needs.
const least = 256 << 20

// cut divides the budget. What is left over is for connections, reads of the
// log and the runtime.
func (c *config) cut(machine int64) (shares, error) {
	s := shares{total: c.Memory.of(machine)}
	if s.total < least {
		return s, fmt.Errorf("--memory: %d MB are too little, at least %d MB are needed", s.total>>20, least>>20)
	}
	pick := func(own size, share int64) int64 {
		if n := own.of(machine); n > 0 {
			return n
		}
		return share
	}
	s.memtables = pick(c.MemtableMemory, min(s.total/4, 256<<20))
	s.engine = pick(c.EngineMemory, s.total/2)
	s.caches = pick(c.CacheMemory, min(s.total/8, 512<<20))
	s.transaction = pick(c.TransactionMemory, min(s.total/16, 128<<20))
	if sum := s.memtables + s.engine + s.caches; sum > s.total {
		return s, fmt.Errorf("--memory: memtables, DuckDB and caches together are %d MB, more than the budget of %d MB; raise --memory or lower one of them", sum>>20, s.total>>20)
	}
	return s, nil
}

// limitHeap tells Go's collector what is left beside the engine, so that it
// works harder before the budget is passed. GOMEMLIMIT has precedence.
func limitHeap(s shares) {
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(s.total - s.engine)
	}
}

// machineMemory is what this process may use: the machine's memory or the
// control group's limit, whichever is less.
func machineMemory() int64 {
	total := physicalMemory()
	for _, name := range []string{"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"} {
		text, err := os.ReadFile(name)
		if err != nil {
			continue
		}
		if n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64); err == nil && n > 0 {
			total = min(total, n)
		}
	}
	return total
}

// unknownMemory is assumed where the system does not say.
const unknownMemory = 4 << 30

// physicalMemory reads the system's own figure.
func physicalMemory() int64 {
	text, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return unknownMemory
	}
	for line := range strings.Lines(string(text)) {
		rest, ok := strings.CutPrefix(line, "MemTotal:")
		if !ok {
			continue
		}
		if n, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "kB")), 10, 64); err == nil && n > 0 {
			return n << 10
		}
	}
	return unknownMemory
}
