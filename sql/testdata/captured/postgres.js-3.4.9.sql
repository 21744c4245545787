select b.oid, b.typarray from pg_type a left join pg_type b on b.oid = a.typelem where a.typcategory = 'A' group by b.oid, b.typarray order by b.oid;

