//go:build peers

// Package interop_test holds the real server against the systems that it must
// agree with: Apache Flink with Paimon and pypaimon read what it wrote, Flink
// and kcat read its topics, and it runs on Apache Kafka and a real S3 server,
// which are killed under it. The scripts of peers/ start them; a peer that is
// missing fails its test.
//
// peers_test.go runs the peers. tables_test.go makes the tables and keeps what
// they must hold; same_test.go compares them; stream_test.go reads topics;
// real_test.go kills Kafka, S3 and the server.
package interop_test
