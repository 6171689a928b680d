package product

import (
	"strings"
	"testing"

	"github.com/tidemark/tidemark/importer"
	"github.com/tidemark/tidemark/importer/source"
	"github.com/tidemark/tidemark/internal/test/chats"
)

// mattermostNumbers has the tables of an import, and the columns that only a comparison reads.
const mattermostNumbers = mattermost + `
ALTER TABLE channels ADD totalmsgcountroot bigint DEFAULT 0;
ALTER TABLE channelmembers ADD msgcountroot bigint DEFAULT 0, ADD mentioncountroot bigint DEFAULT 0;
ALTER TABLE threadmemberships ADD unreadmentions bigint DEFAULT 0;
`

// discourseNumbers are Discourse's tables with the one that only a comparison reads.
const discourseNumbers = chats.DiscourseTables + "CREATE TABLE notifications (id bigint PRIMARY KEY, user_id int, notification_type int, read boolean, data varchar);"

// An import reports what a database lacks, and what its user may not do, before it reads anything:
// which table or column, since which version the product has it, and the statement that grants a
// right. A PostgreSQL role that has just the rights in the documentation can read everything.
func TestMissingTablesColumnsAndRights(t *testing.T) {
	load := database(t)
	load("CREATE ROLE reader LOGIN; CREATE ROLE \"Odd One\" LOGIN", "tidemark")
	for _, c := range []struct {
		product, tables string
		open            func(source.Tables) importer.Counter
		table, column   string            // a table that it reads, and one of its columns
		older           map[string]string // columns and tables, and the error without them
		numbers         map[string]string // the same for what only a comparison reads
	}{
		{
			"Synapse", chats.NewSynapse(1_700_000_000_000).SQL(), func(db source.Tables) importer.Counter { return &Synapse{Source: db} },
			"room_memberships", "membership",
			map[string]string{"receipts_linearized.thread_id": "since version 73 of its schema", "receipts_linearized.event_stream_ordering": "since version 73 of its schema"},
			map[string]string{
				"event_push_actions.thread_id": "since version 73 of its schema", "event_push_summary.thread_id": "since version 73 of its schema",
				"event_push_summary.last_receipt_stream_ordering": "since version 72 of its schema", "event_push_summary_stream_ordering": "is it the database of Synapse",
			},
		},
		{
			"Mattermost", mattermostNumbers, func(db source.Tables) importer.Counter { return &Mattermost{Source: db} }, "threadmemberships", "lastviewed",
			map[string]string{"users": "is it the database of Mattermost"},
			map[string]string{
				"channels.totalmsgcountroot": "since 5.35", "channelmembers.msgcountroot": "since 5.35", "channelmembers.mentioncountroot": "since 5.35",
				"threadmemberships.unreadmentions": "a current Mattermost",
			},
		},
		{
			"Discourse's chat", discourseNumbers, func(db source.Tables) importer.Counter { return &Discourse{Source: db} }, "chat_messages", "deleted_at",
			map[string]string{
				"chat_threads": "Discourse's chat has chat_threads since 3.1", "user_chat_thread_memberships": "has user_chat_thread_memberships since 3.1",
				"chat_channels.threading_enabled": "since 3.1", "chat_messages.thread_id": "since 3.1", "user_chat_channel_memberships.last_viewed_at": "since 3.1",
				"chat_mentions.type": "since its migration 20231227160001", "chat_mentions.target_id": "since its migration 20231227160001",
			},
			map[string]string{"notifications": "is it the database of Discourse's chat", "notifications.data": "a current Discourse's chat"},
		},
		{
			"Zulip", chats.ZulipTables, func(db source.Tables) importer.Counter { return &Zulip{Source: db} }, "zerver_usermessage", "flags",
			map[string]string{
				"zerver_subscription.is_muted": "since 2.1", "zerver_archivedmessage.archive_transaction_id": "since 2.1", "zerver_archivetransaction.restored": "since 2.1",
			}, nil,
		},
		{
			"Tinode", chats.TinodeTables, func(db source.Tables) importer.Counter { return &Tinode{Source: db} }, "subscriptions", "readseqid",
			map[string]string{"topics.state": "since 0.16", "topics.stateat": "since 0.16"}, nil,
		},
	} {
		says := func(what, sql, user, want string) {
			t.Helper()
			db := load(fresh+"DROP SCHEMA IF EXISTS app CASCADE;"+c.tables+sql, user)
			_, _, err := events(t, c.open(db))
			if want == "" && err == nil {
				_, _, err = numbers(t, c.open(db))
			}
			if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
				t.Errorf("%s, %s: want %q: %v", c.product, what, want, err)
			}
		}
		const granted = "GRANT USAGE ON SCHEMA public TO reader, \"Odd One\"; GRANT SELECT ON ALL TABLES IN SCHEMA public TO reader, \"Odd One\";\n"
		says("with all rights", granted, "reader", "")
		says("without a table's", granted+"REVOKE SELECT ON "+c.table+" FROM reader", "reader", "may not read "+c.table+": GRANT SELECT ON "+c.table+" TO reader")
		says("without a column's", granted+"REVOKE SELECT ON "+c.table+" FROM reader; GRANT SELECT (ctid) ON "+c.table+" TO reader", "reader",
			"GRANT SELECT ON "+c.table+" TO reader")
		says("without the schema's", "GRANT SELECT ON ALL TABLES IN SCHEMA public TO reader", "reader", "GRANT USAGE ON SCHEMA public TO reader")
		says("of another name", "GRANT USAGE ON SCHEMA public TO \"Odd One\"", "Odd%20One", ` TO "Odd One"`)
		says("in another schema", granted+"ALTER SCHEMA public RENAME TO app; CREATE SCHEMA public", "reader",
			"outside of the search_path of --source: ALTER ROLE reader SET search_path TO app, public")
		says("without a column", "ALTER TABLE "+c.table+" DROP "+c.column+" CASCADE", "tidemark", "no column "+c.table+"."+c.column+": is it the database of a current")
		says("without a table", "DROP TABLE "+c.table+" CASCADE", "tidemark", "no table "+c.table+": is it the database of "+c.product)
		for _, list := range []map[string]string{c.older, c.numbers} {
			for name, want := range list {
				sql := "DROP TABLE " + name + " CASCADE"
				if table, column, is := strings.Cut(name, "."); is {
					sql = "ALTER TABLE " + table + " DROP " + column + " CASCADE"
				}
				db := load(fresh+"DROP SCHEMA IF EXISTS app CASCADE;"+c.tables+sql, "tidemark")
				_, _, err := events(t, c.open(db))
				if list := c.numbers; list[name] != "" {
					if err != nil {
						t.Errorf("%s: an import without %s: %v", c.product, name, err)
					}
					_, _, err = numbers(t, c.open(db))
				}
				if err == nil || !strings.Contains(err.Error(), name) || !strings.Contains(err.Error(), want) {
					t.Errorf("%s without %s: want %q: %v", c.product, name, want, err)
				}
			}
		}
	}
}
