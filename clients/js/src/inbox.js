import { dominates } from './stamp.js';
import { totalsOf } from './totals.js';

/** @typedef {import('./index.js').ChannelUnread} ChannelUnread */
/** @typedef {import('./index.js').ThreadUnread} ThreadUnread */
/** @typedef {import('./index.js').Totals} Totals */

/** @type {Totals} */
export const NO_TOTALS = Object.freeze({ unread: 0, mentions: 0, unread_channels: 0, thread_unread: 0, thread_mentions: 0 });

/** Orders channels as GetInbox does: those with unread messages or a flag first, then by newest
 * activity, then by id.
 * @param {ChannelUnread} a
 * @param {ChannelUnread} b */
export function byActivity(a, b) {
  const unread = Number(b.unread > 0 || b.flagged || false) - Number(a.unread > 0 || a.flagged || false);
  if (unread) return unread;
  const at = time(b.latest?.at) - time(a.latest?.at);
  return at || (a.channel_id < b.channel_id ? -1 : Number(a.channel_id > b.channel_id));
}

/** @param {string | undefined} text */
const time = (text) => (text ? Date.parse(text) : 0);

/**
 * What one user sees, as far as the gateway has sent it. An Inbox is immutable: applying a frame
 * returns a new one, so every holder has a consistent picture.
 *
 * A snapshot replaces everything. An update replaces one channel or thread, unless the current
 * value carries a stamp that dominates the update's and differs: then the update is older, and
 * nothing changes.
 */
export class Inbox {
  /**
   * @param {ReadonlyMap<string, ChannelUnread>} channels
   * @param {ReadonlyMap<string, ThreadUnread>} threads
   * @param {Totals} totals
   * @param {boolean} known
   */
  constructor(channels = new Map(), threads = new Map(), totals = NO_TOTALS, known = false) {
    this.channels = channels;
    this.threads = threads;
    this.totals = totals;
    /** False until the first snapshot: then nothing is known, and a missing count is not zero. */
    this.known = known;
  }

  /** The number for a launcher icon, as the gateway counts it; `undefined` until the first
   * snapshot.
   * @returns {number | undefined} */
  get badge() { return this.known ? this.totals.badge ?? this.totals.unread + this.totals.thread_unread : undefined; }

  /** The channels in the order of a channel list, without archived ones. */
  get sorted() { return [...this.channels.values()].filter((c) => !c.archived).sort(byActivity); }

  /** The archived channels, in the same order. */
  get archived() { return [...this.channels.values()].filter((c) => c.archived).sort(byActivity); }

  /** All labels, each with the totals of its channels, at one time. A truncated snapshot lacks
   * channels, and so do these totals.
   * @param {number} [now]
   * @returns {Map<string, ReturnType<typeof totalsOf>>} */
  byLabel(now = Date.now()) {
    const labels = new Set([...this.channels.values()].flatMap((c) => c.labels ?? []));
    return new Map([...labels].sort().map((label) => [label, totalsOf(this.channels.values(), this.threads.values(), { now, label })]));
  }

  /** The inbox of a snapshot.
   * @param {{channels?: ChannelUnread[], threads?: ThreadUnread[], totals?: Totals}} frame */
  static of(frame) {
    return new Inbox(
      new Map((frame.channels ?? []).map((c) => [c.channel_id, c])),
      new Map((frame.threads ?? []).map((t) => [threadKey(t), t])),
      frame.totals ?? NO_TOTALS,
      true,
    );
  }

  /** This inbox with one channel or thread replaced; the same inbox if the update is older. Before
   * the first snapshot nothing can be updated.
   * @param {(ChannelUnread | ThreadUnread) & {totals?: Totals}} update
   * @returns {Inbox} */
  with(update) {
    if (!this.known) return this;
    const { totals = this.totals, ...entry } = update;
    const thread = 'thread_id' in entry && Boolean(entry.thread_id);
    const key = thread ? threadKey(/** @type {ThreadUnread} */ (entry)) : entry.channel_id;
    const here = /** @type {ReadonlyMap<string, ChannelUnread | ThreadUnread>} */ (thread ? this.threads : this.channels);
    const was = here.get(key);
    if (was?.stamp && entry.stamp && was.stamp !== entry.stamp && dominates(was.stamp, entry.stamp)) return this;
    const next = new Map(here);
    const gone = thread ? /** @type {ThreadUnread} */ (entry).followed === false : /** @type {ChannelUnread} */ (entry).member === false;
    if (gone) next.delete(key);
    else next.set(key, entry);
    return thread
      ? new Inbox(this.channels, /** @type {Map<string, ThreadUnread>} */ (next), totals, true)
      : new Inbox(/** @type {Map<string, ChannelUnread>} */ (next), this.threads, totals, true);
  }
}

/** The key of a thread in `threads`.
 * @param {{channel_id: string, thread_id: string}} t */
export const threadKey = (t) => `${t.channel_id}\0${t.thread_id}`;
