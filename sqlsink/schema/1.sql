-- Version 1 of the schema that the role sql fills. docs/sql.md explains it.

-- Positions of a channel as a set of runs: (3], [7,9] is {[3,4),[7,10)}.
CREATE FUNCTION tidemark.positions_in(positions int8multirange) RETURNS bigint
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN (SELECT coalesce(sum(upper(run) - lower(run)), 0)::bigint FROM unnest(positions) AS run);

-- One row for each user in a channel (thread_id '') or in a thread that they follow. A user who
-- left has a row with member = false.
CREATE TABLE tidemark.unread (
  user_id            text NOT NULL,
  channel_id         text NOT NULL,
  thread_id          text NOT NULL,
  member             boolean NOT NULL,
  unread             bigint,           -- NULL: large, the view inbox derives it
  mentions           bigint NOT NULL,  -- where large, of those who are named or all, as of the row's stamp
  offline_unread     bigint NOT NULL,
  first_unread_id    text,             -- NULL: none, or too old to be named, or large
  first_unread_seq   bigint,
  level              text NOT NULL,    -- ALL, MENTIONS, NONE: as it was set, until may have passed
  until              timestamptz,
  flagged            boolean NOT NULL,
  read_epoch         bigint NOT NULL,
  large              boolean NOT NULL,
  read_pos           bigint NOT NULL,
  excluded           int8multirange NOT NULL,
  mentioned          int8multirange NOT NULL,
  m                  bigint NOT NULL,  -- the stamp
  r                  bigint NOT NULL,
  d                  bigint NOT NULL,
  updated_at         timestamptz NOT NULL,
  direct_mentions    bigint NOT NULL,
  level_after        text NOT NULL,    -- the level once until has passed
  ignore_mention_all boolean NOT NULL,
  ask                boolean NOT NULL, -- nothing can be derived: the query service knows
  filed_keep         boolean,          -- NULL: the user did not file the channel
  filed_pos          bigint,
  labels             text[] NOT NULL,  -- the user's own
  PRIMARY KEY (user_id, channel_id, thread_id)
) WITH (fillfactor = 85);
CREATE INDEX unread_of_channel ON tidemark.unread (channel_id);

-- How far each user has read. last_read_seq is 0 where a mark has taken the pointer back to the
-- beginning. The stamp is that of the delta that told the pointer first.
CREATE TABLE tidemark.read_pointers (
  user_id       text NOT NULL,
  channel_id    text NOT NULL,
  thread_id     text NOT NULL,
  last_read_id  text,
  last_read_seq bigint NOT NULL,
  last_read_at  timestamptz,
  read_epoch    bigint NOT NULL,
  m             bigint NOT NULL,
  r             bigint NOT NULL,
  d             bigint NOT NULL,
  PRIMARY KEY (user_id, channel_id, thread_id)
) WITH (fillfactor = 85);
CREATE INDEX read_pointers_of_channel ON tidemark.read_pointers (channel_id, last_read_seq) WHERE thread_id = '';

CREATE TABLE tidemark.channels (
  channel_id    text PRIMARY KEY,
  head_seq      bigint NOT NULL,
  head_pos      bigint NOT NULL,
  latest_id     text,
  latest_at     timestamptz,
  latest_sender text,
  member_count  bigint NOT NULL,
  large         boolean NOT NULL,
  archived      boolean NOT NULL,
  labels        text[] NOT NULL,
  holes         int8multirange NOT NULL,
  alls          int8multirange NOT NULL,
  purged_pos    bigint NOT NULL,
  m             bigint NOT NULL,
  holes_floor   bigint NOT NULL, -- holes at or below it are not listed
  alls_floor    bigint NOT NULL
) WITH (fillfactor = 85);

-- What tidemark.receipts tells: one row for each message up to which a user of a small channel has
-- read, or that reached a device of theirs.
CREATE TABLE tidemark.receipts (
  channel_id   text NOT NULL,
  user_id      text NOT NULL,
  up_to_seq    bigint NOT NULL,
  message_id   text,
  read_at      timestamptz,
  delivered_at timestamptz,
  PRIMARY KEY (channel_id, user_id, up_to_seq)
);

-- What the sink itself has to remember.

-- Channels that are gone for good: nothing that arrives late brings rows of them back.
CREATE TABLE tidemark.deleted_channels (channel_id text PRIMARY KEY);

-- Stamps of rows that were removed, under a hash of their key, so that an older value that arrives
-- late does not bring back what was erased.
CREATE TABLE tidemark.removed (
  key        uuid PRIMARY KEY,
  m          bigint NOT NULL,
  r          bigint NOT NULL,
  d          bigint NOT NULL,
  removed_at timestamptz NOT NULL
);

-- How far each partition of the topics is written. It moves in the transaction that writes the rows.
CREATE TABLE tidemark.positions (
  topic       text NOT NULL,
  partition   integer NOT NULL,
  next_offset bigint NOT NULL,
  target      bigint NOT NULL, -- the end of the log when this filling began
  owner       text NOT NULL,
  PRIMARY KEY (topic, partition)
);

CREATE VIEW tidemark.inbox AS
SELECT
  u.user_id, u.channel_id, u.thread_id,
  n.unread, n.mentions, n.direct_mentions, u.offline_unread,
  u.first_unread_id, u.first_unread_seq,
  p.last_read_id, coalesce(p.last_read_seq, 0) AS last_read_seq, p.last_read_at,
  CASE WHEN now() >= u.until THEN u.level_after ELSE u.level END AS level,
  CASE WHEN now() < u.until THEN u.until END AS until,
  u.flagged, u.read_epoch, u.large,
  coalesce(c.archived, false) OR coalesce(u.filed_keep, false)
    OR u.filed_keep IS NOT NULL AND NOT u.ask AND coalesce(c.head_pos <= u.filed_pos, false) AS archived,
  u.labels AS own_labels, coalesce(c.labels, '{}') AS channel_labels,
  c.head_seq, c.latest_id, c.latest_at, c.latest_sender, c.member_count,
  u.updated_at
FROM tidemark.unread u
LEFT JOIN tidemark.channels c ON c.channel_id = u.channel_id
LEFT JOIN tidemark.read_pointers p ON (p.user_id, p.channel_id, p.thread_id) = (u.user_id, u.channel_id, u.thread_id)
CROSS JOIN LATERAL (SELECT
  greatest(u.read_pos, c.purged_pos) AS above
) a
CROSS JOIN LATERAL (SELECT CASE
  WHEN NOT u.large THEN NULL
  WHEN u.ask OR c.channel_id IS NULL THEN NULL
  WHEN a.above >= c.head_pos THEN '{}'::int8multirange
  WHEN c.holes_floor > a.above OR c.alls_floor > a.above AND NOT u.ignore_mention_all THEN NULL
  WHEN tidemark.positions_in(u.excluded) >= 1000 OR tidemark.positions_in(u.mentioned) >= 1000 THEN NULL
  ELSE int8multirange(int8range(a.above, c.head_pos, '(]')) - c.holes - u.excluded
END AS positions) x
CROSS JOIN LATERAL (SELECT
  CASE WHEN u.large THEN tidemark.positions_in(x.positions) ELSE u.unread END AS unread,
  CASE WHEN NOT u.large THEN u.mentions
    WHEN u.ignore_mention_all THEN tidemark.positions_in(x.positions * u.mentioned)
    ELSE tidemark.positions_in(x.positions * (u.mentioned + c.alls)) END AS mentions,
  CASE WHEN u.large THEN tidemark.positions_in(x.positions * u.mentioned) ELSE u.direct_mentions END AS direct_mentions
) n
WHERE u.member;

-- Who has read a channel up to a message, or further: the members whose pointer is there.
CREATE FUNCTION tidemark.message_readers(channel_id text, seq bigint)
RETURNS TABLE (user_id text, last_read_id text, last_read_seq bigint, last_read_at timestamptz)
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
  SELECT p.user_id, p.last_read_id, p.last_read_seq, p.last_read_at
  FROM tidemark.read_pointers p
  JOIN tidemark.unread u ON u.user_id = p.user_id AND u.channel_id = p.channel_id AND u.thread_id = ''
  WHERE p.channel_id = message_readers.channel_id AND p.thread_id = '' AND p.last_read_seq >= message_readers.seq AND u.member
  ORDER BY p.last_read_seq DESC, p.user_id;
END;

COMMENT ON SCHEMA tidemark IS 'Filled by the role sql of Tidemark, which owns what is in it: docs/sql.md';
