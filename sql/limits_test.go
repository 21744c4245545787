package sql_test

import (
	"fmt"
	"strings"
	"testing"

	"dtstore/sql"
	"dtstore/table"
)

// What a client can grow has a limit.
func TestLimits(t *testing.T) {
	deep := strings.Repeat("(", 100_000)
	for _, c := range []struct{ name, text, code string }{
		{"parentheses", "SELECT " + deep, "54001"},
		{"brackets", "SELECT " + strings.Repeat("[", 100_000), "54001"},
		{"insert", "INSERT INTO t VALUES (" + deep, "54001"},
		{"column", "CREATE TABLE t (a int DEFAULT " + deep, "0A000"},
		{"comments", "SELECT " + strings.Repeat("/*", 100_000), "42601"},
		{"explain", strings.Repeat("EXPLAIN ", 10_000) + "SELECT 1", "54001"},
		{"prepare", strings.Repeat("PREPARE p AS ", 10_000), "54001"},
		{"parameter", "SELECT $99999999999999999999", "42P02"},
		{"invalid", "SELECT '\xff'", "22021"},
		{"zero", "SELECT '\x00'", "22021"},
		{"long", strings.Repeat(" ", sql.MaxText+1), "54000"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := sql.Parse(c.text)
			if got := table.SQLState(err); err == nil || got != c.code {
				t.Fatalf("%s: %v", got, err)
			}
			if len(err.Error()) > 300 {
				t.Errorf("error of %d bytes", len(err.Error()))
			}
		})
	}
	if _, err := sql.Rewrite("SELECT "+deep, sql.RewriteOptions{}); table.SQLState(err) != "54001" {
		t.Errorf("rewrite: %v", err)
	}
	for _, text := range []string{deep[:50_000], strings.Repeat("NOT ", 15_000) + "1", strings.Repeat("- ", 30_000) + "1", strings.Repeat("1 + ", 10_000) + "1"} {
		if _, err := sql.FromMySQL("SELECT `a`, " + text); err != nil && table.SQLState(err) != "54001" && table.SQLState(err) != "42601" {
			t.Errorf("second try: %v", err)
		}
	}
}

// ParseOne takes one statement.
func TestParseOne(t *testing.T) {
	if s, err := sql.ParseOne(" ; -- nothing\n"); s != nil || err != nil {
		t.Errorf("empty: %v %v", s, err)
	}
	if s, err := sql.ParseOne("SELECT 1;"); err != nil || sql.Tag(s) != "SELECT" {
		t.Errorf("one: %v %v", s, err)
	}
	if _, err := sql.ParseOne("SELECT 1; SELECT 2"); table.SQLState(err) != "42601" {
		t.Errorf("two: %v", err)
	}
}

// Positions are characters of the whole text, also for errors that others find
// in a piece of a statement.
func TestPositions(t *testing.T) {
	const text = "SELECT 'é'; UPDATE t SET a = 'ü' || oops WHERE b = wrong"
	list, err := sql.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	u := list[1].(*sql.Update)
	want := func(word string) int { return len([]rune(text[:strings.Index(text, word)])) + 1 }
	in := len([]rune(u.Set[0].Value.SQL[:strings.Index(u.Set[0].Value.SQL, "oops")])) + 1
	e := u.Locate(table.Errorf("42703", "no oops").At(in), u.Set[0].Value.Start)
	if got := e.(*table.Error).Position; got != want("oops") {
		t.Errorf("oops at %d, want %d", got, want("oops"))
	}
	if got := u.Position(u.Where.Start); got != want("b = wrong") {
		t.Errorf("WHERE at %d, want %d", got, want("b = wrong"))
	}
}

// Setting values are shown as PostgreSQL shows them.
func TestSetValue(t *testing.T) {
	for text, want := range map[string]string{
		`SET search_path TO public, "$user", "A b", "select"`: `public, "$user", "A b", "select"`,
		`SET datestyle = ISO, MDY`:                            `iso, mdy`,
		`SET x = 'a b'`:                                       `a b`,
	} {
		s, err := sql.ParseOne(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := s.(*sql.Set).Value(); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

// The query of an INSERT with WITH before it holds both.
func TestInsertSelect(t *testing.T) {
	for text, want := range map[string]string{
		"INSERT INTO t SELECT 1":                                         "SELECT 1",
		"WITH x AS (SELECT 1) INSERT INTO t SELECT * FROM x":             "WITH x AS (SELECT 1) SELECT * FROM x",
		"WITH x AS (SELECT 1) INSERT INTO t WITH y AS (TABLE x) TABLE y": "WITH x AS (SELECT 1) SELECT * FROM (WITH y AS (TABLE x) TABLE y) dt_insert",
	} {
		s, err := sql.ParseOne(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := s.(*sql.Insert).Select(); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

func TestParseType(t *testing.T) {
	for text, want := range map[string]string{"bigint": "BIGINT", "varchar(3)": "VARCHAR(3)", "timestamptz(3)": "TIMESTAMP(3) WITH LOCAL TIME ZONE"} {
		got, err := sql.ParseType(text)
		if err != nil || got.String() != want {
			t.Errorf("%s: %v %v", text, got, err)
		}
	}
	for _, text := range []string{"", "bigint x", "uuid", "nope", "'a'"} {
		if got, err := sql.ParseType(text); err == nil {
			t.Errorf("%q: %v", text, got)
		}
	}
}

func TestHelp(t *testing.T) {
	text := sql.HelpText()
	for i, line := range strings.Split(text, "\n") {
		if len(line) > 150 {
			t.Error(fmt.Sprintf("line %d has %d bytes", i+1, len(line)))
		}
	}
	for _, word := range []string{"CREATE TABLE", "INSERT", "COPY", "streaming"} {
		if !strings.Contains(text, word) {
			t.Errorf("%s is missing", word)
		}
	}
}
