// The dialog with a user's settings of a channel, and the choices of "mark all read".

import { h, icon } from '/ui/dom.js';
import { clear, file, flag, levels, notify, readWithThreads, setLabels, spans } from '/ui/said.js';
import { open } from '/ui/sheet.js';
import { capped, channelName, isDirect, title, untilOf } from '/ui/words.js';

const said = ['notify_set', 'flag_set', 'channel_filed', 'messages_hidden', 'labels_set', 'with_threads'];

/** Whether the node accepts any setting of the dialog. */
export const hasSettings = (app) => said.some((kind) => app.can(kind));

/** Opens the settings of a channel. */
export function settings(device, id) {
  const name = `${isDirect(id) ? '' : '#'}${channelName(id, device.user)}`;
  open(`${name}, for ${title(device.user)}`, () => {
    const c = device.inbox.channels.get(id);
    return c && [
      device.app.can('notify_set') && notifications(device, c),
      device.app.can('labels_set') && labelsOf(device, c),
      buttons(device, c),
    ];
  });
}

function notifications(device, c) {
  const level = c.level ?? (c.muted ? 'NONE' : 'ALL');
  const say = (form) => {
    const { value } = form.elements.level;
    const span = form.elements.span.value;
    notify(device, c.channel_id, value, span === 'same' ? c.until : spans[span]?.[1]());
  };
  return h('form', { key: 'notifications', class: 'choices', onsubmit: (e) => e.preventDefault() },
    h('fieldset', {}, h('legend', {}, 'In the badge'),
      Object.entries(levels).map(([value, words]) => h('label', { key: value, class: 'choice' },
        h('input', { type: 'radio', name: 'level', value, checked: value === level, onchange: (e) => say(e.currentTarget.form) }), h('span', {}, words)))),
    h('label', { class: 'choice' }, h('span', {}, 'How long'), h('select', {
      name: 'span', class: 'pick', onchange: (e) => say(e.currentTarget.form), ref: (el) => { el.value = c.until ? 'same' : 'lasting'; }, // after its options
    },
    h('option', { value: 'lasting' }, 'for good'), c.until && h('option', { key: 'same', value: 'same' }, `until ${untilOf(c.until)}`),
    Object.entries(spans).map(([value, [words]]) => h('option', { key: value, value }, words)))),
    c.until && h('p', { key: 'then', class: 'note' }, `After that: ${levels[c.level_after ?? 'ALL']}.`),
    h('label', { class: 'choice' }, h('input', {
      type: 'checkbox', name: 'ignore', checked: Boolean(c.ignore_mention_all),
      onchange: (e) => notify(device, c.channel_id, level, c.until, e.currentTarget.checked),
    }), h('span', {}, '@all does not mention me')));
}

function labelsOf(device, c) {
  const own = c.own_labels ?? [];
  const given = (c.labels ?? []).filter((l) => !own.includes(l));
  const known = [...device.inbox.byLabel().keys()].filter((l) => !own.includes(l) && !given.includes(l));
  const chip = (label, pressed, fn) => h('button', { key: label, class: 'chip', type: 'button', 'aria-pressed': String(pressed), onclick: fn }, label, pressed && icon('close'));
  return h('form', {
    key: 'labels', class: 'choices', onsubmit: (e) => {
      e.preventDefault();
      const { label } = e.currentTarget.elements;
      const text = label.value.trim();
      label.value = '';
      if (text) setLabels(device, c.channel_id, [...new Set([...own, text])]);
    },
  },
  h('h3', {}, 'Labels'),
  (own.length > 0 || known.length > 0) && h('div', { class: 'actions' },
    own.map((l) => chip(l, true, () => setLabels(device, c.channel_id, own.filter((x) => x !== l)))),
    known.map((l) => chip(l, false, () => setLabels(device, c.channel_id, [...own, l])))),
  given.length > 0 && h('p', { class: 'note' }, `Of the channel: ${given.join(', ')}.`),
  h('div', { class: 'actions' }, h('input', { class: 'say', name: 'label', 'aria-label': 'A label of your own', placeholder: 'A label of your own', autocomplete: 'off', maxlength: '60' }),
    h('button', { class: 'chip', type: 'submit' }, icon('plus'), 'Add')));
}

function buttons(device, c) {
  const { app } = device;
  const id = c.channel_id;
  const button = (key, sign, text, why, fn) => h('button', { key, class: 'deed', type: 'button', 'data-deed': key, onclick: fn }, icon(sign), h('span', {}, text, why && h('small', {}, why)));
  return h('div', { key: 'deeds', class: 'deeds' },
    app.can('flag_set') && (c.flagged
      ? button('flag', 'flag', 'Take the mark off', '', () => flag(device, id, false))
      : button('flag', 'flag', 'Mark as unread', 'without moving what you have read', () => flag(device, id, true))),
    app.can('with_threads') && button('threads', 'readall', 'Mark read, with its threads', '', () => readWithThreads(device, id)),
    app.can('channel_filed') && (c.filed
      ? button('file', 'archive', 'Take out of the archive', '', () => file(device, id, false))
      : [button('file', 'archive', 'Archive', 'until somebody writes', () => file(device, id, true)),
        button('keep', 'pin', 'Archive for good', 'whatever is written', () => file(device, id, true, true))]),
    app.can('messages_hidden') && button('clear', 'clear', 'Clear this chat for me', 'all others keep it', () => void clear(device, id)));
}

/** Marks everything read: at once, or after a choice if there are labels or threads. */
export function markAll(device) {
  const labels = device.inbox.byLabel();
  const threads = device.app.can('with_threads');
  if (!labels.size && !(threads && device.inbox.totals.thread_unread)) {
    device.markAllRead({});
    return;
  }
  open(`What has ${title(device.user)} read?`, () => {
    const read = (label) => (e) => {
      device.markAllRead({ label, threads: Boolean(e.currentTarget.closest('form').elements.threads?.checked) });
      e.currentTarget.closest('dialog').close();
    };
    const button = (label, text, n) => h('button', { key: label || ' all', class: 'deed', type: 'button', 'data-read': label, onclick: read(label) },
      icon('readall'), h('span', {}, text), n > 0 && h('span', { class: 'pip' }, capped(n)));
    return h('form', { class: 'choices', onsubmit: (e) => e.preventDefault() },
      threads && h('label', { class: 'choice' }, h('input', { type: 'checkbox', name: 'threads' }), h('span', {}, 'their threads too')),
      h('div', { class: 'deeds' }, button('', 'Everything', device.inbox.badge), [...device.inbox.byLabel()].map(([label, t]) => button(label, label, t.badge))));
  });
}
