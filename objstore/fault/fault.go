// Package fault wraps a Store and breaks chosen calls of it, the same way at
// every run: so that a test can try a history with a fault at its call k, for
// every k, and look afterwards whether the invariants still hold.
//
// A plan names calls by number, in the order in which they begin. First run the
// history without faults and read [Store.Calls]; then once for each number.
package fault

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"os"
	"sync"
	"time"

	"dtstore/objstore"
)

// ErrInjected is what a broken call returns, wrapped.
var ErrInjected = errors.New("injected fault")

// Kind is what happens to a call.
type Kind int

const (
	Fail     Kind = iota // nothing happens, and an error returns
	Lose                 // it happens, and an error returns: the answer was lost
	Late                 // an error returns, and it happens later: see Fault.After
	Delay                // Plan.Wait runs first, then the call
	Truncate             // a write leaves the first half of the bytes and an error; a read or a list gives the first half (lists with an error, reads without)
)

func (k Kind) String() string {
	return [...]string{"fail", "lose", "late", "delay", "truncate"}[k]
}

// Fault breaks one call.
type Fault struct {
	Call  int // the call's number, from 1
	Kind  Kind
	After int // of a Late one: so many calls later it lands; 0 means at Land
}

// Plan says which calls break. The zero plan breaks none.
type Plan struct {
	Faults []Fault
	// Rate in [0, 1] breaks further calls at random by Seed: Fail, Lose or Late.
	Rate float64
	Seed uint64
	// Down, if not nil, is asked before each call; an error is returned as is.
	Down func(Call) error
	// Wait is what a Delay does; nil waits for the context's end.
	Wait func(ctx context.Context, c Call) error
}

// Call is one call that was made.
type Call struct {
	N   int // from 1
	Op  string
	Key string
}

func (c Call) String() string { return fmt.Sprintf("call %d: %s %s", c.N, c.Op, c.Key) }

// Store breaks calls of another store. It is a Store itself.
type Store struct {
	inner objstore.Store
	plan  Plan

	mu    sync.Mutex // guards what follows; not held during a call of inner
	rng   *rand.Rand
	calls []Call
	late  []lateCall // puts in flight whose callers have given up
}

type lateCall struct {
	at int // lands before the call of this number; 0 only at Land
	do func()
}

// New returns inner, broken as plan says.
func New(inner objstore.Store, plan Plan) *Store {
	return &Store{inner: inner, plan: plan, rng: rand.New(rand.NewPCG(plan.Seed, 0))}
}

// Calls returns the calls made so far.
func (s *Store) Calls() []Call {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Call(nil), s.calls...)
}

// Land lets all calls happen that are still late.
func (s *Store) Land() { s.land(-1) }

// land runs what is due at call n; -1 means everything.
func (s *Store) land(n int) {
	s.mu.Lock()
	var due, rest []lateCall
	for _, l := range s.late {
		if n < 0 || l.at > 0 && l.at <= n {
			due = append(due, l)
		} else {
			rest = append(rest, l)
		}
	}
	s.late = rest
	s.mu.Unlock()
	for _, l := range due {
		l.do()
	}
}

// begin numbers a call and decides what happens to it.
func (s *Store) begin(ctx context.Context, op, key string) (Call, *Fault, error) {
	s.mu.Lock()
	c := Call{N: len(s.calls) + 1, Op: op, Key: key}
	s.calls = append(s.calls, c)
	var f *Fault
	for i := range s.plan.Faults {
		if s.plan.Faults[i].Call == c.N {
			f = &s.plan.Faults[i]
		}
	}
	if s.plan.Rate > 0 {
		// Both are drawn for each call, so that a plan's faults do not shift the rest.
		hit, kind := s.rng.Float64() < s.plan.Rate, []Kind{Fail, Lose, Late}[s.rng.IntN(3)]
		if hit && f == nil {
			f = &Fault{Call: c.N, Kind: kind, After: 1 + s.rng.IntN(10)}
		}
	}
	s.mu.Unlock()
	s.land(c.N)
	if s.plan.Down != nil {
		if err := s.plan.Down(c); err != nil {
			return c, nil, err
		}
	}
	if f != nil && f.Kind == Delay {
		wait := s.plan.Wait
		if wait == nil {
			wait = func(ctx context.Context, _ Call) error { <-ctx.Done(); return context.Cause(ctx) }
		}
		if err := wait(ctx, c); err != nil {
			return c, nil, err
		}
		f = nil
	}
	return c, f, nil
}

func broken(c Call, k Kind) error { return fmt.Errorf("%v: %w (%v)", c, ErrInjected, k) }

// write makes a call that changes the store. half, if any, does half of it.
func (s *Store) write(ctx context.Context, op, key string, do, half func(context.Context) error) error {
	c, f, err := s.begin(ctx, op, key)
	if err != nil {
		return err
	}
	if f == nil {
		return do(ctx)
	}
	switch f.Kind {
	case Lose:
		do(ctx)
	case Late:
		at := 0
		if f.After > 0 {
			at = c.N + f.After
		}
		s.mu.Lock()
		s.late = append(s.late, lateCall{at, func() { do(context.WithoutCancel(ctx)) }})
		s.mu.Unlock()
	case Truncate:
		if half != nil {
			half(ctx)
		}
	}
	return broken(c, f.Kind)
}

// Put implements objstore.Store.
func (s *Store) Put(ctx context.Context, key string, body []byte) error {
	body = append([]byte(nil), body...) // it may land after the caller's return
	return s.write(ctx, "put", key,
		func(ctx context.Context) error { return s.inner.Put(ctx, key, body) },
		func(ctx context.Context) error { return s.inner.Put(ctx, key, body[:len(body)/2]) })
}

// PutIfAbsent implements objstore.Store. It is never truncated: half a snapshot
// is what no store leaves.
func (s *Store) PutIfAbsent(ctx context.Context, key string, body []byte) error {
	body = append([]byte(nil), body...)
	return s.write(ctx, "put-if-absent", key,
		func(ctx context.Context) error { return s.inner.PutIfAbsent(ctx, key, body) }, nil)
}

// PutFile implements objstore.Store.
func (s *Store) PutFile(ctx context.Context, key, localPath string) error {
	if !s.mayBreak() {
		return s.write(ctx, "put-file", key, func(ctx context.Context) error { return s.inner.PutFile(ctx, key, localPath) }, nil)
	}
	// The caller removes its file when it gets the error, so keep the bytes.
	body, err := os.ReadFile(localPath)
	if err != nil {
		return fmt.Errorf("put %s from a local file: %w", key, err)
	}
	return s.write(ctx, "put-file", key,
		func(ctx context.Context) error {
			if err := s.inner.Put(ctx, key, body); err != nil {
				return err
			}
			os.Remove(localPath)
			return nil
		},
		func(ctx context.Context) error { return s.inner.Put(ctx, key, body[:len(body)/2]) })
}

func (s *Store) mayBreak() bool { return s.plan.Rate > 0 || len(s.plan.Faults) > 0 }

// Delete implements objstore.Store.
func (s *Store) Delete(ctx context.Context, key string) error {
	return s.write(ctx, "delete", key, func(ctx context.Context) error { return s.inner.Delete(ctx, key) }, nil)
}

// MakeFolder implements objstore.Store.
func (s *Store) MakeFolder(ctx context.Context, key string) error {
	return s.write(ctx, "make-folder", key, func(ctx context.Context) error { return s.inner.MakeFolder(ctx, key) }, nil)
}

func (s *Store) read(ctx context.Context, op, key string, do func() ([]byte, error)) ([]byte, error) {
	c, f, err := s.begin(ctx, op, key)
	if err != nil {
		return nil, err
	}
	if f != nil && f.Kind != Truncate {
		return nil, broken(c, f.Kind)
	}
	body, err := do()
	if f != nil {
		body = body[:len(body)/2]
	}
	return body, err
}

// Get implements objstore.Store.
func (s *Store) Get(ctx context.Context, key string) ([]byte, error) {
	return s.read(ctx, "get", key, func() ([]byte, error) { return s.inner.Get(ctx, key) })
}

// GetRange implements objstore.Store.
func (s *Store) GetRange(ctx context.Context, key string, off, n int64) ([]byte, error) {
	return s.read(ctx, "get-range", key, func() ([]byte, error) { return s.inner.GetRange(ctx, key, off, n) })
}

// Stat implements objstore.Store.
func (s *Store) Stat(ctx context.Context, key string) (objstore.Object, error) {
	c, f, err := s.begin(ctx, "stat", key)
	if err != nil {
		return objstore.Object{}, err
	}
	if f != nil {
		return objstore.Object{}, broken(c, f.Kind)
	}
	return s.inner.Stat(ctx, key)
}

// List implements objstore.Store.
func (s *Store) List(ctx context.Context, prefix string) iter.Seq2[objstore.Object, error] {
	return list(ctx, s, "list", prefix, s.inner.List(ctx, prefix))
}

// Folders implements objstore.Store.
func (s *Store) Folders(ctx context.Context, prefix string) iter.Seq2[string, error] {
	return list(ctx, s, "folders", prefix, s.inner.Folders(ctx, prefix))
}

func list[T any](ctx context.Context, s *Store, op, prefix string, inner iter.Seq2[T, error]) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var none T
		c, f, err := s.begin(ctx, op, prefix)
		if err != nil {
			yield(none, err)
			return
		}
		if f == nil {
			inner(yield)
			return
		}
		var all []T
		for v, err := range inner {
			if err != nil {
				yield(none, err)
				return
			}
			all = append(all, v)
		}
		if f.Kind == Truncate {
			for _, v := range all[:len(all)/2] {
				if !yield(v, nil) {
					return
				}
			}
		}
		yield(none, broken(c, f.Kind))
	}
}

// SweepLitter implements objstore.Sweeper if the inner store does.
func (s *Store) SweepLitter(ctx context.Context, olderThan time.Time) ([]string, error) {
	if sw, ok := s.inner.(objstore.Sweeper); ok {
		return sw.SweepLitter(ctx, olderThan)
	}
	return nil, nil
}
