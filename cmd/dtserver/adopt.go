package main

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"dtstore/bucket"
	"dtstore/catalog"
	"dtstore/logstore"
)

// adoption gives the owner the tables that are there at the start, in the
// background: a hundred of them must not delay the first query.
type adoption struct {
	catalog *catalog.Catalog
	owner   *bucket.Owner
	log     *slog.Logger

	mu       sync.Mutex // guards released; held while a table is adopted
	released map[logstore.TopicID]bool
}

// now adopts a table that was made or altered.
func (a *adoption) now(t *catalog.Table) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.released, t.Topic.ID)
	a.owner.Adopt(t)
}

// early adopts a table that was found in the catalog, unless it was released
// since: a DROP is under way then.
func (a *adoption) early(t *catalog.Table) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.released[t.Topic.ID] {
		a.owner.Adopt(t)
	}
}

// release ends the keeping of a table before it is dropped.
func (a *adoption) release(id logstore.TopicID) {
	a.mu.Lock()
	a.released[id] = true
	a.mu.Unlock()
	a.owner.Release(id)
}

// run ends what a killed server left half done, then adopts all tables. It
// tries again until it worked or ctx ends.
func (a *adoption) run(ctx context.Context) {
	for pause := time.Second; ; pause = min(2*pause, 30*time.Second) {
		err := a.catalog.Recover(ctx)
		if err == nil {
			err = a.all(ctx)
		}
		if err == nil || ctx.Err() != nil {
			return
		}
		a.log.Warn("taking over the tables failed; it is tried again", "err", err, "in", pause)
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
	}
}

func (a *adoption) all(ctx context.Context) error {
	databases, err := a.catalog.Databases(ctx)
	if err != nil {
		return err
	}
	n := 0
	for _, db := range databases {
		tables, err := a.catalog.Tables(ctx, db)
		if err != nil {
			return err
		}
		for _, t := range tables {
			if !t.Foreign && t.Unreadable == nil {
				a.early(t)
				n++
			}
		}
	}
	a.log.Info("tables taken over", "tables", n)
	return nil
}
