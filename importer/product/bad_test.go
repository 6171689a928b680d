package product

import (
	"strings"
	"testing"

	"github.com/tidemark/tidemark/importer"
	"github.com/tidemark/tidemark/internal/test/chats"
)

// Wrong rows are counted by their reasons, and end no import: NULLs, rows that contradict each
// other, clocks of 1970 and 2100, ids of 300 bytes. Users with correct rows keep their numbers.
func TestBadDatabases(t *testing.T) {
	load := database(t)
	long := strings.Repeat("x", 300)
	s := chats.NewSynapse(longAgo())
	s.Room("!r:here", "@ann:here", "@bob:here")
	for range 3 {
		s.Send("!r:here", "@ann:here", chats.Message{Body: "words"})
	}
	for _, c := range []struct {
		product, sql string
		open         func(sql string) importer.Product
		user, in     string
		unread       uint32
		reasons      map[string]int64
	}{
		{
			product: "Mattermost", user: "u4", in: "c9", unread: 2,
			sql: strings.ReplaceAll(mattermost, "varchar(26)", "varchar(400)") + `ALTER TABLE posts DROP CONSTRAINT posts_pkey; ALTER TABLE channels DROP CONSTRAINT channels_pkey; ALTER TABLE channels ALTER id DROP NOT NULL;
INSERT INTO channels VALUES ('c9', 'O', 0), ('c9', 'D', 0), (NULL, 'O', 0), ('` + long + `', NULL, NULL);
INSERT INTO channelmemberhistory VALUES ('c9', 'u4', 1700000000000, NULL), ('c9', 'u5', 1700000005000, 1700000001000), (NULL, 'u4', 1, NULL), ('c9', NULL, NULL, NULL), ('c9', '` + long + `', 1, NULL);
INSERT INTO channelmembers VALUES ('c9', 'u4', 1700000000500, 4102444800000, NULL), ('c9', 'u5', 4102444800000, NULL, '{}'), (NULL, NULL, NULL, NULL, NULL);
INSERT INTO posts VALUES ('q1', 1700000001000, 0, 'u1', 'c9', '', '', 'one', ''), ('q2', 1700000002000, 0, NULL, 'c9', NULL, '', NULL, NULL),
	('q3', 3000, 0, 'u1', 'c9', '', '', '1970', ''), ('q4', NULL, NULL, 'u1', 'c9', '', '', 'no time', ''), ('` + long + `', 1700000003000, 0, 'u1', 'c9', '', '', 'long', ''),
	('q5', 1700000004000, 1700000000000, 'u1', 'c9', '', '', 'deleted before it was posted', '');
INSERT INTO threadmemberships VALUES (NULL, 'u4', NULL, NULL, NULL), ('q1', NULL, true, 1, 1);`,
			open: func(sql string) importer.Product { return &Mattermost{Source: load(sql, "tidemark")} },
			reasons: map[string]int64{
				"a message without a sender: written as of unknown-sender": 1, "a message without a time": 1, "a time ahead of the clock: taken as the time of the import": 2,
				"message is not an id: 1 to 255 bytes of UTF-8 without control characters": 1, "user is not an id: 1 to 255 bytes of UTF-8 without control characters": 1,
				"channel is not an id: 1 to 255 bytes of UTF-8 without control characters": 1, "somebody left before they joined": 1, "no channel": 2, "no user": 2,
			},
		},
		{
			product: "Discourse", user: "4", in: "9", unread: 2,
			sql: discourseNumbers + `INSERT INTO chat_channels VALUES (9, NULL, false, NULL);
ALTER TABLE user_chat_thread_memberships DROP CONSTRAINT user_chat_thread_memberships_pkey; ALTER TABLE user_chat_thread_memberships ALTER id DROP NOT NULL;
INSERT INTO user_chat_channel_memberships VALUES (1, 4, 9, 100, true, NULL, '2025-01-01', NULL, '2100-01-01'), (2, NULL, 9, NULL, NULL, NULL, NULL, NULL, NULL), (3, 4, NULL, NULL, true, false, NULL, NULL, NULL),
	(4, 5, 9, 999, false, false, '2025-01-09', '2025-01-01', NULL), (5, 6, 9, 999, true, true, '2100-01-01', '0040-01-01 BC', NULL);
INSERT INTO chat_messages VALUES (100, 9, 7, '2025-01-02', NULL, NULL, 'read'), (101, 9, 7, '2025-01-03', NULL, 77, NULL), (102, 9, 7, '2025-01-04', '2024-01-01', NULL, 'deleted before it was posted'),
	(103, 9, NULL, '2025-01-05', NULL, NULL, 'of somebody removed'), (104, NULL, 7, '2025-01-05', NULL, NULL, 'in no channel'), (105, 9, 7, NULL, NULL, NULL, 'no time'), (106, 9, 7, '2100-01-01', NULL, NULL, 'late'),
	(107, 9, 7, '1970-01-01 00:00:03', NULL, NULL, 'early');
INSERT INTO chat_threads VALUES (77, 9, NULL), (78, NULL, 100); INSERT INTO chat_mentions VALUES (1, 101, NULL, NULL), (2, NULL, 'Chat::UserMention', 4);
INSERT INTO user_chat_thread_memberships VALUES (NULL, 4, 78, 101, NULL, NULL, NULL), (1, 4, 77, 101, 2, NULL, NULL);`,
			open:    func(sql string) importer.Product { return &Discourse{Source: load(sql, "tidemark")} },
			reasons: map[string]int64{"a message without a time": 1, "a time ahead of the clock: taken as the time of the import": 3, "no user": 1, "updated_at is no time: taken as none": 1},
		},
		{
			product: "Synapse", user: "@bob:here", in: "!r:here", unread: 2,
			sql: s.SQL() + `INSERT INTO rooms (room_id) VALUES ('!` + long + `'); UPDATE events SET received_ts = NULL, origin_server_ts = 4102444800000 WHERE stream_ordering = (SELECT max(stream_ordering) FROM events);
UPDATE event_json SET json = '{' WHERE event_id = (SELECT event_id FROM events WHERE type = 'm.room.message' ORDER BY stream_ordering LIMIT 1);
INSERT INTO account_data (user_id, account_data_type, content) VALUES ('@ann:here', 'm.direct', '[]');
INSERT INTO push_rules (id, user_name, rule_id, priority_class, priority, conditions, actions) VALUES (901, '` + long + `', 'global/room/!r:here', 1, 1, '[]', '[]'), (902, '@ann:here', 'global/room/!r:here', 1, 1, '[]', '{');`,
			open: func(sql string) importer.Product { return &Synapse{Source: load(sql, "tidemark")} },
			reasons: map[string]int64{
				"channel is not an id: 1 to 255 bytes of UTF-8 without control characters": 1, "user is not an id: 1 to 255 bytes of UTF-8 without control characters": 1,
				"m.direct has no lists of rooms: what is no list is left out": 1, "an event whose JSON is damaged: left out": 1,
				"the actions of a push rule are no JSON array: taken as not muted": 1,
			},
		},
	} {
		m, sum := modelOf(t, importer.Config{}, c.open(fresh+c.sql))
		got := map[string]int64{}
		for _, p := range sum.Problems {
			got[p.Reason] = p.Count
			if len(p.First) == 0 {
				t.Errorf("%s: %q names no row", c.product, p.Reason)
			}
		}
		for reason, n := range c.reasons {
			if got[reason] < n {
				t.Errorf("%s: want %d times %q: %v", c.product, n, reason, got)
			}
		}
		same(t, m, c.user, c.in, chats.Want{Member: true, Unread: c.unread})
	}
}
