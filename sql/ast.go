package sql

import (
	"unicode/utf8"

	"dtstore/table"
)

// Statement is one parsed statement: one of the struct types of this package.
type Statement interface {
	// Origin is where the statement came from.
	Origin() *Source
}

// Source is a statement's own text and its place in the query text.
type Source struct {
	Text   string // from the first token to the last, without the semicolon; shares memory with the query text
	Start  int    // byte offset of Text in the query text
	Params int    // highest n of all $n
	Hints  []Hint // OPTIONS hints, in order
	whole  string
}

// Origin returns s.
func (s *Source) Origin() *Source { return s }

// Position is the 1-based character, in the whole query text, of a byte offset in Text.
func (s *Source) Position(offset int) int {
	at := min(max(s.Start+offset, 0), len(s.whole))
	return utf8.RuneCountInString(s.whole[:at]) + 1
}

// Hint is a lifted /*+ OPTIONS('k' = 'v', …) */.
type Hint struct {
	Target  string // the name before it as written, "" after a keyword
	Options []Option
	Start   int // byte offset in the statement's text
}

// Ident is a name with its place.
type Ident struct {
	Name  string
	Start int // byte offset in the statement's text
}

// Name names a table. A leading "dtstore." has been checked and dropped.
type Name struct {
	Database string // "" means the search path
	Table    string
	Start    int // byte offset in the statement's text
}

// String is the name as a person writes it, without quotes.
func (n Name) String() string {
	if n.Database == "" {
		return n.Table
	}
	return n.Database + "." + n.Table
}

// Fragment is a piece of a statement's text that is not parsed further.
type Fragment struct {
	SQL   string // "" means absent
	Start int    // byte offset in the statement's text
}

// Option is one 'k' = 'v'.
type Option struct {
	Key, Value string
	Start      int // byte offset of the key in the statement's text
}

// ExprKind says what an Expr is.
type ExprKind uint8

// The kinds of Expr.
const (
	ExprRaw         ExprKind = iota // any other expression: Text is its SQL
	ExprNull                        // NULL
	ExprDefault                     // DEFAULT; no column has one, so it means NULL
	ExprBool                        // Text is "true" or "false"
	ExprNumber                      // Text is a decimal number with its sign, such as -1.5e3
	ExprString                      // Text is the string's value
	ExprBytes                       // Text holds the bytes (X'0A1F')
	ExprDate                        // DATE '…': Text is what is quoted, unchecked; likewise the next three
	ExprTime                        // TIME '…'
	ExprTimestamp                   // TIMESTAMP '…'
	ExprTimestampTZ                 // TIMESTAMPTZ '…', TIMESTAMP WITH TIME ZONE '…', TIMESTAMP_LTZ '…'
	ExprParam                       // $n
)

// Expr is a value in a VALUES list, an argument, or the new value of a column.
type Expr struct {
	Kind       ExprKind
	Param      int32 // n of $n
	Start, End int32 // bytes in the statement's text
	Text       string
}

// Literal says whether the value is known without evaluating SQL; parameters count.
func (e Expr) Literal() bool { return e.Kind != ExprRaw }

// Values is the list of INSERT … VALUES, flat: row i is Exprs[i*Width : (i+1)*Width].
type Values struct {
	Width   int
	Exprs   []Expr
	Literal bool // every expression is a literal or a parameter
}

// Len is the number of rows.
func (v *Values) Len() int { return len(v.Exprs) / v.Width }

// Row returns row i.
func (v *Values) Row(i int) []Expr { return v.Exprs[i*v.Width : (i+1)*v.Width] }

// Query is SELECT, VALUES, TABLE, FROM or WITH before one of them: Text is for Rewrite.
type Query struct{ Source }

// Insert is INSERT INTO and REPLACE INTO.
type Insert struct {
	Source
	Table      Name
	Alias      string
	Partition  []PartitionValue // PARTITION (k = 'v', …)
	Columns    []Ident          // nil: all of the table (without those of Partition)
	Values     *Values          // nil unless the rows come from a plain VALUES list
	Query      Fragment         // the text of VALUES … or SELECT …, always set
	With       Fragment         // WITH … before INSERT
	OnConflict *OnConflict
	Replace    bool // REPLACE INTO: the same as INSERT into a keyed table
}

// PartitionValue is one k = 'v' of a PARTITION clause.
type PartitionValue struct {
	Column Ident
	Value  Expr // never ExprRaw
}

// OnConflict is ON CONFLICT … DO UPDATE and ON DUPLICATE KEY UPDATE.
type OnConflict struct {
	Columns    []Ident // the conflict target; nil if a constraint or nothing is named
	Constraint string
	Set        []Assignment
	Where      Fragment // after SET
	Start      int
}

// Assignment is one column = value.
type Assignment struct {
	Column   Ident
	Value    Fragment
	Literal  Expr   // Value as a literal, or ExprRaw
	Excluded string // c if the value is EXCLUDED.c
}

// Update is UPDATE … SET. Lists such as (a, b) = (1, 2) come as single assignments.
type Update struct {
	Source
	With  Fragment
	Table Name
	Alias string
	Set   []Assignment
	From  Fragment // without the word FROM
	Where Fragment // without the word WHERE
}

// Delete is DELETE FROM.
type Delete struct {
	Source
	With  Fragment
	Table Name
	Alias string
	Using Fragment // without the word USING
	Where Fragment // without the word WHERE
}

// CreateTable is CREATE TABLE.
type CreateTable struct {
	Source
	IfNotExists   bool
	Table         Name
	Columns       []Column
	PrimaryKey    []Ident // nil: an append table
	KeyName       string  // CONSTRAINT c
	Comment       string
	PartitionedBy []Ident
	Options       []Option // keys are unique
}

// Column is a column definition. Type.NotNull is set by NOT NULL and by an inline PRIMARY KEY.
type Column struct {
	Name    string
	Type    table.Type
	Comment string
	Start   int // byte offset of the name in the statement's text
	Null    bool
}

// DropTable is DROP TABLE.
type DropTable struct {
	Source
	IfExists bool
	Tables   []Name
	Cascade  bool
}

// CreateDatabase is CREATE DATABASE and CREATE SCHEMA.
type CreateDatabase struct {
	Source
	IfNotExists bool
	Name        Ident
	Comment     string
	Options     []Option
	Schema      bool // written as SCHEMA
}

// DropDatabase is DROP DATABASE and DROP SCHEMA.
type DropDatabase struct {
	Source
	IfExists bool
	Names    []Ident
	Cascade  bool
	Schema   bool // written as SCHEMA
}

// Use is USE x.
type Use struct {
	Source
	Name Ident
}

// Compact is ALTER TABLE t COMPACT.
type Compact struct {
	Source
	IfExists bool
	Table    Name
}

// AlterOptions is ALTER TABLE t SET (…) and RESET (…).
type AlterOptions struct {
	Source
	IfExists bool
	Table    Name
	Set      []Option
	Reset    []Option // keys only
}

// ShowTables is SHOW TABLES [FROM db] [LIKE pattern].
type ShowTables struct {
	Source
	Database string // "" means the current one
	Like     string
	HasLike  bool
}

// ShowDatabases is SHOW DATABASES and SHOW SCHEMAS.
type ShowDatabases struct {
	Source
	Like    string
	HasLike bool
}

// ShowCurrentDatabase is SHOW CURRENT DATABASE.
type ShowCurrentDatabase struct{ Source }

// ShowCreateTable is SHOW CREATE TABLE t.
type ShowCreateTable struct {
	Source
	Table Name
}

// Describe is DESCRIBE t, DESC t and SHOW COLUMNS FROM t.
type Describe struct {
	Source
	Table Name
}

// DescribeDetail is DESCRIBE DETAIL TABLE t.
type DescribeDetail struct {
	Source
	Table Name
}

// Help is HELP: see the function [HelpText].
type Help struct{ Source }

// Checkpoint is CHECKPOINT.
type Checkpoint struct{ Source }

// Set is SET name = value. Name is lower case; SET TIME ZONE sets timezone, SET
// NAMES client_encoding, and execution.runtime_mode is execution.runtime-mode.
type Set struct {
	Source
	Name    Ident
	Values  []string // items of the list, unquoted
	Default bool     // TO DEFAULT
	Local   bool
}

// Reset is RESET name and RESET ALL (Name "").
type Reset struct {
	Source
	Name Ident
}

// Show is SHOW name. Name is lower case, as in Set.
type Show struct {
	Source
	Name Ident
}

// ShowAll is SHOW ALL, SHOW VARIABLES [LIKE …] and Flink's bare SET.
type ShowAll struct {
	Source
	Like    string
	HasLike bool
}

// Discard is DISCARD ALL, PLANS, SEQUENCES or TEMP.
type Discard struct {
	Source
	What string // upper case
}

// TransactionModes are the modes of BEGIN and SET TRANSACTION.
type TransactionModes struct {
	Isolation  string // "read committed" and so on, "" if not said
	ReadOnly   bool
	ReadWrite  bool // said so
	Deferrable bool
}

// SetTransaction is SET TRANSACTION and SET SESSION CHARACTERISTICS AS TRANSACTION.
type SetTransaction struct {
	Source
	Session bool
	Modes   TransactionModes
}

// Begin is BEGIN and START TRANSACTION.
type Begin struct {
	Source
	Modes TransactionModes
	Start bool // written as START TRANSACTION, which has its own tag
}

// Commit is COMMIT and END.
type Commit struct {
	Source
	Chain bool
}

// Rollback is ROLLBACK and ABORT.
type Rollback struct {
	Source
	Chain bool
}

// Savepoint is SAVEPOINT s.
type Savepoint struct {
	Source
	Name string
}

// Release is RELEASE SAVEPOINT s.
type Release struct {
	Source
	Name string
}

// RollbackTo is ROLLBACK TO SAVEPOINT s.
type RollbackTo struct {
	Source
	Name string
}

// ParamType is a declared parameter type of PREPARE.
type ParamType struct {
	Name string     // as PostgreSQL names it: int4, text, timestamptz …; as written if unknown
	Type table.Type // Kind Unsupported if there is no such column type
}

// Prepare is PREPARE name (types) AS statement.
type Prepare struct {
	Source
	Name      string
	Types     []ParamType
	Statement Statement
}

// Execute is EXECUTE name (args).
type Execute struct {
	Source
	Name string
	Args []Expr
}

// Deallocate is DEALLOCATE name and DEALLOCATE ALL (Name "").
type Deallocate struct {
	Source
	Name string
	All  bool
}

// Declare is DECLARE name CURSOR FOR query.
type Declare struct {
	Source
	Name     string
	Binary   bool
	Scroll   bool
	NoScroll bool
	Hold     bool
	Query    *Query
}

// Direction is where FETCH and MOVE go.
type Direction uint8

// The directions. Absolute -1 is LAST.
const (
	Forward Direction = iota
	Backward
	Absolute
	Relative
)

// Fetch is FETCH and MOVE. Count is not negative for Forward and Backward;
// Forward 0 reads the row where the cursor stands.
type Fetch struct {
	Source
	Name      string
	Move      bool
	Direction Direction
	Count     int64
	All       bool // Forward and Backward only
}

// CloseCursor is CLOSE name and CLOSE ALL (Name "").
type CloseCursor struct {
	Source
	Name string
	All  bool
}

// Copy is COPY t FROM STDIN and COPY t or (query) TO STDOUT.
type Copy struct {
	Source
	From    bool
	Table   Name
	Columns []Ident
	Query   *Query // nil: Table
	Options CopyOptions
}

// CopyOptions are the options of COPY, with the defaults of their format filled in.
type CopyOptions struct {
	Format        string // "text", "csv" or "binary"
	Delimiter     byte
	Null          string
	Header        bool
	HeaderMatch   bool
	Quote, Escape byte     // csv
	ForceQuoteAll bool     // FORCE_QUOTE *
	ForceQuote    []string // columns; likewise the next two
	ForceNotNull  []string
	ForceNull     []string
}

// Explain is EXPLAIN.
type Explain struct {
	Source
	Analyze   bool
	Verbose   bool
	Format    string // "text", "json" …
	Statement Statement
}

// NoOp is a statement that is accepted and does nothing, such as LISTEN.
type NoOp struct {
	Source
	Tag    string
	Notice string // "" for a quiet one
	Hint   string
}
