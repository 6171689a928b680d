-- The database of docs/import/table.yml. Each user has a defect of counters: deleted messages are
-- counted, one who left has a number, one is negative, one is stale.
CREATE TABLE rooms (id bigint PRIMARY KEY, kind text NOT NULL);
CREATE TABLE room_members (room_id bigint, user_id bigint, joined_at timestamptz, left_at timestamptz, last_read_message_id bigint,
	read_at timestamptz, muted_at timestamptz, unread_count int, mention_count int, PRIMARY KEY (room_id, user_id));
CREATE TABLE messages (id bigint PRIMARY KEY, room_id bigint, author_id bigint, parent_id bigint, created_at timestamptz, body text, kind text,
	deleted_at timestamptz, mentioned bigint[], mentions_room boolean NOT NULL DEFAULT false);
CREATE TABLE thread_members (message_id bigint, user_id bigint, followed_at timestamptz, last_read_message_id bigint, read_at timestamptz, unread_count int,
	PRIMARY KEY (message_id, user_id));
INSERT INTO rooms VALUES (1, 'room');
INSERT INTO messages SELECT n, 1, 9, NULL, now() - interval '10 days' + n * interval '1 minute', 'text', 'text', NULL, NULL, n = 103 FROM generate_series(100, 103) n;
INSERT INTO messages VALUES
	(104, 1, 9, NULL, now() - interval '9 days', 'gone', 'text', now() - interval '8 days', NULL),
	(105, 1, 9, NULL, now() - interval '9 days', 'gone', 'text', now() - interval '8 days', NULL),
	(106, 1, 9, NULL, now() - interval '7 days', 'renamed', 'system', NULL, NULL),
	(107, 1, 9, 100, now() - interval '6 days', 'a reply', 'text', NULL, NULL);
INSERT INTO room_members VALUES
	(1, 1, now() - interval '20 days', NULL, 102, now() - interval '9 days', NULL, 3, 0),
	(1, 2, now() - interval '20 days', now() - interval '8 days', NULL, NULL, NULL, 9, 2),
	(1, 3, now() - interval '20 days', NULL, NULL, NULL, NULL, -2, 0),
	(1, 4, now() - interval '20 days', NULL, NULL, NULL, NULL, 5, 1),
	(1, 5, now() - interval '8 days', NULL, NULL, NULL, NULL, 6, 1),
	(1, 6, now() - interval '20 days', NULL, NULL, NULL, NULL, 99, 1),
	(1, 7, now() - interval '20 days', NULL, NULL, NULL, NULL, 4, 0),
	(1, 8, now() - interval '20 days', NULL, 107, now() - interval '9 days', NULL, 0, 0);
INSERT INTO thread_members VALUES (100, 1, now() - interval '9 days', NULL, NULL, 5);
