import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { Inbox, levelAt, totalsOf } from '../src/index.js';
import { channel, inbox, totals } from './fake.js';

// The gateway sums the same channels and threads, with the same results (view_test.go).
for (const v of JSON.parse(await readFile(new URL('../../conformance/totals.json', import.meta.url), 'utf8'))) {
  test(`totals: ${v.name}`, () => {
    const got = totalsOf(v.channels, v.threads, { now: v.now, label: v.label });
    assert.deepEqual(got, v.totals);
    if (v.label === undefined) return;
    const all = Inbox.of({ channels: v.channels, threads: v.threads });
    assert.deepEqual(all.byLabel(v.now).get(v.label), v.totals);
    assert.deepEqual([...all.byLabel(v.now).keys()], ['home', 'work']);
  });
}

test('the badge is the gateway\'s; one that is older tells none', () => {
  const told = Inbox.of({ ...inbox([channel('a', 3, { level: 'MENTIONS' })]), totals: totals(3, { badge: 0 }) });
  assert.equal(told.badge, 0);
  assert.equal(Inbox.of(inbox([channel('a', 3)])).badge, 3);
});

test('a plain mute is a level', () => {
  assert.equal(levelAt(channel('a', 1, { muted: true })), 'NONE');
  assert.equal(levelAt(channel('a', 1)), 'ALL');
});

test('archived channels are listed apart, and a flagged one is among the unread', () => {
  const at = (s) => ({ latest: { seq: 1, at: `2026-01-01T00:00:0${s}.000Z` } });
  const i = Inbox.of(inbox([channel('new', 0, at(5)), channel('flagged', 0, { ...at(1), flagged: true }), channel('filed', 7, { archived: true })]));
  assert.deepEqual(i.sorted.map((c) => c.channel_id), ['flagged', 'new']);
  assert.deepEqual(i.archived.map((c) => c.channel_id), ['filed']);
});
