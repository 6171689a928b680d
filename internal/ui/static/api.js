// Calls of the node: queries, ingest, and what the page has of its own. All are of this address.

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
  if (!res.ok) throw new CallError(body.code ?? String(res.status), body.message ?? `the node answers ${res.status}`);
  return body;
}

const post = async (path, body) => read(await fetch(path, {
  method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body),
}));

export const query = (method, request) => post(`/tidemark.query.v1.QueryService/${method}`, request);
export const publish = (...events) => post('/tidemark.ingest.v1.IngestService/Publish', { events });
export const own = async (path) => read(await fetch(`/ui/api/${path}`));
export const tell = (path, body) => post(`/ui/api/${path}`, body);

/** Marks everything of a user read: by one call where the node has it, else channel by channel. */
export async function markAllRead(user, channels, threads) {
  try {
    return await post('/tidemark.ingest.v1.IngestService/MarkAllRead', { user_id: user });
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
