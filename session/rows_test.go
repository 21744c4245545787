package session_test

import "dtstore/table"

// intRow is a row whose first column is n.
func intRow(s *table.Schema, n int) table.Row {
	row := make(table.Row, len(s.Fields))
	row[0] = table.IntOf(int64(n))
	return row
}
