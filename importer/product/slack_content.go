package product

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/tidemark/tidemark/importer"
	"github.com/tidemark/tidemark/importer/product/internal/markup"
)

// slackRepeats are the subtypes that repeat another message of the export.
var slackRepeats = []string{"message_changed", "message_deleted", "message_replied", "reply_broadcast"}

// slackSilent are the subtypes that count for nobody, beside those of slackNotices.
var slackSilent = []string{
	"bot_add", "bot_remove", "bot_enable", "bot_disable", "pinned_item", "unpinned_item", "reminder_add", "reminder_delete", "tombstone", "sh_room_created",
	"app_conversation_join", "assistant_app_thread", "file_comment_deleted", "joiner_notification", "joiner_notification_for_inviter",
}

// slackNotices are prefixes of subtypes about events of a conversation: joins, leaves, topics,
// names.
var slackNotices = []string{"channel_", "group_"}

// post maps a message.
func (s *Slack) post(f fields, c *conversation, e *importer.Event) bool {
	kind, id := f.Text("subtype"), f.Text("ts")
	if slices.Contains(slackRepeats, kind) {
		return false
	}
	*e = importer.Event{
		Kind: importer.KindPost, Channel: c.id, ID: id, User: cmp.Or(f.Text("user"), f.Text("bot_id")), At: f.at("ts"), Until: c.deleted[id],
		Text: markup.SlackText(f.Text("text"), s.users), Silent: slices.Contains(slackSilent, kind) || slices.ContainsFunc(slackNotices, func(n string) bool { return strings.HasPrefix(kind, n) }),
	}
	if root := f.Text("thread_ts"); root != id {
		e.Thread, e.Broadcast = root, root != "" && kind == "thread_broadcast"
	}
	if kind == "file_comment" {
		var comment struct{ User string }
		if json.Unmarshal([]byte(f.Text("comment")), &comment) == nil {
			e.User = cmp.Or(comment.User, e.User)
		}
	}
	e.Mentions, e.MentionAll = markup.SlackMentions(f.Text("text"), e.User)
	return true
}
