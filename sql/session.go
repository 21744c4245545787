package sql

import (
	"strings"

	"dtstore/table"
)

// session parses SET, SHOW, PREPARE and the like.
func (p *parser) session(word string) (Statement, bool) {
	switch word {
	case "set":
		return p.set(), true
	case "reset":
		return p.reset(), true
	case "show":
		return p.show(), true
	case "describe", "desc":
		return p.describe(), true
	case "use":
		p.next()
		return p.use(), true
	case "help":
		p.next()
		return &Help{}, true
	case "checkpoint":
		p.next()
		return &Checkpoint{}, true
	case "discard":
		p.next()
		for _, what := range []string{"all", "plans", "sequences", "temporary", "temp"} {
			if p.accept(what) {
				return &Discard{What: strings.ToUpper(strings.TrimSuffix(what, "orary"))}, true
			}
		}
		p.unexpected()
		return nil, true
	case "prepare":
		return p.prepare(), true
	case "execute":
		return p.execute(), true
	case "deallocate":
		p.next()
		p.accept("prepare")
		if p.accept("all") {
			return &Deallocate{All: true}, true
		}
		return &Deallocate{Name: p.label().Name}, true
	case "listen":
		p.next()
		p.label()
		return &NoOp{Tag: "LISTEN"}, true
	case "unlisten":
		p.next()
		if !p.acceptPunct("*") {
			p.label()
		}
		return &NoOp{Tag: "UNLISTEN"}, true
	case "analyze", "analyse", "vacuum":
		return p.maintenance(word), true
	}
	return nil, false
}

// maintenance accepts ANALYZE and VACUUM, which tools send by themselves.
func (p *parser) maintenance(word string) Statement {
	p.skip(never)
	if word == "vacuum" {
		return &NoOp{Tag: "VACUUM", Notice: "VACUUM does nothing", Hint: "Files are compacted in the background; ALTER TABLE t COMPACT does it now."}
	}
	return &NoOp{Tag: "ANALYZE", Notice: "ANALYZE does nothing", Hint: "Statistics are kept in the table's files."}
}

func (p *parser) use() Statement {
	if p.accept("catalog") {
		at := p.tok.Start
		if n := p.ident(); n.Name != Catalog {
			p.refuse(at, "there is one catalog, "+Catalog, "Write USE schema.")
		}
		return &NoOp{Tag: "USE"}
	}
	p.accept("database")
	return &Use{Name: p.databaseName()}
}

// prepare parses PREPARE name [(types)] AS statement.
func (p *parser) prepare() Statement {
	at := p.tok.Start
	p.next()
	if p.peek("transaction") {
		p.next()
		p.prepared(at)
		if p.tok.Kind == String {
			p.refuse(at, "two-phase commit is not implemented", "Write BEGIN … COMMIT: a transaction over several tables is atomic.")
		}
		return p.prepareAs("transaction")
	}
	return p.prepareAs(p.label().Name)
}

func (p *parser) prepareAs(name string) Statement {
	s := &Prepare{Name: name}
	if p.acceptPunct("(") {
		s.Types = []ParamType{p.paramType()}
		for p.acceptPunct(",") {
			s.Types = append(s.Types, p.paramType())
		}
		p.expectPunct(")")
	}
	if p.is("from") {
		p.refuse(p.tok.Start, "PREPARE … FROM is not implemented", "Write PREPARE p AS SELECT $1.")
	}
	p.expect("as")
	start := p.tok.Start
	s.Statement = p.statement()
	switch s.Statement.(type) {
	case *Query, *Insert, *Update, *Delete, nil:
	default:
		p.failAt(start, table.Errorf("42601", "syntax error at or near \"%s\"", near(firstWord(p.lex.Text[start:]))).
			WithHint("SELECT, INSERT, UPDATE and DELETE can be prepared."))
	}
	return s
}

func firstWord(s string) string {
	i := 0
	for i < len(s) && classes[s[i]]&classPart != 0 {
		i++
	}
	return s[:i]
}

func (p *parser) execute() Statement {
	at := p.tok.Start
	p.next()
	if p.peek("statement", "set") || p.peek("immediate") {
		p.refuse(at, "this form of EXECUTE is not implemented", "Write BEGIN, the statements, COMMIT.")
	}
	s := &Execute{Name: p.label().Name}
	if p.is("using") {
		p.refuse(p.tok.Start, "EXECUTE … USING is not implemented", "Write EXECUTE p(1, 'x').")
	}
	if p.acceptPunct("(") {
		if p.acceptPunct(")") {
			return s
		}
		s.Args = []Expr{p.value()}
		for p.acceptPunct(",") {
			s.Args = append(s.Args, p.value())
		}
		p.expectPunct(")")
	}
	return s
}

// set parses every SET.
func (p *parser) set() Statement {
	p.next()
	if p.ended() {
		return &ShowAll{}
	}
	local := false
	switch at := p.tok.Start; {
	case p.accept("session", "characteristics"):
		p.expect("as", "transaction")
		return &SetTransaction{Session: true, Modes: p.someModes()}
	case p.accept("session"):
	case p.accept("local"):
		local = true
	case p.is("global", "persist"):
		p.refuse(at, "SET GLOBAL is not implemented", "Write SET name = value: it holds for this session.")
	case p.isPunct("@"), p.isPunct("@@"):
		p.refuse(at, "user variables are not implemented", "Write SET name = value.")
	}
	at := p.tok.Start
	switch {
	case p.peek("transaction") && !p.assigned():
		p.next()
		if p.is("snapshot") {
			p.refuse(at, "SET TRANSACTION SNAPSHOT is not implemented", "Begin a transaction with ISOLATION LEVEL REPEATABLE READ.")
		}
		return &SetTransaction{Modes: p.someModes()}
	case p.accept("constraints"):
		p.required(never)
		return &NoOp{Tag: "SET CONSTRAINTS"}
	case p.accept("time", "zone"):
		return p.timeZone(at, local)
	case p.accept("names"):
		s := &Set{Name: Ident{"client_encoding", at - p.base}, Local: local}
		if s.Default = p.accept("default"); !s.Default {
			s.Values = []string{p.word()}
		}
		return s
	case p.accept("authorization"), p.accept("role"):
		if !p.accept("none") && !p.accept("default") {
			p.refuse(at, "roles are not implemented", "Leave it out: there is one user.")
		}
		return &NoOp{Tag: "SET"}
	}
	s := &Set{Name: p.setting(), Local: local}
	if !p.acceptPunct("=") && !p.acceptPunct(":=") {
		p.expect("to")
	}
	if s.Default = p.accept("default"); s.Default {
		return s
	}
	s.Values = p.settingValues()
	return s
}

// someModes is modes where at least one must be there.
func (p *parser) someModes() TransactionModes {
	if p.ended() {
		p.unexpected()
	}
	return p.modes()
}

// assigned says whether an equals sign or TO follows the current word.
func (p *parser) assigned() bool {
	m := p.mark()
	defer p.back(m)
	p.next()
	return p.isPunct("=") || p.is("to")
}

func (p *parser) timeZone(at int, local bool) Statement {
	s := &Set{Name: Ident{"timezone", at - p.base}, Local: local}
	switch {
	case p.accept("local"), p.accept("default"):
		s.Default = true
	case p.is("interval"):
		p.refuse(p.tok.Start, "SET TIME ZONE INTERVAL is not implemented", "Name the zone: SET TIME ZONE 'Europe/Berlin'.")
	default:
		s.Values = []string{p.word()}
	}
	return s
}

// setting reads a setting's name: words with dots and hyphens, or a quoted string.
// Names are folded; execution.runtime_mode is the same as execution.runtime-mode.
func (p *parser) setting() Ident {
	start := p.tok.Start - p.base
	name := ""
	if p.tok.Kind == Word || p.tok.Kind == String {
		name = p.optionKey()
	} else {
		name = p.ident().Name
	}
	name = strings.ToLower(name)
	if strings.HasPrefix(name, "execution.") || strings.HasPrefix(name, "table.") {
		name = strings.ReplaceAll(name, "_", "-")
	}
	return Ident{name, start}
}

// settingValues reads a list of words, strings and numbers; a word may be hyphenated.
func (p *parser) settingValues() []string {
	var out []string
	for p.fault == nil {
		v := p.word()
		for p.isPunct("-") || p.isPunct(".") {
			sep := p.text()
			p.next()
			v += sep + p.word()
		}
		out = append(out, v)
		if !p.acceptPunct(",") {
			break
		}
	}
	return out
}

// Value is the value as one text, as SHOW gives it: items joined by commas, and
// those of search_path quoted where they must be.
func (s *Set) Value() string {
	items := s.Values
	if s.Name.Name == "search_path" {
		items = nil
		for _, v := range s.Values {
			if !plainName(v) {
				v = QuoteIdent(v)
			}
			items = append(items, v)
		}
	}
	return strings.Join(items, ", ")
}

// plainName says whether a name reads the same without quotes.
func plainName(s string) bool {
	if s == "" || classes[s[0]]&classStart == 0 || reserved[s] {
		return false
	}
	for i := range len(s) {
		if c := s[i]; classes[c]&classPart == 0 || c >= 'A' && c <= 'Z' || c == '$' {
			return false
		}
	}
	return true
}

func (p *parser) reset() Statement {
	p.next()
	at := p.tok.Start - p.base
	switch {
	case p.ended(), p.accept("all"):
		return &Reset{}
	case p.accept("session", "authorization"), p.accept("role"):
		return &NoOp{Tag: "RESET"}
	case p.accept("time", "zone"):
		return &Reset{Name: Ident{"timezone", at}}
	case p.accept("transaction", "isolation", "level"):
		return &Reset{Name: Ident{"transaction_isolation", at}}
	}
	return &Reset{Name: p.setting()}
}

// show parses SHOW, both PostgreSQL's and Flink's.
func (p *parser) show() Statement {
	p.next()
	at := p.tok.Start
	switch {
	case p.accept("all"):
		return &ShowAll{}
	case p.accept("variables"):
		s := &ShowAll{}
		s.Like, s.HasLike = p.like()
		return s
	case p.accept("time", "zone"):
		return &Show{Name: Ident{"timezone", at - p.base}}
	case p.accept("transaction", "isolation", "level"):
		return &Show{Name: Ident{"transaction_isolation", at - p.base}}
	case p.accept("session", "authorization"):
		return &Show{Name: Ident{"session_authorization", at - p.base}}
	case p.accept("tables"), p.accept("full", "tables"):
		s := &ShowTables{}
		if p.accept("from") || p.accept("in") {
			s.Database = p.databaseName().Name
		}
		s.Like, s.HasLike = p.like()
		return s
	case p.accept("databases"), p.accept("schemas"):
		s := &ShowDatabases{}
		s.Like, s.HasLike = p.like()
		return s
	case p.accept("current", "database"), p.accept("current", "schema"):
		return &ShowCurrentDatabase{}
	case p.accept("create", "table"):
		return &ShowCreateTable{Table: p.name()}
	case p.accept("columns"):
		if !p.accept("from") {
			p.expect("in")
		}
		return &Describe{Table: p.name()}
	case p.is("create", "current", "catalogs", "views", "functions", "partitions", "jobs", "modules", "index", "indexes", "grants", "full", "user", "procedures", "processlist"):
		p.refuse(at, "SHOW "+strings.ToUpper(p.text())+" is not implemented", "SHOW TABLES, SHOW DATABASES, SHOW CREATE TABLE t, SHOW COLUMNS FROM t and SHOW setting are what there is.")
	}
	return &Show{Name: p.setting()}
}

func (p *parser) like() (string, bool) {
	if !p.accept("like") {
		return "", false
	}
	return p.str(), true
}

func (p *parser) describe() Statement {
	p.next()
	at := p.tok.Start
	if p.accept("detail") {
		if p.accept("table") || p.isName() {
			return &DescribeDetail{Table: p.name()}
		}
		return &Describe{Table: Name{Table: "detail", Start: at - p.base}}
	}
	if p.is("select", "with", "values", "insert", "update", "delete") || p.isPunct("(") {
		p.refuse(at, "DESCRIBE of a statement is not implemented", "Write EXPLAIN, or \\gdesc in psql.")
	}
	m := p.mark()
	if p.accept("extended") && p.ended() {
		p.back(m)
	}
	p.acceptTable()
	return &Describe{Table: p.name()}
}
