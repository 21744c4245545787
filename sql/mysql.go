package sql

import (
	"fmt"
	"strings"
	"sync"

	tidb "github.com/pingcap/tidb/pkg/parser"
	"github.com/pingcap/tidb/pkg/parser/ast"
	"github.com/pingcap/tidb/pkg/parser/format"
	"github.com/pingcap/tidb/pkg/parser/mysql"
	_ "github.com/pingcap/tidb/pkg/parser/test_driver" // the values of its trees

	"dtstore/table"
)

// maxMySQL bounds a text for the second try, whose trees are recursive.
const maxMySQL = 64 << 10

// mysqlMode reads "x" as a name, || as concatenation, \ as itself and f (x) as a call.
const mysqlMode = mysql.ModeANSIQuotes | mysql.ModePipesAsConcat | mysql.ModeNoBackslashEscapes | mysql.ModeIgnoreSpace

var mysqlParsers = sync.Pool{New: func() any { return tidb.New() }}

// FromMySQL is the second try for a query that DuckDB's grammar refuses: if the
// text shows MySQL's syntax (backticks, LIMIT a, b, <=>, DIV, GROUP_CONCAT …
// SEPARATOR and so on) it is read by that grammar and written for DuckDB.
//
// An error 0A000 says what of it cannot be written for DuckDB; at any other
// error the one of the first try stands.
//
// It must never be the first try: MySQL's grammar reads some of PostgreSQL's
// texts with another meaning and no error. What is known to be such is refused,
// and so is a text that shows nothing of MySQL's.
func FromMySQL(text string) (out string, err error) {
	plain, err := mysqlText(text)
	if err != nil {
		return "", err
	}
	defer func() {
		if r := recover(); r != nil { // a foreign parser: its bug ends the statement, not the server
			out, err = "", table.Errorf("42601", "syntax error: %v", r)
		}
	}()
	p := mysqlParsers.Get().(*tidb.Parser)
	p.SetSQLMode(mysqlMode)
	list, _, perr := p.ParseSQL(plain)
	if perr != nil {
		mysqlParsers.Put(p)
		return "", table.Errorf("42601", "syntax error: %w", perr)
	}
	if len(list) != 1 {
		mysqlParsers.Put(p)
		return "", table.Errorf("42601", "one query is expected, not %d", len(list))
	}
	out, err = renderMySQL(list[0])
	mysqlParsers.Put(p)
	return out, err
}

// mysqlText checks that a text is for MySQL's grammar, and writes it without
// comments and with unquoted names in lower case.
func mysqlText(text string) (string, error) {
	if len(text) > maxMySQL {
		return "", table.Errorf("54000", "query text of %d bytes is larger than %d", len(text), maxMySQL)
	}
	r := &rewriter{text: text}
	if err := r.lex(text); err != nil {
		return "", err
	}
	shown := false
	for i, t := range r.in {
		if what := r.misread(i); what != "" {
			return "", table.Errorf("42601", "%s does not go together with MySQL's syntax", what).At(characters(text, t.src))
		}
		shown = shown || r.mysqlSyntax(i)
		if t.kind == Word {
			r.in[i].text = t.low
		}
	}
	if !shown {
		return "", table.Errorf("42601", "the query does not show MySQL's syntax")
	}
	return r.render().SQL, nil
}

// misread names what MySQL's grammar would read with another meaning at token i.
func (r *rewriter) misread(i int) string {
	t, next := r.in[i], r.at(i+1)
	switch t.kind {
	case String:
		if c := t.text[0]; c != '\'' {
			return t.text[:1] + "'…'"
		}
		if p := r.at(i - 1); p.kind == Word && !beforeString[p.key()] {
			return strings.ToUpper(p.text) + " before a string"
		}
	case Number:
		if numberValue(t.text) != t.text {
			return "the number " + t.text
		}
	case Op:
		switch t.text {
		case "::", "^", "~", "~*", "!~", "!~*", "@>", "<@", "@", "#":
			return t.text
		}
	case Quoted:
		if t.text[0] != '"' {
			return "U&\"…\""
		}
	case Word:
		switch t.key() {
		case "full", "semi", "anti", "asof", "positional":
			if k := next.key(); k == "join" || k == "outer" {
				return strings.ToUpper(t.text) + " JOIN"
			}
		case "session_user", "current_schema", "current_catalog":
			return strings.ToUpper(t.text)
		case "real":
			return "REAL"
		case "into":
			return "INTO"
		}
	}
	return ""
}

// beforeString are the words that may stand before a string literal.
var beforeString = func() map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(`and or not xor in like ilike regexp rlike between when then else case select distinct all any some where on
		having by limit offset as is div mod escape separator date time timestamp interval values union returning using with binary match against from`) {
		m[w] = true
	}
	return m
}()

// mysqlSyntax says whether token i is one that only MySQL's grammar takes.
func (r *rewriter) mysqlSyntax(i int) bool {
	t := r.in[i]
	switch t.kind {
	case Backtick:
		return true
	case Op:
		return t.text == "<=>"
	case Word:
		switch t.key() {
		case "div", "xor", "regexp", "rlike", "separator", "straight_join", "mod":
			return !r.at(i + 1).is("(")
		case "rollup":
			return r.at(i-1).key() == "with"
		case "row":
			return r.at(i-1).key() == "values"
		case "signed", "unsigned", "datetime", "char":
			return r.at(i-1).key() == "as"
		case "date_add", "date_sub", "adddate", "subdate":
			return r.at(i + 1).is("(")
		case "limit":
			return r.at(i + 2).is(",")
		}
	}
	return false
}

const mysqlFlags = format.RestoreStringSingleQuotes | format.RestoreKeyWordUppercase | format.RestoreNameDoubleQuotes |
	format.RestoreStringWithoutCharset | format.RestoreSpacesAroundBinaryOperation | format.RestoreBracketAroundBinaryOperation

func renderMySQL(n ast.StmtNode) (string, error) {
	switch n.(type) {
	case *ast.SelectStmt, *ast.SetOprStmt:
	default:
		return "", table.Errorf("42601", "a query is expected")
	}
	v := &duckVisitor{}
	n.Accept(v)
	if v.refused != "" {
		return "", table.Errorf("0A000", "%s is not implemented", v.refused)
	}
	var b strings.Builder
	if err := n.Restore(format.NewRestoreCtx(mysqlFlags, &b)); err != nil {
		return "", fmt.Errorf("write the query for DuckDB: %w", err)
	}
	return b.String(), nil
}
