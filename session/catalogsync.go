package session

import (
	"context"
	"strings"
	"sync"
	"time"

	"dtstore/catalog"
	"dtstore/exec"
	"dtstore/table"
)

// refresher keeps the engine's pg_catalog up to date: it is filled anew when a
// statement reads it, if the catalog changed or the last filling is old.
type refresher struct {
	mu    sync.Mutex // guards the rest; held while filling, so that it is done once
	at    time.Time
	dirty bool
}

// freshFor is how long a filling serves: other engines make tables too.
const freshFor = 2 * time.Second

func (r *refresher) stale() {
	r.mu.Lock()
	r.dirty = true
	r.mu.Unlock()
}

// syncCatalog fills pg_catalog if the query reads it.
func (se *Session) syncCatalog(ctx context.Context, b *bound) error {
	if !b.readsCatalog() {
		return nil
	}
	return se.srv.syncCatalog(ctx)
}

// readsCatalog says whether a query can see pg_catalog: by its tables, or by a
// function, which may look there.
func (b *bound) readsCatalog() bool {
	for _, r := range b.tree.Refs {
		if r.Catalogue {
			return true
		}
	}
	for _, c := range b.tree.Calls {
		if looksUp(c.Name) {
			return true
		}
	}
	return false
}

// looksUp says whether a function may read the catalog.
func looksUp(function string) bool {
	for _, prefix := range []string{"pg_", "reg", "to_reg", "has_", "format_type", "col_description", "obj_description", "shobj_description", "current_schema"} {
		if strings.HasPrefix(function, prefix) {
			return true
		}
	}
	return false
}

func (s *Server) syncCatalog(ctx context.Context) error {
	r := &s.refresh
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.dirty && time.Since(r.at) < freshFor {
		return nil
	}
	dbs, err := s.Catalog.Databases(ctx)
	if err != nil {
		return err
	}
	var source exec.CatalogSource
	for _, db := range dbs {
		source.Schemas = append(source.Schemas, exec.SchemaInfo{Name: db})
		tables, err := s.Catalog.Tables(ctx, db)
		if err != nil {
			return err
		}
		for _, t := range tables {
			source.Tables = append(source.Tables, tableInfo(t))
		}
	}
	if err := s.Engine.SetCatalog(ctx, source); err != nil {
		return err
	}
	r.at, r.dirty = time.Now(), false
	return nil
}

func tableInfo(t *catalog.Table) exec.TableInfo {
	info := exec.TableInfo{Schema: t.Database, Name: t.Name, Comment: t.Schema.Comment, OID: tableOID(t), PrimaryKey: t.Schema.PrimaryKeys}
	for _, f := range t.Schema.Fields {
		typ := f.Type
		if typ.Kind == table.Unsupported {
			typ = table.Type{Kind: table.VarChar, Length: table.MaxLength, NotNull: typ.NotNull}
		}
		info.Columns = append(info.Columns, exec.ColumnInfo{Name: f.Name, Type: typ, Comment: f.Description})
	}
	return info
}

// tableOID is stable over restarts.
func tableOID(t *catalog.Table) uint32 { return exec.OIDOf("table", t.Database+"."+t.Name) }
