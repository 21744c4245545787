#!/usr/bin/env bash
# Runs every fuzz target for a time each (default 30s), in the packages given (default: all).
#   fuzz.sh [TIME] [PACKAGE…]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
time=${1:-30s}
shift || true
for pkg in ${@:-$(go list ./...)}; do
	dir=$(go list -f '{{.Dir}}' "$pkg")
	grep -lqs '^func Fuzz' "$dir"/*_test.go || continue
	for target in $(grep -hoE '^func Fuzz[A-Za-z0-9_]+' "$dir"/*_test.go | sed 's/^func //' | sort -u); do
		echo "== $pkg $target"
		go test "$pkg" -run '^$' -fuzz "^$target\$" -fuzztime "$time" -fuzzminimizetime 100x
	done
done
