package main

import (
	"context"
	"time"

	"dtstore/objstore"
)

// litterAge is how old what a crash left half-written must be before it goes:
// younger things may belong to somebody who is still at it.
const litterAge = 24 * time.Hour

// sweepLitter removes, at the start and once a day, what killed writers left in
// the store and no listing shows: temporary files, unfinished uploads.
func (s *server) sweepLitter() {
	store, ok := s.objects.(objstore.Sweeper)
	if !ok {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(litterAge)
		defer tick.Stop()
		for {
			gone, err := store.SweepLitter(ctx, time.Now().Add(-litterAge))
			if err != nil && ctx.Err() == nil {
				s.log.Warn("sweeping the store's litter failed; it is tried again in a day", "err", err)
			}
			if len(gone) > 0 {
				s.log.Info("swept what killed writers had left", "files", len(gone))
			}
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
		}
	}()
	s.opened("sweep", func() error { cancel(); <-ended; return nil })
}
