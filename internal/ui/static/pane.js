// What a device shows: who it is, the channel list, and beside it what is open.

import { conversation } from '/ui/conversation.js';
import { explain } from '/ui/explain.js';
import { avatar, h, icon } from '/ui/dom.js';
import { capped, channelName, count, hue, isDirect, others, plural, title } from '/ui/words.js';

/** A number that can be asked what is behind it. */
function number(device, scope, n, kind, label) {
  return h('button', {
    key: kind === 'away' ? 'away' : 'unread', class: `count ${kind}`, type: 'button', tabindex: '-1', 'aria-label': `${label}: explain`, title: `${label}. Click: which messages these are.`,
    onclick: (e) => { e.stopPropagation(); explain(device, scope); },
  }, capped(n));
}

function row(device, c) {
  const name = channelName(c.channel_id, device.user);
  const here = c.channel_id === device.selected;
  const parts = [name, c.unread ? `${count(c.unread)} unread` : '', c.mentions ? plural(c.mentions, 'mention') : '',
    c.offline_unread ? `${count(c.offline_unread)} while offline` : '', c.muted ? 'muted' : ''].filter(Boolean);
  return h('li', { key: c.channel_id, class: `row ${here ? 'here' : ''} ${c.unread ? 'unread' : ''} ${c.muted ? 'muted' : ''}` },
    h('button', {
      class: 'row-open', type: 'button', 'data-channel': c.channel_id, 'aria-current': here ? 'true' : undefined, 'aria-label': parts.join(', '),
      tabindex: here || (!device.selected && device.inbox.sorted[0]?.channel_id === c.channel_id) ? '0' : '-1', onclick: () => device.open(c.channel_id),
    },
    h('span', { class: 'dot', 'aria-hidden': 'true' }),
    isDirect(c.channel_id) ? avatar(others(c.channel_id, device.user)[0] ?? device.user, 'tiny') : h('span', { class: 'hash', 'aria-hidden': 'true' }, '#'),
    h('span', { class: 'row-name', dir: 'auto' }, name),
    c.muted && h('span', { class: 'row-mute' }, icon('mute'))),
    (c.offline_unread > 0 || c.mentions > 0) && h('span', { class: 'row-more' },
      c.offline_unread > 0 && number(device, c.channel_id, c.offline_unread, 'away', `${count(c.offline_unread)} in ${name} that came while offline`),
      c.mentions > 0 && h('span', { key: 'at', class: 'at', title: plural(c.mentions, 'mention') }, `@${c.mentions > 1 ? capped(c.mentions) : ''}`)),
    c.unread > 0 && number(device, c.channel_id, c.unread, c.mentions ? 'mention' : '', `${count(c.unread)} unread in ${name}`));
}

/** Up and down go through the list; right goes to the number, left back. */
function listKeys(e) {
  const step = { ArrowDown: 1, ArrowUp: -1, Home: -Infinity, End: Infinity }[e.key];
  const li = e.target.closest('li');
  if (step !== undefined) {
    const all = [...e.currentTarget.querySelectorAll('.row-open')];
    const at = Math.max(0, Math.min(all.length - 1, all.indexOf(li?.querySelector('.row-open')) + step));
    all[at]?.focus();
  } else if (e.key === 'ArrowRight') li?.querySelector('.count')?.focus();
  else if (e.key === 'ArrowLeft') li?.querySelector('.row-open')?.focus();
  else return;
  e.preventDefault();
}

function channelList(device) {
  const { inbox } = device;
  return h('nav', { class: 'channels', 'aria-label': `Channels of ${title(device.user)}` },
    h('ul', { class: 'rows', onkeydown: listKeys }, inbox.sorted.map((c) => row(device, c))),
    inbox.known && !inbox.channels.size && h('p', { class: 'empty' }, `${title(device.user)} is in no channel yet.`),
    !inbox.known && h('div', { class: 'skeleton', 'aria-label': 'Loading' }, [5, 7, 4, 6].map((n) => h('span', { class: `bar w${n}` }))));
}

const states = { open: 'online', connecting: 'connecting', waiting: 'connecting', closed: 'offline' };

/** What those are told who are connected while a partition is not served. */
export const STOPPED = 'Some numbers may be those of before: a part of what they are made of is not served now.';

/** A device. */
export function pane(device) {
  const { inbox } = device;
  // A connection that opens and has no inbox yet, where others have failed, is none: it would come and go.
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
      h('button', { class: 'plain', type: 'button', 'aria-label': 'Mark all read', title: 'Mark all read', disabled: !total, onclick: () => device.markAllRead() }, icon('readall')),
      h('button', {
        class: 'plain threads-button', type: 'button', 'aria-label': threads ? `Threads, ${threads} unread` : 'Threads', title: 'Threads', 'aria-pressed': String(device.panel === 'threads'),
        onclick: () => { if (device.panel === 'threads') device.closePanel(); else { device.blur(); device.panel = 'threads'; device.pane = 'messages'; void device.loadThreads(); device.app.redraw(); } },
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
