package sql

import (
	"strings"

	"dtstore/table"
)

// create parses CREATE TABLE, DATABASE and SCHEMA.
func (p *parser) create() Statement {
	m := p.mark()
	p.next()
	switch {
	case p.accept("table"):
		return p.createTable()
	case p.is("database", "schema"):
		return p.createDatabase()
	}
	p.back(m)
	p.refused()
	p.next()
	p.unexpectedHint("CREATE TABLE, CREATE SCHEMA and CREATE DATABASE are what there is.")
	return nil
}

func (p *parser) ifNotExists() bool { return p.accept("if", "not", "exists") }

func (p *parser) createTable() Statement {
	s := &CreateTable{IfNotExists: p.ifNotExists()}
	s.Table = p.name()
	if p.is("as", "like") || !p.isPunct("(") {
		p.tableTail(s)
		p.unexpectedHint("A table needs its columns: CREATE TABLE t (id bigint PRIMARY KEY, v text).")
		return s
	}
	p.expectPunct("(")
	for p.fault == nil {
		if !p.tableConstraint(s) {
			p.column(s)
		}
		if !p.acceptPunct(",") {
			break
		}
	}
	p.expectPunct(")")
	p.tableTail(s)
	p.checkTable(s)
	return s
}

// tableConstraint reads an element of the list that is no column.
func (p *parser) tableConstraint(s *CreateTable) bool {
	at := p.tok.Start
	switch {
	case p.accept("constraint"):
		name := p.ident().Name
		if !p.is("primary") {
			p.noConstraint()
			p.unexpected()
		}
		s.KeyName = name
		p.tableKey(s)
	case p.is("primary"):
		p.tableKey(s)
	case p.peek("watermark", "for"):
		p.refuse(at, "WATERMARK is not implemented", "Leave it out: declare it in Flink, over the table.")
	case p.is("like"):
		p.refuse(at, "CREATE TABLE … (LIKE …) is not implemented", hintLike)
	case p.is("unique", "check", "foreign"), p.peek("exclude"):
		p.noConstraint()
	case p.peek("period", "for"):
		p.refuse(at, "PERIOD FOR is not implemented", "Leave it out.")
	default:
		return false
	}
	return true
}

const hintLike = "SHOW CREATE TABLE prints a statement that you can edit and send."

func (p *parser) noConstraint() {
	at := p.tok.Start
	switch {
	case p.is("unique"):
		p.refuse(at, "UNIQUE is not implemented", "One row per key is what PRIMARY KEY gives; check other columns in the program that writes.")
	case p.is("check"):
		p.refuse(at, "CHECK is not implemented", "NOT NULL and lengths are enforced; check the rest in the program that writes.")
	case p.is("foreign", "references"):
		p.refuse(at, "foreign keys are not implemented", "Leave REFERENCES out; a join finds the rows without a partner.")
	case p.is("exclude"):
		p.refuse(at, "EXCLUDE is not implemented", "Leave it out.")
	}
}

func (p *parser) tableKey(s *CreateTable) {
	at := p.tok.Start
	p.expect("primary", "key")
	p.secondKey(s, at)
	s.PrimaryKey = p.idents()
	p.enforced()
}

func (p *parser) secondKey(s *CreateTable, at int) {
	if s.PrimaryKey != nil {
		p.failAt(at, table.Errorf("42P16", "multiple primary keys for table \"%s\" are not allowed", s.Table.Table).
			WithHint("A key of several columns is written PRIMARY KEY (a, b), after the columns."))
	}
}

// enforced reads what may follow a key. The key is kept either way: a newer row replaces the older one.
func (p *parser) enforced() {
	if !p.accept("not", "enforced") {
		p.accept("enforced")
	}
	if p.is("deferrable", "initially", "using", "include") || p.peek("not", "deferrable") || p.peek("with") {
		p.refuse(p.tok.Start, "options of PRIMARY KEY are not implemented", "Write PRIMARY KEY (a, b).")
	}
}

// column reads one column definition.
func (p *parser) column(s *CreateTable) {
	at := p.tok.Start
	c := Column{}
	c.Name, c.Start = p.ident().Name, at-p.base
	if p.is("as") {
		p.refuse(p.tok.Start, "computed columns are not implemented", hintComputed)
		return
	}
	c.Type = p.columnType()
	null := false
	for p.fault == nil && !p.isPunct(",") && !p.isPunct(")") {
		p.columnConstraint(s, &c, &null)
	}
	if null && c.Type.NotNull {
		p.failAt(at, table.Errorf("42601", "conflicting NULL/NOT NULL declarations for column \"%s\" of table \"%s\"", c.Name, s.Table.Table))
	}
	s.Columns = append(s.Columns, c)
}

const (
	hintComputed = "Leave it out and compute the value in each SELECT, or store it when inserting."
	hintDefault  = "There are no column defaults: give the value in each INSERT."
)

func (p *parser) columnConstraint(s *CreateTable, c *Column, null *bool) {
	at := p.tok.Start
	name := ""
	if p.accept("constraint") {
		name = p.ident().Name
	}
	switch {
	case p.accept("not", "null"):
		c.Type.NotNull = true
	case p.accept("null"):
		*null = true
	case p.is("primary"):
		p.secondKey(s, at)
		p.expect("primary", "key")
		p.enforced()
		s.PrimaryKey, s.KeyName, c.Type.NotNull = []Ident{{c.Name, c.Start}}, name, true
	case p.accept("comment"):
		c.Comment = p.str()
	case p.accept("default"):
		if !p.accept("null") || !p.columnEnd() {
			p.refuse(at, "DEFAULT is not implemented", hintDefault)
		}
	case p.is("generated", "as", "virtual", "stored"):
		p.refuse(at, "computed and identity columns are not implemented", hintComputed)
	case p.is("metadata"):
		p.refuse(at, "METADATA columns are not implemented", "Leave it out.")
	case p.is("auto_increment", "autoincrement", "identity"):
		p.refuse(at, "AUTO_INCREMENT is not implemented", hintSerial)
	case p.is("unique", "check", "references"):
		p.noConstraint()
	case p.is("collate"):
		p.refuse(at, "COLLATE is not implemented", "Text is ordered by its code points, as with COLLATE \"C\".")
	case p.is("character", "charset", "on", "key", "storage", "compression"):
		p.refuse(at, "\""+strings.ToUpper(p.text())+"\" of a column is not implemented", "Leave it out.")
	default:
		p.unexpected()
	}
}

func (p *parser) columnEnd() bool {
	return p.isPunct(",") || p.isPunct(")") || p.is("not", "null", "primary", "comment", "constraint")
}

// tableTail reads what follows the columns, in any order.
func (p *parser) tableTail(s *CreateTable) {
	for p.fault == nil && !p.ended() {
		at := p.tok.Start
		switch {
		case p.accept("comment"):
			p.acceptPunct("=")
			s.Comment = p.str()
		case p.is("partitioned"):
			p.expect("partitioned", "by")
			s.PartitionedBy = p.idents()
		case p.is("with"):
			p.next()
			s.Options = p.options()
			p.storageParameters(s.Options)
		case p.accept("without", "oids"):
		case p.is("as"), p.peek("select"):
			p.refuse(at, "CREATE TABLE AS is not implemented", "Write CREATE TABLE t (…), then INSERT INTO t SELECT ….")
		case p.is("like"):
			p.refuse(at, "CREATE TABLE … LIKE is not implemented", hintLike)
		case p.is("partition"):
			p.refuse(at, "PARTITION BY is not implemented", "Write PARTITIONED BY (column): each value is a partition, made when its first row comes.")
		case p.is("distributed"):
			p.refuse(at, "DISTRIBUTED BY is not implemented", "Write WITH ('bucket' = '4').")
		case p.is("inherits", "tablespace", "using", "on", "of", "engine", "auto_increment", "default", "charset", "collate"):
			p.refuse(at, strings.ToUpper(p.text())+" is not implemented for a table", "Leave it out.")
		default:
			p.unexpected()
		}
	}
}

// storageParameters refuses PostgreSQL's own, which pgbench -i sends.
func (p *parser) storageParameters(options []Option) {
	for _, o := range options {
		k := o.Key
		if k == "fillfactor" || strings.HasPrefix(k, "autovacuum") || strings.HasPrefix(k, "toast") || k == "parallel_workers" || k == "oids" {
			p.refuse(o.Start+p.base, "storage parameter \""+k+"\" is not implemented",
				"Leave it out: it is about PostgreSQL's files. For pgbench, create its tables by hand, each with its PRIMARY KEY.")
		}
	}
}

// checkTable checks what can be said without a catalog, and marks the key's columns NOT NULL.
func (p *parser) checkTable(s *CreateTable) {
	if p.fault != nil {
		return
	}
	seen := map[string]string{}
	for _, c := range s.Columns {
		low := strings.ToLower(c.Name)
		if other, ok := seen[low]; ok {
			e := table.Errorf("42701", "column \"%s\" specified more than once", c.Name)
			if other != c.Name {
				e = table.Errorf("42701", "columns \"%s\" and \"%s\" differ only in case", other, c.Name).
					WithHint("Readers of the table's files would confuse them: choose another name.")
			}
			p.failAt(c.Start+p.base, e)
			return
		}
		seen[low] = c.Name
	}
	p.checkColumns(s, s.PrimaryKey, "column \"%s\" named in key does not exist", "42703", "primary key")
	p.checkColumns(s, s.PartitionedBy, "column \"%s\" named in PARTITIONED BY does not exist", "42703", "partition key")
	for _, k := range s.PrimaryKey {
		for i := range s.Columns {
			if s.Columns[i].Name == k.Name {
				s.Columns[i].Type.NotNull = true
			}
		}
	}
}

func (p *parser) checkColumns(s *CreateTable, names []Ident, missing, code, what string) {
	var all []string
	for _, c := range s.Columns {
		all = append(all, c.Name)
	}
	seen := map[string]bool{}
	for _, n := range names {
		found := false
		for _, c := range all {
			found = found || c == n.Name
		}
		switch {
		case !found:
			e := table.Errorf(code, missing, n.Name)
			if near := table.Nearest(n.Name, all); near != "" {
				e = e.WithHint("Did you mean \"%s\"?", near)
			}
			p.failAt(n.Start+p.base, e)
		case seen[n.Name]:
			p.failAt(n.Start+p.base, table.Errorf("42701", "column \"%s\" appears twice in %s constraint", n.Name, what))
		}
		seen[n.Name] = true
	}
}

func (p *parser) createDatabase() Statement {
	s := &CreateDatabase{Schema: p.is("schema")}
	p.next()
	s.IfNotExists = p.ifNotExists()
	if p.is("authorization") {
		p.refuse(p.tok.Start, "AUTHORIZATION is not implemented", "Write CREATE SCHEMA name.")
	}
	s.Name = p.databaseName()
	for p.fault == nil && !p.ended() {
		switch {
		case p.accept("comment"):
			s.Comment = p.str()
		case p.peek("with") && !s.Schema, p.is("owner", "template", "encoding", "authorization", "character", "charset"):
			m := p.mark()
			if p.accept("with"); p.isPunct("(") {
				s.Options = p.options()
				continue
			}
			p.back(m)
			p.refuse(p.tok.Start, "options of CREATE DATABASE are not implemented", "Write CREATE DATABASE name: it is a schema of the one database, "+Catalog+".")
		default:
			p.unexpectedHint("Write CREATE SCHEMA name, and then CREATE TABLE name.t (…).")
		}
	}
	return s
}

// databaseName reads [dtstore.]name.
func (p *parser) databaseName() Ident {
	n := p.name()
	if n.Database != "" && n.Database != Catalog {
		p.refuse(n.Start+p.base, "cross-database references are not implemented", "There is one database, "+Catalog+", and its schemas.")
	}
	return Ident{n.Table, n.Start}
}

// drop parses DROP TABLE, DATABASE and SCHEMA; IF EXISTS on what never exists is accepted.
func (p *parser) drop() Statement {
	m := p.mark()
	p.next()
	switch {
	case p.accept("table"):
		s := &DropTable{IfExists: p.accept("if", "exists")}
		s.Tables = []Name{p.name()}
		for p.acceptPunct(",") {
			s.Tables = append(s.Tables, p.name())
		}
		s.Cascade = p.cascade()
		return s
	case p.is("database", "schema"):
		s := &DropDatabase{Schema: p.is("schema")}
		p.next()
		s.IfExists = p.accept("if", "exists")
		s.Names = []Ident{p.databaseName()}
		for p.acceptPunct(",") {
			s.Names = append(s.Names, p.databaseName())
		}
		if p.is("with") || p.isPunct("(") {
			p.refuse(p.tok.Start, "options of DROP DATABASE are not implemented", "Write DROP DATABASE name [CASCADE].")
		}
		s.Cascade = p.cascade()
		return s
	}
	if s := p.dropNothing(); s != nil {
		return s
	}
	p.back(m)
	p.refused()
	p.next()
	p.unexpectedHint("DROP TABLE, DROP SCHEMA and DROP DATABASE are what there is.")
	return nil
}

func (p *parser) cascade() bool {
	if p.accept("cascade") {
		return true
	}
	p.accept("restrict")
	return false
}

// dropNothing accepts DROP VIEW IF EXISTS x and its kin, as there is none.
func (p *parser) dropNothing() Statement {
	for _, kind := range []string{"materialized view", "view", "index concurrently", "index", "sequence", "type", "domain", "trigger", "function", "procedure", "extension", "role", "user"} {
		if !p.accept(strings.Fields(kind)...) {
			continue
		}
		if !p.accept("if", "exists") {
			return nil
		}
		f := p.required(never)
		what := strings.TrimSuffix(kind, " concurrently")
		return &NoOp{Tag: "DROP " + strings.ToUpper(what), Notice: what + " " + near(f.SQL) + " does not exist, skipping"}
	}
	return nil
}

// alter parses ALTER TABLE t COMPACT, SET (…) and RESET (…).
func (p *parser) alter() Statement {
	m := p.mark()
	p.next()
	if !p.accept("table") {
		p.back(m)
		p.refused()
		p.next()
		p.unexpectedHint("ALTER TABLE t COMPACT, SET (…) and RESET (…) are what there is.")
		return nil
	}
	exists := p.accept("if", "exists")
	p.only()
	name := p.name()
	p.acceptPunct("*")
	at := p.tok.Start
	switch {
	case p.accept("compact"):
		return &Compact{IfExists: exists, Table: name}
	case p.is("partition") && p.alterPartition():
	case p.accept("set"):
		if p.isPunct("(") {
			s := &AlterOptions{IfExists: exists, Table: name, Set: p.options()}
			p.storageParameters(s.Set)
			return s
		}
	case p.accept("reset"):
		return &AlterOptions{IfExists: exists, Table: name, Reset: p.options()}
	}
	hint := "ALTER TABLE t COMPACT, SET ('k' = 'v') and RESET ('k') are what there is. " + hintNewTable
	if p.peek("add", "primary") || p.peek("add", "constraint") {
		hint = "Name the key in CREATE TABLE: it decides how the table's files are laid out."
	}
	p.refuse(at, "this form of ALTER TABLE is not implemented", hint)
	return nil
}

const hintNewTable = "To change columns or names, create a new table and copy the rows: INSERT INTO new SELECT … FROM old."

func (p *parser) alterPartition() bool {
	at := p.tok.Start
	p.next()
	if p.isPunct("(") {
		p.group()
		if p.is("compact") {
			p.refuse(at, "COMPACT of one partition is not implemented", "Write ALTER TABLE t COMPACT.")
		}
	}
	return true
}
