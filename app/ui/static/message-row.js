// One message: its author, its text, its status, and its buttons.

import { avatar, h, icon } from '/ui/dom.js';
import { SMALL } from '/ui/device.js';
import { VOICE, hideMessage, isVoice, play, setLine } from '/ui/said.js';
import { among, calls, count, exactTime, names, plural, timeOf, title } from '/ui/words.js';

/** Replies are read in their thread, and the page gets no other user's pointer in a thread. */
const inThreadOnly = (m) => m.thread_id && !m.broadcast;

function ticks(device, m) {
  if (inThreadOnly(m)) return undefined;
  if (m.sender_id !== device.user || m.silent || m.deleted) return undefined;
  const { members } = device.app.messages.channel(device.selected);
  if (members.length > SMALL || members.length < 2) return undefined;
  const status = device.statusOf(m);
  return h('span', { class: `ticks ${status}`, role: 'img', 'aria-label': status, title: status },
    h('svg', { viewBox: '0 0 20 12', 'aria-hidden': 'true' }, h('path', { d: 'M2 6l3.500 4L12 2' }), status !== 'sent' && h('path', { d: 'M9 9l1 1L17 2' })));
}

function readBy(device, m, last) {
  if (inThreadOnly(m) || m.deleted || m.silent || (m.sender_id !== device.user && !last)) return undefined;
  const who = device.readersOf(m);
  if (!who.length) return undefined;
  return h('button', {
    class: 'read-by', type: 'button', tabindex: '-1', title: `Read by ${names(who)}`, 'aria-label': `Read by ${who.length}: ${names(who)}`, 'data-names': names(who),
    onclick: () => device.app.showReceipts(device, m, who),
  }, who.slice(0, 3).map((u) => avatar(u, 'dotty')), `Read by ${count(who.length)}`);
}

/** A voice message: everybody may play it, and its sender sees who did. */
function voice(device, m) {
  if (!isVoice(m) || !device.app.can('messages_viewed')) return undefined;
  if (m.sender_id === device.user) {
    if (!device.viewed.has(m.message_id)) void device.loadViewed(m);
    const who = [...device.viewed.get(m.message_id) ?? []].filter((u) => u !== m.sender_id).sort();
    return who.length > 0 && h('button', {
      key: 'played', class: 'read-by played', type: 'button', tabindex: '-1', title: `Played by ${names(who)}`, 'aria-label': `Played by ${who.length}: ${names(who)}`, onclick: () => device.app.showReceipts(device, m, who),
    }, icon('play'), `Played by ${count(who.length)}`);
  }
  const played = device.viewed.get(m.message_id)?.has(device.user);
  return h('button', { key: 'play', class: 'chip', type: 'button', tabindex: '-1', 'aria-pressed': String(Boolean(played)), onclick: () => play(device, m) }, icon('play'), played ? 'Played' : 'Play');
}

/** Text without invisible characters: a control character would be drawn as an empty box. */
const spoken = (text) => String(text ?? '').replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g, '·');

/** Text with its mentions highlighted. */
function body(m, device) {
  if (m.deleted) return h('span', { class: 'gone' }, 'deleted');
  const parts = calls(spoken(isVoice(m) ? m.preview.replace(VOICE, '') : m.preview), among(device.app.messages.channel(device.selected).members));
  return [isVoice(m) && h('span', { class: 'voice', role: 'img', 'aria-label': 'Voice message' }, icon('mic'))].concat(parts
    .map((part) => (part.user ? h('bdi', { class: `called ${part.user === device.user ? 'me' : ['all', 'channel'].includes(part.user) ? 'all' : ''}` }, part.text) : part)));
}

export function message(device, m, before, options) {
  const { thread, replies, last } = options;
  if (m.silent) return h('li', { key: m.message_id, class: 'message silent', 'data-id': m.message_id }, h('span', { dir: 'auto' }, spoken(m.preview) || 'something changed'), h('time', {}, timeOf(m.at)));
  const joined = before && !before.silent && before.sender_id === m.sender_id && m.at - before.at < 300_000 && !options.broken;
  const own = m.sender_id === device.user;
  const called = own ? '' : m.mentions?.includes(device.user) ? 'called-me' : m.mention_all && !device.channel?.ignore_mention_all ? 'called-all' : '';
  const [sent, read, played] = [ticks(device, m), readBy(device, m, last), voice(device, m)];
  const foot = replies > 0 || read || played;
  const tool = (label, sign, fn) => h('button', { class: 'tool', type: 'button', tabindex: '-1', 'aria-label': label, title: label, onclick: fn }, icon(sign));
  return h('li', { key: m.message_id, class: `message ${joined ? 'joined' : ''} ${own ? 'own' : ''} ${called}`, 'data-id': m.message_id, tabindex: '-1' },
    joined ? h('time', { class: 'side', title: exactTime(m.at) }, timeOf(m.at)) : avatar(m.sender_id),
    h('div', { class: 'message-main' },
      !joined && h('div', { class: 'by' }, h('b', { dir: 'auto', title: title(m.sender_id) }, title(m.sender_id)), h('time', { title: exactTime(m.at) }, timeOf(m.at)),
        m.broadcast && h('span', { class: 'tag' }, 'reply')),
      h('div', { class: 'text', dir: 'auto' }, body(m, device), m.edited && !m.deleted && h('span', { class: 'tag' }, ' edited'), !foot && sent),
      foot && h('div', { class: 'foot' },
        sent, read, played,
        replies > 0 && !thread && h('button', { class: 'replies', type: 'button', tabindex: '-1', onclick: () => device.openThread(m.message_id) }, icon('thread'), plural(replies, 'reply', 'replies')))),
    h('div', { class: 'tools' },
      !m.deleted && tool('Mark unread from here', 'unread', () => device.markUnread(m)),
      !thread && !m.deleted && tool('Reply in thread', 'reply', () => device.openThread(m.message_id)),
      !thread && device.app.can('line_set') && tool('Put your line here', 'mark', () => setLine(device, m)),
      device.app.can('messages_hidden') && tool('Hide for you', 'hide', () => hideMessage(device, m)),
      own && !m.deleted && tool('Delete', 'close', () => device.erase(m))));
}

/** Up and down move through the messages, right and left through the buttons of one: a list is
 * one stop of the Tab key. */
export function messageKeys(e) {
  const at = e.target.closest('.message');
  const go = (list, from, step) => list[Math.max(0, Math.min(list.length - 1, from + step))];
  const step = { ArrowDown: 1, ArrowUp: -1, Home: -Infinity, End: Infinity }[e.key];
  const across = { ArrowRight: 1, ArrowLeft: -1 }[e.key];
  let to;
  if (step !== undefined) {
    const all = [...e.currentTarget.querySelectorAll('.message')];
    to = at ? go(all, all.indexOf(at), step) : all.at(e.key === 'Home' ? 0 : -1);
  } else if (across && at) to = go([at, ...at.querySelectorAll('button')], [at, ...at.querySelectorAll('button')].indexOf(e.target), across);
  if (!to) return;
  to.focus();
  e.preventDefault();
}
