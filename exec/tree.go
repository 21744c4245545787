package exec

import (
	"container/list"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"strings"
	"sync"

	"dtstore/table"
)

// Tree is a parsed query: a SELECT, VALUES or set operation, with or without
// WITH. It never changes; any number of goroutines may share it.
type Tree struct {
	Refs   []*Ref // every table that is named anywhere, in the order of the text; names of CTEs are not tables
	Calls  []Call // functions called, in no order
	Params int    // highest $n
	Top    Shape  // the outermost query

	text     string
	columns  map[string]int // where a column is first named, by its last word
	template []string       // the query in DuckDB's words, cut where Refs are put in
	places   []int          // index of the Ref between template[i] and template[i+1]
}

// Ref is a table named in a FROM.
type Ref struct {
	Catalog, Schema, Name string // as written, unquoted parts in lower case
	Alias                 string // "" if none
	Pos                   int    // byte in the text, from 0
	Version, Timestamp    *Literal
	Top                   bool // in the FROM of the outermost SELECT
	Sole                  bool // alone in its FROM
	Nullable              bool // on the nullable side of an outer join
	// Predicates hold for every row of this table that can reach the result.
	// One on an unqualified column may be about another table of the same FROM:
	// drop those whose column this table lacks.
	Predicates []Predicate
	Columns    []string // names that may be columns of it and are used; more than are
	All        bool     // all columns are used
	Catalogue  bool     // pg_catalog or information_schema, which the shim serves: replace is not called for it
}

// Op is a comparison.
type Op uint8

// The comparisons. StartsWith is LIKE 'x%' with Args[0] the x.
const (
	Equal Op = iota
	NotEqual
	Less
	LessEqual
	Greater
	GreaterEqual
	In
	Between
	IsNull
	IsNotNull
	StartsWith
)

var opNames = [...]string{"=", "<>", "<", "<=", ">", ">=", "in", "between", "is null", "is not null", "starts with"}

func (o Op) String() string { return opNames[o] }

// Predicate is a comparison of a column with constants or parameters. A
// comparison with NULL holds for no row.
type Predicate struct {
	Column string
	Op     Op
	Args   []Literal
}

// LiteralKind is what kind of constant a Literal is.
type LiteralKind uint8

// The kinds of constants.
const (
	NullLiteral LiteralKind = iota
	BoolLiteral
	IntLiteral
	DecimalLiteral
	FloatLiteral
	StringLiteral
)

// Literal is a constant or a parameter.
type Literal struct {
	Param int // $n, 0 if it is a constant
	Kind  LiteralKind
	Text  string // the constant as Postgres writes it: t, 12, 1.50, abc
	Type  string // DuckDB's name of the type it is cast to: DATE, DECIMAL(10,2); "" if none
}

// Call is a function that the query calls.
type Call struct {
	Schema, Name string
	Pos          int  // byte in the text, -1 if unknown
	Table        bool // in a FROM
}

// Shape is what a query consists of.
type Shape struct {
	SetOperation bool
	Distinct     bool
	Aggregate    bool // an aggregate, GROUP BY or HAVING
	Window       bool
	From         bool
	Join         bool // more than one item in FROM
	CTE          bool
	Subquery     bool // anywhere
	Values       bool
	Where        bool
	// WhereIsPredicates says that the WHERE is exactly the AND of the only
	// Ref's Predicates.
	WhereIsPredicates bool
	Order             []OrderItem
	Limit, Offset     *Literal // nil if none; a Literal of kind Null with Type "expression" if not constant
	Items             []Item
}

// OrderItem is an item of ORDER BY.
type OrderItem struct {
	Table, Column string // a plain column
	Number        int    // a position, from 1
	Desc          bool
	NullsFirst    bool // as Postgres has it by default: descending only
}

// Item is an item of the select list.
type Item struct {
	Name          string // what Postgres calls the column
	Star          bool   // * or t.*
	Table, Column string // a plain column; Table also for t.*
	Literal       *Literal
	Aggregate     bool // contains an aggregate
}

// Text is the text that was parsed.
func (t *Tree) Text() string { return t.text }

// note remembers where a column is named, and what stands before it.
func (t *Tree) note(names []string, at int) {
	t.place(names[len(names)-1], at)
	if len(names) > 1 {
		t.place(qualifier(names[len(names)-2]), at)
	}
}

// place remembers where the subject of an error may first be found.
func (t *Tree) place(name string, at int) {
	if _, ok := t.columns[name]; ok || at < 0 {
		return
	}
	if t.columns == nil {
		t.columns = map[string]int{}
	}
	t.columns[name] = at
}

// noteText remembers where a string stands, if it stands nowhere else.
func (t *Tree) noteText(text string, at int) {
	name := quoted(text)
	t.place(name, at)
	if t.columns[name] != at {
		t.columns[name] = -1
	}
}

// qualifier and quoted are names of places that are no column's: of a table's
// name before a column's, and of a string.
func qualifier(name string) string { return name + "." }
func quoted(text string) string    { return "'" + text }

// Locate gives an error about a column, function, table or string of the query its
// position in the text that was parsed, if it has none.
func (t *Tree) Locate(err error) error {
	var e *table.Error
	var about subject
	if !errors.As(err, &e) || e.Position != 0 || !errors.As(err, &about) {
		return err
	}
	at, ok := t.columns[about.name]
	for _, c := range t.Calls {
		if !ok && c.Name == about.name && c.Pos >= 0 {
			at, ok = c.Pos, true
		}
	}
	for _, r := range t.Refs {
		if !ok && r.Name == about.name && r.Pos >= 0 {
			at, ok = r.Pos, true
		}
	}
	if !ok || at < 0 {
		return err
	}
	return e.At(character(t.text, at))
}

// Render writes the query for Session.Prepare. replace gives for each Ref that
// is not of the catalogue the SQL of a relation: Handle.SQL, or a query.
func (t *Tree) Render(replace func(*Ref) (string, error)) (string, error) {
	var b strings.Builder
	for i, ref := range t.places {
		b.WriteString(t.template[i])
		sql, err := replace(t.Refs[ref])
		if err != nil {
			return "", err
		}
		if !strings.HasPrefix(sql, "(") && !strings.HasPrefix(sql, rowsFunction+"(") {
			sql = "(" + sql + ")"
		}
		b.WriteString(sql)
	}
	b.WriteString(t.template[len(t.places)])
	return b.String(), nil
}

// Parse reads the text of one query. A syntax error is 42601 with its position,
// and ErrSyntax is in its chain; a statement that is no query is 0A000; a
// function that reads files is 42501.
func (e *Engine) Parse(ctx context.Context, text string) (*Tree, error) {
	if t := e.trees.get(text); t != nil {
		return t, nil
	}
	t, err := e.parse(ctx, text)
	if err != nil {
		return nil, err
	}
	e.trees.put(text, t)
	return t, nil
}

// cut splits rendered text at the placeholders of refs.
func (t *Tree) cut(rendered, nonce string) error {
	for {
		i := strings.Index(rendered, nonce)
		if i < 0 {
			t.template = append(t.template, rendered)
			return nil
		}
		rest := rendered[i+len(nonce):]
		n, end := 0, 0
		for end < len(rest) && rest[end] >= '0' && rest[end] <= '9' {
			n = n*10 + int(rest[end]-'0')
			end++
		}
		if end == 0 || n >= len(t.Refs) {
			return table.Errorf("0A000", "the statement cannot be read back")
		}
		t.template = append(t.template, rendered[:i])
		t.places = append(t.places, n)
		rendered = rest[end+1:] // the mark ends in _
	}
}

func newNonce() string {
	var b [12]byte
	rand.Read(b[:])
	return "dt_ref_" + hex.EncodeToString(b[:]) + "_"
}

// treeCache keeps the trees of texts that come again, as drivers send them.
type treeCache struct {
	mu    sync.Mutex // guards all
	byTex map[string]*list.Element
	order list.List // of *cached, most recent first
	bytes int
}

type cached struct {
	text string
	tree *Tree
}

// A tree takes about as much as forty times its text; long texts are not kept.
const (
	maxCachedText  = 16 << 10
	maxCachedBytes = 1 << 20 // of texts
)

func (c *treeCache) get(text string) *Tree {
	c.mu.Lock()
	defer c.mu.Unlock()
	el, ok := c.byTex[text]
	if !ok {
		return nil
	}
	c.order.MoveToFront(el)
	return el.Value.(*cached).tree
}

func (c *treeCache) put(text string, t *Tree) {
	if len(text) > maxCachedText {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.byTex == nil {
		c.byTex = map[string]*list.Element{}
	}
	if _, ok := c.byTex[text]; ok {
		return
	}
	c.byTex[text] = c.order.PushFront(&cached{text, t})
	for c.bytes += len(text); c.bytes > maxCachedBytes; {
		last := c.order.Remove(c.order.Back()).(*cached)
		delete(c.byTex, last.text)
		c.bytes -= len(last.text)
	}
}
