import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { Backoff, Inbox, Observable, dominates, parseStamp } from '../src/index.js';
import { channel, inbox, totals } from './fake.js';

test('what is declared for TypeScript is exported, and nothing else', async () => {
  const declared = await readFile(new URL('../src/index.d.ts', import.meta.url), 'utf8');
  const names = [...declared.matchAll(/^export declare (?:class|function|const) (\w+)/gm)].map((m) => m[1]);
  assert.deepEqual(names.sort(), Object.keys(await import('../src/index.js')).sort());
});

test('a stamp dominates when every part does', () => {
  assert.ok(dominates('1.5.2.0', '1.5.2.0'));
  assert.ok(dominates('1.10.2.0', '1.9.2.0'), 'numbers, not text');
  assert.ok(!dominates('1.5.1.0', '1.4.2.0'), 'neither of the two does');
  assert.ok(!dominates('1.4.2.0', '1.5.1.0'));
  assert.deepEqual(parseStamp('1.9007199254740991.0.7'), [1, 9007199254740991, 0, 7]);
});

for (const bad of ['', '1.2.3', '1.2.3.4.5', '1.2.3.x', '1.2.3.-4', '1. 2.3.4', '1.9007199254740993.0.0']) {
  test(`${JSON.stringify(bad)} is no stamp`, () => assert.throws(() => parseStamp(bad), TypeError));
}

test('waits double up to their bound, and are spread over its upper half', () => {
  const low = new Backoff({ min: 100, max: 1000, random: () => 0 });
  const high = new Backoff({ min: 100, max: 1000, random: () => 1 });
  assert.deepEqual(Array.from({ length: 6 }, () => low.next()), [50, 100, 200, 400, 500, 500]);
  assert.deepEqual(Array.from({ length: 6 }, () => high.next()), [100, 200, 400, 800, 1000, 1000]);
  low.reset();
  assert.equal(low.next(), 50);
  for (let i = 0; i < 5000; i++) assert.ok(low.next() <= 1000);
  const least = new Backoff({ min: 100, max: 1000, random: () => 0 });
  assert.deepEqual([least.next(700), least.next(), least.next(5000), least.next()], [350, 100, 500, 400]);
  assert.throws(() => new Backoff({ min: 0 }), RangeError);
  assert.throws(() => new Backoff({ min: 10, max: 5 }), RangeError);
});

test('an observable tells its value at once and then each change', () => {
  const o = new Observable(1);
  const seen = [];
  const stop = o.subscribe((v) => seen.push(v));
  const later = [];
  o.listen((v) => later.push(v));
  o.set(2);
  o.set(2);
  stop();
  o.set(3);
  assert.deepEqual(seen, [1, 2]);
  assert.deepEqual(later, [2, 3]);
});

test('a listener that sets a newer value is not followed by the older one', () => {
  const o = new Observable(0);
  o.listen((v) => { if (v === 1) o.set(2); });
  const seen = [];
  o.listen((v) => seen.push(v));
  o.set(1);
  assert.deepEqual(seen, [2]);
});

test('before a snapshot nothing is known, and an update of nothing is nothing', () => {
  const empty = new Inbox();
  assert.equal(empty.known, false);
  assert.equal(empty.with({ ...channel('a', 3), totals: totals(3) }), empty);
});

test('a snapshot replaces, an update replaces one channel and the totals', () => {
  const first = Inbox.of(inbox([channel('a', 1), channel('b', 2)]));
  const next = first.with({ ...channel('a', 5), totals: totals(7) });
  assert.equal(first.channels.get('a').unread, 1, 'the old picture is as it was');
  assert.equal(next.channels.get('a').unread, 5);
  assert.equal(next.badge, 7);
  assert.ok(!('totals' in next.channels.get('a')));
  assert.deepEqual([...Inbox.of(inbox([channel('b', 0)])).channels.keys()], ['b']);
});

test('an update that is older than what is here changes nothing', () => {
  const at = Inbox.of(inbox([channel('a', 1, { stamp: '1.9.4.0' })]));
  assert.equal(at.with({ ...channel('a', 9, { stamp: '1.8.4.0' }), totals: totals(9) }), at);
  assert.equal(at.with(channel('a', 2, { stamp: '1.9.5.0' })).channels.get('a').unread, 2, 'newer');
  assert.equal(at.with(channel('a', 3, { stamp: '1.8.9.0' })).channels.get('a').unread, 3, 'neither dominates: either may stand');
  assert.equal(at.with(channel('a', 1, { stamp: '1.9.4.0', muted: true })).channels.get('a').muted, true, 'the same stamp');
  assert.equal(at.with(channel('a', 4)).channels.get('a').unread, 4, 'without one, the order of arrival holds');
});

test('who leaves a channel has it no more; threads are apart from channels', () => {
  const at = Inbox.of({ ...inbox([channel('a', 1)]), threads: [{ channel_id: 'a', thread_id: 't', unread: 2, mentions: 0 }] });
  const left = at.with({ ...channel('a', 0), member: false, totals: totals(0) });
  assert.equal(left.channels.size, 0);
  const read = at.with({ channel_id: 'a', thread_id: 't', unread: 0, mentions: 0, totals: totals(1) });
  assert.equal(read.threads.get('a\0t').unread, 0);
  assert.equal(read.channels.get('a').unread, 1);
  assert.equal(at.with({ channel_id: 'a', thread_id: 't', unread: 0, mentions: 0, followed: false }).threads.size, 0);
});

test('the badge is channels and threads; unread comes first, then what is newest, then by id', () => {
  const at = (s) => ({ latest: { seq: 1, at: `2026-01-01T00:00:0${s}.000Z` } });
  const i = Inbox.of({
    type: 'inbox',
    channels: [channel('old', 0, at(1)), channel('b', 0, at(5)), channel('a', 0, at(5)), channel('unread', 1, at(0)), channel('never', 0)],
    totals: totals(1, { thread_unread: 4 }),
  });
  assert.equal(i.badge, 5);
  assert.deepEqual(i.sorted.map((c) => c.channel_id), ['unread', 'a', 'b', 'old', 'never']);
});
