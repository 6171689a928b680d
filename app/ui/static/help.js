// What the page says of itself: its keys, and what its signs mean.

import { h } from '/ui/dom.js';
import { show } from '/ui/sheet.js';

const KEYS = [
  ['?', 'this help'],
  ['Alt 1 to Alt 6', 'go to a device'],
  ['\u2191 \u2193', 'go to another channel of a list, or to another message'],
  ['\u2192 \u2190', 'go to a number of the channel, or to an action of the message'],
  ['Enter', 'open what has the focus'],
  ['Tab', 'go on: each list is one stop'],
  ['Escape', 'close what is open'],
];

const SIGNS = [
  ['a channel', 'Click it to read it. Only the device that you have in your hands reads.'],
  ['a number', 'Unread messages. Click it to see which they are, and why others do not count.'],
  ['@ and a number', 'Those of them that mention this person.'],
  ['offline', 'Unread messages that came while no device of this person was online.'],
  ['Read by', 'Who has received and who has read a message, and when. Click it.'],
];

const list = (rows, key) => h('dl', { class: 'pairs' }, rows.map(([what, why]) => h('div', { key: what }, h('dt', {}, key ? h('kbd', {}, what) : what), h('dd', {}, why))));

/** Opens the help. */
export const help = () => show('Keys and signs', [h('h3', {}, 'Keys'), list(KEYS, true), h('h3', {}, 'Signs'), list(SIGNS, false)]);
