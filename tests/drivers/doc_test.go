// Package drivers_test takes the drivers that people use through the README's tour
// and through what drivers break on: types in text and binary, prepared
// statements, transactions, cursors, COPY, streaming, cancel, errors with their
// codes. What is not Go runs as a script of testdata that prints a line for
// each of its checks.
package drivers_test
