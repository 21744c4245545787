package exec

import (
	"context"
	"errors"
	"regexp"
	"strings"

	duckdb "github.com/duckdb/duckdb-go-bindings"

	"dtstore/table"
)

// ErrSyntax is in the chain of a syntax error of DuckDB's parser: another
// grammar may still read the text.
var ErrSyntax = errors.New("syntax error")

// errOverloads: a macro that is chosen by type met an argument whose type is
// not known where DuckDB chooses.
var errOverloads = errors.New("overloads")

// mark carries a code of ours through an error raised inside DuckDB: the
// function error() and our table function put it before their message.
const mark = "dt!"

// markCode puts a code before a message that DuckDB will hand back.
func markCode(code, message string) string { return mark + code + "!" + message }

var (
	caret     = regexp.MustCompile(`(?s)\n+LINE \d+:.*$`)
	prefix    = regexp.MustCompile(`^[A-Z][A-Za-z-]*(?: [A-Za-z-]+){0,3} [Ee]rror: `)
	marked    = regexp.MustCompile(`(?s)` + mark + `([0-9A-Z]{5})!([^\n]*)`)
	noColumn  = regexp.MustCompile(`Referenced column "([^"]*)" (?:not found|was not found|is not)`)
	noField   = regexp.MustCompile(`(?:Table|Values list) "([^"]*)" does not have a column named "([^"]*)"`)
	noTable   = regexp.MustCompile(`Referenced table "([^"]*)" not found`)
	noName    = regexp.MustCompile(`(Table Function|Scalar Function|Aggregate Function|Function|Macro Function|Table Macro|Table|View|Schema|Type|Collation)(?: Function)? with name "?([^"\s]*)"? does not exist`)
	ambiguous = regexp.MustCompile(`Ambiguous reference to column name "([^"]*)"`)
	mustGroup = regexp.MustCompile(`column "([^"]*)" must appear in the GROUP BY clause`)
	noMatch   = regexp.MustCompile(`(?s)No function matches the given name and argument types '([^']*)'`)
	candidate = regexp.MustCompile(`Candidate bindings: (.*)`)
	meant     = regexp.MustCompile(`Did you mean "([^"]*)"`)
	nearToken = regexp.MustCompile(`syntax error at (?:or near "((?:[^"]|"")*)"|end of input)`)
	badText   = regexp.MustCompile(`(?s)Could not convert string ['"](.*?)['"] to (\w+)`)
	operator  = regexp.MustCompile(`^([^A-Za-z_(]+)\((.*)\)$`)
)

// engineError turns an error of DuckDB into one that a client may see.
func engineError(kind duckdb.ErrorType, message string) error {
	if m := marked.FindStringSubmatch(message); m != nil {
		return table.Errorf(m[1], "%s%w", strings.TrimSpace(m[2]), about(m[2]))
	}
	text := prefix.ReplaceAllString(caret.ReplaceAllString(message, ""), "")
	first, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	switch kind {
	case duckdb.ErrorTypeParser:
		return syntaxError(first, 0)
	case duckdb.ErrorTypeSyntax:
		return syntaxError(first, 0)
	case duckdb.ErrorTypeCatalog, duckdb.ErrorTypeBinder:
		return nameError(text, first)
	case duckdb.ErrorTypeConversion, duckdb.ErrorTypeMismatchType, duckdb.ErrorTypeInvalidType, duckdb.ErrorTypeDecimal:
		return conversionError(first)
	case duckdb.ErrorTypeOutOfRange:
		switch {
		case strings.Contains(first, "logarithm"):
			return table.Errorf("2201E", "%s", lower(first))
		case strings.Contains(first, "square root"):
			return table.Errorf("2201F", "%s", lower(first))
		}
		return table.Errorf("22003", "%s", outOfRange(first))
	case duckdb.ErrorTypeDivideByZero:
		return table.Errorf("22012", "division by zero")
	case duckdb.ErrorTypeOutOfMemory:
		return table.Errorf("53200", "out of memory: the query needs more than the engine may use").
			WithHint("Select fewer columns or rows at once, or raise the memory limit of the server.")
	case duckdb.ErrorTypeInterrupt:
		return table.Errorf("57014", "canceling statement due to user request")
	case duckdb.ErrorTypeNotImplemented, duckdb.ErrorTypeParameterNotAllowed, duckdb.ErrorTypeExpression:
		return table.Errorf("0A000", "%s", lower(first))
	case duckdb.ErrorTypePermission:
		return table.Errorf("42501", "permission denied: user queries read no files")
	case duckdb.ErrorTypeInvalidInput:
		return inputError(first)
	case duckdb.ErrorTypeParameterNotResolved:
		return table.Errorf("42P18", "could not determine data type of a parameter").WithHint("Add a cast, such as $1::text.")
	case duckdb.ErrorTypeErrorIO:
		return table.Errorf("58030", "%s", lower(first))
	}
	return table.Errorf("XX000", "%s", lower(first))
}

// stopped prefers the reason why a context ended over DuckDB's word for it.
func stopped(ctx context.Context, err error) error {
	if err == nil || ctx.Err() == nil || table.SQLState(err) != "57014" {
		return err
	}
	var own *table.Error
	if cause := context.Cause(ctx); errors.As(cause, &own) {
		return own
	}
	return err
}

// syntaxError reads a message of DuckDB's parser; pos is 1-based, 0 unknown.
func syntaxError(message string, pos int) error {
	text := lower(message)
	if m := nearToken.FindStringSubmatch(message); m != nil {
		text = m[0]
	}
	return table.Errorf("42601", "%s%w", text, silent{ErrSyntax}).At(pos)
}

// subject is the name that an error is about, in its chain without a text.
type subject struct{ name string }

func (subject) Error() string { return "" }

// silent keeps an error in the chain without its text.
type silent struct{ error }

func (silent) Error() string   { return "" }
func (s silent) Unwrap() error { return s.error }

func nameError(text, first string) error {
	if m := noColumn.FindStringSubmatch(text); m != nil {
		return withCandidates(table.Errorf("42703", "column %q does not exist%w", m[1], subject{m[1]}), m[1], text)
	}
	if m := noField.FindStringSubmatch(text); m != nil {
		return withCandidates(table.Errorf("42703", "column %s.%s does not exist%w", m[1], m[2], subject{m[2]}), m[2], text)
	}
	if m := ambiguous.FindStringSubmatch(text); m != nil {
		return table.Errorf("42702", "column reference %q is ambiguous%w", m[1], subject{m[1]}).
			WithHint("Put the table's name or alias before the column.")
	}
	if m := noTable.FindStringSubmatch(text); m != nil {
		return table.Errorf("42P01", "missing FROM-clause entry for table %q%w", m[1], subject{qualifier(m[1])})
	}
	if m := noName.FindStringSubmatch(text); m != nil {
		return missingName(m[1], m[2], text)
	}
	if m := mustGroup.FindStringSubmatch(text); m != nil {
		return table.Errorf("42803", "column %q must appear in the GROUP BY clause or be used in an aggregate function%w", m[1], subject{m[1]})
	}
	if m := noMatch.FindStringSubmatch(text); m != nil {
		what := "function " + typesAsPostgres(m[1])
		if op := operator.FindStringSubmatch(m[1]); op != nil {
			l, r, two := strings.Cut(op[2], ", ")
			if what = "operator " + op[1] + " " + typesAsPostgres(l); two {
				what = "operator " + typesAsPostgres(l) + " " + op[1] + " " + typesAsPostgres(r)
			}
		}
		name, _, _ := strings.Cut(m[1], "(")
		return table.Errorf("42883", "%s does not exist%w", what, subject{name}).
			WithHint("No function or operator has this name and these argument types; you might need explicit casts.")
	}
	switch {
	case strings.Contains(first, "multiple overloads that match"):
		return table.Errorf("42725", "a function is not unique for these arguments%w", silent{errOverloads}).WithHint("You might need explicit casts.")
	case strings.Contains(first, "Could not choose a best candidate"):
		return table.Errorf("42725", "an operator or function is not unique for these arguments").WithHint("You might need explicit casts.")
	case strings.Contains(first, "Cannot compare values of type"), strings.Contains(first, "Cannot mix values of type"):
		return table.Errorf("42804", "%s", lower(first)).WithHint("You might need explicit casts.")
	case strings.Contains(first, "aggregate function calls cannot be nested"), strings.Contains(first, "WHERE clause cannot contain"),
		strings.Contains(first, "aggregates"), strings.Contains(first, "GROUP BY"):
		return table.Errorf("42803", "%s", lower(first))
	case strings.Contains(first, "Values were not provided"), strings.Contains(first, "parameter"):
		return table.Errorf("42P02", "%s", lower(first))
	case strings.Contains(first, "file system operations are disabled"):
		return table.Errorf("42501", "permission denied: user queries read no files")
	}
	return table.Errorf("42601", "%s", lower(first))
}

func missingName(what, name, text string) error {
	var err *table.Error
	switch what {
	case "Table", "View":
		err = table.Errorf("42P01", "relation %q does not exist%w", name, subject{name})
	case "Schema":
		err = table.Errorf("3F000", "schema %q does not exist", name)
	case "Type":
		err = table.Errorf("42704", "type %q does not exist", name)
	case "Collation":
		err = table.Errorf("42704", "collation %q does not exist", name)
	default:
		err = table.Errorf("42883", "function %s does not exist%w", name, subject{name})
	}
	if m := meant.FindStringSubmatch(text); m != nil && name != "" && m[1][0] == name[0] && table.Nearest(name, []string{m[1]}) != "" && !strings.HasPrefix(m[1], "dt_") {
		return err.WithHint("Perhaps you meant %q.", m[1])
	}
	return err
}

// withCandidates adds the nearest of DuckDB's candidates as a hint.
func withCandidates(err *table.Error, name, text string) error {
	m := candidate.FindStringSubmatch(text)
	if m == nil {
		return err
	}
	var names []string
	for c := range strings.SplitSeq(m[1], ",") {
		c = strings.ReplaceAll(strings.TrimSpace(c), `"`, "")
		names = append(names, c[strings.LastIndexByte(c, '.')+1:])
	}
	if best := table.Nearest(name, names); best != "" {
		return err.WithHint("Perhaps you meant the column %q.", best)
	}
	return err
}

var inMessage = regexp.MustCompile(`: "([^"]*)"`)

// about is the string that a message of DuckDB shows.
func about(first string) subject {
	if m := inMessage.FindStringSubmatch(first); m != nil {
		return subject{quoted(m[1])}
	}
	return subject{}
}

func conversionError(first string) error {
	if m := badText.FindStringSubmatch(first); m != nil {
		return table.Errorf("22P02", "invalid input syntax for type %s: %q%w", typesAsPostgres(m[2]), m[1], subject{quoted(m[1])})
	}
	switch {
	case strings.Contains(first, "field value out of range"):
		return table.Errorf("22008", "date/time %s%w", strings.TrimPrefix(lower(first), "date "), about(first))
	case strings.Contains(first, "out of range"), strings.Contains(first, "Could not cast value"), strings.Contains(first, "too big"):
		return table.Errorf("22003", "%s", outOfRange(first))
	case strings.Contains(first, "invalid date"), strings.Contains(first, "invalid timestamp"), strings.Contains(first, "invalid time"):
		return table.Errorf("22007", "%s%w", lower(first), about(first))
	case strings.Contains(first, "Unimplemented type for cast"):
		return table.Errorf("42846", "%s", lower(first))
	}
	return table.Errorf("22P02", "%s", lower(first))
}

func outOfRange(first string) string {
	for duck, pg := range map[string]string{"INT16": "smallint", "INT32": "integer", "INT64": "bigint"} {
		if strings.HasSuffix(first, "destination type "+duck) || strings.Contains(first, " of "+duck+" (") {
			return pg + " out of range"
		}
	}
	return lower(first)
}

func inputError(first string) error {
	switch {
	case strings.Contains(first, "division by zero"):
		return table.Errorf("22012", "division by zero")
	case strings.Contains(first, "subquery"):
		return table.Errorf("21000", "more than one row returned by a subquery used as an expression")
	case strings.Contains(first, "regex"), strings.Contains(first, "missing )"), strings.Contains(first, "invalid perl"):
		return table.Errorf("2201B", "invalid regular expression: %s", lower(first))
	}
	return table.Errorf("22023", "%s", lower(first))
}

var typeNames = strings.NewReplacer("INTEGER_LITERAL", "integer", "STRING_LITERAL", "unknown", "INTEGER", "integer", "BIGINT", "bigint",
	"SMALLINT", "smallint", "HUGEINT", "numeric", "VARCHAR", "text", "DOUBLE", "double precision", "FLOAT", "real", "BOOLEAN", "boolean",
	"DECIMAL", "numeric", "TIMESTAMP WITH TIME ZONE", "timestamp with time zone", "TIMESTAMP", "timestamp", "DATE", "date", "BLOB", "bytea",
	"INTERVAL", "interval", "INT128", "uuid", "INT32", "integer", "INT64", "bigint", "INT16", "smallint", "BOOL", "boolean", "TIME", "time", "UUID", "uuid", "JSON", "json")

func typesAsPostgres(s string) string { return typeNames.Replace(s) }

// lower makes the first letter small, as Postgres has it, but leaves words in
// capitals alone.
func lower(s string) string {
	if len(s) > 1 && s[0] >= 'A' && s[0] <= 'Z' && (s[1] < 'A' || s[1] > 'Z') {
		return string(s[0]|0x20) + s[1:]
	}
	return s
}
