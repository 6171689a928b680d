// Calls of the node: queries, ingest, and the page's own API. All go to this address.

import { Observable } from '/ui/client/index.js';

/** Why the node refused the token; empty if it did not. */
export const refused = new Observable('');

const KEY = 'token';
let token = '';
try { token = sessionStorage.getItem(KEY) ?? ''; } catch { /* then it lasts as long as the page */ }

/** The token that goes with every call, if any. */
export const currentToken = () => token || undefined;

/** Sets the token. It stays in this tab. */
export function useToken(text) {
  token = text;
  try { sessionStorage.setItem(KEY, text); } catch { /* as above */ }
  refused.set('');
}

const headers = (more) => ({ ...more, ...(token && { Authorization: `Bearer ${token}` }) });

/** An error that the node answered. */
export class CallError extends Error {
  constructor(code, message) {
    super(message);
    this.code = code;
  }
}

async function read(res) {
  if (res.status === 204) return undefined; // nothing has changed
  let body;
  try {
    body = await res.json();
  } catch {
    throw new CallError('unavailable', `the node answers ${res.status} ${res.statusText}`);
  }
  if (body.code === 'unauthenticated' || body.code === 'permission_denied') refused.set(body.message);
  if (!res.ok) throw new CallError(body.code ?? String(res.status), body.message ?? `the node answers ${res.status}`);
  return body;
}

const post = async (path, body) => read(await fetch(path, {
  method: 'POST', headers: headers({ 'Content-Type': 'application/json' }), body: JSON.stringify(body),
}));

export const query = (method, request) => post(`/tidemark.query.v1.QueryService/${method}`, request);
export const publish = (...events) => post('/tidemark.ingest.v1.IngestService/Publish', { events });
export const own = async (path) => read(await fetch(`/ui/api/${path}`, { headers: headers() }));
export const tell = (path, body) => post(`/ui/api/${path}`, body);

const READY_TIMEOUT = 5000; // milliseconds in which a node must answer /readyz
let readyNow;

/** The state of the node: whether it was reached, whether it is ready, the first problem, and
 * the first partition that is not served. Callers within a second share an answer. */
export function readiness() {
  readyNow ??= askReady().finally(() => setTimeout(() => { readyNow = undefined; }, 1000));
  return readyNow;
}

async function askReady() {
  try {
    const res = await fetch('/readyz', { signal: AbortSignal.timeout(READY_TIMEOUT) });
    const lines = (await res.text()).trim().split('\n').slice(1);
    const fine = /^partition \d+ (?:live, \d+ records behind$|standby)/;
    const wrong = res.ok ? [] : lines.filter((l) => !fine.test(l));
    return { reached: true, ready: res.ok, wrong: wrong[0] ?? '', stopped: wrong.find((l) => l.startsWith('partition ')) ?? '' };
  } catch {
    return { reached: false, ready: false, wrong: '', stopped: '' };
  }
}

// A browser may keep a page that was left, with its streams, to show it again at once. It allows
// six streams per address, so hidden pages must not block the next page.
let left = new AbortController();
addEventListener('pagehide', () => {
  left.abort();
  left = new AbortController();
});

/** Follows a stream of the node: calls `opened` when it begins and `fn` with each event, and
 * returns when it ends. */
export async function follow(path, opened, fn) {
  const res = await fetch(`/ui/api/${path}`, { headers: headers(), signal: left.signal }); // an EventSource could not send a token
  if (!res.ok) await read(res);
  opened();
  const reader = res.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const events = (rest + value).split('\n\n');
    rest = events.pop();
    for (const e of events) if (e.startsWith('data: ')) fn(JSON.parse(e.slice(6)));
  }
}

/** Marks everything of a user read, or everything with a label; with `threads` the threads too.
 * Uses one call if the node has it, otherwise one for each channel. */
export async function markAllRead(user, options, channels, threads) {
  try {
    return await post('/tidemark.ingest.v1.IngestService/MarkAllRead', { user_id: user, ...options });
  } catch (err) {
    if (err.code !== 'unimplemented') throw err;
  }
  const events = channels.filter((c) => c.unread > 0 && c.latest).map((c) => ({
    read: { channel_id: c.channel_id, user_id: user, read_up_to: { seq: c.latest.seq } },
  })).concat(threads.filter((t) => t.unread > 0 && t.last_reply).map((t) => ({
    read: { channel_id: t.channel_id, user_id: user, read_up_to: { seq: t.last_reply.seq, thread_id: t.thread_id } },
  })));
  return events.length ? publish(...events) : { after: [] };
}

/** Starts an operation on the node, and calls `fn` with each line of JSON about its progress.
 * Returns when the answer has ended. */
export async function stream(path, body, fn) {
  const res = await fetch(`/ui/api/${path}`, { method: 'POST', headers: headers({ 'Content-Type': 'application/json' }), body: JSON.stringify(body), signal: left.signal });
  if (!res.ok) await read(res);
  const reader = res.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  for (;;) {
    const { value, done } = await reader.read();
    const lines = (rest + (value ?? '')).split('\n');
    rest = lines.pop();
    for (const line of lines) if (line) fn(JSON.parse(line));
    if (done) return;
  }
}
