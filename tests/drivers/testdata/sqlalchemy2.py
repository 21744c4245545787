"""psycopg2 by itself, and SQLAlchemy 2 over it."""
import datetime as dt
import math
import select
from decimal import Decimal

import psycopg2
import psycopg2.extensions as ext
import psycopg2.extras
import sqlalchemy as sa
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column

from common import DSN, check, main, same

UTC = dt.timezone.utc


def connect(autocommit=False):
    c = psycopg2.connect(DSN)
    c.autocommit = autocommit
    return c


def fails(code, f):
    try:
        f()
    except (psycopg2.Error, sa.exc.DBAPIError) as e:
        e = getattr(e, "orig", e)
        same(e.pgcode, code)
        return e
    raise AssertionError("no error " + code)


@check
def psycopg2_basics():
    c = connect()
    cur = c.cursor()
    cur.execute("CREATE TABLE p2_t (id int PRIMARY KEY, n numeric(38,10), f float8, b bytea, d date, ts timestamp, tz timestamptz, tx text, bo boolean)")
    c.commit()
    rows = [(1, Decimal("1234567890123456789012345678.0123456789"), math.inf, b"\x00\xff'", dt.date(1, 1, 1), dt.datetime(1969, 12, 31, 23, 59, 59, 999999),
             dt.datetime(2024, 5, 14, 12, 0, tzinfo=dt.timezone(dt.timedelta(hours=5, minutes=30))), "it's \\ $1 %", True), (2,) + (None,) * 8]
    psycopg2.extras.execute_values(cur, "INSERT INTO p2_t VALUES %s", rows)
    same(cur.rowcount, 2)
    c.commit()
    cur.execute("SELECT id, n, f, b, d, ts, tz, tx, bo FROM p2_t ORDER BY id")
    got = [tuple(bytes(v) if isinstance(v, memoryview) else v for v in r) for r in cur.fetchall()]
    same(got, rows)
    same([d.type_code for d in cur.description], [23, 1700, 701, 17, 1082, 1114, 1184, 25, 16])
    cur.execute("SELECT id FROM p2_t WHERE id = ANY(%s) AND tx IN %s", ([1, 2], ("it's \\ $1 %", "x")))
    same(cur.fetchall(), [(1,)])
    same(c.get_transaction_status(), ext.TRANSACTION_STATUS_INTRANS)
    fails("22012", lambda: cur.execute("SELECT 1/0"))
    same(c.get_transaction_status(), ext.TRANSACTION_STATUS_INERROR)
    fails("25P02", lambda: cur.execute("SELECT 1"))
    c.rollback()
    with c, c.cursor("named") as named:
        named.itersize = 100
        named.execute("SELECT g FROM generate_series(1, 1000) g ORDER BY g")
        same(sum(r[0] for r in named), 500500)
    import io
    cur.copy_expert("COPY p2_t (id, tx) FROM STDIN", io.StringIO("5\tfive\n6\t\\N\n"))
    out = io.StringIO()
    cur.copy_expert("COPY (SELECT id, tx FROM p2_t WHERE id > 4 ORDER BY id) TO STDOUT WITH CSV HEADER", out)
    same(out.getvalue(), "id,tx\n5,five\n6,\n")
    c.rollback()
    cur.execute("SELECT count(*) FROM p2_t WHERE id > 4")
    same(cur.fetchone(), (0,))
    c.close()


@check
def tour():
    engine = sa.create_engine(DSN.replace("postgresql:", "postgresql+psycopg2:"))
    with engine.begin() as c:
        c.execute(sa.text("CREATE TABLE sa_orders (id bigint PRIMARY KEY, customer text, amount numeric(10,2), placed timestamptz)"))
    with engine.begin() as c:
        c.execute(sa.text("INSERT INTO sa_orders VALUES (:i, :c, :a, :p)"), [
            dict(i=1, c="ann", a=Decimal("12.50"), p=dt.datetime(2024, 5, 14, 10, tzinfo=UTC)), dict(i=2, c="bob", a=Decimal("99.99"), p=dt.datetime(2024, 5, 14, 10, 5, tzinfo=UTC))])
        same(c.execute(sa.text("UPDATE sa_orders SET amount = amount * 2 WHERE customer = 'ann'")).rowcount, 1)
        same(c.execute(sa.text("SELECT id, amount FROM sa_orders ORDER BY id")).all(), [(1, Decimal("25.00")), (2, Decimal("99.99"))])
    with engine.connect() as c:
        same(c.dialect.server_version_info[:1], (15,))
        same(c.get_isolation_level(), "READ COMMITTED")
        same(c.execution_options(isolation_level="REPEATABLE READ").execute(sa.text("SHOW transaction_isolation")).scalar(), "repeatable read")


@check
def reflection():
    engine = sa.create_engine(DSN.replace("postgresql:", "postgresql+psycopg2:"))
    with engine.begin() as c:
        c.execute(sa.text("CREATE TABLE sa_refl (day date, id int, v varchar(20) NOT NULL COMMENT 'a word', n numeric(10,2), ts timestamp(3), b bytea, PRIMARY KEY (day, id)) COMMENT 'a table' PARTITIONED BY (day)"))
        c.execute(sa.text("CREATE SCHEMA sa_schema"))
        c.execute(sa.text("CREATE TABLE sa_schema.logt (what text)"))
    ins = sa.inspect(engine)
    assert "sa_refl" in ins.get_table_names(), ins.get_table_names()
    assert "sa_schema" in ins.get_schema_names()
    same(ins.get_table_names(schema="sa_schema"), ["logt"])
    same(ins.get_pk_constraint("sa_refl")["constrained_columns"], ["day", "id"])
    cols = ins.get_columns("sa_refl")
    same([(c["name"], str(c["type"]), c["nullable"], c["comment"]) for c in cols], [
        ("day", "DATE", False, None), ("id", "INTEGER", False, None), ("v", "VARCHAR(20)", False, "a word"), ("n", "NUMERIC(10, 2)", True, None),
        ("ts", "TIMESTAMP", True, None), ("b", "BYTEA", True, None)])
    same(ins.get_table_comment("sa_refl")["text"], "a table")
    same((ins.get_foreign_keys("sa_refl"), ins.get_indexes("sa_refl"), ins.get_unique_constraints("sa_refl"), ins.get_check_constraints("sa_refl")), ([], [], [], []))
    same((ins.has_table("sa_refl"), ins.has_table("nope"), ins.get_view_names()), (True, False, []))
    meta = sa.MetaData()
    meta.reflect(engine)
    same([c.name for c in meta.tables["sa_refl"].primary_key], ["day", "id"])
    with engine.begin() as c:
        t = meta.tables["sa_refl"]
        c.execute(t.insert(), [dict(day=dt.date(2024, 1, 1), id=1, v="x", n=Decimal("1.00")), dict(day=dt.date(2024, 1, 2), id=1, v="y", n=None)])
        same(c.execute(sa.select(t.c.v).where(t.c.day.in_([dt.date(2024, 1, 2)]))).all(), [("y",)])
        same(c.execute(sa.select(sa.func.count()).select_from(t).where(t.c.n.is_(None))).scalar(), 1)


class Base(DeclarativeBase):
    pass


class Account(Base):
    __tablename__ = "sa_account"
    id: Mapped[int] = mapped_column(sa.BigInteger, primary_key=True, autoincrement=False)
    name: Mapped[str] = mapped_column(sa.String(30))
    balance: Mapped[Decimal] = mapped_column(sa.Numeric(12, 2))
    since: Mapped[dt.datetime | None] = mapped_column(sa.DateTime(timezone=True))
    active: Mapped[bool] = mapped_column(sa.Boolean)
    data: Mapped[bytes | None] = mapped_column(sa.LargeBinary)


@check
def orm():
    engine = sa.create_engine(DSN.replace("postgresql:", "postgresql+psycopg2:"))
    Base.metadata.create_all(engine)
    Base.metadata.create_all(engine)  # finds them
    with Session(engine) as s:
        s.add_all([Account(id=i, name=f"n{i}", balance=Decimal(i), since=dt.datetime(2024, 1, 1, tzinfo=UTC), active=i % 2 == 0, data=b"\x00x") for i in range(1, 51)])
        s.commit()
        a = s.get(Account, 7)
        same((a.name, a.balance, a.active, bytes(a.data), a.since), ("n7", Decimal("7.00"), False, b"\x00x", dt.datetime(2024, 1, 1, tzinfo=UTC)))
        a.balance += Decimal("0.50")
        a.since = None
        s.commit()
        same(s.scalar(sa.select(Account.balance).where(Account.id == 7)), Decimal("7.50"))
        s.delete(s.get(Account, 8))
        s.commit()
        same(s.scalar(sa.select(sa.func.count()).select_from(Account)), 49)
        same(s.execute(sa.update(Account).where(Account.active).values(balance=Account.balance * 2)).rowcount, 24)
        s.rollback()
        same(s.scalars(sa.select(Account.id).where(Account.name.like("n1%")).order_by(Account.id.desc()).limit(2)).all(), [19, 18])
        with s.begin_nested():
            s.add(Account(id=99, name="x", balance=1, active=True))
        s.rollback()
        same(s.get(Account, 99), None)
        s.add(Account(id=100, name="x" * 31, balance=1, active=True))
        fails("22001", s.commit)
        s.rollback()
        rows = list(s.execute(sa.select(Account.id).order_by(Account.id), execution_options={"stream_results": True, "yield_per": 10}))
        same(len(rows), 49)

    class Serial(Base):
        __tablename__ = "sa_serial"
        id: Mapped[int] = mapped_column(primary_key=True)
    e = fails("0A000", lambda: Base.metadata.create_all(engine))
    assert "bigint" in e.diag.message_hint, e.diag.message_hint


@check
def cancel_and_streaming():
    c, w = connect(True), connect(True)
    w.cursor().execute("CREATE TABLE p2_feed (id int PRIMARY KEY, v text)")
    w.cursor().execute("INSERT INTO p2_feed VALUES (1, 'a')")
    cur = c.cursor()
    cur.execute("SET execution.runtime_mode = streaming")
    cur.execute("BEGIN")
    cur.execute("DECLARE f CURSOR FOR SELECT id, v FROM p2_feed")
    assert any("streaming" in n for n in c.notices), c.notices
    cur.execute("FETCH 1 FROM f")
    same(cur.fetchall(), [("+I", 1, "a")])
    w.cursor().execute("DELETE FROM p2_feed")
    cur.execute("FETCH 1 FROM f")
    same(cur.fetchall(), [("-D", 1, "a")])
    import threading
    t = threading.Timer(0.3, c.cancel)
    t.start()
    fails("57014", lambda: cur.execute("FETCH 1 FROM f"))
    t.join()
    cur.execute("ROLLBACK")
    cur.execute("RESET execution.runtime_mode")
    cur.execute("SELECT 1")
    same(cur.fetchone(), (1,))


main()
