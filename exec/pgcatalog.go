package exec

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"dtstore/table"
)

// The shim stands in for pg_catalog and information_schema: tables, views and
// macros in an attached in-memory catalog. Its schema is early in every search
// path, so its functions are found before DuckDB's of the same name.
const (
	shimCatalog = "dt"
	shimSchema  = "pgc"  // pg_catalog
	infoSchema  = "pgis" // information_schema
	shimPath    = "dt.pgc,memory.main"
)

//go:embed pgcatalog_columns.txt
var catalogColumns string

//go:embed pgcatalog.sql
var catalogMacros string

//go:embed pgcatalog_information.sql
var catalogInformation string

// shim knows which relations there are.
type shim struct {
	relations map[string]map[string]bool // by schema of the shim
	columns   map[string][]catalogColumn

	mu sync.Mutex // one refresh at a time
}

type catalogColumn struct{ name, pg, duck string }

var catalogTypes = map[string]string{"oid": "BIGINT", "xid": "BIGINT", "regproc": "BIGINT", "regtype": "BIGINT", "bigint": "BIGINT", "integer": "INTEGER", "smallint": "SMALLINT",
	"boolean": "BOOLEAN", "float8": "DOUBLE", "real": "REAL", "numeric": "DOUBLE", "timestamptz": "TIMESTAMPTZ", "interval": "INTERVAL", "bytea": "BLOB",
	"int2vector": "SMALLINT[]", "oidvector": "BIGINT[]"}

// catalogType is the DuckDB type of a column of pg_catalog, and its default.
func catalogType(pg string) (duck, def string) {
	if elem, ok := strings.CutSuffix(pg, "[]"); ok {
		duck, _ = catalogType(elem)
		return duck + "[]", "NULL"
	}
	switch duck = catalogTypes[pg]; duck {
	case "":
		if pg == "name" || pg == "char" {
			return "VARCHAR", "''"
		}
		return "VARCHAR", "NULL"
	case "BIGINT", "INTEGER", "SMALLINT":
		return duck, "0"
	case "BOOLEAN":
		return duck, "false"
	}
	return duck, "NULL"
}

func (e *Engine) createShim(c *conn) error {
	s := &e.shim
	s.relations = map[string]map[string]bool{shimSchema: {}, infoSchema: {}}
	s.columns = map[string][]catalogColumn{}
	statements := []string{"ATTACH ':memory:' AS dt", "CREATE SCHEMA dt.pgc", "CREATE SCHEMA dt.pgis",
		"CREATE TABLE dt.pgc.dt_condef (oid BIGINT, condef VARCHAR)", "CREATE TABLE dt.pgc.dt_idxdef (oid BIGINT, attnum INTEGER, def VARCHAR)"}
	macros := strings.NewReplacer("@database@", strings.ReplaceAll(e.opts.Database, "'", "''"), "@user@", strings.ReplaceAll(e.opts.User, "'", "''"),
		"@start@", time.Now().UTC().Format("2006-01-02 15:04:05+00"), "@mark@", mark).Replace(catalogMacros + catalogInformation)
	for line := range strings.Lines(catalogColumns) {
		if name, columns, ok := strings.Cut(strings.TrimSpace(line), ": "); ok && !strings.HasPrefix(line, "#") {
			s.relations[shimSchema][name] = true
			if t := s.table(name, columns); !strings.Contains(macros, "VIEW dt.pgc."+name+" AS") {
				statements = append(statements, t)
			}
		}
	}
	statements = append(statements, typeLookup())
	views, rest := []string{}, []string{}
	for m := range strings.SplitSeq(macros, ";\n") {
		if m = strings.TrimSpace(stripComments(m)); m == "" {
			continue
		}
		if strings.HasPrefix(m, "CREATE VIEW dt.pgc.pg_") {
			views = append(views, m) // before the lookups over them
		} else {
			rest = append(rest, m)
		}
		for _, head := range []string{"CREATE VIEW dt.pgis.", "CREATE TABLE dt.pgis."} {
			if name, ok := strings.CutPrefix(m, head); ok {
				s.relations[infoSchema][name[:strings.IndexByte(name, ' ')]] = true
			}
		}
	}
	statements = append(append(statements, views...), rest...)
	statements = append(statements, e.staticRows()...)
	var errs []error
	for _, st := range statements {
		if err := c.exec(st); err != nil {
			errs = append(errs, fmt.Errorf("%.80s: %w", st, err))
		}
	}
	if errs != nil {
		return errors.Join(errs...)
	}
	return e.SetCatalog(context.Background(), CatalogSource{})
}

// stripComments takes lines that begin with -- away.
func stripComments(s string) string {
	var b strings.Builder
	for line := range strings.Lines(s) {
		if !strings.HasPrefix(line, "--") {
			b.WriteString(line)
		}
	}
	return b.String()
}

// table notes a relation's columns and gives its CREATE TABLE.
func (s *shim) table(name, columns string) string {
	var defs []string
	for c := range strings.SplitSeq(columns, ", ") {
		col, pg, _ := strings.Cut(c, " ")
		duck, def := catalogType(pg)
		if col == "attstattarget" {
			def = "-1" // psql shows another one
		}
		s.columns[name] = append(s.columns[name], catalogColumn{col, pg, duck})
		defs = append(defs, ident(col)+" "+duck+" DEFAULT "+def)
	}
	return "CREATE TABLE dt.pgc." + ident(name) + " (" + strings.Join(defs, ", ") + ")"
}

// relation finds where a name that may be of the catalogue lives: a schema of
// the shim, or "" if the name is of another schema. A name that can only be of
// the catalogue and is missing there is 42P01.
func (s *shim) relation(catalog, schema, name, database string) (string, *table.Error) {
	if catalog != "" && catalog != database {
		return "", nil // the planner knows which catalogs there are
	}
	switch schema {
	case "pg_catalog", shimSchema:
		schema = shimSchema
	case "information_schema", infoSchema:
		schema = infoSchema
	case "":
		if catalog == "" && s.relations[shimSchema][name] {
			return shimSchema, nil
		}
		return "", nil
	default:
		return "", nil
	}
	if !s.relations[schema][name] {
		shown := map[string]string{shimSchema: "pg_catalog", infoSchema: "information_schema"}[schema]
		return "", table.Errorf("42P01", "relation %q does not exist", shown+"."+name)
	}
	return schema, nil
}
