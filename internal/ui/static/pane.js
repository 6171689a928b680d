// What a device shows: the channel list, the messages, the threads.

import { explain } from '/ui/explain.js';
import { h, icon } from '/ui/dom.js';
import { SMALL } from '/ui/device.js';
import { among, calls, capped, channelName, count, dayOf, exactTime, hue, initial, isDirect, names, others, plural, timeOf, title } from '/ui/words.js';

export const avatar = (user, size = '') => h('span', { class: `avatar ${size}`, 'aria-hidden': 'true', vars: { '--hue': hue(user) } }, initial(user));

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

/** Replies are read in their thread, and nobody's thread pointer but one's own is told to a page. */
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

/** Text without what has no shape: a control character would be drawn as an empty box. */
const spoken = (text) => String(text ?? '').replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g, '·');

/** Text with names that are called set apart. */
function body(m, device) {
  if (m.deleted) return h('span', { class: 'gone' }, 'deleted');
  return calls(spoken(m.preview), among(device.app.messages.channel(device.selected).members))
    .map((part) => (part.user ? h('bdi', { class: `called ${[device.user, 'all', 'channel'].includes(part.user) ? 'me' : ''}` }, part.text) : part));
}

function message(device, m, before, options) {
  const { thread, replies, last } = options;
  if (m.silent) return h('li', { key: m.message_id, class: 'message silent', 'data-id': m.message_id }, h('span', { dir: 'auto' }, spoken(m.preview) || 'something changed'), h('time', {}, timeOf(m.at)));
  const joined = before && !before.silent && before.sender_id === m.sender_id && m.at - before.at < 300_000 && !options.broken;
  const own = m.sender_id === device.user;
  const called = !own && (m.mention_all || m.mentions?.includes(device.user));
  const [sent, read] = [ticks(device, m), readBy(device, m, last)];
  const foot = replies > 0 || read;
  const tool = (label, sign, fn) => h('button', { class: 'tool', type: 'button', tabindex: '-1', 'aria-label': label, title: label, onclick: fn }, icon(sign));
  return h('li', { key: m.message_id, class: `message ${joined ? 'joined' : ''} ${own ? 'own' : ''} ${called ? 'called-me' : ''}`, 'data-id': m.message_id, tabindex: '-1' },
    joined ? h('time', { class: 'side', title: exactTime(m.at) }, timeOf(m.at)) : avatar(m.sender_id),
    h('div', { class: 'message-main' },
      !joined && h('div', { class: 'by' }, h('b', { dir: 'auto', title: title(m.sender_id) }, title(m.sender_id)), h('time', { title: exactTime(m.at) }, timeOf(m.at)),
        m.broadcast && h('span', { class: 'tag' }, 'reply')),
      h('div', { class: 'text', dir: 'auto' }, body(m, device), m.edited && !m.deleted && h('span', { class: 'tag' }, ' edited'), !foot && sent),
      foot && h('div', { class: 'foot' },
        sent, read,
        replies > 0 && !thread && h('button', { class: 'replies', type: 'button', tabindex: '-1', onclick: () => device.openThread(m.message_id) }, icon('thread'), plural(replies, 'reply', 'replies')))),
    h('div', { class: 'tools' },
      !m.deleted && tool('Mark unread from here', 'unread', () => device.markUnread(m)),
      !thread && !m.deleted && tool('Reply in thread', 'reply', () => device.openThread(m.message_id)),
      own && !m.deleted && tool('Delete', 'close', () => device.erase(m))));
}

/** Up and down go through the messages, right and left through what can be done with one: a list is one stop of the Tab key. */
function messageKeys(e) {
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

const line = (device, n) => h('li', { key: 'the line', class: 'line', role: 'separator', 'aria-label': 'New messages below' }, h('span', {}, n > 1 ? `${capped(n)} new` : 'New'));

function messageItems(device) {
  const c = device.app.messages.channel(device.selected);
  const replies = new Map();
  for (const m of c.messages) if (m.thread_id && !m.deleted) replies.set(m.thread_id, (replies.get(m.thread_id) ?? 0) + 1);
  const shown = c.messages.filter((m) => !m.thread_id || m.broadcast).slice(-200);
  const items = [];
  if (c.more && shown.length) items.push(h('li', { key: 'more', class: 'edge' }, 'Older messages are not kept by this page.'));
  let before;
  let day = '';
  const lineAt = device.line ? c.byId.get(device.line)?.index ?? -1 : Infinity;
  let drawn = lineAt === Infinity;
  for (const [i, m] of shown.entries()) {
    const d = dayOf(m.at);
    let broken = false;
    if (d !== day) {
      items.push(h('li', { key: `day ${d}`, class: 'edge', role: 'separator' }, d));
      day = d;
      broken = true;
    }
    if (!drawn && m.index >= lineAt && lineAt >= 0) {
      items.push(line(device, device.channel?.unread || device.lineCount));
      drawn = true;
      broken = true;
    }
    items.push(message(device, m, broken ? undefined : before, { replies: replies.get(m.message_id) ?? 0, last: i === shown.length - 1, broken }));
    before = m;
  }
  return { items, loaded: c.loaded, empty: c.loaded && !shown.length };
}

/** Keeps the end in sight while it is, and goes where somebody asked to go. */
function scroller(device, channel) {
  return (el) => {
    if (el.dataset.channel !== channel) el.dataset.channel = channel;
    device.visible = el.offsetParent !== null;
    const { jump } = device;
    if (jump && jump !== 'end') {
      const target = el.querySelector('.line') ?? el.querySelector(`[data-id="${CSS.escape(jump)}"]`);
      if (!target && !device.app.messages.channel(channel).loaded) return; // not drawn yet
      device.jump = '';
      el.scrollTop = target ? placeIn(el, target) : el.scrollHeight; // it may be older than what is kept
    } else if (jump === 'end' || (device.atBottom && !device.thread)) {
      el.scrollTop = el.scrollHeight;
      if (el.querySelector('.message')) device.jump = '';
    }
    const atBottom = el.scrollHeight - el.scrollTop - el.clientHeight < 40;
    if (atBottom !== device.atBottom) {
      device.atBottom = atBottom;
      device.app.redraw();
    }
    if (atBottom) device.look();
  };
}

/** Puts a thread that was opened where its reading had stopped, else to its end; there it stays while the end is in sight. */
function threadScroller(device, length) {
  const settle = (el) => {
    const was = Number(el.dataset.drawn ?? 0); // height of the list when it was drawn last
    const opened = el.dataset.thread !== device.thread;
    if (opened && length < 2) return; // not there yet, or nothing but the root
    const start = opened && el.querySelector('.line');
    if (start) el.scrollTop = placeIn(el, start);
    else if (opened || was - el.scrollTop - el.clientHeight < 40) el.scrollTop = el.scrollHeight;
    el.dataset.thread = device.thread;
    el.dataset.drawn = el.scrollHeight;
  };
  return (el) => queueMicrotask(() => settle(el)); // what is drawn below it takes of its height
}

/** Where a list is scrolled to so that an item of it stands a third below its top. */
const placeIn = (el, item) => Math.max(0, el.scrollTop + item.getBoundingClientRect().top - el.getBoundingClientRect().top - el.clientHeight / 3);

function onScroll(device) {
  return (e) => {
    const el = e.currentTarget;
    const atBottom = el.scrollHeight - el.scrollTop - el.clientHeight < 40;
    if (atBottom === device.atBottom) return;
    device.atBottom = atBottom;
    device.look();
    device.app.redraw();
  };
}

function composer(device, thread) {
  const to = thread ? 'Reply in thread' : `Message ${isDirect(device.selected) ? '' : '#'}${channelName(device.selected, device.user)}`;
  return h('form', {
    class: 'composer', key: `composer ${thread ?? ''}`, onsubmit: async (e) => {
      e.preventDefault();
      const input = e.currentTarget.querySelector('input');
      const text = input.value.trim();
      if (!text) return;
      input.value = '';
      if (!await device.post(text, thread)) input.value ||= text; // not lost, unless somebody goes on writing
    },
  },
  h('input', { class: 'say', 'aria-label': to, placeholder: to, dir: 'auto', autocomplete: 'off', maxlength: '140', enterkeyhint: 'send' }),
  h('button', { class: 'send', type: 'submit', 'aria-label': 'Send' }, icon('send')));
}

function threadView(device) {
  const id = device.thread;
  const c = device.app.messages.channel(device.selected);
  const list = c.messages.filter((m) => m.message_id === id || m.thread_id === id);
  const entry = device.threadEntry(id);
  return h('section', { class: 'thread', key: 'thread', 'aria-label': 'Thread' },
    h('header', { class: 'thread-head' },
      h('button', { class: 'plain', type: 'button', 'aria-label': 'Close the thread', onclick: () => device.closePanel() }, icon('back')),
      h('h3', {}, 'Thread'),
      entry?.unread > 0 && h('button', { class: 'count', type: 'button', 'aria-label': `${entry.unread} unread in this thread: explain`, onclick: () => explain(device, device.selected, id) }, capped(entry.unread)),
      h('button', { class: 'chip', type: 'button', 'aria-pressed': String(Boolean(entry)), onclick: () => device.follow(id, !entry) }, entry ? 'Following' : 'Follow')),
    h('ol', { class: 'messages', role: 'log', 'aria-label': 'Messages of the thread', tabindex: '0', onkeydown: messageKeys, ref: threadScroller(device, list.length) },
      list.map((m, i) => {
        const first = i > 0 && m.message_id === device.threadLine;
        return [first && line(device, device.threadCount), message(device, m, i > 1 && !first ? list[i - 1] : undefined, { thread: true, last: i === list.length - 1 })];
      })),
    composer(device, id));
}

function threadList(device) {
  const all = new Map([...device.threads, ...device.inbox.threads.values()].map((t) => [`${t.channel_id} ${t.thread_id}`, t]));
  const list = [...all.values()].sort((a, b) => Number(b.unread > 0) - Number(a.unread > 0) || Date.parse(b.last_reply?.at ?? 0) - Date.parse(a.last_reply?.at ?? 0));
  return h('section', { class: 'thread', key: 'threads', 'aria-label': 'Threads' },
    h('header', { class: 'thread-head' },
      h('button', { class: 'plain', type: 'button', 'aria-label': 'Close', onclick: () => device.closePanel() }, icon('back')), h('h3', {}, 'Threads that you follow')),
    list.length
      ? h('ul', { class: 'thread-rows' }, list.map((t) => {
        const root = device.app.messages.channel(t.channel_id).byId.get(t.thread_id);
        return h('li', { key: `${t.channel_id} ${t.thread_id}`, class: t.unread ? 'unread' : '', 'data-thread': t.thread_id },
          h('button', { type: 'button', class: 'thread-row', onclick: () => { device.open(t.channel_id); device.openThread(t.thread_id); } },
            h('span', { class: 'thread-where' }, `#${channelName(t.channel_id, device.user)}`),
            h('span', { class: 'thread-root', dir: 'auto' }, root?.preview || t.thread_id),
            t.last_reply?.preview && h('span', { class: 'thread-last' }, h('bdi', {}, title(t.last_reply.sender_id)), ': ', h('bdi', {}, t.last_reply.preview))),
          t.unread > 0 && h('button', { class: 'count', type: 'button', 'aria-label': `${t.unread} unread: explain`, onclick: () => explain(device, t.channel_id, t.thread_id) }, capped(t.unread)));
      }))
      : h('p', { class: 'empty' }, 'None yet. Reply to a message, or follow a thread, and it is listed here with a count of its own.'));
}

function conversation(device) {
  if (device.panel === 'threads') return h('div', { class: 'conversation', key: 'threads' }, threadList(device));
  const { inbox } = device;
  if (!device.selected) return h('div', { class: 'conversation', key: 'none' }, inbox.channels.size > 0 && h('p', { class: 'empty middle' }, 'Pick a channel.'));
  const id = device.selected;
  const name = channelName(id, device.user);
  const { items, loaded, empty } = messageItems(device);
  const c = device.channel;
  const { members } = device.app.messages.channel(id);
  const waiting = c?.unread > 0 && (device.kept || !device.atBottom || !device.active || !device.attentive);
  return h('div', { class: 'conversation', key: `in ${id}` },
    h('header', { class: 'conversation-head' },
      h('button', { class: 'plain only-narrow', type: 'button', 'aria-label': 'Back to the channels', onclick: () => { device.blur(); device.pane = 'list'; device.app.redraw(); } }, icon('back')),
      h('h3', {}, !isDirect(id) && h('span', { class: 'hash', 'aria-hidden': 'true' }, '#'), h('bdi', {}, name)),
      h('span', { class: 'members', title: names(members, 30) }, isDirect(id) || !members.length ? '' : plural(members.length, 'member')),
      h('button', { class: 'plain', type: 'button', 'aria-pressed': String(Boolean(c?.muted)), 'aria-label': c?.muted ? `Unmute ${name}` : `Mute ${name}`, title: c?.muted ? 'Muted: left out of the badge' : 'Mute', onclick: () => device.mute(id, !c?.muted) }, icon(c?.muted ? 'mute' : 'bell'))),
    h('div', { class: `banner ${waiting ? 'shown' : ''}`, 'aria-hidden': waiting ? undefined : 'true', inert: !waiting },
      h('span', {}, device.kept ? 'Kept: ' : '', h('b', {}, `${count(c?.unread ?? 0)} unread`)),
      h('button', { class: 'chip', type: 'button', onclick: () => device.jumpToOldest() }, icon('up'), 'Oldest'),
      h('button', { class: 'chip', type: 'button', onclick: () => device.markRead() }, icon('check'), 'Mark read')),
    h('ol', { class: 'messages', role: 'log', 'aria-label': `Messages in ${name}`, tabindex: '0', 'data-channel': id, onkeydown: messageKeys, onscroll: onScroll(device), ref: scroller(device, id) }, items,
      empty && h('li', { key: 'empty', class: 'empty middle' }, 'Nothing was said here yet.'),
      !loaded && h('li', { key: 'skeleton', class: 'skeleton' }, [4, 7, 5, 6, 3].map((n) => h('span', { class: `bar w${n}` })))),
    device.thread && threadView(device),
    composer(device));
}

const states = { open: 'online', connecting: 'connecting', waiting: 'connecting', closed: 'offline' };

/** A device. */
export function pane(device) {
  const { inbox } = device;
  const state = device.online ? states[device.client.state.value] : 'offline';
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
  device.error && h('p', { class: 'trouble', role: 'alert' }, device.error),
  h('div', { class: 'device-body' }, channelList(device), conversation(device)));
}
