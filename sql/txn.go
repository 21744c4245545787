package sql

import (
	"strings"

	"dtstore/table"
)

// transaction parses the statements that begin and end transactions.
func (p *parser) transaction(word string) (Statement, bool) {
	at := p.tok.Start
	switch word {
	case "begin":
		p.next()
		if p.peek("statement", "set") {
			p.refuse(at, "statement sets are not implemented", "Write BEGIN, the INSERTs, COMMIT.")
		}
		p.work()
		return &Begin{Modes: p.modes()}, true
	case "start":
		p.next()
		p.expect("transaction")
		return &Begin{Modes: p.modes(), Start: true}, true
	case "commit", "end":
		p.next()
		p.prepared(at)
		p.work()
		return &Commit{Chain: p.chain()}, true
	case "rollback", "abort":
		p.next()
		p.prepared(at)
		p.work()
		if word == "rollback" && p.accept("to") {
			p.accept("savepoint")
			return &RollbackTo{Name: p.label().Name}, true
		}
		return &Rollback{Chain: p.chain()}, true
	case "savepoint":
		p.next()
		return &Savepoint{Name: p.label().Name}, true
	case "release":
		p.next()
		m := p.mark()
		if p.accept("savepoint") && p.ended() {
			p.back(m)
		}
		return &Release{Name: p.label().Name}, true
	}
	return nil, false
}

func (p *parser) work() {
	if !p.accept("work") {
		p.accept("transaction")
	}
}

func (p *parser) prepared(at int) {
	if p.is("prepared") {
		p.refuse(at, "two-phase commit is not implemented", "Write BEGIN … COMMIT: a transaction over several tables is atomic.")
	}
}

func (p *parser) chain() bool {
	if !p.accept("and") {
		return false
	}
	no := p.accept("no")
	p.expect("chain")
	return !no
}

// modes reads transaction modes, with or without commas.
func (p *parser) modes() TransactionModes {
	var m TransactionModes
	for p.fault == nil && !p.ended() {
		at := p.tok.Start
		switch {
		case p.accept("isolation"):
			p.expect("level")
			m.Isolation = p.isolation()
		case p.accept("read", "only"):
			m.ReadOnly, m.ReadWrite = true, false
		case p.accept("read", "write"):
			m.ReadOnly, m.ReadWrite = false, true
		case p.accept("deferrable"):
			m.Deferrable = true
		case p.accept("not", "deferrable"):
			m.Deferrable = false
		case p.is("deferred", "immediate", "exclusive"):
			p.refuse(at, "BEGIN "+strings.ToUpper(p.text())+" is not implemented", "Write BEGIN.")
		default:
			p.unexpected()
		}
		if p.acceptPunct(",") && p.ended() {
			p.unexpected()
		}
	}
	return m
}

func (p *parser) isolation() string {
	for _, level := range []string{"read committed", "read uncommitted", "repeatable read", "serializable"} {
		if p.accept(strings.Fields(level)...) {
			return level
		}
	}
	p.unexpected()
	return ""
}

// declare parses DECLARE … CURSOR FOR query.
func (p *parser) declare() Statement {
	p.next()
	s := &Declare{Name: p.label().Name}
	for p.fault == nil && !p.is("cursor") {
		switch {
		case p.accept("binary"):
			s.Binary = true
		case p.accept("insensitive"), p.accept("asensitive"):
		case p.accept("no", "scroll"):
			s.NoScroll = true
		case p.accept("scroll"):
			s.Scroll = true
		default:
			p.unexpected()
		}
	}
	p.expect("cursor")
	switch {
	case p.accept("with", "hold"):
		s.Hold = true
	case p.accept("without", "hold"):
	}
	if s.Scroll && s.NoScroll {
		p.failAt(p.base, table.Errorf("42P11", "cannot specify both SCROLL and NO SCROLL"))
	}
	p.expect("for")
	s.Query = p.subquery()
	return s
}

// fetch parses FETCH and MOVE.
func (p *parser) fetch() Statement {
	s := &Fetch{Move: p.is("move"), Count: 1}
	p.next()
	p.direction(s)
	if !p.accept("from") {
		p.accept("in")
	}
	s.Name = p.label().Name
	return s
}

func (p *parser) direction(s *Fetch) {
	m := p.mark()
	switch {
	case p.accept("next"):
	case p.accept("prior"):
		s.Direction = Backward
	case p.accept("first"):
		s.Direction = Absolute
	case p.accept("last"):
		s.Direction, s.Count = Absolute, -1
	case p.accept("all"):
		s.All = true
		return
	case p.accept("absolute"):
		s.Direction, s.Count = Absolute, p.count()
	case p.accept("relative"):
		s.Direction, s.Count = Relative, p.count()
	case p.is("forward", "backward"):
		if p.is("backward") {
			s.Direction = Backward
		}
		p.next()
		switch {
		case p.accept("all"):
			s.All = true
		case p.tok.Kind == Number || p.isPunct("-") || p.isPunct("+"):
			s.Count = p.count()
		}
	case p.tok.Kind == Number, p.isPunct("-"), p.isPunct("+"):
		s.Count = p.count()
		s.turn()
		return
	}
	s.turn()
	if p.ended() { // a cursor with the name of a direction
		p.back(m)
		*s = Fetch{Move: s.Move, Count: 1}
	}
}

// turn makes a negative count the other direction.
func (s *Fetch) turn() {
	if s.Count < 0 && s.Direction <= Backward {
		s.Direction, s.Count = Backward-s.Direction, -s.Count
	}
}

// count reads a signed integer that fits 32 bits, as PostgreSQL's grammar does.
func (p *parser) count() int64 {
	negative := p.acceptPunct("-")
	if !negative {
		p.acceptPunct("+")
	}
	n, ok := smallInt(p.text())
	if p.tok.Kind != Number || !ok {
		p.unexpected()
		return 0
	}
	p.next()
	if negative {
		return -n
	}
	return n
}

func smallInt(s string) (int64, bool) {
	var n int64
	s = numberValue(s)
	for i := range len(s) {
		if n = n*10 + int64(s[i]) - '0'; s[i] < '0' || s[i] > '9' || n > 1<<31-1 {
			return 0, false
		}
	}
	return n, s != ""
}

// close parses CLOSE.
func (p *parser) close() Statement {
	p.next()
	if p.accept("all") {
		return &CloseCursor{All: true}
	}
	return &CloseCursor{Name: p.label().Name}
}
