package fault_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"dtstore/objstore"
	"dtstore/objstore/fault"
	"dtstore/objstore/storetest"
)

// TestWithoutFaults: the wrapper alone changes nothing.
func TestWithoutFaults(t *testing.T) {
	storetest.Run(t, func(*testing.T) objstore.Store { return fault.New(objstore.NewMem(), fault.Plan{}) })
	storetest.Run(t, func(*testing.T) objstore.Store {
		return fault.New(objstore.NewMem(), fault.Plan{Faults: []fault.Fault{{Call: 1 << 40}}})
	})
}

func body(t *testing.T, s objstore.Store, key string) string {
	got, err := s.Get(t.Context(), key)
	if errors.Is(err, objstore.ErrNotExist) {
		return "absent"
	} else if err != nil {
		t.Fatal(err)
	}
	return string(got)
}

func TestKinds(t *testing.T) {
	for _, c := range []struct {
		kind        fault.Kind
		after       int
		now, landed string
	}{
		{fault.Fail, 0, "old-old", "old-old"},
		{fault.Lose, 0, "new-new-", "new-new-"},
		{fault.Late, 0, "old-old", "new-new-"},
		{fault.Truncate, 0, "new-", "new-"},
	} {
		mem := objstore.NewMem()
		s := fault.New(mem, fault.Plan{Faults: []fault.Fault{{Call: 2, Kind: c.kind, After: c.after}}})
		if err := s.Put(t.Context(), "k", []byte("old-old")); err != nil {
			t.Fatal(err)
		}
		if err := s.Put(t.Context(), "k", []byte("new-new-")); !errors.Is(err, fault.ErrInjected) {
			t.Errorf("%v: %v", c.kind, err)
		}
		if got := body(t, mem, "k"); got != c.now {
			t.Errorf("%v: %q, want %q", c.kind, got, c.now)
		}
		s.Land()
		if got := body(t, mem, "k"); got != c.landed {
			t.Errorf("%v landed: %q, want %q", c.kind, got, c.landed)
		}
	}
}

// TestLateLands: a delayed put-if-absent that lands before another wins, and the
// other, which was answered first in vain, gets ErrExist.
func TestLateLands(t *testing.T) {
	mem := objstore.NewMem()
	s := fault.New(mem, fault.Plan{Faults: []fault.Fault{{Call: 1, Kind: fault.Late, After: 2}}})
	if err := s.PutIfAbsent(t.Context(), "n", []byte("late")); !errors.Is(err, fault.ErrInjected) {
		t.Fatal(err)
	}
	if got := body(t, s, "n"); got != "absent" { // call 2
		t.Fatal(got)
	}
	if err := s.PutIfAbsent(t.Context(), "n", []byte("second")); !errors.Is(err, objstore.ErrExist) { // call 3: the late one lands before it
		t.Fatal(err)
	}
	if got := body(t, mem, "n"); got != "late" {
		t.Fatal(got)
	}
}

func TestReads(t *testing.T) {
	mem := objstore.NewMem()
	for i := range 4 {
		if err := mem.Put(t.Context(), fmt.Sprint("k", i), []byte("12345678")); err != nil {
			t.Fatal(err)
		}
	}
	s := fault.New(mem, fault.Plan{Faults: []fault.Fault{{Call: 1, Kind: fault.Truncate}, {Call: 2, Kind: fault.Fail}, {Call: 3, Kind: fault.Truncate}, {Call: 4, Kind: fault.Lose}}})
	if got := body(t, s, "k0"); got != "1234" {
		t.Error(got)
	}
	if _, err := s.Stat(t.Context(), "k0"); !errors.Is(err, fault.ErrInjected) {
		t.Error(err)
	}
	for n, want := range []int{2, 0} {
		got, failed := 0, false
		for _, err := range s.List(t.Context(), "") {
			if err != nil {
				failed = errors.Is(err, fault.ErrInjected)
			} else {
				got++
			}
		}
		if got != want || !failed {
			t.Errorf("list %d: %d objects, failed %v", n, got, failed)
		}
	}
	if got := s.Calls()[1].String(); got != "call 2: stat k0" {
		t.Error(got)
	}
}

func TestDelay(t *testing.T) {
	var waited []string
	plan := fault.Plan{Faults: []fault.Fault{{Call: 1, Kind: fault.Delay}}, Wait: func(_ context.Context, c fault.Call) error {
		waited = append(waited, c.Key)
		return nil
	}}
	s := fault.New(objstore.NewMem(), plan)
	if err := s.Put(t.Context(), "k", nil); err != nil || !slices.Equal(waited, []string{"k"}) {
		t.Error(err, waited)
	}
	plan.Wait = nil
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := fault.New(objstore.NewMem(), plan).Put(ctx, "k", nil); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// TestSeed: the same seed breaks the same calls.
func TestSeed(t *testing.T) {
	run := func(seed uint64) (broke []int) {
		s := fault.New(objstore.NewMem(), fault.Plan{Rate: 0.3, Seed: seed})
		for i := range 100 {
			if s.Put(t.Context(), fmt.Sprint(i), nil) != nil {
				broke = append(broke, i)
			}
		}
		return broke
	}
	a := run(1)
	if len(a) < 10 || len(a) > 60 || !slices.Equal(a, run(1)) || slices.Equal(a, run(2)) {
		t.Errorf("%v, %v, %v", a, run(1), run(2))
	}
}
