import java.io.ByteArrayOutputStream;
import java.io.StringReader;
import java.math.BigDecimal;
import java.sql.*;
import java.time.*;
import java.util.*;
import org.postgresql.PGConnection;
import org.postgresql.copy.CopyManager;
import org.postgresql.PGStatement;

/** pgjdbc, in text and, past its prepareThreshold, in binary. */
public class Jdbc {
    interface Check { void run() throws Exception; }

    static String url = System.getenv("JDBC_URL");
    static int failed;

    static Connection connect(String... more) throws SQLException {
        return DriverManager.getConnection(url + (more.length > 0 ? "&" + String.join("&", more) : ""));
    }

    static void check(String name, Check c) {
        try {
            c.run();
            System.out.println("ok " + name);
        } catch (Throwable e) {
            failed++;
            System.out.println("FAIL " + name + " " + e);
            for (StackTraceElement s : e.getStackTrace()) if (s.getClassName().startsWith("Jdbc")) System.out.println("    " + s);
        }
    }

    static void same(Object got, Object want) {
        boolean eq = got instanceof byte[] g && want instanceof byte[] w ? Arrays.equals(g, w) : Objects.equals(got, want);
        if (!eq) throw new AssertionError("got " + got + ", want " + want);
    }

    static SQLException fails(String code, Check c) throws Exception {
        try {
            c.run();
        } catch (SQLException e) {
            same(e.getSQLState() + " " + e.getMessage().lines().findFirst().get(), code + e.getMessage().lines().findFirst().map(s -> " " + s).get());
            return e;
        }
        throw new AssertionError("no error " + code);
    }

    static List<String> column(ResultSet r, String name) throws SQLException {
        List<String> out = new ArrayList<>();
        while (r.next()) out.add(r.getString(name));
        return out;
    }

    static void tour() throws Exception {
        try (Connection c = connect(); Statement s = c.createStatement()) {
            s.execute("CREATE TABLE jd_orders (id bigint PRIMARY KEY, customer text, amount numeric(10,2), placed timestamptz)");
            s.execute("CREATE TABLE jd_stock (item text PRIMARY KEY, n int)");
            try (PreparedStatement p = c.prepareStatement("INSERT INTO jd_orders VALUES (?, ?, ?, ?)")) {
                p.setLong(1, 1); p.setString(2, "ann"); p.setBigDecimal(3, new BigDecimal("12.50")); p.setObject(4, OffsetDateTime.parse("2024-05-14T10:00:00Z"));
                p.addBatch();
                p.setLong(1, 2); p.setString(2, "bob"); p.setBigDecimal(3, new BigDecimal("99.99")); p.setTimestamp(4, Timestamp.from(Instant.parse("2024-05-14T10:05:00Z")));
                p.addBatch();
                same(Arrays.toString(p.executeBatch()), "[1, 1]");
            }
            same(s.executeUpdate("UPDATE jd_orders SET amount = amount * 2 WHERE customer = 'ann'"), 1);
            ResultSet r = s.executeQuery("SELECT * FROM jd_orders ORDER BY id");
            r.next();
            same(r.getBigDecimal("amount"), new BigDecimal("25.00"));
            same(r.getObject("placed", OffsetDateTime.class).toInstant(), Instant.parse("2024-05-14T10:00:00Z"));
            same(r.getMetaData().getTableName(1), "jd_orders");
            same(r.getMetaData().getColumnTypeName(3), "numeric");
            same(r.getMetaData().getPrecision(3), 10);
            s.execute("INSERT INTO jd_stock VALUES ('lamp', 10)");
            c.setAutoCommit(false);
            s.execute("INSERT INTO jd_orders VALUES (3, 'cid', 40, '2024-05-14 11:00:00+00')");
            same(s.executeUpdate("UPDATE jd_stock SET n = n - 1 WHERE item = 'lamp'"), 1);
            c.commit();
            c.setAutoCommit(true);
            r = s.executeQuery("SELECT n FROM jd_stock");
            r.next();
            same(r.getInt(1), 9);
            s.execute("CHECKPOINT");
            same(s.executeQuery("ALTER TABLE jd_orders COMPACT").next(), true);
            same(s.executeUpdate("DELETE FROM jd_orders WHERE id = 3"), 1);
        }
    }

    static final Object[] ROW = {1, true, (short) -32768, Long.MIN_VALUE, 0.1f, Double.POSITIVE_INFINITY, new BigDecimal("-9999999999999999999999999999.0000000001"), "é  ", "✓",
        new byte[] {0, -1, 92}, LocalDate.of(-43, 3, 15), LocalTime.parse("23:59:59.999"), LocalDateTime.parse("1900-01-01T00:00:00.000001"), OffsetDateTime.parse("1969-12-31T23:59:59.999999Z")};

    static void row(ResultSet r) throws SQLException {
        same(r.getInt(1), ROW[0]);
        same(r.getBoolean(2), ROW[1]);
        same(r.getShort(3), ROW[2]);
        same(r.getLong(4), ROW[3]);
        same(r.getFloat(5), ROW[4]);
        same(r.getDouble(6), ROW[5]);
        same(r.getBigDecimal(7), ROW[6]);
        same(r.getString(8), ROW[7]);
        same(r.getString(9), ROW[8]);
        same(r.getBytes(10), ROW[9]);
        same(r.getObject(11, LocalDate.class), ROW[10]);
        same(r.getObject(12, LocalTime.class), ROW[11]);
        same(r.getObject(13, LocalDateTime.class), ROW[12]);
        same(r.getObject(14, OffsetDateTime.class).toInstant(), ((OffsetDateTime) ROW[13]).toInstant());
    }

    static void types() throws Exception {
        try (Connection c = connect("prepareThreshold=3"); Statement s = c.createStatement()) {
            s.execute("CREATE TABLE jd_types (id int PRIMARY KEY, bo boolean, si smallint, bi bigint, re real, dp float8, n numeric(38,10), ch char(3), vc varchar(9), by bytea, da date, ti time, ts timestamp, tz timestamptz)");
            s.execute("SET TIME ZONE 'Asia/Tokyo'");
            try (PreparedStatement p = c.prepareStatement("INSERT INTO jd_types VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)")) {
                for (int id = 1; id <= 6; id++) {
                    for (int i = 0; i < ROW.length; i++) p.setObject(i + 1, ROW[i]);
                    p.setInt(1, id);
                    same(p.executeUpdate(), 1);
                }
                int[] kinds = {Types.INTEGER, Types.BOOLEAN, Types.SMALLINT, Types.BIGINT, Types.REAL, Types.DOUBLE, Types.NUMERIC, Types.CHAR, Types.VARCHAR, Types.BINARY, Types.DATE, Types.TIME, Types.TIMESTAMP, Types.TIMESTAMP_WITH_TIMEZONE};
                for (int i = 0; i < ROW.length; i++) p.setNull(i + 1, kinds[i]);
                p.setInt(1, 7);
                same(p.executeUpdate(), 1);
            }
            for (int flush = 0; flush < 2; flush++) {
                try (PreparedStatement p = c.prepareStatement("SELECT * FROM jd_types WHERE id >= ? AND id < 7"); PreparedStatement k = c.prepareStatement("SELECT * FROM jd_types WHERE id = ?")) {
                    for (int i = 0; i < 10; i++) {
                        p.setInt(1, 1);
                        ResultSet r = p.executeQuery();
                        r.next();
                        int id = r.getInt(1);
                        k.setInt(1, 1);
                        ResultSet kr = k.executeQuery();
                        kr.next();
                        row(kr);
                        while (id != 1) { r.next(); id = r.getInt(1); }
                        row(r);
                    }
                    same(p.unwrap(PGStatement.class).isUseServerPrepare(), true);
                    k.setInt(1, 7);
                    ResultSet r = k.executeQuery();
                    r.next();
                    for (int i = 2; i <= 14; i++) { same(r.getString(i), null); same(r.wasNull(), true); }
                }
                s.execute("CHECKPOINT");
            }
            try (PreparedStatement p = c.prepareStatement("SELECT id FROM jd_types WHERE id = ANY(?) AND vc = ANY(?) ORDER BY id")) {
                for (int i = 0; i < 6; i++) {
                    p.setArray(1, c.createArrayOf("int4", new Integer[] {1, 2, 99}));
                    p.setArray(2, c.createArrayOf("text", new String[] {"✓", "a\"b,c", null}));
                    same(column(p.executeQuery(), "id").toString(), "[1, 2]");
                }
            }
            for (String col : List.of("da", "ts", "tz", "n", "dp", "vc", "by", "ti", "bo")) {
                try (PreparedStatement p = c.prepareStatement("SELECT count(*) FROM jd_types WHERE " + col + " = ?")) {
                    int i = Map.of("da", 10, "ts", 12, "tz", 13, "n", 6, "dp", 5, "vc", 8, "by", 9, "ti", 11, "bo", 1).get(col);
                    for (int n = 0; n < 5; n++) {
                        p.setObject(1, ROW[i]);
                        ResultSet r = p.executeQuery();
                        r.next();
                        same(col + r.getInt(1), col + 6);
                    }
                }
            }
            ResultSet r = s.executeQuery("SELECT 'NaN'::float8, ARRAY[1,2,NULL], ARRAY['a','b c'], interval '1 day 2 hours', NULL");
            r.next();
            same(Double.isNaN(r.getDouble(1)), true);
            same(Arrays.toString((Object[]) r.getArray(2).getArray()), "[1, 2, null]");
            same(Arrays.toString((Object[]) r.getArray(3).getArray()), "[a, b c]");
        }
    }

    static void fetchSize() throws Exception {
        try (Connection c = connect()) {
            c.setAutoCommit(false);
            try (PreparedStatement p = c.prepareStatement("SELECT g FROM generate_series(1, ?) g ORDER BY g")) {
                p.setFetchSize(100);
                for (int i = 0; i < 7; i++) {
                    p.setInt(1, 1000);
                    long sum = 0;
                    ResultSet r = p.executeQuery();
                    while (r.next()) {
                        sum += r.getLong(1);
                        if (r.getLong(1) == 150) { // another statement in between
                            ResultSet o = c.createStatement().executeQuery("SELECT 1");
                            same(o.next(), true);
                        }
                    }
                    same(sum, 500500L);
                }
            }
            c.commit();
        }
    }

    static void metaData() throws Exception {
        try (Connection c = connect(); Statement s = c.createStatement()) {
            s.execute("CREATE TABLE jd_meta (day date, id int, v varchar(20) NOT NULL COMMENT 'a word', n numeric(10,2), ts timestamp(3), PRIMARY KEY (day, id)) COMMENT 'a table' PARTITIONED BY (day)");
            DatabaseMetaData m = c.getMetaData();
            same(m.getDatabaseMajorVersion(), 15);
            same(column(m.getSchemas(), "TABLE_SCHEM").contains("public"), true);
            same(column(m.getTables(null, "public", "jd_m%", new String[] {"TABLE", "PARTITIONED TABLE"}), "TABLE_NAME").toString(), "[jd_meta]");
            ResultSet r = m.getTables(null, "public", "jd_meta", null);
            r.next();
            same(r.getString("REMARKS"), "a table");
            StringBuilder cols = new StringBuilder();
            r = m.getColumns(null, "public", "jd_meta", "%");
            while (r.next()) cols.append(r.getString("COLUMN_NAME") + " " + r.getString("TYPE_NAME") + " " + r.getInt("COLUMN_SIZE") + "," + r.getInt("DECIMAL_DIGITS") + " " + r.getString("IS_NULLABLE") + " " + r.getString("REMARKS") + "; ");
            same(cols.toString(), "day date 13,0 NO null; id int4 10,0 NO null; v varchar 20,0 NO a word; n numeric 10,2 YES null; ts timestamp 26,3 YES null; ");
            same(column(m.getPrimaryKeys(null, "public", "jd_meta"), "COLUMN_NAME").toString(), "[day, id]");
            same(column(m.getIndexInfo(null, "public", "jd_meta", true, true), "COLUMN_NAME").toString(), "[day, id]");
            same(m.getImportedKeys(null, "public", "jd_meta").next(), false);
            same(m.getTypeInfo().next(), true);
            same(m.getSQLKeywords().isEmpty(), false);
            same(m.getCatalogs().next(), true);
            same(m.getFunctions(null, null, "nope").next(), false);
            c.setTransactionIsolation(Connection.TRANSACTION_REPEATABLE_READ);
            same(c.getTransactionIsolation(), Connection.TRANSACTION_REPEATABLE_READ);
            same(c.isValid(5), true);
            c.setAutoCommit(false);
            c.setReadOnly(true);
            fails("25006", () -> s.execute("INSERT INTO jd_stock VALUES ('r', 1)"));
        }
    }

    static void faults() throws Exception {
        try (Connection c = connect(); Statement s = c.createStatement()) {
            SQLException e = fails("42703", () -> s.executeQuery("SELECT nn FROM jd_stock"));
            same(((org.postgresql.util.PSQLException) e).getServerErrorMessage().getPosition(), 8);
            fails("42601", () -> s.execute("SELEC 1"));
            fails("23502", () -> s.execute("INSERT INTO jd_stock VALUES (NULL, 1)"));
            c.setAutoCommit(false);
            fails("22012", () -> s.executeQuery("SELECT 1/0"));
            fails("25P02", () -> s.executeQuery("SELECT 1"));
            c.rollback();
            Savepoint sp = c.setSavepoint("a");
            s.execute("INSERT INTO jd_stock VALUES ('gone', 1)");
            c.rollback(sp);
            c.commit();
            same(s.executeQuery("SELECT 1 FROM jd_stock WHERE item = 'gone'").next(), false);
            c.rollback();
            c.setAutoCommit(true);
            SQLException g = fails("0A000", () -> s.executeUpdate("INSERT INTO jd_stock VALUES ('k', 1)", Statement.RETURN_GENERATED_KEYS));
            same(g.getMessage().contains("RETURNING"), true);
            s.setQueryTimeout(1);
            fails("57014", () -> s.executeQuery("SELECT count(*) FROM generate_series(1, 100000) a, generate_series(1, 100000) b, generate_series(1, 100) d"));
            s.setQueryTimeout(0);
            same(s.executeQuery("SELECT 1").next(), true);
            try (PreparedStatement p = c.prepareStatement("INSERT INTO jd_stock VALUES (?, ?)")) {
                for (int i = 0; i < 5; i++) { p.setString(1, "b" + i); p.setObject(2, i == 3 ? "x" : "1", Types.OTHER); p.addBatch(); }
                try { p.executeBatch(); throw new AssertionError(); } catch (BatchUpdateException b) { same(b.getSQLState(), "22P02"); }
            }
            same(s.executeQuery("SELECT 1 FROM jd_stock WHERE item LIKE 'b_'").next(), false);
        }
    }

    static void copy() throws Exception {
        try (Connection c = connect()) {
            CopyManager m = c.unwrap(PGConnection.class).getCopyAPI();
            same(m.copyIn("COPY jd_stock FROM STDIN WITH CSV", new StringReader("x1,1\nx2,\n")), 2L);
            ByteArrayOutputStream out = new ByteArrayOutputStream();
            same(m.copyOut("COPY (SELECT * FROM jd_stock WHERE item LIKE 'x%' ORDER BY 1) TO STDOUT", out), 2L);
            same(out.toString(), "x1\t1\nx2\t\\N\n");
        }
    }

    static void streaming() throws Exception {
        try (Connection c = connect(); Connection w = connect(); Statement ws = w.createStatement()) {
            ws.execute("CREATE TABLE jd_feed (id int PRIMARY KEY, v text)");
            ws.execute("INSERT INTO jd_feed VALUES (1, 'a')");
            Statement s = c.createStatement();
            s.execute("SET execution.runtime_mode = streaming");
            c.setAutoCommit(false);
            s.setFetchSize(1);
            ResultSet r = s.executeQuery("SELECT id, v FROM jd_feed");
            r.next();
            same(r.getString(1) + r.getInt(2), "+I1");
            ws.execute("UPDATE jd_feed SET v = 'b'");
            r.next();
            same(r.getString(1) + r.getString(3), "-Ua");
            r.next();
            same(r.getString(1) + r.getString(3), "+Ub");
            new Timer(true).schedule(new TimerTask() {
                public void run() {
                    try { c.unwrap(PGConnection.class).cancelQuery(); } catch (SQLException e) { throw new RuntimeException(e); }
                }
            }, 300);
            fails("57014", () -> r.next());
            c.rollback();
            c.createStatement().execute("RESET execution.runtime_mode");
            same(c.createStatement().executeQuery("SELECT 1").next(), true);
        }
    }

    public static void main(String[] args) {
        check("tour", Jdbc::tour);
        check("types", Jdbc::types);
        check("fetchSize", Jdbc::fetchSize);
        check("metaData", Jdbc::metaData);
        check("faults", Jdbc::faults);
        check("copy", Jdbc::copy);
        check("streaming", Jdbc::streaming);
        System.exit(failed > 0 ? 1 : 0);
    }
}
