// A client for servers: it publishes events to a node and reads from it, with fetch. Node, Deno and
// Bun have fetch.

import { TidemarkError } from '../src/error.js';
import { Backoff } from '../src/backoff.js';

const QUERY = 'tidemark.query.v1.QueryService';
const INGEST = 'tidemark.ingest.v1.IngestService';
/** A watch leaves a stream without data after this time: a node sends a heartbeat after 25 s. */
const QUIET = 60_000;
const LARGEST = 64 << 20;
const LASTING = ['invalid_argument', 'unauthenticated', 'permission_denied', 'unimplemented', 'not_found'];

/** The codes of answers that do not come from the API, but from a proxy or another program.
 * @type {Record<number, string>} */
const CODES = {
  400: 'invalid_argument', 401: 'unauthenticated', 403: 'permission_denied', 404: 'unimplemented', 429: 'resource_exhausted',
  502: 'unavailable', 503: 'unavailable', 504: 'unavailable',
};

/** An error that a node answered, or a call without an answer. */
export class CallError extends TidemarkError {
  /** @param {string} code
   * @param {string} message
   * @param {{retryAfter?: number, requestId?: string}} [more] retryAfter in seconds */
  constructor(code, message, more = {}) {
    super(code, message);
    this.name = 'CallError';
    this.retryAfter = more.retryAfter;
    this.requestId = more.requestId ?? '';
  }

  /** Whether the same call may work later without a change. */
  get temporary() {
    return this.code === 'unavailable' || (this.code === 'resource_exhausted' && this.retryAfter !== undefined);
  }

  /** The error of an HTTP answer that is not 200.
   * @param {number} status
   * @param {Headers} headers
   * @param {string} body */
  static of(status, headers, body) {
    const header = headers.get('retry-after');
    const seconds = header === null || header === '' ? NaN : Number(header);
    const more = { ...(Number.isFinite(seconds) && { retryAfter: seconds }), requestId: headers.get('x-request-id') ?? '' };
    /** @type {any} */
    let said;
    try { said = JSON.parse(body); } catch { /* not of the API */ }
    if (typeof said?.code === 'string') return new CallError(said.code, String(said.message ?? ''), more);
    return new CallError(CODES[status] ?? 'unknown', `HTTP ${status} without an error of the API`, more);
  }
}

/** Keeps the token with the highest offset of each topic and partition, because a node accepts at
 * most three tokens for each partition.
 * @param {Iterable<string>} [tokens]
 * @returns {string[]} */
export function latestTokens(tokens = []) {
  /** @type {Map<string, [string, number]>} */
  const kept = new Map();
  for (const token of tokens) {
    const slash = token.lastIndexOf('/');
    const where = slash < 0 ? token : token.slice(0, slash);
    const offset = /^\d+$/.test(token.slice(slash + 1)) && slash >= 0 ? Number(token.slice(slash + 1)) : -1;
    if (offset > (kept.get(where)?.[1] ?? -Infinity)) kept.set(where, [token, offset]);
  }
  return [...kept.values()].map(([token]) => token);
}

/**
 * A client of one node. Reads that the node refuses temporarily are repeated, up to `tries`
 * attempts; writes are not. `after` of a read takes the tokens that a write returned, or the
 * `as_of` of an answer: the read includes them.
 */
export class Tidemark {
  /** @param {import('./index.js').TidemarkOptions} [options] */
  constructor(options = {}) {
    const { url = 'http://127.0.0.1:8080', token, tries = 5, timeout = 15_000, quietTimeout = QUIET, fetch = globalThis.fetch } = options;
    this.url = new URL(url).href.replace(/\/+$/, '');
    this.token = token;
    this.tries = tries;
    this.timeout = timeout;
    this.quietTimeout = quietTimeout;
    this.fetch = fetch;
  }

  /** Publishes events, and returns the tokens to pass as `after`. If one event is invalid, all are
   * refused. There is one attempt only: if the answer of a successful write is lost, a second
   * attempt would apply a mark twice.
   * @param {...import('./index.js').Event} events
   * @returns {Promise<string[]>} */
  async publish(...events) { return latestTokens((await this.#once(INGEST, 'Publish', { events })).after); }

  /** Publishes that a message was posted.
   * @param {string} channelId
   * @param {import('./index.js').MessagePosted} message */
  post(channelId, message) { return this.publish({ message: { channel_id: channelId, message_posted: message } }); }

  /** @param {string} channelId
   * @param {...string} userIds */
  join(channelId, ...userIds) { return this.publish({ message: { channel_id: channelId, members_joined: { user_ids: userIds } } }); }

  /** @param {string} channelId
   * @param {...string} userIds */
  leave(channelId, ...userIds) { return this.publish({ message: { channel_id: channelId, members_left: { user_ids: userIds } } }); }

  /** Moves the pointer of a user.
   * @param {string} userId
   * @param {string} channelId
   * @param {import('./index.js').ReadUpTo} to */
  read(userId, channelId, to) { return this.publish({ read: { channel_id: channelId, user_id: userId, read_up_to: to } }); }

  /** Makes a message, and all later ones, unread again for a user.
   * @param {string} userId
   * @param {string} channelId
   * @param {import('./index.js').MarkedUnread} mark */
  markUnread(userId, channelId, mark) { return this.publish({ read: { channel_id: channelId, user_id: userId, marked_unread: mark } }); }

  /** Marks all channels of a user read, or those with a label.
   * @param {string} userId
   * @param {{label?: string, threads?: boolean, instance_id?: string, after?: string[]}} [what] */
  async markAllRead(userId, what = {}) {
    return latestTokens((await this.#once(INGEST, 'MarkAllRead', { user_id: userId, ...what, ...after(what) })).after);
  }

  /** @param {string} userId
   * @param {string} channelId
   * @param {{after?: string[]}} [options] */
  unread(userId, channelId, options = {}) { return this.query('GetUnread', { user_id: userId, channel_id: channelId, ...options }); }

  /** @param {string} userId
   * @param {object} [options] */
  inbox(userId, options = {}) { return this.query('GetInbox', { user_id: userId, ...options }); }

  /** @param {string} userId
   * @param {object} [options] */
  threads(userId, options = {}) { return this.query('GetThreads', { user_id: userId, ...options }); }

  /** @param {string} userId
   * @param {string} channelId
   * @param {object} [options] */
  explain(userId, channelId, options = {}) { return this.query('ExplainUnread', { user_id: userId, channel_id: channelId, ...options }); }

  /** @param {string} channelId
   * @param {object} [options] */
  channel(channelId, options = {}) { return this.query('GetChannel', { channel_id: channelId, ...options }); }

  /** @param {string} channelId
   * @param {string} messageId
   * @param {object} [options] */
  receipts(channelId, messageId, options = {}) { return this.query('GetReceipts', { channel_id: channelId, message_id: messageId, ...options }); }

  /** @param {string} channelId
   * @param {object} [options] */
  readers(channelId, options = {}) { return this.query('GetReaders', { channel_id: channelId, ...options }); }

  /** Calls a read by its name in the API.
   * @param {string} method
   * @param {Record<string, any>} request
   * @returns {Promise<any>} */
  async query(method, request) {
    const backoff = new Backoff({ min: 50, max: 20_000 });
    for (let tried = 1; ; tried++) {
      try {
        return await this.#once(QUERY, method, { ...request, ...after(request) });
      } catch (err) {
        if (!(err instanceof CallError) || !err.temporary || tried >= this.tries) throw err;
        await sleep(Math.max(backoff.next(), (err.retryAfter ?? 0) * 1000));
      }
    }
  }

  /** Yields a snapshot of a user's inbox, then every change, until the loop ends or the signal
   * aborts. When the stream breaks, the watch continues where it was, after a growing wait.
   * @param {string} userId
   * @param {{after?: string[], signal?: AbortSignal}} [options]
   * @returns {AsyncGenerator<import('./index.js').WatchEvent, void, undefined>} */
  async *watch(userId, options = {}) {
    const { signal } = options;
    let seen = latestTokens(options.after);
    const backoff = new Backoff();
    for (;;) {
      let wait = 0;
      try {
        for await (const event of this.#stream({ user_id: userId, ...(seen.length && { after: seen }) }, signal)) {
          seen = latestTokens([...seen, ...event.as_of ?? []]);
          if (event.snapshot) backoff.reset();
          if (event.snapshot || event.update) yield event;
        }
      } catch (err) {
        if (signal?.aborted || !(err instanceof CallError) || LASTING.includes(err.code)) throw err;
        wait = (err.retryAfter ?? 0) * 1000;
      }
      await sleep(Math.max(backoff.next(), wait), signal);
    }
  }

  /** One stream, with its heartbeats.
   * @param {object} request
   * @param {AbortSignal} [signal]
   * @returns {AsyncGenerator<any, void, undefined>} */
  async *#stream(request, signal) {
    const own = new AbortController();
    const stop = () => own.abort();
    signal?.addEventListener('abort', stop);
    if (signal?.aborted) stop();
    let silent = setTimeout(stop, this.quietTimeout);
    try {
      const res = await this.#send(QUERY, 'WatchUnread', envelope(request), 'application/connect+json', own.signal);
      if (!res.ok || !res.body) throw CallError.of(res.status, res.headers, await res.text());
      let left = new Uint8Array();
      for await (const chunk of /** @type {any} */ (res.body)) {
        clearTimeout(silent);
        silent = setTimeout(stop, this.quietTimeout);
        left = joined(left, chunk);
        for (let size; left.length >= 5 && left.length >= 5 + (size = new DataView(left.buffer, left.byteOffset).getUint32(1)); left = left.slice(5 + size)) {
          const flags = left[0] ?? 0;
          if (flags & 1 || size > LARGEST) throw new CallError('unknown', `${this.url} sends a stream that is not that of a node`);
          const text = new TextDecoder().decode(left.subarray(5, 5 + size));
          const message = text ? JSON.parse(text) : {};
          if (!(flags & 2)) {
            yield message;
            continue;
          }
          if (message.error) throw new CallError(message.error.code ?? 'unknown', message.error.message ?? '');
          return;
        }
      }
      throw new CallError('unavailable', 'the stream broke off');
    } catch (err) {
      if (err instanceof CallError || signal?.aborted) throw err;
      throw new CallError('unavailable', own.signal.aborted ? `the stream has sent nothing for ${this.quietTimeout} ms` : `WatchUnread: ${reason(err)}`);
    } finally {
      clearTimeout(silent);
      signal?.removeEventListener('abort', stop);
      own.abort();
    }
  }

  /** @param {string} service
   * @param {string} method
   * @param {object} request
   * @returns {Promise<any>} */
  async #once(service, method, request) {
    const signal = /** @type {any} */ (AbortSignal).timeout(this.timeout);
    try {
      const res = await this.#send(service, method, JSON.stringify(request), 'application/json', signal);
      const text = await res.text();
      if (!res.ok) throw CallError.of(res.status, res.headers, text);
      try {
        return JSON.parse(text);
      } catch {
        throw new CallError('unknown', `the answer of ${this.url} is not that of a node of Tidemark`);
      }
    } catch (err) {
      if (err instanceof CallError) throw err;
      if (signal.aborted) throw new CallError('timeout', `${method}: ${this.url} has not answered within ${this.timeout} ms`);
      throw new CallError('unavailable', `${method}: ${reason(err)}`);
    }
  }

  /** @param {string} service
   * @param {string} method
   * @param {string | Uint8Array} body
   * @param {string} type
   * @param {AbortSignal} signal */
  async #send(service, method, body, type, signal) {
    const token = typeof this.token === 'function' ? await this.token() : this.token; // a new one each time, because the last may have expired
    return this.fetch(`${this.url}/${service}/${method}`, {
      method: 'POST', body: /** @type {any} */ (body), signal,
      headers: { 'Content-Type': type, 'Connect-Protocol-Version': '1', ...(token && { Authorization: `Bearer ${token}` }) },
    });
  }
}

/** @param {{after?: string[]}} request */
const after = (request) => (request.after ? { after: latestTokens(request.after) } : {});

/** The reason of a network error. Node's fetch has it in the cause.
 * @param {any} err */
const reason = (err) => String(err?.cause?.message || err?.cause?.code || err?.message || err);

/** @param {object} request */
function envelope(request) {
  const body = new TextEncoder().encode(JSON.stringify(request));
  const out = new Uint8Array(5 + body.length);
  new DataView(out.buffer).setUint32(1, body.length);
  out.set(body, 5);
  return out;
}

/** @param {Uint8Array} a
 * @param {Uint8Array} b
 * @returns {Uint8Array} */
function joined(a, b) {
  const out = new Uint8Array(a.length + b.length);
  out.set(a);
  out.set(b, a.length);
  return out;
}

/** @param {number} ms
 * @param {AbortSignal} [signal] */
function sleep(ms, signal) {
  return new Promise((resolve, reject) => {
    const abort = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', abort);
      resolve(undefined);
    }, ms);
    if (signal?.aborted) abort();
    signal?.addEventListener('abort', abort, { once: true });
  });
}
