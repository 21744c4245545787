package session

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"dtstore/catalog"
	"dtstore/logstore"
	"dtstore/manifest"
	"dtstore/snapshot"
	"dtstore/sql"
	"dtstore/table"
	"dtstore/wire"
)

func contains(s, sub string) bool { return strings.Contains(s, sub) }

// columns of the statements that return the same ones always.
var (
	showTablesColumns   = []wire.Column{textColumn("table_name")}
	showDatabaseColumns = []wire.Column{textColumn("database_name")}
	showCreateColumns   = []wire.Column{textColumn("create_table")}
	describeColumns     = []wire.Column{textColumn("name"), textColumn("type"), textColumn("null"), textColumn("key"), textColumn("comment")}
	detailColumns       = []wire.Column{textColumn("part"), textColumn("name"), textColumn("value")}
	compactColumns      = []wire.Column{intColumn("snapshot_id"), intColumn("buckets"), intColumn("files_before"), intColumn("files_after"),
		intColumn("rows_before"), intColumn("rows_after"), intColumn("bytes_before"), intColumn("bytes_after")}
)

// fixedColumns describes the statements that need no query to be described;
// nil for those that return no rows.
func (se *Session) fixedColumns(_ context.Context, stmt sql.Statement) ([]wire.Column, error) {
	switch s := stmt.(type) {
	case *sql.ShowTables:
		return showTablesColumns, nil
	case *sql.ShowDatabases, *sql.ShowCurrentDatabase:
		return showDatabaseColumns, nil
	case *sql.ShowCreateTable:
		return showCreateColumns, nil
	case *sql.Describe:
		return describeColumns, nil
	case *sql.DescribeDetail:
		return detailColumns, nil
	case *sql.Compact:
		return compactColumns, nil
	case *sql.Show:
		return []wire.Column{textColumn(shownName(s.Name.Name))}, nil
	case *sql.ShowAll:
		return []wire.Column{textColumn("name"), textColumn("setting"), textColumn("description")}, nil
	case *sql.Help:
		return []wire.Column{textColumn("help")}, nil
	}
	return nil, nil
}

// show runs SHOW and DESCRIBE.
func (se *Session) show(ctx context.Context, stmt sql.Statement) (*result, error) {
	switch s := stmt.(type) {
	case *sql.ShowTables:
		return se.showTables(ctx, s)
	case *sql.ShowDatabases:
		names, err := se.srv.Catalog.Databases(ctx)
		if err != nil {
			return nil, err
		}
		return texts(showDatabaseColumns, names, s.HasLike, s.Like), nil
	case *sql.ShowCurrentDatabase:
		db, err := se.home(ctx, sql.Name{})
		if err != nil {
			return nil, err
		}
		return texts(showDatabaseColumns, []string{db}, false, ""), nil
	case *sql.ShowCreateTable:
		t, err := se.resolve(ctx, s.Table.Database, s.Table.Table)
		if err != nil {
			return nil, atOrigin(err, s.Origin(), s.Table.Start)
		}
		return texts(showCreateColumns, []string{createText(t)}, false, ""), nil
	case *sql.Describe:
		t, err := se.resolve(ctx, s.Table.Database, s.Table.Table)
		if err != nil {
			return nil, atOrigin(err, s.Origin(), s.Table.Start)
		}
		return describeTable(t), nil
	case *sql.DescribeDetail:
		t, err := se.resolve(ctx, s.Table.Database, s.Table.Table)
		if err != nil {
			return nil, atOrigin(err, s.Origin(), s.Table.Start)
		}
		return se.detail(ctx, t)
	}
	return nil, table.Errorf("0A000", "%s is not supported", sql.Tag(stmt))
}

// texts is a result of one column.
func texts(columns []wire.Column, values []string, hasLike bool, like string) *result {
	var rows []table.Row
	for _, v := range values {
		if !hasLike || likes(v, like) {
			rows = append(rows, table.Row{table.StringOf(v)})
		}
	}
	return fixed("SHOW", false, columns, rows)
}

func (se *Session) showTables(ctx context.Context, s *sql.ShowTables) (*result, error) {
	db := s.Database
	if db == "" {
		var err error
		if db, err = se.home(ctx, sql.Name{}); err != nil {
			return nil, err
		}
	}
	tables, err := se.srv.Catalog.Tables(ctx, db)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, t := range tables {
		names = append(names, t.Name)
	}
	slices.Sort(names)
	return texts(showTablesColumns, names, s.HasLike, s.Like), nil
}

var reserved = sql.Reserved()

// ident quotes a name where a statement would need it.
func ident(name string) string {
	plain := name != ""
	for i, c := range name {
		plain = plain && (c >= 'a' && c <= 'z' || c == '_' || i > 0 && c >= '0' && c <= '9')
	}
	if plain && !slices.Contains(reserved, name) {
		return name
	}
	return quote(name)
}

func literalText(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

// createText is the statement that makes a table like this one, without what
// the server fills in itself.
func createText(t *catalog.Table) string {
	var b strings.Builder
	fmt.Fprintf(&b, "CREATE TABLE %s.%s (\n", ident(t.Database), ident(t.Name))
	for i, f := range t.Schema.Fields {
		if i > 0 {
			b.WriteString(",\n")
		}
		typ := f.Type
		if slices.Contains(t.Schema.PrimaryKeys, f.Name) {
			typ.NotNull = true
		}
		fmt.Fprintf(&b, "  %s %s", ident(f.Name), typ)
		if f.Description != "" {
			b.WriteString(" COMMENT " + literalText(f.Description))
		}
	}
	idents := func(names []string) string {
		out := make([]string, len(names))
		for i, n := range names {
			out[i] = ident(n)
		}
		return strings.Join(out, ", ")
	}
	if t.Schema.Keyed() {
		fmt.Fprintf(&b, ",\n  PRIMARY KEY (%s) NOT ENFORCED", idents(t.Schema.PrimaryKeys))
	}
	b.WriteString("\n)")
	if t.Schema.Comment != "" {
		b.WriteString(" COMMENT " + literalText(t.Schema.Comment))
	}
	if len(t.Schema.PartitionKeys) > 0 {
		fmt.Fprintf(&b, "\nPARTITIONED BY (%s)", idents(t.Schema.PartitionKeys))
	}
	var options []string
	for _, k := range slices.Sorted(maps.Keys(t.Schema.Options)) {
		if shownOption(t, k) {
			options = append(options, "  "+literalText(k)+" = "+literalText(t.Schema.Options[k]))
		}
	}
	if len(options) > 0 {
		b.WriteString("\nWITH (\n" + strings.Join(options, ",\n") + "\n)")
	}
	return b.String()
}

// shownOption leaves out what CREATE TABLE fills in itself (seam A8).
func shownOption(t *catalog.Table, key string) bool {
	if t.Foreign {
		return true
	}
	return !strings.HasPrefix(key, "dtstore.") && key != "write-only" && key != "file.format" &&
		!(key == "bucket" && t.Schema.Options[key] == defaultBucket(t))
}

func defaultBucket(t *catalog.Table) string {
	if t.Schema.Keyed() {
		return "1"
	}
	return "-1"
}

func describeTable(t *catalog.Table) *result {
	var rows []table.Row
	for _, f := range t.Schema.Fields {
		null, key := "YES", ""
		if f.Type.NotNull {
			null = "NO"
		}
		if slices.Contains(t.Schema.PrimaryKeys, f.Name) {
			key = "PRI"
		}
		if slices.Contains(t.Schema.PartitionKeys, f.Name) {
			key = strings.TrimPrefix(key+",PARTITION", ",")
		}
		rows = append(rows, table.Row{table.StringOf(f.Name), table.StringOf(f.Type.Nullable().String()), table.StringOf(null), table.StringOf(key), table.StringOf(f.Description)})
	}
	return fixed("DESCRIBE", false, describeColumns, rows)
}

// details collects the rows of DESCRIBE DETAIL TABLE.
type details struct{ rows []table.Row }

func (d *details) add(part, name string, value any) {
	d.rows = append(d.rows, table.Row{table.StringOf(part), table.StringOf(name), table.StringOf(fmt.Sprint(value))})
}

// detail shows where a table's log and files are, and how far the files are
// behind the log.
func (se *Session) detail(ctx context.Context, t *catalog.Table) (*result, error) {
	d := &details{}
	d.add("table", "name", t.Database+"."+t.Name)
	d.add("table", "path", t.Path)
	d.add("table", "primary key", strings.Join(t.Schema.PrimaryKeys, ", "))
	if t.Unreadable != nil {
		d.add("table", "cannot be read", t.Unreadable)
	}
	history := se.srv.Catalog.History(t)
	latest, err := history.Latest(ctx)
	if err != nil {
		d.add("files", "snapshot", "none: "+err.Error())
		return fixed("DESCRIBE", false, detailColumns, d.rows), nil
	}
	if !t.Foreign {
		if err := se.logDetail(ctx, d, t, history, latest); err != nil {
			return nil, err
		}
	}
	if err := fileDetail(ctx, d, t, history, latest); err != nil {
		return nil, err
	}
	return fixed("DESCRIBE", false, detailColumns, d.rows), nil
}

func (se *Session) logDetail(ctx context.Context, d *details, t *catalog.Table, history *snapshot.Table, latest *snapshot.Snapshot) error {
	d.add("log", "topic", t.Topic.Name)
	d.add("log", "topic id", t.Topic.ID)
	d.add("log", "partitions", t.Topic.Partitions)
	d.add("log", "retention", t.Options.LogRetention)
	_, covered, _, err := history.Position(ctx, latest)
	if err != nil {
		return err
	}
	bounds, err := se.srv.Log.Bounds(ctx, t.Topic)
	if err != nil {
		return kafkaAway(err)
	}
	status, _ := se.srv.Keeper.Status(t.Topic.ID)
	behind := table.Offset(0)
	for b, x := range bounds {
		name := "partition " + strconv.Itoa(b)
		c := covered[table.Bucket(b)].To
		behind += max(x.Stable-c, 0)
		d.add("log", name, fmt.Sprintf("offsets %d to %d, files reach to %d, %d behind", x.Low, x.Stable, c, max(x.Stable-c, 0)))
		if b < len(status) && status[b].Err != nil {
			d.add("log", name+" stopped", status[b].Err)
		}
	}
	d.add("log", "behind", behind)
	return nil
}

func fileDetail(ctx context.Context, d *details, t *catalog.Table, history *snapshot.Table, latest *snapshot.Snapshot) error {
	d.add("files", "snapshot", latest.ID)
	d.add("files", "schema", t.Schema.ID)
	ids, err := history.List(ctx)
	if err != nil {
		return err
	}
	d.add("files", "snapshots kept", len(ids))
	live, err := history.Entries(ctx, latest, snapshot.Filter{})
	if err != nil {
		return err
	}
	groups := map[manifest.Group]map[int]int{}
	partitions := map[table.Partition]bool{}
	runs := map[int]int{}
	var rows, bytes int64
	for _, e := range live {
		rows, bytes = rows+e.File.Rows, bytes+e.File.Size
		partitions[e.Partition] = true
		levels := groups[e.Group()]
		if levels == nil {
			levels = map[int]int{}
			groups[e.Group()] = levels
		}
		if e.File.Level == 0 || levels[e.File.Level] == 0 { // a level above 0 is one run
			runs[e.File.Level]++
		}
		levels[e.File.Level]++
	}
	d.add("files", "partitions", len(partitions))
	d.add("files", "buckets", len(groups))
	d.add("files", "files", len(live))
	d.add("files", "rows", rows)
	d.add("files", "bytes", bytes)
	for _, l := range slices.Sorted(maps.Keys(runs)) {
		d.add("files", fmt.Sprintf("runs at level %d", l), runs[l])
	}
	return nil
}

// horizon is the last stable offsets of a table's log.
func (s *Server) horizon(ctx context.Context, t *catalog.Table) ([]table.Offset, error) {
	h, err := s.Log.Horizon(ctx, []logstore.Topic{t.Topic})
	if err != nil {
		return nil, kafkaAway(err)
	}
	return h[t.Topic.ID], nil
}
