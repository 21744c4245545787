package session

import (
	"context"
	"errors"
	"slices"
	"strings"

	"dtstore/logstore"
	"dtstore/sql"
	"dtstore/table"
	"dtstore/wire"
)

// tx is a transaction: explicit from BEGIN to COMMIT, or implicit around the
// statements of one simple query or one pipeline.
type tx struct {
	explicit   bool
	failed     bool
	readOnly   bool
	isolation  string // "read committed", "repeatable read", "serializable"
	buffer     *buffer
	savepoints []savepoint
	pinned     *view   // REPEATABLE READ and SERIALIZABLE: what the first statement saw
	views      []*view // to release at the end
	queried    bool    // a view was taken: the isolation level is fixed
	defined    bool    // DDL took effect inside
	// unpin lets the log forget which keys changed, by table: what UPDATE and
	// DELETE read is checked against that at COMMIT (seam A6).
	unpin map[logstore.TopicID]func()
	// again holds the changes of an implicit transaction, to be run once more if
	// another session changed what they read. nil once that is not possible.
	again    []rerun
	onceOnly bool
	born     []*cursor // WITH HOLD, declared inside
	sets     []setDone // in order, for ROLLBACK and the end of SET LOCAL
}

// rerun is a change that can be made again.
type rerun struct {
	run func(ctx context.Context) (*result, error)
	tag string
}

type savepoint struct {
	name string
	mark mark
	sets int
	made int // portals
}

// begin opens a transaction with the session's defaults.
func (se *Session) begin(explicit bool) {
	se.tx = &tx{explicit: explicit, readOnly: se.settings.defaultReadOnly(), isolation: se.settings.defaultIsolation(), buffer: newBuffer(se.srv)}
}

// endTx forgets the transaction: what is not committed is gone.
func (se *Session) endTx() {
	if se.tx == nil {
		return
	}
	t := se.tx
	se.tx = nil
	se.closeTxPortals()
	t.forget()
	se.settings.endLocal(t.sets)
}

// forget lets go of all changes and of what was read.
func (t *tx) forget() {
	t.buffer.close()
	for _, v := range t.views {
		v.release()
	}
	for _, unpin := range t.unpin {
		unpin()
	}
	t.views, t.pinned, t.unpin = nil, nil, nil
}

// rollbackTx is endTx for a transaction whose settings go too.
func (se *Session) rollbackTx() {
	if se.tx == nil {
		return
	}
	se.settings.undo(se.tx.sets)
	se.tx.sets = nil
	se.closeBorn(se.tx)
	se.endTx()
}

// Sync ends a pipeline: its implicit transaction is committed.
func (se *Session) Sync(ctx context.Context, w *wire.Writer) (err error) {
	defer se.recoverTo(&err)
	if se.tx == nil {
		se.closeTxPortals()
		return nil
	}
	if se.tx.explicit {
		return nil
	}
	ctx, stop := se.limit(ctx)
	defer stop()
	return se.commitImplicit(ctx, nil)
}

// commitImplicit commits what the statements outside a block did. If it was
// sent round again because another session changed what was read, the changes
// are made anew; res, not yet answered, then gets the new count.
func (se *Session) commitImplicit(ctx context.Context, res *result) error {
	t := se.tx
	err := t.buffer.commit(ctx, t, true)
	for round := 2; isConflict(err); round++ {
		if t.onceOnly || len(t.again) == 0 {
			break
		}
		err = se.again(ctx, t, res, round, err)
	}
	se.endTx()
	return err
}

// again makes the changes once more, holding the keys that they met.
func (se *Session) again(ctx context.Context, t *tx, res *result, round int, conflict error) error {
	ticket, err := se.srv.lockKeys(ctx, t.buffer, conflict)
	if err != nil {
		return err
	}
	defer ticket.Unlock()
	t.forget()
	t.buffer = newBuffer(se.srv)
	t.buffer.ticket = ticket
	runs := t.again
	t.again = nil
	for i, r := range runs {
		out, err := r.run(ctx)
		if err != nil {
			return err
		}
		tag := out.finalTag(0)
		if tag != r.tag {
			if res == nil || i != len(runs)-1 {
				return table.Errorf("40001", "could not serialize access due to concurrent update").
					WithHint("The statement's answer would differ from the one already sent; run it again.")
			}
			res.tag = out.tag
		}
		t.again = append(t.again, rerun{r.run, tag})
	}
	if round > maxRounds {
		return table.Errorf("40001", "could not serialize access due to concurrent update").WithHint("Other sessions kept changing the same keys; run the statement again.")
	}
	return t.buffer.commit(ctx, t, true)
}

// maxRounds bounds how often a statement is sent round; with its keys queued
// for, the second round nearly always ends it.
const maxRounds = 100

// change runs a statement that changes rows, and notes it for another round.
func (se *Session) change(ctx context.Context, run func(ctx context.Context) (*result, error)) (*result, error) {
	t := se.tx
	if !t.explicit && t.defined {
		return nil, errMixed()
	}
	m := t.buffer.mark()
	res, err := run(ctx)
	if err != nil {
		return nil, errors.Join(err, t.buffer.rollback(m))
	}
	if !t.explicit {
		t.again = append(t.again, rerun{run, res.finalTag(0)})
	}
	return res, nil
}

func errMixed() error {
	return table.Errorf("0A000", "a statement that changes the catalog and one that changes rows cannot share a transaction").WithHint("Send them separately.")
}

// transaction runs BEGIN, COMMIT, ROLLBACK and their like.
func (se *Session) transaction(ctx context.Context, stmt sql.Statement, w *wire.Writer) (*result, error) {
	switch s := stmt.(type) {
	case *sql.Begin:
		return se.beginBlock(s, w)
	case *sql.Commit:
		return se.commitBlock(ctx, s, w)
	case *sql.Rollback:
		return se.rollbackBlock(s, w)
	case *sql.SetTransaction:
		return se.setTransaction(s, w)
	case *sql.Savepoint:
		if !se.tx.explicit {
			return nil, table.Errorf("25P01", "SAVEPOINT can only be used in transaction blocks")
		}
		se.tx.savepoints = append(se.tx.savepoints, savepoint{s.Name, se.tx.buffer.mark(), len(se.tx.sets), se.made})
		return done("SAVEPOINT"), nil
	case *sql.Release:
		i, err := se.savepoint(s.Name, "RELEASE SAVEPOINT")
		if err != nil {
			return nil, err
		}
		se.tx.savepoints = se.tx.savepoints[:i]
		return done("RELEASE"), nil
	case *sql.RollbackTo:
		i, err := se.savepoint(s.Name, "ROLLBACK TO SAVEPOINT")
		if err != nil {
			return nil, err
		}
		sp := se.tx.savepoints[i]
		se.tx.savepoints = se.tx.savepoints[:i+1]
		if err := se.tx.buffer.rollback(sp.mark); err != nil {
			return nil, err
		}
		se.closeSince(sp.made)
		se.settings.undo(se.tx.sets[sp.sets:])
		se.tx.sets = se.tx.sets[:sp.sets]
		se.tx.failed = false
		return done("ROLLBACK"), nil
	}
	return nil, table.Errorf("0A000", "%s is not supported", sql.Tag(stmt))
}

// savepoint finds the newest savepoint of a name.
func (se *Session) savepoint(name, what string) (int, error) {
	if !se.tx.explicit {
		return 0, table.Errorf("25P01", "%s can only be used in transaction blocks", what)
	}
	for i, sp := range slices.Backward(se.tx.savepoints) {
		if sp.name == name {
			return i, nil
		}
	}
	return 0, table.Errorf("3B001", "savepoint %q does not exist", name)
}

func (se *Session) beginBlock(s *sql.Begin, w *wire.Writer) (*result, error) {
	tag := "BEGIN"
	if s.Start {
		tag = "START TRANSACTION"
	}
	if se.tx.explicit {
		w.Notice(wire.Notice{Severity: "WARNING", Code: "25001", Message: "there is already a transaction in progress"})
		return done(tag), nil
	}
	if err := se.applyModes(se.tx, s.Modes); err != nil {
		return nil, err
	}
	// An implicit transaction becomes the block, with what it did so far.
	se.tx.explicit, se.tx.onceOnly, se.tx.again = true, true, nil
	return done(tag), nil
}

// applyModes sets isolation and access mode.
func (se *Session) applyModes(t *tx, m sql.TransactionModes) error {
	if m.Isolation != "" {
		t.isolation = m.Isolation
	}
	if m.ReadOnly {
		t.readOnly = true
	}
	if m.ReadWrite {
		t.readOnly = false
	}
	if t.isolation == "serializable" && !t.readOnly {
		return table.Errorf("0A000", "SERIALIZABLE is supported for READ ONLY transactions").
			WithHint("Use REPEATABLE READ: a COMMIT fails with 40001 if a row that an UPDATE or DELETE read was changed meanwhile.")
	}
	return nil
}

func (se *Session) setTransaction(s *sql.SetTransaction, w *wire.Writer) (*result, error) {
	if s.Session {
		before := se.settings.save()
		se.settings.setCharacteristics(s.Modes)
		se.changed(before, false)
		return done("SET"), nil
	}
	if !se.tx.explicit {
		w.Notice(wire.Notice{Severity: "WARNING", Code: "25P01", Message: "SET TRANSACTION can only be used in transaction blocks"})
		return done("SET"), nil
	}
	if se.tx.queried && s.Modes.Isolation != "" && s.Modes.Isolation != se.tx.isolation {
		return nil, table.Errorf("25001", "SET TRANSACTION ISOLATION LEVEL must be called before any query")
	}
	return done("SET"), se.applyModes(se.tx, s.Modes)
}

func (se *Session) commitBlock(ctx context.Context, s *sql.Commit, w *wire.Writer) (*result, error) {
	t := se.tx
	if !t.explicit {
		w.Notice(wire.Notice{Severity: "WARNING", Code: "25P01", Message: "there is no transaction in progress"})
		return done("COMMIT"), se.commitImplicit(ctx, nil) // of the statements before it in a simple query
	}
	if t.failed {
		se.rollbackTx()
		se.chain(s.Chain, t)
		return done("ROLLBACK"), nil
	}
	err := t.buffer.commit(ctx, t, false)
	if err != nil {
		se.rollbackTx()
		return nil, err
	}
	se.endTx()
	se.chain(s.Chain, t)
	return done("COMMIT"), nil
}

func (se *Session) rollbackBlock(s *sql.Rollback, w *wire.Writer) (*result, error) {
	t := se.tx
	if !t.explicit {
		w.Notice(wire.Notice{Severity: "WARNING", Code: "25P01", Message: "there is no transaction in progress"})
		se.rollbackTx()
		return done("ROLLBACK"), nil
	}
	if t.defined {
		w.Notice(wire.Notice{Severity: "WARNING", Message: "CREATE, ALTER and DROP took effect at once and are not rolled back"})
	}
	se.rollbackTx()
	se.chain(s.Chain, t)
	return done("ROLLBACK"), nil
}

// chain opens the next block with the modes of the last.
func (se *Session) chain(chain bool, last *tx) {
	if chain {
		se.begin(true)
		se.tx.isolation, se.tx.readOnly = last.isolation, last.readOnly
	}
}

// repeatable says whether all statements of the transaction see one state.
func (t *tx) repeatable() bool {
	return strings.HasPrefix(t.isolation, "repeatable") || t.isolation == "serializable"
}
