-- Version 2: message_readers shows no private reads, unless it is asked for them.

DROP FUNCTION tidemark.message_readers(text, bigint);

-- Who has read a channel up to a message, or further: the members whose pointer is there. A pointer
-- does not say whether the read was private; a receipt is of a public read.
CREATE FUNCTION tidemark.message_readers(channel_id text, seq bigint, include_private boolean DEFAULT false)
RETURNS TABLE (user_id text, last_read_id text, last_read_seq bigint, last_read_at timestamptz)
LANGUAGE plpgsql STABLE AS $$
BEGIN
  IF NOT include_private AND (SELECT c.large FROM tidemark.channels c WHERE c.channel_id = message_readers.channel_id) THEN
    RAISE EXCEPTION 'the channel % is large: it has no receipts, and pointers do not say which reads are private', channel_id
      USING HINT = 'message_readers(channel_id, seq, include_private => true) has all readers: do not show them to users.';
  END IF;
  RETURN QUERY
    SELECT p.user_id, p.last_read_id, p.last_read_seq, p.last_read_at
    FROM tidemark.read_pointers p
    JOIN tidemark.unread u ON u.user_id = p.user_id AND u.channel_id = p.channel_id AND u.thread_id = ''
    WHERE p.channel_id = message_readers.channel_id AND p.thread_id = '' AND p.last_read_seq >= message_readers.seq AND u.member
      AND (include_private OR EXISTS (SELECT 1 FROM tidemark.receipts r WHERE r.channel_id = p.channel_id AND r.user_id = p.user_id
        AND r.up_to_seq >= message_readers.seq AND r.read_at IS NOT NULL))
    ORDER BY p.last_read_seq DESC, p.user_id;
END;
$$;
