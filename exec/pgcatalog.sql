-- What Postgres clients call in pg_catalog, as macros over the tables of schema dt.pgc.
--
-- DuckDB expands a macro as text, so a name inside it can be captured by a column of the caller. Lookups therefore go
-- through views whose column names nobody else uses, one set for each level of nesting (k1_ and k2_).
-- Statements end with a semicolon at the end of a line.

CREATE VIEW dt.pgc.dt_rel AS SELECT c.oid AS k1_rel, c.relname AS k1_relname, n.nspname AS k1_relnsp
  FROM dt.pgc.pg_class c JOIN dt.pgc.pg_namespace n ON n.oid = c.relnamespace;
CREATE VIEW dt.pgc.dt_role AS SELECT oid AS k1_role, rolname AS k1_rolname FROM dt.pgc.pg_roles;
CREATE VIEW dt.pgc.dt_nsp AS SELECT oid AS k1_nsp, nspname AS k1_nspname FROM dt.pgc.pg_namespace;
CREATE VIEW dt.pgc.dt_proc AS SELECT oid AS k1_proc, proname AS k1_proname, prorettype AS k1_proret FROM dt.pgc.pg_proc;
CREATE VIEW dt.pgc.dt_desc AS SELECT objoid AS k1_obj, objsubid AS k1_sub, description AS k1_text FROM dt.pgc.pg_description;
CREATE VIEW dt.pgc.dt_set AS SELECT lower(name) AS k1_set, setting AS k1_setting FROM dt.pgc.pg_settings;
CREATE VIEW dt.pgc.dt_con AS SELECT oid AS k1_con, condef AS k1_condef FROM dt.pgc.dt_condef;
CREATE VIEW dt.pgc.dt_idx AS SELECT oid AS k1_idx, attnum AS k1_idxcol, def AS k1_idxdef FROM dt.pgc.dt_idxdef;

-- Who and where: variables of the connection, set by the session.
CREATE MACRO dt.pgc.current_database() AS coalesce(getvariable('dt_database')::VARCHAR, '@database@');
CREATE MACRO dt.pgc.current_catalog() AS coalesce(getvariable('dt_database')::VARCHAR, '@database@');
CREATE MACRO dt.pgc.current_user() AS coalesce(getvariable('dt_user')::VARCHAR, '@user@');
CREATE MACRO dt.pgc.session_user() AS coalesce(getvariable('dt_user')::VARCHAR, '@user@');
CREATE MACRO dt.pgc.user() AS coalesce(getvariable('dt_user')::VARCHAR, '@user@');
CREATE MACRO dt.pgc.current_schema() AS coalesce(getvariable('dt_schema')::VARCHAR, 'public');
CREATE MACRO dt.pgc.dt_path() AS coalesce(getvariable('dt_path')::VARCHAR[], ['public']);
CREATE MACRO dt.pgc.current_schemas(implicit) AS CASE WHEN implicit THEN list_prepend('pg_catalog', dt.pgc.dt_path()) ELSE dt.pgc.dt_path() END;
CREATE MACRO dt.pgc.pg_backend_pid() AS coalesce(getvariable('dt_pid')::INTEGER, 0);
CREATE MACRO dt.pgc.inet_server_addr() AS NULL::VARCHAR;
CREATE MACRO dt.pgc.inet_server_port() AS NULL::INTEGER;
CREATE MACRO dt.pgc.inet_client_addr() AS NULL::VARCHAR;
CREATE MACRO dt.pgc.inet_client_port() AS NULL::INTEGER;
CREATE MACRO dt.pgc.version() AS 'PostgreSQL 15.0 (dtserver)';
CREATE MACRO dt.pgc.current_setting(n) AS (SELECT min(k1_setting) FROM dt.pgc.dt_set WHERE k1_set = lower(n)),
  (n, missing_ok) AS (SELECT min(k1_setting) FROM dt.pgc.dt_set WHERE k1_set = lower(n));
CREATE MACRO dt.pgc.set_config(n, v, is_local) AS v;
CREATE MACRO dt.pgc.pg_is_in_recovery() AS false;
CREATE MACRO dt.pgc.pg_is_wal_replay_paused() AS false;
CREATE MACRO dt.pgc.pg_postmaster_start_time() AS '@start@'::TIMESTAMPTZ;
CREATE MACRO dt.pgc.pg_conf_load_time() AS '@start@'::TIMESTAMPTZ;
CREATE MACRO dt.pgc.txid_current() AS 1::BIGINT;
CREATE MACRO dt.pgc.txid_current_if_assigned() AS NULL::BIGINT;
CREATE MACRO dt.pgc.pg_export_snapshot() AS '00000001-1';

-- Visibility: what an unqualified name would find.
CREATE MACRO dt.pgc.pg_table_is_visible(o) AS coalesce((SELECT bool_or(k1_relnsp = 'pg_catalog' OR list_contains(dt.pgc.dt_path(), k1_relnsp)) FROM dt.pgc.dt_rel WHERE k1_rel = o), false);
CREATE MACRO dt.pgc.pg_type_is_visible(o) AS true;
CREATE MACRO dt.pgc.pg_function_is_visible(o) AS true;
CREATE MACRO dt.pgc.pg_operator_is_visible(o) AS true;
CREATE MACRO dt.pgc.pg_opclass_is_visible(o) AS true;
CREATE MACRO dt.pgc.pg_opfamily_is_visible(o) AS true;
CREATE MACRO dt.pgc.pg_collation_is_visible(o) AS true;
CREATE MACRO dt.pgc.pg_conversion_is_visible(o) AS true;
CREATE MACRO dt.pgc.pg_ts_config_is_visible(o) AS true;
CREATE MACRO dt.pgc.pg_ts_dict_is_visible(o) AS true;
CREATE MACRO dt.pgc.pg_ts_parser_is_visible(o) AS true;
CREATE MACRO dt.pgc.pg_ts_template_is_visible(o) AS true;
CREATE MACRO dt.pgc.pg_statistics_obj_is_visible(o) AS true;

-- Names and types.
CREATE MACRO dt.pgc.quote_ident(s) AS CASE WHEN regexp_full_match(s, '[a-z_][a-z0-9_$]*') THEN s ELSE '"' || replace(s, '"', '""') || '"' END;
CREATE MACRO dt.pgc.pg_get_userbyid(o) AS coalesce((SELECT min(k1_rolname) FROM dt.pgc.dt_role WHERE k1_role = o), 'unknown (OID=' || o::VARCHAR || ')');
CREATE MACRO dt.pgc.dt_typmod(t, m) AS CASE
  WHEN m IS NULL OR m < 0 THEN ''
  WHEN t IN (1042, 1043, 1014, 1015) THEN '(' || (m - 4)::VARCHAR || ')'
  WHEN t IN (1700, 1231) THEN '(' || (((m - 4) >> 16) & 65535)::VARCHAR || ',' || ((m - 4) & 65535)::VARCHAR || ')'
  WHEN t IN (1083, 1114, 1184, 1266, 1560, 1562, 1183, 1115, 1185, 1270, 1561, 1563) THEN '(' || m::VARCHAR || ')'
  ELSE '' END;
CREATE MACRO dt.pgc.format_type(t, m) AS CASE WHEN t IS NULL THEN NULL
  ELSE replace(coalesce((SELECT min(k1_format) FROM dt.pgc.dt_typ WHERE k1_typ = t), '???'), '%', dt.pgc.dt_typmod(t, m)) END;
CREATE MACRO dt.pgc.dt_in_dotted(s) AS (SELECT min(k1_rel) FROM dt.pgc.dt_rel WHERE (s IN (k1_relname, '"' || k1_relname || '"') AND (k1_relnsp = 'pg_catalog' OR list_contains(dt.pgc.dt_path(), k1_relnsp)))
  OR replace(s, '"', '') IN (k1_relnsp || '.' || k1_relname, dt.pgc.current_database() || '.' || k1_relnsp || '.' || k1_relname));
CREATE MACRO dt.pgc.regclass_in(s) AS coalesce(try_cast(s AS BIGINT), dt.pgc.dt_in_dotted(s::VARCHAR));
CREATE MACRO dt.pgc.regclass_out(o) AS coalesce((SELECT min(CASE WHEN k1_relnsp = 'pg_catalog' OR list_contains(dt.pgc.dt_path(), k1_relnsp) THEN dt.pgc.quote_ident(k1_relname) ELSE dt.pgc.quote_ident(k1_relnsp) || '.' || dt.pgc.quote_ident(k1_relname) END)
  FROM dt.pgc.dt_rel WHERE k1_rel = try_cast(o AS BIGINT)), o::VARCHAR);
CREATE MACRO dt.pgc.to_regclass(s) AS dt.pgc.dt_in_dotted(s::VARCHAR);
CREATE MACRO dt.pgc.regtype_in(s) AS coalesce(try_cast(s AS BIGINT), (SELECT min(k1_typ) FROM dt.pgc.dt_typ WHERE lower(replace(s::VARCHAR, 'pg_catalog.', '')) IN (k1_name, k1_display)));
CREATE MACRO dt.pgc.to_regtype(s) AS dt.pgc.regtype_in(s);
CREATE MACRO dt.pgc.regtype_out(o) AS dt.pgc.format_type(try_cast(o AS BIGINT), -1);
CREATE MACRO dt.pgc.regproc_in(s) AS coalesce(try_cast(s AS BIGINT), (SELECT min(k1_proc) FROM dt.pgc.dt_proc WHERE k1_proname = replace(s::VARCHAR, 'pg_catalog.', '')));
CREATE MACRO dt.pgc.regproc_out(o) AS CASE WHEN try_cast(o AS BIGINT) = 0 THEN '-' ELSE coalesce((SELECT min(k1_proname) FROM dt.pgc.dt_proc WHERE k1_proc = try_cast(o AS BIGINT)), o::VARCHAR) END;
CREATE MACRO dt.pgc.to_regproc(s) AS dt.pgc.regproc_in(s);
CREATE MACRO dt.pgc.regprocedure_in(s) AS dt.pgc.regproc_in(s);
CREATE MACRO dt.pgc.regprocedure_out(o) AS dt.pgc.regproc_out(o);
CREATE MACRO dt.pgc.regnamespace_in(s) AS coalesce(try_cast(s AS BIGINT), (SELECT min(k1_nsp) FROM dt.pgc.dt_nsp WHERE k1_nspname = s::VARCHAR));
CREATE MACRO dt.pgc.regnamespace_out(o) AS coalesce((SELECT min(k1_nspname) FROM dt.pgc.dt_nsp WHERE k1_nsp = try_cast(o AS BIGINT)), o::VARCHAR);
CREATE MACRO dt.pgc.to_regnamespace(s) AS dt.pgc.regnamespace_in(s);
CREATE MACRO dt.pgc.regrole_in(s) AS coalesce(try_cast(s AS BIGINT), (SELECT min(k1_role) FROM dt.pgc.dt_role WHERE k1_rolname = s::VARCHAR));
CREATE MACRO dt.pgc.regrole_out(o) AS dt.pgc.pg_get_userbyid(try_cast(o AS BIGINT));
CREATE MACRO dt.pgc.to_regrole(s) AS dt.pgc.regrole_in(s);
CREATE MACRO dt.pgc.regoper_in(s) AS NULL::BIGINT;
CREATE MACRO dt.pgc.regoper_out(o) AS o::VARCHAR;
CREATE MACRO dt.pgc.regoperator_in(s) AS NULL::BIGINT;
CREATE MACRO dt.pgc.regoperator_out(o) AS o::VARCHAR;
CREATE MACRO dt.pgc.regconfig_in(s) AS NULL::BIGINT;
CREATE MACRO dt.pgc.regconfig_out(o) AS o::VARCHAR;
CREATE MACRO dt.pgc.regdictionary_in(s) AS NULL::BIGINT;
CREATE MACRO dt.pgc.regdictionary_out(o) AS o::VARCHAR;

-- Definitions and comments.
CREATE MACRO dt.pgc.pg_get_expr(e, r) AS e, (e, r, pretty) AS e;
CREATE MACRO dt.pgc.obj_description(o) AS (SELECT min(k1_text) FROM dt.pgc.dt_desc WHERE k1_obj = o AND k1_sub = 0),
  (o, cl) AS (SELECT min(k1_text) FROM dt.pgc.dt_desc WHERE k1_obj = o AND k1_sub = 0);
CREATE MACRO dt.pgc.shobj_description(o, cl) AS NULL::VARCHAR;
CREATE MACRO dt.pgc.col_description(o, n) AS (SELECT min(k1_text) FROM dt.pgc.dt_desc WHERE k1_obj = o AND k1_sub = n AND n <> 0);
CREATE MACRO dt.pgc.pg_get_constraintdef(o) AS (SELECT min(k1_condef) FROM dt.pgc.dt_con WHERE k1_con = o), (o, pretty) AS (SELECT min(k1_condef) FROM dt.pgc.dt_con WHERE k1_con = o);
CREATE MACRO dt.pgc.pg_get_indexdef(o) AS (SELECT min(k1_idxdef) FROM dt.pgc.dt_idx WHERE k1_idx = o AND k1_idxcol = 0),
  (o, col, pretty) AS (SELECT min(k1_idxdef) FROM dt.pgc.dt_idx WHERE k1_idx = o AND k1_idxcol = col);
CREATE MACRO dt.pgc.pg_get_viewdef(o) AS NULL::VARCHAR, (o, pretty) AS NULL::VARCHAR;
CREATE MACRO dt.pgc.pg_get_triggerdef(o) AS NULL::VARCHAR, (o, pretty) AS NULL::VARCHAR;
CREATE MACRO dt.pgc.pg_get_ruledef(o) AS NULL::VARCHAR, (o, pretty) AS NULL::VARCHAR;
CREATE MACRO dt.pgc.pg_get_partkeydef(o) AS NULL::VARCHAR;
CREATE MACRO dt.pgc.pg_get_partition_constraintdef(o) AS NULL::VARCHAR;
CREATE MACRO dt.pgc.pg_get_functiondef(o) AS NULL::VARCHAR;
CREATE MACRO dt.pgc.pg_get_function_sqlbody(o) AS NULL::VARCHAR;
CREATE MACRO dt.pgc.pg_get_function_result(o) AS dt.pgc.format_type((SELECT min(k1_proret) FROM dt.pgc.dt_proc WHERE k1_proc = o), -1);
CREATE MACRO dt.pgc.pg_get_function_arguments(o) AS '';
CREATE MACRO dt.pgc.pg_get_function_identity_arguments(o) AS '';
CREATE MACRO dt.pgc.pg_get_function_arg_default(o, n) AS NULL::VARCHAR;
CREATE MACRO dt.pgc.pg_get_statisticsobjdef(o) AS NULL::VARCHAR;
CREATE MACRO dt.pgc.pg_get_statisticsobjdef_columns(o) AS NULL::VARCHAR;
CREATE MACRO dt.pgc.pg_get_serial_sequence(t, c) AS NULL::VARCHAR;
CREATE MACRO dt.pgc.pg_relation_is_publishable(o) AS false;
CREATE MACRO dt.pgc.pg_partition_ancestors(o) AS NULL::BIGINT;
CREATE MACRO dt.pgc.pg_partition_ancestors(o) AS TABLE SELECT NULL::BIGINT AS relid, 0::BIGINT AS depth WHERE false;
CREATE MACRO dt.pgc.pg_partition_root(o) AS NULL::BIGINT;
CREATE MACRO dt.pgc.pg_partition_tree(o) AS TABLE SELECT NULL::BIGINT AS relid, NULL::BIGINT AS parentrelid, true AS isleaf, 0 AS level WHERE false;
CREATE MACRO dt.pgc.pg_index_column_has_property(o, n, p) AS p IN ('asc', 'nulls_first', 'orderable', 'returnable');
CREATE MACRO dt.pgc.pg_indexam_has_property(o, p) AS p IN ('can_order', 'can_unique', 'can_multi_col');
CREATE MACRO dt.pgc.pg_index_has_property(o, p) AS false;
CREATE MACRO dt.pgc.pg_column_is_updatable(o, n, t) AS true;
CREATE MACRO dt.pgc.pg_relation_is_updatable(o, t) AS 28;

-- Encodings, sizes, rights. Sizes are not kept.
CREATE MACRO dt.pgc.pg_encoding_to_char(e) AS 'UTF8';
CREATE MACRO dt.pgc.pg_char_to_encoding(e) AS 6;
CREATE MACRO dt.pgc.getdatabaseencoding() AS 'UTF8';
CREATE MACRO dt.pgc.pg_client_encoding() AS 'UTF8';
CREATE MACRO dt.pgc.pg_table_size(o) AS 0::BIGINT;
CREATE MACRO dt.pgc.pg_relation_size(o) AS 0::BIGINT, (o, fork) AS 0::BIGINT;
CREATE MACRO dt.pgc.pg_total_relation_size(o) AS 0::BIGINT;
CREATE MACRO dt.pgc.pg_indexes_size(o) AS 0::BIGINT;
CREATE MACRO dt.pgc.pg_database_size(o) AS 0::BIGINT;
CREATE MACRO dt.pgc.pg_tablespace_size(o) AS 0::BIGINT;
CREATE MACRO dt.pgc.pg_tablespace_location(o) AS '';
CREATE MACRO dt.pgc.pg_size_pretty(n) AS CASE WHEN abs(n) < 10240 THEN n::VARCHAR || ' bytes' WHEN abs(n) < 10485760 THEN round(n / 1024)::BIGINT::VARCHAR || ' kB'
  WHEN abs(n) < 10737418240 THEN round(n / 1048576)::BIGINT::VARCHAR || ' MB' ELSE round(n / 1073741824)::BIGINT::VARCHAR || ' GB' END;
CREATE MACRO dt.pgc.pg_stat_get_numscans(o) AS 0::BIGINT;
CREATE MACRO dt.pgc.pg_stat_get_live_tuples(o) AS 0::BIGINT;
CREATE MACRO dt.pgc.pg_has_role(r, p) AS true, (u, r, p) AS true;
CREATE MACRO dt.pgc.has_table_privilege(t, p) AS true, (u, t, p) AS true;
CREATE MACRO dt.pgc.has_any_column_privilege(t, p) AS true, (u, t, p) AS true;
CREATE MACRO dt.pgc.has_column_privilege(t, c, p) AS true, (u, t, c, p) AS true;
CREATE MACRO dt.pgc.has_schema_privilege(s, p) AS true, (u, s, p) AS true;
CREATE MACRO dt.pgc.has_database_privilege(d, p) AS true, (u, d, p) AS true;
CREATE MACRO dt.pgc.has_function_privilege(f, p) AS true, (u, f, p) AS true;
CREATE MACRO dt.pgc.has_sequence_privilege(s, p) AS true, (u, s, p) AS true;
CREATE MACRO dt.pgc.has_tablespace_privilege(s, p) AS true, (u, s, p) AS true;
CREATE MACRO dt.pgc.has_type_privilege(s, p) AS true, (u, s, p) AS true;
CREATE MACRO dt.pgc.row_security_active(t) AS false;
CREATE MACRO dt.pgc.aclexplode(a) AS NULL::STRUCT(grantor BIGINT, grantee BIGINT, privilege_type VARCHAR, is_grantable BOOLEAN);
CREATE MACRO dt.pgc.acldefault(t, o) AS NULL::VARCHAR[];
CREATE MACRO dt.pgc.pg_advisory_lock(k) AS NULL::VARCHAR;
CREATE MACRO dt.pgc.pg_advisory_unlock(k) AS false;
CREATE MACRO dt.pgc.pg_advisory_unlock_all() AS NULL::VARCHAR;
CREATE MACRO dt.pgc.pg_try_advisory_lock(k) AS true;
CREATE MACRO dt.pgc.pg_blocking_pids(p) AS []::INTEGER[];

-- Sets.
CREATE MACRO dt.pgc.pg_available_extensions() AS TABLE SELECT ''::VARCHAR AS name, ''::VARCHAR AS default_version, ''::VARCHAR AS comment WHERE false;
CREATE MACRO dt.pgc.pg_show_all_settings() AS TABLE SELECT * FROM dt.pgc.pg_settings;
CREATE MACRO dt.pgc.pg_timezone_names() AS TABLE SELECT name, abbrev, utc_offset, is_dst FROM system.main.pg_timezone_names();
CREATE MACRO dt.pgc.pg_get_keywords() AS TABLE SELECT keyword_name AS word, 'U' AS catcode, true AS barelabel, 'unreserved' AS catdesc, 'can be bare label' AS baredesc FROM duckdb_keywords();
CREATE MACRO dt.pgc.pg_listening_channels() AS TABLE SELECT ''::VARCHAR AS pg_listening_channels WHERE false;

-- Functions of Postgres that DuckDB lacks or has otherwise.
CREATE MACRO dt.pgc.array_upper(a, d) AS CASE WHEN d = 1 THEN nullif(len(a), 0) END;
CREATE MACRO dt.pgc.array_lower(a, d) AS CASE WHEN d = 1 AND len(a) > 0 THEN 1 END;
CREATE MACRO dt.pgc.array_remove(a, x) AS list_filter(a, lambda e: e IS DISTINCT FROM x);
CREATE MACRO dt.pgc.array_replace(a, x, y) AS list_transform(a, lambda e: CASE WHEN e IS NOT DISTINCT FROM x THEN y ELSE e END);
CREATE MACRO dt.pgc.cardinality(a) AS len(a);
CREATE MACRO dt.pgc.quote_literal(s) AS '''' || replace(s::VARCHAR, '''', '''''') || '''';
CREATE MACRO dt.pgc.quote_nullable(s) AS coalesce('''' || replace(s::VARCHAR, '''', '''''') || '''', 'NULL');
CREATE MACRO dt.pgc.parse_ident(s) AS string_split(replace(s, '"', ''), '.');
CREATE MACRO dt.pgc.pg_sleep(s) AS NULL::VARCHAR;
CREATE MACRO dt.pgc.btrim(s) AS trim(s), (s, c) AS trim(s, c);
CREATE MACRO dt.pgc.octet_length(s) AS system.main.octet_length(system.main.encode(s::VARCHAR)), (s BLOB) AS system.main.octet_length(s);
CREATE MACRO dt.pgc.clock_timestamp() AS now();
CREATE MACRO dt.pgc.statement_timestamp() AS now();
CREATE MACRO dt.pgc.transaction_timestamp() AS now();
CREATE MACRO dt.pgc.to_json(x) AS system.main.to_json(x);
CREATE MACRO dt.pgc.to_jsonb(x) AS system.main.to_json(x);

-- Meanings that the tree asks for (meaning.go). A typed macro is chosen by the type of an argument.
CREATE MACRO dt.pgc.dt_nz(x) AS CASE WHEN x = 0 THEN error('@mark@22012!division by zero') ELSE x END;
CREATE MACRO dt.pgc.dt_sum(s, x SMALLINT) AS CAST(s AS BIGINT), (s, x TINYINT) AS CAST(s AS BIGINT), (s, x INTEGER) AS CAST(s AS BIGINT), (s, x BIGINT) AS CAST(s AS DECIMAL(38, 0)),
  (s, x DOUBLE) AS s, (s, x FLOAT) AS CAST(s AS FLOAT), (s, x) AS s;
CREATE MACRO dt.pgc.dt_whole(x DOUBLE) AS round_even(x, 0), (x FLOAT) AS round_even(x, 0), (x DECIMAL(38, 18)) AS x, (x SMALLINT) AS x, (x INTEGER) AS x, (x BIGINT) AS x, (x TINYINT) AS x, (x HUGEINT) AS x, (x BOOLEAN) AS x,
  (x VARCHAR) AS CASE WHEN x IS NULL OR regexp_full_match(x, '\s*[+-]?[0-9]+\s*') THEN x ELSE error('@mark@22P02!invalid input syntax for type integer: "' || x || '"') END, (x) AS x;
CREATE MACRO dt.pgc.dt_re(s, p) AS regexp_matches(s, p, 's');
CREATE MACRO dt.pgc.dt_rei(s, p) AS regexp_matches(s, p, 'si');
CREATE MACRO dt.pgc.dt_reni(s, p) AS NOT regexp_matches(s, p, 'si');
CREATE MACRO dt.pgc.dt_like(p, o) AS CASE WHEN false THEN o ELSE p END;
CREATE MACRO dt.pgc.dt_plus(p, o DATE) AS CAST(p AS INTEGER), (p, o TIMESTAMP) AS CAST(p AS INTERVAL), (p, o TIMESTAMPTZ) AS CAST(p AS INTERVAL), (p, o) AS CASE WHEN false THEN o ELSE p END;
CREATE MACRO dt.pgc.dt_plus_any(p, o) AS CASE WHEN false THEN o ELSE p END;
CREATE MACRO dt.pgc.dt_first(p, o) AS p;
CREATE MACRO dt.pgc.encode(x) AS system.main.encode(x), (x, f) AS CASE lower(f) WHEN 'hex' THEN lower(hex(x)) WHEN 'base64' THEN base64(x) ELSE error('@mark@22023!unrecognized encoding: "' || f || '"') END;
CREATE MACRO dt.pgc.decode(x) AS system.main.decode(x), (x, f) AS CASE lower(f) WHEN 'hex' THEN unhex(x) WHEN 'base64' THEN from_base64(x) ELSE error('@mark@22023!unrecognized encoding: "' || f || '"') END;
CREATE MACRO dt.pgc.dt_bytea(x VARCHAR) AS CASE WHEN starts_with(x, '\x') THEN unhex(substr(x, 3)) ELSE encode(x) END, (x BLOB) AS x, (x) AS x;
CREATE MACRO dt.pgc.dt_bytea_any(x) AS x;
CREATE MACRO dt.pgc.dt_day_any(x, o, y) AS CASE WHEN false THEN o ELSE x END;
CREATE MACRO dt.pgc.dt_day(x, o DATE, y) AS y, (x, o TIMESTAMP, y) AS y, (x, o TIMESTAMPTZ, y) AS y, (x, o, y) AS x;
CREATE MACRO dt.pgc.dt_hex_any(x, o) AS CASE WHEN false THEN o ELSE x END;
CREATE MACRO dt.pgc.dt_hex(x, o BLOB) AS unhex(CASE WHEN length(x) % 2 = 0 THEN substr(x, 3) ELSE error('@mark@22P02!invalid hexadecimal data: odd number of digits') END), (x, o) AS x;
CREATE MACRO dt.pgc.dt_numeric(x TINYINT) AS CAST(x AS DECIMAL(38, 0)), (x SMALLINT) AS CAST(x AS DECIMAL(38, 0)), (x INTEGER) AS CAST(x AS DECIMAL(38, 0)), (x BIGINT) AS CAST(x AS DECIMAL(38, 0)),
  (x HUGEINT) AS CAST(x AS DECIMAL(38, 0)), (x) AS CAST(x AS DECIMAL(38, 10));
CREATE MACRO dt.pgc.dt_numeric_any(x) AS CAST(x AS DECIMAL(38, 10));
CREATE MACRO dt.pgc.dt_bc(s) AS CASE WHEN contains(s, ' (BC)') THEN replace(s, ' (BC)', '') || ' BC' ELSE s END;
CREATE MACRO dt.pgc.dt_str(x BLOB) AS '\x' || lower(hex(x)), (x VARCHAR) AS x, (x DATE) AS dt.pgc.dt_bc(x::VARCHAR), (x TIMESTAMP) AS dt.pgc.dt_bc(x::VARCHAR), (x TIMESTAMPTZ) AS dt.pgc.dt_bc(x::VARCHAR), (x) AS x;
CREATE MACRO dt.pgc.dt_str_any(x) AS x;
CREATE MACRO dt.pgc.dt_sum_any(s, x) AS s;
CREATE MACRO dt.pgc.dt_whole_any(x) AS x;
CREATE MACRO dt.pgc.initcap(s) AS list_aggregate(list_transform(regexp_extract_all(s, '[\pL0-9]+|[^\pL0-9]+'), lambda dt_w: upper(dt_w[1]) || lower(dt_w[2:])), 'string_agg', '');
CREATE MACRO dt.pgc.dt_text(x) AS x::VARCHAR;
CREATE MACRO dt.pgc.dt_to_date(s, p) AS CAST(strptime(s, p) AS DATE);
CREATE MACRO dt.pgc.dt_to_timestamp(s, p) AS CAST(strptime(s, p) AS TIMESTAMPTZ);

-- Type names in casts.
CREATE TYPE dt.pgc.name AS VARCHAR;
CREATE TYPE dt.pgc.bytes AS BLOB;
CREATE TYPE dt.pgc.int2vector AS SMALLINT[];
CREATE TYPE dt.pgc.oidvector AS BIGINT[];
CREATE TYPE dt.pgc.xid AS BIGINT;
CREATE TYPE dt.pgc.cid AS BIGINT;
CREATE TYPE dt.pgc.regclass AS BIGINT;
CREATE TYPE dt.pgc.regtype AS BIGINT;
CREATE TYPE dt.pgc.regproc AS BIGINT;
CREATE TYPE dt.pgc.regnamespace AS BIGINT;
CREATE TYPE dt.pgc.regrole AS BIGINT;
CREATE TYPE dt.pgc.jsonb AS JSON;

-- Views of pg_catalog that follow from its tables.
CREATE VIEW dt.pgc.pg_roles AS SELECT rolname, rolsuper, rolinherit, rolcreaterole, rolcreatedb, rolcanlogin, rolreplication, rolconnlimit, '********' AS rolpassword, rolvaliduntil, rolbypassrls, NULL::VARCHAR[] AS rolconfig, oid FROM dt.pgc.pg_authid;
CREATE VIEW dt.pgc.pg_user AS SELECT rolname AS usename, oid AS usesysid, rolcreatedb AS usecreatedb, rolsuper AS usesuper, rolreplication AS userepl, rolbypassrls AS usebypassrls, '********' AS passwd, rolvaliduntil AS valuntil, NULL::VARCHAR[] AS useconfig FROM dt.pgc.pg_authid;
CREATE VIEW dt.pgc.pg_tables AS SELECT n.nspname AS schemaname, c.relname AS tablename, '@user@' AS tableowner, NULL::VARCHAR AS tablespace, c.relhasindex AS hasindexes, false AS hasrules, false AS hastriggers, false AS rowsecurity
  FROM dt.pgc.pg_class c JOIN dt.pgc.pg_namespace n ON n.oid = c.relnamespace WHERE c.relkind IN ('r', 'p');
CREATE VIEW dt.pgc.pg_indexes AS SELECT n.nspname AS schemaname, c.relname AS tablename, i.relname AS indexname, NULL::VARCHAR AS tablespace, d.def AS indexdef
  FROM dt.pgc.pg_index x JOIN dt.pgc.pg_class c ON c.oid = x.indrelid JOIN dt.pgc.pg_class i ON i.oid = x.indexrelid JOIN dt.pgc.pg_namespace n ON n.oid = c.relnamespace
  LEFT JOIN dt.pgc.dt_idxdef d ON d.oid = i.oid AND d.attnum = 0;
CREATE VIEW dt.pgc.pg_stat_user_tables AS SELECT c.oid AS relid, n.nspname AS schemaname, c.relname, 0::BIGINT AS seq_scan, 0::BIGINT AS seq_tup_read, 0::BIGINT AS idx_scan, 0::BIGINT AS idx_tup_fetch, 0::BIGINT AS n_tup_ins, 0::BIGINT AS n_tup_upd,
  0::BIGINT AS n_tup_del, 0::BIGINT AS n_live_tup, 0::BIGINT AS n_dead_tup, NULL::TIMESTAMPTZ AS last_vacuum, NULL::TIMESTAMPTZ AS last_autovacuum, NULL::TIMESTAMPTZ AS last_analyze, NULL::TIMESTAMPTZ AS last_autoanalyze
  FROM dt.pgc.pg_class c JOIN dt.pgc.pg_namespace n ON n.oid = c.relnamespace WHERE c.relkind = 'r' AND n.nspname NOT IN ('pg_catalog', 'information_schema');
CREATE VIEW dt.pgc.pg_timezone_names AS SELECT name, abbrev, utc_offset, is_dst FROM system.main.pg_timezone_names();
