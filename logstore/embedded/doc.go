// Package embedded runs a Kafka broker inside this process, on a directory,
// and makes it keep what it has acknowledged.
package embedded
