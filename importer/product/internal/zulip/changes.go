package zulip

import (
	"fmt"
	"strconv"
	"strings"
)

// Posts returns the query of messages with these ids, in the columns of Messages. It finds one that
// was deleted meanwhile, too.
func Posts(ids []string) string {
	return fill(`SELECT {channel} AS channel, m.id, m.sender_id, m.date_sent, m.content, m.deleted_at,
		(SELECT array_agg(u.user_profile_id) FROM zerver_usermessage u WHERE u.message_id = m.id AND u.flags & {named} <> 0) AS mentions,
		EXISTS (SELECT 1 FROM zerver_usermessage u WHERE u.message_id = m.id AND u.flags & {wildcard} <> 0) AS mention_all
	FROM (SELECT id, sender_id, recipient_id, date_sent, content, NULL::timestamptz AS deleted_at FROM zerver_message WHERE id IN (` + numbers(ids) + `)
		UNION ALL SELECT a.id, a.sender_id, a.recipient_id, a.date_sent, a.content, t.timestamp
			FROM zerver_archivedmessage a JOIN zerver_archivetransaction t ON t.id = a.archive_transaction_id
			WHERE a.id IN (` + numbers(ids) + `) AND NOT t.restored AND NOT EXISTS (SELECT 1 FROM zerver_message x WHERE x.id = a.id)) m
	JOIN zerver_recipient r ON r.id = m.recipient_id ORDER BY m.id`)
}

// Places returns the query of the channels and senders of messages.
func Places(ids []string) string {
	return fill("SELECT m.id, m.sender_id, {channel} AS channel FROM zerver_message m JOIN zerver_recipient r ON r.id = m.recipient_id WHERE m.id IN (" + numbers(ids) + ")")
}

// Lowest returns the query of the oldest unread message of users, by channel.
func Lowest(users []string) string {
	return fill(`SELECT um.user_profile_id AS user_id, {channel} AS channel, min(m.id) AS id
	FROM zerver_usermessage um JOIN zerver_message m ON m.id = um.message_id JOIN zerver_recipient r ON r.id = m.recipient_id
	WHERE um.flags & {read} = 0 AND um.user_profile_id IN (` + numbers(users) + `) GROUP BY 1, 2`)
}

// Newest returns the query of the newest message of a channel before another one, "" for none.
func Newest(channel, before string) string {
	query := "SELECT max(m.id) AS id FROM zerver_message m JOIN zerver_recipient r ON r.id = m.recipient_id WHERE " + within(channel)
	if before != "" {
		query += " AND m.id < " + numbers([]string{before})
	}
	return query
}

// Read returns the query of the messages of others that a user has read in a channel after another
// one.
func Read(user, channel, after string) string {
	return fill("SELECT m.id FROM zerver_usermessage um JOIN zerver_message m ON m.id = um.message_id JOIN zerver_recipient r ON r.id = m.recipient_id "+
		"WHERE um.flags & {read} <> 0 AND um.user_profile_id = "+numbers([]string{user})+" AND m.sender_id <> um.user_profile_id AND m.id > "+numbers([]string{after})+
		" AND ") + within(channel) + " ORDER BY 1"
}

// Unread reports whether a user has not read a message with these flags.
func Unread(flags string) bool {
	n, err := strconv.ParseInt(flags, 10, 64)
	return err == nil && n&read == 0
}

// Pair returns the two users of a conversation. It reports false for another channel.
func Pair(channel string) (low, high string, ok bool) {
	rest, is := strings.CutPrefix(channel, "dm-")
	low, high, both := strings.Cut(rest, "-")
	return low, high, is && both
}

// within returns the condition of the messages of a channel.
func within(channel string) string {
	low, high, pair := Pair(channel)
	if !pair {
		return "m.recipient_id = " + numbers([]string{channel})
	}
	return fmt.Sprintf("r.type = 1 AND (m.sender_id = %[1]s AND r.type_id = %[2]s OR m.sender_id = %[2]s AND r.type_id = %[1]s)",
		numbers([]string{low}), numbers([]string{high}))
}

// numbers returns a list of numbers in SQL. What is no number becomes 0, an id that nothing has.
func numbers(texts []string) string {
	list := make([]string, len(texts))
	for i, text := range texts {
		n, _ := strconv.ParseInt(text, 10, 64) // 0 if it is none
		list[i] = strconv.FormatInt(n, 10)
	}
	return strings.Join(list, ", ")
}
