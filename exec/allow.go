package exec

import (
	"strings"

	"dtstore/table"
)

// Which functions a user's query may call. DuckDB's settings keep it from files
// and the network besides; this list says so by name, and keeps it from our own
// functions and from DuckDB's view of itself.

// tableFunctions may stand in a FROM; also every table macro of the shim.
var tableFunctions = set("generate_series range unnest generate_subscripts json_each json_tree jsonb_each repeat_row " +
	"pg_get_keywords pg_available_extensions pg_timezone_names pg_timezone_abbrevs pg_partition_ancestors pg_show_all_settings pg_partition_tree pg_listening_channels " +
	"pg_stat_get_activity pg_lock_status pg_cursor pg_prepared_statement pg_available_extension_versions")

// denied may be called nowhere.
var denied = set("read_csv read_csv_auto read_parquet parquet_scan read_json read_json_auto read_json_objects read_json_objects_auto " +
	"read_ndjson read_ndjson_auto read_ndjson_objects read_text read_blob read_duckdb glob sniff_csv parquet_metadata parquet_schema " +
	"parquet_file_metadata parquet_kv_metadata parquet_bloom_probe parquet_full_metadata query query_table json_execute_serialized_sql " +
	"seq_scan arrow_scan arrow_scan_dumb pandas_scan python_map_function getenv write_log sleep_ms which_secret load_extension " +
	"from_substrait sql_auto_complete check_peg_parser test_all_types test_vector_types summary checkpoint force_checkpoint import_database " +
	"copy_database add_parquet_key enable_logging disable_logging pg_read_file pg_read_binary_file pg_ls_dir pg_stat_file lo_import lo_export " +
	"storage_info pragma_storage_info")

// sequences are functions of what there is not.
var sequences = set("nextval currval setval lastval")

func (w *walker) checkName(schema, name string, at int) bool {
	switch {
	case sequences[name]:
		w.fail(table.Errorf("0A000", "there are no sequences, so no %s", name).WithHint("Give each row its number, or a random key, when inserting."), at)
	case denied[name], strings.HasPrefix(name, "read_"), strings.HasPrefix(name, "pragma_"), strings.HasPrefix(name, "duckdb_"), strings.HasPrefix(name, "parquet_"):
		w.fail(table.Errorf("42501", "permission denied for function %s", name).WithHint("Queries read tables of the server, not files, and not the engine's own state."), at)
	case strings.HasPrefix(name, "dt_"):
		w.fail(table.Errorf("42883", "function %s does not exist", name), at)
	case schema != "" && schema != "pg_catalog" && schema != "main" && schema != "information_schema" && schema != infoSchema && schema != shimSchema:
		w.fail(table.Errorf("3F000", "schema %q has no functions", schema), at)
	default:
		return true
	}
	return false
}

// function notes a call and checks it.
func (w *walker) function(n node) {
	name, schema := strings.ToLower(str(n, "function_name")), str(n, "schema")
	w.tree.Calls = append(w.tree.Calls, Call{Schema: schema, Name: name, Pos: pos(n)})
	if w.checkName(schema, name, pos(n)) {
		unqualifyCall(n, schema)
	}
}

// unqualifyCall takes pg_catalog off a call: the search path finds it, in the
// shim first. information_schema is another name of ours.
func unqualifyCall(n node, schema string) {
	switch schema {
	case "pg_catalog":
		delete(n, "schema")
		delete(n, "catalog")
	case "information_schema", infoSchema:
		n["catalog"], n["schema"] = shimCatalog, infoSchema
	}
}

func (w *walker) tableFunction(n node) {
	name, schema := strings.ToLower(str(n, "function_name")), str(n, "schema")
	w.tree.Calls = append(w.tree.Calls, Call{Schema: schema, Name: name, Pos: pos(n), Table: true})
	if !w.checkName(schema, name, pos(n)) {
		return
	}
	if !tableFunctions[name] {
		w.fail(table.Errorf("0A000", "function %s is not supported in a FROM", name).
			WithHint("Write FROM (SELECT %s(…)) AS name.", name), pos(n))
		return
	}
	unqualifyCall(n, schema)
}
