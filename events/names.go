package events

import "strconv"

var kindNames = [NumKinds]string{
	KindNone:             "none",
	KindMessagePosted:    "message_posted",
	KindMessageEdited:    "message_edited",
	KindMessageDeleted:   "message_deleted",
	KindMessagesPurged:   "messages_purged",
	KindMembersJoined:    "members_joined",
	KindMembersLeft:      "members_left",
	KindChannelDeleted:   "channel_deleted",
	KindMessagesSeeded:   "messages_seeded",
	KindChannelUpdated:   "channel_updated",
	KindReadUpTo:         "read_up_to",
	KindMessagesRead:     "messages_read",
	KindMarkedUnread:     "marked_unread",
	KindThreadFollowed:   "thread_followed",
	KindThreadUnfollowed: "thread_unfollowed",
	KindChannelMuted:     "channel_muted",
	KindUserErased:       "user_erased",
	KindNotifySet:        "notify_set",
	KindFlagSet:          "flag_set",
	KindChannelFiled:     "channel_filed",
	KindMessagesHidden:   "messages_hidden",
	KindLineSet:          "line_set",
	KindMessagesViewed:   "messages_viewed",
	KindLabelsSet:        "labels_set",
	KindDelivered:        "delivered",
	KindQueued:           "queued",
}

// String returns the name of the kind's field in the schema.
func (k Kind) String() string {
	if k < NumKinds {
		return kindNames[k]
	}
	return "Kind(" + strconv.Itoa(int(k)) + ")"
}
