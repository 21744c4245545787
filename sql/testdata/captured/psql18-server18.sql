SELECT pubname AS "Name", pg_get_userbyid(pubowner) AS "Owner", puballtables AS "All tables", pubinsert AS "Inserts", pubupdate AS "Updates", pubdelete AS "Deletes", pubtruncate AS "Truncates", (CASE pubgencols WHEN 'n' THEN 'none' WHEN 's' THEN 'stored' END) AS "Generated columns", pubviaroot AS "Via root" FROM pg_publication ORDER BY 1;

SELECT c.relchecks, c.relkind, c.relhasindex, c.relhasrules, c.relhastriggers, c.relrowsecurity, c.relforcerowsecurity, false AS relhasoids, c.relispartition, '', c.reltablespace, CASE WHEN c.reloftype = 0 THEN '' ELSE regtype_out(c.reloftype)::text END, c.relpersistence, c.relreplident, am.amname FROM pg_class c LEFT JOIN pg_class tc ON (c.reltoastrelid = tc.oid) LEFT JOIN pg_am am ON (c.relam = am.oid) WHERE c.oid = '16396';

SELECT a.attname, format_type(a.atttypid, a.atttypmod), CASE WHEN a.attnum <= (SELECT i.indnkeyatts FROM pg_index i WHERE i.indexrelid = '16396') THEN 'yes' ELSE 'no' END AS is_key, pg_get_indexdef(a.attrelid, a.attnum, TRUE) AS indexdef FROM pg_attribute a WHERE a.attrelid = '16396' AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum;

SELECT i.indisunique, i.indisprimary, i.indisclustered, i.indisvalid, (NOT i.indimmediate) AND EXISTS (SELECT 1 FROM pg_constraint WHERE conrelid = i.indrelid AND conindid = i.indexrelid AND contype IN ('p','u','x') AND condeferrable) AS condeferrable, (NOT i.indimmediate) AND EXISTS (SELECT 1 FROM pg_constraint WHERE conrelid = i.indrelid AND conindid = i.indexrelid AND contype IN ('p','u','x') AND condeferred) AS condeferred, i.indisreplident, i.indnullsnotdistinct, a.amname, c2.relname, pg_get_expr(i.indpred, i.indrelid, true) FROM pg_index i, pg_class c, pg_class c2, pg_am a WHERE i.indexrelid = c.oid AND c.oid = '16396' AND c.relam = a.oid AND i.indrelid = c2.oid;

SELECT c.relchecks, c.relkind, c.relhasindex, c.relhasrules, c.relhastriggers, c.relrowsecurity, c.relforcerowsecurity, false AS relhasoids, c.relispartition, '', c.reltablespace, CASE WHEN c.reloftype = 0 THEN '' ELSE regtype_out(c.reloftype)::text END, c.relpersistence, c.relreplident, am.amname FROM pg_class c LEFT JOIN pg_class tc ON (c.reltoastrelid = tc.oid) LEFT JOIN pg_am am ON (c.relam = am.oid) WHERE c.oid = '16397';

SELECT a.attname, format_type(a.atttypid, a.atttypmod), (SELECT pg_get_expr(d.adbin, d.adrelid, true) FROM pg_attrdef d WHERE d.adrelid = a.attrelid AND d.adnum = a.attnum AND a.atthasdef), a.attnotnull, (SELECT c.collname FROM pg_collation c, pg_type t WHERE c.oid = a.attcollation AND t.oid = a.atttypid AND a.attcollation <> t.typcollation) AS attcollation, a.attidentity, a.attgenerated FROM pg_attribute a WHERE a.attrelid = '16397' AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum;

SELECT c2.relname, i.indisprimary, i.indisunique, i.indisclustered, i.indisvalid, pg_get_indexdef(i.indexrelid, 0, true), pg_get_constraintdef(con.oid, true), contype, condeferrable, condeferred, i.indisreplident, c2.reltablespace, con.conperiod FROM pg_class c, pg_class c2, pg_index i LEFT JOIN pg_constraint con ON (conrelid = i.indrelid AND conindid = i.indexrelid AND contype IN ('p','u','x')) WHERE c.oid = '16397' AND c.oid = i.indrelid AND i.indexrelid = c2.oid ORDER BY i.indisprimary DESC, c2.relname;

SELECT r.conname, pg_get_constraintdef(r.oid, true) FROM pg_constraint r WHERE r.conrelid = '16397' AND r.contype = 'c' ORDER BY 1;

SELECT true as sametable, conname, pg_get_constraintdef(r.oid, true) as condef, regclass_out(conrelid) AS ontable FROM pg_constraint r WHERE r.conrelid = '16397' AND r.contype = 'f' AND conparentid = 0 ORDER BY conname;

SELECT conname, regclass_out(conrelid) AS ontable, pg_get_constraintdef(oid, true) AS condef FROM pg_constraint c WHERE confrelid IN (SELECT pg_partition_ancestors('16397') UNION ALL VALUES (regclass_in('16397'))) AND contype = 'f' AND conparentid = 0 ORDER BY conname;

SELECT pol.polname, pol.polpermissive, CASE WHEN pol.polroles = '{0}' THEN NULL ELSE array_to_string(array(select rolname from pg_roles where (list_contains(pol.polroles,oid)) order by 1),',') END, pg_get_expr(pol.polqual, pol.polrelid), pg_get_expr(pol.polwithcheck, pol.polrelid), CASE pol.polcmd WHEN 'r' THEN 'SELECT' WHEN 'a' THEN 'INSERT' WHEN 'w' THEN 'UPDATE' WHEN 'd' THEN 'DELETE' END AS cmd FROM pg_policy pol WHERE pol.polrelid = '16397' ORDER BY 1;

SELECT oid, regclass_out(stxrelid), regnamespace_out(stxnamespace)::text AS nsp, stxname, pg_get_statisticsobjdef_columns(oid) AS columns, (list_contains(stxkind,'d')) AS ndist_enabled, (list_contains(stxkind,'f')) AS deps_enabled, (list_contains(stxkind,'m')) AS mcv_enabled, stxstattarget FROM pg_statistic_ext WHERE stxrelid = '16397' ORDER BY nsp, stxname;

SELECT pubname , NULL , NULL FROM pg_publication p JOIN pg_publication_namespace pn ON p.oid = pn.pnpubid JOIN pg_class pc ON pc.relnamespace = pn.pnnspid WHERE pc.oid ='16397' and pg_relation_is_publishable('16397') UNION SELECT pubname , pg_get_expr(pr.prqual, c.oid) , (CASE WHEN pr.prattrs IS NOT NULL THEN (SELECT string_agg(attname, ', ') FROM generate_series(0, array_upper(pr.prattrs::int2[], 1)) s(s), pg_attribute WHERE attrelid = pr.prrelid AND attnum = prattrs[s]) ELSE NULL END) FROM pg_publication p JOIN pg_publication_rel pr ON p.oid = pr.prpubid JOIN pg_class c ON c.oid = pr.prrelid WHERE pr.prrelid = '16397' UNION SELECT pubname , NULL , NULL FROM pg_publication p WHERE p.puballtables AND pg_relation_is_publishable('16397') ORDER BY 1;

SELECT t.tgname, pg_get_triggerdef(t.oid, true), t.tgenabled, t.tgisinternal, CASE WHEN t.tgparentid != 0 THEN (SELECT regclass_out(u.tgrelid) FROM pg_trigger AS u, pg_partition_ancestors(t.tgrelid) WITH ORDINALITY AS a(relid, depth) WHERE u.tgname = t.tgname AND u.tgrelid = a.relid AND u.tgparentid = 0 ORDER BY a.depth LIMIT 1) END AS parent FROM pg_trigger t WHERE t.tgrelid = '16397' AND (NOT t.tgisinternal OR (t.tgisinternal AND t.tgenabled = 'D')) ORDER BY 1;

SELECT regclass_out(c.oid) FROM pg_class c, pg_inherits i WHERE c.oid = i.inhparent AND i.inhrelid = '16397' AND c.relkind != 'p' AND c.relkind != 'I' ORDER BY inhseqno;

SELECT regclass_out(c.oid), c.relkind, inhdetachpending, pg_get_expr(c.relpartbound, c.oid) FROM pg_class c, pg_inherits i WHERE c.oid = i.inhrelid AND i.inhparent = '16397' ORDER BY pg_get_expr(c.relpartbound, c.oid) = 'DEFAULT', regclass_out(c.oid)::text;

SELECT pg_get_partkeydef('16430'::oid);

SELECT c.relchecks, c.relkind, c.relhasindex, c.relhasrules, c.relhastriggers, c.relrowsecurity, c.relforcerowsecurity, false AS relhasoids, c.relispartition, '', c.reltablespace, CASE WHEN c.reloftype = 0 THEN '' ELSE regtype_out(c.reloftype)::text END, c.relpersistence, c.relreplident, am.amname FROM pg_class c LEFT JOIN pg_class tc ON (c.reltoastrelid = tc.oid) LEFT JOIN pg_am am ON (c.relam = am.oid) WHERE c.oid = '16433';

SELECT a.attname, format_type(a.atttypid, a.atttypmod), (SELECT pg_get_expr(d.adbin, d.adrelid, true) FROM pg_attrdef d WHERE d.adrelid = a.attrelid AND d.adnum = a.attnum AND a.atthasdef), a.attnotnull, (SELECT c.collname FROM pg_collation c, pg_type t WHERE c.oid = a.attcollation AND t.oid = a.atttypid AND a.attcollation <> t.typcollation) AS attcollation, a.attidentity, a.attgenerated FROM pg_attribute a WHERE a.attrelid = '16433' AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum;

SELECT regclass_out(inhparent), pg_get_expr(c.relpartbound, c.oid), inhdetachpending FROM pg_class c JOIN pg_inherits i ON c.oid = inhrelid WHERE c.oid = '16433';

SELECT conrelid = regclass_in('16433') AS sametable, conname, pg_get_constraintdef(oid, true) AS condef, regclass_out(conrelid) AS ontable FROM pg_constraint, pg_partition_ancestors('16433') WHERE conrelid = relid AND contype = 'f' AND conparentid = 0 ORDER BY sametable DESC, conname;

SELECT conname, regclass_out(conrelid) AS ontable, pg_get_constraintdef(oid, true) AS condef FROM pg_constraint c WHERE confrelid IN (SELECT pg_partition_ancestors('16433') UNION ALL VALUES (regclass_in('16433'))) AND contype = 'f' AND conparentid = 0 ORDER BY conname;

SELECT pol.polname, pol.polpermissive, CASE WHEN pol.polroles = '{0}' THEN NULL ELSE array_to_string(array(select rolname from pg_roles where (list_contains(pol.polroles,oid)) order by 1),',') END, pg_get_expr(pol.polqual, pol.polrelid), pg_get_expr(pol.polwithcheck, pol.polrelid), CASE pol.polcmd WHEN 'r' THEN 'SELECT' WHEN 'a' THEN 'INSERT' WHEN 'w' THEN 'UPDATE' WHEN 'd' THEN 'DELETE' END AS cmd FROM pg_policy pol WHERE pol.polrelid = '16433' ORDER BY 1;

SELECT oid, regclass_out(stxrelid), regnamespace_out(stxnamespace)::text AS nsp, stxname, pg_get_statisticsobjdef_columns(oid) AS columns, (list_contains(stxkind,'d')) AS ndist_enabled, (list_contains(stxkind,'f')) AS deps_enabled, (list_contains(stxkind,'m')) AS mcv_enabled, stxstattarget FROM pg_statistic_ext WHERE stxrelid = '16433' ORDER BY nsp, stxname;

SELECT pubname , NULL , NULL FROM pg_publication p JOIN pg_publication_namespace pn ON p.oid = pn.pnpubid JOIN pg_class pc ON pc.relnamespace = pn.pnnspid WHERE pc.oid ='16433' and pg_relation_is_publishable('16433') UNION SELECT pubname , pg_get_expr(pr.prqual, c.oid) , (CASE WHEN pr.prattrs IS NOT NULL THEN (SELECT string_agg(attname, ', ') FROM generate_series(0, array_upper(pr.prattrs::int2[], 1)) s(s), pg_attribute WHERE attrelid = pr.prrelid AND attnum = prattrs[s]) ELSE NULL END) FROM pg_publication p JOIN pg_publication_rel pr ON p.oid = pr.prpubid JOIN pg_class c ON c.oid = pr.prrelid WHERE pr.prrelid = '16433' UNION SELECT pubname , NULL , NULL FROM pg_publication p WHERE p.puballtables AND pg_relation_is_publishable('16433') ORDER BY 1;

SELECT regclass_out(c.oid) FROM pg_class c, pg_inherits i WHERE c.oid = i.inhparent AND i.inhrelid = '16433' AND c.relkind != 'p' AND c.relkind != 'I' ORDER BY inhseqno;

SELECT regclass_out(c.oid), c.relkind, inhdetachpending, pg_get_expr(c.relpartbound, c.oid) FROM pg_class c, pg_inherits i WHERE c.oid = i.inhrelid AND i.inhparent = '16433' ORDER BY pg_get_expr(c.relpartbound, c.oid) = 'DEFAULT', regclass_out(c.oid)::text;

SELECT c.relchecks, c.relkind, c.relhasindex, c.relhasrules, c.relhastriggers, c.relrowsecurity, c.relforcerowsecurity, false AS relhasoids, c.relispartition, '', c.reltablespace, CASE WHEN c.reloftype = 0 THEN '' ELSE regtype_out(c.reloftype)::text END, c.relpersistence, c.relreplident, am.amname FROM pg_class c LEFT JOIN pg_class tc ON (c.reltoastrelid = tc.oid) LEFT JOIN pg_am am ON (c.relam = am.oid) WHERE c.oid = '16423';

SELECT format_type(seqtypid, NULL) AS "Type", seqstart AS "Start", seqmin AS "Minimum", seqmax AS "Maximum", seqincrement AS "Increment", CASE WHEN seqcycle THEN 'yes' ELSE 'no' END AS "Cycles?", seqcache AS "Cache" FROM pg_sequence WHERE seqrelid = '16423';

SELECT quote_ident(nspname) || '.' || quote_ident(relname) || '.' || quote_ident(attname), d.deptype FROM pg_class c INNER JOIN pg_depend d ON c.oid=d.refobjid INNER JOIN pg_namespace n ON n.oid=c.relnamespace INNER JOIN pg_attribute a ON ( a.attrelid=c.oid AND a.attnum=d.refobjsubid) WHERE d.classid=regclass_in('pg_catalog.pg_class') AND d.refclassid=regclass_in('pg_catalog.pg_class') AND d.objid='16423' AND d.deptype IN ('a', 'i');

SELECT c2.relname, i.indisprimary, i.indisunique, i.indisclustered, i.indisvalid, pg_get_indexdef(i.indexrelid, 0, true), pg_get_constraintdef(con.oid, true), contype, condeferrable, condeferred, i.indisreplident, c2.reltablespace, con.conperiod FROM pg_class c, pg_class c2, pg_index i LEFT JOIN pg_constraint con ON (conrelid = i.indrelid AND conindid = i.indexrelid AND contype IN ('p','u','x')) WHERE c.oid = '16386' AND c.oid = i.indrelid AND i.indexrelid = c2.oid ORDER BY i.indisprimary DESC, c2.relname;

SELECT c.conname, a.attname, c.connoinherit, c.conislocal, c.coninhcount <> 0, c.convalidated FROM pg_constraint c JOIN pg_attribute a ON (a.attrelid = c.conrelid AND a.attnum = c.conkey[1]) WHERE c.contype = 'n' AND c.conrelid = regclass_in('16386') ORDER BY a.attnum;

SELECT pg_get_functiondef(16436);

