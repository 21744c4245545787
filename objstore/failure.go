package objstore

import (
	"context"
	"errors"
	"syscall"
)

// Failure is an error of the store itself: it is away, full, or refuses us. It
// has the SQLSTATE and the hint that a client is told.
type Failure struct{ err error }

// Failed makes err a Failure. What a caller expects and branches on (ErrNotExist,
// ErrExist, a context that ended) stays as it is.
func Failed(err error) error {
	var already *Failure
	if err == nil || errors.As(err, &already) || errors.Is(err, ErrNotExist) || errors.Is(err, ErrExist) ||
		errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return &Failure{err}
}

func (f *Failure) Error() string { return f.err.Error() }

// Unwrap gives the cause.
func (f *Failure) Unwrap() error { return f.err }

func (f *Failure) full() bool {
	return errors.Is(f.err, syscall.ENOSPC) || errors.Is(f.err, syscall.EDQUOT)
}

// SQLState is 53100 for a full disk, else 58030, an I/O error.
func (f *Failure) SQLState() string {
	if f.full() {
		return "53100"
	}
	return "58030"
}

// Hint says what to do.
func (f *Failure) Hint() string {
	if f.full() {
		return "The disk of the warehouse is full. Make room; what was acknowledged is safe in the log, and the server goes on by itself."
	}
	return "The warehouse cannot be used now. What was acknowledged is safe in the log; the server goes on by itself when the store is back."
}
