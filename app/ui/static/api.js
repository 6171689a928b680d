// Calls of the node: queries, ingest, and what the page has of its own. All are of this address.

import { Observable } from '/ui/client/index.js';

/** Why the node wants another token than it was given; empty while it wants none. */
export const refused = new Observable('');

const KEY = 'token';
let token = '';
try { token = sessionStorage.getItem(KEY) ?? ''; } catch { /* then it lasts as long as the page */ }

/** The token that goes with every call, if there is one. */
export const currentToken = () => token || undefined;

/** Takes a token. It stays in this tab. */
export function useToken(text) {
  token = text;
  try { sessionStorage.setItem(KEY, text); } catch { /* as above */ }
  refused.set('');
}

const headers = (more) => ({ ...more, ...(token && { Authorization: `Bearer ${token}` }) });

/** An answer that says no. */
export class CallError extends Error {
  constructor(code, message) {
    super(message);
    this.code = code;
  }
}

async function read(res) {
  if (res.status === 204) return undefined; // what is known is the newest
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

const READY_TIMEOUT = 5000; // milliseconds that a node may take to say how it is
let readyNow;

/** How the node is, by its own word: whether it was reached, whether it is ready, the first thing that is wrong, and the first
 * partition that is not served. All who ask within a second share an answer. */
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

// A page that was left may be kept by the browser, to be shown again at once, and its streams with it. Of those a browser has
// six for an address: pages that nobody sees must not hold up the one that is opened next.
let left = new AbortController();
addEventListener('pagehide', () => {
  left.abort();
  left = new AbortController();
});

/** Follows a stream of the node: calls `opened` when it begins and `fn` with each thing it tells, and returns when it ends. */
export async function follow(path, opened, fn) {
  const res = await fetch(`/ui/api/${path}`, { headers: headers(), signal: left.signal }); // an EventSource could not bring a token
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

/** Marks everything of a user read, or all that has a label; with `threads` the threads too. By one call where the node has it,
 * else channel by channel. */
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

/** Has the node do something, and calls `fn` with each line of JSON of how it goes. Returns when the answer has ended. */
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
