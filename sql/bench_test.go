package sql_test

import (
	"fmt"
	"strings"
	"testing"

	"dtstore/sql"
)

func insertText(rows int) string {
	var b strings.Builder
	b.WriteString("INSERT INTO public.flights (id, day, delay, distance, origin, note) VALUES ")
	for i := range rows {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "(%d, DATE '2001-01-%02d', -%d.5, %d, 'SFO', NULL)", i, i%28+1, i%60, i%3000)
	}
	return b.String()
}

func BenchmarkParseInsert(b *testing.B) {
	for _, rows := range []int{1, 1000} {
		b.Run(fmt.Sprintf("rows=%d", rows), func(b *testing.B) {
			text := insertText(rows)
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := sql.Parse(text); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

const point = "SELECT id, day, delay FROM public.flights WHERE id = $1"

func BenchmarkParseSelect(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := sql.Parse(point); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkRewrite(b *testing.B) {
	for name, text := range map[string]string{"point": point, "catalog": captured(b, queries+"psql15-server15.sql")[0]} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := sql.Rewrite(text, sql.RewriteOptions{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
