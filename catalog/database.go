package catalog

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"dtstore/objstore"
	"dtstore/table"
)

// Databases returns the names of the databases in order.
func (c *Catalog) Databases(ctx context.Context) ([]string, error) {
	var names []string
	for folder, err := range c.store.Folders(ctx, "") {
		if err != nil {
			return nil, fmt.Errorf("list databases: %w", err)
		}
		if n, ok := strings.CutSuffix(folder, ".db"); ok && n != "" {
			names = append(names, n)
		}
	}
	slices.Sort(names)
	return names, nil
}

// HasDatabase says whether there is a database of that name.
func (c *Catalog) HasDatabase(ctx context.Context, database string) (bool, error) {
	if database == DefaultDatabase {
		return true, nil
	}
	names, err := c.Databases(ctx)
	return slices.Contains(names, database), err
}

// needDatabase is 3F000, with what may have been meant, unless it exists.
func (c *Catalog) needDatabase(ctx context.Context, database string) error {
	if database == DefaultDatabase {
		return nil
	}
	names, err := c.Databases(ctx)
	if err != nil || slices.Contains(names, database) {
		return err
	}
	e := table.Errorf("3F000", "schema \"%s\" does not exist", database)
	if near := table.Nearest(database, names); near != "" {
		return e.WithHint("Did you mean \"%s\"?", near)
	}
	return e.WithHint("CREATE SCHEMA makes one; SHOW DATABASES lists them.")
}

// CreateDatabase makes a database; 42P06 if it exists.
func (c *Catalog) CreateDatabase(ctx context.Context, database string) error {
	if err := checkName("schema", database); err != nil {
		return err
	}
	if low := strings.ToLower(database); strings.HasPrefix(low, "pg_") || low == "information_schema" || low == "sys" {
		return table.Errorf("42939", "unacceptable schema name \"%s\"", database).
			WithDetail("The names information_schema and sys and the prefix \"pg_\" are reserved.")
	}
	ok, err := c.HasDatabase(ctx, database)
	if err != nil {
		return err
	}
	if ok {
		return table.Errorf("42P06", "schema \"%s\" already exists", database)
	}
	if err := c.store.MakeFolder(ctx, database+".db/"); err != nil {
		return fmt.Errorf("create database %s: %w", database, err)
	}
	return nil
}

// DropDatabase removes a database: 3F000 without one, 2BP01 if it holds tables
// and cascade is not set, or if it is the default. With cascade its tables go
// first. Files that are of no table of ours are kept: then it is 55006.
func (c *Catalog) DropDatabase(ctx context.Context, database string, cascade bool) error {
	if database == DefaultDatabase {
		return table.Errorf("2BP01", "cannot drop schema \"%s\": it is the default schema", database).
			WithHint("Drop its tables one by one.")
	}
	if err := c.needDatabase(ctx, database); err != nil {
		return err
	}
	tables, err := c.Tables(ctx, database)
	if err != nil {
		return err
	}
	if len(tables) > 0 && !cascade {
		return table.Errorf("2BP01", "cannot drop schema \"%s\" because it holds %d table(s)", database, len(tables)).
			WithDetail("One of them is \"%s\".", tables[0].Name).
			WithHint("Use DROP … CASCADE to drop the tables too.")
	}
	for _, t := range tables {
		if err := t.writable("drop"); err != nil {
			return err // before anything is gone
		}
	}
	for _, t := range tables {
		if err := c.DropTable(ctx, database, t.Name); err != nil {
			return err
		}
	}
	return c.removeDatabase(ctx, database)
}

// removeDatabase removes the folder of a database without tables, and what its
// dropped tables left in it.
func (c *Catalog) removeDatabase(ctx context.Context, database string) error {
	names, err := c.tableNames(ctx, database)
	if err != nil {
		return err
	}
	for _, n := range names {
		if err := c.removeMark(ctx, name{database, n}); err != nil {
			return fmt.Errorf("drop database %s: %w", database, err)
		}
	}
	if err := c.store.Delete(ctx, database+".db/"); err != nil {
		return fmt.Errorf("drop database %s: %w", database, err)
	}
	for o, err := range c.store.List(ctx, database+".db/") {
		if err != nil {
			return fmt.Errorf("drop database %s: %w", database, err)
		}
		return table.Errorf("55006", "schema \"%s\" has no tables left, but its folder holds files that are not dtstore's", database).
			WithDetail("One of them is %s.", o.Key).
			WithHint("Remove the folder %s.db from the warehouse.", database)
	}
	return nil
}

// removeMark removes the last that a dropped table keeps, if there is no other
// in its place.
func (c *Catalog) removeMark(ctx context.Context, n name) error {
	end, err := c.change(ctx, n)
	if err != nil {
		return err
	}
	defer end()
	if err := c.finishDrop(ctx, n); err != nil {
		return err
	}
	if ids, err := c.schemaIDs(ctx, n); err != nil || len(ids) > 0 {
		return err
	}
	return c.store.Delete(ctx, droppedKey(n))
}

const maxNameBytes = 127

// checkName says whether a database, table or column can have this name.
func checkName(what, n string) error {
	switch {
	case n == "":
		return table.Errorf("42602", "a %s needs a name", what)
	case len(n) > maxNameBytes:
		return table.Errorf("42622", "%s name \"%.40s…\" is longer than %d bytes", what, n, maxNameBytes)
	case !utf8.ValidString(n) || strings.ContainsFunc(n, unicode.IsControl):
		return table.Errorf("42602", "%s name %q holds a control character", what, n)
	}
	if what == "column" {
		return nil
	}
	// These names are folders.
	switch {
	case strings.ContainsAny(n, "/\\$"):
		return table.Errorf("42602", "%s name \"%s\" holds a character that a folder's name cannot have", what, n).
			WithHint("The characters / \\ and $ cannot be used.")
	case n[0] == '.' || strings.TrimSpace(n) != n || objstore.CheckKey(n) != nil:
		return table.Errorf("42602", "%s name \"%s\" cannot be the name of a folder", what, n).
			WithHint("It must not begin with a dot, or begin or end with a blank.")
	}
	return nil
}
