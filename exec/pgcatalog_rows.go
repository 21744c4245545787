package exec

import (
	"fmt"
	"sort"
	"strconv"
	"strings"
)

// pgType is a row of pg_type: OIDs are those of every Postgres server.
type pgType struct {
	oid, array int
	name       string
	display    string
	length     int
	category   string
	preferred  bool
}

var pgTypes = []pgType{
	{16, 1000, "bool", "boolean", 1, "B", true}, {17, 1001, "bytea", "bytea", -1, "U", false}, {18, 1002, "char", `"char"`, 1, "Z", false},
	{19, 1003, "name", "name", 64, "S", false}, {20, 1016, "int8", "bigint", 8, "N", false}, {21, 1005, "int2", "smallint", 2, "N", false},
	{23, 1007, "int4", "integer", 4, "N", false}, {24, 1008, "regproc", "regproc", 4, "N", false}, {25, 1009, "text", "text", -1, "S", true},
	{26, 1028, "oid", "oid", 4, "N", true}, {28, 1011, "xid", "xid", 4, "U", false}, {114, 199, "json", "json", -1, "U", false},
	{142, 143, "xml", "xml", -1, "U", false}, {194, 0, "pg_node_tree", "pg_node_tree", -1, "Z", false}, {700, 1021, "float4", "real", 4, "N", false},
	{701, 1022, "float8", "double precision", 8, "N", true}, {705, 0, "unknown", "unknown", -2, "X", false}, {790, 791, "money", "money", 8, "N", false},
	{829, 1040, "macaddr", "macaddr", 6, "U", false}, {869, 1041, "inet", "inet", -1, "I", true}, {650, 651, "cidr", "cidr", -1, "I", false},
	{1033, 1034, "aclitem", "aclitem", 12, "U", false}, {1042, 1014, "bpchar", "character", -1, "S", false}, {1043, 1015, "varchar", "character varying", -1, "S", false},
	{1082, 1182, "date", "date", 4, "D", false}, {1083, 1183, "time", "time without time zone", 8, "D", false},
	{1114, 1115, "timestamp", "timestamp without time zone", 8, "D", false}, {1184, 1185, "timestamptz", "timestamp with time zone", 8, "D", true},
	{1186, 1187, "interval", "interval", 16, "T", true}, {1266, 1270, "timetz", "time with time zone", 12, "D", false}, {1560, 1561, "bit", "bit", -1, "V", false},
	{1562, 1563, "varbit", "bit varying", -1, "V", true}, {1700, 1231, "numeric", "numeric", -1, "N", false}, {2205, 2210, "regclass", "regclass", 4, "N", false},
	{2206, 2211, "regtype", "regtype", 4, "N", false}, {2950, 2951, "uuid", "uuid", 16, "U", false}, {3802, 3807, "jsonb", "jsonb", -1, "U", false},
	{2278, 0, "void", "void", 4, "P", false}, {2249, 2287, "record", "record", -1, "P", false}, {2276, 0, "any", `"any"`, 4, "P", false},
	{4089, 4090, "regnamespace", "regnamespace", 4, "N", false}, {4096, 4097, "regrole", "regrole", 4, "N", false},
	{22, 1006, "int2vector", "int2vector", -1, "A", false}, {30, 1013, "oidvector", "oidvector", -1, "A", false},
	{3614, 3643, "tsvector", "tsvector", -1, "U", false}, {600, 1017, "point", "point", 16, "G", false},
}

// wellKnown are OIDs of catalog relations that clients compare with.
var wellKnown = map[string]int{"pg_type": 1247, "pg_attribute": 1249, "pg_proc": 1255, "pg_class": 1259, "pg_authid": 1260, "pg_database": 1262, "pg_tablespace": 1213,
	"pg_namespace": 2615, "pg_constraint": 2606, "pg_index": 2610, "pg_description": 2609, "pg_attrdef": 2604, "pg_am": 2601, "pg_language": 2612, "pg_rewrite": 2618,
	"pg_trigger": 2620, "pg_operator": 2617, "pg_opclass": 2616, "pg_depend": 2608, "pg_extension": 3079, "pg_collation": 3456, "pg_enum": 3501, "pg_cast": 2605,
	"pg_conversion": 2607, "pg_aggregate": 2600, "pg_inherits": 2611, "pg_publication": 6104, "pg_foreign_server": 1417, "pg_foreign_data_wrapper": 2328,
	"pg_ts_config": 3602, "pg_ts_dict": 3600, "pg_event_trigger": 3466, "pg_range": 3541, "pg_sequence": 2224, "pg_statistic_ext": 3381, "pg_opfamily": 2753, "pg_subscription": 6100}

// The first OIDs that Postgres gives to users' objects.
const (
	firstUserOID = 16384
	ownerOID     = 10
	catalogNsp   = 11
	infoNsp      = 13000
	databaseOID  = 5
)

// typeLookup makes the table that macros look types up in: format has % where
// the type modifier goes.
func typeLookup() string {
	var rows []string
	row := func(oid int, name, display, format string) {
		rows = append(rows, fmt.Sprintf("(%d, %s, %s, %s)", oid, literal(name), literal(display), literal(format)))
	}
	for _, t := range pgTypes {
		word, zone, timed := strings.Cut(t.display, " with")
		format := t.display + "%"
		if timed {
			format = word + "% with" + zone
		}
		row(t.oid, t.name, t.display, format)
		if t.array != 0 {
			row(t.array, "_"+t.name, t.display+"[]", format+"[]")
		}
	}
	return "CREATE TABLE dt.pgc.dt_typ AS SELECT * FROM (VALUES " + strings.Join(rows, ", ") + ") v(k1_typ, k1_name, k1_display, k1_format)"
}

// insert writes rows, given as name, value pairs of SQL literals, into a
// relation.
func insert(relation string, columns string, rows []string) string {
	if len(rows) == 0 {
		return ""
	}
	return "INSERT INTO dt.pgc." + relation + " (" + columns + ") VALUES " + strings.Join(rows, ", ")
}

// staticRows is what never changes.
func (e *Engine) staticRows() []string {
	var out []string
	add := func(relation, columns string, rows ...string) { out = append(out, insert(relation, columns, rows)) }
	owner := literal(e.opts.User)
	add("pg_authid", "oid, rolname, rolsuper, rolinherit, rolcreaterole, rolcreatedb, rolcanlogin, rolreplication, rolbypassrls, rolconnlimit",
		fmt.Sprintf("(%d, %s, true, true, true, true, true, false, false, -1)", ownerOID, owner))
	add("pg_database", "oid, datname, datdba, encoding, datlocprovider, datistemplate, datallowconn, datconnlimit, dattablespace, datcollate, datctype",
		fmt.Sprintf("(%d, %s, %d, 6, 'c', false, true, -1, 1663, 'C', 'C')", databaseOID, literal(e.opts.Database), ownerOID))
	add("pg_tablespace", "oid, spcname, spcowner", fmt.Sprintf("(1663, 'pg_default', %d)", ownerOID), fmt.Sprintf("(1664, 'pg_global', %d)", ownerOID))
	add("pg_am", "oid, amname, amhandler, amtype", "(2, 'heap', 3, 't')", "(403, 'btree', 330, 'i')")
	add("pg_language", "oid, lanname, lanowner, lanispl, lanpltrusted", "(12, 'internal', 10, false, false)", "(13, 'c', 10, false, false)", "(14, 'sql', 10, false, true)")
	add("pg_collation", "oid, collname, collnamespace, collowner, collprovider, collisdeterministic, collencoding, collcollate, collctype",
		"(100, 'default', 11, 10, 'd', true, -1, NULL, NULL)", "(950, 'C', 11, 10, 'c', true, -1, 'C', 'C')", "(951, 'POSIX', 11, 10, 'c', true, -1, 'POSIX', 'POSIX')")
	add("pg_opfamily", "oid, opfmethod, opfname, opfnamespace, opfowner", "(1976, 403, 'integer_ops', 11, 10)", "(1994, 403, 'text_ops', 11, 10)")
	add("pg_opclass", "oid, opcmethod, opcname, opcnamespace, opcowner, opcfamily, opcintype, opcdefault",
		"(1978, 403, 'int4_ops', 11, 10, 1976, 23, true)", "(3124, 403, 'int8_ops', 11, 10, 1976, 20, true)", "(3126, 403, 'text_ops', 11, 10, 1994, 25, true)")
	out = append(out, typeRows()...)
	var relations, attributes []string
	names := make([]string, 0, len(e.shim.columns))
	for name := range e.shim.columns {
		names = append(names, name)
	}
	sort.Strings(names)
	for i, name := range names {
		oid := wellKnown[name]
		if oid == 0 {
			oid = 12000 + i
		}
		kind := "r"
		if strings.HasPrefix(name, "pg_stat") && !strings.HasPrefix(name, "pg_statistic") || name == "pg_tables" || name == "pg_roles" || name == "pg_indexes" || name == "pg_views" || name == "pg_user" || name == "pg_settings" {
			kind = "v"
		}
		columns := e.shim.columns[name]
		relations = append(relations, fmt.Sprintf("(%d, %s, %d, %d, 2, '%s', %d, 'p', 'n')", oid, literal(name), catalogNsp, ownerOID, kind, len(columns)))
		for j, c := range columns {
			attributes = append(attributes, fmt.Sprintf("(%d, %s, %d, -1, %d, -1, true, false, '', '')", oid, literal(c.name), catalogTypeOID(c.pg), j+1))
		}
	}
	add("pg_class", classColumns, relations...)
	add("pg_attribute", attributeColumns, attributes...)
	return out
}

const (
	classColumns     = "oid, relname, relnamespace, relowner, relam, relkind, relnatts, relpersistence, relreplident"
	attributeColumns = "attrelid, attname, atttypid, attlen, attnum, atttypmod, attislocal, attnotnull, attidentity, attgenerated"
)

func catalogTypeOID(pg string) int {
	elem, isArray := strings.CutSuffix(pg, "[]")
	for _, t := range pgTypes {
		if t.name == elem || t.display == elem {
			if isArray {
				return t.array
			}
			return t.oid
		}
	}
	return 25
}

// collationOf is the collation of a type's columns: text has the default one.
func collationOf(category string) int {
	if category == "S" {
		return defaultCollation
	}
	return 0
}

const defaultCollation = 100

// typeRows fills pg_type, and pg_proc with the functions that it names.
func typeRows() []string {
	procs := map[string]int{}
	proc := func(name string) int {
		if name == "array_recv" || name == "array_in" {
			procs[name] = map[string]int{"array_in": 750, "array_recv": 2400}[name]
		} else if procs[name] == 0 {
			procs[name] = 5000 + len(procs)
		}
		return procs[name]
	}
	var types []string
	row := func(oid int, name string, length int, byVal bool, category string, preferred bool, elem, array int, in, out, recv, send string, kind, align string) {
		types = append(types, fmt.Sprintf("(%d, %s, %d, %d, %d, %t, %s, %s, %t, true, ',', %d, %d, %d, %d, %d, %d, '%s', 'p', -1, %d)",
			oid, literal(name), catalogNsp, ownerOID, length, byVal, literal(kind), literal(category), preferred, elem, array, proc(in), proc(out), proc(recv), proc(send), align, collationOf(category)))
	}
	for _, t := range pgTypes {
		kind, elem := "b", 0
		if t.category == "P" {
			kind = "p"
		}
		if t.name == "int2vector" {
			elem = 21
		} else if t.name == "oidvector" {
			elem = 26
		}
		row(t.oid, t.name, t.length, t.length > 0 && t.length <= 8, t.category, t.preferred, elem, t.array, t.name+"in", t.name+"out", t.name+"recv", t.name+"send", kind, "i")
		if t.array != 0 {
			row(t.array, "_"+t.name, -1, false, "A", false, t.oid, 0, "array_in", "array_out", "array_recv", "array_send", "b", "i")
		}
	}
	names := make([]string, 0, len(procs))
	for name := range procs {
		names = append(names, name)
	}
	sort.Strings(names)
	var rows []string
	for _, name := range names {
		rows = append(rows, "("+strconv.Itoa(procs[name])+", "+literal(name)+", 11, 10, 12, 'f', 'i', 's', 2278, '')")
	}
	return []string{
		insert("pg_type", "oid, typname, typnamespace, typowner, typlen, typbyval, typtype, typcategory, typispreferred, typisdefined, typdelim, typelem, typarray, typinput, typoutput, typreceive, typsend, typalign, typstorage, typtypmod, typcollation", types),
		insert("pg_proc", "oid, proname, pronamespace, proowner, prolang, prokind, provolatile, proparallel, prorettype, prosrc", rows),
	}
}
