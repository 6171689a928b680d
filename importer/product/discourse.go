package product

import (
	"context"
	"slices"

	"github.com/tidemark/tidemark/importer"
	"github.com/tidemark/tidemark/importer/product/internal/discourse"
	"github.com/tidemark/tidemark/importer/product/internal/needs"
	"github.com/tidemark/tidemark/importer/source"
)

// Discourse is the chat of a Discourse site in its PostgreSQL database. A thread has the id of its
// original message.
type Discourse struct{ Source source.Tables }

// discourseTables are the tables to read, in order. Messages come last, because pointers and
// follows determine which threads matter.
var discourseTables = []table{
	{"chat_channels", discourse.Channels, []string{"id", "chatable_type"}, discourseChannel},
	{"chat_channels", discourse.Channels, []string{"id", "deleted_at"}, discourseChannelDeleted},
	{"user_chat_channel_memberships", discourse.Members, []string{"user_id", "chat_channel_id", "following", "created_at", "updated_at"}, discourseMember},
	{"user_chat_channel_memberships", discourse.Members, []string{"user_id", "chat_channel_id", "last_read_message_id", "last_viewed_at"}, discoursePointer},
	{"user_chat_channel_memberships", discourse.Members, []string{"user_id", "chat_channel_id", "muted", "updated_at"}, discourseMute},
	{"user_chat_thread_memberships", discourse.Threads, []string{"user_id", "channel_id", "original_message_id", "last_read_message_id", "updated_at"}, discourseThreadPointer},
	{"user_chat_thread_memberships", discourse.Threads, []string{"user_id", "channel_id", "original_message_id", "notification_level", "read_at", "updated_at"}, discourseFollow},
	{"chat_messages", discourse.Posts, []string{"id", "chat_channel_id", "user_id", "created_at", "deleted_at", "message", "root", "mentions", "mention_all"}, discoursePost},
}

// december is when Discourse began to store what a mention names.
const december = "its migration 20231227160001"

// discourseNeeds are the tables whose columns the queries name. discourseCountsNeeds are those that
// only a comparison reads.
var (
	discourseNeeds = []needs.Table{
		{Name: "chat_channels", Columns: "id chatable_type deleted_at threading_enabled", Since: map[string]string{"threading_enabled": "3.1"}},
		{Name: "chat_messages", Columns: "id chat_channel_id user_id created_at deleted_at message thread_id", Since: map[string]string{"thread_id": "3.1"}},
		{Name: "chat_threads", Columns: "id channel_id original_message_id", Added: "3.1"},
		{Name: "chat_mentions", Columns: "chat_message_id type target_id", Since: map[string]string{"type": december, "target_id": december}},
		{
			Name: "user_chat_channel_memberships", Columns: "user_id chat_channel_id following muted created_at updated_at last_read_message_id last_viewed_at",
			Since: map[string]string{"last_viewed_at": "3.1"},
		},
		{Name: "user_chat_thread_memberships", Columns: "user_id thread_id last_read_message_id notification_level updated_at", Added: "3.1"},
	}
	discourseCountsNeeds = append([]needs.Table{{Name: "notifications", Columns: "user_id notification_type read data"}}, discourseNeeds...)
)

// Events reads the tables.
func (d *Discourse) Events(ctx context.Context, p *importer.Problems, emit func(importer.Origin, *importer.Event) error) error {
	if _, err := needs.Check(ctx, d.Source, "Discourse's chat", discourseNeeds); err != nil {
		return err
	}
	r := reading{d.Source, p, emit}
	return r.all(ctx, discourseTables, "the database of a Discourse site with chat")
}

func discourseChannel(f fields, e *importer.Event) bool {
	*e = importer.Event{Kind: importer.KindChannel, Channel: f.Text("id"), Direct: f.Text("chatable_type") == "DirectMessage"}
	return true
}

func discourseChannelDeleted(f fields, e *importer.Event) bool {
	*e = importer.Event{Kind: importer.KindChannelDeleted, Channel: f.Text("id"), At: f.at("deleted_at")}
	return e.At > 0
}

// discourseMember maps a membership. A user who has left keeps the row, with following set to
// false.
func discourseMember(f fields, e *importer.Event) bool {
	*e = importer.Event{Kind: importer.KindMember, Channel: f.Text("chat_channel_id"), User: f.Text("user_id"), At: f.at("created_at")}
	if !f.truth("following") {
		e.Until = max(f.at("updated_at"), e.At, 1)
	}
	return true
}

func discoursePointer(f fields, e *importer.Event) bool {
	*e = importer.Event{
		Kind: importer.KindPointer, Channel: f.Text("chat_channel_id"), User: f.Text("user_id"), ID: f.Text("last_read_message_id"),
		Until: f.at("last_viewed_at"),
	}
	return e.ID != ""
}

func discourseMute(f fields, e *importer.Event) bool {
	*e = importer.Event{Kind: importer.KindMute, Channel: f.Text("chat_channel_id"), User: f.Text("user_id"), At: f.at("updated_at")}
	return f.truth("muted")
}

func discourseThreadPointer(f fields, e *importer.Event) bool {
	*e = importer.Event{
		Kind: importer.KindPointer, Channel: f.Text("channel_id"), User: f.Text("user_id"), Thread: f.Text("original_message_id"),
		ID: f.Text("last_read_message_id"), Until: f.at("updated_at"),
	}
	return e.ID != "" && e.Thread != "" // without its thread it would be a pointer of the channel
}

// quietThreads are the levels at which replies do not count: muted and normal.
var quietThreads = []string{"0", "1"}

// discourseFollow maps the level of a thread. Replies after the last read one count, whenever the
// user began to track the thread.
func discourseFollow(f fields, e *importer.Event) bool {
	*e = importer.Event{
		Kind: importer.KindFollow, Channel: f.Text("channel_id"), User: f.Text("user_id"), Thread: f.Text("original_message_id"), At: f.at("read_at"),
	}
	if slices.Contains(quietThreads, f.Text("notification_level")) {
		e.Kind, e.At = importer.KindUnfollow, f.at("updated_at")
	}
	return true
}

// discoursePost maps a message. Messages of removed authors count for nobody in Discourse.
func discoursePost(f fields, e *importer.Event) bool {
	*e = importer.Event{
		Kind: importer.KindPost, Channel: f.Text("chat_channel_id"), ID: f.Text("id"), User: f.Text("user_id"), Thread: f.Text("root"),
		At: f.at("created_at"), Until: f.at("deleted_at"), Text: f.Text("message"), Mentions: list(f.Text("mentions")), MentionAll: f.truth("mention_all"),
		Silent: f.Text("user_id") == "",
	}
	return true
}

// Counts computes the numbers as Discourse does, because Discourse stores none. Mentions are unread
// notifications.
func (d *Discourse) Counts(ctx context.Context, users []string, p *importer.Problems, emit func(importer.Count) error) error {
	if _, err := needs.Check(ctx, d.Source, "Discourse's chat", discourseCountsNeeds); err != nil {
		return err
	}
	of := ""
	if len(users) > 0 {
		of = " AND u.user_id::text IN (" + literals(users) + ")"
	}
	_, err := counts{d.Source, p, [4]string{"chat_channel_id", "user_id", "thread", "mentions"}}.read(ctx, discourse.Counts(of), users, emit)
	return err
}
