// Package zulip has the queries of a Zulip database.
//
//	queries.go  the queries, and their common parts
package zulip
