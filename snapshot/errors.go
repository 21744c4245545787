package snapshot

import (
	"errors"
	"fmt"
	"strings"

	"dtstore/table"
)

var (
	// ErrNone is returned for a table that has no snapshot.
	ErrNone = errors.New("table has no snapshot")
	// ErrDropped is returned for a table that has been dropped. If nothing of it is left and
	// no other took its place, the error is ErrNone too.
	ErrDropped = errors.New("table has been dropped")
	// ErrFenced is returned by a commit that does not begin where the table ends: another
	// owner was there. It was certainly not committed. See [FencedError].
	ErrFenced = errors.New("fenced")
	// ErrConflict is returned by a commit that removes a file which is not live, or adds
	// files that overlap. It was certainly not committed.
	ErrConflict = errors.New("conflict")
	// ErrUnknown is returned by a commit that may or may not have happened, or may still
	// happen. Its files may be live: nobody deletes them.
	ErrUnknown = errors.New("outcome unknown")
)

// FencedError says which of a commit's buckets do not begin where the table ends: the others
// may be committed without them. errors.Is(err, ErrFenced) holds.
type FencedError struct {
	Table   string
	Buckets []table.Bucket // in ascending order; all of the commit's if the table is another
	Reason  string
	cause   error // is ErrDropped or ErrNone, or nil
}

func (e *FencedError) Error() string {
	var b strings.Builder
	for i, n := range e.Buckets {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprint(&b, n)
	}
	return fmt.Sprintf("commit to %s: fenced in buckets [%s]: %s", e.Table, b.String(), e.Reason)
}

// Unwrap makes errors.Is see ErrFenced, and ErrDropped where that is why.
func (e *FencedError) Unwrap() []error {
	if e.cause != nil {
		return []error{ErrFenced, e.cause}
	}
	return []error{ErrFenced}
}
