"""Prints Paimon tables' rows as JSON lines, read with pypaimon.

paimon_read.py WAREHOUSE DATABASE.TABLE   all rows; "rows: N" on stderr
paimon_read.py WAREHOUSE -                requests on stdin, a JSON line each: {"table": "db.t", "where": [["column", "equal", "text"], ...]};
                                          for each "== N", counted from 1, and its rows

A value is printed as text, bytes as 0x and hexadecimal digits; NULL is null.
"""
import datetime
import decimal
import json
import os
import sys

from pypaimon import CatalogFactory


def text(value):
    if value is None:
        return None
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, bytes):
        return "0x" + value.hex()
    if isinstance(value, decimal.Decimal):
        return format(value, "f")
    return str(value)


def literal(kind, value):
    """The Python value that a predicate of a column of this type takes."""
    kind = str(kind).upper()
    if kind.startswith("BOOLEAN"):
        return value == "true"
    if kind.startswith(("TINYINT", "SMALLINT", "INT", "BIGINT")):
        return int(value)
    if kind.startswith(("FLOAT", "DOUBLE")):
        return float(value)
    if kind.startswith("DECIMAL"):
        return decimal.Decimal(value)
    if kind.startswith("DATE"):
        return datetime.date.fromisoformat(value)
    if kind.startswith("TIMESTAMP"):
        zone = datetime.timezone.utc if "LOCAL" in kind or "LTZ" in kind else None
        return datetime.datetime.fromisoformat(value).replace(tzinfo=zone)
    if kind.startswith(("BINARY", "VARBINARY", "BYTES")):
        return bytes.fromhex(value[2:])
    return value


def read(catalog, name, where):
    table = catalog.get_table(name)
    builder = table.new_read_builder()
    if where:
        kinds = {field.name: field.type for field in table.fields}
        predicates = builder.new_predicate_builder()
        parts = []
        for column, operator, *values in where:
            parts.append(getattr(predicates, operator)(column, *[literal(kinds[column], v) for v in values]))
        builder = builder.with_filter(predicates.and_predicates(parts))
    return builder.new_read().to_arrow(builder.new_scan().plan().splits()).to_pylist()


def show(rows):
    for row in rows:
        print(json.dumps({name: text(value) for name, value in row.items()}, ensure_ascii=False))


warehouse, name = sys.argv[1:]
options = {"warehouse": warehouse}
if warehouse.startswith("s3://"):
    options |= {
        "s3.endpoint": os.environ["S3_ENDPOINT"],
        "s3.access-key": os.environ["S3_ACCESS_KEY"],
        "s3.secret-key": os.environ["S3_SECRET_KEY"],
        "s3.region": os.environ.get("S3_REGION", "us-east-1"),
        "s3.path-style-access": "true",
    }
catalog = CatalogFactory.create(options)
if name == "-":
    for n, line in enumerate(sys.stdin, 1):
        request = json.loads(line)
        print(f"== {n}")
        show(read(catalog, request["table"], request.get("where")))
else:
    rows = read(catalog, name, None)
    show(rows)
    print(f"rows: {len(rows)}", file=sys.stderr)
