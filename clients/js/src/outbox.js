import { TidemarkError } from './error.js';
import { Pace } from './pace.js';

/** @typedef {import('./index.js').Frame} Frame */
/**
 * A frame that expects an answer.
 * @typedef {object} Entry
 * @property {Frame} frame without the id
 * @property {string} id of the last or next sending
 * @property {number} n its place in the order of the calls
 * @property {boolean} lasting it is sent again on the next connection, until it is answered
 * @property {boolean} written it was sent at least once, on any connection
 * @property {number} refusals how often it was refused because there were too many
 * @property {() => void} begun is called when it is sent for the first time
 * @property {(answer: any) => void} resolve
 * @property {(why: TidemarkError) => void} reject
 */

/** How often a frame that nobody waits for is sent again: the gateway may refuse it for another
 * reason. */
const MOST_REFUSALS = 8;

/**
 * The frames for the gateway: those that wait for their turn, and those that wait for an answer.
 * They are sent in the order of the calls, and no faster than the gateway accepts them (Pace), so
 * that a thousand commands that waited for a connection are not refused for coming at once.
 *
 * The gateway may refuse a frame all the same, because the user's other devices share the limit.
 * Then the frame is sent again, followed by all later frames about the same channel: a mark that is
 * written after the read that followed it would undo that read. The repeated frames get new ids, so
 * that the answer to the first sending is not taken for the answer to the second.
 */
export class Outbox {
  /** @type {Map<string, Entry>} all, by id */ #entries = new Map();
  /** @type {Set<Entry>} those that are not sent on this connection yet, in order */ #waiting = new Set();
  /** @type {((text: string) => boolean) | undefined} */ #write;
  /** @type {Record<string, number>} of the gateway, as it said last */ #limits = {};
  /** @type {any} */ #timer;
  #names = 0;
  #asked = 0;
  #commands = 0; // of the entries

  /** @param {{commandTimeout: number, maxPending: number}} options
   * @param {Pace} [pace] */
  constructor(options, pace = new Pace()) {
    this.options = options;
    this.pace = pace;
  }

  /** Sends a command, on this connection or on a later one, and waits for its answer.
   * @param {Frame} frame
   * @returns {Promise<any>} */
  ask(frame) {
    const { commandTimeout, maxPending } = this.options;
    if (this.#commands >= maxPending) {
      return Promise.reject(new TidemarkError('overflow', `${this.#commands} commands wait for an answer already`));
    }
    return new Promise((resolve, reject) => {
      /** @type {any} */
      let timer;
      const settle = (/** @type {(v: any) => void} */ fn) => (/** @type {any} */ v) => {
        clearTimeout(timer);
        this.#forget(entry);
        this.#commands--;
        fn(v);
      };
      const wait = () => {
        clearTimeout(timer);
        timer = setTimeout(() => {
          if (!entry.written && this.#write) wait(); // other frames come first on an open connection
          else entry.reject(new TidemarkError('timeout', `${frame.type}: no answer within ${commandTimeout} ms`));
        }, commandTimeout);
      };
      const entry = this.#entry(frame, true, wait, settle(resolve), settle(reject));
      this.#commands++;
      wait();
      this.#add(entry);
    });
  }

  /** Sends a frame on this connection only. Without a connection it does nothing.
   * @param {Frame} frame */
  say(frame) {
    if (!this.#write) return;
    const forget = () => this.#forget(entry);
    const entry = this.#entry(frame, false, () => {}, forget, forget);
    this.#add(entry);
  }

  /** A connection has opened: sends `first`, then the frames that outlast a connection.
   * @param {(text: string) => boolean} write false: it takes nothing any more
   * @param {Frame[]} first
   * @param {Record<string, number>} [limits] of the gateway */
  open(write, first, limits = {}) {
    this.close();
    this.#limits = limits;
    this.pace.allow(limits);
    this.#write = write;
    const again = inOrder([...this.#entries.values()]);
    for (const frame of first) this.say(frame);
    for (const e of again) this.#waiting.add(e);
    this.#send();
  }

  /** The connection has ended. */
  close() {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#write = undefined;
    this.#waiting.clear();
    for (const e of [...this.#entries.values()]) if (!e.lasting) this.#forget(e);
  }

  /** Ends the outbox: all commands fail. */
  end() {
    this.close();
    for (const e of [...this.#entries.values()]) e.reject(new TidemarkError('closed', `${e.frame.type}: the client was closed`));
  }

  /** Handles a frame of the gateway that answers one of these.
   * @param {Frame & Record<string, any>} answer */
  answered(answer) {
    const entry = this.#entries.get(answer.id ?? '');
    if (answer.type !== 'error') {
      this.pace.accepted();
      entry?.resolve(answer);
    } else if (answer.code === 'resource_exhausted' && !(entry && this.#isLarge(entry))) {
      this.#refused(entry);
    } else entry?.reject(new TidemarkError(answer.code, answer.message));
  }

  /** Sends a refused frame again. undefined: the frame was already sent again, or nobody waits for
   * it any more.
   * @param {Entry | undefined} entry */
  #refused(entry) {
    this.pace.refused();
    if (!entry) return;
    if (++entry.refusals > MOST_REFUSALS && !entry.lasting) {
      this.#forget(entry);
      return;
    }
    const again = inOrder([...this.#entries.values()].filter(
      (e) => !this.#waiting.has(e) && e.n >= entry.n && e.frame.channel_id === entry.frame.channel_id));
    for (const e of again) {
      this.#entries.delete(e.id);
      this.#name(e);
    }
    this.#waiting = new Set([...again, ...this.#waiting]);
    this.#send();
  }

  /** Whether a command names more messages than the gateway accepts in one command.
   * @param {Entry} entry */
  #isLarge({ frame: { message_ids: ids } }) { return Array.isArray(ids) && ids.length > (this.#limits.message_ids ?? Infinity); }

  /** @type {(frame: Frame, lasting: boolean, begun: Entry['begun'], resolve: Entry['resolve'], reject: Entry['reject']) => Entry} */
  #entry(frame, lasting, begun, resolve, reject) {
    return { frame, lasting, begun, resolve, reject, id: '', n: ++this.#asked, written: false, refusals: 0 };
  }

  /** @param {Entry} entry */
  #add(entry) {
    this.#name(entry);
    this.#waiting.add(entry);
    this.#send();
  }

  /** @param {Entry} entry */
  #name(entry) {
    entry.id = `${entry.frame.type}-${++this.#names}`;
    this.#entries.set(entry.id, entry);
  }

  /** @param {Entry} entry */
  #forget(entry) {
    this.#entries.delete(entry.id);
    this.#waiting.delete(entry);
  }

  /** Sends what may be sent now, and schedules the rest. */
  #send() {
    if (!this.#write || this.#timer !== undefined) return;
    for (const entry of this.#waiting) {
      const text = JSON.stringify({ ...entry.frame, id: entry.id });
      const most = this.#limits.frame_bytes ?? Infinity;
      if (3 * text.length > most && new TextEncoder().encode(text).length > most) {
        // The gateway would close the connection because of this frame, and so would the next one.
        this.#waiting.delete(entry);
        queueMicrotask(() => entry.reject(new TidemarkError('resource_exhausted', `${entry.frame.type}: ${text.length} characters are more than the ${most} bytes that the gateway takes in a frame`)));
        continue;
      }
      if (!this.pace.take()) {
        this.#timer = setTimeout(() => {
          this.#timer = undefined;
          this.#send();
        }, this.pace.wait());
        return;
      }
      if (!this.#write(text)) return;
      this.#waiting.delete(entry);
      if (!entry.written) entry.begun();
      entry.written = true;
    }
  }
}

/** @param {Entry[]} list */
const inOrder = (list) => list.sort((a, b) => a.n - b.n);
