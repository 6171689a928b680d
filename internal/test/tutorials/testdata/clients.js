// Runs the programs of docs/clients.md and clients/js/README.md that are written for a page, with a stand-in for it.

import assert from 'node:assert/strict';
import { Tidemark } from '@tidemark/client/server';
import { createElement } from 'react';
import { act, create } from 'react-test-renderer';

console.error = () => {}; // the renderer says that it is deprecated
globalThis.document = { visibilityState: 'visible', addEventListener() {}, removeEventListener() {} };
globalThis.fetchToken = async () => '';
globalThis.icon = {};

const deadline = Date.now() + 120_000;
const until = async (is, what) => {
  while (!await is()) {
    if (Date.now() > deadline) throw new Error(`not yet: ${what}`);
    await new Promise((resolve) => { setTimeout(resolve, 5); });
  }
};

const tidemark = new Tidemark({ url: 'http://127.0.0.1:8080' });
await tidemark.join('general', 'ann', 'bob');
const post = (id) => tidemark.post('general', { message_id: id, sender_id: 'bob', preview: 'lunch?' });
const unread = async () => (await tidemark.unread('ann', 'general')).unread;
await post('m1');

// The short program paints the badge, which counts the server's message too.
globalThis.icon = {};
await import('./short.js');
await until(() => icon.textContent === '2', 'the short program paints 2');
const done = ['short'];

// The full one reads m1, then marks it unread, so both are as before.
globalThis.icon = {};
const lists = [];
const heard = [];
globalThis.drawList = (list) => lists.push(list);
globalThis.append = (m) => heard.push(m.message_id);
globalThis.messageId = 'm1';
await import('./full.js');
await until(() => icon.textContent === '2' && lists.length > 0, 'the full program paints 2');
await post('m2'); // the channel is in focus: it is read at once, and passed on
await until(() => heard.includes('m2'), 'the full program hears of m2');
done.unshift('full');

globalThis.IS_REACT_ACT_ENVIRONMENT = true;
const { App } = await import('./out/App.js');
let drawn;
await act(() => { drawn = create(createElement(App)); });
assert.equal(drawn.root.findAllByType('b').length, 0, 'a badge is drawn before it is known');
const want = async () => `${(await tidemark.inbox('ann')).totals.badge} general ${await unread()}`;
await until(async () => {
  await act(() => new Promise((resolve) => { setTimeout(resolve, 5); }));
  const shown = (type) => drawn.root.findAllByType(type)[0]?.children.map((c) => c.children?.join('') ?? c).join('');
  return `${shown('b')} ${shown('li')}` === await want();
}, 'React draws the badge and the channel');
console.log([...done, 'drawn'].join(' '));
process.exit(0);
