package table

import (
	"errors"
	"fmt"
)

// Error is a fault that a client sees: an SQLSTATE, what is wrong, and what to
// do about it. It never carries secrets or paths outside the warehouse.
type Error struct {
	Code     string // five characters
	Message  string
	Detail   string
	Hint     string
	Where    string // context, such as the line of a COPY
	Position int    // 1-based character in the statement's text; 0 means none
	cause    error
}

// Errorf makes an Error. A %w operand is kept for errors.Is and errors.As.
func Errorf(code, format string, args ...any) *Error {
	err := fmt.Errorf(format, args...)
	return &Error{Code: code, Message: err.Error(), cause: errors.Unwrap(err)}
}

func (e *Error) Error() string { return e.Message }

// SQLState is the five-character code that a client gets.
func (e *Error) SQLState() string { return e.Code }

// Unwrap gives the cause, if any.
func (e *Error) Unwrap() error { return e.cause }

// WithHint returns e with a hint of what to do.
func (e *Error) WithHint(format string, args ...any) *Error {
	c := *e
	c.Hint = fmt.Sprintf(format, args...)
	return &c
}

// WithDetail returns e with a detail.
func (e *Error) WithDetail(format string, args ...any) *Error {
	c := *e
	c.Detail = fmt.Sprintf(format, args...)
	return &c
}

// WithWhere returns e with the context in which it arose.
func (e *Error) WithWhere(format string, args ...any) *Error {
	c := *e
	c.Where = fmt.Sprintf(format, args...)
	return &c
}

// At returns e with the position of the fault in the statement, in characters
// from 1.
func (e *Error) At(position int) *Error {
	c := *e
	c.Position = position
	return &c
}

// SQLState finds the code of any error, XX000 if it has none.
func SQLState(err error) string {
	var s interface{ SQLState() string }
	if errors.As(err, &s) {
		return s.SQLState()
	}
	return "XX000"
}

// Nearest returns the candidate with the smallest edit distance to name, for
// "did you mean" hints; "" if none is near enough to be meant: one edit in
// four letters, and not every letter another.
func Nearest(name string, candidates []string) string {
	best, at := "", (len(name)+3)/4+1
	for _, c := range candidates {
		if d := distance(name, c, at); d < at && d < max(len(name), len(c)) {
			best, at = c, d
		}
	}
	return best
}

// distance is how many letters must be added, dropped, changed, or swapped with
// their neighbour to make b of a, or limit if it is not less.
func distance(a, b string, limit int) int {
	if d := len(a) - len(b); d >= limit || -d >= limit {
		return limit
	}
	before, prev, cur := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range prev {
		prev[j] = j
	}
	for i := range len(a) {
		cur[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			cur[j+1] = min(prev[j+1]+1, cur[j]+1, prev[j]+cost)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				cur[j+1] = min(cur[j+1], before[j-1]+1)
			}
		}
		before, prev, cur = prev, cur, before
	}
	return min(prev[len(b)], limit)
}
