// Runs the vectors that all clients share: clients/conformance.

import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { Backoff } from '../src/backoff.js';
import { Inbox, TidemarkClient, dominates, parseStamp } from '../src/index.js';
import { Tidemark } from '../server/index.js';

const vectors = async (name) => JSON.parse(await readFile(new URL(`../../conformance/${name}`, import.meta.url), 'utf8'));

test('stamps', async () => {
  const { dominates: pairs, malformed } = await vectors('stamps.json');
  for (const { a, b, is } of pairs) assert.equal(dominates(a, b), is, `${a} and ${b}`);
  for (const text of malformed) assert.throws(() => parseStamp(text), TypeError, JSON.stringify(text));
});

for (const v of await vectors('backoff.json')) {
  test(`backoff: ${v.name}`, () => {
    const b = new Backoff({ min: v.min * 1000, max: v.max * 1000, random: () => v.random });
    assert.deepEqual(v.asked.map((bound) => b.next(bound * 1000) / 1000), v.waits);
  });
}

test('times', async () => {
  const { options: o, backoff } = new TidemarkClient();
  const times = {
    quiet: o.quietTimeout, answer: o.answerTimeout, command: o.commandTimeout, stream_quiet: new Tidemark().quietTimeout,
    wait: { least: backoff.min, most: backoff.max },
  };
  assert.deepEqual(times, JSON.parse(JSON.stringify(await vectors('times.json')), (_, v) => (typeof v === 'number' ? v * 1000 : v)));
});

for (const v of await vectors('frames.json')) {
  test(`frames: ${v.name}`, () => {
    let inbox = new Inbox();
    for (const { type, ...frame } of v.frames) inbox = type === 'inbox' ? Inbox.of(frame) : inbox.with(frame);
    const unread = (map) => Object.fromEntries([...map].map(([k, x]) => [k.replace('\0', ' '), x.unread]));
    assert.deepEqual(
      { known: inbox.known, badge: inbox.badge ?? null, channels: unread(inbox.channels), threads: unread(inbox.threads),
        sorted: inbox.sorted.map((c) => c.channel_id), archived: inbox.archived.map((c) => c.channel_id) },
      { known: v.known, badge: v.badge, channels: v.channels, threads: v.threads, sorted: v.sorted, archived: v.archived },
    );
  });
}
