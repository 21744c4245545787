// Command bench runs the server beside its peers on this machine and prints
// one table: work, ours, peer or floor, ratio.
//
//	go run ./tests/bench [-full] [-only load,point] [-flights FILE.csv]
//
// main.go has the flags and runs the works in order; each work is a file of
// its own. dtserver.go, postgres.go and duckdb.go start what is compared:
// our binary, a PostgreSQL of the system (fsync on, in a temporary folder) and
// a DuckDB in this process. process.go reads CPU time and memory of a server
// from /proc, so that a busy machine can be told from a slow program.
//
// What must stay true: both sides do the same work on the same rows in the
// same run, and every answer is checked. A ratio is always ours as good as the
// peer at 1, better above 1, for throughput as for time.
package main
