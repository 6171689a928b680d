/** @typedef {import('./index.js').ChannelUnread} ChannelUnread */
/** @typedef {import('./index.js').ThreadUnread} ThreadUnread */
/** @typedef {import('./index.js').Totals} Totals */
/** @typedef {import('./index.js').Level} Level */

/** The level at which a channel enters the badge at a time.
 * @param {ChannelUnread} c
 * @param {number} [now] milliseconds since 1970
 * @returns {Level} */
export function levelAt(c, now = Date.now()) {
  if (c.until && Date.parse(c.until) <= now) return c.level_after ?? 'ALL';
  return c.level ?? (c.muted ? 'NONE' : 'ALL');
}

/** The sums over channels and their threads at one time, as the gateway and the queries compute
 * them. With a label: over the channels with that label.
 * @param {Iterable<ChannelUnread>} channels
 * @param {Iterable<ThreadUnread>} threads
 * @param {{now?: number, label?: string}} [options]
 * @returns {Required<Omit<Totals, 'evaluated_at'>>} */
export function totalsOf(channels, threads, options = {}) {
  const { now = Date.now(), label } = options;
  const t = {
    unread: 0, mentions: 0, unread_channels: 0, thread_unread: 0, thread_mentions: 0, unread_threads: 0, badge: 0, flagged: 0,
    archived: { unread_channels: 0, mentions: 0 },
  };
  /** @type {Map<string, Level>} the channels that count, with their levels */
  const counted = new Map();
  for (const c of channels) {
    if (c.member === false || (label !== undefined && !c.labels?.includes(label))) continue;
    const toSee = c.unread > 0 || c.flagged;
    if (c.archived) {
      if (toSee) t.archived.unread_channels++;
      t.archived.mentions += c.mentions;
      continue;
    }
    if (c.flagged) t.flagged++;
    const level = levelAt(c, now);
    if (level === 'NONE') continue;
    counted.set(c.channel_id, level);
    t.unread += c.unread;
    t.mentions += c.mentions;
    if (toSee) t.unread_channels++;
    t.badge += (level === 'MENTIONS' ? c.mentions : c.unread) || (c.flagged ? 1 : 0);
  }
  for (const r of threads) {
    const level = counted.get(r.channel_id);
    if (!level || r.followed === false) continue;
    t.thread_unread += r.unread;
    t.thread_mentions += r.mentions;
    if (r.unread > 0) t.unread_threads++;
    t.badge += level === 'MENTIONS' ? r.mentions : r.unread;
  }
  return t;
}
