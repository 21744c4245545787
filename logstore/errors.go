package logstore

import (
	"errors"
	"fmt"
	"strings"

	"dtstore/table"
)

// What callers branch on, with errors.Is.
var (
	// ErrNoTopic: there is no such topic, or one of the same name with another id.
	ErrNoTopic = errors.New("no such topic")
	// ErrConflict: a key that the append checks was changed at or above its
	// horizon. Nothing was written. The error is a *ConflictError.
	ErrConflict = errors.New("key changed since it was read")
	// ErrNo: the append was certainly not written and never will be.
	ErrNo = errors.New("not written")
	// ErrUnknown: the append may have been written, or may yet be.
	ErrUnknown = errors.New("outcome unknown")
	// ErrTrimmed: the log no longer has the offset asked for.
	ErrTrimmed = errors.New("log trimmed")
	// ErrAhead: the offset asked for is past the log's end: the log is shorter
	// than whoever asks believes.
	ErrAhead = errors.New("offset past the log's end")
	// ErrUnavailable: Kafka does not answer. The call may be repeated.
	ErrUnavailable = errors.New("kafka does not answer")
	// ErrForeign: the record belongs to another table of the same topic name.
	ErrForeign = errors.New("record of another table")
	// ErrBadRecord: the record cannot be decoded.
	ErrBadRecord = errors.New("record cannot be decoded")
	// ErrClosed: the log was closed.
	ErrClosed = errors.New("log closed")
)

// ConflictError is an ErrConflict with the checks that failed.
type ConflictError struct{ Keys []Check }

func (e *ConflictError) Error() string {
	return fmt.Sprintf("%v: %d key(s)", ErrConflict, len(e.Keys))
}

// Is makes it an ErrConflict.
func (e *ConflictError) Is(target error) bool { return target == ErrConflict }

// SQLState is a serialization failure, should nobody repeat the statement.
func (e *ConflictError) SQLState() string { return "40001" }

// unavailable is the error a client sees while Kafka is away.
func (l *Log) unavailable(cause error) error {
	return fmt.Errorf("%w: %w", ErrUnavailable,
		table.Errorf("57P03", "Kafka at %s does not answer: %w", strings.Join(l.opts.Brokers, ","), cause).
			WithHint("Check that the broker runs and can be reached; the server goes on by itself when it is back."))
}

// no and unknown wrap a cause with an append's outcome.
func no(cause error) error { return fmt.Errorf("%w: %w", ErrNo, cause) }

func unknown(cause error) error { return fmt.Errorf("%w: %w", ErrUnknown, cause) }
