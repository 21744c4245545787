package exec

import (
	"testing"

	duckdb "github.com/duckdb/duckdb-go-bindings"
)

// CopyOut writes a query to a Parquet file, with an instance that may.
func CopyOut(t testing.TB, query, path string) {
	t.Helper()
	var c conn
	var db duckdb.Database
	if duckdb.Open("", &db) != duckdb.StateSuccess || duckdb.Connect(db, &c.c) != duckdb.StateSuccess {
		t.Fatal("no database")
	}
	defer duckdb.Close(&db)
	defer duckdb.Disconnect(&c.c)
	if err := c.exec("COPY (" + query + ") TO " + literal(path)); err != nil {
		t.Fatal(err)
	}
}
