select version();

(unchanged);

(unchanged);

(unchanged);

(unchanged);

SELECT c.oid FROM pg_class c LEFT JOIN pg_namespace n ON n.oid = c.relnamespace WHERE (pg_table_is_visible(c.oid)) AND c.relname = 'orders' AND c.relkind in ('r', 'v', 'm', 'f', 'p');

SELECT a.attname, format_type(a.atttypid, a.atttypmod), ( SELECT pg_get_expr(d.adbin, d.adrelid) FROM pg_attrdef d WHERE d.adrelid = a.attrelid AND d.adnum = a.attnum AND a.atthasdef ) AS DEFAULT, a.attnotnull, a.attrelid as table_oid, pgd.description as comment, a.attgenerated as generated, (SELECT json_object( 'always', a.attidentity = 'a', 'start', s.seqstart, 'increment', s.seqincrement, 'minvalue', s.seqmin, 'maxvalue', s.seqmax, 'cache', s.seqcache, 'cycle', s.seqcycle) FROM pg_sequence s JOIN pg_class c on s.seqrelid = c."oid" WHERE c.relkind = 'S' AND a.attidentity != '' AND s.seqrelid = regclass_in(pg_get_serial_sequence( regclass_out(a.attrelid)::text, a.attname ))::oid ) as identity_options FROM pg_attribute a LEFT JOIN pg_description pgd ON ( pgd.objoid = a.attrelid AND pgd.objsubid = a.attnum) WHERE a.attrelid = 16390 AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum;

SELECT t.typname as "name", format_type(t.typbasetype, t.typtypmod) as "attype", not t.typnotnull as "nullable", t.typdefault as "default", pg_type_is_visible(t.oid) as "visible", n.nspname as "schema" FROM pg_type t LEFT JOIN pg_namespace n ON n.oid = t.typnamespace WHERE t.typtype = 'd';

SELECT t.typname as "name", pg_type_is_visible(t.oid) as "visible", n.nspname as "schema", e.enumlabel as "label" FROM pg_type t LEFT JOIN pg_namespace n ON n.oid = t.typnamespace LEFT JOIN pg_enum e ON t.oid = e.enumtypid WHERE t.typtype = 'e' ORDER BY "schema", "name", e.oid;

(unchanged);

SELECT conname FROM pg_constraint r WHERE r.conrelid = 16390 AND r.contype = 'p' ORDER BY 1;

SELECT c.oid FROM pg_class c LEFT JOIN pg_namespace n ON n.oid = c.relnamespace WHERE (pg_table_is_visible(c.oid)) AND c.relname = 'items' AND c.relkind in ('r', 'v', 'm', 'f', 'p');

SELECT r.conname, pg_get_constraintdef(r.oid, true) as condef, n.nspname as conschema FROM pg_constraint r, pg_namespace n, pg_class c WHERE r.conrelid = 16399 AND r.contype = 'f' AND c.oid = confrelid AND n.oid = c.relnamespace ORDER BY 1;

SELECT i.relname as relname, ix.indisunique, ix.indexprs, a.attname, a.attnum, c.conrelid, array_to_string(ix.indkey,' '), array_to_string(ix.indoption,' '), i.reloptions, am.amname, pg_get_expr(ix.indpred, ix.indrelid), ix.indnkeyatts as indnkeyatts FROM pg_class t join pg_index ix on t.oid = ix.indrelid join pg_class i on i.oid = ix.indexrelid left outer join pg_attribute a on t.oid = a.attrelid and (list_contains(ix.indkey,a.attnum)) left outer join pg_constraint c on (ix.indrelid = c.conrelid and ix.indexrelid = c.conindid and c.contype in ('p', 'u', 'x')) left outer join pg_am am on i.relam = am.oid WHERE t.relkind IN ('r', 'v', 'f', 'm', 'p') and t.oid = 16390 and ix.indisprimary = 'f' ORDER BY t.relname, i.relname;

SELECT cons.conname as name, cons.conkey as key, a.attnum as col_num, a.attname as col_name FROM pg_constraint cons join pg_attribute a on cons.conrelid = a.attrelid AND (list_contains(cons.conkey,a.attnum)) WHERE cons.conrelid = 16390 AND cons.contype = 'u';

SELECT cons.conname as name, pg_get_constraintdef(cons.oid) as src FROM pg_constraint cons WHERE cons.conrelid = 16390 AND cons.contype = 'c';

SELECT pgd.description as table_comment FROM pg_description pgd WHERE pgd.objsubid = 0 AND pgd.objoid = 16390;

(unchanged);

select relname from pg_class c join pg_namespace n on n.oid=c.relnamespace where pg_table_is_visible(c.oid) and relname='orders';

SELECT t.typname as "name", pg_type_is_visible(t.oid) as "visible", n.nspname as "schema", e.enumlabel as "label" FROM pg_type t LEFT JOIN pg_namespace n ON n.oid = t.typnamespace LEFT JOIN pg_enum e ON t.oid = e.enumtypid WHERE t.typtype = 'e' AND n.nspname = 'public' ORDER BY "schema", "name", e.oid;

