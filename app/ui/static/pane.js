// A device on the page: its user, the channel list, and beside it what is open.

import { channelList } from '/ui/channel-list.js';
import { conversation } from '/ui/conversation.js';
import { explain } from '/ui/explain.js';
import { avatar, h, icon } from '/ui/dom.js';
import { markAll } from '/ui/settings.js';
import { capped, count, hue, title } from '/ui/words.js';

const states = { open: 'online', connecting: 'connecting', waiting: 'connecting', closed: 'offline' };

/** Shown on connected devices while a partition is not served. */
export const STOPPED = 'Some numbers may be old: a partition that they need is not served now.';

/** A device. */
export function pane(device) {
  const { inbox } = device;
  // A connection that opens and has no inbox yet, after others have failed, does not count: the
  // state would flicker.
  const state = device.online ? (device.away ? 'connecting' : states[device.client.state.value]) : 'offline';
  const name = title(device.user);
  const total = inbox.badge;
  const threads = inbox.totals.thread_unread;
  return h('section', {
    key: device.id, id: device.id, class: `device ${device.active ? 'active' : ''} ${state} show-${device.pane}`, 'aria-label': `${name}'s ${device.kind}, ${state}`,
    'data-user': device.user, 'data-kind': device.kind,
    onpointerdown: (e) => device.app.activate(device, e.target), onfocusin: (e) => device.app.activate(device, e.target), vars: { '--hue': hue(device.user) },
  },
  h('header', { class: 'device-head' },
    h('span', { class: 'who' }, avatar(device.user), h('span', { class: `presence ${state}`, 'aria-hidden': 'true' })),
    h('div', { class: 'name' }, h('h2', { dir: 'auto', title: name }, name), h('span', { class: 'kind' }, icon(device.kind), device.kind, state !== 'online' && h('b', { class: 'state' }, state === 'offline' ? 'offline' : 'connecting …'))),
    inbox.known && h('button', {
      class: `count total ${inbox.totals.mentions ? 'mention' : ''} ${total ? '' : 'none'}`, type: 'button', 'data-total': total,
      'aria-label': total ? `${count(total)} unread in all: explain` : 'Nothing unread: explain', title: 'What this number is made of', onclick: () => explain(device),
    }, capped(total)),
    h('span', { class: 'head-tools' },
      h('button', { class: 'plain', type: 'button', 'aria-label': 'Mark all read', title: 'Mark all read', disabled: !device.anything, onclick: () => markAll(device) }, icon('readall')),
      h('button', {
        class: 'plain threads-button', type: 'button', 'aria-label': threads ? `Threads, ${threads} unread` : 'Threads', title: 'Threads', 'aria-pressed': String(device.panel === 'threads'),
        onclick: () => (device.panel === 'threads' ? device.closePanel() : device.openThreads()),
      }, icon('thread'), threads > 0 && h('span', { class: 'pip' }, capped(threads))),
      h('button', { class: 'switch', type: 'button', role: 'switch', 'aria-checked': String(device.online), 'aria-label': `${name}'s ${device.kind} is online`, title: device.online ? 'Take offline' : 'Go online', onclick: () => device.setOnline(!device.online) }, h('span', { class: 'knob' })),
      h('button', { class: 'plain', type: 'button', 'aria-label': `Remove this device of ${name}`, title: 'Remove', onclick: () => device.app.remove(device) }, icon('close')))),
  device.away && h('p', { key: 'away', class: 'away-why' }, `${device.away.why} It is tried again by itself.`,
    device.away.says && h('span', { class: 'away-says', dir: 'ltr' }, `The node says: ${device.away.says}`)),
  device.connected && device.app.stopped && h('p', { key: 'stopped', class: 'away-why' }, STOPPED,
    h('span', { class: 'away-says', dir: 'ltr' }, `The node says: ${device.app.stopped}`)),
  device.error && h('p', { key: 'trouble', class: 'trouble', role: 'alert' }, device.error),
  h('div', { class: 'device-body' }, channelList(device), conversation(device)));
}
