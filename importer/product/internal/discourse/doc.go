// Package discourse has the queries of the chat of a Discourse site from which a bridge reads its
// rows: those of the product table, each with a column for each id by which a changed row finds
// them.
package discourse
