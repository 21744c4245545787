package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// clockTick is what /proc counts CPU time in: 100 a second on every Linux.
const clockTick = 10 * time.Millisecond

// stat is a process as /proc/PID/stat has it.
type stat struct {
	parent int
	own    time.Duration // user and system time
	waited time.Duration // of children that have ended
}

func statOf(pid int) (stat, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return stat{}, err
	}
	// The name in parentheses may hold anything; fields are counted behind it.
	f := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	if len(f) < 15 {
		return stat{}, fmt.Errorf("/proc/%d/stat is too short", pid)
	}
	n := func(i int) int64 { x, _ := strconv.ParseInt(f[i], 10, 64); return x }
	return stat{parent: int(n(1)), own: time.Duration(n(11)+n(12)) * clockTick, waited: time.Duration(n(13)+n(14)) * clockTick}, nil
}

// cpuOf is the CPU time of a process, its children and those that have ended.
func cpuOf(pid int) time.Duration {
	s, err := statOf(pid)
	if err != nil {
		return 0
	}
	total := s.own + s.waited
	names, _ := filepath.Glob("/proc/[0-9]*")
	for _, name := range names {
		child, _ := strconv.Atoi(filepath.Base(name))
		if s, err := statOf(child); err == nil && s.parent == pid {
			total += s.own + s.waited
		}
	}
	return total
}

// peakOf is the most memory that a process ever had resident, in bytes.
func peakOf(pid int) int64 { return statusOf(pid, "VmHWM:") }

func statusOf(pid int, field string) int64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); len(f) >= 2 && f[0] == field {
			kb, _ := strconv.ParseInt(f[1], 10, 64)
			return kb << 10
		}
	}
	return 0
}

// resetPeak starts peakOf anew.
func resetPeak(pid int) {
	os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", pid), []byte("5"), 0) // where it is not allowed, the peak stays
}
