SELECT typname AS name, oid, typarray AS array_oid, regtype_out(oid)::text AS regtype, typdelim AS delimiter FROM pg_type t WHERE t.oid = regtype_in($1) ORDER BY t.oid;

