package product

import (
	"context"

	"github.com/tidemark/tidemark/importer"
	"github.com/tidemark/tidemark/importer/product/internal/needs"
	"github.com/tidemark/tidemark/importer/product/internal/zulip"
	"github.com/tidemark/tidemark/importer/source"
)

// Zulip is a Zulip server's database in PostgreSQL. A channel has the id of its recipient. A
// conversation of two users, which has a recipient for each of them, gets a name of its own. Topics
// are changeable labels, not channels.
type Zulip struct {
	Source source.Tables

	newest int // how many of a user's unread messages Zulip shows; 0: zulipNewest
}

// zulipNewest is how many unread messages of a user Zulip shows, the newest ones.
const zulipNewest = 50_000

// zulipTables are the tables to read, in order. Messages come last, because pointers name them.
var zulipTables = []table{
	{"zerver_recipient", zulip.Channels,
		[]string{"channel", "type"}, zulipChannel},
	{"zerver_stream", zulip.Deactivated, []string{"recipient_id", "at"}, zulipDeactivated},
	{"zerver_subscription", zulip.Members, []string{"channel", "user_id", "joined", "gone", "open", "active"}, zulipMember},
	{"zerver_subscription", zulip.Mutes, []string{"recipient_id", "user_profile_id"}, zulipMute},
	{"zerver_usermessage", zulip.Pointers, []string{"channel", "user_id", "lowest", "at"}, zulipPointer},
	{"zerver_usermessage", zulip.Singles, []string{"channel", "user_id", "message_id", "at"}, zulipSingle},
	{"zerver_message", zulip.Messages, []string{"channel", "id", "sender_id", "date_sent", "content", "deleted_at", "mentions", "mention_all"}, zulipPost},
}

// zulipNeeds are the tables whose columns the queries name.
var zulipNeeds = []needs.Table{
	{Name: "zerver_recipient", Columns: "id type type_id"},
	{Name: "zerver_stream", Columns: "id recipient_id deactivated date_created"},
	{Name: "zerver_userprofile", Columns: "id long_term_idle last_active_message_id"},
	{Name: "zerver_subscription", Columns: "recipient_id user_profile_id active is_muted", Since: map[string]string{"is_muted": "2.1"}},
	{Name: "zerver_realmauditlog", Columns: "id event_type event_time modified_user_id modified_stream_id"},
	{Name: "zerver_message", Columns: "id sender_id recipient_id date_sent content"},
	{Name: "zerver_usermessage", Columns: "user_profile_id message_id flags"},
	{Name: "zerver_archivedmessage", Columns: "id sender_id recipient_id date_sent content archive_transaction_id", Since: map[string]string{"archive_transaction_id": "2.1"}},
	{Name: "zerver_archivetransaction", Columns: "id timestamp restored", Since: map[string]string{"restored": "2.1"}},
}

// Events reads the tables.
func (z *Zulip) Events(ctx context.Context, p *importer.Problems, emit func(importer.Origin, *importer.Event) error) error {
	if _, err := needs.Check(ctx, z.Source, "Zulip", zulipNeeds); err != nil {
		return err
	}
	r := reading{z.Source, p, emit}
	return r.all(ctx, zulipTables, "the database of a Zulip server")
}

func zulipChannel(f fields, e *importer.Event) bool {
	*e = importer.Event{Kind: importer.KindChannel, Channel: f.Text("channel"), Direct: f.Text("type") != "2"}
	return true
}

func zulipDeactivated(f fields, e *importer.Event) bool {
	*e = importer.Event{Kind: importer.KindChannelDeleted, Channel: f.Text("recipient_id"), At: f.at("at")}
	return e.At > 0
}

func zulipMember(f fields, e *importer.Event) bool {
	*e = importer.Event{Kind: importer.KindMember, Channel: f.Text("channel"), User: f.Text("user_id"), At: f.at("joined"), Until: f.at("gone")}
	if f.truth("open") && !f.truth("active") {
		f.problems.Add(f.origin(), "a subscription that is not active, and whose end is not in the log: taken as ended at once", e.Channel+" "+e.User)
		e.Until = max(e.At, 1)
	}
	return true
}

func zulipMute(f fields, e *importer.Event) bool {
	*e = importer.Event{Kind: importer.KindMute, Channel: f.Text("recipient_id"), User: f.Text("user_profile_id")}
	return true
}

func zulipPointer(f fields, e *importer.Event) bool {
	*e = importer.Event{Kind: importer.KindPointer, Channel: f.Text("channel"), User: f.Text("user_id"), ID: f.Text("lowest")}
	if e.ID != "" {
		e.Before = true
		return true
	}
	e.At = f.at("at")
	return e.At > 0
}

func zulipSingle(f fields, e *importer.Event) bool {
	*e = importer.Event{Kind: importer.KindSingle, Channel: f.Text("channel"), User: f.Text("user_id"), ID: f.Text("message_id"), At: f.at("at")}
	return true
}

func zulipPost(f fields, e *importer.Event) bool {
	*e = importer.Event{
		Kind: importer.KindPost, Channel: f.Text("channel"), ID: f.Text("id"), User: f.Text("sender_id"), At: f.at("date_sent"), Until: f.at("deleted_at"),
		Text: f.Text("content"), Mentions: list(f.Text("mentions")), MentionAll: f.truth("mention_all"),
	}
	return true
}

// Counts counts the flags: Zulip stores no numbers.
func (z *Zulip) Counts(ctx context.Context, users []string, p *importer.Problems, emit func(importer.Count) error) error {
	if _, err := needs.Check(ctx, z.Source, "Zulip", zulipNeeds); err != nil {
		return err
	}
	newest, of := z.newest, ""
	if newest == 0 {
		newest = zulipNewest
	}
	if len(users) > 0 {
		of = " AND um.user_profile_id::text IN (" + literals(users) + ")"
	}
	query := zulip.Counts(newest, of)
	var row *source.Row
	_, err := counts{seeing{z.Source, &row}, p, [4]string{"channel", "user_id", "", "mentions"}}.read(ctx, query, users, func(n importer.Count) error {
		n.Capped = row.Text("capped") == "t"
		if row.Text("idle") == "t" {
			n.Why = "Zulip has no rows for a user who was away for weeks, until they come back"
		}
		return emit(n)
	})
	return err
}

// seeing keeps the row that is read.
type seeing struct {
	source.Tables
	row **source.Row
}

// Rows runs a query.
func (s seeing) Rows(ctx context.Context, table, query string, fn func(*source.Row) error) (bool, error) {
	return s.Tables.Rows(ctx, table, query, func(row *source.Row) error {
		*s.row = row
		return fn(row)
	})
}
