SELECT n.nspname as "Schema", c.relname as "Name", CASE c.relkind WHEN 'r' THEN 'table' WHEN 'v' THEN 'view' WHEN 'm' THEN 'materialized view' WHEN 'i' THEN 'index' WHEN 'S' THEN 'sequence' WHEN 't' THEN 'TOAST table' WHEN 'f' THEN 'foreign table' WHEN 'p' THEN 'partitioned table' WHEN 'I' THEN 'partitioned index' END as "Type", pg_get_userbyid(c.relowner) as "Owner" FROM pg_class c LEFT JOIN pg_namespace n ON n.oid = c.relnamespace LEFT JOIN pg_am am ON am.oid = c.relam WHERE c.relkind IN ('r','p','v','m','S','f','') AND n.nspname <> 'pg_catalog' AND n.nspname !~ '^pg_toast' AND n.nspname <> 'information_schema' AND pg_table_is_visible(c.oid) ORDER BY 1,2;

SELECT amname AS "Name", CASE amtype WHEN 'i' THEN 'Index' WHEN 't' THEN 'Table' END AS "Type" FROM pg_am ORDER BY 1;

SELECT format_type(castsource, NULL) AS "Source type", format_type(casttarget, NULL) AS "Target type", CASE WHEN c.castmethod = 'b' THEN '(binary coercible)' WHEN c.castmethod = 'i' THEN '(with inout)' ELSE p.proname END AS "Function", CASE WHEN c.castcontext = 'e' THEN 'no' WHEN c.castcontext = 'a' THEN 'in assignment' ELSE 'yes' END AS "Implicit?" FROM pg_cast c LEFT JOIN pg_proc p ON c.castfunc = p.oid LEFT JOIN pg_type ts ON c.castsource = ts.oid LEFT JOIN pg_namespace ns ON ns.oid = ts.typnamespace LEFT JOIN pg_type tt ON c.casttarget = tt.oid LEFT JOIN pg_namespace nt ON nt.oid = tt.typnamespace WHERE ( (true AND pg_type_is_visible(ts.oid) ) OR (true AND pg_type_is_visible(tt.oid) ) ) ORDER BY 1, 2;

SELECT n.nspname as "Schema", t.typname as "Name", format_type(t.typbasetype, t.typtypmod) as "Type", (SELECT c.collname FROM pg_collation c, pg_type bt WHERE c.oid = t.typcollation AND bt.oid = t.typbasetype AND t.typcollation <> bt.typcollation) as "Collation", CASE WHEN t.typnotnull THEN 'not null' END as "Nullable", t.typdefault as "Default", array_to_string(ARRAY( SELECT pg_get_constraintdef(r.oid, true) FROM pg_constraint r WHERE t.oid = r.contypid ), ' ') as "Check" FROM pg_type t LEFT JOIN pg_namespace n ON n.oid = t.typnamespace WHERE t.typtype = 'd' AND n.nspname <> 'pg_catalog' AND n.nspname <> 'information_schema' AND pg_type_is_visible(t.oid) ORDER BY 1, 2;

SELECT n.nspname as "Schema", c.relname as "Name", CASE c.relkind WHEN 'r' THEN 'table' WHEN 'v' THEN 'view' WHEN 'm' THEN 'materialized view' WHEN 'i' THEN 'index' WHEN 'S' THEN 'sequence' WHEN 't' THEN 'TOAST table' WHEN 'f' THEN 'foreign table' WHEN 'p' THEN 'partitioned table' WHEN 'I' THEN 'partitioned index' END as "Type", pg_get_userbyid(c.relowner) as "Owner" FROM pg_class c LEFT JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.relkind IN ('f','') AND n.nspname <> 'pg_catalog' AND n.nspname !~ '^pg_toast' AND n.nspname <> 'information_schema' AND pg_table_is_visible(c.oid) ORDER BY 1,2;

SELECT n.nspname as "Schema", c.cfgname as "Name", obj_description(c.oid, 'pg_ts_config') as "Description" FROM pg_ts_config c LEFT JOIN pg_namespace n ON n.oid = c.cfgnamespace WHERE pg_ts_config_is_visible(c.oid) ORDER BY 1, 2;

SELECT l.lanname AS "Name", pg_get_userbyid(l.lanowner) as "Owner", l.lanpltrusted AS "Trusted", d.description AS "Description" FROM pg_language l LEFT JOIN pg_description d ON d.classoid = l.tableoid AND d.objoid = l.oid AND d.objsubid = 0 WHERE l.lanplcallfoid != 0 ORDER BY 1;

SELECT n.nspname AS "Schema", c.collname AS "Name", c.collcollate AS "Collate", c.collctype AS "Ctype", c.colliculocale AS "ICU Locale", CASE c.collprovider WHEN 'd' THEN 'default' WHEN 'c' THEN 'libc' WHEN 'i' THEN 'icu' END AS "Provider", CASE WHEN c.collisdeterministic THEN 'yes' ELSE 'no' END AS "Deterministic?" FROM pg_collation c, pg_namespace n WHERE n.oid = c.collnamespace AND n.nspname <> 'pg_catalog' AND n.nspname <> 'information_schema' AND c.collencoding IN (-1, pg_char_to_encoding(getdatabaseencoding())) AND pg_collation_is_visible(c.oid) ORDER BY 1, 2;

SELECT n.nspname as "Schema", c.relname as "Name", pg_get_userbyid(c.relowner) as "Owner", CASE c.relkind WHEN 'p' THEN 'partitioned table' WHEN 'I' THEN 'partitioned index' END as "Type", regclass_out(c2.oid) as "Table" FROM pg_class c LEFT JOIN pg_namespace n ON n.oid = c.relnamespace LEFT JOIN pg_index i ON i.indexrelid = c.oid LEFT JOIN pg_class c2 ON i.indrelid = c2.oid WHERE c.relkind IN ('p','I','') AND NOT c.relispartition AND n.nspname <> 'pg_catalog' AND n.nspname !~ '^pg_toast' AND n.nspname <> 'information_schema' AND pg_table_is_visible(c.oid) ORDER BY "Schema", "Type" DESC, "Name";

SELECT pubname AS "Name", pg_get_userbyid(pubowner) AS "Owner", puballtables AS "All tables", pubinsert AS "Inserts", pubupdate AS "Updates", pubdelete AS "Deletes", pubtruncate AS "Truncates", pubviaroot AS "Via root" FROM pg_publication ORDER BY 1;

SELECT subname AS "Name" , pg_get_userbyid(subowner) AS "Owner" , subenabled AS "Enabled" , subpublications AS "Publication" FROM pg_subscription WHERE subdbid = (SELECT oid FROM pg_database WHERE datname = current_database())ORDER BY 1;

SELECT n.nspname as "Schema", c.relname as "Name", CASE c.relkind WHEN 'r' THEN 'table' WHEN 'v' THEN 'view' WHEN 'm' THEN 'materialized view' WHEN 'i' THEN 'index' WHEN 'S' THEN 'sequence' WHEN 't' THEN 'TOAST table' WHEN 'f' THEN 'foreign table' WHEN 'p' THEN 'partitioned table' WHEN 'I' THEN 'partitioned index' END as "Type", pg_get_userbyid(c.relowner) as "Owner" FROM pg_class c LEFT JOIN pg_namespace n ON n.oid = c.relnamespace LEFT JOIN pg_am am ON am.oid = c.relam WHERE c.relkind IN ('r','p','t','v','m','S','s','f','') AND pg_table_is_visible(c.oid) ORDER BY 1,2;

SELECT n.nspname as "Schema", format_type(t.oid, NULL) AS "Name", obj_description(t.oid, 'pg_type') as "Description" FROM pg_type t LEFT JOIN pg_namespace n ON n.oid = t.typnamespace WHERE (t.typrelid = 0 OR (SELECT c.relkind = 'c' FROM pg_class c WHERE c.oid = t.typrelid)) AND NOT EXISTS(SELECT 1 FROM pg_type el WHERE el.oid = t.typelem AND el.typarray = t.oid) AND n.nspname <> 'pg_catalog' AND n.nspname <> 'information_schema' AND pg_type_is_visible(t.oid) ORDER BY 1, 2;

SELECT n.nspname as "Schema", format_type(t.oid, NULL) AS "Name", t.typname AS "Internal name", CASE WHEN t.typrelid != 0 THEN CAST('tuple' AS text) WHEN t.typlen < 0 THEN CAST('var' AS text) ELSE CAST(t.typlen AS text) END AS "Size", array_to_string( ARRAY( SELECT e.enumlabel FROM pg_enum e WHERE e.enumtypid = t.oid ORDER BY e.enumsortorder ), '
' ) AS "Elements", pg_get_userbyid(t.typowner) AS "Owner", array_to_string(t.typacl, '
') AS "Access privileges", obj_description(t.oid, 'pg_type') as "Description" FROM pg_type t LEFT JOIN pg_namespace n ON n.oid = t.typnamespace WHERE (t.typrelid = 0 OR (SELECT c.relkind = 'c' FROM pg_class c WHERE c.oid = t.typrelid)) AND NOT EXISTS(SELECT 1 FROM pg_type el WHERE el.oid = t.typelem AND el.typarray = t.oid) AND n.nspname <> 'pg_catalog' AND n.nspname <> 'information_schema' AND pg_type_is_visible(t.oid) ORDER BY 1, 2;

SELECT regnamespace_out(es.stxnamespace)::text AS "Schema", es.stxname AS "Name", format('%s FROM %s', pg_get_statisticsobjdef_columns(es.oid), regclass_out(es.stxrelid)) AS "Definition", CASE WHEN (list_contains(es.stxkind,'d')) THEN 'defined' END AS "Ndistinct", CASE WHEN (list_contains(es.stxkind,'f')) THEN 'defined' END AS "Dependencies", CASE WHEN (list_contains(es.stxkind,'m')) THEN 'defined' END AS "MCV" FROM pg_statistic_ext es WHERE pg_statistics_obj_is_visible(es.oid) ORDER BY 1, 2;

SELECT c.oid, n.nspname, c.relname FROM pg_class c LEFT JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.relname ~ '^(orders_cust)$' AND pg_table_is_visible(c.oid) ORDER BY 2, 3;

SELECT c.relchecks, c.relkind, c.relhasindex, c.relhasrules, c.relhastriggers, c.relrowsecurity, c.relforcerowsecurity, false AS relhasoids, c.relispartition, '', c.reltablespace, CASE WHEN c.reloftype = 0 THEN '' ELSE regtype_out(c.reloftype)::text END, c.relpersistence, c.relreplident, am.amname FROM pg_class c LEFT JOIN pg_class tc ON (c.reltoastrelid = tc.oid) LEFT JOIN pg_am am ON (c.relam = am.oid) WHERE c.oid = '16398';

SELECT a.attname, format_type(a.atttypid, a.atttypmod), CASE WHEN a.attnum <= (SELECT i.indnkeyatts FROM pg_index i WHERE i.indexrelid = '16398') THEN 'yes' ELSE 'no' END AS is_key, pg_get_indexdef(a.attrelid, a.attnum, TRUE) AS indexdef FROM pg_attribute a WHERE a.attrelid = '16398' AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum;

SELECT i.indisunique, i.indisprimary, i.indisclustered, i.indisvalid, (NOT i.indimmediate) AND EXISTS (SELECT 1 FROM pg_constraint WHERE conrelid = i.indrelid AND conindid = i.indexrelid AND contype IN ('p','u','x') AND condeferrable) AS condeferrable, (NOT i.indimmediate) AND EXISTS (SELECT 1 FROM pg_constraint WHERE conrelid = i.indrelid AND conindid = i.indexrelid AND contype IN ('p','u','x') AND condeferred) AS condeferred, i.indisreplident, i.indnullsnotdistinct, a.amname, c2.relname, pg_get_expr(i.indpred, i.indrelid, true) FROM pg_index i, pg_class c, pg_class c2, pg_am a WHERE i.indexrelid = c.oid AND c.oid = '16398' AND c.relam = a.oid AND i.indrelid = c2.oid;

SELECT c.oid, n.nspname, c.relname FROM pg_class c LEFT JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.relname ~ '^(items)$' AND pg_table_is_visible(c.oid) ORDER BY 2, 3;

SELECT c.relchecks, c.relkind, c.relhasindex, c.relhasrules, c.relhastriggers, c.relrowsecurity, c.relforcerowsecurity, false AS relhasoids, c.relispartition, '', c.reltablespace, CASE WHEN c.reloftype = 0 THEN '' ELSE regtype_out(c.reloftype)::text END, c.relpersistence, c.relreplident, am.amname FROM pg_class c LEFT JOIN pg_class tc ON (c.reltoastrelid = tc.oid) LEFT JOIN pg_am am ON (c.relam = am.oid) WHERE c.oid = '16399';

SELECT a.attname, format_type(a.atttypid, a.atttypmod), (SELECT pg_get_expr(d.adbin, d.adrelid, true) FROM pg_attrdef d WHERE d.adrelid = a.attrelid AND d.adnum = a.attnum AND a.atthasdef), a.attnotnull, (SELECT c.collname FROM pg_collation c, pg_type t WHERE c.oid = a.attcollation AND t.oid = a.atttypid AND a.attcollation <> t.typcollation) AS attcollation, a.attidentity, a.attgenerated FROM pg_attribute a WHERE a.attrelid = '16399' AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum;

SELECT c2.relname, i.indisprimary, i.indisunique, i.indisclustered, i.indisvalid, pg_get_indexdef(i.indexrelid, 0, true), pg_get_constraintdef(con.oid, true), contype, condeferrable, condeferred, i.indisreplident, c2.reltablespace FROM pg_class c, pg_class c2, pg_index i LEFT JOIN pg_constraint con ON (conrelid = i.indrelid AND conindid = i.indexrelid AND contype IN ('p','u','x')) WHERE c.oid = '16399' AND c.oid = i.indrelid AND i.indexrelid = c2.oid ORDER BY i.indisprimary DESC, c2.relname;

SELECT r.conname, pg_get_constraintdef(r.oid, true) FROM pg_constraint r WHERE r.conrelid = '16399' AND r.contype = 'c' ORDER BY 1;

SELECT true as sametable, conname, pg_get_constraintdef(r.oid, true) as condef, regclass_out(conrelid) AS ontable FROM pg_constraint r WHERE r.conrelid = '16399' AND r.contype = 'f' AND conparentid = 0 ORDER BY conname;

SELECT conname, regclass_out(conrelid) AS ontable, pg_get_constraintdef(oid, true) AS condef FROM pg_constraint c WHERE confrelid IN (SELECT pg_partition_ancestors('16399') UNION ALL VALUES (regclass_in('16399'))) AND contype = 'f' AND conparentid = 0 ORDER BY conname;

SELECT pol.polname, pol.polpermissive, CASE WHEN pol.polroles = '{0}' THEN NULL ELSE array_to_string(array(select rolname from pg_roles where (list_contains(pol.polroles,oid)) order by 1),',') END, pg_get_expr(pol.polqual, pol.polrelid), pg_get_expr(pol.polwithcheck, pol.polrelid), CASE pol.polcmd WHEN 'r' THEN 'SELECT' WHEN 'a' THEN 'INSERT' WHEN 'w' THEN 'UPDATE' WHEN 'd' THEN 'DELETE' END AS cmd FROM pg_policy pol WHERE pol.polrelid = '16399' ORDER BY 1;

SELECT oid, regclass_out(stxrelid), regnamespace_out(stxnamespace)::text AS nsp, stxname, pg_get_statisticsobjdef_columns(oid) AS columns, (list_contains(stxkind,'d')) AS ndist_enabled, (list_contains(stxkind,'f')) AS deps_enabled, (list_contains(stxkind,'m')) AS mcv_enabled, stxstattarget FROM pg_statistic_ext WHERE stxrelid = '16399' ORDER BY nsp, stxname;

SELECT pubname , NULL , NULL FROM pg_publication p JOIN pg_publication_namespace pn ON p.oid = pn.pnpubid JOIN pg_class pc ON pc.relnamespace = pn.pnnspid WHERE pc.oid ='16399' and pg_relation_is_publishable('16399') UNION SELECT pubname , pg_get_expr(pr.prqual, c.oid) , (CASE WHEN pr.prattrs IS NOT NULL THEN (SELECT string_agg(attname, ', ') FROM generate_series(0, array_upper(pr.prattrs::int2[], 1)) s(s), pg_attribute WHERE attrelid = pr.prrelid AND attnum = prattrs[s]) ELSE NULL END) FROM pg_publication p JOIN pg_publication_rel pr ON p.oid = pr.prpubid JOIN pg_class c ON c.oid = pr.prrelid WHERE pr.prrelid = '16399' UNION SELECT pubname , NULL , NULL FROM pg_publication p WHERE p.puballtables AND pg_relation_is_publishable('16399') ORDER BY 1;

SELECT t.tgname, pg_get_triggerdef(t.oid, true), t.tgenabled, t.tgisinternal, CASE WHEN t.tgparentid != 0 THEN (SELECT regclass_out(u.tgrelid) FROM pg_trigger AS u, pg_partition_ancestors(t.tgrelid) WITH ORDINALITY AS a(relid, depth) WHERE u.tgname = t.tgname AND u.tgrelid = a.relid AND u.tgparentid = 0 ORDER BY a.depth LIMIT 1) END AS parent FROM pg_trigger t WHERE t.tgrelid = '16399' AND (NOT t.tgisinternal OR (t.tgisinternal AND t.tgenabled = 'D')) ORDER BY 1;

SELECT regclass_out(c.oid) FROM pg_class c, pg_inherits i WHERE c.oid = i.inhparent AND i.inhrelid = '16399' AND c.relkind != 'p' AND c.relkind != 'I' ORDER BY inhseqno;

SELECT regclass_out(c.oid), c.relkind, inhdetachpending, pg_get_expr(c.relpartbound, c.oid) FROM pg_class c, pg_inherits i WHERE c.oid = i.inhrelid AND i.inhparent = '16399' ORDER BY pg_get_expr(c.relpartbound, c.oid) = 'DEFAULT', regclass_out(c.oid)::text;

SELECT c.oid, n.nspname, c.relname FROM pg_class c LEFT JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.relname ~ '^(mv)$' AND pg_table_is_visible(c.oid) ORDER BY 2, 3;

SELECT c.relchecks, c.relkind, c.relhasindex, c.relhasrules, c.relhastriggers, c.relrowsecurity, c.relforcerowsecurity, false AS relhasoids, c.relispartition, '', c.reltablespace, CASE WHEN c.reloftype = 0 THEN '' ELSE regtype_out(c.reloftype)::text END, c.relpersistence, c.relreplident, am.amname FROM pg_class c LEFT JOIN pg_class tc ON (c.reltoastrelid = tc.oid) LEFT JOIN pg_am am ON (c.relam = am.oid) WHERE c.oid = '16416';

SELECT a.attname, format_type(a.atttypid, a.atttypmod), (SELECT pg_get_expr(d.adbin, d.adrelid, true) FROM pg_attrdef d WHERE d.adrelid = a.attrelid AND d.adnum = a.attnum AND a.atthasdef), a.attnotnull, (SELECT c.collname FROM pg_collation c, pg_type t WHERE c.oid = a.attcollation AND t.oid = a.atttypid AND a.attcollation <> t.typcollation) AS attcollation, a.attidentity, a.attgenerated FROM pg_attribute a WHERE a.attrelid = '16416' AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum;

SELECT pol.polname, pol.polpermissive, CASE WHEN pol.polroles = '{0}' THEN NULL ELSE array_to_string(array(select rolname from pg_roles where (list_contains(pol.polroles,oid)) order by 1),',') END, pg_get_expr(pol.polqual, pol.polrelid), pg_get_expr(pol.polwithcheck, pol.polrelid), CASE pol.polcmd WHEN 'r' THEN 'SELECT' WHEN 'a' THEN 'INSERT' WHEN 'w' THEN 'UPDATE' WHEN 'd' THEN 'DELETE' END AS cmd FROM pg_policy pol WHERE pol.polrelid = '16416' ORDER BY 1;

SELECT oid, regclass_out(stxrelid), regnamespace_out(stxnamespace)::text AS nsp, stxname, pg_get_statisticsobjdef_columns(oid) AS columns, (list_contains(stxkind,'d')) AS ndist_enabled, (list_contains(stxkind,'f')) AS deps_enabled, (list_contains(stxkind,'m')) AS mcv_enabled, stxstattarget FROM pg_statistic_ext WHERE stxrelid = '16416' ORDER BY nsp, stxname;

SELECT pubname , NULL , NULL FROM pg_publication p JOIN pg_publication_namespace pn ON p.oid = pn.pnpubid JOIN pg_class pc ON pc.relnamespace = pn.pnnspid WHERE pc.oid ='16416' and pg_relation_is_publishable('16416') UNION SELECT pubname , pg_get_expr(pr.prqual, c.oid) , (CASE WHEN pr.prattrs IS NOT NULL THEN (SELECT string_agg(attname, ', ') FROM generate_series(0, array_upper(pr.prattrs::int2[], 1)) s(s), pg_attribute WHERE attrelid = pr.prrelid AND attnum = prattrs[s]) ELSE NULL END) FROM pg_publication p JOIN pg_publication_rel pr ON p.oid = pr.prpubid JOIN pg_class c ON c.oid = pr.prrelid WHERE pr.prrelid = '16416' UNION SELECT pubname , NULL , NULL FROM pg_publication p WHERE p.puballtables AND pg_relation_is_publishable('16416') ORDER BY 1;

SELECT regclass_out(c.oid) FROM pg_class c, pg_inherits i WHERE c.oid = i.inhparent AND i.inhrelid = '16416' AND c.relkind != 'p' AND c.relkind != 'I' ORDER BY inhseqno;

SELECT regclass_out(c.oid), c.relkind, inhdetachpending, pg_get_expr(c.relpartbound, c.oid) FROM pg_class c, pg_inherits i WHERE c.oid = i.inhrelid AND i.inhparent = '16416' ORDER BY pg_get_expr(c.relpartbound, c.oid) = 'DEFAULT', regclass_out(c.oid)::text;

SELECT c.oid, n.nspname, c.relname FROM pg_class c LEFT JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.relname ~ '^(part)$' AND pg_table_is_visible(c.oid) ORDER BY 2, 3;

SELECT c.relchecks, c.relkind, c.relhasindex, c.relhasrules, c.relhastriggers, c.relrowsecurity, c.relforcerowsecurity, false AS relhasoids, c.relispartition, '', c.reltablespace, CASE WHEN c.reloftype = 0 THEN '' ELSE regtype_out(c.reloftype)::text END, c.relpersistence, c.relreplident, am.amname FROM pg_class c LEFT JOIN pg_class tc ON (c.reltoastrelid = tc.oid) LEFT JOIN pg_am am ON (c.relam = am.oid) WHERE c.oid = '16427';

SELECT a.attname, format_type(a.atttypid, a.atttypmod), (SELECT pg_get_expr(d.adbin, d.adrelid, true) FROM pg_attrdef d WHERE d.adrelid = a.attrelid AND d.adnum = a.attnum AND a.atthasdef), a.attnotnull, (SELECT c.collname FROM pg_collation c, pg_type t WHERE c.oid = a.attcollation AND t.oid = a.atttypid AND a.attcollation <> t.typcollation) AS attcollation, a.attidentity, a.attgenerated FROM pg_attribute a WHERE a.attrelid = '16427' AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum;

SELECT pg_get_partkeydef('16427'::oid);

SELECT conrelid = regclass_in('16427') AS sametable, conname, pg_get_constraintdef(oid, true) AS condef, regclass_out(conrelid) AS ontable FROM pg_constraint, pg_partition_ancestors('16427') WHERE conrelid = relid AND contype = 'f' AND conparentid = 0 ORDER BY sametable DESC, conname;

SELECT conname, regclass_out(conrelid) AS ontable, pg_get_constraintdef(oid, true) AS condef FROM pg_constraint c WHERE confrelid IN (SELECT pg_partition_ancestors('16427') UNION ALL VALUES (regclass_in('16427'))) AND contype = 'f' AND conparentid = 0 ORDER BY conname;

SELECT pol.polname, pol.polpermissive, CASE WHEN pol.polroles = '{0}' THEN NULL ELSE array_to_string(array(select rolname from pg_roles where (list_contains(pol.polroles,oid)) order by 1),',') END, pg_get_expr(pol.polqual, pol.polrelid), pg_get_expr(pol.polwithcheck, pol.polrelid), CASE pol.polcmd WHEN 'r' THEN 'SELECT' WHEN 'a' THEN 'INSERT' WHEN 'w' THEN 'UPDATE' WHEN 'd' THEN 'DELETE' END AS cmd FROM pg_policy pol WHERE pol.polrelid = '16427' ORDER BY 1;

SELECT oid, regclass_out(stxrelid), regnamespace_out(stxnamespace)::text AS nsp, stxname, pg_get_statisticsobjdef_columns(oid) AS columns, (list_contains(stxkind,'d')) AS ndist_enabled, (list_contains(stxkind,'f')) AS deps_enabled, (list_contains(stxkind,'m')) AS mcv_enabled, stxstattarget FROM pg_statistic_ext WHERE stxrelid = '16427' ORDER BY nsp, stxname;

SELECT pubname , NULL , NULL FROM pg_publication p JOIN pg_publication_namespace pn ON p.oid = pn.pnpubid JOIN pg_class pc ON pc.relnamespace = pn.pnnspid WHERE pc.oid ='16427' and pg_relation_is_publishable('16427') UNION SELECT pubname , pg_get_expr(pr.prqual, c.oid) , (CASE WHEN pr.prattrs IS NOT NULL THEN (SELECT string_agg(attname, ', ') FROM generate_series(0, array_upper(pr.prattrs::int2[], 1)) s(s), pg_attribute WHERE attrelid = pr.prrelid AND attnum = prattrs[s]) ELSE NULL END) FROM pg_publication p JOIN pg_publication_rel pr ON p.oid = pr.prpubid JOIN pg_class c ON c.oid = pr.prrelid WHERE pr.prrelid = '16427' UNION SELECT pubname , NULL , NULL FROM pg_publication p WHERE p.puballtables AND pg_relation_is_publishable('16427') ORDER BY 1;

SELECT regclass_out(c.oid) FROM pg_class c, pg_inherits i WHERE c.oid = i.inhparent AND i.inhrelid = '16427' AND c.relkind != 'p' AND c.relkind != 'I' ORDER BY inhseqno;

SELECT regclass_out(c.oid), c.relkind, inhdetachpending, pg_get_expr(c.relpartbound, c.oid) FROM pg_class c, pg_inherits i WHERE c.oid = i.inhrelid AND i.inhparent = '16427' ORDER BY pg_get_expr(c.relpartbound, c.oid) = 'DEFAULT', regclass_out(c.oid)::text;

SELECT c.oid, n.nspname, c.relname FROM pg_class c LEFT JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.relname ~ '^(part_2020)$' AND pg_table_is_visible(c.oid) ORDER BY 2, 3;

SELECT c.relchecks, c.relkind, c.relhasindex, c.relhasrules, c.relhastriggers, c.relrowsecurity, c.relforcerowsecurity, false AS relhasoids, c.relispartition, '', c.reltablespace, CASE WHEN c.reloftype = 0 THEN '' ELSE regtype_out(c.reloftype)::text END, c.relpersistence, c.relreplident, am.amname FROM pg_class c LEFT JOIN pg_class tc ON (c.reltoastrelid = tc.oid) LEFT JOIN pg_am am ON (c.relam = am.oid) WHERE c.oid = '16430';

SELECT a.attname, format_type(a.atttypid, a.atttypmod), (SELECT pg_get_expr(d.adbin, d.adrelid, true) FROM pg_attrdef d WHERE d.adrelid = a.attrelid AND d.adnum = a.attnum AND a.atthasdef), a.attnotnull, (SELECT c.collname FROM pg_collation c, pg_type t WHERE c.oid = a.attcollation AND t.oid = a.atttypid AND a.attcollation <> t.typcollation) AS attcollation, a.attidentity, a.attgenerated FROM pg_attribute a WHERE a.attrelid = '16430' AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum;

SELECT regclass_out(inhparent), pg_get_expr(c.relpartbound, c.oid), inhdetachpending FROM pg_class c JOIN pg_inherits i ON c.oid = inhrelid WHERE c.oid = '16430';

SELECT pol.polname, pol.polpermissive, CASE WHEN pol.polroles = '{0}' THEN NULL ELSE array_to_string(array(select rolname from pg_roles where (list_contains(pol.polroles,oid)) order by 1),',') END, pg_get_expr(pol.polqual, pol.polrelid), pg_get_expr(pol.polwithcheck, pol.polrelid), CASE pol.polcmd WHEN 'r' THEN 'SELECT' WHEN 'a' THEN 'INSERT' WHEN 'w' THEN 'UPDATE' WHEN 'd' THEN 'DELETE' END AS cmd FROM pg_policy pol WHERE pol.polrelid = '16430' ORDER BY 1;

SELECT oid, regclass_out(stxrelid), regnamespace_out(stxnamespace)::text AS nsp, stxname, pg_get_statisticsobjdef_columns(oid) AS columns, (list_contains(stxkind,'d')) AS ndist_enabled, (list_contains(stxkind,'f')) AS deps_enabled, (list_contains(stxkind,'m')) AS mcv_enabled, stxstattarget FROM pg_statistic_ext WHERE stxrelid = '16430' ORDER BY nsp, stxname;

SELECT pubname , NULL , NULL FROM pg_publication p JOIN pg_publication_namespace pn ON p.oid = pn.pnpubid JOIN pg_class pc ON pc.relnamespace = pn.pnnspid WHERE pc.oid ='16430' and pg_relation_is_publishable('16430') UNION SELECT pubname , pg_get_expr(pr.prqual, c.oid) , (CASE WHEN pr.prattrs IS NOT NULL THEN (SELECT string_agg(attname, ', ') FROM generate_series(0, array_upper(pr.prattrs::int2[], 1)) s(s), pg_attribute WHERE attrelid = pr.prrelid AND attnum = prattrs[s]) ELSE NULL END) FROM pg_publication p JOIN pg_publication_rel pr ON p.oid = pr.prpubid JOIN pg_class c ON c.oid = pr.prrelid WHERE pr.prrelid = '16430' UNION SELECT pubname , NULL , NULL FROM pg_publication p WHERE p.puballtables AND pg_relation_is_publishable('16430') ORDER BY 1;

SELECT regclass_out(c.oid) FROM pg_class c, pg_inherits i WHERE c.oid = i.inhparent AND i.inhrelid = '16430' AND c.relkind != 'p' AND c.relkind != 'I' ORDER BY inhseqno;

SELECT regclass_out(c.oid), c.relkind, inhdetachpending, pg_get_expr(c.relpartbound, c.oid) FROM pg_class c, pg_inherits i WHERE c.oid = i.inhrelid AND i.inhparent = '16430' ORDER BY pg_get_expr(c.relpartbound, c.oid) = 'DEFAULT', regclass_out(c.oid)::text;

SELECT c.oid, n.nspname, c.relname FROM pg_class c LEFT JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.relname ~ '^(seq1)$' AND pg_table_is_visible(c.oid) ORDER BY 2, 3;

SELECT c.relchecks, c.relkind, c.relhasindex, c.relhasrules, c.relhastriggers, c.relrowsecurity, c.relforcerowsecurity, false AS relhasoids, c.relispartition, '', c.reltablespace, CASE WHEN c.reloftype = 0 THEN '' ELSE regtype_out(c.reloftype)::text END, c.relpersistence, c.relreplident, am.amname FROM pg_class c LEFT JOIN pg_class tc ON (c.reltoastrelid = tc.oid) LEFT JOIN pg_am am ON (c.relam = am.oid) WHERE c.oid = '16420';

SELECT format_type(seqtypid, NULL) AS "Type", seqstart AS "Start", seqmin AS "Minimum", seqmax AS "Maximum", seqincrement AS "Increment", CASE WHEN seqcycle THEN 'yes' ELSE 'no' END AS "Cycles?", seqcache AS "Cache" FROM pg_sequence WHERE seqrelid = '16420';

SELECT quote_ident(nspname) || '.' || quote_ident(relname) || '.' || quote_ident(attname), d.deptype FROM pg_class c INNER JOIN pg_depend d ON c.oid=d.refobjid INNER JOIN pg_namespace n ON n.oid=c.relnamespace INNER JOIN pg_attribute a ON ( a.attrelid=c.oid AND a.attnum=d.refobjsubid) WHERE d.classid=regclass_in('pg_catalog.pg_class') AND d.refclassid=regclass_in('pg_catalog.pg_class') AND d.objid='16420' AND d.deptype IN ('a', 'i');

SELECT c.oid, n.nspname, c.relname FROM pg_class c LEFT JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.relname ~ '^(orders)$' AND pg_table_is_visible(c.oid) ORDER BY 2, 3;

SELECT c.relchecks, c.relkind, c.relhasindex, c.relhasrules, c.relhastriggers, c.relrowsecurity, c.relforcerowsecurity, false AS relhasoids, c.relispartition, '', c.reltablespace, CASE WHEN c.reloftype = 0 THEN '' ELSE regtype_out(c.reloftype)::text END, c.relpersistence, c.relreplident, am.amname FROM pg_class c LEFT JOIN pg_class tc ON (c.reltoastrelid = tc.oid) LEFT JOIN pg_am am ON (c.relam = am.oid) WHERE c.oid = '16390';

SELECT a.attname, format_type(a.atttypid, a.atttypmod), (SELECT pg_get_expr(d.adbin, d.adrelid, true) FROM pg_attrdef d WHERE d.adrelid = a.attrelid AND d.adnum = a.attnum AND a.atthasdef), a.attnotnull, (SELECT c.collname FROM pg_collation c, pg_type t WHERE c.oid = a.attcollation AND t.oid = a.atttypid AND a.attcollation <> t.typcollation) AS attcollation, a.attidentity, a.attgenerated FROM pg_attribute a WHERE a.attrelid = '16390' AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum;

SELECT c2.relname, i.indisprimary, i.indisunique, i.indisclustered, i.indisvalid, pg_get_indexdef(i.indexrelid, 0, true), pg_get_constraintdef(con.oid, true), contype, condeferrable, condeferred, i.indisreplident, c2.reltablespace FROM pg_class c, pg_class c2, pg_index i LEFT JOIN pg_constraint con ON (conrelid = i.indrelid AND conindid = i.indexrelid AND contype IN ('p','u','x')) WHERE c.oid = '16390' AND c.oid = i.indrelid AND i.indexrelid = c2.oid ORDER BY i.indisprimary DESC, c2.relname;

SELECT true as sametable, conname, pg_get_constraintdef(r.oid, true) as condef, regclass_out(conrelid) AS ontable FROM pg_constraint r WHERE r.conrelid = '16390' AND r.contype = 'f' AND conparentid = 0 ORDER BY conname;

SELECT conname, regclass_out(conrelid) AS ontable, pg_get_constraintdef(oid, true) AS condef FROM pg_constraint c WHERE confrelid IN (SELECT pg_partition_ancestors('16390') UNION ALL VALUES (regclass_in('16390'))) AND contype = 'f' AND conparentid = 0 ORDER BY conname;

SELECT pol.polname, pol.polpermissive, CASE WHEN pol.polroles = '{0}' THEN NULL ELSE array_to_string(array(select rolname from pg_roles where (list_contains(pol.polroles,oid)) order by 1),',') END, pg_get_expr(pol.polqual, pol.polrelid), pg_get_expr(pol.polwithcheck, pol.polrelid), CASE pol.polcmd WHEN 'r' THEN 'SELECT' WHEN 'a' THEN 'INSERT' WHEN 'w' THEN 'UPDATE' WHEN 'd' THEN 'DELETE' END AS cmd FROM pg_policy pol WHERE pol.polrelid = '16390' ORDER BY 1;

SELECT oid, regclass_out(stxrelid), regnamespace_out(stxnamespace)::text AS nsp, stxname, pg_get_statisticsobjdef_columns(oid) AS columns, (list_contains(stxkind,'d')) AS ndist_enabled, (list_contains(stxkind,'f')) AS deps_enabled, (list_contains(stxkind,'m')) AS mcv_enabled, stxstattarget FROM pg_statistic_ext WHERE stxrelid = '16390' ORDER BY nsp, stxname;

SELECT pubname , NULL , NULL FROM pg_publication p JOIN pg_publication_namespace pn ON p.oid = pn.pnpubid JOIN pg_class pc ON pc.relnamespace = pn.pnnspid WHERE pc.oid ='16390' and pg_relation_is_publishable('16390') UNION SELECT pubname , pg_get_expr(pr.prqual, c.oid) , (CASE WHEN pr.prattrs IS NOT NULL THEN (SELECT string_agg(attname, ', ') FROM generate_series(0, array_upper(pr.prattrs::int2[], 1)) s(s), pg_attribute WHERE attrelid = pr.prrelid AND attnum = prattrs[s]) ELSE NULL END) FROM pg_publication p JOIN pg_publication_rel pr ON p.oid = pr.prpubid JOIN pg_class c ON c.oid = pr.prrelid WHERE pr.prrelid = '16390' UNION SELECT pubname , NULL , NULL FROM pg_publication p WHERE p.puballtables AND pg_relation_is_publishable('16390') ORDER BY 1;

SELECT t.tgname, pg_get_triggerdef(t.oid, true), t.tgenabled, t.tgisinternal, CASE WHEN t.tgparentid != 0 THEN (SELECT regclass_out(u.tgrelid) FROM pg_trigger AS u, pg_partition_ancestors(t.tgrelid) WITH ORDINALITY AS a(relid, depth) WHERE u.tgname = t.tgname AND u.tgrelid = a.relid AND u.tgparentid = 0 ORDER BY a.depth LIMIT 1) END AS parent FROM pg_trigger t WHERE t.tgrelid = '16390' AND (NOT t.tgisinternal OR (t.tgisinternal AND t.tgenabled = 'D')) ORDER BY 1;

SELECT regclass_out(c.oid) FROM pg_class c, pg_inherits i WHERE c.oid = i.inhparent AND i.inhrelid = '16390' AND c.relkind != 'p' AND c.relkind != 'I' ORDER BY inhseqno;

SELECT regclass_out(c.oid), c.relkind, inhdetachpending, pg_get_expr(c.relpartbound, c.oid) FROM pg_class c, pg_inherits i WHERE c.oid = i.inhrelid AND i.inhparent = '16390' ORDER BY pg_get_expr(c.relpartbound, c.oid) = 'DEFAULT', regclass_out(c.oid)::text;

SELECT c.oid, n.nspname, c.relname FROM pg_class c LEFT JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.relname ~ '^(big_orders)$' AND pg_table_is_visible(c.oid) ORDER BY 2, 3;

SELECT c.relchecks, c.relkind, c.relhasindex, c.relhasrules, c.relhastriggers, c.relrowsecurity, c.relforcerowsecurity, false AS relhasoids, c.relispartition, '', c.reltablespace, CASE WHEN c.reloftype = 0 THEN '' ELSE regtype_out(c.reloftype)::text END, c.relpersistence, c.relreplident, am.amname FROM pg_class c LEFT JOIN pg_class tc ON (c.reltoastrelid = tc.oid) LEFT JOIN pg_am am ON (c.relam = am.oid) WHERE c.oid = '16412';

SELECT a.attname, format_type(a.atttypid, a.atttypmod), (SELECT pg_get_expr(d.adbin, d.adrelid, true) FROM pg_attrdef d WHERE d.adrelid = a.attrelid AND d.adnum = a.attnum AND a.atthasdef), a.attnotnull, (SELECT c.collname FROM pg_collation c, pg_type t WHERE c.oid = a.attcollation AND t.oid = a.atttypid AND a.attcollation <> t.typcollation) AS attcollation, a.attidentity, a.attgenerated FROM pg_attribute a WHERE a.attrelid = '16412' AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum;

SELECT n.nspname as "Schema", p.proname AS "Name", format_type(p.prorettype, NULL) AS "Result data type", CASE WHEN p.pronargs = 0 THEN CAST('*' AS text) ELSE pg_get_function_arguments(p.oid) END AS "Argument data types", obj_description(p.oid, 'pg_proc') as "Description" FROM pg_proc p LEFT JOIN pg_namespace n ON n.oid = p.pronamespace WHERE p.prokind = 'a' AND n.nspname <> 'pg_catalog' AND n.nspname <> 'information_schema' AND pg_function_is_visible(p.oid) ORDER BY 1, 2, 4;

SELECT spcname AS "Name", pg_get_userbyid(spcowner) AS "Owner", pg_tablespace_location(oid) AS "Location" FROM pg_tablespace ORDER BY 1;

SELECT s.name AS "Parameter", current_setting(s.name) AS "Value" FROM pg_settings s WHERE s.source <> 'default' AND s.setting IS DISTINCT FROM s.boot_val ORDER BY 1;

SELECT DISTINCT tt.nspname AS "Schema", tt.name AS "Name", tt.object AS "Object", d.description AS "Description" FROM ( SELECT pgc.oid as oid, pgc.tableoid AS tableoid, n.nspname as nspname, CAST(pgc.conname AS text) as name, CAST('table constraint' AS text) as object FROM pg_constraint pgc JOIN pg_class c ON c.oid = pgc.conrelid LEFT JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname <> 'pg_catalog' AND n.nspname <> 'information_schema' AND pg_table_is_visible(c.oid) UNION ALL SELECT pgc.oid as oid, pgc.tableoid AS tableoid, n.nspname as nspname, CAST(pgc.conname AS text) as name, CAST('domain constraint' AS text) as object FROM pg_constraint pgc JOIN pg_type t ON t.oid = pgc.contypid LEFT JOIN pg_namespace n ON n.oid = t.typnamespace WHERE n.nspname <> 'pg_catalog' AND n.nspname <> 'information_schema' AND pg_type_is_visible(t.oid) UNION ALL SELECT o.oid as oid, o.tableoid as tableoid, n.nspname as nspname, CAST(o.opcname AS text) as name, CAST('operator class' AS text) as object FROM pg_opclass o JOIN pg_am am ON o.opcmethod = am.oid JOIN pg_namespace n ON n.oid = o.opcnamespace AND n.nspname <> 'pg_catalog' AND n.nspname <> 'information_schema' AND pg_opclass_is_visible(o.oid) UNION ALL SELECT opf.oid as oid, opf.tableoid as tableoid, n.nspname as nspname, CAST(opf.opfname AS text) AS name, CAST('operator family' AS text) as object FROM pg_opfamily opf JOIN pg_am am ON opf.opfmethod = am.oid JOIN pg_namespace n ON opf.opfnamespace = n.oid AND n.nspname <> 'pg_catalog' AND n.nspname <> 'information_schema' AND pg_opfamily_is_visible(opf.oid) UNION ALL SELECT r.oid as oid, r.tableoid as tableoid, n.nspname as nspname, CAST(r.rulename AS text) as name, CAST('rule' AS text) as object FROM pg_rewrite r JOIN pg_class c ON c.oid = r.ev_class LEFT JOIN pg_namespace n ON n.oid = c.relnamespace WHERE r.rulename != '_RETURN' AND n.nspname <> 'pg_catalog' AND n.nspname <> 'information_schema' AND pg_table_is_visible(c.oid) UNION ALL SELECT t.oid as oid, t.tableoid as tableoid, n.nspname as nspname, CAST(t.tgname AS text) as name, CAST('trigger' AS text) as object FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid LEFT JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname <> 'pg_catalog' AND n.nspname <> 'information_schema' AND pg_table_is_visible(c.oid) ) AS tt JOIN pg_description d ON (tt.oid = d.objoid AND tt.tableoid = d.classoid AND d.objsubid = 0) ORDER BY 1, 2, 3;

SELECT pg_get_userbyid(d.defaclrole) AS "Owner", n.nspname AS "Schema", CASE d.defaclobjtype WHEN 'r' THEN 'table' WHEN 'S' THEN 'sequence' WHEN 'f' THEN 'function' WHEN 'T' THEN 'type' WHEN 'n' THEN 'schema' END AS "Type", array_to_string(d.defaclacl, '
') AS "Access privileges" FROM pg_default_acl d LEFT JOIN pg_namespace n ON n.oid = d.defaclnamespace ORDER BY 1, 2, 3;

SELECT s.srvname AS "Name", pg_get_userbyid(s.srvowner) AS "Owner", f.fdwname AS "Foreign-data wrapper" FROM pg_foreign_server s JOIN pg_foreign_data_wrapper f ON f.oid=s.srvfdw ORDER BY 1;

SELECT n.nspname AS "Schema", c.relname AS "Table", s.srvname AS "Server" FROM pg_foreign_table ft INNER JOIN pg_class c ON c.oid = ft.ftrelid INNER JOIN pg_namespace n ON n.oid = c.relnamespace INNER JOIN pg_foreign_server s ON s.oid = ft.ftserver WHERE pg_table_is_visible(c.oid) ORDER BY 1, 2;

SELECT n.nspname as "Schema", p.proname as "Name", pg_get_function_result(p.oid) as "Result data type", pg_get_function_arguments(p.oid) as "Argument data types", CASE p.prokind WHEN 'a' THEN 'agg' WHEN 'w' THEN 'window' WHEN 'p' THEN 'proc' ELSE 'func' END as "Type" FROM pg_proc p LEFT JOIN pg_namespace n ON n.oid = p.pronamespace WHERE pg_function_is_visible(p.oid) AND n.nspname <> 'pg_catalog' AND n.nspname <> 'information_schema' ORDER BY 1, 2, 4;

SELECT n.nspname as "Schema", p.proname as "Name", pg_get_function_result(p.oid) as "Result data type", pg_get_function_arguments(p.oid) as "Argument data types", CASE p.prokind WHEN 'a' THEN 'agg' WHEN 'w' THEN 'window' WHEN 'p' THEN 'proc' ELSE 'func' END as "Type" FROM pg_proc p LEFT JOIN pg_namespace n ON n.oid = p.pronamespace WHERE p.proname ~ '^(f1)$' AND pg_function_is_visible(p.oid) ORDER BY 1, 2, 4;

SELECT n.nspname as "Schema", p.proname as "Name", pg_get_function_result(p.oid) as "Result data type", pg_get_function_arguments(p.oid) as "Argument data types", CASE p.prokind WHEN 'a' THEN 'agg' WHEN 'w' THEN 'window' WHEN 'p' THEN 'proc' ELSE 'func' END as "Type", CASE WHEN p.provolatile = 'i' THEN 'immutable' WHEN p.provolatile = 's' THEN 'stable' WHEN p.provolatile = 'v' THEN 'volatile' END as "Volatility", CASE WHEN p.proparallel = 'r' THEN 'restricted' WHEN p.proparallel = 's' THEN 'safe' WHEN p.proparallel = 'u' THEN 'unsafe' END as "Parallel", pg_get_userbyid(p.proowner) as "Owner", CASE WHEN prosecdef THEN 'definer' ELSE 'invoker' END AS "Security", array_to_string(p.proacl, '
') AS "Access privileges", l.lanname as "Language", COALESCE(pg_get_function_sqlbody(p.oid), p.prosrc) as "Source code", obj_description(p.oid, 'pg_proc') as "Description" FROM pg_proc p LEFT JOIN pg_namespace n ON n.oid = p.pronamespace LEFT JOIN pg_language l ON l.oid = p.prolang WHERE p.proname ~ '^(f1)$' AND pg_function_is_visible(p.oid) ORDER BY 1, 2, 4;

SELECT r.rolname, r.rolsuper, r.rolinherit, r.rolcreaterole, r.rolcreatedb, r.rolcanlogin, r.rolconnlimit, r.rolvaliduntil, ARRAY(SELECT b.rolname FROM pg_auth_members m JOIN pg_roles b ON (m.roleid = b.oid) WHERE m.member = r.oid) as memberof , r.rolreplication , r.rolbypassrls FROM pg_roles r WHERE r.rolname !~ '^pg_' ORDER BY 1;

SELECT n.nspname as "Schema", c.relname as "Name", CASE c.relkind WHEN 'r' THEN 'table' WHEN 'v' THEN 'view' WHEN 'm' THEN 'materialized view' WHEN 'i' THEN 'index' WHEN 'S' THEN 'sequence' WHEN 't' THEN 'TOAST table' WHEN 'f' THEN 'foreign table' WHEN 'p' THEN 'partitioned table' WHEN 'I' THEN 'partitioned index' END as "Type", pg_get_userbyid(c.relowner) as "Owner", c2.relname as "Table" FROM pg_class c LEFT JOIN pg_namespace n ON n.oid = c.relnamespace LEFT JOIN pg_am am ON am.oid = c.relam LEFT JOIN pg_index i ON i.indexrelid = c.oid LEFT JOIN pg_class c2 ON i.indrelid = c2.oid WHERE c.relkind IN ('i','I','') AND n.nspname <> 'pg_catalog' AND n.nspname !~ '^pg_toast' AND n.nspname <> 'information_schema' AND pg_table_is_visible(c.oid) ORDER BY 1,2;

SELECT n.nspname as "Schema", c.relname as "Name", CASE c.relkind WHEN 'r' THEN 'table' WHEN 'v' THEN 'view' WHEN 'm' THEN 'materialized view' WHEN 'i' THEN 'index' WHEN 'S' THEN 'sequence' WHEN 't' THEN 'TOAST table' WHEN 'f' THEN 'foreign table' WHEN 'p' THEN 'partitioned table' WHEN 'I' THEN 'partitioned index' END as "Type", pg_get_userbyid(c.relowner) as "Owner" FROM pg_class c LEFT JOIN pg_namespace n ON n.oid = c.relnamespace LEFT JOIN pg_am am ON am.oid = c.relam WHERE c.relkind IN ('m','') AND n.nspname <> 'pg_catalog' AND n.nspname !~ '^pg_toast' AND n.nspname <> 'information_schema' AND pg_table_is_visible(c.oid) ORDER BY 1,2;

SELECT n.nspname AS "Name", pg_get_userbyid(n.nspowner) AS "Owner" FROM pg_namespace n WHERE n.nspname !~ '^pg_' AND n.nspname <> 'information_schema' ORDER BY 1;

SELECT n.nspname AS "Name", pg_get_userbyid(n.nspowner) AS "Owner", array_to_string(n.nspacl, '
') AS "Access privileges", obj_description(n.oid, 'pg_namespace') AS "Description" FROM pg_namespace n WHERE n.nspname !~ '^pg_' AND n.nspname <> 'information_schema' ORDER BY 1;

SELECT n.nspname as "Schema", o.oprname AS "Name", CASE WHEN o.oprkind='l' THEN NULL ELSE format_type(o.oprleft, NULL) END AS "Left arg type", CASE WHEN o.oprkind='r' THEN NULL ELSE format_type(o.oprright, NULL) END AS "Right arg type", format_type(o.oprresult, NULL) AS "Result type", coalesce(obj_description(o.oid, 'pg_operator'), obj_description(o.oprcode, 'pg_proc')) AS "Description" FROM pg_operator o LEFT JOIN pg_namespace n ON n.oid = o.oprnamespace WHERE n.nspname <> 'pg_catalog' AND n.nspname <> 'information_schema' AND pg_operator_is_visible(o.oid) ORDER BY 1, 2, 3, 4;

SELECT n.nspname as "Schema", c.relname as "Name", CASE c.relkind WHEN 'r' THEN 'table' WHEN 'v' THEN 'view' WHEN 'm' THEN 'materialized view' WHEN 'S' THEN 'sequence' WHEN 'f' THEN 'foreign table' WHEN 'p' THEN 'partitioned table' END as "Type", array_to_string(c.relacl, '
') AS "Access privileges", array_to_string(ARRAY( SELECT attname || ':
  ' || array_to_string(attacl, '
  ') FROM pg_attribute a WHERE attrelid = c.oid AND NOT attisdropped AND attacl IS NOT NULL ), '
') AS "Column privileges", array_to_string(ARRAY( SELECT polname || CASE WHEN NOT polpermissive THEN ' (RESTRICTIVE)' ELSE '' END || CASE WHEN polcmd != '*' THEN ' (' || polcmd::text || '):' ELSE ':' END || CASE WHEN polqual IS NOT NULL THEN '
  (u): ' || pg_get_expr(polqual, polrelid) ELSE '' END || CASE WHEN polwithcheck IS NOT NULL THEN '
  (c): ' || pg_get_expr(polwithcheck, polrelid) ELSE '' END || CASE WHEN polroles <> '{0}' THEN '
  to: ' || array_to_string( ARRAY( SELECT rolname FROM pg_roles WHERE (list_contains(polroles,oid)) ORDER BY 1 ), ', ') ELSE '' END FROM pg_policy pol WHERE polrelid = c.oid), '
') AS "Policies" FROM pg_class c LEFT JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.relkind IN ('r','v','m','S','f','p') AND n.nspname !~ '^pg_' AND pg_table_is_visible(c.oid) ORDER BY 1, 2;

SELECT n.nspname as "Schema", c.relname as "Name", CASE c.relkind WHEN 'r' THEN 'table' WHEN 'v' THEN 'view' WHEN 'm' THEN 'materialized view' WHEN 'i' THEN 'index' WHEN 'S' THEN 'sequence' WHEN 't' THEN 'TOAST table' WHEN 'f' THEN 'foreign table' WHEN 'p' THEN 'partitioned table' WHEN 'I' THEN 'partitioned index' END as "Type", pg_get_userbyid(c.relowner) as "Owner", CASE c.relpersistence WHEN 'p' THEN 'permanent' WHEN 't' THEN 'temporary' WHEN 'u' THEN 'unlogged' END as "Persistence", am.amname as "Access method", pg_size_pretty(pg_table_size(c.oid)) as "Size", obj_description(c.oid, 'pg_class') as "Description" FROM pg_class c LEFT JOIN pg_namespace n ON n.oid = c.relnamespace LEFT JOIN pg_am am ON am.oid = c.relam WHERE c.relkind IN ('r','p','v','m','S','f','') AND n.nspname <> 'pg_catalog' AND n.nspname !~ '^pg_toast' AND n.nspname <> 'information_schema' AND pg_table_is_visible(c.oid) ORDER BY 1,2;

SELECT c.relchecks, c.relkind, c.relhasindex, c.relhasrules, c.relhastriggers, c.relrowsecurity, c.relforcerowsecurity, false AS relhasoids, c.relispartition, array_to_string(c.reloptions || array(select 'toast.' || x from unnest(tc.reloptions) x(x)), ', ') , c.reltablespace, CASE WHEN c.reloftype = 0 THEN '' ELSE regtype_out(c.reloftype)::text END, c.relpersistence, c.relreplident, am.amname FROM pg_class c LEFT JOIN pg_class tc ON (c.reltoastrelid = tc.oid) LEFT JOIN pg_am am ON (c.relam = am.oid) WHERE c.oid = '16390';

SELECT a.attname, format_type(a.atttypid, a.atttypmod), (SELECT pg_get_expr(d.adbin, d.adrelid, true) FROM pg_attrdef d WHERE d.adrelid = a.attrelid AND d.adnum = a.attnum AND a.atthasdef), a.attnotnull, (SELECT c.collname FROM pg_collation c, pg_type t WHERE c.oid = a.attcollation AND t.oid = a.atttypid AND a.attcollation <> t.typcollation) AS attcollation, a.attidentity, a.attgenerated, a.attstorage, a.attcompression AS attcompression, CASE WHEN a.attstattarget= -1 THEN NULL ELSE a.attstattarget END AS attstattarget, col_description(a.attrelid, a.attnum) FROM pg_attribute a WHERE a.attrelid = '16390' AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum;

SELECT c.relchecks, c.relkind, c.relhasindex, c.relhasrules, c.relhastriggers, c.relrowsecurity, c.relforcerowsecurity, false AS relhasoids, c.relispartition, array_to_string(c.reloptions || array(select 'toast.' || x from unnest(tc.reloptions) x(x)), ', ') , c.reltablespace, CASE WHEN c.reloftype = 0 THEN '' ELSE regtype_out(c.reloftype)::text END, c.relpersistence, c.relreplident, am.amname FROM pg_class c LEFT JOIN pg_class tc ON (c.reltoastrelid = tc.oid) LEFT JOIN pg_am am ON (c.relam = am.oid) WHERE c.oid = '16412';

SELECT a.attname, format_type(a.atttypid, a.atttypmod), (SELECT pg_get_expr(d.adbin, d.adrelid, true) FROM pg_attrdef d WHERE d.adrelid = a.attrelid AND d.adnum = a.attnum AND a.atthasdef), a.attnotnull, (SELECT c.collname FROM pg_collation c, pg_type t WHERE c.oid = a.attcollation AND t.oid = a.atttypid AND a.attcollation <> t.typcollation) AS attcollation, a.attidentity, a.attgenerated, a.attstorage, col_description(a.attrelid, a.attnum) FROM pg_attribute a WHERE a.attrelid = '16412' AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum;

SELECT pg_get_viewdef('16412'::oid, true);

SELECT r.rulename, trim(trailing ';' from pg_get_ruledef(r.oid, true)) FROM pg_rewrite r WHERE r.ev_class = '16412' AND r.rulename != '_RETURN' ORDER BY 1;

SELECT rolname AS "Role", datname AS "Database", array_to_string(setconfig, '
') AS "Settings" FROM pg_db_role_setting s LEFT JOIN pg_database d ON d.oid = setdatabase LEFT JOIN pg_roles r ON r.oid = setrole ORDER BY 1, 2;

SELECT n.nspname as "Schema", c.relname as "Name", CASE c.relkind WHEN 'r' THEN 'table' WHEN 'v' THEN 'view' WHEN 'm' THEN 'materialized view' WHEN 'i' THEN 'index' WHEN 'S' THEN 'sequence' WHEN 't' THEN 'TOAST table' WHEN 'f' THEN 'foreign table' WHEN 'p' THEN 'partitioned table' WHEN 'I' THEN 'partitioned index' END as "Type", pg_get_userbyid(c.relowner) as "Owner" FROM pg_class c LEFT JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.relkind IN ('S','') AND n.nspname <> 'pg_catalog' AND n.nspname !~ '^pg_toast' AND n.nspname <> 'information_schema' AND pg_table_is_visible(c.oid) ORDER BY 1,2;

SELECT n.nspname as "Schema", c.relname as "Name", CASE c.relkind WHEN 'r' THEN 'table' WHEN 'v' THEN 'view' WHEN 'm' THEN 'materialized view' WHEN 'i' THEN 'index' WHEN 'S' THEN 'sequence' WHEN 't' THEN 'TOAST table' WHEN 'f' THEN 'foreign table' WHEN 'p' THEN 'partitioned table' WHEN 'I' THEN 'partitioned index' END as "Type", pg_get_userbyid(c.relowner) as "Owner" FROM pg_class c LEFT JOIN pg_namespace n ON n.oid = c.relnamespace LEFT JOIN pg_am am ON am.oid = c.relam WHERE c.relkind IN ('r','p','') AND n.nspname <> 'pg_catalog' AND n.nspname !~ '^pg_toast' AND n.nspname <> 'information_schema' AND pg_table_is_visible(c.oid) ORDER BY 1,2;

SELECT n.nspname as "Schema", c.relname as "Name", CASE c.relkind WHEN 'r' THEN 'table' WHEN 'v' THEN 'view' WHEN 'm' THEN 'materialized view' WHEN 'i' THEN 'index' WHEN 'S' THEN 'sequence' WHEN 't' THEN 'TOAST table' WHEN 'f' THEN 'foreign table' WHEN 'p' THEN 'partitioned table' WHEN 'I' THEN 'partitioned index' END as "Type", pg_get_userbyid(c.relowner) as "Owner" FROM pg_class c LEFT JOIN pg_namespace n ON n.oid = c.relnamespace LEFT JOIN pg_am am ON am.oid = c.relam WHERE c.relkind IN ('r','p','t','s','') AND c.relname ~ '^(ord.*)$' AND pg_table_is_visible(c.oid) ORDER BY 1,2;

SELECT n.nspname as "Schema", c.relname as "Name", CASE c.relkind WHEN 'r' THEN 'table' WHEN 'v' THEN 'view' WHEN 'm' THEN 'materialized view' WHEN 'i' THEN 'index' WHEN 'S' THEN 'sequence' WHEN 't' THEN 'TOAST table' WHEN 'f' THEN 'foreign table' WHEN 'p' THEN 'partitioned table' WHEN 'I' THEN 'partitioned index' END as "Type", pg_get_userbyid(c.relowner) as "Owner" FROM pg_class c LEFT JOIN pg_namespace n ON n.oid = c.relnamespace LEFT JOIN pg_am am ON am.oid = c.relam WHERE c.relkind IN ('r','p','t','s','') AND n.nspname ~ '^(sales)$' ORDER BY 1,2;

SELECT n.nspname as "Schema", c.relname as "Name", CASE c.relkind WHEN 'r' THEN 'table' WHEN 'v' THEN 'view' WHEN 'm' THEN 'materialized view' WHEN 'i' THEN 'index' WHEN 'S' THEN 'sequence' WHEN 't' THEN 'TOAST table' WHEN 'f' THEN 'foreign table' WHEN 'p' THEN 'partitioned table' WHEN 'I' THEN 'partitioned index' END as "Type", pg_get_userbyid(c.relowner) as "Owner", CASE c.relpersistence WHEN 'p' THEN 'permanent' WHEN 't' THEN 'temporary' WHEN 'u' THEN 'unlogged' END as "Persistence", am.amname as "Access method", pg_size_pretty(pg_table_size(c.oid)) as "Size", obj_description(c.oid, 'pg_class') as "Description" FROM pg_class c LEFT JOIN pg_namespace n ON n.oid = c.relnamespace LEFT JOIN pg_am am ON am.oid = c.relam WHERE c.relkind IN ('r','p','') AND n.nspname <> 'pg_catalog' AND n.nspname !~ '^pg_toast' AND n.nspname <> 'information_schema' AND pg_table_is_visible(c.oid) ORDER BY 1,2;

SELECT r.rolname, r.rolsuper, r.rolinherit, r.rolcreaterole, r.rolcreatedb, r.rolcanlogin, r.rolconnlimit, r.rolvaliduntil, ARRAY(SELECT b.rolname FROM pg_auth_members m JOIN pg_roles b ON (m.roleid = b.oid) WHERE m.member = r.oid) as memberof , shobj_description(r.oid, 'pg_authid') AS description , r.rolreplication , r.rolbypassrls FROM pg_roles r WHERE r.rolname !~ '^pg_' ORDER BY 1;

SELECT n.nspname as "Schema", c.relname as "Name", CASE c.relkind WHEN 'r' THEN 'table' WHEN 'v' THEN 'view' WHEN 'm' THEN 'materialized view' WHEN 'i' THEN 'index' WHEN 'S' THEN 'sequence' WHEN 't' THEN 'TOAST table' WHEN 'f' THEN 'foreign table' WHEN 'p' THEN 'partitioned table' WHEN 'I' THEN 'partitioned index' END as "Type", pg_get_userbyid(c.relowner) as "Owner" FROM pg_class c LEFT JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.relkind IN ('v','') AND n.nspname <> 'pg_catalog' AND n.nspname !~ '^pg_toast' AND n.nspname <> 'information_schema' AND pg_table_is_visible(c.oid) ORDER BY 1,2;

SELECT n.nspname as "Schema", c.relname as "Name", CASE c.relkind WHEN 'r' THEN 'table' WHEN 'v' THEN 'view' WHEN 'm' THEN 'materialized view' WHEN 'i' THEN 'index' WHEN 'S' THEN 'sequence' WHEN 't' THEN 'TOAST table' WHEN 'f' THEN 'foreign table' WHEN 'p' THEN 'partitioned table' WHEN 'I' THEN 'partitioned index' END as "Type", pg_get_userbyid(c.relowner) as "Owner", CASE c.relpersistence WHEN 'p' THEN 'permanent' WHEN 't' THEN 'temporary' WHEN 'u' THEN 'unlogged' END as "Persistence", pg_size_pretty(pg_table_size(c.oid)) as "Size", obj_description(c.oid, 'pg_class') as "Description" FROM pg_class c LEFT JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.relkind IN ('v','') AND n.nspname <> 'pg_catalog' AND n.nspname !~ '^pg_toast' AND n.nspname <> 'information_schema' AND pg_table_is_visible(c.oid) ORDER BY 1,2;

SELECT e.extname AS "Name", e.extversion AS "Version", n.nspname AS "Schema", c.description AS "Description" FROM pg_extension e LEFT JOIN pg_namespace n ON n.oid = e.extnamespace LEFT JOIN pg_description c ON c.objoid = e.oid AND c.classoid = regclass_in('pg_catalog.pg_extension') ORDER BY 1;

SELECT evtname as "Name", evtevent as "Event", pg_get_userbyid(e.evtowner) as "Owner", case evtenabled when 'O' then 'enabled' when 'R' then 'replica' when 'A' then 'always' when 'D' then 'disabled' end as "Enabled", regproc_out(e.evtfoid) as "Function", array_to_string(array(select x from unnest(evttags) as t(x)), ', ') as "Tags" FROM pg_event_trigger e ORDER BY 1;

SELECT d.datname as "Name", pg_get_userbyid(d.datdba) as "Owner", pg_encoding_to_char(d.encoding) as "Encoding", d.datcollate as "Collate", d.datctype as "Ctype", d.daticulocale as "ICU Locale", CASE d.datlocprovider WHEN 'c' THEN 'libc' WHEN 'i' THEN 'icu' END AS "Locale Provider", array_to_string(d.datacl, '
') AS "Access privileges" FROM pg_database d ORDER BY 1;

SELECT d.datname as "Name", pg_get_userbyid(d.datdba) as "Owner", pg_encoding_to_char(d.encoding) as "Encoding", d.datcollate as "Collate", d.datctype as "Ctype", d.daticulocale as "ICU Locale", CASE d.datlocprovider WHEN 'c' THEN 'libc' WHEN 'i' THEN 'icu' END AS "Locale Provider", array_to_string(d.datacl, '
') AS "Access privileges", CASE WHEN has_database_privilege(d.datname, 'CONNECT') THEN pg_size_pretty(pg_database_size(d.datname)) ELSE 'No Access' END as "Size", t.spcname as "Tablespace", shobj_description(d.oid, 'pg_database') as "Description" FROM pg_database d JOIN pg_tablespace t on d.dattablespace = t.oid ORDER BY 1;

SELECT regproc_in('f1')::oid;

SELECT pg_get_functiondef(16433);

SELECT regclass_in('big_orders')::oid;

SELECT nspname, relname, relkind, pg_get_viewdef(c.oid, true), array_remove(array_remove(c.reloptions,'check_option=local'),'check_option=cascaded') AS reloptions, CASE WHEN (list_contains(c.reloptions,'check_option=local')) THEN 'LOCAL'::text WHEN (list_contains(c.reloptions,'check_option=cascaded')) THEN 'CASCADED'::text ELSE NULL END AS checkoption FROM pg_class c LEFT JOIN pg_namespace n ON c.relnamespace = n.oid WHERE c.oid = 16412;

SELECT c.relname, NULL::text FROM pg_class c WHERE c.relkind IN ('r', 'S', 'v', 'm', 'f', 'p') AND (c.relname) LIKE 'o%' AND pg_table_is_visible(c.oid) AND c.relnamespace <> (SELECT oid FROM pg_namespace WHERE nspname = 'pg_catalog') UNION ALL SELECT NULL::text, n.nspname FROM pg_namespace n WHERE n.nspname LIKE 'o%' AND n.nspname NOT LIKE 'pg\_%' LIMIT 1000;

SELECT c.relname, n.nspname FROM pg_class c, pg_namespace n WHERE c.relnamespace = n.oid AND c.relkind IN ('r', 'S', 'v', 'm', 'f', 'p') AND (c.relname) LIKE '%' AND n.nspname = 'sales' LIMIT 1000;

SELECT a.attname, NULL::text FROM pg_attribute a, pg_class c WHERE c.oid = a.attrelid and a.attnum > 0 and not a.attisdropped AND (a.attname) LIKE 'c%' AND c.relname = 'orders' AND pg_table_is_visible(c.oid) LIMIT 1000;

SELECT c.relname, NULL::text FROM pg_class c WHERE (c.relname) LIKE 'o%' AND pg_table_is_visible(c.oid) AND c.relnamespace <> (SELECT oid FROM pg_namespace WHERE nspname = 'pg_catalog') UNION ALL SELECT NULL::text, n.nspname FROM pg_namespace n WHERE n.nspname LIKE 'o%' AND n.nspname NOT LIKE 'pg\_%' LIMIT 1000;

SELECT c.relname, NULL::text FROM pg_class c WHERE (c.relname) LIKE 'orders%' AND pg_table_is_visible(c.oid) AND c.relnamespace <> (SELECT oid FROM pg_namespace WHERE nspname = 'pg_catalog') UNION ALL SELECT NULL::text, n.nspname FROM pg_namespace n WHERE n.nspname LIKE 'orders%' AND n.nspname NOT LIKE 'pg\_%' LIMIT 1000;

SELECT c.relname, NULL::text FROM pg_class c WHERE c.relkind IN ('r', 'p') AND (c.relname) LIKE 'o%' AND pg_table_is_visible(c.oid) AND c.relnamespace <> (SELECT oid FROM pg_namespace WHERE nspname = 'pg_catalog') UNION ALL SELECT NULL::text, n.nspname FROM pg_namespace n WHERE n.nspname LIKE 'o%' AND n.nspname NOT LIKE 'pg\_%' LIMIT 1000;

SELECT p.proname, NULL::text FROM pg_proc p WHERE p.prokind != 'p' AND (p.proname) LIKE 'f%' AND pg_function_is_visible(p.oid) UNION ALL SELECT NULL::text, n.nspname FROM pg_namespace n WHERE n.nspname LIKE 'f%' AND n.nspname NOT LIKE 'pg\_%' LIMIT 1000;

SELECT nspname FROM pg_namespace WHERE nspname LIKE 's%' LIMIT 1000;

SELECT c.relname, NULL::text FROM pg_class c WHERE c.relkind IN ('r', 'f', 'v', 'p') AND (c.relname) LIKE 'o%' AND pg_table_is_visible(c.oid) AND c.relnamespace <> (SELECT oid FROM pg_namespace WHERE nspname = 'pg_catalog') UNION ALL SELECT NULL::text, n.nspname FROM pg_namespace n WHERE n.nspname LIKE 'o%' AND n.nspname NOT LIKE 'pg\_%' LIMIT 1000;

SELECT a.attname, NULL::text FROM pg_attribute a, pg_class c WHERE c.oid = a.attrelid and a.attnum > 0 and not a.attisdropped AND (a.attname) LIKE '%' AND c.relname = 'orders' AND pg_table_is_visible(c.oid) LIMIT 1000;

SELECT lower(name) FROM pg_settings WHERE lower(name) LIKE lower('s%') LIMIT 1000;

SELECT lower(name) FROM pg_settings WHERE context IN ('user', 'superuser') AND lower(name) LIKE lower('ti%') LIMIT 1000;

SELECT lower(name) FROM pg_settings WHERE context IN ('user', 'superuser') AND lower(name) LIKE lower('timezone%') LIMIT 1000;

SELECT quote_literal(name) AS name FROM pg_timezone_names() WHERE lower(name) LIKE lower('%') LIMIT 1000;

SELECT datname FROM pg_database WHERE datname LIKE 's%' LIMIT 1000;

SELECT rolname FROM pg_roles WHERE rolname LIKE '%' LIMIT 1000;

SELECT c.relname, NULL::text FROM pg_class c WHERE c.relkind IN ('v') AND (c.relname) LIKE 'b%' AND pg_table_is_visible(c.oid) AND c.relnamespace <> (SELECT oid FROM pg_namespace WHERE nspname = 'pg_catalog') UNION ALL SELECT NULL::text, n.nspname FROM pg_namespace n WHERE n.nspname LIKE 'b%' AND n.nspname NOT LIKE 'pg\_%' LIMIT 1000;

