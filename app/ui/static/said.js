// What a person says of a channel beside what they read: a level, a flag, that it is archived, labels, a line, what is hidden
// from them, and what they have played.

import { query } from '/ui/api.js';
import { announce } from '/ui/dom.js';
import { channelName, untilOf } from '/ui/words.js';

/** How a channel enters the badge, in words. */
export const levels = { ALL: 'all messages', MENTIONS: 'mentions only', NONE: 'nothing: muted' };

const HOUR = 3_600_000;

/** Until when a level may hold: milliseconds since 1970. */
export const spans = {
  hour: ['for an hour', () => Date.now() + HOUR],
  morning: ['until tomorrow, 8:00', () => { const d = new Date(); d.setDate(d.getDate() + 1); return d.setHours(8, 0, 0, 0); }],
};

/** The level of a channel in a few words; empty: all of it counts, for good. */
export function levelWords(c) {
  const level = c?.level ?? (c?.muted ? 'NONE' : 'ALL');
  const word = { ALL: 'all', MENTIONS: 'mentions only', NONE: 'muted' }[level];
  if (c?.until) return `${word} until ${untilOf(c.until)}`;
  return level === 'ALL' ? '' : word;
}

const named = (device, id) => channelName(id, device.user);

export function notify(device, id, level, until, ignoreMentionAll) {
  const end = until && new Date(until);
  device.run(device.client.notify(id, level, { ...(end && { until: end }), ...(ignoreMentionAll !== undefined && { ignoreMentionAll }) }));
  announce(`${named(device, id)}: ${levels[level]}${end ? ` until ${untilOf(end)}` : ''}`);
}

/** Marks a channel as to be seen, also one without any message. What is open stays flagged: nobody looks at it any more. */
export function flag(device, id, flagged) {
  if (flagged && id === device.selected) device.keepUnread();
  device.run(device.client.flag(id, flagged));
  announce(`${named(device, id)} is ${flagged ? 'marked as unread' : 'not marked any more'}`);
}

export function file(device, id, archived, keep = false) {
  device.run(device.client.file(id, archived, { keep }));
  announce(`${named(device, id)} is ${archived ? 'archived' : 'back in the list'}`);
}

export function setLabels(device, id, labels) {
  device.run(device.client.setLabels(id, labels));
  announce(`${named(device, id)}: ${labels.length ? `labels ${labels.join(', ')}` : 'no labels'}`);
}

export function setLine(device, message) {
  device.run(device.client.setLine(device.selected, message.message_id));
  announce(`Your line is below: ${message.preview}`);
}

/** Takes a message out of this person's numbers and sight, for good. */
export function hideMessage(device, message) {
  device.app.hidden.add(device.user, device.selected, [message.message_id]);
  device.run(device.client.hide(device.selected, [message.message_id]));
  announce('Hidden for you');
}

/** Clears a channel for this person: all messages that are there now. */
export async function clear(device, id) {
  const { messages } = device.app.messages.channel(id);
  await device.run((async () => {
    const { head_seq: head } = await query('GetChannel', { channel_id: id });
    if (!head) return;
    await device.client.hideUpTo(id, head);
    device.app.hidden.add(device.user, id, messages.map((m) => m.message_id));
    announce(`${named(device, id)} is cleared for you`);
  })());
}

/** Reads a channel to its end, with all of its threads. */
export function readWithThreads(device, id) {
  const c = device.inbox.channels.get(id);
  const newest = device.app.messages.channel(id).messages.at(-1) ?? c?.latest;
  if (!newest) return;
  device.run(device.client.markRead(id, newest.message_id, { withThreads: true }));
  announce(`${named(device, id)} and its threads are marked read`);
}

/** How a message begins that is to be played. */
export const VOICE = /^🎤\s*/u;
export const isVoice = (m) => !m.deleted && VOICE.test(m.preview ?? '');

export function play(device, message) {
  device.heard(message, device.user);
  device.run(device.client.viewed(device.selected, [message.message_id]));
  announce('Played');
}
