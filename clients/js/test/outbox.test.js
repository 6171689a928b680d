import assert from 'node:assert/strict';
import { test } from 'node:test';
import { TidemarkClient } from '../src/index.js';
import { Limited, settled } from './fake.js';

/** A client of a gateway with limits, on a clock that the test moves. */
function client(t, gateway, options = {}) {
  const c = new TidemarkClient({
    url: 'ws://gateway.test/v1/socket', page: null, WebSocket: gateway.net.Socket, backoff: { min: 100, max: 400 }, maxPending: 5000, ...options,
  });
  t.after(() => c.close());
  return c;
}

/** A client that is connected to a gateway, on a clock that the test moves from now on. */
async function connected(t, limits = {}, options = {}) {
  t.mock.timers.enable(clock);
  const gateway = new Limited(limits);
  const c = client(t, gateway, options);
  c.connect();
  await settled();
  const socket = gateway.net.last;
  socket.says(gateway.hello);
  return { gateway, c, socket };
}

/** Moves the clock until a promise is settled. */
async function during(t, promise, most = 200_000) {
  let done = false;
  promise.then(() => { done = true; }, () => { done = true; });
  for (let ms = 0; !done; ms += 5) {
    assert.ok(ms < most, `not within ${most} ms`);
    t.mock.timers.tick(5);
    await settled();
  }
  return promise;
}

const clock = { apis: ['setTimeout', 'Date'] };

test('what waited for a connection goes out as fast as the gateway takes it: all of it, once, in order', async (t) => {
  t.mock.timers.enable(clock);
  const gateway = new Limited();
  const c = client(t, gateway);
  for (let i = 0; i < 100; i++) c.focus(`f${i}`);
  const all = Promise.all(Array.from({ length: 1500 }, (_, i) => c.markRead(`c${i % 70}`, `m${i}`)));
  c.connect();
  await settled();
  gateway.net.last.says(gateway.hello);
  const answers = await during(t, all);
  assert.equal(answers.length, 1500);
  assert.deepEqual(gateway.refused, []);
  assert.deepEqual(gateway.done.map((f) => f.channel_id).slice(0, 100), Array.from({ length: 100 }, (_, i) => `f${i}`));
  assert.deepEqual(gateway.done.map((f) => f.message_id).slice(100), Array.from({ length: 1500 }, (_, i) => `m${i}`));
  // After a pause it has its whole share again, and a single command does not wait.
  t.mock.timers.tick(10_000);
  c.mute('a', true).catch(() => {});
  assert.equal(gateway.done.at(-1).type, 'channel.mute');
});

test('a connection that ends in between loses nothing, and the next one is not met by all of it either', async (t) => {
  const { gateway, c } = await connected(t);
  const all = Promise.all(Array.from({ length: 600 }, (_, i) => c.markRead('a', `m${i}`)));
  for (let n = 0; n < 3; n++) {
    await during(t, new Promise((resolve) => { setTimeout(resolve, 900); }));
    const old = gateway.net.last;
    old.ends(1012, 'restart');
    await during(t, new Promise((resolve) => { setTimeout(resolve, 400); }));
    assert.notEqual(gateway.net.last, old);
    gateway.net.last.says(gateway.hello);
  }
  await during(t, all);
  assert.deepEqual(gateway.refused, []);
  assert.deepEqual(new Set(gateway.done.map((f) => f.message_id)).size, 600);
});

test('devices of one user share what the gateway allows: what is refused is sent again, and the last word in a channel stays the last', async (t) => {
  t.mock.timers.enable(clock);
  const gateway = new Limited();
  const all = [];
  const devices = Array.from({ length: 4 }, () => client(t, gateway));
  for (const [n, c] of devices.entries()) {
    for (let i = 0; i < 150; i++) all.push(c.markUnread(`${n}-${i}`, 'm1', { headSeq: 5 }));
    for (let i = 0; i < 150; i++) all.push(c.markRead(`${n}-${i}`, 'm5'));
    c.connect();
  }
  await settled();
  for (const s of gateway.net.all) s.says(gateway.hello);
  await during(t, Promise.all(all));
  assert.ok(gateway.refused.length > 0, 'nothing was refused, and nothing shown');
  const last = new Map(gateway.done.map((f) => [f.channel_id, f.type]));
  assert.equal(last.size, 600);
  assert.deepEqual([...new Set(last.values())], ['mark_read']);
});

test('what was sent behind a refused command of the same channel is done again behind it', async (t) => {
  const { gateway, c, socket } = await connected(t);
  gateway.tokens = 0.5; // another device has used the bucket
  const all = [c.markUnread('a', 'm1', { headSeq: 5 })];
  gateway.tokens = 2.5;
  all.push(c.markRead('a', 'm5'), c.markRead('b', 'm2'));
  await during(t, Promise.all(all));
  assert.deepEqual(socket.sent.map((f) => `${f.type} ${f.channel_id}`), ['mark_unread a', 'mark_read a', 'mark_read b', 'mark_unread a', 'mark_read a']);
  assert.equal(new Set(socket.sent.map((f) => f.id)).size, 5);
});

test('a focus that was refused is said again', async (t) => {
  const { gateway, c } = await connected(t);
  gateway.tokens = 0.5;
  c.focus('a');
  await during(t, new Promise((resolve) => { setTimeout(resolve, 3000); }));
  assert.deepEqual(gateway.done.map((f) => f.type), ['channel.focus']);
});

test('a focus that is one too many is not said for ever', async (t) => {
  t.mock.timers.enable(clock);
  const gateway = new Limited();
  const c = client(t, gateway);
  c.connect();
  await settled();
  gateway.take = (socket, frame) => {
    gateway.refused.push(frame);
    setTimeout(() => socket.says({ type: 'error', id: frame.id, code: 'resource_exhausted', message: '128 channels are focused' }), 40);
  };
  gateway.net.last.says(gateway.hello);
  c.focus('a');
  await during(t, new Promise((resolve) => { setTimeout(resolve, 60_000); }));
  const { length } = gateway.refused;
  assert.ok(length > 1 && length < 20, `${length} times`);
  await during(t, new Promise((resolve) => { setTimeout(resolve, 60_000); }));
  assert.equal(gateway.refused.filter((f) => f.type === 'channel.focus').length, length);
});

test('a frame that waits for its turn is not late; one that is refused for good is', async (t) => {
  const { gateway: slow, c } = await connected(t, { perSecond: 2, burst: 4 }, { commandTimeout: 5000 });
  await during(t, Promise.all(Array.from({ length: 40 }, (_, i) => c.markRead('a', `m${i}`))));
  assert.deepEqual(slow.refused, []);
  slow.perSecond = 0;
  slow.tokens = 0;
  await during(t, assert.rejects(c.mute('a', true), { code: 'timeout' }));
});

test('what no gateway takes is not sent: one for ever too large would end each connection', async (t) => {
  t.mock.timers.enable(clock);
  const gateway = new Limited();
  const c = client(t, gateway);
  const large = c.messagesRead('a', Array.from({ length: 900 }, (_, i) => `${'é'.repeat(60)}${i}`));
  const after = c.mute('a', true);
  c.connect();
  await settled();
  gateway.net.last.says(gateway.hello);
  await assert.rejects(large, { code: 'resource_exhausted', message: /65536 bytes/ });
  await during(t, after);
  assert.deepEqual(gateway.done.map((f) => f.type), ['channel.mute']);
  const many = c.messagesRead('a', Array.from({ length: 1001 }, (_, i) => `m${i}`));
  gateway.net.last.says({ type: 'error', id: gateway.net.last.sent.at(-1).id, code: 'resource_exhausted', message: 'message_ids has 1001 ids' });
  await assert.rejects(many, { code: 'resource_exhausted', message: 'message_ids has 1001 ids' });
});
