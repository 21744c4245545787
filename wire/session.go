package wire

import (
	"context"
	"net"
)

// TxStatus is the transaction state that ReadyForQuery tells.
type TxStatus byte

// The transaction states.
const (
	TxIdle   TxStatus = 'I' // no transaction block
	TxActive TxStatus = 'T' // in a transaction block
	TxFailed TxStatus = 'E' // in a block that failed; only its end is accepted
)

// StartupInfo is what a client said when it connected.
type StartupInfo struct {
	PID      uint32 // the process id it is told, unique among live connections
	User     string
	Database string            // what it asked for, else User
	Params   map[string]string // the rest: application_name, options, client_encoding, TimeZone …
	Remote   net.Addr

	// Notice queues a message for the client; it is sent with the next flush.
	// Any goroutine may call it. A queue of more than 64 drops the newest.
	Notice func(Notice)
}

// Bind is a Bind message. Params are valid during the call only.
type Bind struct {
	Portal, Statement string
	ParamFormats      []int16  // none: all text; one: for all; else one each
	Params            [][]byte // nil is NULL
	ResultFormats     []int16  // as ParamFormats
}

// Session is one client's conversation. All methods are called from the
// connection's goroutine, one at a time; Close exactly once, last.
//
// The ctx of a call ends when the client cancels (cause: 57014), goes away, or
// the server stops (57P01); when the call returns it is no longer the
// session's. The same ctx may be passed to several calls, so a call takes back
// what it registers on it. What outlives a call (portals) uses the context
// given to Options.NewSession, which lives as long as the connection.
//
// An error is answered with ErrorResponse: a [table.Error] with all its
// fields, another error with an SQLState method with its text, and the rest as
// XX000 without its text, which is logged. If the call's ctx has ended and the
// error has no SQLSTATE, the ctx's cause is answered. After each ErrorResponse
// that answered a message wire calls Fail once, be the error the session's or
// wire's own (text that is not UTF-8, a malformed message).
type Session interface {
	// Query runs a simple query, one or more statements. For each it calls
	// w.Columns, w.Row … (if it has rows) and w.Complete; for a text without
	// statements w.Empty. It begins and ends the implicit transaction; in the
	// middle of a pipeline it joins and ends the pipeline's.
	Query(ctx context.Context, text string, w *Writer) error

	// Parse prepares a statement; name "" replaces the unnamed one.
	// paramOIDs may be shorter than the parameters; 0 means unspecified.
	Parse(ctx context.Context, name, text string, paramOIDs []uint32) error
	// Bind makes a portal.
	Bind(ctx context.Context, b Bind) error
	// DescribeStatement gives the parameters' types and the result's columns
	// (nil: returns no rows), with Format 0.
	DescribeStatement(ctx context.Context, name string) (params []uint32, columns []Column, err error)
	// DescribePortal gives the columns of a portal or declared cursor, with
	// the formats that Bind asked for.
	DescribePortal(ctx context.Context, name string) (columns []Column, err error)
	// Execute runs a portal, or continues it, for at most maxRows rows
	// (0: all). It calls w.Columns (which sends nothing here, but says how to
	// encode), w.Row …, and then one of w.Complete, w.Suspended and w.Empty.
	Execute(ctx context.Context, portal string, maxRows int, w *Writer) error
	// CloseStatement and ClosePortal forget; a name that is not there is fine.
	CloseStatement(ctx context.Context, name string) error
	ClosePortal(ctx context.Context, name string) error
	// Sync ends a pipeline and its implicit transaction: commits it or, after
	// Fail, rolls it back. Called for each Sync message, not after Query.
	Sync(ctx context.Context, w *Writer) error

	// Fail says that err was answered: a transaction block becomes TxFailed,
	// an implicit transaction is rolled back.
	Fail(err error)
	// Status is read just before each ReadyForQuery.
	Status() TxStatus
	// Close ends the conversation: rolls back and frees everything.
	Close()
}
