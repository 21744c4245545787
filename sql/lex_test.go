package sql_test

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/cockroachdb/datadriven"

	"dtstore/sql"
	"dtstore/table"
)

var kinds = map[sql.Kind]string{
	sql.Space: "space", sql.Comment: "comment", sql.HintText: "hint", sql.Word: "word", sql.Quoted: "quoted", sql.Backtick: "backtick",
	sql.String: "string", sql.Number: "number", sql.Param: "param", sql.Op: "op", sql.Punct: "punct", sql.Bad: "BAD",
}

// testdata/lex holds texts, a line each, and their tokens.
func TestLex(t *testing.T) {
	datadriven.RunTest(t, "testdata/lex", func(t *testing.T, d *datadriven.TestData) string {
		texts := []string{d.Input}
		if d.Cmd == "each" {
			texts = strings.Split(d.Input, "\n")
		}
		var b strings.Builder
		for _, text := range texts {
			checkCover(t, text)
			var out []string
			for _, tok := range sql.Lex(text) {
				if tok.Kind != sql.Space {
					out = append(out, fmt.Sprintf("%s:%s", kinds[tok.Kind], text[tok.Start:tok.End]))
				}
			}
			b.WriteString(strings.Join(out, " ") + "\n")
		}
		return b.String()
	})
}

// checkCover fails unless the tokens of text cover it without gap or overlap.
func checkCover(t *testing.T, text string) {
	t.Helper()
	at := 0
	for _, tok := range sql.Lex(text) {
		if tok.Start != at || tok.End <= tok.Start {
			t.Fatalf("token %v after %d of %q", tok, at, text)
		}
		at = tok.End
	}
	if at != len(text) {
		t.Fatalf("tokens end at %d of %d of %q", at, len(text), text)
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range corpus(f) {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		checkCover(t, text)
		list, err := sql.Parse(text)
		if err != nil {
			checkError(t, text, err)
		}
		for _, s := range list {
			src := s.Origin()
			if text[src.Start:src.Start+len(src.Text)] != src.Text {
				t.Fatalf("statement %q is not at %d of %q", src.Text, src.Start, text)
			}
			if len(src.Hints) > 0 {
				continue // a hint at the end is not in the statement's text
			}
			again, err := sql.Parse(src.Text)
			if err != nil || len(again) != 1 || describe(again[0]) != describe(s) {
				t.Fatalf("%q parses differently alone: %v", src.Text, err)
			}
		}
	})
}

func checkError(t *testing.T, text string, err error) {
	t.Helper()
	e, ok := err.(*table.Error)
	if !ok || len(e.Code) != 5 {
		t.Fatalf("%q: %T %v", text, err, err)
	}
	if e.Position < 0 || e.Position > utf8.RuneCountInString(text)+1 {
		t.Fatalf("%q: position %d", text, e.Position)
	}
}
