// Package catalog turns names into tables.
//
// A [Catalog] is a warehouse: databases are the folders "x.db/", a table is the
// folder "x.db/t/" with the files schema/schema-N, the newest of which says what
// the table is ([Table]). There is nothing else to it, so that a Paimon catalog
// on the same folder sees our tables and we see theirs (FORMAT.md).
//
// A table whose schema names our topic is ours: [Catalog.CreateTable] makes it,
// with its topic and its first snapshot; [Catalog.SetOptions] changes options,
// [Catalog.DropTable] takes it away. Any other is foreign: it can be read if
// everything in its schema is known not to change what a read gives
// (Table.Unreadable, [Table.CheckSchema]), and not written.
//
// What must stay true:
//
//   - A table exists from the moment its schema file is put, which exactly one
//     creator does, until the snapshot that marks it dropped. Whoever finds a
//     half-made or half-dropped one finishes it (seam C3, C4).
//   - The schema alone says which topic is the table's log, and which id it has.
//   - The options of our tables mean the same to us and to other engines: what is
//     not built is refused by name, and never stored (seam E2).
//
// Schemas are cached. What this process changes it sees at once; what others
// change within [Options.Fresh].
package catalog
