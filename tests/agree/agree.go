// Package agree brings the texts in which psql, Flink and pypaimon print one
// value to one form, so that whole tables can be compared.
package agree

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"dtstore/table"
)

// Null stands for NULL in a canonical row.
const Null = "∅"

// Cell is the canonical text of a value of type t. text is what psql prints
// unaligned, what flink-sql.sh prints, or what paimon-read.sh prints as a JSON
// string; each of them writes types in its own way, and no two forms of one
// type collide.
func Cell(t table.Type, text string) string {
	switch t.Kind {
	case table.Boolean:
		switch strings.ToLower(text) {
		case "t", "true":
			return "true"
		case "f", "false":
			return "false"
		}
	case table.Float:
		return float(text, 32)
	case table.Double:
		return float(text, 64)
	case table.Decimal:
		return text
	case table.Binary, table.VarBinary:
		return "0x" + strings.TrimPrefix(strings.TrimPrefix(text, `\x`), "0x")
	case table.Time:
		return clock(text)
	case table.Timestamp:
		return moment(text)
	case table.TimestampLTZ:
		for _, zone := range []string{"Z", "+00:00", "+00"} {
			if s, ok := strings.CutSuffix(text, zone); ok {
				return moment(s)
			}
		}
		return text + " in an unknown zone"
	}
	return text
}

func float(text string, bits int) string {
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return text + " is no number"
	}
	if bits == 32 {
		f = float64(float32(f))
	}
	if math.IsNaN(f) {
		return "NaN"
	}
	return strconv.FormatFloat(f, 'e', -1, bits)
}

// clock pads the seconds, which Java leaves out when zero, and cuts the
// fraction's trailing zeros.
func clock(text string) string {
	if strings.Count(text, ":") == 1 {
		text += ":00"
	}
	if strings.Contains(text, ".") {
		text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
	}
	return text
}

func moment(text string) string {
	day, time, _ := strings.Cut(strings.Replace(text, "T", " ", 1), " ")
	return day + " " + clock(time)
}

var escape = strings.NewReplacer("\\", `\\`, "\t", `\t`, "\n", `\n`)

// Row is the canonical form of a row: its cells, escaped as Postgres's COPY
// does, between tabs. nil cells are NULL.
func Row(types []table.Type, cells []*string) (string, error) {
	if len(cells) != len(types) {
		return "", fmt.Errorf("row of %d columns, not %d: %s", len(cells), len(types), show(cells))
	}
	out := make([]string, len(cells))
	for i, c := range cells {
		if c == nil {
			out[i] = Null
		} else {
			out[i] = escape.Replace(Cell(types[i], *c))
		}
	}
	return strings.Join(out, "\t"), nil
}

// TSV are the canonical rows of lines with tabs between the cells, null being
// NULL.
func TSV(types []table.Type, text string) ([]string, error) {
	var rows []string
	for line := range strings.Lines(text) {
		var cells []*string
		for cell := range strings.SplitSeq(strings.TrimSuffix(line, "\n"), "\t") {
			if cell == "null" {
				cells = append(cells, nil)
			} else {
				cells = append(cells, &cell)
			}
		}
		row, err := Row(types, cells)
		if err != nil {
			return nil, err
		}
		rows = append(rows, row)
	}
	return rows, nil
}

func show(cells []*string) string {
	var b strings.Builder
	for i, c := range cells {
		if i > 0 {
			b.WriteByte('|')
		}
		if c != nil {
			b.WriteString(*c)
		}
	}
	return b.String()
}

// Diff says how two tables differ as multisets of canonical rows, "" if they
// do not.
func Diff(got, want []string) string {
	g, w := slices.Sorted(slices.Values(got)), slices.Sorted(slices.Values(want))
	var b strings.Builder
	const most = 6
	n := 0
	line := func(sign, row string) {
		if n++; n <= most {
			if len(row) > 300 {
				row = row[:300] + "…"
			}
			fmt.Fprintf(&b, "\n  %s %s", sign, row)
		}
	}
	for len(g) > 0 || len(w) > 0 {
		switch {
		case len(w) == 0 || len(g) > 0 && g[0] < w[0]:
			line("+", g[0])
			g = g[1:]
		case len(g) == 0 || w[0] < g[0]:
			line("-", w[0])
			w = w[1:]
		default:
			g, w = g[1:], w[1:]
		}
	}
	if n > most {
		fmt.Fprintf(&b, "\n  and %d more", n-most)
	}
	return b.String()
}
