package session

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"dtstore/catalog"
	"dtstore/sql"
	"dtstore/table"
	"dtstore/wire"
)

// define runs DDL and the statements of an admin. They take effect at once.
// psycopg2 and SQLAlchemy send every CREATE inside BEGIN: with nothing buffered
// that works, with a warning should ROLLBACK follow; with rows buffered it would
// tear the transaction, and is refused.
func (se *Session) define(ctx context.Context, stmt sql.Statement, w *wire.Writer) (*result, error) {
	if !se.tx.buffer.empty() {
		if !se.tx.explicit {
			return nil, errMixed()
		}
		return nil, table.Errorf("25001", "%s cannot run in a transaction that has changed rows", sql.Tag(stmt)).
			WithHint("COMMIT first, or send it separately.")
	}
	switch s := stmt.(type) {
	case *sql.Checkpoint:
		return done("CHECKPOINT"), se.checkpoint(ctx)
	case *sql.Compact:
		return se.compact(ctx, s, w)
	}
	if se.tx.readOnly {
		return nil, table.Errorf("25006", "cannot execute %s in a read-only transaction", sql.Tag(stmt))
	}
	select {
	case se.srv.ddl <- struct{}{}:
		defer func() { <-se.srv.ddl }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	res, err := se.defineLocked(ctx, stmt, w)
	if err != nil {
		return nil, err
	}
	se.tx.defined, se.tx.onceOnly = true, true
	se.srv.refresh.stale()
	return res, nil
}

func (se *Session) defineLocked(ctx context.Context, stmt sql.Statement, w *wire.Writer) (*result, error) {
	switch s := stmt.(type) {
	case *sql.CreateTable:
		return se.createTable(ctx, s, w)
	case *sql.DropTable:
		return se.dropTable(ctx, s, w)
	case *sql.CreateDatabase:
		err := se.srv.Catalog.CreateDatabase(ctx, s.Name.Name)
		if table.SQLState(err) == "42P06" && s.IfNotExists {
			w.Notice(wire.Notice{Code: "42P06", Message: fmt.Sprintf("schema \"%s\" already exists, skipping", s.Name.Name)})
			err = nil
		}
		return done(sql.Tag(s)), atOrigin(err, s.Origin(), s.Name.Start)
	case *sql.DropDatabase:
		return se.dropDatabase(ctx, s, w)
	case *sql.AlterOptions:
		return se.alterOptions(ctx, s, w)
	}
	return nil, table.Errorf("0A000", "%s is not supported", sql.Tag(stmt))
}

// home is the database in which an unqualified name is made.
func (se *Session) home(ctx context.Context, name sql.Name) (string, error) {
	if name.Database != "" {
		return name.Database, nil
	}
	for _, db := range se.settings.searchPath() {
		ok, err := se.srv.Catalog.HasDatabase(ctx, db)
		if err != nil {
			return "", err
		}
		if ok {
			return db, nil
		}
	}
	return "", table.Errorf("3F000", "no schema has been selected to create in")
}

func (se *Session) createTable(ctx context.Context, s *sql.CreateTable, w *wire.Writer) (*result, error) {
	db, err := se.home(ctx, s.Table)
	if err != nil {
		return nil, atOrigin(err, s.Origin(), s.Table.Start)
	}
	d := catalog.Definition{Database: db, Name: s.Table.Table, Comment: s.Comment, Options: map[string]string{}}
	for _, c := range s.Columns {
		d.Fields = append(d.Fields, table.Field{Name: c.Name, Type: c.Type, Description: c.Comment})
	}
	for _, i := range s.PrimaryKey {
		d.PrimaryKey = append(d.PrimaryKey, i.Name)
	}
	for _, i := range s.PartitionedBy {
		d.PartitionBy = append(d.PartitionBy, i.Name)
	}
	for _, o := range s.Options {
		d.Options[o.Key] = o.Value
	}
	t, err := se.srv.Catalog.CreateTable(ctx, d)
	if table.SQLState(err) == "42P07" && s.IfNotExists {
		if _, there := se.srv.Catalog.Table(ctx, db, s.Table.Table); there == nil {
			w.Notice(wire.Notice{Code: "42P07", Message: fmt.Sprintf("relation \"%s\" already exists, skipping", s.Table.Table)})
			return done("CREATE TABLE"), nil
		}
	}
	if err != nil {
		return nil, atOrigin(err, s.Origin(), positionOf(s, err))
	}
	se.srv.Keeper.Adopt(t)
	if !t.Schema.Keyed() {
		w.Notice(wire.Notice{Message: fmt.Sprintf("table \"%s\" has no primary key: rows can be added, not yet updated or deleted", t.Name),
			Hint: "Declare PRIMARY KEY (…) to make INSERT an upsert and to allow UPDATE and DELETE."})
	}
	return done("CREATE TABLE"), nil
}

// positionOf is the part of a CREATE TABLE that an error names: an option, a
// column, else the table.
func positionOf(s *sql.CreateTable, err error) int {
	var e *table.Error
	if errors.As(err, &e) {
		for _, o := range s.Options {
			if o.Key != "" && contains(e.Message, o.Key) {
				return o.Start
			}
		}
		for _, c := range s.Columns {
			if contains(e.Message, "column \""+c.Name+"\"") {
				return c.Start
			}
		}
	}
	return s.Table.Start
}

func (se *Session) dropTable(ctx context.Context, s *sql.DropTable, w *wire.Writer) (*result, error) {
	// All names are found before anything is dropped.
	var tables []*catalog.Table
	for _, n := range s.Tables {
		t, err := se.resolve(ctx, n.Database, n.Table)
		if code := table.SQLState(err); err != nil && s.IfExists && (code == "42P01" || code == "3F000") {
			w.Notice(wire.Notice{Code: "00000", Message: fmt.Sprintf("table \"%s\" does not exist, skipping", n)})
			continue
		}
		if err == nil && t.Foreign {
			err = writable(t)
		}
		if err != nil {
			return nil, atOrigin(err, s.Origin(), n.Start)
		}
		if !slices.Contains(tables, t) {
			tables = append(tables, t)
		}
	}
	for _, t := range tables {
		if err := se.dropOne(ctx, t); err != nil {
			return nil, err
		}
	}
	return done("DROP TABLE"), nil
}

// dropOne stops keeping a table, and removes it. If that fails the table is
// kept again, if it is still there.
func (se *Session) dropOne(ctx context.Context, t *catalog.Table) error {
	se.srv.Keeper.Release(t.Topic.ID)
	err := se.srv.Catalog.DropTable(ctx, t.Database, t.Name)
	if err != nil {
		if again, there := se.srv.Catalog.Table(context.WithoutCancel(ctx), t.Database, t.Name); there == nil && again.Topic.ID == t.Topic.ID {
			se.srv.Keeper.Adopt(again)
		}
	}
	return err
}

func (se *Session) dropDatabase(ctx context.Context, s *sql.DropDatabase, w *wire.Writer) (*result, error) {
	for _, n := range s.Names {
		ok, err := se.srv.Catalog.HasDatabase(ctx, n.Name)
		if err != nil {
			return nil, err
		}
		if !ok && s.IfExists {
			w.Notice(wire.Notice{Message: fmt.Sprintf("schema \"%s\" does not exist, skipping", n.Name)})
			continue
		}
		if ok && s.Cascade && n.Name != catalog.DefaultDatabase {
			tables, err := se.srv.Catalog.Tables(ctx, n.Name)
			if err != nil {
				return nil, err
			}
			for _, t := range tables {
				if t.Foreign {
					return nil, atOrigin(writable(t), s.Origin(), n.Start)
				}
			}
			for _, t := range tables {
				if err := se.dropOne(ctx, t); err != nil {
					return nil, err
				}
			}
		}
		if err := se.srv.Catalog.DropDatabase(ctx, n.Name, s.Cascade); err != nil {
			return nil, atOrigin(err, s.Origin(), n.Start)
		}
	}
	return done(sql.Tag(s)), nil
}

func (se *Session) alterOptions(ctx context.Context, s *sql.AlterOptions, w *wire.Writer) (*result, error) {
	t, err := se.resolve(ctx, s.Table.Database, s.Table.Table)
	if code := table.SQLState(err); err != nil && s.IfExists && (code == "42P01" || code == "3F000") {
		w.Notice(wire.Notice{Message: fmt.Sprintf("relation \"%s\" does not exist, skipping", s.Table)})
		return done("ALTER TABLE"), nil
	}
	if err == nil {
		err = writable(t)
	}
	if err != nil {
		return nil, atOrigin(err, s.Origin(), s.Table.Start)
	}
	set := map[string]string{}
	var reset []string
	for _, o := range s.Set {
		set[o.Key] = o.Value
	}
	for _, o := range s.Reset {
		reset = append(reset, o.Key)
	}
	t, err = se.srv.Catalog.SetOptions(ctx, t.Database, t.Name, set, reset)
	if err != nil {
		return nil, atOrigin(err, s.Origin(), s.Table.Start)
	}
	se.srv.Keeper.Adopt(t)
	return done("ALTER TABLE"), nil
}

// checkpoint flushes every table of ours and returns when snapshots cover all
// that was acknowledged before.
func (se *Session) checkpoint(ctx context.Context) error {
	dbs, err := se.srv.Catalog.Databases(ctx)
	if err != nil {
		return err
	}
	var errs []error
	for _, db := range dbs {
		tables, err := se.srv.Catalog.Tables(ctx, db)
		if err != nil {
			return err
		}
		for _, t := range tables {
			if t.Foreign || t.Unreadable != nil {
				continue
			}
			if err := se.checkpointTable(ctx, t); err != nil {
				errs = append(errs, fmt.Errorf("%s.%s: %w", db, t.Name, err))
			}
		}
	}
	return errors.Join(errs...)
}

func (se *Session) checkpointTable(ctx context.Context, t *catalog.Table) error {
	h, err := se.srv.horizon(ctx, t)
	if err != nil {
		return err
	}
	return se.srv.Keeper.Checkpoint(ctx, t, h)
}

func (se *Session) compact(ctx context.Context, s *sql.Compact, w *wire.Writer) (*result, error) {
	t, err := se.resolve(ctx, s.Table.Database, s.Table.Table)
	if code := table.SQLState(err); err != nil && s.IfExists && (code == "42P01" || code == "3F000") {
		w.Notice(wire.Notice{Message: fmt.Sprintf("relation \"%s\" does not exist, skipping", s.Table)})
		return done("ALTER TABLE"), nil
	}
	if err == nil {
		err = writable(t)
	}
	if err != nil {
		return nil, atOrigin(err, s.Origin(), s.Table.Start)
	}
	r, err := se.srv.Keeper.Compact(ctx, t)
	if err != nil {
		return nil, err
	}
	row := table.Row{}
	for _, n := range []int64{int64(r.Snapshot), int64(r.Buckets), int64(r.FilesBefore), int64(r.FilesAfter), r.RowsBefore, r.RowsAfter, r.BytesBefore, r.BytesAfter} {
		row = append(row, table.IntOf(n))
	}
	return fixed("ALTER TABLE", false, compactColumns, []table.Row{row}), nil
}

func intColumn(name string) wire.Column {
	return wire.Column{Name: name, OID: wire.OIDInt8, Typmod: -1}
}
