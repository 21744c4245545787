SELECT n.nspname as "Schema", t.typname as "Name", format_type(t.typbasetype, t.typtypmod) as "Type", (SELECT c.collname FROM pg_collation c, pg_type bt WHERE c.oid = t.typcollation AND bt.oid = t.typbasetype AND t.typcollation <> bt.typcollation) as "Collation", CASE WHEN t.typnotnull THEN 'not null' END as "Nullable", t.typdefault as "Default", array_to_string(ARRAY( SELECT pg_get_constraintdef(r.oid, true) FROM pg_constraint r WHERE t.oid = r.contypid AND r.contype = 'c' ORDER BY r.conname ), ' ') as "Check" FROM pg_type t LEFT JOIN pg_namespace n ON n.oid = t.typnamespace WHERE t.typtype = 'd' AND n.nspname <> 'pg_catalog' AND n.nspname <> 'information_schema' AND pg_type_is_visible(t.oid) ORDER BY 1, 2;

SELECT n.nspname AS "Schema", c.collname AS "Name", CASE c.collprovider WHEN 'd' THEN 'default' WHEN 'b' THEN 'builtin' WHEN 'c' THEN 'libc' WHEN 'i' THEN 'icu' END AS "Provider", c.collcollate AS "Collate", c.collctype AS "Ctype", c.colliculocale AS "Locale", NULL AS "ICU Rules", CASE WHEN c.collisdeterministic THEN 'yes' ELSE 'no' END AS "Deterministic?" FROM pg_collation c, pg_namespace n WHERE n.oid = c.collnamespace AND n.nspname <> 'pg_catalog' AND n.nspname <> 'information_schema' AND c.collencoding IN (-1, pg_char_to_encoding(getdatabaseencoding())) AND pg_collation_is_visible(c.oid) ORDER BY 1, 2;

SELECT n.nspname as "Schema", format_type(t.oid, NULL) AS "Name", t.typname AS "Internal name", CASE WHEN t.typrelid != 0 THEN CAST('tuple' AS text) WHEN t.typlen < 0 THEN CAST('var' AS text) ELSE CAST(t.typlen AS text) END AS "Size", array_to_string( ARRAY( SELECT e.enumlabel FROM pg_enum e WHERE e.enumtypid = t.oid ORDER BY e.enumsortorder ), '
' ) AS "Elements", pg_get_userbyid(t.typowner) AS "Owner", CASE WHEN array_length(t.typacl, 1) = 0 THEN '(none)' ELSE array_to_string(t.typacl, '
') END AS "Access privileges", obj_description(t.oid, 'pg_type') as "Description" FROM pg_type t LEFT JOIN pg_namespace n ON n.oid = t.typnamespace WHERE (t.typrelid = 0 OR (SELECT c.relkind = 'c' FROM pg_class c WHERE c.oid = t.typrelid)) AND NOT EXISTS(SELECT 1 FROM pg_type el WHERE el.oid = t.typelem AND el.typarray = t.oid) AND n.nspname <> 'pg_catalog' AND n.nspname <> 'information_schema' AND pg_type_is_visible(t.oid) ORDER BY 1, 2;

SELECT pg_get_userbyid(d.defaclrole) AS "Owner", n.nspname AS "Schema", CASE d.defaclobjtype WHEN 'r' THEN 'table' WHEN 'S' THEN 'sequence' WHEN 'f' THEN 'function' WHEN 'T' THEN 'type' WHEN 'n' THEN 'schema' END AS "Type", CASE WHEN array_length(d.defaclacl, 1) = 0 THEN '(none)' ELSE array_to_string(d.defaclacl, '
') END AS "Access privileges" FROM pg_default_acl d LEFT JOIN pg_namespace n ON n.oid = d.defaclnamespace ORDER BY 1, 2, 3;

SELECT n.nspname as "Schema", p.proname as "Name", pg_get_function_result(p.oid) as "Result data type", pg_get_function_arguments(p.oid) as "Argument data types", CASE p.prokind WHEN 'a' THEN 'agg' WHEN 'w' THEN 'window' WHEN 'p' THEN 'proc' ELSE 'func' END as "Type", CASE WHEN p.provolatile = 'i' THEN 'immutable' WHEN p.provolatile = 's' THEN 'stable' WHEN p.provolatile = 'v' THEN 'volatile' END as "Volatility", CASE WHEN p.proparallel = 'r' THEN 'restricted' WHEN p.proparallel = 's' THEN 'safe' WHEN p.proparallel = 'u' THEN 'unsafe' END as "Parallel", pg_get_userbyid(p.proowner) as "Owner", CASE WHEN prosecdef THEN 'definer' ELSE 'invoker' END AS "Security", CASE WHEN array_length(p.proacl, 1) = 0 THEN '(none)' ELSE array_to_string(p.proacl, '
') END AS "Access privileges", l.lanname as "Language", CASE WHEN l.lanname IN ('internal', 'c') THEN p.prosrc END as "Internal name", obj_description(p.oid, 'pg_proc') as "Description" FROM pg_proc p LEFT JOIN pg_namespace n ON n.oid = p.pronamespace LEFT JOIN pg_language l ON l.oid = p.prolang WHERE p.proname ~ '^(f1)$' AND pg_function_is_visible(p.oid) ORDER BY 1, 2, 4;

SELECT r.rolname, r.rolsuper, r.rolinherit, r.rolcreaterole, r.rolcreatedb, r.rolcanlogin, r.rolconnlimit, r.rolvaliduntil , r.rolreplication , r.rolbypassrls FROM pg_roles r WHERE r.rolname !~ '^pg_' ORDER BY 1;

SELECT n.nspname AS "Name", pg_get_userbyid(n.nspowner) AS "Owner", CASE WHEN array_length(n.nspacl, 1) = 0 THEN '(none)' ELSE array_to_string(n.nspacl, '
') END AS "Access privileges", obj_description(n.oid, 'pg_namespace') AS "Description" FROM pg_namespace n WHERE n.nspname !~ '^pg_' AND n.nspname <> 'information_schema' ORDER BY 1;

SELECT n.nspname as "Schema", c.relname as "Name", CASE c.relkind WHEN 'r' THEN 'table' WHEN 'v' THEN 'view' WHEN 'm' THEN 'materialized view' WHEN 'S' THEN 'sequence' WHEN 'f' THEN 'foreign table' WHEN 'p' THEN 'partitioned table' END as "Type", CASE WHEN array_length(c.relacl, 1) = 0 THEN '(none)' ELSE array_to_string(c.relacl, '
') END AS "Access privileges", array_to_string(ARRAY( SELECT attname || ':
  ' || array_to_string(attacl, '
  ') FROM pg_attribute a WHERE attrelid = c.oid AND NOT attisdropped AND attacl IS NOT NULL ), '
') AS "Column privileges", array_to_string(ARRAY( SELECT polname || CASE WHEN NOT polpermissive THEN ' (RESTRICTIVE)' ELSE '' END || CASE WHEN polcmd != '*' THEN ' (' || polcmd::text || '):' ELSE ':' END || CASE WHEN polqual IS NOT NULL THEN '
  (u): ' || pg_get_expr(polqual, polrelid) ELSE '' END || CASE WHEN polwithcheck IS NOT NULL THEN '
  (c): ' || pg_get_expr(polwithcheck, polrelid) ELSE '' END || CASE WHEN polroles <> '{0}' THEN '
  to: ' || array_to_string( ARRAY( SELECT rolname FROM pg_roles WHERE (list_contains(polroles,oid)) ORDER BY 1 ), ', ') ELSE '' END FROM pg_policy pol WHERE polrelid = c.oid), '
') AS "Policies" FROM pg_class c LEFT JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.relkind IN ('r','v','m','S','f','p') AND n.nspname <> 'pg_catalog' AND n.nspname <> 'information_schema' AND pg_table_is_visible(c.oid) ORDER BY 1, 2;

SELECT m.rolname AS "Role name", r.rolname AS "Member of", concat_ws(', ', CASE WHEN pam.admin_option THEN 'ADMIN' END, CASE WHEN m.rolinherit THEN 'INHERIT' END, 'SET' ) AS "Options", g.rolname AS "Grantor" FROM pg_roles m JOIN pg_auth_members pam ON (pam.member = m.oid) LEFT JOIN pg_roles r ON (pam.roleid = r.oid) LEFT JOIN pg_roles g ON (pam.grantor = g.oid) WHERE m.rolname !~ '^pg_' ORDER BY 1, 2, 4;

SELECT r.rolname, r.rolsuper, r.rolinherit, r.rolcreaterole, r.rolcreatedb, r.rolcanlogin, r.rolconnlimit, r.rolvaliduntil , shobj_description(r.oid, 'pg_authid') AS description , r.rolreplication , r.rolbypassrls FROM pg_roles r WHERE r.rolname !~ '^pg_' ORDER BY 1;

SELECT d.datname as "Name", pg_get_userbyid(d.datdba) as "Owner", pg_encoding_to_char(d.encoding) as "Encoding", CASE d.datlocprovider WHEN 'b' THEN 'builtin' WHEN 'c' THEN 'libc' WHEN 'i' THEN 'icu' END AS "Locale Provider", d.datcollate as "Collate", d.datctype as "Ctype", d.daticulocale as "Locale", NULL as "ICU Rules", CASE WHEN array_length(d.datacl, 1) = 0 THEN '(none)' ELSE array_to_string(d.datacl, '
') END AS "Access privileges" FROM pg_database d ORDER BY 1;

SELECT d.datname as "Name", pg_get_userbyid(d.datdba) as "Owner", pg_encoding_to_char(d.encoding) as "Encoding", CASE d.datlocprovider WHEN 'b' THEN 'builtin' WHEN 'c' THEN 'libc' WHEN 'i' THEN 'icu' END AS "Locale Provider", d.datcollate as "Collate", d.datctype as "Ctype", d.daticulocale as "Locale", NULL as "ICU Rules", CASE WHEN array_length(d.datacl, 1) = 0 THEN '(none)' ELSE array_to_string(d.datacl, '
') END AS "Access privileges", CASE WHEN has_database_privilege(d.datname, 'CONNECT') OR pg_has_role('pg_read_all_stats', 'USAGE') THEN pg_size_pretty(pg_database_size(d.datname)) ELSE 'No Access' END as "Size", t.spcname as "Tablespace", shobj_description(d.oid, 'pg_database') as "Description" FROM pg_database d JOIN pg_tablespace t on d.dattablespace = t.oid ORDER BY 1;

