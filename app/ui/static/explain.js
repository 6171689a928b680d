// The explanation of a number: the answer of ExplainUnread, as a sum and as the messages
// themselves.

import { CallError, query } from '/ui/api.js';
import { totalsOf } from '/ui/client/index.js';
import { copyable, quoted } from '/ui/copy.js';
import { h } from '/ui/dom.js';
import { levelWords } from '/ui/said.js';
import { open } from '/ui/sheet.js';
import { channelName, count, exactTime, isDirect, plural, timeOf, title } from '/ui/words.js';

const reasons = {
  own: ['own', 'written by this person'], deleted: ['deleted', 'taken back by whoever wrote them'], silent: ['silent', 'joins, renames and the like'],
  thread: ['in threads', 'replies count in their thread'], read_singly: ['read singly', 'read one by one, for instance from a notification'],
  before_join: ['before joining', 'history is not unread'], hidden: ['hidden', 'by this person, or not meant for them'],
};

/** Opens the explanation of a channel, of a thread, or of all of a user's numbers. `device` is a
 * device, or {user, app} for a user who has none on the page. */
export async function explain(device, channel, thread) {
  if (!channel) {
    open(`${title(device.user)}'s badge`, () => sum(device));
    return;
  }
  const name = `${isDirect(channel) ? '' : '#'}${channelName(channel, device.user)}${thread ? ', a thread' : ''}`;
  const label = `${title(device.user)} in ${name}`;
  const sheet = open(label, h('p', { class: 'empty' }, 'Asking …'));
  try {
    const x = await query('ExplainUnread', { user_id: device.user, channel_id: channel, ...(thread && { thread_id: thread }) });
    sheet.set(explained(device, channel, x));
  } catch (err) {
    sheet.set(h('p', { class: 'trouble' }, err instanceof CallError ? err.message : String(err)));
  }
}

/** What a channel adds to the badge, and why that differs from its unread number. */
function part(device, c) {
  const t = totalsOf([c], []);
  const level = levelWords(c);
  const why = c.archived ? 'archived: left out' : c.muted ? `${level}: left out` : [level, c.flagged && !t.unread ? 'marked as unread: 1' : ''].filter(Boolean).join(', ');
  return { c, n: t.badge, out: c.archived || c.muted, why };
}

function sum(device) {
  const { inbox } = device;
  const parts = [...inbox.sorted, ...inbox.archived].filter((c) => c.unread > 0 || c.flagged).map((c) => part(device, c));
  const threads = inbox.badge - parts.reduce((n, p) => n + p.n, 0);
  return [
    h('p', { class: 'result' }, h('b', {}, count(inbox.badge)), ' in the badge'),
    h('table', { class: 'sum' }, h('tbody', {},
      parts.map(({ c, n, out, why }) => h('tr', { key: c.channel_id, class: out ? 'left-out' : '' },
        h('th', { scope: 'row' }, h('button', { class: 'link', type: 'button', onclick: () => explain(device, c.channel_id) }, channelName(c.channel_id, device.user)), why && ` (${why})`),
        h('td', {}, count(out ? c.unread : n)))),
      threads > 0 && h('tr', { key: ' threads' }, h('th', { scope: 'row' }, 'threads'), h('td', {}, count(threads))),
      h('tr', { key: ' all', class: 'all' }, h('th', { scope: 'row' }, 'badge'), h('td', {}, count(inbox.badge))))),
    h('p', { class: 'note' }, 'The badge is the sum of its parts, from one reading. Click a channel to see the messages behind its number.'),
  ];
}

function explained(device, channel, x) {
  const c = device.app.messages.channel(channel);
  const left = Object.entries(reasons).filter(([k]) => x.excluded?.[k] > 0);
  const above = x.unread + left.reduce((n, [k]) => n + x.excluded[k], 0);
  const p = x.pointer;
  return [
    h('p', { class: 'result' }, h('b', { 'data-unread': x.unread }, count(x.unread)), ' unread'),
    h('table', { class: 'sum' }, h('tbody', {},
      h('tr', {}, h('th', { scope: 'row' }, 'messages after the read pointer'), h('td', {}, count(above))),
      left.map(([k, [name, why]]) => h('tr', { key: k }, h('th', { scope: 'row' }, name, h('small', {}, why)), h('td', {}, `− ${count(x.excluded[k])}`))),
      h('tr', { class: 'all' }, h('th', { scope: 'row' }, 'unread'), h('td', {}, count(x.unread))))),
    h('h3', {}, 'Read pointer'),
    p?.seq
      ? h('p', { class: 'fact' }, 'at message ', h('code', {}, p.message_id || `#${p.seq}`), p.at && `, read at ${exactTime(p.at)}`, p.event && [', put there by the record ', h('code', {}, p.event)])
      : h('p', { class: 'fact' }, 'Nothing was read yet.'),
    x.message_ids?.length > 0 && h('h3', {}, x.more ? `The first ${count(x.message_ids.length)}` : x.message_ids.length === 1 ? 'This message' : `These ${plural(x.message_ids.length, 'message')}`),
    h('ol', { class: 'evidence', tabindex: '0', 'aria-label': 'Messages' }, (x.message_ids ?? []).map((id) => {
      const m = c.byId.get(id);
      return h('li', { key: id }, m
        ? [h('b', { dir: 'auto' }, title(m.sender_id)), ' ', h('span', { dir: 'auto' }, m.preview), h('time', {}, timeOf(m.at))]
        : h('code', {}, id));
    })),
    x.unnamed > 0 && h('p', { class: 'fact' }, `${plural(x.unnamed, 'message')} without an id: seeded, or older than the index.`),
    copyable(`tidemark query explain ${quoted(device.user)} ${quoted(channel)}`),
  ];
}

