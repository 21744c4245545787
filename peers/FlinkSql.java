import org.apache.flink.configuration.Configuration;
import org.apache.flink.table.api.*;
import org.apache.flink.types.Row;
import org.apache.flink.util.CloseableIterator;
import java.nio.file.*;
import java.util.*;
import java.util.regex.*;

/**
 * Runs a file of SQL statements, each ended by ';' at a line's end, in one local Flink; prints each result row as its kind and columns, tab-separated.
 * With -Dmark=true a line "== N" comes before the rows of query N, counted from 1, and tabs, line ends and backslashes in values are escaped and NULL is \\N.
 */
public class FlinkSql {
  private static final Pattern SET = Pattern.compile("(?i)SET\\s+'([^']+)'\\s*=\\s*'([^']*)'");

  private static final boolean MARK = Boolean.getBoolean("mark");
  private static int queries = 0;

  public static void main(String[] args) throws Exception {
    EnvironmentSettings.Builder mode = EnvironmentSettings.newInstance();
    Configuration conf = new Configuration();
    conf.setString("parallelism.default", "1");
    TableEnvironment env =
        TableEnvironment.create((Boolean.getBoolean("stream") ? mode.inStreamingMode() : mode.inBatchMode()).withConfiguration(conf).build());
    StringBuilder text = new StringBuilder();
    for (String line : Files.readAllLines(Path.of(args[0]))) {
      if (line.strip().startsWith("--")) continue;
      text.append(line).append('\n');
      if (!line.stripTrailing().endsWith(";")) continue;
      String statement = text.toString().strip();
      text.setLength(0);
      try {
        run(env, statement.substring(0, statement.length() - 1));
      } catch (Exception e) {
        System.err.println("failed: " + statement);
        for (Throwable t = e; t != null; t = t.getCause()) System.err.println("  " + t);
        System.exit(1);
      }
    }
    System.exit(0);
  }

  private static void run(TableEnvironment env, String statement) throws Exception {
    Matcher set = SET.matcher(statement);
    if (set.matches()) {
      env.getConfig().set(set.group(1), set.group(2));
      return;
    }
    TableResult result = env.executeSql(statement);
    if (result.getResultKind() == ResultKind.SUCCESS) return;
    if (statement.matches("(?is)(INSERT|UPDATE|DELETE)\\b.*")) {
      result.await();
      return;
    }
    if (MARK) System.out.println("== " + ++queries);
    int max = Integer.getInteger("rows", Integer.MAX_VALUE);
    try (CloseableIterator<Row> rows = result.collect()) {
      for (int n = 0; n < max && rows.hasNext(); n++) {
        Row row = rows.next();
        StringJoiner out = new StringJoiner("\t").add(row.getKind().shortString());
        for (int i = 0; i < row.getArity(); i++) out.add(text(row.getField(i)));
        System.out.println(out);
      }
    }
  }

  /** A value as text; bytes as 0x and hexadecimal digits, arrays as [a, b], maps as {k=v}, rows as (a, b). */
  private static String text(Object value) {
    if (value instanceof byte[]) return "0x" + HexFormat.of().formatHex((byte[]) value);
    if (value instanceof Object[]) return list("[", Arrays.asList((Object[]) value), "]");
    if (value instanceof Row) {
      List<Object> fields = new ArrayList<>();
      for (int i = 0; i < ((Row) value).getArity(); i++) fields.add(((Row) value).getField(i));
      return list("(", fields, ")");
    }
    if (value instanceof Map) {
      StringJoiner out = new StringJoiner(", ", "{", "}");
      ((Map<?, ?>) value).forEach((k, v) -> out.add(text(k) + "=" + text(v)));
      return out.toString();
    }
    if (value instanceof java.math.BigDecimal) return ((java.math.BigDecimal) value).toPlainString();
    if (MARK && value == null) return "\\N";
    String out = String.valueOf(value);
    return MARK ? out.replace("\\", "\\\\").replace("\t", "\\t").replace("\n", "\\n").replace("\r", "\\r") : out;
  }

  private static String list(String open, List<?> values, String close) {
    StringJoiner out = new StringJoiner(", ", open, close);
    for (Object v : values) out.add(text(v));
    return out.toString();
  }
}
