package product

import (
	"cmp"
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"github.com/tidemark/tidemark/importer"
)

// slackRepeats are the subtypes that repeat what another message of the export has.
var slackRepeats = []string{"message_changed", "message_deleted", "message_replied", "reply_broadcast"}

// slackSilent are the subtypes that count for nobody, beside those of slackNotices.
var slackSilent = []string{
	"bot_add", "bot_remove", "bot_enable", "bot_disable", "pinned_item", "unpinned_item", "reminder_add", "reminder_delete", "tombstone", "sh_room_created",
	"app_conversation_join", "assistant_app_thread", "file_comment_deleted", "joiner_notification", "joiner_notification_for_inviter",
}

// slackNotices begin the subtypes of what happens to a conversation: joins, leaves, topics, names.
var slackNotices = []string{"channel_", "group_"}

// post maps a message.
func (s *Slack) post(f fields, c *conversation, e *importer.Event) bool {
	kind, id := f.Text("subtype"), f.Text("ts")
	if slices.Contains(slackRepeats, kind) {
		return false
	}
	*e = importer.Event{
		Kind: importer.KindPost, Channel: c.id, ID: id, User: cmp.Or(f.Text("user"), f.Text("bot_id")), At: f.at("ts"), Until: c.deleted[id],
		Text: s.plain(f.Text("text")), Silent: slices.Contains(slackSilent, kind) || slices.ContainsFunc(slackNotices, func(n string) bool { return strings.HasPrefix(kind, n) }),
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
	e.Mentions, e.MentionAll = slackMentions(f.Text("text"), e.User)
	return true
}

// slackLink is what stands between angle brackets: a user, a channel, a command, an address, each
// perhaps with a text.
var slackLink = regexp.MustCompile(`<([@#!]?)([^<>|]*)(?:\|([^<>]*))?>`)

// slackMentions returns the users that a text names. A group is named by an id whose members the
// export does not have.
func slackMentions(text, author string) (ids []string, all bool) {
	if !strings.Contains(text, "<") {
		return nil, false
	}
	for _, m := range slackLink.FindAllStringSubmatch(text, -1) {
		switch {
		case m[1] == "@" && m[2] != author && m[2] != "" && !slices.Contains(ids, m[2]):
			ids = append(ids, m[2])
		case m[1] == "!" && (m[2] == "channel" || m[2] == "here" || m[2] == "everyone"):
			all = true
		}
	}
	return ids, all
}

var slackEscapes = strings.NewReplacer("&lt;", "<", "&gt;", ">", "&amp;", "&")

// plain returns a text as people see it.
func (s *Slack) plain(text string) string {
	if !strings.ContainsAny(text, "<&") {
		return text
	}
	text = slackLink.ReplaceAllStringFunc(text, func(link string) string {
		m := slackLink.FindStringSubmatch(link)
		switch m[1] {
		case "@":
			return "@" + cmp.Or(s.users[m[2]], m[3], m[2])
		case "#":
			return "#" + cmp.Or(m[3], m[2])
		case "!":
			return "@" + strings.TrimPrefix(cmp.Or(m[3], m[2]), "@")
		}
		return cmp.Or(m[3], m[2])
	})
	return slackEscapes.Replace(text)
}
