import asyncio
import datetime as dt
import math
from decimal import Decimal
from urllib.parse import urlsplit

import asyncpg
import pg8000.native

from common import DSN, check, main, same

UTC = dt.timezone.utc
U = urlsplit(DSN)


def run(f):
    def g():
        asyncio.run(asyncio.wait_for(f(), 60))
    g.__name__ = f.__name__
    return check(g)


async def fails(code, aw):
    try:
        await aw
    except asyncpg.PostgresError as e:
        same(e.sqlstate, code)
        return e
    raise AssertionError("no error " + code)


@run
async def asyncpg_tour():
    c = await asyncpg.connect(DSN)
    await c.execute("CREATE TABLE ap_orders (id bigint PRIMARY KEY, customer text, amount numeric(10,2), placed timestamptz); CREATE TABLE ap_stock (item text PRIMARY KEY, n int)")
    await c.executemany("INSERT INTO ap_orders VALUES ($1, $2, $3, $4)", [(1, "ann", Decimal("12.50"), dt.datetime(2024, 5, 14, 10, tzinfo=UTC)), (2, "bob", Decimal("99.99"), None)])
    same(await c.execute("UPDATE ap_orders SET amount = amount * $1 WHERE customer = $2", Decimal(2), "ann"), "UPDATE 1")
    same([tuple(r) for r in await c.fetch("SELECT * FROM ap_orders ORDER BY id")], [(1, "ann", Decimal("25.00"), dt.datetime(2024, 5, 14, 10, tzinfo=UTC)), (2, "bob", Decimal("99.99"), None)])
    await c.execute("INSERT INTO ap_stock VALUES ('lamp', 10)")
    async with c.transaction():
        await c.execute("INSERT INTO ap_orders VALUES (3, 'cid', 40, NULL)")
        await c.execute("UPDATE ap_stock SET n = n - 1")
    same(await c.fetchval("SELECT n FROM ap_stock WHERE item = $1", "lamp"), 9)
    same(await c.execute("DELETE FROM ap_orders WHERE id = ANY($1::bigint[])", [3, 4]), "DELETE 1")
    await c.close()


@run
async def asyncpg_types():
    c = await asyncpg.connect(DSN)
    await c.execute("CREATE TABLE ap_types (id int PRIMARY KEY, bo boolean, si smallint, bi bigint, re real, dp float8, n numeric(38,10), vc varchar(9), by bytea, da date, ti time, ts timestamp, tz timestamptz)")
    row = (1, True, -32768, -(2**63), 1.5, math.inf, Decimal("-9999999999999999999999999999.0000000001"), "✓", b"\x00\xff", dt.date(1969, 12, 31), dt.time(23, 59, 59, 999000),
           dt.datetime(1900, 1, 1, 0, 0, 0, 1), dt.datetime(2024, 5, 14, 10, tzinfo=UTC))
    await c.execute("INSERT INTO ap_types VALUES (" + ", ".join(f"${i + 1}" for i in range(len(row))) + ")", *row)
    await c.execute("INSERT INTO ap_types VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)", 2, *[None] * 12)
    got = await c.fetch("SELECT * FROM ap_types ORDER BY id")
    same(tuple(got[0]), row)
    same(tuple(got[1]), (2,) + (None,) * 12)
    st = await c.prepare("SELECT id FROM ap_types WHERE id = $1 AND vc = $2 AND da = $3")
    for i in range(10):
        same(await st.fetchval(1, "✓", dt.date(1969, 12, 31)), 1)
    same(await c.fetchval("SELECT id FROM ap_types WHERE vc = ANY($1) AND n = ANY($2)", ["✓", "x"], [row[6]]), 1)
    cur = []
    async with c.transaction():
        async for r in c.cursor("SELECT g FROM generate_series(1, 500) g ORDER BY g", prefetch=50):
            cur.append(r["g"])
    same(sum(cur), 125250)
    # binary COPY both ways
    same(await c.copy_records_to_table("ap_types", records=[(3,) + row[1:], (4,) + (None,) * 12]), "COPY 2")
    same(tuple(await c.fetchrow("SELECT * FROM ap_types WHERE id = 3"))[1:], row[1:])
    import io
    out = io.BytesIO()
    same(await c.copy_from_query("SELECT id, vc FROM ap_types ORDER BY id", output=out, format="csv", header=True), "COPY 4")
    same(out.getvalue().decode(), "id,vc\n1,✓\n2,\n3,✓\n4,\n")
    await c.close()


@run
async def asyncpg_errors():
    c = await asyncpg.connect(DSN)
    e = await fails("42703", c.fetch("SELECT nn FROM ap_stock WHERE n = $1", 1))
    same(e.position, "8")
    await fails("42P01", c.execute("SELECT * FROM nope"))
    await fails("22012", c.fetch("SELECT 1/$1::int", 0))
    tr = c.transaction()
    await tr.start()
    await fails("22012", c.execute("SELECT 1/0"))
    await fails("25P02", c.execute("SELECT 1"))
    await tr.rollback()
    try:
        await c.fetch("SELECT count(*) FROM generate_series(1, 100000) a, generate_series(1, 100000) b, generate_series(1, 100) d", timeout=0.3)
        assert False
    except asyncio.TimeoutError:
        pass
    same(await c.fetchval("SELECT 1"), 1)
    await c.close()


@run
async def asyncpg_pool():
    async with asyncpg.create_pool(DSN, min_size=1, max_size=3) as pool:
        for _ in range(3):
            async with pool.acquire() as c:  # its release resets the session
                await c.execute("SET application_name = 'x'")
                same(await c.fetchval("SELECT 1"), 1)
        await asyncio.gather(*[pool.execute("UPDATE ap_stock SET n = n + 1 WHERE item = 'lamp'") for _ in range(10)])
        same(await pool.fetchval("SELECT n FROM ap_stock WHERE item = 'lamp'"), 19)


@run
async def asyncpg_streaming():
    c, w = await asyncpg.connect(DSN), await asyncpg.connect(DSN)
    await w.execute("CREATE TABLE ap_feed (id int PRIMARY KEY)")
    await w.execute("INSERT INTO ap_feed VALUES (1)")
    await c.execute("SET execution.runtime_mode = streaming")
    async with c.transaction():
        cur = await c.cursor("SELECT id FROM ap_feed")
        same(tuple(await cur.fetchrow()), ("+I", 1))
        await w.execute("INSERT INTO ap_feed VALUES (2)")
        same(tuple(await cur.fetchrow()), ("+I", 2))
    await c.execute("RESET execution.runtime_mode")
    same(await c.fetchval("SELECT count(*) FROM ap_feed"), 2)
    await c.close()
    await w.close()


@check
def pg8000_native():
    c = pg8000.native.Connection(U.username, host=U.hostname, port=U.port, database=U.path[1:])
    c.run("CREATE TABLE p8_t (id int PRIMARY KEY, n numeric(20,4), tx text, by bytea, tz timestamptz, da date, dp float8)")
    row = [1, Decimal("1.5000"), "it's", b"\x00\xff", dt.datetime(1969, 12, 31, 23, 59, tzinfo=UTC), dt.date(1969, 1, 1), 0.1]
    c.run("INSERT INTO p8_t VALUES (:a, :b, :c, :d, :e, :f, :g)", a=row[0], b=row[1], c=row[2], d=row[3], e=row[4], f=row[5], g=row[6])
    same(c.row_count, 1)
    same(c.run("SELECT * FROM p8_t"), [row])
    same([x["name"] for x in c.columns], ["id", "n", "tx", "by", "tz", "da", "dp"])
    same(c.run("SELECT id FROM p8_t WHERE id = ANY(:ids)", ids=[1, 2]), [[1]])
    p = c.prepare("SELECT tx FROM p8_t WHERE id = :i")
    for _ in range(10):
        same(p.run(i=1), [["it's"]])
    for code, text in {"22012": "SELECT 1/0", "42P01": "SELECT * FROM nope", "42601": "SELEC 1"}.items():
        try:
            c.run(text)
            assert False
        except pg8000.native.DatabaseError as e:
            same(e.args[0]["C"], code)
    c.run("START TRANSACTION")
    c.run("DELETE FROM p8_t")
    c.run("ROLLBACK")
    same(c.run("SELECT count(*) FROM p8_t"), [[1]])
    import io
    c.run("COPY p8_t (id, tx) FROM STDIN", stream=io.BytesIO(b"5\tfive\n"))
    out = io.BytesIO()
    c.run("COPY (SELECT id, tx FROM p8_t ORDER BY id) TO STDOUT", stream=out)
    same(out.getvalue(), b"1\tit's\n5\tfive\n")
    c.close()


main()
