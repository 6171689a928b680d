// Search for a user, a channel or a message: among what the page remembers while the user types,
// and in the node by exact id.

import { own, query } from '/ui/api.js';
import { avatar, h, icon } from '/ui/dom.js';
import { channel, message, person } from '/ui/look.js';
import { open } from '/ui/sheet.js';
import { channelName, count, isDirect, plural, timeOf, title } from '/ui/words.js';

const PAUSE = 120; // milliseconds without a key before the node is asked
const AT_ONCE = 8; // channels that are searched for a message at the same time

/** Opens the search. */
export function search(app) {
  const s = new Search(app);
  s.sheet = open('Search', () => s.render());
}

class Search {
  typed = '';
  text = '';
  found = []; // {kind, key, title, more, open}
  at = 0; // the entry that Enter opens
  go = false; // Enter came before the answer: the first entry opens
  state = ''; // the text below the field
  answered = false; // the current text was answered
  everywhere = false; // Enter searches the channels of the users on the page for a message
  #timer;
  #asked = 0;

  constructor(app) { this.app = app; }

  type(text) {
    this.typed = text;
    this.text = text.trim();
    this.at = 0;
    this.go = false;
    this.answered = false;
    this.everywhere = false;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.#ask(), PAUSE);
  }

  async #ask() {
    const n = ++this.#asked;
    const { text } = this;
    if (!text) {
      this.#show([], '');
      return;
    }
    const [near, exact] = await Promise.all([own(`search?q=${encodeURIComponent(text)}`).catch((err) => ({ error: err.message })), this.#exact(text)]);
    if (n !== this.#asked) return; // the text has changed meanwhile
    const list = new Map();
    const put = (x) => { if (!list.has(x.key)) list.set(x.key, x); };
    exact.forEach(put);
    near.people?.forEach((p) => put(this.#person(p.user_id, plural(p.channels, 'channel'))));
    near.channels?.forEach((c) => put(this.#channel(c.channel_id, plural(c.members, 'member'))));
    near.messages?.forEach((m) => put(this.#message(m.channel_id, m.message_id, m)));
    const all = [...list.values()].sort((a, b) => order.indexOf(a.kind) - order.indexOf(b.kind));
    this.#show(all, near.error ?? (all.length ? '' : this.#nothing(text)));
    this.everywhere = !near.error && !all.length && this.#channels().length > 0 && !/\s/.test(text);
  }

  /** The channels of the users on the page. */
  #channels() { return [...new Set(this.app.devices.flatMap((d) => [...d.inbox.channels.keys()]))]; }

  #nothing(text) {
    const channels = this.#channels();
    const more = /\s/.test(text) ? '' : ` A message that this page has not seen is found with its channel before it: general ${text}.${channels.length ? ` Enter asks ${channels.length === 1 ? 'the only channel' : `the ${count(channels.length)} channels`} of the people on this page for it.` : ''}`;
    return `No user, channel or message is called ${text}.${more}`;
  }

  /** Searches all channels of the users on the page for a message with this id. */
  async #inAllChannels() {
    const n = ++this.#asked;
    const { text } = this;
    const channels = this.#channels();
    this.everywhere = false;
    this.state = `Asking ${plural(channels.length, 'channel')} \u2026`;
    this.app.redraw();
    const found = [];
    for (let i = 0; i < channels.length && n === this.#asked; i += AT_ONCE) {
      found.push(...await Promise.all(channels.slice(i, i + AT_ONCE).map((id) => this.#inChannel(id, text))));
    }
    if (n === this.#asked) this.#show(found.flat(), found.flat().length ? '' : `No channel of the people on this page has a message ${text}.`);
  }

  /** Asks the node by exact ids: one id for a user or a channel, two for a message in a channel. */
  async #exact(text) {
    const [channelId, id, more] = text.split(/\s+/);
    if (more) return [];
    if (id) return this.#inChannel(channelId, id);
    const [c, u] = await Promise.all([
      query('GetChannel', { channel_id: text }).catch(() => undefined),
      query('GetInbox', { user_id: text, archived: 'all', page_size: 1 }).catch(() => undefined),
    ]);
    return [u?.channels.length && this.#person(text, ''), c && this.#channel(text, plural(c.member_count, 'member'))].filter(Boolean);
  }

  async #inChannel(channelId, id) {
    const x = await query('GetReceipts', { channel_id: channelId, message_id: id, page_size: 1 }).catch(() => undefined);
    return x ? [this.#message(channelId, id, this.app.messages.channel(channelId).byId.get(id))] : [];
  }

  #person(user, more) { return { kind: 'Users', key: `u ${user}`, title: title(user), more, sign: avatar(user, 'tiny'), open: () => person(this.app, user) }; }

  #channel(id, more) {
    return { kind: 'Channels', key: `c ${id}`, title: channelName(id), more: isDirect(id) ? `${id}, ${more}` : more, sign: h('span', { class: 'hash', 'aria-hidden': 'true' }, '#'), open: () => channel(this.app, id) };
  }

  #message(channelId, id, m) {
    return { kind: 'Messages', key: `m ${channelId} ${id}`, title: m?.preview || id, more: `${id} in ${channelName(channelId)}${m?.at ? `, ${timeOf(m.at)}` : ''}`, sign: icon('thread'), open: () => message(this.app, channelId, id) };
  }

  #show(found, state) {
    this.found = found;
    this.state = state;
    this.answered = true;
    if (this.go) found[0]?.open();
    this.go = false;
    this.app.redraw();
  }

  #keys(e) {
    const step = { ArrowDown: 1, ArrowUp: -1 }[e.key];
    if (step) {
      this.at = Math.max(0, Math.min(this.found.length - 1, this.at + step));
      this.app.redraw();
      requestAnimationFrame(() => document.getElementById(`found-${this.at}`)?.scrollIntoView({ block: 'nearest' }));
    } else if (e.key === 'Enter') {
      if (this.answered && this.everywhere) void this.#inAllChannels();
      else if (this.answered) this.found[this.at]?.open();
      else this.go = true;
    } else return;
    e.preventDefault();
  }

  render() {
    const { found } = this;
    let kind;
    const items = found.flatMap((x, i) => {
      const head = x.kind !== kind && h('li', { key: x.kind, class: 'found-kind', role: 'presentation' }, kind = x.kind);
      return [head, h('li', { key: x.key, id: `found-${i}`, class: 'found', role: 'option', 'aria-selected': String(i === this.at), onclick: () => x.open() },
        x.sign, h('span', { class: 'found-title', dir: 'auto' }, x.title), h('span', { class: 'note', dir: 'auto' }, x.more))];
    });
    return [
      h('input', {
        key: 'field', class: 'say find', type: 'text', inputmode: 'search', name: 'q', autofocus: true, autocomplete: 'off', spellcheck: 'false', placeholder: 'ann, general, or general m-42',
        value: this.typed, role: 'combobox', 'aria-label': 'A user, a channel, or a message', 'aria-expanded': String(found.length > 0), 'aria-controls': 'found', 'aria-autocomplete': 'list', 'aria-activedescendant': found.length ? `found-${this.at}` : undefined,
        oninput: (e) => this.type(e.currentTarget.value), onkeydown: (e) => this.#keys(e),
      }),
      h('ul', { key: 'found', id: 'found', class: 'founds', role: 'listbox', 'aria-label': 'Found', hidden: !found.length }, items),
      h('p', { key: 'state', class: 'note', role: 'status' }, this.state || (found.length ? '\u2191 \u2193 choose, Enter opens' : this.text && !this.answered ? 'Searching …' : 'Any id that the node knows, in full; or a part of one that this page has seen.')),
    ];
  }
}

const order = ['Users', 'Channels', 'Messages'];
