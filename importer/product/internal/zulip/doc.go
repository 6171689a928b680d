// Package zulip has the queries of a Zulip database.
//
//	queries.go  the queries, and what they share
package zulip
