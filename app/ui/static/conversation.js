// What is open on a device: the messages of a channel, a thread, or the list of threads, and their
// scroll positions.

import { h, icon } from '/ui/dom.js';
import { explain } from '/ui/explain.js';
import { message, messageKeys } from '/ui/message-row.js';
import { levelWords } from '/ui/said.js';
import { hasSettings, settings } from '/ui/settings.js';
import { capped, channelName, count, dayOf, isDirect, names, plural, title } from '/ui/words.js';

const line = (device, n) => h('li', { key: 'the line', class: 'line' }, h('span', {}, n > 1 ? `${capped(n)} new` : 'New'));

function messageItems(device) {
  const c = device.app.messages.channel(device.selected);
  const replies = new Map();
  for (const m of c.messages) if (m.thread_id && !m.deleted && !device.hides(m)) replies.set(m.thread_id, (replies.get(m.thread_id) ?? 0) + 1);
  const shown = c.messages.filter((m) => (!m.thread_id || m.broadcast) && !device.hides(m)).slice(-200);
  const mine = device.channel?.line?.message_id;
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
      items.push(h('li', { key: `day ${d}`, class: 'edge' }, d));
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
    if (m.message_id === mine) {
      items.push(h('li', { key: 'my line', class: 'line mine' }, h('span', {}, icon('mark'), 'Your line')));
      before = undefined;
    }
  }
  return { items, loaded: c.loaded, empty: c.loaded && !shown.length };
}

/** Stays at the end while the end is visible, and scrolls to a message on request. */
function scroller(device, channel) {
  return (el) => {
    if (el.dataset.channel !== channel) el.dataset.channel = channel;
    device.visible = el.offsetParent !== null;
    const { jump } = device;
    if (jump && jump !== 'end') {
      const target = (jump === device.line && el.querySelector('.line:not(.mine)')) || el.querySelector(`[data-id="${CSS.escape(jump)}"]`);
      if (!target && !device.app.messages.channel(channel).loaded) return; // not drawn yet
      device.jump = '';
      el.scrollTop = target ? placeIn(el, target) : el.scrollHeight; // the message may be older than the kept ones
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

/** Scrolls an opened thread to its unread line, otherwise to its end, and stays at the end while
 * that is visible. */
function threadScroller(device, length) {
  const settle = (el) => {
    const was = Number(el.dataset.drawn ?? 0); // height of the list at the last drawing
    const opened = el.dataset.thread !== device.thread;
    if (opened && length < 2) return; // only the root is there yet
    const start = opened && el.querySelector('.line');
    if (start) el.scrollTop = placeIn(el, start);
    else if (opened || was - el.scrollTop - el.clientHeight < 40) el.scrollTop = el.scrollHeight;
    el.dataset.thread = device.thread;
    el.dataset.drawn = el.scrollHeight;
  };
  return (el) => queueMicrotask(() => settle(el)); // elements that are drawn below it change its height
}

/** The scroll position at which an item is a third below the top of its list. */
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
      if (!await device.post(text, thread)) input.value ||= text; // keep the text, unless the user already types the next one
    },
  },
  h('input', { class: 'say', 'aria-label': to, placeholder: to, dir: 'auto', autocomplete: 'off', maxlength: '140', enterkeyhint: 'send' }),
  h('button', { class: 'send', type: 'submit', 'aria-label': 'Send' }, icon('send')));
}

function threadView(device) {
  const id = device.thread;
  const c = device.app.messages.channel(device.selected);
  const list = c.messages.filter((m) => (m.message_id === id || m.thread_id === id) && !device.hides(m));
  const entry = device.threadEntry(id);
  return h('section', { class: 'thread', key: 'thread', 'aria-label': `Thread on ${title(device.user)}'s ${device.kind}` },
    h('header', { class: 'thread-head' },
      h('button', { class: 'plain', type: 'button', 'aria-label': 'Close the thread', onclick: () => device.closePanel() }, icon('back')),
      h('h3', {}, 'Thread'),
      entry?.unread > 0 && h('button', { class: 'count', type: 'button', 'aria-label': `${entry.unread} unread in this thread: explain`, onclick: () => explain(device, device.selected, id) }, capped(entry.unread)),
      h('button', { class: 'chip', type: 'button', 'aria-pressed': String(Boolean(entry)), onclick: () => device.follow(id, !entry) }, entry ? 'Following' : 'Follow')),
    h('div', { class: 'messages', role: 'log', 'aria-label': `Messages of the thread, ${title(device.user)}'s ${device.kind}`, tabindex: '0', onkeydown: messageKeys, ref: threadScroller(device, list.length) },
      h('ol', {}, list.map((m, i) => {
        const first = i > 0 && m.message_id === device.threadLine;
        return [first && line(device, device.threadCount), message(device, m, i > 1 && !first ? list[i - 1] : undefined, { thread: true, last: i === list.length - 1 })];
      }))),
    composer(device, id));
}

function threadList(device) {
  const all = new Map([...device.threads, ...device.inbox.threads.values()].map((t) => [`${t.channel_id} ${t.thread_id}`, t]));
  const list = [...all.values()].sort((a, b) => Number(b.unread > 0) - Number(a.unread > 0) || Date.parse(b.last_reply?.at ?? 0) - Date.parse(a.last_reply?.at ?? 0));
  return h('section', { class: 'thread', key: 'threads', 'aria-label': `Threads on ${title(device.user)}'s ${device.kind}` },
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

/** The open channel, a thread over it, or the list of threads. */
export function conversation(device) {
  if (device.panel === 'threads') return h('div', { class: 'conversation', key: 'threads' }, threadList(device));
  const { inbox } = device;
  if (!device.selected) return h('div', { class: 'conversation', key: 'none' }, inbox.channels.size > 0 && h('p', { class: 'empty middle' }, 'Pick a channel.'));
  const id = device.selected;
  const name = channelName(id, device.user);
  const { items, loaded, empty } = messageItems(device);
  const c = device.channel;
  const { members } = device.app.messages.channel(id);
  const level = levelWords(c);
  const waiting = (c?.unread > 0 || c?.flagged) && (device.kept || !device.atBottom || !device.active || !device.attentive);
  return h('div', { class: 'conversation', key: `in ${id}` },
    h('header', { class: 'conversation-head' },
      h('button', { class: 'plain only-narrow', type: 'button', 'aria-label': 'Back to the channels', onclick: () => device.showList() }, icon('back')),
      h('h3', {}, !isDirect(id) && h('span', { class: 'hash', 'aria-hidden': 'true' }, '#'), h('bdi', {}, name)),
      h('span', { class: 'members', title: names(members, 30) }, isDirect(id) || !members.length ? '' : plural(members.length, 'member')),
      (c?.archived || level) && h('span', { key: 'said', class: 'tag said' }, [c.archived ? 'archived' : '', level].filter(Boolean).join(', ')),
      c?.line?.message_id && h('button', { key: 'line', class: 'plain', type: 'button', 'aria-label': 'Go to your line', title: 'Your line', onclick: () => device.jumpTo(c.line.message_id) }, icon('mark')),
      h('button', { key: 'mute', class: 'plain', type: 'button', 'aria-pressed': String(Boolean(c?.muted)), 'aria-label': c?.muted ? `Unmute ${name}` : `Mute ${name}`, title: c?.muted ? 'Muted: left out of the badge' : 'Mute', onclick: () => device.mute(id, !c?.muted) }, icon(c?.muted ? 'mute' : c?.level === 'MENTIONS' ? 'some' : 'bell')),
      c && hasSettings(device.app) && h('button', { key: 'settings', class: 'plain', type: 'button', 'aria-label': `Settings of ${name}`, title: 'Settings', onclick: () => settings(device, id) }, icon('more'))),
    h('div', { class: `banner ${waiting ? 'shown' : ''}`, 'aria-hidden': waiting ? undefined : 'true', inert: !waiting },
      h('span', {}, device.kept ? 'Kept: ' : '', h('b', {}, c?.unread || !c?.flagged ? `${count(c?.unread ?? 0)} unread` : 'marked as unread')),
      c?.unread > 0 && h('button', { key: 'oldest', class: 'chip', type: 'button', onclick: () => device.jumpToOldest() }, icon('up'), 'Oldest'),
      c?.mentions > 0 && h('button', { key: 'mention', class: 'chip', type: 'button', 'aria-label': 'First mention', title: 'To the first mention', onclick: () => void device.jumpToMention() }, icon('at'), '@'),
      h('button', { key: 'read', class: 'chip', type: 'button', onclick: () => device.markRead() }, icon('check'), 'Mark read')),
    h('div', { class: 'messages', role: 'log', 'aria-label': `Messages in ${name}, ${title(device.user)}'s ${device.kind}`, tabindex: '0', 'data-channel': id, onkeydown: messageKeys, onscroll: onScroll(device), ref: scroller(device, id) },
      items.length > 0 && h('ol', { key: 'list' }, items),
      empty && h('p', { key: 'empty', class: 'empty middle' }, 'Nothing was said here yet.'),
      !loaded && h('div', { key: 'skeleton', class: 'skeleton' }, [4, 7, 5, 6, 3].map((n) => h('span', { class: `bar w${n}` })))),
    device.thread && threadView(device),
    composer(device));
}
