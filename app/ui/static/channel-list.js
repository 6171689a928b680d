// The channels of a device, in groups, with their numbers and signs; archived channels are listed
// separately.

import { avatar, h, icon } from '/ui/dom.js';
import { explain } from '/ui/explain.js';
import { levelWords } from '/ui/said.js';
import { capped, channelName, count, isDirect, others, plural, title } from '/ui/words.js';

/** A number with a link to its explanation. */
function number(device, scope, n, kind, label) {
  return h('button', {
    key: kind === 'away' ? 'away' : 'unread', class: `count ${kind}`, type: 'button', tabindex: '-1', 'aria-label': `${label}: explain`, title: `${label}. Click: which messages these are.`,
    onclick: (e) => { e.stopPropagation(); explain(device, scope); },
  }, capped(n));
}

/** Mentions by name, and mentions of everybody: two signs. */
function mentionsOf(c) {
  const direct = Math.min(c.direct_mentions ?? 0, c.mentions);
  return { direct, all: c.mentions - direct };
}

function row(device, c) {
  const name = channelName(c.channel_id, device.user);
  const here = c.channel_id === device.selected;
  const { direct, all } = mentionsOf(c);
  const level = levelWords(c);
  const quiet = c.muted || c.level === 'MENTIONS';
  const parts = [name, c.unread ? `${count(c.unread)} unread` : '', c.flagged ? 'marked as unread' : '', direct ? `${plural(direct, 'mention')} of you` : '',
    all ? `${plural(all, 'mention')} of everybody` : '', c.offline_unread ? `${count(c.offline_unread)} while offline` : '', level,
    c.archived && c.filed?.keep ? 'archived for good' : ''].filter(Boolean);
  const focusable = here || (!device.selected && device.listed[0]?.channel_id === c.channel_id);
  return h('li', { key: c.channel_id, class: `row ${here ? 'here' : ''} ${c.unread || c.flagged ? 'unread' : ''} ${c.muted ? 'muted' : ''} ${quiet ? 'quiet' : ''} ${c.flagged ? 'flagged' : ''}` },
    h('button', {
      class: 'row-open', type: 'button', 'data-channel': c.channel_id, 'aria-current': here ? 'true' : undefined, 'aria-label': parts.join(', '),
      tabindex: focusable ? '0' : '-1', onclick: () => device.open(c.channel_id),
    },
    h('span', { class: 'dot', 'aria-hidden': 'true' }),
    isDirect(c.channel_id) ? avatar(others(c.channel_id, device.user)[0] ?? device.user, 'tiny') : h('span', { class: 'hash', 'aria-hidden': 'true' }, '#'),
    h('span', { class: 'row-name', dir: 'auto' }, name),
    level && h('span', { class: 'row-sign', title: level }, icon(c.muted ? 'mute' : c.level === 'MENTIONS' ? 'some' : 'bell'), c.until && icon('clock')),
    c.filed?.keep && h('span', { class: 'row-sign', title: 'Stays in the archive' }, icon('pin')),
    c.flagged && h('span', { class: 'row-flag', title: 'Marked as unread' }, icon('flag'))),
    (c.offline_unread > 0 || c.mentions > 0) && h('span', { class: 'row-more' },
      c.offline_unread > 0 && number(device, c.channel_id, c.offline_unread, 'away', `${count(c.offline_unread)} in ${name} that came while offline`),
      direct > 0 && h('span', { key: 'at', class: 'at', title: `${plural(direct, 'mention')} of you` }, `@${direct > 1 ? capped(direct) : ''}`),
      all > 0 && h('span', { key: 'all', class: 'at all', title: `${plural(all, 'mention')} of everybody` }, `@all${all > 1 ? ` ${capped(all)}` : ''}`)),
    c.unread > 0 && number(device, c.channel_id, c.unread, c.mentions ? 'mention' : '', `${count(c.unread)} unread in ${name}`));
}

/** Up and down move through the list; right moves to the number, left back. */
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

/** The labels of this user's channels, each with its badge: choosing one lists only its
 * channels. */
function groups(device) {
  const all = device.inbox.byLabel();
  if (!all.size || device.shelf) return undefined;
  const chip = (label, text, n) => h('button', {
    key: label || ' all', class: 'group', type: 'button', 'data-label': label, 'aria-pressed': String(device.group === label),
    'aria-label': `${text}, ${n ? `${count(n)} in its badge` : 'nothing new'}`, onclick: () => device.showGroup(label),
  }, h('span', { class: 'group-name', dir: 'auto' }, text), n > 0 && h('span', { class: 'pip' }, capped(n)));
  return h('div', { key: 'groups', class: 'groups', role: 'group', 'aria-label': 'Labels' },
    chip('', 'All', device.inbox.badge), [...all].map(([label, t]) => chip(label, label, t.badge)));
}

/** Opens the archive, and closes it. */
function shelf(device) {
  const { archived, inbox, group } = device;
  if (device.shelf) {
    return h('button', { key: 'shelf', class: 'shelf', type: 'button', onclick: () => device.showShelf(false) }, icon('back'), h('span', {}, 'Archived'));
  }
  if (!archived.length) return undefined;
  const { unread_channels: n = 0, mentions = 0 } = (group ? inbox.byLabel().get(group) : inbox.totals)?.archived ?? {};
  return h('button', {
    key: 'shelf', class: 'shelf', type: 'button', onclick: () => device.showShelf(true),
    'aria-label': `Archived: ${plural(archived.length, 'channel')}${n ? `, ${count(n)} unread` : ''}${mentions ? `, ${plural(mentions, 'mention')}` : ''}`,
  }, icon('archive'), h('span', {}, 'Archived'), mentions > 0 && h('span', { class: 'at' }, '@'), h('span', { class: 'shelf-count' }, n ? `${count(n)} of ${count(archived.length)} unread` : count(archived.length)));
}

export function channelList(device) {
  const { inbox, listed } = device;
  return h('nav', { class: 'channels', 'aria-label': `Channels on ${title(device.user)}'s ${device.kind}` },
    device.shelf && shelf(device),
    groups(device),
    h('ul', { key: 'rows', class: 'rows', 'aria-label': device.shelf ? 'Archived' : device.group || undefined, onkeydown: listKeys }, listed.map((c) => row(device, c))),
    device.shelf && h('p', { key: 'about', class: 'empty' }, listed.length ? 'Archived chats count in no number. The next message of somebody else brings a chat back, unless it is pinned here.' : 'Nothing is archived.'),
    !device.shelf && shelf(device),
    inbox.known && !inbox.channels.size && h('p', { key: 'none', class: 'empty' }, `${title(device.user)} is in no channel yet.`),
    !inbox.known && h('div', { key: 'skeleton', class: 'skeleton', 'aria-label': 'Loading' }, [5, 7, 4, 6].map((n) => h('span', { class: `bar w${n}` }))));
}
