import datetime as dt
import math
import threading
import time
from decimal import Decimal

import psycopg
from psycopg import errors
from psycopg.rows import dict_row

from common import DSN, check, main, same

UTC = dt.timezone.utc
TYPES = """CREATE TABLE p3_types (id int PRIMARY KEY, bo boolean, si smallint, i int, bi bigint, re real, dp double precision, n numeric(38,10),
  n2 numeric(10,2), ch char(4), vc varchar(20), tx text, by bytea, da date, ti time, ts timestamp, tz timestamptz)"""
ROWS = [
    (1, True, -32768, -(2**31), -(2**63), 1.5, 1e300, Decimal("1234567890123456789012345678.0123456789"), Decimal("1.50"), "ab", "é✓", "line\n\ttab\\", b"\x00\xff\\",
     dt.date(1969, 12, 31), dt.time(23, 59, 59, 999000), dt.datetime(1900, 1, 1, 0, 0, 0, 1), dt.datetime(1950, 6, 1, 12, 30, 0, 123456, UTC)),
    (2, False, 32767, 2**31 - 1, 2**63 - 1, math.inf, -math.inf, Decimal("-9999999999999999999999999999.9999999999"), Decimal("-0.01"), "abcd", "", "", b"",
     dt.date(1, 1, 1), dt.time(0, 0), dt.datetime(9999, 12, 31, 23, 59, 59, 999999), dt.datetime(2024, 5, 14, tzinfo=UTC)),
    (3, None, None, None, None, None, None, None, None, None, None, None, None, None, None, None, None),
    (4, True, 0, 0, 0, 0.1, 0.1, Decimal("0E-10"), Decimal("0.00"), "a", "x" * 20, "'\"$1%", bytes(range(256)), dt.date(2000, 1, 1), dt.time(12, 0),
     dt.datetime(2000, 1, 1), dt.datetime(1999, 12, 31, 23, 0, tzinfo=UTC)),
]


def connect(**kw):
    return psycopg.connect(DSN, **kw)


def float32(x):
    import struct
    return x if x is None else struct.unpack("f", struct.pack("f", x))[0]


@check
def tour():
    with connect(autocommit=True) as c:
        c.execute("CREATE TABLE p3_orders (id bigint PRIMARY KEY, customer text, amount numeric(10,2), placed timestamptz)")
        c.execute("CREATE TABLE p3_stock (item text PRIMARY KEY, n int)")
        cur = c.execute("INSERT INTO p3_orders VALUES (%s, %s, %s, %s), (2, 'bob', 99.99, '2024-05-14 10:05:00+00')",
                        (1, "ann", Decimal("12.50"), dt.datetime(2024, 5, 14, 10, 0, tzinfo=UTC)))
        same((cur.rowcount, cur.statusmessage), (2, "INSERT 0 2"))
        cur = c.execute("UPDATE p3_orders SET amount = amount * 2 WHERE customer = %s", ("ann",))
        same((cur.rowcount, cur.statusmessage), (1, "UPDATE 1"))
        same(c.execute("SELECT * FROM p3_orders ORDER BY id").fetchall(),
             [(1, "ann", Decimal("25.00"), dt.datetime(2024, 5, 14, 10, 0, tzinfo=UTC)), (2, "bob", Decimal("99.99"), dt.datetime(2024, 5, 14, 10, 5, tzinfo=UTC))])
        c.execute("INSERT INTO p3_stock VALUES ('lamp', 10)")
        with c.transaction():
            c.execute("INSERT INTO p3_orders VALUES (3, 'cid', 40, '2024-05-14 11:00:00+00')")
            c.execute("UPDATE p3_stock SET n = n - 1 WHERE item = %s", ("lamp",))
        same(c.execute("SELECT n FROM p3_stock").fetchone(), (9,))
        c.execute("CHECKPOINT")
        same(c.execute("ALTER TABLE p3_orders COMPACT").fetchone()[1], 1)
        same(c.execute("DELETE FROM p3_orders WHERE id = 3").rowcount, 1)
        same(c.execute("SELECT count(*), sum(amount) FROM p3_orders").fetchone(), (2, Decimal("124.99")))


@check
def types_text_and_binary():
    with connect(autocommit=True) as c:
        c.execute(TYPES)
        c.execute("SET TIME ZONE 'Asia/Tokyo'")
        for i, row in enumerate(ROWS):
            cur = c.cursor(binary=i % 2 == 1) if i else psycopg.ClientCursor(c)
            cur.execute("INSERT INTO p3_types VALUES (" + ", ".join(["%s"] * len(row)) + ")", row)
            same(cur.rowcount, 1)
        want = [r[:5] + (float32(r[5]),) + r[6:9] + (r[9] and r[9].ljust(4),) + r[10:] for r in ROWS]
        for flush in (False, True):
            if flush:
                c.execute("CHECKPOINT")
            for cur in (c.cursor(), c.cursor(binary=True), psycopg.ClientCursor(c)):
                got = cur.execute("SELECT * FROM p3_types ORDER BY id").fetchall()
                for g, w in zip(got, want, strict=True):
                    for col, x, y in zip(cur.description, g, w):
                        if col.name == "re":
                            x = float32(x)
                        assert x == y and type(x) is type(y), (flush, type(cur), col.name, x, y)
                    assert repr(g[7]) == repr(w[7]), (g[7], w[7])
            # by key, past the engine
            for cur in (c.cursor(), c.cursor(binary=True)):
                got = cur.execute("SELECT * FROM p3_types WHERE id = %s", (1,)).fetchone()
                same(got, want[0])
                same([d.type_code for d in cur.description], [23, 16, 21, 23, 20, 700, 701, 1700, 1700, 1042, 1043, 25, 17, 1082, 1083, 1114, 1184])
                d = {x.name: x for x in cur.description}
                same((d["n"].precision, d["n"].scale, d["n2"].precision, d["vc"].display_size), (38, 10, 10, 20))
        c.execute("INSERT INTO p3_types (id, re, dp) VALUES (5, 'NaN', 'NaN')")
        for b in (False, True):
            g = c.cursor(binary=b).execute("SELECT re, dp FROM p3_types WHERE id = 5").fetchone()
            assert math.isnan(g[0]) and math.isnan(g[1])
        # each value finds its row as a parameter
        for k, col in enumerate("id bo si i bi re dp n n2 ch vc tx by da ti ts tz".split()):
            for b in (False, True):
                ph = "%b" if b else "%t"
                got = c.execute(f"SELECT id FROM p3_types WHERE {col} = {ph} ORDER BY id", (ROWS[0][k],)).fetchall()
                assert (1,) in got, (col, b, got)


@check
def dates_bc_and_infinite():
    with connect(autocommit=True) as c:
        c.execute("CREATE TABLE p3_bc (id int PRIMARY KEY, d date, ts timestamp, tz timestamptz)")
        c.execute("INSERT INTO p3_bc VALUES (1, '0044-03-15 BC', '0044-03-15 12:00:00 BC', '0001-01-01 00:00:00+00 BC'), (2, '12345-01-01', NULL, NULL)")
        same(c.execute("SELECT d::text, ts::text, tz::text FROM p3_bc WHERE id = 1").fetchone(),
             ("0044-03-15 BC", "0044-03-15 12:00:00 BC", "0001-01-01 00:00:00+00 BC"))
        with c.cursor().copy("COPY (SELECT d, ts, tz FROM p3_bc ORDER BY id) TO STDOUT") as copy:
            same(bytes(b"".join(bytes(x) for x in copy)), b"0044-03-15 BC\t0044-03-15 12:00:00 BC\t0001-01-01 00:00:00+00 BC\n12345-01-01\t\\N\t\\N\n")
        try:
            c.execute("SELECT d FROM p3_bc WHERE id = 1").fetchone()
            assert False, "psycopg has no dates BC"
        except psycopg.DataError as e:
            assert "BC" in str(e) or "small" in str(e), e
        for bad in ("infinity", "-infinity"):
            try:
                c.execute("INSERT INTO p3_bc (id, d) VALUES (9, %s)", (bad,))
                assert False
            except errors.DatetimeFieldOverflow:
                pass


@check
def arrays():
    with connect(autocommit=True) as c:
        for b in (False, True):
            cur = c.cursor(binary=b)
            ph = "%b" if b else "%t"
            same(cur.execute(f"SELECT id FROM p3_orders WHERE id = ANY({ph}) ORDER BY 1", ([1, 2, 77],)).fetchall(), [(1,), (2,)])
            same(cur.execute(f"SELECT id FROM p3_orders WHERE customer = ANY({ph}) ORDER BY 1", (["bob", 'x"y,{}', None],)).fetchall(), [(2,)])
            same(cur.execute(f"SELECT id FROM p3_orders WHERE id <> ALL({ph}) ORDER BY 1", ([1],)).fetchall(), [(2,)])
            same(cur.execute("SELECT ARRAY[1,2,NULL], ARRAY['a','b c',NULL], ARRAY[1.50::numeric(10,2)]").fetchone(), ([1, 2, None], ["a", "b c", None], [Decimal("1.50")]))


@check
def transactions():
    with connect() as c:  # autocommit is off
        c.execute("INSERT INTO p3_stock VALUES ('x', 1)")
        same(c.info.transaction_status.name, "INTRANS")
        with connect(autocommit=True) as d:
            same(d.execute("SELECT count(*) FROM p3_stock WHERE item = 'x'").fetchone(), (0,))
        same(c.execute("SELECT n FROM p3_stock WHERE item = 'x'").fetchone(), (1,))
        c.rollback()
        same(c.execute("SELECT count(*) FROM p3_stock WHERE item = 'x'").fetchone(), (0,))
        try:
            c.execute("SELECT 1/0")
            assert False
        except errors.DivisionByZero as e:
            same(e.diag.sqlstate, "22012")
        same(c.info.transaction_status.name, "INERROR")
        try:
            c.execute("SELECT 1")
            assert False
        except errors.InFailedSqlTransaction:
            pass
        same(c.execute("COMMIT").statusmessage, "ROLLBACK")
        with c.transaction():
            c.execute("INSERT INTO p3_stock VALUES ('y', 1)")
            try:
                with c.transaction():  # a savepoint
                    c.execute("INSERT INTO p3_stock VALUES ('z', 1)")
                    c.execute("INSERT INTO p3_stock VALUES ('z', 'bad')")
            except errors.InvalidTextRepresentation:
                pass
        same(c.execute("SELECT item FROM p3_stock WHERE item IN ('y','z')").fetchall(), [("y",)])
        c.commit()
        c.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        same(c.execute("SHOW transaction_isolation").fetchone(), ("repeatable read",))
        c.rollback()
        c.isolation_level, c.read_only = psycopg.IsolationLevel.SERIALIZABLE, True
        c.execute("SELECT 1")
        try:
            c.execute("DELETE FROM p3_stock")
            assert False
        except errors.ReadOnlySqlTransaction:
            c.rollback()


@check
def ddl_in_a_transaction():
    notices = []
    with connect() as c:
        c.add_notice_handler(lambda d: notices.append((d.severity, d.sqlstate)))
        c.execute("CREATE TABLE p3_ddl (id int PRIMARY KEY)")
        c.rollback()
        assert any(s == "WARNING" for s, _ in notices), notices
        c.execute("INSERT INTO p3_ddl VALUES (1)")
        try:
            c.execute("CREATE TABLE p3_ddl2 (id int PRIMARY KEY)")
            assert False
        except errors.ActiveSqlTransaction as e:
            assert e.diag.message_hint
        c.rollback()
        c.execute("DROP TABLE p3_ddl")
        c.commit()


@check
def prepared_ten_times():
    with connect(autocommit=True) as c:
        for i in range(10):
            same(c.execute("SELECT n + %s FROM p3_stock WHERE item = %s", (i, "lamp"), prepare=True).fetchone(), (9 + i,))
        for i in range(10):
            same(c.execute("UPDATE p3_stock SET n = n + %s WHERE item = %s", (1, "lamp"), prepare=True).rowcount, 1)
        same(c.execute("SELECT n FROM p3_stock WHERE item = 'lamp'").fetchone(), (19,))
        c.execute("CREATE TABLE p3_re (id int PRIMARY KEY, v int)")
        same(c.execute("SELECT v FROM p3_re WHERE id = %s", (1,), prepare=True).fetchall(), [])
        c.execute("DROP TABLE p3_re")
        c.execute("CREATE TABLE p3_re (id int PRIMARY KEY, v int)")
        c.execute("INSERT INTO p3_re VALUES (1, 7)")
        same(c.execute("SELECT v FROM p3_re WHERE id = %s", (1,), prepare=True).fetchall(), [(7,)])
        c.execute("DEALLOCATE ALL")


@check
def parameters_of_other_types():
    with connect(autocommit=True) as c:
        # small ints are declared int2 by psycopg, floats 701, str unknown
        for i, v in enumerate((5, 70000, 2**40)):
            same(c.execute("SELECT id FROM p3_orders WHERE id = %s", (v,)).fetchall(), [])
        same(c.execute("SELECT id FROM p3_orders WHERE amount = %s", (25.0,)).fetchall(), [(1,)])
        same(c.execute("SELECT id FROM p3_orders WHERE amount > %s ORDER BY 1", (Decimal("30"),)).fetchall(), [(2,)])
        same(c.execute("SELECT %s, %s, %s, %s", ("a", 1, None, 2.5)).fetchone(), ("a", 1, None, 2.5))
        same(c.execute("SELECT %s::text || 'x'", ("a",)).fetchone(), ("ax",))
        same(c.execute("SELECT %s + 1, %s::date + 1", (41, dt.date(2024, 2, 28))).fetchone(), (42, dt.date(2024, 2, 29)))
        same(c.execute("SELECT id FROM p3_orders WHERE placed > %s - interval '1 hour' ORDER BY 1 LIMIT %s OFFSET %s", (dt.datetime(2024, 5, 14, 10, 59, tzinfo=UTC), 1, 1)).fetchall(), [(2,)])
        same(c.execute("SELECT %s", (dt.timedelta(days=1, seconds=2),)).fetchone(), (dt.timedelta(days=1, seconds=2),))
        import uuid
        u = uuid.uuid4()
        same(c.execute("SELECT %s", (u,)).fetchone(), (u,))
        same(c.execute("SELECT '{\"a\": [1]}'::json").fetchone(), ({"a": [1]},))


@check
def named_cursor():
    with connect() as c:
        with c.cursor(name="big") as cur:
            cur.execute("SELECT g, 'x' || g FROM generate_series(1, 10000) g ORDER BY g")
            same(cur.fetchone(), (1, "x1"))
            same(len(cur.fetchmany(99)), 99)
            same(cur.fetchone(), (101, "x101"))
            same(sum(1 for _ in cur), 10000 - 101)
        with c.cursor(name="tab", binary=True, row_factory=dict_row) as cur:
            cur.execute("SELECT id, amount FROM p3_orders WHERE id < %s ORDER BY id", (10,))
            same(cur.fetchall(), [{"id": 1, "amount": Decimal("25.00")}, {"id": 2, "amount": Decimal("99.99")}])
        with c.cursor(name="scr", scrollable=False) as cur:
            cur.execute("SELECT g FROM generate_series(1, 10) g")
            cur.scroll(5)
            same(cur.fetchone(), (6,))
        with c.cursor(name="w/x \"q\"") as cur:
            cur.execute("SELECT 1")
            same(cur.fetchall(), [(1,)])


@check
def copy_both_ways():
    with connect(autocommit=True) as c:
        c.execute(TYPES.replace("p3_types", "p3_copy"))
        oids = "int4 bool int2 int4 int8 float4 float8 numeric numeric text varchar text bytea date time timestamp timestamptz".split()
        for fmt in ("text", "binary"):
            c.execute("DELETE FROM p3_copy")
            with c.cursor().copy(f"COPY p3_copy FROM STDIN (FORMAT {fmt})") as copy:
                if fmt == "binary":
                    copy.set_types(oids)
                for r in ROWS:
                    copy.write_row(r)
            got = c.execute("SELECT * FROM p3_copy ORDER BY id").fetchall()
            same(got, c.execute("SELECT * FROM p3_types WHERE id < 5 ORDER BY id").fetchall())
            cur = c.cursor()
            with cur.copy(f"COPY p3_copy TO STDOUT (FORMAT {fmt})") as copy:
                copy.set_types([o if i != 9 else "bpchar" for i, o in enumerate(oids)])
                exact = lambda rows: [r[:5] + (float32(r[5]),) + r[6:] for r in rows]
                same(exact(sorted(copy.rows(), key=lambda r: r[0])), exact(got))
            same(cur.rowcount, 4)
        try:
            with c.cursor().copy("COPY p3_stock FROM STDIN") as copy:
                copy.write("a\t1\nb\tzwei\n")
            assert False
        except errors.InvalidTextRepresentation as e:
            same(e.diag.context, 'COPY p3_stock, line 2, column n: "zwei"')
        try:
            with c.cursor().copy("COPY p3_stock FROM STDIN") as copy:
                copy.write("a\t1\n")
                raise ValueError("changed my mind")
        except ValueError:
            pass
        same(c.execute("SELECT count(*) FROM p3_stock WHERE item = 'a'").fetchone(), (0,))
        with c.cursor().copy("COPY p3_stock (n, item) FROM STDIN WITH (FORMAT csv, HEADER, NULL 'nil')") as copy:
            copy.write('n,item\nnil,"say ""hi"", twice"\n5,\n')
        same(c.execute("SELECT item, n FROM p3_stock WHERE item = '' OR n IS NULL ORDER BY 1").fetchall(), [("", 5), ('say "hi", twice', None)])


@check
def executemany_and_pipeline():
    with connect(autocommit=True) as c:
        c.execute("CREATE TABLE p3_many (id int PRIMARY KEY, v text)")
        cur = c.cursor()
        cur.executemany("INSERT INTO p3_many VALUES (%s, %s)", [(i, f"v{i}") for i in range(500)])
        same(cur.rowcount, 500)
        same(c.execute("SELECT count(*), max(id) FROM p3_many").fetchone(), (500, 499))
        with c.pipeline() as p:
            a = c.execute("SELECT count(*) FROM p3_many")
            c.execute("INSERT INTO p3_many VALUES (1000, 'p')")
            b = c.execute("SELECT v FROM p3_many WHERE id = 1000")
            same((a.fetchone(), b.fetchone()), ((500,), ("p",)))
            p.sync()
            try:
                c.execute("SELECT 1/0")
                c.execute("INSERT INTO p3_many VALUES (1001, 'lost')")
                p.sync()
                assert False
            except errors.DivisionByZero:
                pass
        same(c.execute("SELECT count(*) FROM p3_many WHERE id > 999").fetchone(), (1,))
        # a pipeline up to Sync is one transaction
        try:
            with c.pipeline() as p:
                c.execute("INSERT INTO p3_many VALUES (2000, 'undone')")
                c.execute("SELECT 1/0")
        except errors.DivisionByZero:
            pass
        same(c.execute("SELECT count(*) FROM p3_many WHERE id = 2000").fetchone(), (0,))


@check
def errors_have_codes():
    cases = {"SELEC 1": "42601", "SELECT * FROM nope": "42P01", "SELECT nope FROM p3_stock": "42703", "SELECT nope(1)": "42883", "SELECT 'a'::int": "22P02",
             "SELECT 1/0": "22012", "INSERT INTO p3_stock VALUES (NULL, 1)": "23502", "SELECT 1::varchar(2)::nope": "42704", "FETCH 1 FROM nope": "34000",
             "EXECUTE nope": "26000", "SET nope = 1": "42704", "TRUNCATE p3_stock": "0A000", "INSERT INTO p3_stock VALUES ('x', 99999999999)": "22003"}
    with connect(autocommit=True) as c:
        for text, code in cases.items():
            for cur in (c.cursor(), psycopg.ClientCursor(c)):
                try:
                    cur.execute(text)
                    assert False, text
                except psycopg.Error as e:
                    same((text, e.sqlstate), (text, code))
        try:
            c.execute("SELECT nn FROM p3_stock WHERE n = %s", (1,))
        except psycopg.Error as e:
            same((e.diag.statement_position, e.diag.message_hint), ("8", 'Perhaps you meant the column "n".'))


@check
def cancel_and_timeout():
    with connect(autocommit=True) as c:
        def stop():
            time.sleep(0.3)
            c.cancel_safe()
        th = threading.Thread(target=stop)
        th.start()
        try:
            c.execute("SELECT count(*) FROM generate_series(1, 100000) a, generate_series(1, 100000) b, generate_series(1, 1000) d").fetchone()
            assert False
        except errors.QueryCanceled as e:
            same(e.diag.sqlstate, "57014")
        th.join()
        same(c.execute("SELECT 1").fetchone(), (1,))
        c.execute("SET statement_timeout = '200ms'")
        try:
            c.execute("SELECT count(*) FROM generate_series(1, 100000) a, generate_series(1, 100000) b, generate_series(1, 1000) d").fetchone()
            assert False
        except errors.QueryCanceled as e:
            assert "timeout" in e.diag.message_primary, e
        c.execute("RESET statement_timeout")


@check
def streaming():
    with connect(autocommit=True) as c, connect(autocommit=True) as w:
        w.execute("CREATE TABLE p3_feed (id int PRIMARY KEY, v text)")
        w.execute("INSERT INTO p3_feed VALUES (1, 'a')")
        c.execute("SET execution.runtime_mode = streaming")
        got = []
        cur = c.cursor()
        try:
            for row in cur.stream("SELECT id, v FROM p3_feed"):
                got.append(row)
                if len(got) == 1:
                    w.execute("UPDATE p3_feed SET v = 'b' WHERE id = 1")
                elif len(got) == 3:
                    w.execute("DELETE FROM p3_feed WHERE id = 1")
                elif len(got) == 4:
                    c.cancel_safe()
        except errors.QueryCanceled:
            pass
        same(got, [("+I", 1, "a"), ("-U", 1, "a"), ("+U", 1, "b"), ("-D", 1, "b")])
        with c.transaction():
            with c.cursor(name="feed") as cur:
                cur.execute("SELECT id, v FROM p3_feed")
                w.execute("INSERT INTO p3_feed VALUES (5, 'n')")
                same(cur.fetchone(), ("+I", 5, "n"))
        got = []
        try:
            with c.cursor().copy("COPY (SELECT id FROM p3_feed) TO STDOUT") as copy:
                for row in copy.rows():
                    got.append(row)
                    c.cancel_safe()
        except errors.QueryCanceled:
            pass
        same(got, [("+I", "5")])
        c.execute("RESET execution.runtime_mode")
        same(c.execute("SELECT count(*) FROM p3_feed").fetchone(), (1,))


@check
def settings_and_catalogue():
    from psycopg.types import TypeInfo
    with connect(autocommit=True) as c:
        same(c.info.server_version // 10000, 15)
        same(c.info.encoding, "utf-8")
        c.execute("SET application_name = 'me'")
        same(c.info.parameter_status("application_name"), "me")
        c.execute("SET TIME ZONE 'America/New_York'")
        same(c.execute("SELECT placed FROM p3_orders WHERE id = 1").fetchone()[0].utcoffset(), dt.timedelta(hours=-4))
        c.execute("RESET ALL")
        t = TypeInfo.fetch(c, "text")
        same((t.oid, t.array_oid), (25, 1009))
        same(TypeInfo.fetch(c, "nope"), None)


main()
