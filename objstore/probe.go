package objstore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
)

// Probe puts one key twice and reports why the store cannot be used: it cannot
// be written or read, or it accepts a second PutIfAbsent. S3 services exist that
// accept If-None-Match and ignore it; on such a one two commits would both
// succeed and one of them be lost.
func Probe(ctx context.Context, s Store) (err error) {
	key := "dtstore-probe-" + uuid.NewString()
	first, second := []byte("first"), []byte("second")
	defer func() {
		// Also when the put's answer was lost.
		clean, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
		defer cancel()
		if delErr := s.Delete(clean, key); delErr != nil && err == nil {
			err = fmt.Errorf("probe: the store does not let us delete: %w", delErr)
		}
	}()
	if err := s.PutIfAbsent(ctx, key, first); err != nil {
		return fmt.Errorf("probe: cannot write to the store: %w", err)
	}
	switch err := s.PutIfAbsent(ctx, key, second); {
	case err == nil:
		return errors.New("probe: the store accepted put-if-absent (If-None-Match: *) for a key that exists; commits would overwrite each other, so it cannot hold a warehouse: use a store with conditional writes")
	case !errors.Is(err, ErrExist):
		return fmt.Errorf("probe: put-if-absent of a key that exists: %w", err)
	}
	got, err := s.Get(ctx, key)
	if err != nil {
		return fmt.Errorf("probe: cannot read back what was written: %w", err)
	}
	if !bytes.Equal(got, first) {
		return fmt.Errorf("probe: read %q after %q was written", got, first)
	}
	return nil
}
