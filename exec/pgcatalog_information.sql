-- information_schema, as views in schema dt.pgis.

CREATE MACRO dt.pgis._pg_expandarray(a) AS unnest(list_transform(a, lambda e, i: {'x': e, 'n': i}));
CREATE VIEW dt.pgis.information_schema_catalog_name AS SELECT dt.pgc.current_database() AS catalog_name;
CREATE VIEW dt.pgis.schemata AS SELECT dt.pgc.current_database() AS catalog_name, nspname AS schema_name, '@user@' AS schema_owner, NULL::VARCHAR AS default_character_set_catalog,
  NULL::VARCHAR AS default_character_set_schema, NULL::VARCHAR AS default_character_set_name, NULL::VARCHAR AS sql_path FROM dt.pgc.pg_namespace;
CREATE VIEW dt.pgis.tables AS SELECT dt.pgc.current_database() AS table_catalog, n.nspname AS table_schema, c.relname AS table_name, CASE c.relkind WHEN 'v' THEN 'VIEW' ELSE 'BASE TABLE' END AS table_type,
  NULL::VARCHAR AS self_referencing_column_name, NULL::VARCHAR AS reference_generation, NULL::VARCHAR AS user_defined_type_catalog, NULL::VARCHAR AS user_defined_type_schema,
  NULL::VARCHAR AS user_defined_type_name, CASE WHEN c.relkind = 'r' AND n.nspname <> 'pg_catalog' THEN 'YES' ELSE 'NO' END AS is_insertable_into, 'NO' AS is_typed, NULL::VARCHAR AS commit_action
  FROM dt.pgc.pg_class c JOIN dt.pgc.pg_namespace n ON n.oid = c.relnamespace WHERE c.relkind IN ('r', 'v', 'p', 'f');
CREATE VIEW dt.pgis.columns AS SELECT dt.pgc.current_database() AS table_catalog, n.nspname AS table_schema, c.relname AS table_name, a.attname AS column_name, a.attnum::INTEGER AS ordinal_position,
  d.adbin AS column_default, CASE WHEN a.attnotnull THEN 'NO' ELSE 'YES' END AS is_nullable,
  CASE WHEN t.typcategory = 'A' AND t.typelem <> 0 THEN 'ARRAY' ELSE dt.pgc.format_type(a.atttypid, -1) END AS data_type,
  CASE WHEN a.atttypid IN (1042, 1043) AND a.atttypmod > 4 THEN a.atttypmod - 4 END AS character_maximum_length,
  CASE WHEN a.atttypid IN (25, 1042, 1043) THEN 1073741824 END AS character_octet_length,
  CASE a.atttypid WHEN 21 THEN 16 WHEN 23 THEN 32 WHEN 20 THEN 64 WHEN 700 THEN 24 WHEN 701 THEN 53 WHEN 1700 THEN CASE WHEN a.atttypmod > 0 THEN ((a.atttypmod - 4) >> 16) & 65535 END END AS numeric_precision,
  CASE WHEN a.atttypid IN (20, 21, 23, 700, 701) THEN 2 WHEN a.atttypid = 1700 THEN 10 END AS numeric_precision_radix,
  CASE WHEN a.atttypid IN (20, 21, 23) THEN 0 WHEN a.atttypid = 1700 AND a.atttypmod > 0 THEN (a.atttypmod - 4) & 65535 END AS numeric_scale,
  CASE WHEN a.atttypid = 1082 THEN 0 WHEN a.atttypid IN (1083, 1114, 1184) THEN CASE WHEN a.atttypmod >= 0 THEN a.atttypmod ELSE 6 END END AS datetime_precision,
  NULL::VARCHAR AS interval_type, NULL::INTEGER AS interval_precision, NULL::VARCHAR AS character_set_catalog, NULL::VARCHAR AS character_set_schema, NULL::VARCHAR AS character_set_name,
  NULL::VARCHAR AS collation_catalog, NULL::VARCHAR AS collation_schema, NULL::VARCHAR AS collation_name, NULL::VARCHAR AS domain_catalog, NULL::VARCHAR AS domain_schema, NULL::VARCHAR AS domain_name,
  dt.pgc.current_database() AS udt_catalog, 'pg_catalog' AS udt_schema, t.typname AS udt_name, NULL::VARCHAR AS scope_catalog, NULL::VARCHAR AS scope_schema, NULL::VARCHAR AS scope_name,
  NULL::INTEGER AS maximum_cardinality, a.attnum::VARCHAR AS dtd_identifier, 'NO' AS is_self_referencing, 'NO' AS is_identity, NULL::VARCHAR AS identity_generation, NULL::VARCHAR AS identity_start,
  NULL::VARCHAR AS identity_increment, NULL::VARCHAR AS identity_maximum, NULL::VARCHAR AS identity_minimum, 'NO' AS identity_cycle, 'NEVER' AS is_generated, NULL::VARCHAR AS generation_expression, 'YES' AS is_updatable
  FROM dt.pgc.pg_attribute a JOIN dt.pgc.pg_class c ON c.oid = a.attrelid JOIN dt.pgc.pg_namespace n ON n.oid = c.relnamespace JOIN dt.pgc.pg_type t ON t.oid = a.atttypid
  LEFT JOIN dt.pgc.pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum WHERE a.attnum > 0 AND NOT a.attisdropped AND c.relkind IN ('r', 'v', 'p', 'f');
CREATE VIEW dt.pgis.table_constraints AS SELECT dt.pgc.current_database() AS constraint_catalog, n.nspname AS constraint_schema, k.conname AS constraint_name, dt.pgc.current_database() AS table_catalog,
  n.nspname AS table_schema, c.relname AS table_name, 'PRIMARY KEY' AS constraint_type, 'NO' AS is_deferrable, 'NO' AS initially_deferred, 'YES' AS enforced, NULL::VARCHAR AS nulls_distinct
  FROM dt.pgc.pg_constraint k JOIN dt.pgc.pg_class c ON c.oid = k.conrelid JOIN dt.pgc.pg_namespace n ON n.oid = c.relnamespace;
CREATE VIEW dt.pgis.key_column_usage AS SELECT dt.pgc.current_database() AS constraint_catalog, n.nspname AS constraint_schema, k.conname AS constraint_name, dt.pgc.current_database() AS table_catalog,
  n.nspname AS table_schema, c.relname AS table_name, a.attname AS column_name, list_position(k.conkey, a.attnum)::INTEGER AS ordinal_position, NULL::INTEGER AS position_in_unique_constraint
  FROM dt.pgc.pg_constraint k JOIN dt.pgc.pg_class c ON c.oid = k.conrelid JOIN dt.pgc.pg_namespace n ON n.oid = c.relnamespace
  JOIN dt.pgc.pg_attribute a ON a.attrelid = c.oid AND list_contains(k.conkey, a.attnum);
CREATE VIEW dt.pgis.constraint_column_usage AS SELECT table_catalog, table_schema, table_name, column_name, constraint_catalog, constraint_schema, constraint_name FROM dt.pgis.key_column_usage;
CREATE VIEW dt.pgis.constraint_table_usage AS SELECT table_catalog, table_schema, table_name, constraint_catalog, constraint_schema, constraint_name FROM dt.pgis.table_constraints;
CREATE VIEW dt.pgis.table_privileges AS SELECT '@user@' AS grantor, '@user@' AS grantee, table_catalog, table_schema, table_name, p AS privilege_type, 'YES' AS is_grantable, 'NO' AS with_hierarchy
  FROM dt.pgis.tables, unnest(['SELECT', 'INSERT', 'UPDATE', 'DELETE']) u(p);
CREATE VIEW dt.pgis.role_table_grants AS SELECT * FROM dt.pgis.table_privileges;
CREATE VIEW dt.pgis.enabled_roles AS SELECT rolname AS role_name FROM dt.pgc.pg_authid;
CREATE VIEW dt.pgis.applicable_roles AS SELECT ''::VARCHAR AS grantee, ''::VARCHAR AS role_name, ''::VARCHAR AS is_grantable WHERE false;
CREATE TABLE dt.pgis.views (table_catalog VARCHAR, table_schema VARCHAR, table_name VARCHAR, view_definition VARCHAR, check_option VARCHAR, is_updatable VARCHAR, is_insertable_into VARCHAR, is_trigger_updatable VARCHAR, is_trigger_deletable VARCHAR, is_trigger_insertable_into VARCHAR);
CREATE TABLE dt.pgis.referential_constraints (constraint_catalog VARCHAR, constraint_schema VARCHAR, constraint_name VARCHAR, unique_constraint_catalog VARCHAR, unique_constraint_schema VARCHAR, unique_constraint_name VARCHAR, match_option VARCHAR, update_rule VARCHAR, delete_rule VARCHAR);
CREATE TABLE dt.pgis.check_constraints (constraint_catalog VARCHAR, constraint_schema VARCHAR, constraint_name VARCHAR, check_clause VARCHAR);
CREATE TABLE dt.pgis.sequences (sequence_catalog VARCHAR, sequence_schema VARCHAR, sequence_name VARCHAR, data_type VARCHAR, numeric_precision INTEGER, numeric_precision_radix INTEGER, numeric_scale INTEGER, start_value VARCHAR, minimum_value VARCHAR, maximum_value VARCHAR, increment VARCHAR, cycle_option VARCHAR);
CREATE TABLE dt.pgis.routines (specific_catalog VARCHAR, specific_schema VARCHAR, specific_name VARCHAR, routine_catalog VARCHAR, routine_schema VARCHAR, routine_name VARCHAR, routine_type VARCHAR, data_type VARCHAR, type_udt_name VARCHAR, routine_body VARCHAR, routine_definition VARCHAR, external_language VARCHAR, is_deterministic VARCHAR, security_type VARCHAR);
CREATE TABLE dt.pgis.parameters (specific_catalog VARCHAR, specific_schema VARCHAR, specific_name VARCHAR, ordinal_position INTEGER, parameter_mode VARCHAR, parameter_name VARCHAR, data_type VARCHAR, udt_name VARCHAR, parameter_default VARCHAR);
CREATE TABLE dt.pgis.triggers (trigger_catalog VARCHAR, trigger_schema VARCHAR, trigger_name VARCHAR, event_manipulation VARCHAR, event_object_catalog VARCHAR, event_object_schema VARCHAR, event_object_table VARCHAR, action_order INTEGER, action_condition VARCHAR, action_statement VARCHAR, action_orientation VARCHAR, action_timing VARCHAR);
CREATE TABLE dt.pgis.domains (domain_catalog VARCHAR, domain_schema VARCHAR, domain_name VARCHAR, data_type VARCHAR, udt_name VARCHAR, domain_default VARCHAR);
CREATE TABLE dt.pgis.element_types (object_catalog VARCHAR, object_schema VARCHAR, object_name VARCHAR, object_type VARCHAR, collection_type_identifier VARCHAR, data_type VARCHAR, udt_name VARCHAR);
CREATE TABLE dt.pgis.character_sets (character_set_catalog VARCHAR, character_set_schema VARCHAR, character_set_name VARCHAR, character_repertoire VARCHAR, form_of_use VARCHAR, default_collate_catalog VARCHAR, default_collate_schema VARCHAR, default_collate_name VARCHAR);
CREATE TABLE dt.pgis.column_privileges (grantor VARCHAR, grantee VARCHAR, table_catalog VARCHAR, table_schema VARCHAR, table_name VARCHAR, column_name VARCHAR, privilege_type VARCHAR, is_grantable VARCHAR);
INSERT INTO dt.pgis.character_sets VALUES (NULL, NULL, 'UTF8', 'UCS', 'UTF8', '@database@', 'pg_catalog', 'default');
