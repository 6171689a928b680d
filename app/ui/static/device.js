// One device of one user: the connection, what is open on it, and what it knows of other users'
// reading.

import { TidemarkClient } from '/ui/client/index.js';
import { currentToken, markAllRead, publish, query } from '/ui/api.js';
import { announce } from '/ui/dom.js';
import { Layer } from '/ui/layers.js';
import { explainOutage } from '/ui/outage.js';
import { among, calls, channelName, isDirect, title } from '/ui/words.js';

let posts = 0;
const run = Date.now().toString(36);

/** The largest number of members for which a channel has ticks at its messages (DESIGN §2: the
 * receipt limit). */
export const SMALL = 50;

export class Device {
  selected = '';
  pane = 'list'; // the pane that a narrow device shows: list or messages
  group = ''; // the label whose channels are listed; empty: all
  shelf = false; // the archive is listed instead
  panel = ''; // '', 'threads', or the id of the open thread
  line = ''; // id of the message below the unread line
  lineCount = 0;
  threadLine = ''; // the same in the open thread
  threadCount = 0;
  #kept; // the channel or thread that was marked unread here: it stays unread until it is opened again
  atBottom = true;
  draft = '';
  readers = new Map(); // by channel, by user: {message_id, seq, at}
  delivered = new Map();
  viewed = new Map(); // by message: the users who have played it
  threads = [];
  error = '';
  away; // {why, says} from a disconnect until the next inbox: the reason, and the node's own message
  #outages = 0;
  jump = ''; // id of the message to scroll to when it is drawn
  online = true;
  attentive = false; // the user is looking at its messages
  visible = false; // its messages are visible on the screen
  #messages = new Layer(() => this.showList()); // on a narrow device the messages cover the channel list
  #side = new Layer(() => this.closePanel());
  #before = []; // channels that were left for another one, where both panes are visible: Back returns to them

  /** @param {{id: string, user: string, kind: string}} who */
  constructor(app, who) {
    this.app = app;
    Object.assign(this, who);
    this.client = new TidemarkClient({ userId: this.user, token: currentToken });
    const redraw = () => app.redraw();
    this.client.state.listen(redraw);
    this.client.inbox.listen(() => { this.#follow(); redraw(); });
    this.client.on('unread.updated', (f) => app.timed(f));
    this.client.on('message.new', (m) => this.#news(m));
    this.client.on('receipt.read', (f) => this.#receipts(this.readers, f));
    this.client.on('receipt.delivered', (f) => this.#receipts(this.delivered, f));
    this.client.on('receipt.viewed', (f) => {
      for (const r of f.readers) this.heard(r, r.user_id);
    });
    this.client.on('disconnected', (f) => this.#lost(f));
    this.client.on('inbox', () => this.#back());
    this.client.connect();
  }

  get inbox() { return this.client.inbox.value; }
  get channel() { return this.inbox.channels.get(this.selected); }
  get connected() { return this.online && !this.away && this.client.state.value === 'open'; }
  get active() { return this.app.active === this; }

  /** The channels in the list. */
  get listed() {
    return this.shelf ? this.archived : this.inbox.sorted.filter((c) => this.#inGroup(c));
  }

  /** The archived channels of the chosen group. */
  get archived() { return this.inbox.archived.filter((c) => this.#inGroup(c)); }

  #inGroup(c) { return !this.group || Boolean(c.labels?.includes(this.group)); }

  /** Whether there is anything to mark read, in the badge or not. */
  get anything() {
    const { channels, threads } = this.inbox;
    return [...channels.values()].some((c) => c.unread || c.flagged) || [...threads.values()].some((t) => t.unread);
  }

  showGroup(label) {
    this.group = label;
    this.app.redraw();
  }

  showShelf(open) {
    this.shelf = open;
    this.app.redraw();
    setTimeout(() => document.querySelector(`#${this.id} .shelf`)?.focus(), 150); // another button is there now
  }

  setOnline(online) {
    this.online = online;
    if (online) this.client.connect();
    else {
      this.client.close();
      this.#outages++;
      this.away = undefined;
    }
    announce(`${title(this.user)}'s ${this.kind} is ${online ? 'online' : 'offline'}`);
    this.app.redraw();
  }

  close() {
    this.client.close();
    this.#messages.closed();
    this.#side.closed();
    for (const layer of this.#before.splice(0).reverse()) layer.closed();
  }

  #lost(frame) {
    const outage = ++this.#outages;
    void explainOutage(frame, Boolean(this.away), (why, says) => {
      if (outage !== this.#outages) return;
      // Devices share these words, so they are announced once. Later changes of the node's message
      // are not announced.
      if (why !== this.away?.why || (says && !this.away.says)) announce(`${why}${says && ` The node says: ${says}`}`);
      this.away = { why, says };
      this.app.redraw();
    });
    this.app.redraw();
  }

  #back() {
    this.#outages++;
    this.app.stopped = ''; // an inbox needs all partitions
    if (this.away) announce(`${title(this.user)}'s ${this.kind} is connected again`);
    this.away = undefined;
  }

  // Reading

  /** Opens a channel: the unread line is put where reading had stopped, and stays there. `back`:
   * Back returned to it. */
  open(id, back = false) {
    const was = this.selected;
    if (id !== was) this.blur();
    this.selected = id;
    const covered = this.showMessages();
    this.panel = '';
    this.#side.closed();
    if (was && id !== was && !covered && !back) this.#returnable(was);
    this.#kept = undefined;
    this.attentive = this.active;
    this.error = '';
    const c = this.channel;
    this.line = c?.unread ? c.first_unread?.message_id ?? '' : '';
    this.lineCount = c?.unread ?? 0;
    this.atBottom = !this.line; // with a line, nothing is read before the end is known to be visible as well
    this.jump = this.line || 'end';
    this.app.messages.channel(id);
    void this.loadReaders(id);
    this.look();
    this.app.redraw();
  }

  /** Opens a thread at its first unread reply. */
  openThread(id) {
    this.blur();
    this.panel = id;
    this.#side.opened();
    const t = this.threadEntry(id);
    this.threadLine = t?.unread ? t.first_unread?.message_id ?? '' : '';
    this.threadCount = t?.unread ?? 0;
    if (this.kept) this.#kept = undefined;
    this.showMessages();
    this.look();
    this.app.redraw();
  }

  /** Lists the threads that the user follows. */
  openThreads() {
    this.blur();
    this.panel = 'threads';
    this.#side.opened();
    this.showMessages();
    void this.loadThreads();
    this.app.redraw();
  }

  closePanel() {
    this.blur();
    this.panel = '';
    this.#side.closed();
    this.look();
    this.app.redraw();
  }

  /** Makes Back return to a channel. */
  #returnable(id) {
    const layer = new Layer(() => {
      this.#before.splice(this.#before.indexOf(layer), 1);
      this.open(id, true);
    }, true);
    this.#before.push(layer);
    layer.opened();
  }

  /** Shows the messages. On a narrow device they cover its list; returns whether this device is
   * narrow. */
  showMessages() {
    const list = document.querySelector(`#${this.id} .channels`);
    const narrow = this.pane === 'list' && list && list.offsetWidth === list.parentElement.offsetWidth;
    if (narrow) this.#messages.opened();
    this.pane = 'messages';
    return narrow;
  }

  /** Shows the channel list again, if it was covered. */
  showList() {
    this.blur();
    this.pane = 'list';
    this.#messages.closed();
    this.app.redraw();
  }

  /** Whether what is open was marked unread here and must stay so. */
  get kept() { return Boolean(this.#kept) && this.#kept.thread === this.thread; }

  get thread() { return this.panel && this.panel !== 'threads' ? this.panel : undefined; }

  /** Marks the visible messages read if the user is looking: this device is in use, the page is
   * visible, the end of the messages is on the screen, and nothing was marked unread here. */
  look() {
    if (!this.selected || this.panel === 'threads') return;
    const looks = this.active && this.attentive && this.online && this.visible && !this.kept && (this.thread || this.atBottom) && document.visibilityState === 'visible';
    if (!looks) {
      this.blur();
      return;
    }
    const focus = JSON.stringify([this.selected, this.thread]);
    if (this.focused !== focus) {
      this.blur();
      this.focused = focus;
      this.client.focus(this.selected, this.thread);
    }
    this.#readHere();
  }

  blur() {
    if (!this.focused) return;
    this.client.blur(...JSON.parse(this.focused).map((x) => x ?? undefined));
    this.focused = '';
  }

  /** Reads up to the newest message that is drawn. */
  #readHere() {
    const scope = this.thread ? this.threadEntry(this.thread) : this.channel;
    const newest = this.newest();
    if (!scope?.unread || !newest || this.asked === `${this.selected} ${this.thread} ${newest.message_id}`) return;
    this.asked = `${this.selected} ${this.thread} ${newest.message_id}`;
    this.run(this.client.markRead(this.selected, newest.message_id, { threadId: this.thread }));
  }

  newest() {
    const shown = this.app.messages.channel(this.selected).messages
      .filter((m) => (this.thread ? m.thread_id === this.thread : !m.thread_id || m.broadcast) && !this.hides(m));
    return shown.at(-1);
  }

  /** Whether a message is hidden from this user. */
  hides(message) { return this.app.hidden.has(this.user, this.selected, message); }

  threadEntry(id) {
    return this.inbox.threads.get(`${this.selected}\0${id}`) ?? this.threads.find((t) => t.thread_id === id && t.channel_id === this.selected);
  }

  /** Keeps what is open unread, although the user looks at it, until it is opened again. */
  keepUnread() {
    this.blur();
    this.#kept = { thread: this.thread, seen: false };
    this.asked = '';
  }

  markUnread(message) {
    this.keepUnread();
    if (!this.thread) this.line = message.message_id;
    this.lineCount = 0;
    announce(`Unread from here: ${message.preview}`);
    this.run(this.client.markUnread(this.selected, message.message_id, { threadId: this.thread }));
    this.app.redraw();
  }

  /** Marks all of this channel read, at the user's request. */
  markRead() {
    this.#kept = undefined;
    this.atBottom = true;
    this.line = '';
    this.jump = 'end';
    this.asked = '';
    const newest = this.newest();
    if (newest) this.run(this.client.markRead(this.selected, newest.message_id, { threadId: this.thread }));
    else if (this.channel?.flagged) this.run(this.client.flag(this.selected, false));
    this.look();
    this.app.redraw();
  }

  /** @param {{label?: string, threads?: boolean}} options */
  markAllRead({ label, threads }) {
    this.#kept = undefined;
    const options = { ...(label && { label }), ...(threads && { threads }) };
    this.run(markAllRead(this.user, options, this.inbox.sorted, [...this.inbox.threads.values(), ...this.threads]));
    announce(`${label ? `All of ${label}` : 'Everything'} is marked read`);
  }

  jumpToOldest() {
    const first = this.channel?.first_unread;
    this.line = first?.message_id || this.line;
    this.jump = this.line;
    this.app.redraw();
  }

  /** Scrolls to the first message that mentions this user. The frames of a large channel do not
   * name it. */
  async jumpToMention() {
    const first = this.channel?.first_mention ?? (await this.run(query('GetUnread', { user_id: this.user, channel_id: this.selected })))?.first_mention;
    if (first?.message_id) this.jumpTo(first.message_id);
  }

  jumpTo(id) {
    this.atBottom = false;
    this.jump = id;
    this.app.redraw();
  }

  mute(id, muted) {
    this.run(this.client.mute(id, muted));
    announce(`${channelName(id, this.user)} is ${muted ? 'muted' : 'not muted any more'}`);
  }

  follow(thread, follows) {
    this.run((follows ? this.client.followThread(this.selected, thread) : this.client.unfollowThread(this.selected, thread)).then(() => this.loadThreads()));
  }

  // Writing

  /** Posts a message; returns whether it was written. An error is shown in the pane. */
  async post(text, thread) {
    const members = this.app.messages.channel(this.selected).members;
    const called = new Set(calls(text, among(members)).map((part) => part.user).filter(Boolean));
    const everybody = ['all', 'channel'].some((word) => called.delete(word));
    const id = `${this.user}-${run}-${++posts}`;
    this.#kept = undefined;
    this.line = '';
    this.jump = thread ? '' : 'end';
    this.app.clock(id);
    const written = await this.run(publish({
      message: {
        channel_id: this.selected,
        message_posted: {
          message_id: id, sender_id: this.user, preview: text, ...(called.size && { mentions: [...called] }),
          ...(everybody && { mention_all: true }), ...(thread && { thread_id: thread }),
        },
      },
    }));
    this.look();
    return written !== undefined;
  }

  erase(message) {
    this.run(publish({ message: { channel_id: this.selected, message_deleted: { message_id: message.message_id } } }));
  }

  // What comes in

  #news(m) {
    const { messages } = this.app;
    const c = messages.channel(m.channel_id);
    if (c.loaded && !c.byId.has(m.message_id)) void messages.load(m.channel_id);
    if (this.active && m.sender_id !== this.user && m.channel_id !== this.selected && (isDirect(m.channel_id) || m.preview?.includes(`@${this.user}`))) {
      announce(`${title(m.sender_id)} in ${channelName(m.channel_id, this.user)}: ${m.preview}`);
    }
    const at = this.#pointers(this.readers, m.channel_id);
    if (m.sender_id && at.size) at.set(m.sender_id, { message_id: m.message_id, seq: m.seq, at: m.at }); // sending a message reads up to it
  }

  /** Somebody has played a message. */
  heard(message, user) {
    const id = message.message_id;
    this.viewed.set(id, (this.viewed.get(id) ?? new Set()).add(user));
    this.app.redraw();
  }

  /** Loads who has played a message of this user. While the device is connected, frames report
   * it. */
  async loadViewed(message) {
    this.viewed.set(message.message_id, new Set());
    const x = await query('GetReceipts', { channel_id: this.selected, message_id: message.message_id }).catch(() => undefined);
    for (const r of x?.recipients ?? []) if (r.viewed_at) this.heard(message, r.user_id);
  }

  #pointers(of, channel) {
    if (!of.has(channel)) of.set(channel, new Map());
    return of.get(channel);
  }

  #receipts(of, frame) {
    const map = this.#pointers(of, frame.channel_id);
    for (const r of frame.readers) {
      const was = map.get(r.user_id);
      if (!was || was.seq < r.seq) map.set(r.user_id, r);
    }
    this.app.redraw();
  }

  async loadReaders(channel) {
    try {
      const { readers } = await this.client.readState(channel);
      this.readers.set(channel, new Map(readers.filter((r) => r.message_id || r.seq).map((r) => [r.user_id, r])));
      this.app.redraw();
    } catch { /* the ticks stay as they are; the next opening asks again */ }
  }

  async loadThreads() {
    try {
      this.threads = (await query('GetThreads', { user_id: this.user })).threads;
    } catch (err) {
      this.threads = [];
      if (err.code !== 'unimplemented') this.error = err.message;
    }
    this.app.redraw();
  }

  /** The users who have read a message, without its sender. */
  readersOf(message) {
    return this.#beyond(this.readers, message);
  }

  deliveredTo(message) {
    return this.#beyond(this.delivered, message);
  }

  #beyond(of, message) {
    const past = (r) => r && this.app.messages.indexOf(this.selected, r.message_id) >= message.index;
    const out = new Set();
    for (const [user, r] of of.get(this.selected) ?? []) if (past(r)) out.add(user);
    // The page knows the pointers of its own users before the receipts, which are collected for two
    // seconds.
    if (of === this.readers) for (const d of this.app.devices) if (past(d.inbox.channels.get(this.selected)?.last_read)) out.add(d.user);
    out.delete(message.sender_id);
    return [...out].sort();
  }

  /** sent, delivered or read: the lowest status of all recipients. */
  statusOf(message) {
    const others = this.app.messages.channel(this.selected).members.filter((u) => u !== message.sender_id && !message.hidden_from?.includes(u));
    const read = new Set(this.readersOf(message));
    const got = new Set([...this.deliveredTo(message), ...read]);
    if (others.length && others.every((u) => read.has(u))) return 'read';
    return others.length && others.every((u) => got.has(u)) ? 'delivered' : 'sent';
  }

  /** Follows changed numbers: the line appears with the first message that arrives while nobody
   * looks. */
  #follow() {
    const [first] = this.inbox.sorted; // undefined if the user has archived all channels
    if (!this.selected && first && !this.greeted) {
      this.greeted = true; // when the page opens, the most urgent channel opens; a narrow device shows its list
      this.open(first.channel_id);
      this.showList();
    }
    const c = this.channel;
    if (!c) return;
    if (c.unread && !this.line && !this.focused) this.line = c.first_unread?.message_id ?? '';
    this.#keep();
    if (this.focused || (this.active && this.atBottom)) queueMicrotask(() => this.look());
  }

  /** A channel that was marked unread here and is read on another device need not stay unread.
   * While the mark has not yet come back as a number, a missing number proves nothing. */
  #keep() {
    if (!this.#kept) return;
    const scope = this.#kept.thread ? this.threadEntry(this.#kept.thread) : this.channel;
    if (scope?.unread || scope?.flagged) this.#kept.seen = true;
    else if (this.#kept.seen) this.#kept = undefined;
  }

  /** Awaits a promise, and shows its error in the pane. */
  async run(promise) {
    try {
      const got = await promise;
      this.error = '';
      return got;
    } catch (err) {
      if (err.code !== 'closed') this.error = err.message;
      return undefined;
    } finally {
      this.app.redraw();
    }
  }
}
