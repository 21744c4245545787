package session

import (
	"context"
	"runtime/debug"

	"dtstore/exec"
	"dtstore/sql"
	"dtstore/table"
	"dtstore/wire"
)

// Session is one client's conversation. wire calls it from one goroutine.
type Session struct {
	srv      *Server
	ctx      context.Context // ends with the connection
	info     wire.StartupInfo
	out      *wire.Writer // for settings that go back when a transaction ends
	engine   *exec.Session
	settings *settings
	database string

	tx         *tx // nil: no transaction is open
	statements map[string]*prepared
	portals    map[string]*portal // of Bind and DECLARE
	made       int                // portals so far
}

func stack() string { return string(debug.Stack()) }

// Status tells the transaction's state.
func (se *Session) Status() wire.TxStatus {
	switch {
	case se.tx == nil || !se.tx.explicit:
		return wire.TxIdle
	case se.tx.failed:
		return wire.TxFailed
	}
	return wire.TxActive
}

// Fail says that a statement failed: a transaction block is aborted, an
// implicit transaction is gone.
func (se *Session) Fail(error) {
	if se.tx == nil {
		return
	}
	if se.tx.explicit {
		se.tx.failed = true
		return
	}
	se.rollbackTx()
}

// Close ends the conversation.
func (se *Session) Close() {
	se.endTx()
	se.closeHeld()
	for name := range se.statements {
		delete(se.statements, name)
	}
	se.engine.Close()
}

// Query runs a simple query. Several statements are one implicit transaction.
func (se *Session) Query(ctx context.Context, text string, w *wire.Writer) (err error) {
	defer se.recoverTo(&err)
	stmts, err := sql.Parse(text)
	if err != nil {
		return se.syntax(err)
	}
	if len(stmts) == 0 {
		w.Empty()
		return nil
	}
	if err := se.unmixed(stmts); err != nil {
		return err
	}
	for i, stmt := range stmts {
		last := i == len(stmts)-1
		if err := se.simple(ctx, stmt, last, w); err != nil {
			return err
		}
	}
	return nil
}

// unmixed refuses, before anything is done, a simple query whose implicit
// transaction would both change the catalog and rows: the one takes effect at
// once, so they could not be undone together.
func (se *Session) unmixed(stmts []sql.Statement) error {
	block := se.tx != nil && se.tx.explicit
	defined, changed := false, false
	for _, stmt := range stmts {
		switch stmt.(type) {
		case *sql.Begin:
			block = true
		case *sql.Commit, *sql.Rollback:
			block, defined, changed = false, false, false
		case *sql.CreateTable, *sql.DropTable, *sql.CreateDatabase, *sql.DropDatabase, *sql.AlterOptions:
			defined = defined || !block
		default:
			changed = changed || !block && writes(stmt)
		}
		if defined && changed {
			return errMixed()
		}
	}
	return nil
}

// syntax is an error of text that could not be parsed: in a failed transaction
// Postgres says so first.
func (se *Session) syntax(err error) error {
	if table.SQLState(err) != "42601" && se.tx != nil && se.tx.failed {
		return errAborted()
	}
	return err
}

// simple runs one statement of a simple query. The last one of an implicit
// transaction commits it, before its tag is sent.
func (se *Session) simple(ctx context.Context, stmt sql.Statement, last bool, w *wire.Writer) error {
	ctx, stop := se.limit(ctx)
	defer stop()
	res, err := se.start(ctx, stmt, nil, w)
	if err != nil {
		return err
	}
	defer res.close()
	n, err := res.send(ctx, w, 0)
	if err != nil {
		return err
	}
	res.close()
	if last && se.tx != nil && !se.tx.explicit {
		if err := se.commitImplicit(ctx, res); err != nil {
			return err
		}
	}
	return w.Complete(res.finalTag(n))
}

// limit applies statement_timeout.
func (se *Session) limit(ctx context.Context) (context.Context, func()) {
	d := se.settings.statementTimeout()
	if d <= 0 {
		return ctx, func() {}
	}
	return context.WithTimeoutCause(ctx, d, table.Errorf("57014", "canceling statement due to statement timeout"))
}

// start begins a statement: its transaction, its checks, its execution.
// params are the values of $1, $2 ….
func (se *Session) start(ctx context.Context, stmt sql.Statement, params []param, w *wire.Writer) (res *result, err error) {
	if se.tx != nil && se.tx.failed && !endsTransaction(stmt) {
		return nil, errAborted()
	}
	if se.tx == nil {
		se.begin(false)
	}
	if hints := stmt.Origin().Hints; len(hints) > 0 {
		return nil, atOrigin(table.Errorf("0A000", "OPTIONS hints are not supported").
			WithHint("Streaming is SET execution.runtime_mode = streaming; a table's options are set by ALTER TABLE … SET."), stmt.Origin(), hints[0].Start)
	}
	if se.tx.readOnly && writes(stmt) {
		return nil, table.Errorf("25006", "cannot execute %s in a read-only transaction", sql.Tag(stmt))
	}
	return se.run(ctx, stmt, params, w)
}

func errAborted() error {
	return table.Errorf("25P02", "current transaction is aborted, commands ignored until end of transaction block")
}

// endsTransaction says whether a statement is taken in a failed transaction.
func endsTransaction(stmt sql.Statement) bool {
	switch stmt.(type) {
	case *sql.Commit, *sql.Rollback, *sql.RollbackTo:
		return true
	}
	return false
}

// writes says whether a statement changes anything.
func writes(stmt sql.Statement) bool {
	switch s := stmt.(type) {
	case *sql.Insert, *sql.Update, *sql.Delete, *sql.CreateTable, *sql.DropTable, *sql.CreateDatabase, *sql.DropDatabase, *sql.AlterOptions, *sql.Compact:
		return true
	case *sql.Copy:
		return s.From
	}
	return false
}

// run executes one statement inside the open transaction.
func (se *Session) run(ctx context.Context, stmt sql.Statement, params []param, w *wire.Writer) (*result, error) {
	switch s := stmt.(type) {
	case *sql.Query:
		return se.query(ctx, s, params, w)
	case *sql.Insert:
		return se.change(ctx, func(ctx context.Context) (*result, error) { return se.insert(ctx, s, params) })
	case *sql.Update:
		return se.change(ctx, func(ctx context.Context) (*result, error) { return se.update(ctx, s, params) })
	case *sql.Delete:
		return se.change(ctx, func(ctx context.Context) (*result, error) { return se.delete(ctx, s, params) })
	case *sql.Copy:
		return se.copy(ctx, s, w)
	case *sql.Explain:
		return se.explain(ctx, s, params)
	case *sql.NoOp:
		if s.Notice != "" {
			w.Notice(wire.Notice{Message: s.Notice, Hint: s.Hint})
		}
		return done(s.Tag), nil
	case *sql.Begin, *sql.Commit, *sql.Rollback, *sql.Savepoint, *sql.Release, *sql.RollbackTo, *sql.SetTransaction:
		return se.transaction(ctx, stmt, w)
	case *sql.Declare, *sql.Fetch, *sql.CloseCursor, *sql.Prepare, *sql.Execute, *sql.Deallocate:
		return se.named(ctx, stmt, params, w)
	case *sql.Set, *sql.Reset, *sql.Show, *sql.ShowAll, *sql.Discard, *sql.Use, *sql.Help:
		return se.setting(ctx, stmt, w)
	case *sql.ShowTables, *sql.ShowDatabases, *sql.ShowCurrentDatabase, *sql.ShowCreateTable, *sql.Describe, *sql.DescribeDetail:
		return se.show(ctx, stmt)
	case *sql.CreateTable, *sql.DropTable, *sql.CreateDatabase, *sql.DropDatabase, *sql.AlterOptions, *sql.Compact, *sql.Checkpoint:
		return se.define(ctx, stmt, w)
	}
	return nil, table.Errorf("0A000", "%s is not supported", sql.Tag(stmt))
}
