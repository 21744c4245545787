package sql

import (
	"strings"

	"dtstore/table"
)

const hintFiles = "Files of the client go through psql's \\copy, or COPY … FROM STDIN and TO STDOUT."

// copy parses COPY.
func (p *parser) copy() Statement {
	p.next()
	s := &Copy{}
	p.accept("binary")
	if strings.EqualFold(lastWord(p.lex.Text[:p.last]), "binary") {
		s.Options.Format = "binary"
	}
	if p.acceptPunct("(") {
		s.Query = p.subquery()
		p.expectPunct(")")
		p.expect("to")
	} else {
		s.Table = p.name()
		if p.isPunct("(") {
			s.Columns = p.columnList()
		}
		if s.From = p.accept("from"); !s.From {
			p.expect("to")
		}
	}
	at := p.tok.Start
	switch {
	case p.tok.Kind == String, p.is("program"):
		p.refuse(at, "COPY with a file or a program of the server is not implemented", hintFiles)
	case s.From:
		p.expect("stdin")
	default:
		p.expect("stdout")
	}
	p.copyOptions(s)
	if p.is("where") {
		p.refuse(p.tok.Start, "COPY … WHERE is not implemented", "Leave the rows out of what you send, or delete them afterwards.")
	}
	return s
}

// copyOptions reads WITH (…) and the older style, and fills in the defaults.
func (p *parser) copyOptions(s *Copy) {
	c := &copyReader{p: p, o: &s.Options, seen: map[string]bool{}, from: s.From}
	if s.Options.Format != "" {
		c.seen["format"] = true
	}
	if p.accept("using", "delimiters") {
		c.set(p.tok.Start, "delimiter", p.str())
	}
	p.accept("with")
	if p.acceptPunct("(") {
		for p.fault == nil {
			c.modern()
			if !p.acceptPunct(",") {
				break
			}
		}
		p.expectPunct(")")
	} else {
		for p.fault == nil && !p.ended() && !p.is("where") {
			c.old()
		}
	}
	c.finish()
}

// copyReader gathers the options of one COPY.
type copyReader struct {
	p        *parser
	o        *CopyOptions
	seen     map[string]bool
	from     bool
	null     bool
	lastSeen int
}

// modern reads one option of WITH (…).
func (c *copyReader) modern() {
	p := c.p
	at := p.tok.Start
	name := p.label().Name
	switch name {
	case "force_quote", "force_not_null", "force_null":
		c.columns(at, name, p.isPunct("("))
		return
	}
	value := "true"
	if !p.isPunct(",") && !p.isPunct(")") {
		value = p.word()
	}
	c.set(at, name, value)
}

// old reads one option of the style before 9.0.
func (c *copyReader) old() {
	p := c.p
	at := p.tok.Start
	switch {
	case p.accept("csv"):
		c.set(at, "format", "csv")
	case p.accept("binary"):
		c.set(at, "format", "binary")
	case p.accept("header"):
		c.set(at, "header", "true")
	case p.accept("freeze"):
		c.set(at, "freeze", "true")
	case p.is("delimiter", "delimiters", "null", "quote", "escape"):
		name := strings.TrimSuffix(p.label().Name, "s")
		p.accept("as")
		c.set(at, name, p.str())
	case p.accept("encoding"):
		c.set(at, "encoding", p.str())
	case p.accept("force", "quote"):
		c.columns(at, "force_quote", false)
	case p.accept("force", "not", "null"):
		c.columns(at, "force_not_null", false)
	case p.accept("force", "null"):
		c.columns(at, "force_null", false)
	default:
		p.unexpected()
	}
}

func (c *copyReader) once(at int, name string) {
	c.lastSeen = at
	if c.seen[name] {
		c.p.failAt(at, table.Errorf("42601", "conflicting or redundant options: COPY option \"%s\" is given more than once", name))
	}
	c.seen[name] = true
}

func (c *copyReader) columns(at int, name string, parens bool) {
	p := c.p
	c.once(at, name)
	var names []string
	switch {
	case name == "force_quote" && p.acceptPunct("*"):
		c.o.ForceQuoteAll = true
		return
	case parens:
		for _, i := range p.idents() {
			names = append(names, i.Name)
		}
	default:
		names = []string{p.ident().Name}
		for p.acceptPunct(",") {
			names = append(names, p.ident().Name)
		}
	}
	switch name {
	case "force_quote":
		c.o.ForceQuote = names
	case "force_not_null":
		c.o.ForceNotNull = names
	default:
		c.o.ForceNull = names
	}
}

// set stores one option.
func (c *copyReader) set(at int, name, value string) {
	p := c.p
	c.once(at, name)
	switch name {
	case "format":
		c.o.Format = strings.ToLower(value)
		if f := c.o.Format; f != "text" && f != "csv" && f != "binary" {
			p.failAt(at, table.Errorf("22023", "COPY format \"%s\" not recognized", value).WithHint("Formats are text, csv and binary."))
		}
	case "delimiter":
		c.o.Delimiter = c.char(at, name, value)
	case "quote":
		c.o.Quote = c.char(at, name, value)
	case "escape":
		c.o.Escape = c.char(at, name, value)
	case "null":
		c.o.Null, c.null = value, true
	case "header":
		if strings.EqualFold(value, "match") {
			c.o.Header, c.o.HeaderMatch = true, true
			return
		}
		c.o.Header = c.bool(at, name, value)
	case "encoding":
		if e := strings.ReplaceAll(strings.ToUpper(value), "-", ""); e != "UTF8" && e != "UNICODE" {
			p.refuse(at, "COPY encoding \""+value+"\" is not implemented", "Send UTF8.")
		}
	case "freeze":
		c.bool(at, name, value) // says nothing here
	case "oids":
		if c.bool(at, name, value) {
			p.refuse(at, "COPY option \"oids\" is not implemented", "Leave it out.")
		}
	case "on_error", "log_verbosity", "default", "reject_limit":
		p.refuse(at, "COPY option \""+name+"\" is not implemented", "Leave it out: one bad line ends the COPY and nothing is stored.")
	default:
		p.failAt(at, table.Errorf("42601", "option \"%s\" not recognized", name))
	}
}

func (c *copyReader) bool(at int, name, value string) bool {
	switch strings.ToLower(value) {
	case "true", "on", "1":
		return true
	case "false", "off", "0":
		return false
	}
	c.p.failAt(at, table.Errorf("22023", "%s requires a Boolean value", name))
	return false
}

func (c *copyReader) char(at int, name, value string) byte {
	if len(value) != 1 || value[0] >= 0x80 {
		c.p.failAt(at, table.Errorf("0A000", "COPY %s must be a single one-byte character", name))
		return 0
	}
	return value[0]
}

// finish fills in the defaults and checks that the options go together.
func (c *copyReader) finish() {
	o, at := c.o, c.lastSeen
	if c.p.fault != nil {
		return
	}
	if o.Format == "" {
		o.Format = "text"
	}
	csv := o.Format == "csv"
	fail := func(code, format string, args ...any) { c.p.failAt(at, table.Errorf(code, format, args...)) }
	if o.Format == "binary" {
		switch {
		case c.seen["delimiter"]:
			fail("42601", "cannot specify DELIMITER in BINARY mode")
		case c.null:
			fail("42601", "cannot specify NULL in BINARY mode")
		case o.Header:
			fail("0A000", "cannot specify HEADER in BINARY mode")
		}
	}
	if o.Delimiter == 0 {
		o.Delimiter = '\t'
		if csv {
			o.Delimiter = ','
		}
	}
	if !c.null && !csv {
		o.Null = `\N`
	}
	if !csv && (c.seen["quote"] || c.seen["escape"] || c.seen["force_quote"] || c.seen["force_not_null"] || c.seen["force_null"]) {
		fail("0A000", "QUOTE, ESCAPE and FORCE options are for COPY in CSV mode only")
	}
	if csv && o.Quote == 0 {
		o.Quote = '"'
	}
	if csv && o.Escape == 0 {
		o.Escape = o.Quote
	}
	if o.HeaderMatch && !c.from {
		fail("0A000", "cannot use \"match\" with HEADER in COPY TO")
	}
	if c.from && (c.seen["force_quote"]) {
		fail("0A000", "COPY FORCE_QUOTE cannot be used with COPY FROM")
	}
	if !c.from && (c.seen["force_not_null"] || c.seen["force_null"]) {
		fail("0A000", "COPY FORCE_NOT_NULL and FORCE_NULL cannot be used with COPY TO")
	}
	if strings.ContainsAny(string(o.Delimiter), "\r\n") || strings.ContainsAny(o.Null, "\r\n") {
		fail("22023", "COPY delimiter and null representation cannot use newline or carriage return")
	}
	if !csv && strings.IndexByte(`\.abcdefghijklmnopqrstuvwxyz0123456789`, o.Delimiter) >= 0 {
		fail("22023", "COPY delimiter cannot be \"%c\"", o.Delimiter)
	}
	if csv && o.Delimiter == o.Quote {
		fail("22023", "COPY delimiter and quote must be different")
	}
	if o.Format != "binary" && strings.IndexByte(o.Null, o.Delimiter) >= 0 {
		fail("22023", "COPY delimiter character must not appear in the NULL specification")
	}
}
