// The help of the page: its keys, and what its signs mean.

import { h, icon } from '/ui/dom.js';
import { open } from '/ui/sheet.js';

const KEYS = [
  ['?', 'this help'],
  ['1 to 4', 'go to a view: people, operators, nodes, compare'],
  ['/', 'search: a user, a channel, a message'],
  ['Alt 1 to Alt 6', 'go to a device'],
  ['\u2191 \u2193', 'go to another channel of a list, or to another message'],
  ['\u2192 \u2190', 'go to a number of the channel, or to an action of the message'],
  ['Enter', 'open what has the focus'],
  ['Tab', 'go on: each list is one stop'],
  ['Escape', 'close what is open'],
  ['Back', 'of the browser: close the last that was opened, or go back to the channel or view before'],
];

const PEOPLE = [
  ['a channel', 'Click it to read it. Only the device in use marks messages read.'],
  ['a number', 'Unread messages. Click it to see which messages count, and why others do not.'],
  ['@ and a number', 'The unread messages that mention this person.'],
  ['offline', 'Unread messages that came while no device of this person was online.'],
  ['Read by', 'Who has received and who has read a message, and when. Click it.'],
];

const OPERATORS = [
  ['live', 'The partition is folded and answers. “elsewhere”: another node owns it.'],
  ['position', 'The next offset of messages, of reads, of deliveries.'],
  ['behind', 'Records of the topics that are not folded yet.'],
  ['digest', 'Of all records of the store. Equal positions have equal digests.'],
  ['hot state', 'What the partition keeps in memory.'],
  ['dead letter', 'A record that could not be used. A replay writes it to its topic again.'],
  ['a heading of a table', 'Click it to sort by that column.'],
  ['\u2190 \u2192 on a chart', 'Go to a value.'],
];

const list = (rows, key) => h('dl', { class: 'pairs' }, rows.map(([what, why]) => h('div', { key: what }, h('dt', {}, key ? h('kbd', {}, what) : what), h('dd', {}, why))));

/** Opens the help. */
export const help = () => {
  const signs = /^#(operators|cluster)$/.test(location.hash) ? OPERATORS : PEOPLE;
  open('Keys and signs', [h('h3', {}, 'Keys'), list(KEYS, true), h('h3', {}, 'Signs'), list(signs, false)]);
};

const KEY = 'strip';
let shown = true;
try { shown = localStorage.getItem(KEY) !== 'closed'; } catch { /* a page may be denied its storage */ }

/** A line of help about the current view, until the user closes it. */
export function strip(redraw) {
  return shown && h('p', { key: 'strip', class: 'strip' },
    h('span', {}, h('b', {}, 'Click a channel to read it. Click a number to see why.'), h('span', { class: 'more' }, ' Each frame is a device of one person. '), ' ', h('button', { class: 'link', type: 'button', onclick: help }, 'Keys and signs')),
    h('button', {
      class: 'plain', type: 'button', 'aria-label': 'Close this line', title: 'Close', onclick: () => {
        shown = false;
        try { localStorage.setItem(KEY, 'closed'); } catch { /* as above */ }
        redraw();
      },
    }, icon('close')));
}
