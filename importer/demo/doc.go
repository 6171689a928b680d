// Package demo makes small sources of other chat products, to try an import, a comparison and a
// bridge without such a product.
//
//	demo.go      databases and a folder with their first rows
//	step.go      activity of users in a database
//	synapse.sql  a Synapse server's tables; a test makes it from package chats
//	table.sql    the tables of docs/import/table.yml
package demo
