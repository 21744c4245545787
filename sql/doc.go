// Package sql turns text into statements. It knows the dialect (PostgreSQL's,
// with Flink's table statements beside it) and resolves nothing: whether a
// table or a column exists is not its business.
//
// [Parse] gives the statements of a query text. SELECT, VALUES, TABLE and WITH
// come back as [Query] with their text: their grammar is DuckDB's, and
// [Rewrite] turns that text into what DuckDB reads as PostgreSQL would. Every
// other statement is parsed here, with expressions left as [Fragment]s of the
// text; the rows of INSERT … VALUES are read as literals where they are ones
// ([Expr]), so that a bulk of rows needs no query engine. [FromMySQL] is the
// second try for a SELECT whose text DuckDB's grammar refuses.
//
//	text ── Parse ──► Statement ── Query.Text ── Rewrite ──► DuckDB
//	                                                │ parser error
//	                                                └──► FromMySQL ──► DuckDB
//
// What must stay true: the tokens of a text cover it without gap or overlap;
// nothing here panics, whatever the bytes; a statement that is recognised but
// not built is refused with 0A000 and a hint that says what to write; what a
// client wrote never changes its meaning in silence on the way to DuckDB.
package sql
