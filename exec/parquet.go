package exec

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unsafe"

	duckdb "github.com/duckdb/duckdb-go-bindings"

	"dtstore/table"
)

// File is a Parquet file that DuckDB reads in place. It must lie in one of the
// engine's Readable folders.
type File struct {
	Path string
	Rows int64
	// Dead are the positions, from 0 and ascending, of rows that are not shown:
	// newer versions of them exist, or they are retractions.
	Dead []uint32
}

// ParquetScan is rows of Parquet files: all that are neither dead nor hidden.
type ParquetScan struct {
	Files   []File
	Columns []Column // as the files have them, in the order of the result
	Hidden  *Hidden  // nil hides nothing
}

// Hidden are keys whose rows in the files are not shown, since newer versions
// come from elsewhere.
type Hidden struct {
	Key  []int    // indexes of the scan's Columns
	Keys Relation // its columns are the key's, in order
}

// Parquet makes a relation of Parquet files. Files without dead rows are read
// at the full speed of DuckDB's reader; for the others a bitmap is asked for
// each row.
func (e *Engine) Parquet(ctx context.Context, p ParquetScan) (*Handle, error) {
	h := &Handle{engine: e}
	var clean, masked []File
	for _, f := range p.Files {
		if len(f.Dead) == 0 {
			clean = append(clean, f)
		} else {
			masked = append(masked, f)
		}
	}
	items, err := parquetItems(p.Columns)
	if err != nil {
		return nil, err
	}
	var parts []string
	if len(clean) > 0 {
		parts = append(parts, "SELECT "+items+" FROM "+readParquet(clean))
	}
	if len(masked) > 0 {
		m := &mask{files: make([]bitmap, len(masked))}
		for i, f := range masked {
			m.files[i] = newBitmap(f.Dead)
		}
		id := e.nextID.Add(1)
		e.relations.Store(id, m)
		h.ids = append(h.ids, id)
		parts = append(parts, fmt.Sprintf("SELECT %s FROM %s WHERE %s(%d, file_index, file_row_number)", items, readParquet(masked), liveFunction, id))
	}
	if len(parts) == 0 {
		parts = append(parts, "SELECT "+nulls(p.Columns)+" WHERE false")
	}
	h.sql = "(" + Union(parts...) + ")"
	if p.Hidden == nil {
		return h, nil
	}
	keys, err := e.Register(ctx, p.Hidden.Keys)
	if err != nil {
		h.Close()
		return nil, err
	}
	h.ids = append(h.ids, keys.ids...)
	var on []string
	for i, c := range p.Hidden.Key {
		on = append(on, fmt.Sprintf("dt_k.%s IS NOT DISTINCT FROM dt_f.%s", ident(p.Hidden.Keys.Columns[i].Name), ident(p.Columns[c].Name)))
	}
	h.sql = fmt.Sprintf("(SELECT * FROM %s dt_f WHERE NOT EXISTS (SELECT 1 FROM %s dt_k WHERE %s))", h.sql, keys.SQL(), strings.Join(on, " AND "))
	return h, nil
}

// Union is the relation of all rows of its parts, each Handle.SQL or a query,
// which have the same columns.
func Union(parts ...string) string {
	for i, p := range parts {
		if strings.HasPrefix(p, "(") || strings.HasPrefix(p, rowsFunction+"(") {
			parts[i] = "SELECT * FROM " + p
		}
	}
	return strings.Join(parts, " UNION ALL ")
}

// readParquet names the files. Folders such as p=2 in their paths are no
// columns: the files hold those.
func readParquet(files []File) string {
	paths := make([]string, len(files))
	for i, f := range files {
		paths[i] = literal(f.Path)
	}
	return "read_parquet([" + strings.Join(paths, ", ") + "], hive_partitioning = false)"
}

// parquetItems casts each column to the type that vectors of ours have for it.
// A cast to the type that is there costs nothing and hinders no pushdown; a
// TIME is read by DuckDB as TIMETZ, a finer timestamp not at all.
func parquetItems(columns []Column) (string, error) {
	items := make([]string, len(columns))
	for i, c := range columns {
		t, err := vectorTypeOf(c.Type)
		if err != nil {
			return "", fmt.Errorf("column %s: %w", c.Name, err)
		}
		if t.id == duckdb.TypeTimestampNS || c.Type.Kind == table.TimestampLTZ && c.Type.Precision > 6 {
			// DuckDB would round it: such a column is never read here. Pruned
			// when the query does not use it, else an error and not a wrong row.
			items[i] = "CAST(error(" + literal(fmt.Sprintf("column %s: %v is not read from files directly", c.Name, c.Type)) + ") AS " + t.name() + ") AS " + ident(c.Name)
			continue
		}
		items[i] = "CAST(" + ident(c.Name) + " AS " + t.name() + ") AS " + ident(c.Name)
	}
	return strings.Join(items, ", "), nil
}

func nulls(columns []Column) string {
	items := make([]string, len(columns))
	for i, c := range columns {
		t, err := vectorTypeOf(c.Type)
		if err != nil {
			panic(fmt.Sprintf("exec: type %v passed parquetItems", c.Type))
		}
		items[i] = "CAST(NULL AS " + t.name() + ") AS " + ident(c.Name)
	}
	return strings.Join(items, ", ")
}

// name is the type in SQL.
func (t vectorType) name() string {
	switch t.id {
	case duckdb.TypeDecimal:
		return fmt.Sprintf("DECIMAL(%d,%d)", t.width, t.scale)
	}
	return map[duckdb.Type]string{duckdb.TypeBoolean: "BOOLEAN", duckdb.TypeTinyInt: "TINYINT", duckdb.TypeSmallInt: "SMALLINT", duckdb.TypeInteger: "INTEGER",
		duckdb.TypeBigInt: "BIGINT", duckdb.TypeFloat: "FLOAT", duckdb.TypeDouble: "DOUBLE", duckdb.TypeVarchar: "VARCHAR", duckdb.TypeBlob: "BLOB",
		duckdb.TypeDate: "DATE", duckdb.TypeTime: "TIME", duckdb.TypeTimestamp: "TIMESTAMP", duckdb.TypeTimestampTZ: "TIMESTAMPTZ", duckdb.TypeTimestampNS: "TIMESTAMP_NS"}[t.id]
}

// liveFunction says of a row of a masked file that it is not dead. It costs
// about 20 ns of processor time for each row of a masked file; an anti-join
// with the dead positions cost many times that (BenchmarkParquet).
const liveFunction = "dt_live"

// mask is the dead rows of the masked files of one scan, by file_index.
type mask struct{ files []bitmap }

type bitmap []uint64

func newBitmap(positions []uint32) bitmap {
	b := make(bitmap, positions[len(positions)-1]/64+1)
	for _, p := range positions {
		b[p/64] |= 1 << (p % 64)
	}
	return b
}

// live fills out for rows of the masked files. Rows come in runs of one file.
func (m *mask) live(files []uint64, rows []int64, out []bool) error {
	for i := 0; i < len(rows); {
		file := files[i]
		if file >= uint64(len(m.files)) {
			return errors.New("file_index " + strconv.FormatUint(file, 10) + " of a masked scan")
		}
		b := m.files[file]
		for ; i < len(rows) && files[i] == file; i++ {
			r := uint64(rows[i])
			w := r / 64
			out[i] = w >= uint64(len(b)) || b[w]>>(r%64)&1 == 0
		}
	}
	return nil
}

// fillLive is the body of dt_live(id, file_index, file_row_number).
func (e *Engine) fillLive(chunk duckdb.DataChunk, result duckdb.Vector) error {
	n := int(duckdb.DataChunkGetSize(chunk))
	if n == 0 {
		return nil
	}
	id := *(*int64)(duckdb.VectorGetData(duckdb.DataChunkGetVector(chunk, 0)))
	m, ok := e.relations.Load(id)
	if !ok {
		return table.Errorf("55000", "a relation of this statement is closed")
	}
	files := unsafe.Slice((*uint64)(duckdb.VectorGetData(duckdb.DataChunkGetVector(chunk, 1))), n)
	rows := unsafe.Slice((*int64)(duckdb.VectorGetData(duckdb.DataChunkGetVector(chunk, 2))), n)
	return m.(*mask).live(files, rows, unsafe.Slice((*bool)(duckdb.VectorGetData(result)), n))
}
