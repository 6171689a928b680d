import assert from 'node:assert/strict';
import { test } from 'node:test';
import { TidemarkClient } from '../src/index.js';
import { FakePage, channel, hello, inbox, settled, sockets, totals } from './fake.js';

/** A client with sockets that the test drives, and waits of exactly min, 2 min, … */
function client(t, options = {}) {
  const net = sockets();
  const c = new TidemarkClient({
    url: 'ws://gateway.test/v1/socket', page: null, WebSocket: net.Socket, backoff: { min: 100, max: 400, random: () => 1 }, ...options,
  });
  t.after(() => c.close());
  return { c, net };
}

/** The same, connected and with an inbox. */
async function connected(t, channels = [], options = {}) {
  const { c, net } = client(t, options);
  c.connect();
  await settled();
  net.last.says(hello(), inbox(channels));
  return { c, net };
}

test('it is open when the gateway has said who we are, and knows when the inbox came', async (t) => {
  const { c, net } = client(t, { userId: 'ann & bob' });
  assert.equal(c.state.value, 'closed');
  c.connect();
  c.connect();
  await settled();
  assert.equal(net.all.length, 1);
  assert.equal(net.last.url, 'ws://gateway.test/v1/socket?user_id=ann+%26+bob');
  assert.equal(c.state.value, 'connecting');
  net.last.says(hello());
  assert.equal(c.state.value, 'open');
  assert.equal(c.instanceId, 'i1');
  assert.equal(c.inbox.value.known, false);
  const badges = [];
  c.badge.subscribe((n) => badges.push(n));
  net.last.says(inbox([channel('a', 3)]), { type: 'unread.updated', ...channel('a', 4), totals: totals(4) });
  assert.deepEqual(badges, [3, 4]);
});

test('a badge that is not known is not 0: nobody is told one before the first snapshot', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const { c, net } = client(t);
  const badges = [];
  c.badge.subscribe((n) => badges.push(n));
  assert.equal(c.badge.value, undefined);
  assert.equal(c.inbox.value.badge, undefined);
  c.connect();
  for (let i = 0; i < 3; i++) { // a port where nobody listens
    await settled();
    net.last.ends();
    t.mock.timers.tick(400);
  }
  assert.deepEqual(badges, []);
  await settled();
  net.last.says(hello(), inbox([]));
  assert.deepEqual(badges, [0], 'a zero that the gateway told');
});

test('connecting without a WebSocket says so at once', (t) => {
  const was = Object.getOwnPropertyDescriptor(globalThis, 'WebSocket');
  Object.defineProperty(globalThis, 'WebSocket', { value: undefined, configurable: true });
  t.after(() => (was ? Object.defineProperty(globalThis, 'WebSocket', was) : delete globalThis.WebSocket));
  const c = new TidemarkClient({ url: 'ws://gateway.test/v1/socket', page: null });
  assert.throws(() => c.connect(), { name: 'TidemarkError', code: 'unsupported', message: /options\.WebSocket/ });
  assert.equal(c.state.value, 'closed');
});

test('a token goes into the subprotocol and is asked for each time', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  let n = 0;
  const { c, net } = client(t, { token: async () => `t${++n}` });
  c.connect();
  await settled();
  assert.deepEqual(net.last.protocols, ['tidemark.v1', 'tidemark.bearer.t1']);
  assert.ok(!net.last.url.includes('t1'));
  net.last.ends();
  t.mock.timers.tick(100);
  await settled();
  assert.deepEqual(net.last.protocols, ['tidemark.v1', 'tidemark.bearer.t2']);
});

test('it comes back, more slowly each time, and at once quickly again after an inbox', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const { c, net } = await connected(t, [channel('a', 2)]);
  const waits = [];
  c.on('disconnected', (f) => waits.push(f.retry_in));
  for (const wait of [100, 200, 400, 400]) {
    net.last.ends(1012, 'restart');
    assert.equal(c.state.value, 'waiting');
    assert.equal(c.badge.value, 2, 'what was known stays');
    const before = net.all.length;
    t.mock.timers.tick(wait - 1);
    await settled();
    assert.equal(net.all.length, before, 'not yet');
    t.mock.timers.tick(1);
    await settled();
    assert.equal(net.all.length, before + 1);
    net.last.says(hello()); // without an inbox, the connection does not count as good
  }
  net.last.says(inbox([]));
  assert.equal(c.badge.value, 0);
  net.last.ends();
  assert.deepEqual(waits, [100, 200, 400, 400, 100]);
});

test('a snapshot after a reconnect replaces what was there', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const { c, net } = await connected(t, [channel('a', 2), channel('gone', 1)]);
  net.last.ends();
  t.mock.timers.tick(100);
  await settled();
  net.last.says(hello(2), inbox([channel('a', 7)]));
  assert.deepEqual([...c.inbox.value.channels.keys()], ['a']);
  assert.equal(c.badge.value, 7);
});

test('a command is answered by its id, with what it became', async (t) => {
  const { c, net } = await connected(t);
  const read = c.markRead('a', 'm1');
  const state = c.readState('a');
  const [first] = net.last.of('mark_read');
  const [second] = net.last.of('read_state');
  assert.deepEqual({ ...first, id: 0 }, { type: 'mark_read', channel_id: 'a', message_id: 'm1', id: 0 });
  net.last.says({ type: 'read_state', id: second.id, channel_id: 'a', readers: [] }, { type: 'ack', id: first.id, after: ['chat.reads/0/7'] });
  assert.deepEqual((await read).after, ['chat.reads/0/7']);
  assert.deepEqual((await state).readers, []);
});

test('an error of the gateway is one of the call', async (t) => {
  const { c, net } = await connected(t);
  const read = c.markRead('secret', 'm1');
  net.last.says({ type: 'error', id: net.last.sent[0].id, code: 'not_found', message: 'no such channel' });
  await assert.rejects(read, { name: 'TidemarkError', code: 'not_found', message: 'no such channel' });
});

test('a command without an answer is sent again, once, with the same id', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const { c, net } = await connected(t);
  const read = c.markRead('a', 'm1');
  const [sent] = net.last.sent;
  net.last.ends();
  const offline = c.mute('a', true); // called without a connection
  t.mock.timers.tick(100);
  await settled();
  assert.deepEqual(net.last.sent, [], 'nothing before the gateway has said who we are');
  net.last.says(hello(2));
  assert.deepEqual(net.last.sent.map((f) => f.type), ['mark_read', 'channel.mute']);
  assert.deepEqual(net.last.sent[0], sent);
  for (const f of net.last.sent) net.last.says({ type: 'ack', id: f.id, after: [] });
  await Promise.all([read, offline]);
  net.last.ends();
  t.mock.timers.tick(200);
  await settled();
  net.last.says(hello(3));
  assert.deepEqual(net.last.sent, [], 'what was answered is not sent again');
});

test('a command fails when it takes too long, when there are too many, and when the client closes', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const { c } = await connected(t, [], { commandTimeout: 500, maxPending: 2 });
  const slow = c.markRead('a', 'm1');
  t.mock.timers.tick(500);
  await assert.rejects(slow, { code: 'timeout' });
  const waiting = [c.markRead('a', 'm2'), c.markRead('a', 'm3')];
  await assert.rejects(c.markRead('a', 'm4'), { code: 'overflow' });
  c.close();
  for (const p of waiting) await assert.rejects(p, { code: 'closed' });
  assert.equal(c.state.value, 'closed');
});

test('a mark states the head that this device knew', async (t) => {
  const { c, net } = await connected(t);
  const news = (seq) => ({ type: 'message.new', channel_id: 'a', message_id: `m${seq}`, seq, at: '2026-01-01T00:00:00Z' });
  net.last.says(news(4), news(5), news(3));
  c.markUnread('a', 'm4').catch(() => {});
  c.markUnread('a', 'm4', { headSeq: 9 }).catch(() => {});
  c.markUnread('b', 'm1').catch(() => {});
  assert.deepEqual(net.last.of('mark_unread').map((f) => f.head_seq), [5, 9, undefined]);
  // No message.new reports messages from while the device was offline: the snapshot does, and so do
  // later counts.
  const thread = { channel_id: 'a', thread_id: 't', followed: true, unread: 0, mentions: 0, last_reply: { message_id: 'm9', seq: 9 } };
  net.last.says({ ...inbox([channel('a', 1, { latest: { message_id: 'm8', seq: 8 } })]), threads: [thread] });
  c.markUnread('a', 'm4').catch(() => {});
  c.markUnread('a', 'm4', { threadId: 't' }).catch(() => {});
  net.last.says({ type: 'unread.updated', ...channel('b', 1, { latest: { message_id: 'm2', seq: 2 } }), totals: totals(2) });
  c.markUnread('b', 'm1').catch(() => {});
  assert.deepEqual(net.last.of('mark_unread').slice(3).map((f) => f.head_seq), [8, 9, 2]);
});

test('focus lasts over a reconnect, and rests while the page is hidden', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const page = new FakePage();
  const { c, net } = await connected(t, [], { page });
  c.focus('a');
  c.focus('b', 'thread');
  c.focus('c');
  c.blur('c');
  c.blur('never');
  assert.deepEqual(net.last.sent.map((f) => [f.type, f.channel_id]),
    [['channel.focus', 'a'], ['channel.focus', 'b'], ['channel.focus', 'c'], ['channel.blur', 'c']]);
  page.show(false);
  assert.deepEqual(net.last.of('channel.blur').map((f) => f.channel_id), ['c', 'a', 'b']);
  net.last.ends();
  t.mock.timers.tick(100);
  await settled();
  net.last.says(hello(2));
  assert.deepEqual(net.last.of('channel.focus'), [], 'hidden');
  page.show(true);
  assert.deepEqual(net.last.of('channel.focus').map(({ id: _, ...f }) => f), [
    { type: 'channel.focus', channel_id: 'a' }, { type: 'channel.focus', channel_id: 'b', thread_id: 'thread' }]);
  net.last.ends();
  t.mock.timers.tick(200);
  await settled();
  net.last.says(hello(3));
  assert.deepEqual(net.last.of('channel.focus').map((f) => f.channel_id), ['a', 'b']);
});

test('who was too fast for the gateway stays away for seconds', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const { c, net } = await connected(t, [], { backoff: { min: 100, max: 20_000, random: () => 1 } });
  const waits = [];
  c.on('disconnected', (f) => waits.push(f.retry_in));
  net.last.ends(4429, 'too many frames: wait longer');
  t.mock.timers.tick(4000);
  await settled();
  net.last.says(hello(2), inbox([]));
  net.last.ends(1006);
  assert.deepEqual(waits, [4000, 100]);
});

test('a page that comes back does not wait for the next try', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const page = new FakePage();
  const { net } = await connected(t, [], { page });
  page.show(false);
  net.last.ends();
  assert.equal(net.all.length, 1);
  page.show(true);
  await settled();
  assert.equal(net.all.length, 2);
});

test('a connection that is silent is asked, and given up if it does not answer', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const { c, net } = await connected(t, [], { quietTimeout: 1000, answerTimeout: 200, commandTimeout: 60_000 });
  t.mock.timers.tick(999);
  net.last.says({ type: 'read_pointer.updated', channel_id: 'a' });
  t.mock.timers.tick(999);
  assert.equal(net.last.of('sync').length, 0, 'it spoke a moment ago');
  t.mock.timers.tick(1);
  assert.equal(net.last.of('sync').length, 1);
  net.last.says(inbox([]));
  t.mock.timers.tick(999);
  assert.equal(c.state.value, 'open', 'it answered');
  t.mock.timers.tick(1);
  t.mock.timers.tick(200);
  assert.equal(c.state.value, 'waiting');
  assert.equal(net.last.closedWith, 1000);
});

test('a connection that never opens is given up', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const { c, net } = client(t, { answerTimeout: 200 });
  c.connect();
  await settled();
  t.mock.timers.tick(200);
  assert.equal(c.state.value, 'waiting');
  t.mock.timers.tick(100);
  await settled();
  assert.equal(net.all.length, 2);
});

test('a token that never comes is not waited for', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  let asked = 0;
  const { c, net } = client(t, { token: () => (++asked > 1 ? 'second' : new Promise(() => {})) });
  c.connect();
  await settled();
  t.mock.timers.tick(10_000);
  assert.equal(c.state.value, 'waiting');
  t.mock.timers.tick(100);
  await settled();
  assert.equal(asked, 2);
  assert.deepEqual(net.last.protocols, ['tidemark.v1', 'tidemark.bearer.second']);
});

test('a listener that throws harms nobody: the others hear, and the connection comes back', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const reported = [];
  globalThis.reportError = (err) => reported.push(err.message);
  t.after(() => { delete globalThis.reportError; });
  const { c, net } = client(t);
  const bad = (what) => () => { throw new Error(what); };
  const badges = [];
  c.state.listen(bad('state'));
  c.inbox.listen(bad('inbox'));
  c.badge.listen(bad('badge'));
  c.badge.listen((n) => badges.push(n));
  c.on('disconnected', bad('disconnected'));
  c.on('*', bad('any'));
  c.connect();
  await settled();
  net.last.says(hello(), inbox([channel('a', 3)]));
  assert.equal(c.state.value, 'open');
  assert.deepEqual(badges, [3]);
  net.last.ends();
  assert.equal(c.state.value, 'waiting');
  t.mock.timers.tick(100);
  await settled();
  assert.equal(net.all.length, 2, 'it connects again');
  net.last.says(hello(2), inbox([channel('a', 4)]));
  assert.deepEqual(badges, [3, 4]);
  assert.deepEqual([...new Set(reported)].sort(), ['any', 'badge', 'disconnected', 'inbox', 'state']);
});

test('what a socket says after it was given up is not heard', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const { c, net } = await connected(t, [channel('a', 1)]);
  const old = net.last;
  old.ends();
  t.mock.timers.tick(100);
  await settled();
  net.last.says(hello(2), inbox([channel('a', 5)]));
  old.says(inbox([channel('a', 1)]));
  old.ends();
  assert.equal(c.badge.value, 5);
  assert.equal(c.state.value, 'open');
});

for (const bad of ['{', 'null', '7']) {
  test(`${bad} is no frame: the connection is made anew`, async (t) => {
    const { c, net } = await connected(t);
    net.last.says(bad);
    assert.equal(c.state.value, 'waiting');
  });
}

test('frames of a type that is not known here are passed on', async (t) => {
  const { c, net } = await connected(t);
  const seen = [];
  const stop = c.on('*', (f) => seen.push(f.type));
  net.last.says({ type: 'of.the.future' });
  stop();
  net.last.says({ type: 'of.the.future' });
  assert.deepEqual(seen, ['of.the.future']);
});

test('what a user says of a channel goes out as it is said, with the head that this device knew', async (t) => {
  const { c, net } = await connected(t, [channel('a', 1, { latest: { message_id: 'm8', seq: 8 } })]);
  const say = [
    [c.notify('a', 'NONE', { until: new Date('2026-01-01T00:00:00Z') }), { type: 'channel.notify', level: 'NONE', until: '2026-01-01T00:00:00.000Z' }],
    [c.notify('a', 'ALL', { ignoreMentionAll: false }), { type: 'channel.notify', level: 'ALL', ignore_mention_all: false }],
    [c.flag('a', true), { type: 'channel.flag', flagged: true, head_seq: 8 }],
    [c.flag('a', false, { headSeq: 0 }), { type: 'channel.flag', flagged: false }],
    [c.file('a', true, { keep: true, headSeq: 5 }), { type: 'channel.file', archived: true, keep: true, head_seq: 5 }],
    [c.file('a', false), { type: 'channel.file', archived: false, head_seq: 8 }],
    [c.hide('a', ['m1', 'm2']), { type: 'message.hide', message_ids: ['m1', 'm2'] }],
    [c.hideUpTo('a', 4), { type: 'message.hide', up_to_seq: 4 }],
    [c.viewed('a', ['m1']), { type: 'message.viewed', message_ids: ['m1'] }],
    [c.setLine('a', 'm1'), { type: 'line.set', message_id: 'm1' }],
    [c.setLine('a', 3), { type: 'line.set', seq: 3 }],
    [c.setLabels('a', []), { type: 'labels.set', labels: [] }],
    [c.markRead('a', 'm8', { withThreads: true }), { type: 'mark_read', message_id: 'm8', with_threads: true }],
  ];
  const sent = net.last.sent.slice(-say.length);
  say.forEach(([, want], i) => assert.deepEqual({ ...sent[i], id: 0 }, { ...want, channel_id: 'a', id: 0 }));
  for (const f of sent) net.last.says({ type: 'error', id: f.id, code: 'unimplemented', message: 'not yet' });
  for (const [promise] of say) await assert.rejects(promise, { code: 'unimplemented' });
});

test('mark all read: a command for each channel with something to see, of one label, with its threads', async (t) => {
  const at = (seq, more = {}) => ({ latest: { message_id: `m${seq}`, seq }, ...more });
  const { c, net } = await connected(t, [
    channel('unread', 2, at(4, { labels: ['work'] })), channel('muted', 1, at(2, { muted: true })), channel('filed', 3, at(9, { archived: true })),
    channel('flagged', 0, at(5, { flagged: true, labels: ['work'] })), channel('bare', 0, { flagged: true }), channel('done', 0, at(8, { labels: ['work'] })),
  ]);
  for (const [channel_id, unread, seq] of [['done', 1, 11], ['muted', 0, 1]]) {
    net.last.says({ type: 'unread.updated', channel_id, thread_id: 't', followed: true, unread, mentions: 0, last_reply: { message_id: `m${seq}`, seq } });
  }
  const asked = (options) => {
    const before = net.last.sent.length;
    const all = c.markAllRead(options);
    const sent = net.last.sent.slice(before);
    for (const f of sent) net.last.says({ type: 'ack', id: f.id, after: [f.channel_id] });
    return all.then((answers) => {
      assert.deepEqual(answers.map((a) => a.after[0]), sent.map((f) => f.channel_id));
      return sent.map((f) => [f.channel_id, f.type, f.seq ?? f.flagged, f.with_threads ?? false]);
    });
  };
  const all = [['unread', 'mark_read', 4, false], ['muted', 'mark_read', 2, false], ['filed', 'mark_read', 9, false],
    ['flagged', 'mark_read', 5, false], ['bare', 'channel.flag', false, false]];
  assert.deepEqual(await asked(), all);
  assert.deepEqual(await asked({ label: 'work' }), [all[0], all[3]]);
  assert.deepEqual(await asked({ label: 'work', threads: true }), [['unread', 'mark_read', 4, true], ['flagged', 'mark_read', 5, true], ['done', 'mark_read', 11, true]]);
  assert.deepEqual(await asked({ label: 'none' }), []);
});

test('mark all read: each command states its channel\'s epoch, and a seq, which no other message can have', async (t) => {
  const { c, net } = await connected(t, [
    channel('marked', 1, { read_epoch: 3, latest: { message_id: 'm4', seq: 4 } }),
    channel('seeded', 5, { read_epoch: 1, first_unread: { message_id: '', seq: 5 } }), // of 9 messages the first four are read
    channel('silent', 0, { read_epoch: 2, flagged: true, latest: { message_id: 'm4', seq: 4 }, last_read: { message_id: 'm6', seq: 6 } }),
    channel('old', 1, { read_epoch: 1, latest: { message_id: '', seq: 7 } }), // its messages have left the index
  ]);
  const before = net.last.sent.length;
  const all = c.markAllRead();
  const sent = net.last.sent.slice(before);
  for (const f of sent) net.last.says({ type: 'ack', id: f.id, after: [] });
  await all;
  assert.deepEqual(sent.map(({ id, ...f }) => f), [
    { type: 'mark_read', channel_id: 'marked', seq: 4, read_epoch: 3 },
    { type: 'mark_read', channel_id: 'seeded', seq: 9, read_epoch: 1 },
    { type: 'mark_read', channel_id: 'silent', seq: 6, read_epoch: 2 },
    { type: 'mark_read', channel_id: 'old', seq: 7, read_epoch: 1 },
  ]);
});
