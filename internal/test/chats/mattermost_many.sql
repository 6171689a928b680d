-- A Mattermost database of {rows} rows, as its tables have them after half a year: members of a channel post in bursts of eight,
-- half of the bursts have replies, one post in a thousand was deleted, and most members have viewed most of their channels.
-- The server's own numbers are right, but that deletions do not lower them.
CREATE FUNCTION pseudo(n bigint, salt int) RETURNS bigint IMMUTABLE PARALLEL SAFE LANGUAGE sql AS $$ SELECT hashint8(n * 31 + salt)::bigint & 2147483647 $$;
CREATE FUNCTION began() RETURNS bigint IMMUTABLE PARALLEL SAFE LANGUAGE sql AS $$ SELECT {now} - 180 * 86400000::bigint $$;
-- The n-th member of a channel; a direct one has two.
CREATE FUNCTION member(channel bigint, n bigint) RETURNS text IMMUTABLE PARALLEL SAFE LANGUAGE sql AS
	$$ SELECT 'user' || (channel * 37 + (CASE WHEN channel % 10 = 0 THEN n % 2 ELSE n END) * 101) % {users} $$;
ALTER TABLE channelmembers SET UNLOGGED;
ALTER TABLE channelmemberhistory SET UNLOGGED;
ALTER TABLE posts SET UNLOGGED;
ALTER TABLE threadmemberships SET UNLOGGED;
INSERT INTO users SELECT 'user' || n, 'name' || n FROM generate_series(0, {users} - 1) n;
INSERT INTO channels SELECT 'channel' || c, (CASE WHEN c % 10 = 0 THEN 'D' WHEN c % 10 < 4 THEN 'P' ELSE 'O' END)::channel_type, 0, 0, 0, 0 FROM generate_series(0, {channels} - 1) c;
INSERT INTO posts
	SELECT 'post' || n, at, at, 0, CASE WHEN pseudo(n, 1) % 1000 = 0 THEN at + 60000 ELSE 0 END, member(channel, pseudo(n, 2) % {members}), 'channel' || channel,
		CASE WHEN n % 8 > 4 AND pseudo(n / 8, 3) % 2 = 0 AND pseudo(n / 8 * 8, 1) % 1000 > 0 THEN 'post' || n / 8 * 8 ELSE '' END, '',
		'as I said in the meeting, number ' || n || CASE WHEN pseudo(n, 4) % 20 = 0 THEN ' is for @somebody.else to look at' ELSE ' is done' END, '', false
	FROM (SELECT n, began() + (n * 180 * 86400000::numeric / {posts})::bigint AS at, (power(pseudo(n / 8, 5) / 2147483648.0, 2) * {channels})::bigint % {channels} AS channel
		FROM generate_series(1, {posts}) n) p;
CREATE INDEX ON posts (channelid, createat);
CREATE INDEX ON posts (rootid, createat);
ANALYZE posts;
UPDATE channels c SET totalmsgcount = p.n, totalmsgcountroot = p.roots, lastpostat = p.at
	FROM (SELECT channelid, count(*) AS n, count(*) FILTER (WHERE rootid = '') AS roots, max(createat) AS at FROM posts GROUP BY 1) p WHERE p.channelid = c.id;
-- A pointer is at a post of the channel, and not before a user's own last one.
CREATE UNLOGGED TABLE placed AS SELECT channelid, userid, createat, row_number() OVER (PARTITION BY channelid ORDER BY createat) AS root
	FROM posts WHERE rootid = '';
CREATE INDEX ON placed (channelid, root);
CREATE UNLOGGED TABLE mine AS SELECT channelid, userid, max(root) AS root FROM placed GROUP BY 1, 2;
ANALYZE placed;
ANALYZE mine;
INSERT INTO channelmembers
	SELECT m.channelid, m.userid, coalesce(p.createat, 0), coalesce(p.createat, began()), '{"mark_unread": "all"}',
		m.root, m.root, CASE WHEN m.direct THEN m.total - m.root ELSE 0 END, CASE WHEN m.direct THEN m.total - m.root ELSE 0 END
	FROM (SELECT c.id AS channelid, u.userid, c.totalmsgcountroot AS total, c.type = 'D' AS direct, greatest(coalesce(o.root, 0),
			CASE WHEN pseudo(u.n, 6) % 100 < 60 THEN c.totalmsgcountroot WHEN pseudo(u.n, 6) % 100 < 95 THEN c.totalmsgcountroot - pseudo(u.n, 7) % 40 ELSE 0 END) AS root
		FROM channels c JOIN LATERAL (SELECT DISTINCT member(substr(c.id, 8)::bigint, n) AS userid, substr(c.id, 8)::bigint * {members} + n AS n
			FROM generate_series(0, CASE WHEN c.type = 'D' THEN 1 ELSE {members} - 1 END) n) u ON true
		LEFT JOIN mine o ON o.channelid = c.id AND o.userid = u.userid) m
	LEFT JOIN placed p ON p.channelid = m.channelid AND p.root = m.root;
INSERT INTO channelmemberhistory SELECT channelid, userid, began() - 1000, NULL FROM channelmembers;
INSERT INTO threadmemberships
	SELECT r.id, r.userid, true, CASE WHEN pseudo(n, 8) % 3 > 0 THEN x.last ELSE r.createat END, x.last, 0
	FROM (SELECT n, 'post' || n * 8 AS id FROM generate_series(1, {posts} / 8 - 1) n WHERE pseudo(n, 3) % 2 = 0) b JOIN posts r ON r.id = b.id
	JOIN LATERAL (SELECT max(createat) AS last FROM posts WHERE rootid = b.id) x ON x.last > 0
	ORDER BY n LIMIT {threads};
DROP TABLE placed, mine;
ANALYZE;
