package snapshot

import (
	"context"
	"time"
)

// Rules names the rules that SwitchOff knows, in a fixed order.
var Rules = []string{
	"look for one's own commit",
	"From/base/identity check",
	"live check",
	"put-if-absent",
	"base still there",
	"delete nothing on unknown",
}

// SwitchOff breaks one rule of t.
func (t *Table) SwitchOff(rule string) {
	switch rule {
	case Rules[0]:
		t.broken.look = true
	case Rules[1]:
		t.broken.fence = true
	case Rules[2]:
		t.broken.live = true
	case Rules[3]:
		t.broken.absent = true
	case Rules[4]:
		t.broken.base = true
	case Rules[5]:
		t.broken.deletions = true
	default:
		panic("no rule " + rule)
	}
}

// SetClock replaces the clock of t, and makes its pauses calls of pause.
func (t *Table) SetClock(now func() time.Time, pause func(ctx context.Context, try int) error) {
	t.now, t.pause = now, pause
}

// MergeManifestsAt makes every table merge its manifests once there are n of them, until the
// returned function is called.
func MergeManifestsAt(n int) func() {
	before := mergeOptions
	mergeOptions.MinCount = n
	return func() { mergeOptions = before }
}

// SetIDs makes t take its uuids from newID.
func (t *Table) SetIDs(newID func() string) { t.newID = newID }

// Raw returns the bytes of the file that s was read from or put into.
func Raw(s *Snapshot) []byte { return s.raw }
