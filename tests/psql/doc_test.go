// Package psql_test drives the real psql against the real server: the screens of its
// backslash commands, what a person tries in the first hour, interrupts on a terminal,
// the catalog queries that psql 15, 17 and 18 and drivers send, and pgbench.
// Its tests have the build tag peers, for they need Debian's postgresql-client
// and postgresql-contrib (pgbench).
package psql_test
