import { Backoff } from './backoff.js';
import { TidemarkError } from './error.js';
import { Inbox, threadKey } from './inbox.js';
import { Observable } from './observable.js';
import { Outbox } from './outbox.js';
import { tell } from './tell.js';

/** @typedef {import('./index.js').Frame} Frame */
/** @typedef {import('./index.js').ClientOptions} ClientOptions */
/** @typedef {import('./index.js').ConnectionState} ConnectionState */
/** @typedef {import('./index.js').SocketLike} SocketLike */

const OPEN = 1; // WebSocket.OPEN, also of constructors that do not have the constant

/** Too many frames or connections: the close code after which a client must wait longer, and the
 * least bound of that wait. */
const TOO_MANY = 4429;
const TOO_MANY_WAIT = 4_000;

/**
 * One device of one user, connected to a gateway.
 *
 * The client stays connected: when the connection ends, it reconnects after a growing wait
 * (Backoff) and restores the focus. Every connection begins with a snapshot, so the client misses
 * nothing. Commands without an answer are sent again on the next connection. That is safe because
 * all commands are idempotent. Commands are sent no faster than the gateway accepts them (Outbox).
 */
export class TidemarkClient {
  /** @type {Outbox} */ #outbox;
  /** @type {Map<string, Set<(frame: any) => void>>} */ #handlers = new Map();
  /** @type {Map<string, {channel_id: string, thread_id?: string}>} */ #focused = new Map();
  /** @type {Map<string, number>} */ #heads = new Map();
  /** @type {SocketLike | undefined} */ #socket;
  /** @type {any} */ #retry;
  /** @type {any} */ #watchdog;
  #attempt = 0; // of connecting; an older attempt that still waits for its token gives up
  #hidden = false;
  #wanted = false;
  /** @type {() => void} */ #unwatch = () => {};

  /** @param {ClientOptions} [options] */
  constructor(options = {}) {
    this.options = {
      commandTimeout: 30_000, quietTimeout: 60_000, answerTimeout: 10_000, maxPending: 1000, ...options,
    };
    this.backoff = new Backoff(options.backoff);
    this.#outbox = new Outbox(this.options);
    /** The state of the connection. @type {Observable<ConnectionState>} */
    this.state = new Observable(/** @type {ConnectionState} */ ('closed'));
    /** The user's inbox. It stays while there is no connection: then it is old, which `state`
     * shows.
     * @type {Observable<Inbox>} */
    this.inbox = new Observable(new Inbox());
    /** The number for a launcher icon: the badge of the totals. `undefined` until the first
     * snapshot: `subscribe` calls no listener before that, so no listener paints a false zero.
     * @type {Observable<number | undefined, number>} */
    this.badge = new Observable(/** @type {number | undefined} */ (undefined));
    this.inbox.listen((i) => this.badge.set(i.badge));
    /** The id of the user, from the gateway. */
    this.userId = '';
    /** The name of this connection, from the gateway: changes that this device caused carry it. */
    this.instanceId = '';
  }

  /** Connects, and stays connected until close. Further calls do nothing.
   * @throws {TidemarkError} `unsupported` where there is no WebSocket: Node before 22 without `options.WebSocket`. */
  connect() {
    if (this.#wanted) return;
    if (!this.#Socket) throw new TidemarkError('unsupported', 'there is no WebSocket here (Node has one from 22 on): pass a constructor as options.WebSocket');
    this.#wanted = true;
    this.#watchPage();
    void this.#open();
  }

  /** Ends the connection. Commands without an answer fail. The inbox stays readable. */
  close() {
    this.#wanted = false;
    this.#unwatch();
    this.#drop();
    this.state.set('closed');
    this.#outbox.end();
  }

  /** Calls `fn` with each frame of a type, `*` for all. The returned function ends that.
   * @param {string} type
   * @param {(frame: any) => void} fn
   * @returns {() => void} */
  on(type, fn) {
    const set = this.#handlers.get(type) ?? new Set();
    this.#handlers.set(type, set.add(fn));
    return () => { set.delete(fn); };
  }

  /** The user looks at a channel or thread: the gateway marks new messages there read. The focus
   * outlasts reconnects, and pauses while the page is hidden.
   * @param {string} channelId
   * @param {string} [threadId] */
  focus(channelId, threadId) {
    const scope = scopeOf(channelId, threadId);
    this.#focused.set(JSON.stringify(scope), scope);
    if (!this.#hidden) this.#outbox.say({ type: 'channel.focus', ...scope });
  }

  /** The user no longer looks at a channel or thread.
   * @param {string} channelId
   * @param {string} [threadId] */
  blur(channelId, threadId) {
    const scope = scopeOf(channelId, threadId);
    if (this.#focused.delete(JSON.stringify(scope)) && !this.#hidden) this.#outbox.say({ type: 'channel.blur', ...scope });
  }

  /** Reads a channel, or a thread, up to a message.
   * @param {string} channelId
   * @param {string} messageId
   * @param {{threadId?: string, private?: boolean, withThreads?: boolean}} [options] private: it is not shown to others;
   *   withThreads: the channel and all of its threads */
  markRead(channelId, messageId, options = {}) {
    return this.send({
      type: 'mark_read', ...scopeOf(channelId, options.threadId), message_id: messageId, ...(options.private && { private: true }),
      ...(options.withThreads && { with_threads: true }),
    });
  }

  /** Reads, with one command each, the channels that have unread messages or a flag, including
   * muted and archived ones. Each command names the channel's epoch, so that a mark that is made
   * meanwhile wins, however long the command waits. It names a seq, because an id that was used
   * again after 90 days names another message. A truncated snapshot lacks channels, which this call
   * then misses: `MarkAllRead` of the ingest service reads all.
   * @param {{label?: string, threads?: boolean}} [options] label: of the channels that have it; threads: their threads too,
   *   and channels with a followed thread that has something unread
   * @returns {Promise<any[]>} the answers */
  markAllRead(options = {}) {
    const { label, threads = false } = options;
    const { value } = this.inbox;
    /** @type {Map<string, import('./index.js').ThreadUnread[]>} */
    const followed = new Map();
    for (const t of threads ? value.threads.values() : []) followed.set(t.channel_id, [...followed.get(t.channel_id) ?? [], t]);
    const asked = [];
    for (const c of value.channels.values()) {
      if (label !== undefined && !c.labels?.includes(label)) continue;
      const its = followed.get(c.channel_id) ?? [];
      if (!(c.unread || c.flagged || its.some((t) => t.unread))) continue;
      const seq = Math.max(...[c.latest, lastUnread(c), c.last_read, ...its.map((t) => t.last_reply)].map((m) => m?.seq ?? 0));
      if (seq) asked.push(this.send({
        type: 'mark_read', channel_id: c.channel_id, seq, ...(c.read_epoch && { read_epoch: c.read_epoch }),
        ...(threads && { with_threads: true }),
      }));
      else if (c.flagged) asked.push(this.flag(c.channel_id, false)); // no message can be read
    }
    return Promise.all(asked);
  }

  /** Makes a message, and all later ones, unread again. The command names the head that the user
   * knew, so that messages on their way count as later ones.
   * @param {string} channelId
   * @param {string} messageId
   * @param {{threadId?: string, headSeq?: number}} [options] */
  markUnread(channelId, messageId, options = {}) {
    const head = options.headSeq ?? this.#head(channelId, options.threadId);
    return this.send({
      type: 'mark_unread', ...scopeOf(channelId, options.threadId), message_id: messageId, ...(head > 0 && { head_seq: head }),
    });
  }

  /** The newest message that this device knows, from a message, a count or a snapshot. A mark with
   * a lower head would lose against the user's own posts in between.
   * @param {string} channelId
   * @param {string} [threadId] */
  #head(channelId, threadId = '') {
    const { channels, threads } = this.inbox.value;
    return Math.max(
      this.#heads.get(channelId) ?? 0,
      channels.get(channelId)?.latest?.seq ?? 0,
      threads.get(threadKey({ channel_id: channelId, thread_id: threadId }))?.last_reply?.seq ?? 0,
    );
  }

  /** Reads single messages; earlier ones stay unread.
   * @param {string} channelId
   * @param {string[]} messageIds */
  messagesRead(channelId, messageIds) {
    return this.send({ type: 'messages_read', channel_id: channelId, message_ids: messageIds });
  }

  /** @param {string} channelId
   * @param {string} threadId */
  followThread(channelId, threadId) { return this.send({ type: 'thread.follow', channel_id: channelId, thread_id: threadId }); }

  /** @param {string} channelId
   * @param {string} threadId */
  unfollowThread(channelId, threadId) { return this.send({ type: 'thread.unfollow', channel_id: channelId, thread_id: threadId }); }

  /** @param {string} channelId
   * @param {boolean} muted */
  mute(channelId, muted) { return this.send({ type: 'channel.mute', channel_id: channelId, muted }); }

  /** Sets how a channel enters the badge, permanently or until a time.
   * @param {string} channelId
   * @param {import('./index.js').Level} level
   * @param {{until?: Date, ignoreMentionAll?: boolean}} [options] ignoreMentionAll: as it was, if it is not said */
  notify(channelId, level, options = {}) {
    const { until, ignoreMentionAll } = options;
    return this.send({
      type: 'channel.notify', channel_id: channelId, level, ...(until && { until: until.toISOString() }),
      ...(ignoreMentionAll !== undefined && { ignore_mention_all: ignoreMentionAll }),
    });
  }

  /** Flags a channel, whatever is unread in it, or removes the flag. The command names the head
   * that this device knew.
   * @param {string} channelId
   * @param {boolean} flagged
   * @param {{headSeq?: number}} [options] */
  flag(channelId, flagged, options = {}) {
    const { headSeq = this.#head(channelId) } = options;
    return this.send({ type: 'channel.flag', channel_id: channelId, flagged, ...(headSeq > 0 && { head_seq: headSeq }) });
  }

  /** Archives a channel until its next message, with `keep` permanently, or restores it.
   * @param {string} channelId
   * @param {boolean} archived
   * @param {{keep?: boolean, headSeq?: number}} [options] */
  file(channelId, archived, options = {}) {
    const { keep = false, headSeq = this.#head(channelId) } = options;
    return this.send({ type: 'channel.file', channel_id: channelId, archived, ...(keep && { keep }), ...(headSeq > 0 && { head_seq: headSeq }) });
  }

  /** Removes messages from this user's numbers permanently; other users keep them.
   * @param {string} channelId
   * @param {string[]} messageIds */
  hide(channelId, messageIds) { return this.send({ type: 'message.hide', channel_id: channelId, message_ids: messageIds }); }

  /** Does the same for all messages up to one: the channel is cleared for this user.
   * @param {string} channelId
   * @param {number} seq */
  hideUpTo(channelId, seq) { return this.send({ type: 'message.hide', channel_id: channelId, up_to_seq: seq }); }

  /** Reports that the user has played or opened messages.
   * @param {string} channelId
   * @param {string[]} messageIds */
  viewed(channelId, messageIds) { return this.send({ type: 'message.viewed', channel_id: channelId, message_ids: messageIds }); }

  /** Sets the user's line in a channel; no count depends on it.
   * @param {string} channelId
   * @param {string | number} at a message's id, or a seq */
  setLine(channelId, at) {
    return this.send({ type: 'line.set', channel_id: channelId, ...(typeof at === 'number' ? { seq: at } : { message_id: at }) });
  }

  /** Replaces the user's own labels of a channel: folders, sections, pins.
   * @param {string} channelId
   * @param {string[]} labels */
  setLabels(channelId, labels) { return this.send({ type: 'labels.set', channel_id: channelId, labels }); }

  /** Requests the pointers of all members of a channel.
   * @param {string} channelId */
  readState(channelId) { return this.send({ type: 'read_state', channel_id: channelId }); }

  /** Requests a new snapshot, which replaces everything.
   * @param {number} [shown] the badge that is shown, for the gateway to count whether it is the one that it told */
  sync(shown) { return this.send({ type: 'sync', shown }); }

  /** Sends a command and waits for its answer: an `ack`, or the requested frame. Without a
   * connection it is sent on the next one; if many commands wait, when it is its turn.
   * @param {Frame} frame
   * @returns {Promise<any>} */
  send(frame) { return this.#outbox.ask(frame); }

  // A connection

  get #Socket() { return /** @type {any} */ (this.options.WebSocket ?? globalThis.WebSocket); }

  async #open() {
    clearTimeout(this.#retry);
    const attempt = ++this.#attempt;
    this.state.set('connecting');
    this.#watch(this.options.answerTimeout); // also bounds a token that never comes, and a connection that never opens
    try {
      const { url, protocols } = await this.#address();
      if (attempt !== this.#attempt || !this.#wanted) return;
      const socket = /** @type {SocketLike} */ (new this.#Socket(url, protocols));
      this.#socket = socket;
      socket.onmessage = (e) => { if (socket === this.#socket) this.#receive(e.data); };
      socket.onclose = (e) => { if (socket === this.#socket) this.#lost(e.code ?? 1006, e.reason ?? ''); };
      socket.onerror = () => {}; // a close event follows, with more details
      this.#watch(this.options.answerTimeout); // start again, because the token is there
    } catch (err) {
      if (attempt !== this.#attempt || !this.#wanted) return;
      this.#lost(0, err instanceof Error ? err.message : String(err));
    }
  }

  async #address() {
    const o = this.options;
    const url = new URL(o.url ?? '/v1/socket', globalThis.location?.href ?? 'http://127.0.0.1:8080');
    url.protocol = url.protocol.replace(/^http/, 'ws');
    if (o.userId) url.searchParams.set('user_id', o.userId);
    const token = typeof o.token === 'function' ? await o.token() : o.token; // a new one each time, because the last may have expired
    return { url: url.href, protocols: token ? ['tidemark.v1', `tidemark.bearer.${token}`] : [] } /* the gateway answers with the first, and the token stays out of its answer */;
  }

  /** @param {number} code
   * @param {string} reason */
  #lost(code, reason) {
    this.#drop();
    if (!this.#wanted) return;
    const wait = this.backoff.next(code === TOO_MANY ? TOO_MANY_WAIT : 0);
    this.#emit({ type: 'disconnected', code, reason, retry_in: Math.round(wait) });
    this.state.set('waiting');
    this.#retry = setTimeout(() => void this.#open(), wait);
  }

  /** Releases the socket, whatever its state. */
  #drop() {
    this.#attempt++;
    clearTimeout(this.#retry);
    clearTimeout(this.#watchdog);
    this.#outbox.close();
    const socket = this.#socket;
    this.#socket = undefined;
    if (socket) socket.close(1000);
  }

  /** Writes a frame. Returns whether the connection accepted it.
   * @param {string} text */
  #write(text) {
    if (this.#socket?.readyState !== OPEN) return false;
    this.#socket.send(text);
    return true;
  }

  /** Pings a silent connection, and gives up one that does not answer. Otherwise a cut cable would
   * leave old numbers on the screen for ever.
   * @param {number} answerWithin milliseconds, 0: not asked yet */
  #watch(answerWithin = 0) {
    clearTimeout(this.#watchdog);
    this.#watchdog = answerWithin
      ? setTimeout(() => this.#lost(1006, `no answer within ${answerWithin} ms`), answerWithin)
      : setTimeout(() => {
        this.sync().catch(() => {});
        this.#watch(this.options.answerTimeout);
      }, this.options.quietTimeout);
  }

  /** @param {unknown} data */
  #receive(data) {
    /** @type {any} */
    let frame;
    try {
      frame = JSON.parse(String(data));
    } catch {
      return this.#lost(1003, 'a frame is no JSON');
    }
    if (frame === null || typeof frame !== 'object' || Array.isArray(frame)) return this.#lost(1003, 'a frame is no JSON object');
    this.#watch();
    this.#apply(frame);
    this.#emit(frame);
    return undefined;
  }

  /** @param {Frame & Record<string, any>} frame */
  #apply(frame) {
    switch (frame.type) {
      case 'hello':
        this.userId = frame.user_id;
        this.instanceId = frame.instance_id;
        this.#outbox.open((text) => this.#write(text), this.#hidden ? [] : this.#scopes('channel.focus'), frame.limits);
        this.state.set('open');
        break;
      case 'inbox':
        this.backoff.reset(); // not at the hello: otherwise clients would soon retry a gateway that accepts connections and then fails
        this.inbox.set(Inbox.of(/** @type {any} */ (frame)));
        break;
      case 'unread.updated': {
        const { type: _, ...update } = frame;
        this.inbox.set(this.inbox.value.with(/** @type {any} */ (update)));
        break;
      }
      case 'message.new':
        this.#heads.set(frame.channel_id, Math.max(frame.seq, this.#heads.get(frame.channel_id) ?? 0));
        break;
      default:
    }
    if (frame.id !== undefined || frame.type === 'error') this.#outbox.answered(frame);
  }

  /** A frame for each focused channel or thread.
   * @param {string} type
   * @returns {Frame[]} */
  #scopes(type) { return [...this.#focused.values()].map((scope) => ({ type, ...scope })); }

  /** @param {Frame} frame */
  #emit(frame) {
    for (const type of [frame.type, '*']) for (const fn of [...(this.#handlers.get(type) ?? [])]) tell(fn, frame);
  }

  // The page

  /** Follows the visibility of the page, if there is one: a hidden page reads nothing, and a page
   * that becomes visible checks its connection. */
  #watchPage() {
    const page = this.options.page === undefined ? globalThis.document : this.options.page;
    if (!page) return;
    const visible = () => this.#show(page.visibilityState !== 'hidden');
    const online = () => { if (this.state.value === 'waiting') void this.#open(); };
    page.addEventListener('visibilitychange', visible);
    globalThis.addEventListener?.('online', online);
    this.#unwatch = () => {
      page.removeEventListener('visibilitychange', visible);
      globalThis.removeEventListener?.('online', online);
    };
    visible();
  }

  /** @param {boolean} visible */
  #show(visible) {
    if (visible !== this.#hidden) return;
    this.#hidden = !visible;
    for (const frame of this.#scopes(visible ? 'channel.focus' : 'channel.blur')) this.#outbox.say(frame);
    if (visible && this.state.value === 'waiting') void this.#open();
    else if (visible && this.state.value === 'open') this.sync().catch(() => {});
  }
}

/** @param {string} channelId
 * @param {string} [threadId]
 * @returns {{channel_id: string, thread_id?: string}} */
const scopeOf = (channelId, threadId) => ({ channel_id: channelId, ...(threadId && { thread_id: threadId }) });

/** The newest unread message of a channel in which only seeded messages are live: `first_unread`
 * and the ones after it. If some of them were deleted, it is an earlier message, never a later one.
 * @param {import('./index.js').ChannelUnread} c
 * @returns {{seq: number} | undefined} */
const lastUnread = (c) => (!c.latest && c.unread > 0 && c.first_unread ? { seq: c.first_unread.seq + c.unread - 1 } : undefined);
