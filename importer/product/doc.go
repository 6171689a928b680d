// Package product has the mapping of each chat product: its tables, and the meaning of their rows.
// A product is a pure mapping of rows to events of package importer. It uses no database and no
// file, so neither do its tests.
//
//	row.go         fields of rows: ids, times, booleans, lists
//	needs.go       tables that a product reads, in order
//	counts.go      rows of a product's own numbers
//	table.go       a team's own schema: seven tables with the names and columns of the documentation
//	mattermost.go  Mattermost's database
//	discourse.go   the chat of a Discourse site
//	synapse.go     Synapse's database
//	synapse_content.go  the events of Matrix in it
//	synapse_counts.go   its numbers of notifications, and what muted rooms left out
//	synapse_versions.go  whom the versions of edited messages mentioned
//	slack.go       the export of a Slack workspace
//	slack_content.go  the messages in it
//	rocketchat.go  Rocket.Chat's database
//	zulip.go       Zulip's database
//	tinode.go      Tinode's database
//	live.go        changes of a product's rows, and what a bridge remembers of them
//	mattermost_live.go  those of Mattermost
//	discourse_live.go   those of Discourse, as those of a team's own tables
//	synapse_live.go     those of Synapse: events
//	synapse_live_reads.go  receipts, subscriptions and mutes
//	table_changing.go   what a bridge follows of a team's own tables
//	table_as_of.go      queries on one of their rows, as it was after its change
//	table_change.go     a change, and the results of its queries
//	table_pointers.go   pointers, and the message after them
//	table_live.go       changes as events
//
// Packages below it have the rest: internal/zulip and internal/discourse the queries,
// internal/synapse the content of Matrix events and what only a comparison reads, internal/markup
// the texts, internal/quote texts in SQL, internal/needs whether a database has the tables that a
// product reads, and internal/change the changes that the bridges in zulip and tinode map.
package product
