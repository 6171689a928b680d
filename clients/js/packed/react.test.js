// Runs beside the packed module and React, as in a project that installed both: see
// package_test.go.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Inbox, TidemarkClient } from '@tidemark/client';
import { TidemarkProvider, useBadge, useConnectionState, useInbox, useThreadUnread, useTidemark, useUnread } from '@tidemark/client/react';
import { Tidemark } from '@tidemark/client/server';
import { createElement as h } from 'react';
import { act, create } from 'react-test-renderer';

globalThis.IS_REACT_ACT_ENVIRONMENT = true;

const snapshot = (...unread) => Inbox.of({
  channels: unread.map((n, i) => ({ channel_id: `c${i}`, member: true, unread: n, mentions: 0, stamp: '4.1.0.0' })),
  threads: [{ channel_id: 'c0', thread_id: 't', unread: 2, mentions: 0 }],
  totals: { unread: unread.reduce((a, b) => a + b, 0), mentions: 0, unread_channels: 1, thread_unread: 0, thread_mentions: 0, badge: unread.reduce((a, b) => a + b, 0) },
});

/** Renders a component below a provider. */
async function draw(client, render) {
  const drawn = [];
  const Component = () => { drawn.push(render()); return null; };
  let root;
  await act(() => { root = create(h(TidemarkProvider, { client }, h(Component))); });
  return { drawn, unmount: () => act(() => root.unmount()) };
}

test('a badge is drawn when it is known, and again when it changes', async () => {
  const client = new TidemarkClient();
  const { drawn, unmount } = await draw(client, useBadge);
  assert.deepEqual(drawn, [undefined]); // no zero
  await act(() => client.inbox.set(snapshot(3, 1)));
  await act(() => client.inbox.set(client.inbox.value.with({ channel_id: 'c0', member: true, unread: 0, mentions: 0, stamp: '4.2.0.0' }))); // with the same totals
  await act(() => client.inbox.set(snapshot(0, 1)));
  assert.deepEqual(drawn, [undefined, 4, 1]);
  await unmount();
  await act(() => client.inbox.set(snapshot(7)));
  assert.deepEqual(drawn, [undefined, 4, 1]);
});

test('a channel is drawn again when it changes, and not when another one does', async () => {
  const client = new TidemarkClient();
  const { drawn } = await draw(client, () => useUnread('c1')?.unread);
  await act(() => client.inbox.set(snapshot(3, 1)));
  await act(() => client.inbox.set(client.inbox.value.with({ channel_id: 'c0', member: true, unread: 9, mentions: 0, stamp: '4.2.0.0' })));
  await act(() => client.inbox.set(client.inbox.value.with({ channel_id: 'c1', member: true, unread: 2, mentions: 0, stamp: '4.2.0.0' })));
  await act(() => client.inbox.set(client.inbox.value.with({ channel_id: 'c1', member: false, stamp: '4.3.0.0' })));
  assert.deepEqual(drawn, [undefined, 1, 2, undefined]);
});

test('the other hooks', async () => {
  const client = new TidemarkClient();
  const { drawn } = await draw(client, () => ({
    client: useTidemark(), known: useInbox().known, thread: useThreadUnread('c0', 't')?.unread, state: useConnectionState(),
  }));
  await act(() => client.inbox.set(snapshot(1)));
  await act(() => client.state.set('open'));
  assert.deepEqual(drawn, [
    { client, known: false, thread: undefined, state: 'closed' }, { client, known: true, thread: 2, state: 'closed' },
    { client, known: true, thread: 2, state: 'open' },
  ]);
});

test('another client is followed instead', async () => {
  const [one, two] = [new TidemarkClient(), new TidemarkClient()];
  one.inbox.set(snapshot(1));
  two.inbox.set(snapshot(2));
  const drawn = [];
  const Badge = () => { drawn.push(useBadge()); return null; };
  let root;
  await act(() => { root = create(h(TidemarkProvider, { client: one }, h(Badge))); });
  await act(() => root.update(h(TidemarkProvider, { client: two }, h(Badge))));
  await act(() => one.inbox.set(snapshot(7)));
  await act(() => two.inbox.set(snapshot(3)));
  assert.deepEqual(drawn, [1, 2, 3]);
});

test('a hook without a provider says what is missing', async () => {
  const Badge = () => { useBadge(); return null; };
  const error = console.error;
  console.error = () => {}; // React repeats it
  try {
    await assert.rejects(async () => { await act(() => { create(h(Badge)); }); }, /TidemarkProvider/);
  } finally {
    console.error = error;
  }
});

test('the server part is there', () => { assert.equal(typeof new Tidemark().publish, 'function'); });
