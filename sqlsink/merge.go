package sqlsink

// The statements that merge the temporary tables of a batch into the tables. s.old is the row in
// the table, and i the row of the batch.

// makeTemporary creates the tables of a batch, which are dropped at the end of the transaction. No
// temporary object outlives a transaction, because a pooler may run the next transaction in another
// session.
const makeTemporary = `
CREATE TEMPORARY TABLE in_unread (` + unreadColumns + `) ON COMMIT DROP;
CREATE TEMPORARY TABLE in_channels (` + channelColumns + `) ON COMMIT DROP;
CREATE TEMPORARY TABLE in_receipts (` + receiptColumns + `) ON COMMIT DROP`

// mergeRemovals applies removals, and deletes rows from the batch that were removed before and
// would come back. It runs before the other merges.
const mergeRemovals = `
INSERT INTO tidemark.deleted_channels SELECT channel_id FROM in_channels WHERE state = 'r' ON CONFLICT DO NOTHING;

DELETE FROM tidemark.channels t USING in_channels i WHERE i.channel_id = t.channel_id AND i.state IN ('r', 'e');
DELETE FROM tidemark.unread t USING in_channels i WHERE i.channel_id = t.channel_id AND i.state = 'r';
DELETE FROM tidemark.read_pointers t USING in_channels i WHERE i.channel_id = t.channel_id AND i.state = 'r';
DELETE FROM tidemark.receipts t USING in_channels i WHERE i.channel_id = t.channel_id AND i.state = 'r';

DELETE FROM tidemark.unread t USING in_unread i
WHERE (i.user_id, i.channel_id, i.thread_id) = (t.user_id, t.channel_id, t.thread_id)
	AND (i.state = 'e' OR i.state = 'r' AND NOT (t.m >= i.m AND t.r >= i.r AND t.d >= i.d AND (t.m, t.r, t.d) <> (i.m, i.r, i.d)));
DELETE FROM tidemark.read_pointers t USING in_unread i
WHERE (i.user_id, i.channel_id, i.thread_id) = (t.user_id, t.channel_id, t.thread_id) AND i.state IN ('e', 'r')
	AND NOT EXISTS (SELECT FROM tidemark.unread u WHERE (u.user_id, u.channel_id, u.thread_id) = (i.user_id, i.channel_id, i.thread_id));
DELETE FROM tidemark.receipts t USING in_unread i
WHERE i.user_id = t.user_id AND i.channel_id = t.channel_id AND i.thread_id = '' AND i.state IN ('e', 'r')
	AND NOT EXISTS (SELECT FROM tidemark.unread u WHERE (u.user_id, u.channel_id, u.thread_id) = (i.user_id, i.channel_id, i.thread_id));

INSERT INTO tidemark.removed AS t
SELECT ` + keyHash + `, i.m, i.r, i.d, now() FROM in_unread i WHERE i.state = 'r'
ON CONFLICT (key) DO UPDATE SET m = greatest(t.m, excluded.m), r = greatest(t.r, excluded.r), d = greatest(t.d, excluded.d), removed_at = now()`

// keyHash is the hash of a key under which a removed row is remembered. No id has a control
// character.
const keyHash = `md5(concat_ws(E'\x01', i.user_id, i.channel_id, i.thread_id))::uuid`

// refuseRemoved deletes rows from a batch that were removed before.
const refuseRemoved = `
DELETE FROM in_channels i USING tidemark.deleted_channels x WHERE x.channel_id = i.channel_id;
DELETE FROM in_unread i USING tidemark.deleted_channels x WHERE x.channel_id = i.channel_id;
DELETE FROM in_receipts i USING tidemark.deleted_channels x WHERE x.channel_id = i.channel_id;
DELETE FROM in_unread i USING tidemark.removed x WHERE x.key = ` + keyHash + ` AND i.state = 's' AND x.m >= i.m AND x.r >= i.r AND x.d >= i.d;
DELETE FROM tidemark.removed x USING in_unread i WHERE x.key = ` + keyHash + ` AND i.state = 's';
DELETE FROM in_receipts i USING tidemark.removed x WHERE x.key = md5(concat_ws(E'\x01', i.user_id, i.channel_id, ''))::uuid`

// mergeUnread writes deltas. It leaves equal rows unchanged.
const mergeUnread = `
INSERT INTO tidemark.unread AS t (
	user_id, channel_id, thread_id, member, unread, mentions, offline_unread, first_unread_id, first_unread_seq, level, until, flagged,
	read_epoch, large, read_pos, excluded, mentioned, m, r, d, updated_at, direct_mentions, level_after, ignore_mention_all, ask, filed_keep, filed_pos, labels)
SELECT
	user_id, channel_id, thread_id, member, unread, mentions, offline_unread, first_unread_id, first_unread_seq, level, until, flagged,
	read_epoch, large, read_pos, excluded, mentioned, m, r, d, now(), direct_mentions, level_after, ignore_mention_all, ask, filed_keep, filed_pos, labels
FROM in_unread i WHERE i.state = 's'
ON CONFLICT (user_id, channel_id, thread_id) DO UPDATE SET
	member = excluded.member, unread = excluded.unread, mentions = excluded.mentions, offline_unread = excluded.offline_unread,
	first_unread_id = excluded.first_unread_id, first_unread_seq = excluded.first_unread_seq, level = excluded.level, until = excluded.until,
	flagged = excluded.flagged, read_epoch = excluded.read_epoch, large = excluded.large, read_pos = excluded.read_pos, excluded = excluded.excluded,
	mentioned = excluded.mentioned, m = excluded.m, r = excluded.r, d = excluded.d, updated_at = excluded.updated_at,
	direct_mentions = excluded.direct_mentions, level_after = excluded.level_after, ignore_mention_all = excluded.ignore_mention_all,
	ask = excluded.ask, filed_keep = excluded.filed_keep, filed_pos = excluded.filed_pos, labels = excluded.labels
WHERE (t.m, t.r, t.d) <> (excluded.m, excluded.r, excluded.d) AND NOT (t.m >= excluded.m AND t.r >= excluded.r AND t.d >= excluded.d)
	OR (t.m, t.r, t.d) = (excluded.m, excluded.r, excluded.d) AND (
		t.member, t.unread, t.mentions, t.offline_unread, t.first_unread_id, t.first_unread_seq, t.level, t.until, t.flagged, t.read_epoch, t.large, t.read_pos,
		t.excluded, t.mentioned, t.direct_mentions, t.level_after, t.ignore_mention_all, t.ask, t.filed_keep, t.filed_pos, t.labels
	) IS DISTINCT FROM (
		excluded.member, excluded.unread, excluded.mentions, excluded.offline_unread, excluded.first_unread_id, excluded.first_unread_seq, excluded.level,
		excluded.until, excluded.flagged, excluded.read_epoch, excluded.large, excluded.read_pos, excluded.excluded, excluded.mentioned,
		excluded.direct_mentions, excluded.level_after, excluded.ignore_mention_all, excluded.ask, excluded.filed_keep, excluded.filed_pos, excluded.labels)`

// mergePointers writes the read pointers that deltas move, if the deltas' rows are in the table. It
// runs after mergeUnread. Most deltas come from messages and move no pointer, so it looks the
// pointers up first: an ON CONFLICT would lock each of their rows. A pointer that a mark takes back
// to the beginning stays, with seq 0.
const mergePointers = `
INSERT INTO tidemark.read_pointers (user_id, channel_id, thread_id, last_read_id, last_read_seq, last_read_at, read_epoch, m, r, d)
SELECT i.user_id, i.channel_id, i.thread_id, i.last_read_id, i.last_read_seq, i.last_read_at, i.read_epoch, i.m, i.r, i.d
FROM in_unread i
LEFT JOIN tidemark.read_pointers p ON p.user_id = i.user_id AND p.channel_id = i.channel_id AND p.thread_id = i.thread_id
WHERE i.state = 's' AND CASE WHEN p.user_id IS NULL THEN i.last_read_seq > 0
	ELSE (p.last_read_id, p.last_read_seq, p.last_read_at, p.read_epoch) IS DISTINCT FROM (i.last_read_id, i.last_read_seq, i.last_read_at, i.read_epoch) END
	AND EXISTS (SELECT FROM tidemark.unread u WHERE u.user_id = i.user_id AND u.channel_id = i.channel_id AND u.thread_id = i.thread_id
		AND u.m = i.m AND u.r = i.r AND u.d = i.d)
ON CONFLICT (user_id, channel_id, thread_id) DO UPDATE SET
	last_read_id = excluded.last_read_id, last_read_seq = excluded.last_read_seq, last_read_at = excluded.last_read_at,
	read_epoch = excluded.read_epoch, m = excluded.m, r = excluded.r, d = excluded.d`

// mergeChannels writes the records of channels.
const mergeChannels = `
INSERT INTO tidemark.channels AS t (channel_id, head_seq, head_pos, latest_id, latest_at, latest_sender, member_count, large, archived, labels,
	holes, alls, purged_pos, m, holes_floor, alls_floor)
SELECT channel_id, head_seq, head_pos, latest_id, latest_at, latest_sender, member_count, large, archived, labels,
	holes, alls, purged_pos, m, holes_floor, alls_floor
FROM in_channels i WHERE i.state = 's'
ON CONFLICT (channel_id) DO UPDATE SET
	head_seq = excluded.head_seq, head_pos = excluded.head_pos, latest_id = excluded.latest_id, latest_at = excluded.latest_at,
	latest_sender = excluded.latest_sender, member_count = excluded.member_count, large = excluded.large, archived = excluded.archived,
	labels = excluded.labels, holes = excluded.holes, alls = excluded.alls, purged_pos = excluded.purged_pos, m = excluded.m,
	holes_floor = excluded.holes_floor, alls_floor = excluded.alls_floor
WHERE t.m < excluded.m OR t.m = excluded.m AND (
		t.head_seq, t.head_pos, t.latest_id, t.latest_at, t.latest_sender, t.member_count, t.large, t.archived, t.labels, t.holes, t.alls, t.purged_pos,
		t.holes_floor, t.alls_floor
	) IS DISTINCT FROM (
		excluded.head_seq, excluded.head_pos, excluded.latest_id, excluded.latest_at, excluded.latest_sender, excluded.member_count, excluded.large,
		excluded.archived, excluded.labels, excluded.holes, excluded.alls, excluded.purged_pos, excluded.holes_floor, excluded.alls_floor)`

// mergeReceipts joins receipts: the earlier of two times of the same receipt wins, in whatever
// order they come.
const mergeReceipts = `
INSERT INTO tidemark.receipts AS t (channel_id, user_id, up_to_seq, message_id, read_at, delivered_at)
SELECT channel_id, user_id, up_to_seq, max(message_id), min(read_at), min(delivered_at)
FROM in_receipts GROUP BY channel_id, user_id, up_to_seq
ON CONFLICT (channel_id, user_id, up_to_seq) DO UPDATE SET
	message_id = coalesce(t.message_id, excluded.message_id),
	read_at = least(t.read_at, excluded.read_at), delivered_at = least(t.delivered_at, excluded.delivered_at)
WHERE t.message_id IS NULL AND excluded.message_id IS NOT NULL
	OR least(t.read_at, excluded.read_at) IS DISTINCT FROM t.read_at
	OR least(t.delivered_at, excluded.delivered_at) IS DISTINCT FROM t.delivered_at`
