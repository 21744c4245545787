// Package wire speaks the Postgres protocol (version 3.0) with clients. It
// knows messages, rows, formats and SQLSTATEs; it knows no SQL.
//
// A [Server] accepts connections and makes one [Session] for each. The
// connection's goroutine reads messages, keeps the state machine of the
// extended protocol (skip to Sync after an error, one ReadyForQuery per Sync),
// and calls the session; the session answers through a [Writer]. A [Column]
// says which type and format a result column has, and a row is a slice of
// [table.Value]. [DecodeParam], [AppendText] and [AppendBinary] are the value
// codecs; [CopyReader] and [CopyWriter] the codecs of COPY.
//
//	client ⇄ guard (bounds every message) → pgproto3 → conn ⇄ Session
//	                                                     ↓        ↓
//	                              client ← buffer ←── Writer ← rows, tags
//
// What must stay true:
//   - No byte a stranger sends makes the process panic or grow: a message is
//     bounded before it is read, and memory is taken only as bytes arrive.
//   - Every ErrorResponse that answers a message is told to the session (Fail),
//     once; every Sync and every Query gets exactly one ReadyForQuery.
//   - All methods of a session run on its connection's goroutine; others reach
//     a running call only through its context.
//   - A client that goes away while a call runs ends that call's context.
package wire
