// Package e2e_test builds the server, runs it as a process and treats it as its
// users and their machines will: SQL by a driver, restarts, SIGKILL at any
// moment, a second server, ports that are taken.
//
// harness_test.go runs servers. smoke_test.go is one table's life, start_test.go
// the starts that must fail, drain_test.go SIGTERM under load. crash_test.go is
// the kill test: writers.go's workers note what they were told, model_test.go
// compares that with what a restarted server shows, files_test.go looks for
// doubled sequence numbers in the files.
//
//	go test ./tests/e2e -seeds 20            # the kill test, 20 seeds
//	go test ./tests/e2e -run Kill -seed 7    # that seed again
package e2e_test
