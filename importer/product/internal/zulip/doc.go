// Package zulip has the SQL of Zulip's tables.
//
//	queries.go  what an import and a comparison read
//	changes.go  what a bridge looks up for changes of rows
package zulip
