#!/usr/bin/env bash
# Fetches the full flights file (3,000,000 rows) from the npm package vega-datasets, and writes it as CSV with numbered rows.
#   flights.sh FILE.csv
set -euo pipefail
[[ $# -eq 1 ]] || { echo "usage: flights.sh FILE.csv" >&2; exit 1; }
out=$(realpath -m "$1")
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
command -v npm >/dev/null || { echo "flights.sh: needs npm" >&2; exit 1; }
(cd "$tmp" && npm pack --silent vega-datasets@3.2.1 >/dev/null && tar xzf vega-datasets-3.2.1.tgz package/data/flights-3m.parquet)
(cd "$here" && go run ./tests/flights "$tmp/package/data/flights-3m.parquet") >"$out"
