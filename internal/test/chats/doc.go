// Package chats imitates other chat products. It fills their tables with the rows that their users'
// actions leave behind, including the rows of known defects.
//
//	mattermost.go      users of a Mattermost server: what they do, transaction by transaction
//	mattermost_many.go  a Mattermost database of any number of rows, as SQL
//	table.go           users of a chat with tables of its own
//	discourse.go       users of the chat of a Discourse site
//	synapse.go         users of a Synapse server: what they do
//	synapse_push.go    the numbers that Synapse stores meanwhile
//	synapse_tables.go  its tables, as SQL
//	synapse_changes.go what changes in them, transaction by transaction
//	want.go            what a user has by what everybody did
//	rocketchat.go      users of a Rocket.Chat server, and its dump
//	slack.go           users of a Slack workspace, and its export
//	tinode.go          users of a Tinode server, and its tables
//	tinode_changes.go  the same, as changes of its database
//	zulip.go           users of a Zulip server, and its tables
//	zulip_changes.go  the same, as changes of its database
package chats
