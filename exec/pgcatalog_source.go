package exec

import (
	"context"
	"fmt"
	"hash/fnv"
	"sort"
	"strings"

	duckdb "github.com/duckdb/duckdb-go-bindings"

	"dtstore/table"
)

// CatalogSource is what clients see in pg_catalog and information_schema.
type CatalogSource struct {
	Schemas  []SchemaInfo
	Tables   []TableInfo
	Settings map[string]string // of pg_settings, beside those that are always there
}

// SchemaInfo is a schema. OID 0 means one made from the name.
type SchemaInfo struct {
	Name, Comment string
	OID           uint32
}

// TableInfo is a table. OID 0 means one made from schema and name.
type TableInfo struct {
	Schema, Name, Comment string
	OID                   uint32
	Columns               []ColumnInfo
	PrimaryKey            []string
	View                  bool
	Rows                  int64 // reltuples; 0 is unknown
}

// ColumnInfo is a column of a table.
type ColumnInfo struct {
	Name, Default, Comment string
	Type                   table.Type
}

// OIDOf makes a stable OID, as Postgres gives to users' objects, from a name.
func OIDOf(kind, name string) uint32 {
	h := fnv.New32a()
	h.Write([]byte(kind + "\x00" + name))
	return firstUserOID + h.Sum32()%(1<<31-1-firstUserOID)
}

var settings = map[string]string{"server_version": "15.0", "server_version_num": "150000", "server_encoding": "UTF8", "client_encoding": "UTF8", "standard_conforming_strings": "on",
	"search_path": `"$user", public`, "max_identifier_length": "63", "max_index_keys": "32", "transaction_isolation": "read committed", "default_transaction_isolation": "read committed",
	"default_transaction_read_only": "off", "transaction_read_only": "off", "timezone": "UTC", "datestyle": "ISO, MDY", "intervalstyle": "postgres", "integer_datetimes": "on", "statement_timeout": "0",
	"lc_collate": "C", "lc_ctype": "C", "bytea_output": "hex", "extra_float_digits": "1", "application_name": "", "is_superuser": "on", "block_size": "8192", "in_hot_standby": "off", "max_connections": "100"}

// oids gives each object its OID and sees that no two share one.
type oids struct{ taken map[uint32]bool }

func (o *oids) of(given uint32, kind, name string) uint32 {
	n := given
	if n == 0 {
		n = OIDOf(kind, name)
	}
	for o.taken[n] {
		n = firstUserOID + (n+1-firstUserOID)%(1<<31-1-firstUserOID)
	}
	o.taken[n] = true
	return n
}

// SetCatalog replaces what clients see, in one transaction: a query sees the
// old or the new state.
func (e *Engine) SetCatalog(ctx context.Context, source CatalogSource) error {
	e.shim.mu.Lock()
	defer e.shim.mu.Unlock()
	c, err := e.acquire()
	if err != nil {
		return err
	}
	defer e.release(c)
	stop := c.watch(ctx)
	defer stop()
	statements := append([]string{"BEGIN"}, source.statements()...)
	for _, s := range append(statements, "COMMIT") {
		if s == "" {
			continue
		}
		if err := c.exec(s); err != nil {
			_ = c.exec("ROLLBACK") // the error to tell is the first one
			return fmt.Errorf("refresh catalog: %w", err)
		}
	}
	return nil
}

// catalogRows gathers the rows of one refresh.
type catalogRows struct {
	namespaces, classes, attributes, indexes, constraints, descriptions, defaults, condefs, idxdefs, settings []string
}

func (s CatalogSource) statements() []string {
	r := &catalogRows{}
	ids := &oids{taken: map[uint32]bool{}}
	schemas := r.schemas(s.Schemas, ids)
	tables := append([]TableInfo(nil), s.Tables...)
	sort.Slice(tables, func(i, j int) bool {
		return tables[i].Schema < tables[j].Schema || tables[i].Schema == tables[j].Schema && tables[i].Name < tables[j].Name
	})
	for _, t := range tables {
		if nsp, ok := schemas[t.Schema]; ok {
			r.table(t, nsp, ids)
		}
	}
	all := map[string]string{}
	for _, m := range []map[string]string{settings, s.Settings} {
		for k, v := range m {
			all[k] = v
		}
	}
	for k, v := range all {
		r.settings = append(r.settings, fmt.Sprintf("(%s, %s, 'Preset Options', 'user', 'string', 'default', %[2]s, %[2]s, '', false)", literal(k), literal(v)))
	}
	sort.Strings(r.settings)
	var out []string
	for _, relation := range []string{"pg_namespace", "pg_index", "pg_constraint", "pg_description", "pg_attrdef", "dt_condef", "dt_idxdef", "pg_settings"} {
		out = append(out, "DELETE FROM dt.pgc."+relation)
	}
	return append(out, fmt.Sprintf("DELETE FROM dt.pgc.pg_class WHERE oid >= %d", firstUserOID), fmt.Sprintf("DELETE FROM dt.pgc.pg_attribute WHERE attrelid >= %d", firstUserOID),
		insert("pg_namespace", "oid, nspname, nspowner", r.namespaces),
		insert("pg_class", classColumns+", relhasindex, reltuples", r.classes),
		insert("pg_attribute", attributeColumns+", atthasdef, attstorage, attcollation", r.attributes),
		insert("pg_index", "indexrelid, indrelid, indnatts, indnkeyatts, indisunique, indisprimary, indimmediate, indisvalid, indisready, indislive, indkey, indcollation, indclass, indoption", r.indexes),
		insert("pg_constraint", "oid, conname, connamespace, contype, convalidated, conrelid, conindid, confupdtype, confdeltype, confmatchtype, conislocal, connoinherit, conkey", r.constraints),
		insert("pg_description", "objoid, classoid, objsubid, description", r.descriptions),
		insert("pg_attrdef", "oid, adrelid, adnum, adbin", r.defaults),
		insert("dt_condef", "oid, condef", r.condefs), insert("dt_idxdef", "oid, attnum, def", r.idxdefs),
		insert("pg_settings", "name, setting, category, context, vartype, source, boot_val, reset_val, short_desc, pending_restart", r.settings))
}

func (r *catalogRows) schemas(schemas []SchemaInfo, ids *oids) map[string]uint32 {
	byName := map[string]uint32{"pg_catalog": catalogNsp, "information_schema": infoNsp}
	sorted := append([]SchemaInfo(nil), schemas...)
	sort.Slice(sorted, func(i, j int) bool { return sorted[i].Name < sorted[j].Name })
	for _, s := range sorted {
		if _, ok := byName[s.Name]; ok {
			continue
		}
		byName[s.Name] = ids.of(s.OID, "schema", s.Name)
		r.describe(byName[s.Name], wellKnown["pg_namespace"], 0, s.Comment)
	}
	if _, ok := byName["public"]; !ok {
		byName["public"] = ids.of(2200, "", "")
	}
	for name, oid := range byName {
		r.namespaces = append(r.namespaces, fmt.Sprintf("(%d, %s, %d)", oid, literal(name), ownerOID))
	}
	sort.Strings(r.namespaces)
	return byName
}

func (r *catalogRows) describe(oid uint32, class, sub int, text string) {
	if text != "" {
		r.descriptions = append(r.descriptions, fmt.Sprintf("(%d, %d, %d, %s)", oid, class, sub, literal(text)))
	}
}

func (r *catalogRows) table(t TableInfo, nsp uint32, ids *oids) {
	oid := ids.of(t.OID, "table", t.Schema+"."+t.Name)
	kind := "r"
	if t.View {
		kind = "v"
	}
	tuples := int64(-1)
	if t.Rows > 0 {
		tuples = t.Rows
	}
	r.classes = append(r.classes, fmt.Sprintf("(%d, %s, %d, %d, %d, '%s', %d, 'p', 'd', %t, %d)", oid, literal(t.Name), nsp, ownerOID, 2*b2i(!t.View), kind, len(t.Columns), len(t.PrimaryKey) > 0, tuples))
	r.describe(oid, wellKnown["pg_class"], 0, t.Comment)
	numbers := map[string]int{}
	for i, c := range t.Columns {
		numbers[c.Name] = i + 1
		typ, length, mod := pgTypeOf(c.Type)
		storage, collation := "p", 0
		if length < 0 {
			storage = "x"
		}
		if c.Type.IsString() {
			collation = defaultCollation
		}
		r.attributes = append(r.attributes, fmt.Sprintf("(%d, %s, %d, %d, %d, %d, true, %t, '', '', %t, '%s', %d)", oid, literal(c.Name), typ, length, i+1, mod, c.Type.NotNull, c.Default != "", storage, collation))
		r.describe(oid, wellKnown["pg_class"], i+1, c.Comment)
		if c.Default != "" {
			r.defaults = append(r.defaults, fmt.Sprintf("(%d, %d, %d, %s)", ids.of(0, "default", t.Schema+"."+t.Name+"."+c.Name), oid, i+1, literal(c.Default)))
		}
	}
	if len(t.PrimaryKey) > 0 {
		r.primaryKey(t, oid, nsp, numbers, ids)
	}
}

func (r *catalogRows) primaryKey(t TableInfo, oid, nsp uint32, numbers map[string]int, ids *oids) {
	name := t.Name + "_pkey"
	index, constraint := ids.of(0, "index", t.Schema+"."+name), ids.of(0, "constraint", t.Schema+"."+name)
	n := len(t.PrimaryKey)
	r.classes = append(r.classes, fmt.Sprintf("(%d, %s, %d, %d, 403, 'i', %d, 'p', 'n', false, -1)", index, literal(name), nsp, ownerOID, n))
	var keys, zeros, classes, quoted []string
	for i, c := range t.PrimaryKey {
		keys, zeros, classes = append(keys, fmt.Sprint(numbers[c])), append(zeros, "0"), append(classes, "3124")
		q := c
		if !plainIdent(c) {
			q = ident(c)
		}
		quoted = append(quoted, q)
		r.idxdefs = append(r.idxdefs, fmt.Sprintf("(%d, %d, %s)", index, i+1, literal(q)))
		typ, length, mod := pgTypeOf(t.Columns[max(numbers[c]-1, 0)].Type)
		r.attributes = append(r.attributes, fmt.Sprintf("(%d, %s, %d, %d, %d, %d, true, false, '', '', false, 'p', 0)", index, literal(c), typ, length, i+1, mod))
	}
	list := func(s []string) string { return "[" + strings.Join(s, ", ") + "]" }
	r.indexes = append(r.indexes, fmt.Sprintf("(%d, %d, %d, %[3]d, true, true, true, true, true, true, %[4]s, %[5]s, %[6]s, %[5]s)", index, oid, n, list(keys), list(zeros), list(classes)))
	r.constraints = append(r.constraints, fmt.Sprintf("(%d, %s, %d, 'p', true, %d, %d, ' ', ' ', ' ', true, true, %s)", constraint, literal(name), nsp, oid, index, list(keys)))
	columns := strings.Join(quoted, ", ")
	r.condefs = append(r.condefs, fmt.Sprintf("(%d, %s)", constraint, literal("PRIMARY KEY ("+columns+")")))
	relation := t.Name
	if !plainIdent(relation) {
		relation = ident(relation)
	}
	r.idxdefs = append(r.idxdefs, fmt.Sprintf("(%d, 0, %s)", index, literal("CREATE UNIQUE INDEX "+name+" ON "+t.Schema+"."+relation+" USING btree ("+columns+")")))
}

func plainIdent(s string) bool {
	for i := range len(s) {
		if c := s[i]; !(c == '_' || c >= 'a' && c <= 'z' || i > 0 && c >= '0' && c <= '9') {
			return false
		}
	}
	return s != ""
}

// pgTypeOf is how pg_attribute has a column of type t.
func pgTypeOf(t table.Type) (oid, length, typmod int) {
	switch t.Kind {
	case table.VarChar:
		if t.Length != table.MaxLength {
			return 1043, -1, t.Length + 4
		}
		return 25, -1, -1
	case table.Char:
		return 1042, -1, t.Length + 4
	case table.Decimal:
		return 1700, -1, (t.Precision<<16 | t.Scale) + 4
	case table.Time, table.Timestamp, table.TimestampLTZ:
		return int(TypeOf(t).OID()), 8, min(t.Precision, 6) - 7*b2i(t.Precision >= 6)
	}
	x := TypeOf(t)
	for _, p := range pgTypes {
		if p.oid == int(x.OID()) {
			return p.oid, p.length, -1
		}
	}
	return 25, -1, -1
}

// text runs a query of ours that gives one text.
func (c *conn) text(ctx context.Context, query string) (string, error) {
	stop := c.watch(ctx)
	defer stop()
	var res duckdb.Result
	defer duckdb.DestroyResult(&res)
	if duckdb.Query(c.c, query, &res) != duckdb.StateSuccess {
		return "", stopped(ctx, engineError(duckdb.ResultErrorType(&res), duckdb.ResultError(&res)))
	}
	chunk := duckdb.FetchChunk(res)
	if chunk.Ptr == nil {
		return "", table.Errorf("XX000", "no answer")
	}
	defer duckdb.DestroyDataChunk(&chunk)
	out := ""
	readStrings(duckdb.DataChunkGetVector(chunk, 0), 1, func(_ int, v Value) { out = v.Str() })
	return out, nil
}
