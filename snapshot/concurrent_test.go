package snapshot_test

import (
	"errors"
	"sync"
	"testing"

	"dtstore/objstore"
	"dtstore/snapshot"
	"dtstore/table"
)

// TestConcurrent commits, reads and expires through one handle at a time from many goroutines.
func TestConcurrent(t *testing.T) {
	tab := create(t, objstore.NewMem())
	var wait sync.WaitGroup
	for b := range table.Bucket(2) {
		wait.Go(func() {
			for at := table.Offset(0); at < 30; {
				_, err := tab.Commit(t.Context(), flush(b, at, at+1, 0))
				switch {
				case err == nil:
					at++
				case errors.Is(err, objstore.ErrExist): // ten times second: not committed, so again
				default:
					t.Errorf("bucket %d at %d: %v", b, at, err)
					return
				}
			}
		})
		wait.Go(func() {
			last := table.SnapshotID(0)
			for range 50 {
				s, err := tab.Latest(t.Context())
				if err != nil || s.ID < last {
					t.Errorf("latest %v after %d: %v", s, last, err)
					return
				}
				last = s.ID
				if _, err := tab.Entries(t.Context(), s, snapshot.Filter{}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wait.Wait()
	s, err := tab.Latest(t.Context())
	if err != nil || s.ID != 61 || s.TotalRecords != 60 {
		t.Errorf("at the end: %+v, %v", s, err)
	}
}
