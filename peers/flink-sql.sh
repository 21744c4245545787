#!/usr/bin/env bash
# Apache Flink 1.20 with Apache Paimon 1.3.1 and the Kafka connector, in one JVM.
#   flink-sql.sh [-s] [-m] [-n ROWS] FILE.sql
# Runs the statements of FILE.sql (each ends with ';' at a line's end; "--" lines are comments; SET 'key' = 'value' works) and prints each
# result row as "kind<TAB>column<TAB>…", kind being +I, -U, +U or -D. -s: streaming mode (default batch). -n: at most so many rows of each
# query, then go on (ends an endless one). -m: a line "== N" before the rows of query N; tabs, line ends and backslashes in values as \t, \n, \r, \\, NULL as \N. Exit status 0 only if every statement worked.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
opts=()
while getopts smn: o; do
	case $o in
	s) opts+=(-Dstream=true) ;;
	m) opts+=(-Dmark=true) ;;
	n) opts+=(-Drows="$OPTARG") ;;
	*) die "usage: flink-sql.sh [-s] [-m] [-n ROWS] FILE.sql" ;;
	esac
done
shift $((OPTIND - 1))
[[ $# -eq 1 ]] || die "usage: flink-sql.sh [-s] [-m] [-n ROWS] FILE.sql"
for p in util lang net nio util.concurrent lang.reflect text time io; do opts+=(--add-opens=java.base/java.$p=ALL-UNNAMED); done
opts+=(--add-opens=java.base/sun.nio.ch=ALL-UNNAMED)
exec java "${opts[@]}" -Xmx1g -XX:TieredStopAtLevel=1 -cp "$(classpath flink)" "$here/FlinkSql.java" "$1"
