// A user's settings of a channel: its level, flag, labels and line, whether it is archived, and
// which messages are hidden or played.

import { query } from '/ui/api.js';
import { announce } from '/ui/dom.js';
import { channelName, untilOf } from '/ui/words.js';

/** How a channel enters the badge, in words. */
export const levels = { ALL: 'all messages', MENTIONS: 'mentions only', NONE: 'nothing: muted' };

const HOUR = 3_600_000;

/** How long a level may last: ends as milliseconds since 1970. */
export const spans = {
  hour: ['for an hour', () => Date.now() + HOUR],
  morning: ['until tomorrow, 8:00', () => { const d = new Date(); d.setDate(d.getDate() + 1); return d.setHours(8, 0, 0, 0); }],
};

/** The level of a channel in a few words; empty for the default, which counts everything
 * permanently. */
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

/** Flags a channel, even one without messages. The open channel keeps its flag, because the user
 * no longer looks at it. */
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

/** Hides a message from this user and their numbers, permanently. */
export function hideMessage(device, message) {
  device.app.hidden.add(device.user, device.selected, [message.message_id]);
  device.run(device.client.hide(device.selected, [message.message_id]));
  announce('Hidden for you');
}

/** Clears a channel for this user: all current messages. */
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

/** Reads a channel to its end, including its threads. */
export function readWithThreads(device, id) {
  const c = device.inbox.channels.get(id);
  const newest = device.app.messages.channel(id).messages.at(-1) ?? c?.latest;
  if (!newest) return;
  device.run(device.client.markRead(id, newest.message_id, { withThreads: true }));
  announce(`${named(device, id)} and its threads are marked read`);
}

/** The start of a voice message. */
export const VOICE = /^🎤\s*/u;
export const isVoice = (m) => !m.deleted && VOICE.test(m.preview ?? '');

export function play(device, message) {
  device.heard(message, device.user);
  device.run(device.client.viewed(device.selected, [message.message_id]));
  announce('Played');
}
