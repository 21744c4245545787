// Package session is one client's statements, from text to rows.
//
// A [Server] makes a [Session] for each connection; package wire calls it. The
// text is parsed by package sql; a SELECT is read by the engine's own grammar,
// its tables are resolved, planned and scanned, and the engine runs it; a
// change becomes rows in the session's transaction and, at its end, one append
// to the log.
//
// What must stay true: a client is told "done" only when the log has its rows
// and readers see them. Every statement sees all that was acknowledged before
// it began, and its own transaction's changes. A statement that failed leaves
// nothing behind, and aborts its transaction. An outcome that is not known is
// said to be unknown (08007, 40003), never "failed".
package session
