// Draws the component of docs/tutorials/react.md, against a node.

import assert from 'node:assert/strict';
import { Tidemark } from '@tidemark/client/server';
import { createElement } from 'react';
import { act, create } from 'react-test-renderer';

console.error = () => {}; // the renderer says that it is deprecated

globalThis.IS_REACT_ACT_ENVIRONMENT = true;
const tidemark = new Tidemark({ url: 'http://127.0.0.1:8080' });
await tidemark.join('general', 'ann', 'bob');
await tidemark.post('general', { message_id: 'm1', sender_id: 'bob', preview: 'lunch?' });

const { default: App } = await import('./out/App.js');
let root;
await act(() => { root = create(createElement(App)); });
assert.equal(root.root.findAllByType('b').length, 0, 'a badge is drawn before it is known');

const deadline = Date.now() + 120_000;
const until = async (what) => {
  for (;;) {
    await act(() => new Promise((resolve) => { setTimeout(resolve, 5); }));
    const found = what();
    if (found) return found;
    if (Date.now() > deadline) throw new Error(`still ${JSON.stringify(root.toJSON())}`);
  }
};
const badge = () => root.root.findAllByType('b')[0]?.children[0];
await until(() => badge() === '1');
const row = root.root.findByType('li');
assert.equal(row.children.join(''), 'general: 1');
await act(() => { row.props.onClick(); });
await until(() => badge() === undefined && root.root.findByType('li').children.join('') === 'general: 0');
console.log('drawn');
process.exit(0);
