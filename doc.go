// Package dtstore is the root of the dtstore module: a streaming table store
// with a SQL front. The server is cmd/dtserver; ARCHITECTURE.md shows the
// house. This package holds only the test of who may import whom.
package dtstore
