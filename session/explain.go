package session

import (
	"context"
	"fmt"
	"strings"

	"dtstore/sql"
	"dtstore/table"
	"dtstore/wire"
)

// explain shows the engine's plan and, below it, what is read of each table:
// the snapshot, files and rows, and the rows of the log's tail.
func (se *Session) explain(ctx context.Context, s *sql.Explain, params []param) (*result, error) {
	if s.Format != "" && s.Format != "text" {
		return nil, table.Errorf("0A000", "EXPLAIN (FORMAT %s) is not supported", strings.ToUpper(s.Format)).WithHint("Use EXPLAIN, whose plan is text.")
	}
	var b *bound
	var err error
	head := ""
	switch x := s.Statement.(type) {
	case *sql.Query:
		b, err = se.bind(ctx, x.Text, x.Position(0)-1)
	case *sql.Update:
		var m *modification
		if m, err = se.modifyUpdate(ctx, x); err == nil {
			b, head = m.b, fmt.Sprintf("Update on %s.%s", m.t.Database, m.t.Name)
		}
	case *sql.Delete:
		var m *modification
		if m, err = se.modifyDelete(ctx, x); err == nil {
			b, head = m.b, fmt.Sprintf("Delete on %s.%s", m.t.Database, m.t.Name)
		}
	case *sql.Insert:
		in, err := se.intoTable(ctx, x.Origin(), x.Table, x.Columns, nil, nil)
		if err != nil {
			return nil, err
		}
		head = fmt.Sprintf("Insert on %s.%s", in.t.Database, in.t.Name)
		if x.Values != nil && x.Values.Literal {
			return lines([]string{head, fmt.Sprintf("  ->  Values (rows=%d)", x.Values.Len())}), nil
		}
		if b, err = se.bind(ctx, x.With.SQL+" "+x.Query.SQL, insertBase(x)); err != nil {
			return nil, err
		}
	default:
		return nil, table.Errorf("0A000", "EXPLAIN of %s is not supported", sql.Tag(s.Statement))
	}
	if err != nil {
		return nil, err
	}
	if s.Analyze && head != "" {
		return nil, table.Errorf("0A000", "EXPLAIN ANALYZE of a statement that changes rows is not supported").WithHint("Use EXPLAIN without ANALYZE.")
	}
	return se.explainQuery(ctx, b, head, s.Analyze, params)
}

func (se *Session) explainQuery(ctx context.Context, b *bound, head string, analyze bool, params []param) (*result, error) {
	if err := se.syncCatalog(ctx, b); err != nil {
		return nil, err
	}
	v, err := se.view(ctx, b.tables())
	if err != nil {
		return nil, err
	}
	defer se.dropView(v)
	o, err := b.open(ctx, v, params)
	if err != nil {
		return nil, err
	}
	defer o.close()
	plan, err := se.engine.Explain(ctx, o.text, analyze, args(params))
	if err != nil {
		return nil, b.engineError(err)
	}
	var out []string
	if head != "" {
		out = append(out, head)
	}
	out = append(out, plan...)
	for i, r := range b.refs {
		tv, s := v.tables[r.table.Path], o.scans[i]
		out = append(out, fmt.Sprintf("Reads %s.%s", r.table.Database, r.table.Name))
		if tv.snapshot != nil {
			out = append(out, fmt.Sprintf("  Snapshot: %d", tv.snapshot.ID))
		}
		if s == nil { // not in the text that runs
			continue
		}
		p := s.Plan
		if p.Lookups != nil {
			out = append(out, fmt.Sprintf("  Keys looked up: %d, in at most %d files", len(p.Lookups), p.Files))
			continue
		}
		dead := 0
		for _, f := range s.Files {
			dead += len(f.Dead)
		}
		kind := "raw"
		switch {
		case s.Merged != nil:
			kind = "merged"
		case dead > 0 || len(s.Hide) > 0:
			kind = "masked"
		}
		out = append(out, fmt.Sprintf("  Files: %d (%s), rows: %d, superseded: %d", p.Files, kind, p.Rows, dead))
		var span table.Offset
		for _, t := range p.Tails {
			span += t.Span.To - t.Span.From
		}
		out = append(out, fmt.Sprintf("  Tail: %d rows of %d log offsets", len(s.Tail), span))
	}
	return lines(out), nil
}

func lines(text []string) *result {
	rows := make([]table.Row, len(text))
	for i, l := range text {
		rows[i] = table.Row{table.StringOf(l)}
	}
	return fixed("EXPLAIN", false, []wire.Column{textColumn("QUERY PLAN")}, rows)
}
