// Formats of numbers, times and names.

const number = new Intl.NumberFormat('en');
const clock = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit' });
const exact = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit', second: '2-digit', fractionalSecondDigits: 3 });
const seconds = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit', second: '2-digit' });
const date = new Intl.DateTimeFormat('en-GB', { weekday: 'long', day: 'numeric', month: 'long' });

export const count = (n) => number.format(n);
export const capped = (n) => (n > 99 ? '99+' : String(n));
export const plural = (n, one, many = `${one}s`) => `${count(n)} ${n === 1 ? one : many}`;
export const timeOf = (at) => clock.format(new Date(at));
export const secondsOf = (at) => seconds.format(new Date(at));
export const exactTime = (at) => exact.format(new Date(at));
const day = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short' });

/** An exact time, with the day unless it is today. */
export const exactWhen = (at) => `${new Date(at).toDateString() === new Date().toDateString() ? '' : `${day.format(new Date(at))} `}${exactTime(at)}`;
const soon = new Intl.DateTimeFormat('en-GB', { weekday: 'short', hour: '2-digit', minute: '2-digit' });

/** The end of something: the time of day if it is today. */
export const untilOf = (at) => (new Date(at).toDateString() === new Date().toDateString() ? clock : soon).format(new Date(at));
export const dayOf = (at) => date.format(new Date(at));

const graphemes = new Intl.Segmenter('en', { granularity: 'grapheme' });

/** The initial of a name: one character, or a whole emoji even if it has several code points. */
export const initial = (name) => graphemes.segment(name || '·')[Symbol.iterator]().next().value.segment.toUpperCase();

export const title = (user) => (user ? user[0].toUpperCase() + user.slice(1) : 'system');

export const isDirect = (id) => id.startsWith('dm:');

/** The other users of a direct channel. */
export const others = (id, user) => id.slice(3).split(':').filter((u) => u !== user);

/** The name of a channel: for a direct channel, its other users. */
export const channelName = (id, user) => (isDirect(id) && others(id, user).map(title).join(', ')) || id;

/** "ann, bob and cleo". */
export function names(list, most = 12) {
  const shown = list.slice(0, most).map(title);
  if (list.length > most) shown.push(`${count(list.length - most)} more`);
  return shown.length < 2 ? shown.join('') : `${shown.slice(0, -1).join(', ')} and ${shown.at(-1)}`;
}

/** Splits a text: a mention (`@` and a name that `find` knows) becomes {user, text}. A name may
 * contain any characters, like ids, so the longest known name wins; an address
 * (`ann@example.com`) is no mention. */
export function calls(text, find) {
  const parts = [];
  let from = 0;
  for (const m of text.matchAll(/@(\S+)/g)) {
    if (m.index < from || /[\p{L}\p{N}]$/u.test(text.slice(0, m.index))) continue;
    for (let n = m[1].length; n > 0; n--) {
      const user = /^[\p{L}\p{N}]/u.test(m[1].slice(n)) ? undefined : find(m[1].slice(0, n));
      if (!user) continue;
      parts.push(text.slice(from, m.index), { user, text: `@${m[1].slice(0, n)}` });
      from = m.index + 1 + n;
      break;
    }
  }
  parts.push(text.slice(from));
  return parts.filter(Boolean);
}

/** Finds a mentioned user among the known ones, whatever the case: the page shows names with a
 * capital letter, and users type them so. */
export const among = (people) => (name) => [name, name.toLowerCase()].find((n) => n === 'all' || n === 'channel' || people.includes(n));

/** A stable hue for a name. */
export function hue(name) {
  let x = 0x811c9dc5;
  for (const c of name) x = Math.imul(x ^ c.codePointAt(0), 0x01000193) >>> 0;
  return Math.round(((x >>> 8) % 997) * 137.508) % 360;
}

export function bytes(n) {
  for (const unit of ['B', 'KiB', 'MiB', 'GiB']) {
    if (n < 1024 || unit === 'GiB') return `${n < 10 && unit !== 'B' ? n.toFixed(1) : Math.round(n)} ${unit}`;
    n /= 1024;
  }
  return '';
}

/** Seconds in a readable unit: 850 µs, 12 ms, 3.1 s. */
export function duration(s) {
  if (!Number.isFinite(s)) return '–';
  if (s < 0.001) return `${Math.round(s * 1e6)} µs`;
  if (s < 1) return `${s < 0.01 ? (s * 1e3).toFixed(1) : Math.round(s * 1e3)} ms`;
  return s < 120 ? `${s.toFixed(1)} s` : `${Math.round(s / 60)} min`;
}

export const rate = (n) => (n >= 100 ? count(Math.round(n)) : n.toFixed(n < 10 && n > 0 ? 1 : 0));

/** A URL without its scheme. */
export const hostOf = (url) => url.replace(/^https?:\/\//, '');

const compact = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 });

/** A number for little space: 1.2K. */
export const short = (n) => compact.format(n);
