# One line each; .ci/run calls the same.
test: ; go test ./...
race: ; go test -race ./...
lint: ; gofmt -l . | (! grep .) && go vet ./...
fuzz: ; scripts/fuzz.sh 30s
golden: ; go test ./tests/golden
bench: ; go run ./tests/bench $(BENCH)
crash: ; go test ./logstore/embedded -run TestCrash -timeout 30m -crash.kills=1000 && go test ./tests/e2e -run TestKill -timeout 60m -seeds=200
peers: ; go test -tags peers -timeout 30m -p 1 ./tests/... ./logstore ./objstore/s3
.PHONY: test race lint fuzz golden bench crash peers
