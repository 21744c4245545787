#!/usr/bin/env bash
# pypaimon, the Python reader of Paimon tables (no JVM).
#   paimon-read.sh WAREHOUSE DATABASE.TABLE   each row as one JSON line of texts, then "rows: N" on stderr
#   paimon-read.sh WAREHOUSE -                requests on stdin, see paimon_read.py
# WAREHOUSE is a directory, or s3://bucket/prefix with S3_ENDPOINT, S3_ACCESS_KEY and S3_SECRET_KEY set.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
[[ $# -eq 2 ]] || die "usage: paimon-read.sh WAREHOUSE DATABASE.TABLE"
venv=$cache/pypaimon-2.1.0
if [[ ! -f $venv/.complete ]]; then
	rm -rf "$venv"
	python3 -m venv "$venv"
	"$venv/bin/pip" install -q --disable-pip-version-check pypaimon==2.1.0 >&2
	touch "$venv/.complete"
fi
exec "$venv/bin/python" "$here/paimon_read.py" "$1" "$2"
