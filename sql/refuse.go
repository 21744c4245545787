package sql

import "strings"

// refusals are the statements that dtstore recognises by their first words and
// does not build, with what to write instead. The longest match comes first.
var refusals = []struct{ words, what, hint string }{
	{"truncate", "TRUNCATE is not implemented", "Write DELETE FROM t."},
	{"merge", "MERGE is not implemented", "INSERT into a table with a key replaces rows that exist; UPDATE … FROM and DELETE … USING do the rest."},
	{"upsert", "UPSERT is not implemented", "Write INSERT INTO t …: into a table with a key it replaces rows that exist."},
	{"grant", "GRANT is not implemented", "Leave it out: there is one user, and no authentication yet."},
	{"revoke", "REVOKE is not implemented", "Leave it out: there is one user, and no authentication yet."},
	{"lock", "LOCK is not implemented", "Leave it out: UPDATE and DELETE are checked when they are written, and fail with 40001 if another session was faster."},
	{"notify", "NOTIFY is not implemented", "Consumers can follow the table's Kafka topic, or a streaming SELECT."},
	{"comment", "COMMENT ON is not implemented", "Write COMMENT '…' behind a column or the table in CREATE TABLE."},
	{"do", "DO is not implemented", "Send the statements one by one."},
	{"call", "CALL is not implemented", "ALTER TABLE t COMPACT compacts; CHECKPOINT flushes."},
	{"reindex", "REINDEX is not implemented", "Leave it out: there are no indexes to rebuild."},
	{"cluster", "CLUSTER is not implemented", "Rows lie in the order of the primary key; ALTER TABLE t COMPACT merges them."},
	{"refresh", "REFRESH is not implemented", hintView},
	{"import", "IMPORT is not implemented", hintFiles},
	{"export", "EXPORT is not implemented", hintFiles},
	{"load", "LOAD is not implemented", hintFiles},
	{"unload", "UNLOAD is not implemented", hintFiles},
	{"attach", "ATTACH is not implemented", "There is one database, " + Catalog + ", with schemas."},
	{"detach", "DETACH is not implemented", "There is one database, " + Catalog + ", with schemas."},
	{"install", "INSTALL is not implemented", "Leave it out: extensions are not loaded."},
	{"pragma", "PRAGMA is not implemented", "SHOW ALL lists the settings."},
	{"pivot", "PIVOT as a statement is not implemented", "Write SELECT * FROM (PIVOT …)."},
	{"unpivot", "UNPIVOT as a statement is not implemented", "Write SELECT * FROM (UNPIVOT …)."},
	{"summarize", "SUMMARIZE is not implemented", "Write SELECT count(*), min(c), max(c) … FROM t."},
	{"security", "SECURITY LABEL is not implemented", "Leave it out."},
	{"reassign", "REASSIGN OWNED is not implemented", "Leave it out: there is one user."},
	{"shutdown", "SHUTDOWN is not implemented", "Send the server SIGTERM."},
	{"kill", "KILL is not implemented", "Write SELECT pg_cancel_backend(pid) or pg_terminate_backend(pid)."},
	{"stop", "STOP is not implemented", "Ctrl-C or a cancel request ends a statement."},
	{"quit", "QUIT is not a statement", "In psql, write \\q."},
	{"exit", "EXIT is not a statement", "In psql, write \\q."},
	{"add", "ADD is not implemented", "Leave it out."},
	{"remove", "REMOVE is not implemented", "Leave it out."},
	{"compile", "COMPILE is not implemented", "Leave it out."},

	{"create or replace", "CREATE OR REPLACE is not implemented", "Write DROP TABLE IF EXISTS t, then CREATE TABLE t (…)."},
	{"create temporary table", "temporary tables are not implemented", hintTemp},
	{"create temp table", "temporary tables are not implemented", hintTemp},
	{"create temporary", "temporary objects are not implemented", hintTemp},
	{"create temp", "temporary objects are not implemented", hintTemp},
	{"create local", "temporary tables are not implemented", hintTemp},
	{"create global", "temporary tables are not implemented", hintTemp},
	{"create unlogged", "unlogged tables are not implemented", "Write CREATE TABLE: every change goes to the log first."},
	{"create external", "external tables are not implemented", "A table of Apache Paimon in the warehouse is seen as it is."},
	{"create foreign", "foreign tables are not implemented", "A table of Apache Paimon in the warehouse is seen as it is."},
	{"create unique index", "indexes are not implemented", hintIndex},
	{"create index", "indexes are not implemented", hintIndex},
	{"create view", "views are not implemented", hintView},
	{"create recursive", "views are not implemented", hintView},
	{"create materialized", "materialized views and tables are not implemented", hintView},
	{"create sequence", "sequences are not implemented", hintSerial},
	{"create function", "functions are not implemented", "Write the expression where it is needed, or compute it in the program."},
	{"create procedure", "procedures are not implemented", "Send the statements one by one."},
	{"create aggregate", "aggregates of one's own are not implemented", "The aggregates of DuckDB are there."},
	{"create macro", "macros are not implemented", "Write the expression where it is needed."},
	{"create trigger", "triggers are not implemented", "Consumers can follow the table's Kafka topic, or a streaming SELECT."},
	{"create type", "types of one's own are not implemented", "Use text for enums, and columns for the parts of a composite."},
	{"create domain", "domains are not implemented", "Use the type itself."},
	{"create extension", "extensions are not implemented", "Leave it out."},
	{"create user", "users and roles are not implemented", "There is one user, and no authentication yet."},
	{"create role", "users and roles are not implemented", "There is one user, and no authentication yet."},
	{"create catalog", "catalogs are not implemented", "There is one, " + Catalog + ": write CREATE DATABASE name."},
	{"create model", "models are not implemented", "Leave it out."},
	{"create publication", "publications are not implemented", "Each table's changes are in its Kafka topic."},
	{"create subscription", "subscriptions are not implemented", "Write into the table with INSERT or COPY."},
	{"create", "this form of CREATE is not implemented", "CREATE TABLE, CREATE SCHEMA and CREATE DATABASE are what there is."},

	{"drop view", "there are no views", "DROP TABLE t drops a table."},
	{"drop materialized", "there are no materialized views", "DROP TABLE t drops a table."},
	{"drop index", "there are no indexes", "Leave it out."},
	{"drop sequence", "there are no sequences", "Leave it out."},
	{"drop function", "there are no functions of one's own", "Leave it out."},
	{"drop owned", "DROP OWNED is not implemented", "DROP SCHEMA name CASCADE drops a schema's tables."},
	{"drop temporary", "there are no temporary tables", "DROP TABLE t drops a table."},
	{"drop", "this form of DROP is not implemented", "DROP TABLE, DROP SCHEMA and DROP DATABASE are what there is."},

	{"alter", "this form of ALTER is not implemented", "ALTER TABLE t COMPACT, SET (…) and RESET (…) are what there is. " + hintNewTable},
}

const (
	hintTemp  = "Write CREATE TABLE, and DROP TABLE when done; WITH x AS (SELECT …) serves inside one statement."
	hintIndex = "Rows are found by PRIMARY KEY, and pruned by PARTITIONED BY and by statistics of every column."
	hintView  = "Write the query where it is needed, or INSERT INTO t SELECT … at times."
)

// refused fails with 0A000 if the statement is one that is recognised and not built.
func (p *parser) refused() {
	for _, r := range refusals {
		words := strings.Fields(r.words)
		if !p.is(words[0]) || !p.peek(words...) {
			continue
		}
		if len(words) == 1 && (words[0] == "create" || words[0] == "drop" || words[0] == "alter") && !p.moreWords() {
			return // a slip, or the end of the text: a syntax error says where
		}
		p.refuse(p.tok.Start, r.what, r.hint)
		return
	}
}

// objects are what PostgreSQL, Flink and MySQL create, alter and drop.
var objects = strings.Fields(`access aggregate cast collation conversion database default domain event extension foreign function
	group index language large macro materialized model operator owned policy procedure publication role routine rule schema secret
	sequence server statistics subscription system tablespace text transform trigger type user view catalog`)

// moreWords says whether an object follows CREATE, DROP or ALTER.
func (p *parser) moreWords() bool {
	m := p.mark()
	defer p.back(m)
	p.next()
	return p.is(objects...)
}
