package product

import (
	"github.com/tidemark/tidemark/importer/product/internal/discourse"
	"github.com/tidemark/tidemark/importer/source"
)

// DiscourseChanging are the tables of Discourse's chat that a bridge follows. Mentions have rows of
// their own, which come after their message.
var DiscourseChanging = map[string]Changing{
	"chat_channels": {Gives: []string{"channels"}, By: map[string]string{"channel_id": "id"}},
	"chat_messages": {Gives: []string{"messages"}, By: map[string]string{"channel_id": "chat_channel_id", "message_id": "id"}},
	"chat_mentions": {Edits: []string{"messages"}, By: map[string]string{"message_id": "chat_message_id"}},
	"user_chat_channel_memberships": {
		Gives: []string{"members", "pointers", "mutes"}, By: map[string]string{"channel_id": "chat_channel_id", "user_id": "user_id"},
	},
	"user_chat_thread_memberships": {Gives: []string{"pointers", "follows"}, By: map[string]string{"thread_row": "thread_id", "user_id": "user_id"}},
}

// newDiscourseLive returns what maps changes of Discourse's chat: a mapping as a team writes it for
// tables of its own.
func newDiscourseLive(now source.Tables) *TableLive {
	return NewTableLive(Mapping(discourse.Queries), DiscourseChanging, now)
}
