// Package discourse has the queries of the chat of a Discourse site: those of the tables that an
// import reads, and those from which a bridge reads its rows. The latter are queries of the product
// table, each with a column for each id by which a changed row finds them.
//
//	tables.go   what an import and a comparison read
//	queries.go  what a bridge reads
package discourse
