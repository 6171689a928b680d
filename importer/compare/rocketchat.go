package compare

import (
	"encoding/json"
	"fmt"
)

// RocketChatPolicy is the policy of a Rocket.Chat server. Its numbers are counters that messages
// raise and views reset to 0. A setting decides whether all messages raise them, or only some
// mentions.
var RocketChatPolicy = Policy{
	Rules: map[Cause]Rule{
		Deleted:    {TheirsWrong, "deleted, but counted"},
		ReadSingly: {ByPolicy, "read singly in Tidemark alone"},
		BeforeJoin: {ByPolicy, "from before they joined"},
		Hidden:     {ByPolicy, "hidden in Tidemark alone"},
		Posted:     {ByPolicy, "before a message of their own: Rocket.Chat waits for a view"},
		Quiet:      {ByPolicy, "less: replies that are also in the room"},
		History:    {ByPolicy, "less from before they joined the direct room"},
		Marked:     {ByPolicy, "less: marked as unread, which Rocket.Chat shows in bold without a number"},
	},
	OnlyMentions: "it counts only mentions: the setting Unread_Count, or that of this kind of room",
	Mentions:     "mentions by highlights and of teams are not in its messages",
}

// RocketChatHeal returns the statement that corrects a number, if it has not changed since the
// comparison.
func RocketChatHeal(l *Line) (statement string, ok bool) {
	if l.Thread != "" {
		return "", false
	}
	mentions := int64(0)
	if l.Ours.Mentions != nil {
		mentions = *l.Ours.Mentions
	}
	unread := l.Ours.Unread
	if l.Theirs.onlyMentions {
		unread = mentions
	}
	filter, err := json.Marshal(map[string]any{"rid": l.Channel, "u._id": l.User, "unread": l.Theirs.Unread})
	if err != nil {
		return "", false
	}
	set, err := json.Marshal(map[string]any{"$set": map[string]any{"unread": unread, "userMentions": mentions, "groupMentions": 0, "alert": l.Ours.Unread > 0}})
	if err != nil {
		return "", false
	}
	return fmt.Sprintf("subscriptions.updateOne(%s, %s)", filter, set), true
}
