package main

import (
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"time"
)

// result is one row of the table.
type result struct {
	work  string
	ours  measure
	peer  measure
	name  string // of the peer: "PostgreSQL", "DuckDB", "limit"
	aim   float64
	notes string
}

// measure is one side of a row. Exactly one of rate and time is set.
type measure struct {
	rate float64       // per second: more is better
	time time.Duration // less is better
	cpu  time.Duration // that the server took; 0: not known
	unit string        // of rate: "rows/s"
}

func (m measure) String() string {
	var s string
	switch {
	case m.rate > 0 && m.rate < 10_000:
		s = fmt.Sprintf("%.0f %s", m.rate, m.unit)
	case m.rate > 0:
		s = fmt.Sprintf("%.0f k %s", m.rate/1000, m.unit)
	case m.time > 0 && m.time < 10*time.Second:
		s = fmt.Sprintf("%.1f ms", float64(m.time.Microseconds())/1000)
	case m.time > 0:
		s = fmt.Sprintf("%.1f s", m.time.Seconds())
	default:
		return "-"
	}
	if m.cpu > 0 {
		s += fmt.Sprintf(" (cpu %.2f s)", m.cpu.Seconds())
	}
	return s
}

// ratio is how good ours is: 1 as the peer, above 1 better.
func (r result) ratio() float64 {
	switch {
	case r.ours.rate > 0 && r.peer.rate > 0:
		return r.ours.rate / r.peer.rate
	case r.ours.time > 0 && r.peer.time > 0:
		return float64(r.peer.time) / float64(r.ours.time)
	}
	return 0
}

type table struct{ rows []result }

// add notes a row, and prints it for the impatient.
func (t *table) add(r result) {
	t.rows = append(t.rows, r)
	fmt.Fprintf(os.Stderr, "  %s: %v, %s %v, ratio %.2f\n", r.work, r.ours, r.name, r.peer, r.ratio())
}

// print writes the table in Markdown, with the machine above it.
func (t *table) print(w io.Writer) {
	if len(t.rows) == 0 {
		return
	}
	fmt.Fprintf(w, "%s, %d CPUs, %s, load %s, %s\n\n", cpuModel(), runtime.NumCPU(), memoryText(), loadText(), time.Now().UTC().Format("2006-01-02 15:04 UTC"))
	fmt.Fprintln(w, "| work | ours | peer or floor | ratio | aim | |")
	fmt.Fprintln(w, "| --- | ---: | ---: | ---: | ---: | --- |")
	for _, r := range t.rows {
		ratio, aim := "-", "-"
		if x := r.ratio(); x > 0 {
			ratio = fmt.Sprintf("%.2f", x)
		}
		if r.aim > 0 {
			aim = fmt.Sprintf("≥ %.2f", r.aim)
		}
		fmt.Fprintf(w, "| %s | %v | %s %v | %s | %s | %s |\n", r.work, r.ours, r.name, r.peer, ratio, aim, r.notes)
	}
}

func cpuModel() string {
	text, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return runtime.GOARCH
	}
	for line := range strings.Lines(string(text)) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return runtime.GOARCH
}

func memoryText() string {
	text, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return "memory unknown"
	}
	var kb int64
	fmt.Sscanf(string(text), "MemTotal: %d kB", &kb)
	return fmt.Sprintf("%d GB", (kb+1<<19)>>20)
}

func loadText() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	one, _, _ := strings.Cut(string(text), " ")
	return one
}
