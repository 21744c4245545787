package exec_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"dtstore/exec"
	"dtstore/table"
)

func open(t testing.TB, o exec.Options) *exec.Engine {
	t.Helper()
	e, err := exec.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return e
}

func session(t testing.TB, e *exec.Engine) *exec.Session {
	t.Helper()
	s, err := e.Session(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// show prints values for people; not as Postgres would.
func show(t exec.Type, v exec.Value) string {
	if v.IsNull() {
		return "NULL"
	}
	switch t.ID {
	case exec.Interval:
		m, d, u := exec.IntervalFrom(v)
		return fmt.Sprintf("%dmon %dd %dus", m, d, u)
	case exec.UUID:
		hi, lo := v.Decimal()
		return fmt.Sprintf("%016x%016x", uint64(hi), lo)
	case exec.JSON:
		return v.Str()
	case exec.Time:
		return fmt.Sprintf("%dus", v.Int())
	case exec.List:
		var out []string
		for _, e := range exec.Elements(*t.Elem, v) {
			out = append(out, show(*t.Elem, e))
		}
		return "{" + strings.Join(out, ",") + "}"
	}
	tt, _ := t.Table()
	return string(table.AppendText(nil, tt, v, nil))
}

// query runs text through Parse, Render, Prepare and Run.
func query(ctx context.Context, e *exec.Engine, s *exec.Session, text string, args ...exec.Arg) (string, error) {
	return queryOver(ctx, e, s, text, func(r *exec.Ref) (string, error) {
		return "", table.Errorf("42P01", "relation %q does not exist", r.Name)
	}, args...)
}

func queryOver(ctx context.Context, e *exec.Engine, s *exec.Session, text string, replace func(*exec.Ref) (string, error), args ...exec.Arg) (string, error) {
	tree, err := e.Parse(ctx, text)
	if err != nil {
		return "", err
	}
	sql, err := tree.Render(replace)
	if err != nil {
		return "", err
	}
	st, err := s.Prepare(ctx, sql, nil)
	if err != nil {
		return "", tree.Locate(err)
	}
	defer st.Close()
	rows, err := st.Run(ctx, args)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for i, c := range st.Columns() {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "%s %v", c.Name, c.Type)
	}
	b.WriteByte('\n')
	for {
		batch, err := rows.Next(ctx)
		if errors.Is(err, io.EOF) {
			return b.String(), nil
		}
		if err != nil {
			return b.String(), err
		}
		for _, row := range batch {
			for i, v := range row {
				if i > 0 {
					b.WriteString(" | ")
				}
				b.WriteString(show(st.Columns()[i].Type, v))
			}
			b.WriteByte('\n')
		}
	}
}

func describe(err error) string {
	var te *table.Error
	if !errors.As(err, &te) {
		return "error: " + err.Error() + "\n"
	}
	out := fmt.Sprintf("error %s: %s", te.Code, te.Message)
	if te.Position > 0 {
		out += fmt.Sprintf(" at %d", te.Position)
	}
	if te.Hint != "" {
		out += "\nhint: " + te.Hint
	}
	return out + "\n"
}
