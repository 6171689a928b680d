// Compares the client's state after some frames with the expected state. The vectors come on
// standard input, from TestRandomVectorsOfTheJavaScriptClient and TestRandomVectorsOfLargeChannels
// of the gateway: the frames that a gateway sent to a device, and the state of the model.

import assert from 'node:assert/strict';
import { text } from 'node:stream/consumers';
import { TidemarkClient, totalsOf } from '../src/index.js';
import { hello, settled, sockets } from '../test/fake.js';

const seqOf = (ref) => ref?.seq ?? 0;

const channelOf = (c) => ({
  unread: c.unread, mentions: c.mentions, direct_mentions: c.direct_mentions ?? 0, offline_unread: c.offline_unread,
  first_unread: seqOf(c.first_unread), first_mention: seqOf(c.first_mention), latest: seqOf(c.latest), read_epoch: c.read_epoch,
  level: c.level ?? 'ALL', until: c.until ? Date.parse(c.until) : null, level_after: c.level_after ?? null, ignore_mention_all: c.ignore_mention_all ?? false,
  flagged: c.flagged ?? false, archived: c.archived ?? false, keep: c.filed?.keep ?? false, labels: c.labels ?? [], own_labels: c.own_labels ?? [],
});

const threadOf = (t) => ({
  unread: t.unread, mentions: t.mentions, direct_mentions: t.direct_mentions ?? 0, first_unread: seqOf(t.first_unread), read_epoch: t.read_epoch,
});

const all = (map, fn) => Object.fromEntries([...map].sort(([a], [b]) => (a < b ? -1 : 1)).map(([k, v]) => [k, fn(v)]));
const sorted = (object) => all(Object.entries(object), (v) => v);

async function compare(v) {
  const net = sockets();
  const c = new TidemarkClient({ url: 'ws://gateway.test/v1/socket', page: null, WebSocket: net.Socket });
  c.connect();
  await settled();
  const empty = { type: 'inbox', channels: [], threads: [], totals: totalsOf([], []) };
  net.last.says({ ...hello(), user_id: v.user }, ...(v.inbox ? [] : [empty]), ...v.frames);
  const inbox = c.inbox.value;
  const channels = all(inbox.channels, channelOf);
  for (const id of v.large ?? []) { // the first messages may be unknown
    for (const name of ['first_unread', 'first_mention']) if (channels[id]?.[name] === 0) channels[id][name] = v.channels[id][name];
  }
  for (const id of v.open ?? []) if (channels[id]) channels[id] = v.channels[id];
  assert.deepEqual(channels, sorted(v.channels));
  assert.deepEqual(all(inbox.threads, threadOf), sorted(v.threads));

  if (v.open?.length) v.at = [{ now: v.at[0].now, totals: totalsOf(inbox.channels.values(), inbox.threads.values(), { now: v.at[0].now }), by_label: Object.fromEntries(inbox.byLabel(v.at[0].now)) }];
  const [{ totals: first }] = v.at; // the gateway's clock does not move
  assert.equal(c.badge.value, first.badge);
  const { evaluated_at: _, flagged = 0, archived = { unread_channels: 0, mentions: 0 }, ...told } = inbox.totals;
  assert.deepEqual({ ...told, flagged, archived }, first);
  for (const { now, totals, by_label: byLabel } of v.at) {
    assert.deepEqual(totalsOf(inbox.channels.values(), inbox.threads.values(), { now }), totals, `at ${now}`);
    assert.deepEqual(Object.fromEntries(inbox.byLabel(now)), sorted(byLabel), `by label at ${now}`);
  }
  const listed = [...inbox.sorted, ...inbox.archived].map((x) => x.channel_id);
  assert.deepEqual(listed.sort(), [...inbox.channels.keys()].sort());

  for (const { label, threads, channels: marked } of v.marks ?? []) {
    const before = net.last.sent.length;
    c.markAllRead({ ...(label && { label }), threads }).catch(() => {}); // nobody answers
    const sent = net.last.sent.slice(before);
    const marks = Object.fromEntries(sent.map((f) => {
      if (f.type !== 'mark_read') return [f.channel_id, [0, inbox.channels.get(f.channel_id).read_epoch]]; // it removes a flag
      assert.equal(f.with_threads ?? false, threads);
      return [f.channel_id, [f.seq, f.read_epoch]];
    }));
    assert.deepEqual(sorted(marks), sorted(marked), `all read, label ${label}, threads ${threads}`);
  }
  c.close();
}

const vectors = JSON.parse(await text(process.stdin));
for (const v of vectors) {
  try {
    await compare(v);
  } catch (err) {
    console.log(`${v.name}: ${err.message}\n${JSON.stringify(v, null, 1)}`);
    process.exit(1);
  }
}
console.log(`${vectors.length} vectors`);
