package sql

import "strings"

// Tag is a statement's command tag, without the counts that INSERT, SELECT and
// others add. A query's is SELECT.
func Tag(s Statement) string {
	switch s := s.(type) {
	case *Query:
		return "SELECT"
	case *Insert:
		return "INSERT"
	case *Update:
		return "UPDATE"
	case *Delete:
		return "DELETE"
	case *CreateTable:
		return "CREATE TABLE"
	case *DropTable:
		return "DROP TABLE"
	case *CreateDatabase:
		return "CREATE " + schemaWord(s.Schema)
	case *DropDatabase:
		return "DROP " + schemaWord(s.Schema)
	case *Compact, *AlterOptions:
		return "ALTER TABLE"
	case *Use:
		return "USE"
	case *Set, *SetTransaction:
		return "SET"
	case *Reset:
		return "RESET"
	case *Discard:
		return "DISCARD " + s.What
	case *Begin:
		if s.Start {
			return "START TRANSACTION"
		}
		return "BEGIN"
	case *Commit:
		return "COMMIT"
	case *Rollback, *RollbackTo:
		return "ROLLBACK"
	case *Savepoint:
		return "SAVEPOINT"
	case *Release:
		return "RELEASE"
	case *Prepare:
		return "PREPARE"
	case *Deallocate:
		if s.All {
			return "DEALLOCATE ALL"
		}
		return "DEALLOCATE"
	case *Declare:
		return "DECLARE CURSOR"
	case *Fetch:
		if s.Move {
			return "MOVE"
		}
		return "FETCH"
	case *CloseCursor:
		if s.All {
			return "CLOSE CURSOR ALL"
		}
		return "CLOSE CURSOR"
	case *Copy:
		return "COPY"
	case *Explain:
		return "EXPLAIN"
	case *Checkpoint:
		return "CHECKPOINT"
	case *NoOp:
		return s.Tag
	case *Describe, *DescribeDetail, *Help, *Show, *ShowAll, *ShowTables, *ShowDatabases, *ShowCurrentDatabase, *ShowCreateTable:
		return "SHOW"
	case *Execute:
		return "EXECUTE" // the session answers with the tag of what it executes
	}
	return ""
}

func schemaWord(schema bool) string {
	if schema {
		return "SCHEMA"
	}
	return "DATABASE"
}

// HelpText is what HELP says: the statements, a line each.
func HelpText() string { return strings.TrimSpace(helpText) }

const helpText = `
CREATE TABLE [IF NOT EXISTS] [schema.]t (id bigint, v text, …, PRIMARY KEY (id)) [COMMENT '…'] [PARTITIONED BY (c)] [WITH ('k' = 'v')]
DROP TABLE [IF EXISTS] t      ALTER TABLE t COMPACT | SET ('k' = 'v') | RESET ('k')
CREATE | DROP SCHEMA s        USE s
INSERT INTO t [(c, …)] VALUES (…), … | SELECT …      (with a key, a row replaces the one that has its key)
UPDATE t SET c = … [FROM …] [WHERE …]                DELETE FROM t [USING …] [WHERE …]
COPY t [(c, …)] FROM STDIN    COPY t | (query) TO STDOUT      [WITH (FORMAT text | csv | binary, …)]
SELECT …, WITH …, VALUES …, TABLE t                  EXPLAIN [ANALYZE] statement
SET 'execution.runtime-mode' = 'streaming'           then SELECT … FROM t goes on with each change
BEGIN, COMMIT, ROLLBACK, SAVEPOINT s, RELEASE s, ROLLBACK TO s
DECLARE c CURSOR FOR query, FETCH [FORWARD] n FROM c, MOVE, CLOSE c
PREPARE p [(type, …)] AS statement, EXECUTE p(…), DEALLOCATE p
SHOW TABLES, SHOW DATABASES, SHOW CREATE TABLE t, DESCRIBE t, DESCRIBE DETAIL TABLE t
SET k = v, RESET k, SHOW k, SHOW ALL                 CHECKPOINT (flush and commit now)
In psql: \d t, \dt, \copy, \q. Ctrl-C ends a running statement.
`
