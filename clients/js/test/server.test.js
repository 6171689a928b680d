// The client for servers, against a fake node.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { test } from 'node:test';
import { CallError, Tidemark, latestTokens } from '../server/index.js';

const vectors = JSON.parse(await readFile(new URL('../../conformance/errors.json', import.meta.url), 'utf8'));

for (const v of vectors) {
  test(`errors: ${v.name}`, () => {
    const err = CallError.of(v.status, new Headers(v.headers), v.body);
    assert.deepEqual(
      { code: err.code, retry_after: err.retryAfter ?? null, again: err.temporary, request_id: err.requestId },
      { code: v.code, retry_after: v.retry_after, again: v.again, request_id: v.request_id ?? '' },
    );
  });
}

/** A node whose answers `answer(n, method, request, response)` writes; `calls` records the
 * requests. */
async function node(t, answer) {
  const calls = [];
  const server = createServer(async (req, res) => {
    const chunks = [];
    for await (const chunk of req) chunks.push(chunk);
    const method = req.url.split('/').at(-1);
    const body = Buffer.concat(chunks);
    calls.push({ method, token: req.headers.authorization, request: JSON.parse(method === 'WatchUnread' ? body.subarray(5) : body) });
    answer(calls.length, method, res);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => { server.closeAllConnections(); server.close(); });
  return { url: `http://127.0.0.1:${server.address().port}/`, calls };
}

const refuse = (res, status, code) => { res.statusCode = status; res.end(JSON.stringify({ code, message: 'not now' })); };

test('reads are made again, with a new token; writes are not', async (t) => {
  const n = await node(t, (i, method, res) => {
    if (i < 3 || method === 'Publish') refuse(res, 503, 'unavailable');
    else res.end('{"channel_id":"general","unread":7}');
  });
  let tokens = 0;
  const c = new Tidemark({ url: n.url, token: async () => `t${++tokens}` });
  assert.equal((await c.unread('ann', 'general', { after: ['chat.reads/0/7', 'chat.reads/0/9'] })).unread, 7);
  assert.deepEqual(n.calls.map((x) => x.token), ['Bearer t1', 'Bearer t2', 'Bearer t3']);
  assert.deepEqual(n.calls[2].request, { user_id: 'ann', channel_id: 'general', after: ['chat.reads/0/9'] });
  await assert.rejects(c.post('general', { message_id: 'm1', sender_id: 'bob' }), { code: 'unavailable' });
  assert.equal(n.calls.length, 4);
  assert.deepEqual(n.calls[3].request, { events: [{ message: { channel_id: 'general', message_posted: { message_id: 'm1', sender_id: 'bob' } } }] });
});

test('what does not pass is thrown at once', async (t) => {
  const n = await node(t, (i, method, res) => (method === 'GetInbox' ? res.end('<html>') : refuse(res, 404, 'not_found')));
  const c = new Tidemark({ url: n.url });
  await assert.rejects(c.channel('general'), { code: 'not_found' });
  await assert.rejects(c.inbox('ann'), { code: 'unknown' });
  assert.equal(n.calls.length, 2);
  await assert.rejects(new Tidemark({ url: 'http://127.0.0.1:1', tries: 2 }).channel('general'), { code: 'unavailable' });
  assert.throws(() => new Tidemark({ url: 'nowhere' }));
});

test('a watch that breaks goes on where it was', async (t) => {
  const envelope = (text, flags = 0) => { const b = Buffer.alloc(5); b[0] = flags; b.writeUInt32BE(Buffer.byteLength(text), 1); return Buffer.concat([b, Buffer.from(text)]); };
  const n = await node(t, (i, method, res) => {
    if (i === 1) return refuse(res, 503, 'unavailable');
    if (i === 2) {
      const all = Buffer.concat([
        envelope('{"snapshot":{"totals":{"badge":1}},"as_of":["chat.messages/0/1","chat.messages/1/1"]}'), envelope('{}'),
        envelope('{"update":{"totals":{"badge":2}},"as_of":["chat.messages/0/5"]}'),
      ]);
      res.write(all.subarray(0, 7)); // in pieces
      return res.end(all.subarray(7));
    }
    return res.end(Buffer.concat([envelope('{"snapshot":{"totals":{"badge":3}}}'), envelope('{"error":{"code":"permission_denied","message":"no"}}', 2)]));
  });
  const badges = [];
  await assert.rejects(async () => {
    for await (const e of new Tidemark({ url: n.url }).watch('ann', { after: ['chat.reads/0/3'] })) badges.push((e.snapshot ?? e.update).totals.badge);
  }, { code: 'permission_denied' });
  assert.deepEqual(badges, [1, 2, 3]);
  assert.deepEqual(n.calls[2].request, { user_id: 'ann', after: ['chat.reads/0/3', 'chat.messages/0/5', 'chat.messages/1/1'] });
});

test('a watch ends with its loop and with its signal', async (t) => {
  const n = await node(t, (i, method, res) => { res.write(Buffer.concat([Buffer.from([0, 0, 0, 0, 15]), Buffer.from('{"snapshot":{}}')])); });
  const c = new Tidemark({ url: n.url });
  for await (const e of c.watch('ann')) { assert.ok(e.snapshot); break; }
  const stop = new AbortController();
  await assert.rejects(async () => { for await (const e of c.watch('ann', { signal: stop.signal })) { assert.ok(e); stop.abort(); } });
});

test('tokens', () => {
  assert.deepEqual(latestTokens(['chat.reads/0/7', 'chat.messages/0/1', 'chat.reads/0/12', 'chat.reads/0/9', 'odd']), ['chat.reads/0/12', 'chat.messages/0/1', 'odd']);
});
