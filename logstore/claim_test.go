package logstore_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"dtstore/logstore"
)

func claim(t *testing.T, l *logstore.Log) *logstore.Claim {
	t.Helper()
	c, err := l.Claim(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// One instance at a time; who lets go makes room at once.
func TestClaim(t *testing.T) {
	addrs := brokers(t)
	prefix := func(o *logstore.Options) { o.Prefix = strings.ToLower(t.Name()) + "." }
	first, second := open(t, addrs, prefix), open(t, addrs, prefix)
	c := claim(t, first)
	if err := c.Err(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if _, err := second.Claim(ctx); err == nil {
		t.Fatal("two instances have the claim")
	}
	if err := c.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	c2 := claim(t, second)
	// Another prefix is another claim.
	c3 := claim(t, open(t, addrs, func(o *logstore.Options) { o.Prefix = "another." }))
	for _, c := range []*logstore.Claim{c2, c3} {
		if err := c.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

// The same instance, started again after a kill, takes its claim over at once,
// and what is left of its former life learns of it.
func TestClaimTakenOver(t *testing.T) {
	addrs := brokers(t)
	same := func(o *logstore.Options) { o.Prefix, o.InstanceID = strings.ToLower(t.Name())+".", "the-instance" }
	old := claim(t, open(t, addrs, same))
	began := time.Now()
	now := claim(t, open(t, addrs, same))
	if took := time.Since(began); took > 3*time.Second {
		t.Errorf("took %v", took)
	}
	select {
	case <-old.Lost():
	case <-time.After(30 * time.Second):
		t.Fatal("the former life does not know")
	}
	if !errors.Is(old.Err(), logstore.ErrClaimed) {
		t.Error(old.Err())
	}
	if err := errors.Join(old.Release(t.Context()), now.Release(t.Context())); err != nil {
		t.Fatal(err)
	}
}
