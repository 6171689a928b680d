// Details of a user, a channel or a message, without a device on the page.

import { query } from '/ui/api.js';
import { copyable, quoted } from '/ui/copy.js';
import { avatar, h, icon } from '/ui/dom.js';
import { explain } from '/ui/explain.js';
import { hide, open } from '/ui/sheet.js';
import { channelName, count, exactTime, isDirect, plural, title } from '/ui/words.js';

const PAGE = 50;
const asking = () => h('p', { class: 'empty' }, 'Asking …');
const trouble = (err) => h('p', { class: 'trouble' }, err.message);
const named = (id) => `${isDirect(id) ? '' : '#'}${channelName(id)}`;

/** A list in pages: the entries that were read, and a button for more. */
class Pages {
  list = [];
  token = '';
  error = '';

  constructor(read, changed) { Object.assign(this, { read, changed }); }

  async more() {
    try {
      const { list, next } = await this.read(this.token);
      this.list.push(...list);
      this.token = next;
      this.error = '';
    } catch (err) {
      this.error = err.message;
    }
    this.changed();
  }

  render() {
    return [this.error && h('p', { key: 'error', class: 'trouble' }, this.error),
      this.token && h('p', { key: 'more', class: 'actions' }, h('button', { class: 'chip', type: 'button', onclick: () => void this.more() }, `Show ${PAGE} more`))];
  }
}

/** Opens a user: all of their channels, and a button that adds a device of theirs. */
export async function person(app, user) {
  const sheet = open(title(user), asking());
  let totals;
  const pages = new Pages(async (token) => {
    const x = await query('GetInbox', { user_id: user, archived: 'all', page_size: PAGE, page_token: token });
    totals ??= x.totals;
    return { list: x.channels, next: x.next_page_token };
  }, () => sheet.set(inbox(app, user, totals, pages)));
  await pages.more();
}

function inbox(app, user, totals, pages) {
  const here = app.devices.filter((d) => d.user === user);
  const put = (kind) => h('button', { class: 'primary', type: 'button', disabled: app.devices.length >= 6, onclick: () => { hide(); app.show(app.add(user, kind)); } }, icon('plus'), ` ${title(user)}'s ${kind}`);
  const asker = { user, app };
  return [
    h('p', { class: 'who-is' }, avatar(user), h('span', {}, h('code', { dir: 'ltr' }, user), totals && h('small', {}, `${count(totals.badge)} in the badge · ${count(totals.unread)} unread · ${plural(totals.mentions, 'mention')}`))),
    h('p', { class: 'actions' }, here.map((d) => h('button', { key: d.id, class: 'chip', type: 'button', onclick: () => { hide(); app.show(d); } }, icon(d.kind), `Go to the ${d.kind}`)), put('laptop'), put('phone')),
    app.devices.length >= 6 && h('p', { class: 'note' }, 'Six devices are on the page, which is all that fit: remove one first.'),
    h('h3', {}, 'Channels'),
    pages.list.length ? h('ul', { class: 'evidence tall', tabindex: '0', 'aria-label': 'Channels' }, pages.list.map((c) => h('li', { key: c.channel_id },
      h('button', { class: 'link', type: 'button', dir: 'auto', onclick: () => void channel(app, c.channel_id) }, named(c.channel_id)),
      h('span', { class: 'note' }, [c.muted && 'muted, not in the badge', c.archived && 'archived, not in the badge', c.flagged && 'marked as unread', c.mentions > 0 && plural(c.mentions, 'mention')].filter(Boolean).join(', ')),
      h('button', { class: 'link last', type: 'button', 'aria-label': `${count(c.unread)} unread in ${named(c.channel_id)}: explain`, title: 'Why?', onclick: () => void explain(asker, c.channel_id) }, `${count(c.unread)} unread`))))
      : !pages.error && h('p', { class: 'fact' }, 'In no channel: nobody with this id has joined one, or all were left or deleted.'),
    pages.render(),
    copyable(`tidemark query inbox ${quoted(user)}`),
  ];
}

/** Opens a channel: its latest message, and how far each of its members has read. */
export async function channel(app, id) {
  const sheet = open(named(id), asking());
  let head;
  const pages = new Pages(async (token) => {
    const x = await query('GetReaders', { channel_id: id, page_size: PAGE, page_token: token });
    return { list: x.readers, next: x.next_page_token };
  }, () => sheet.set(readers(app, head, pages)));
  try {
    head = await query('GetChannel', { channel_id: id });
  } catch (err) {
    sheet.set(trouble(err));
    return;
  }
  await pages.more();
}

const facts = (rows) => h('dl', { class: 'pairs' }, rows.filter((r) => r[1]).map(([k, v]) => h('div', { key: k }, h('dt', {}, k), h('dd', {}, v))));

function readers(app, c, pages) {
  const at = (r) => (r.seq ? [r.message_id ? h('button', { class: 'link last', type: 'button', onclick: () => void message(app, c.channel_id, r.message_id) }, `#${count(r.seq)}`) : h('span', { class: 'last' }, `#${count(r.seq)}`), r.at && h('time', { class: 'beside' }, exactTime(r.at))] : h('span', { class: 'last note' }, 'nothing yet'));
  return [
    facts([
      ['id', h('code', { dir: 'ltr' }, c.channel_id)], ['members', `${count(c.member_count)}${c.large ? ', a large channel' : ''}`],
      ['head', `#${count(c.head_seq)}`], ['countable messages', count(c.head_pos)],
      ['newest', c.latest && h('button', { class: 'link', type: 'button', onclick: () => void message(app, c.channel_id, c.latest.message_id) }, c.latest.message_id)],
      ['written', c.latest && `${exactTime(c.latest.at)} by ${title(c.latest.sender_id)}`],
      ['labels', c.labels.join(', ')], ['archived', c.archived && 'for everybody'],
    ]),
    h('h3', {}, pages.token ? `The first ${count(pages.list.length)} members, and how far they have read` : 'Members, and how far they have read'),
    h('ul', { class: 'evidence tall', tabindex: '0', 'aria-label': 'Members' }, pages.list.map((r) => h('li', { key: r.user_id },
      h('button', { class: 'link', type: 'button', dir: 'auto', onclick: () => void person(app, r.user_id) }, title(r.user_id)), at(r)))),
    pages.render(),
    copyable(`tidemark query channel ${quoted(c.channel_id)}\ntidemark query readers ${quoted(c.channel_id)}`, 'Commands'),
  ];
}

/** Opens a message: who has received and read it, and when. `known` are the readers that a
 * device knows. */
export async function message(app, channelId, id, known = []) {
  const m = app.messages.channel(channelId).byId.get(id);
  const head = [
    m ? h('blockquote', { key: 'quote' }, h('b', { dir: 'auto' }, title(m.sender_id)), ' ', h('bdi', {}, m.preview || (m.deleted ? 'deleted' : '')))
      : h('blockquote', { key: 'quote' }, h('code', {}, id)),
    h('p', { key: 'in', class: 'fact' }, 'in ', h('button', { class: 'link', type: 'button', onclick: () => void channel(app, channelId) }, named(channelId)), m && ', id ', m && h('code', {}, id)),
  ];
  const early = people(app, 'Read by', known.map((u) => ({ user_id: u })));
  const sheet = open('Who has it', [head, early]);
  let totals;
  const pages = new Pages(async (token) => {
    const x = await query('GetReceipts', { channel_id: channelId, message_id: id, page_size: PAGE, page_token: token });
    totals = x;
    return { list: x.recipients, next: x.next_page_token };
  }, () => sheet.set(totals ? receipts(app, head, totals, pages) : [head, early, pages.render()]));
  await pages.more();
}

function receipts(app, head, x, pages) {
  const of = (want) => pages.list.filter(want);
  return [head,
    h('p', { key: 'result', class: 'result' }, h('b', {}, x.status), ` · ${count(x.read_count)} of ${count(x.recipient_count)} read it${x.viewed_count ? `, ${count(x.viewed_count)} played it` : ''}`),
    people(app, 'Played by', of((r) => r.viewed_at), 'viewed_at'),
    people(app, 'Read by', of((r) => r.status === 'read'), 'read_at'), people(app, 'Delivered to', of((r) => r.status === 'delivered'), 'delivered_at'),
    people(app, 'Not yet', of((r) => r.status === 'sent')),
    pages.render(),
    copyable(`tidemark query receipts ${quoted(x.channel_id)} ${quoted(x.message_id)}`)];
}

function people(app, label, list, when) {
  return list.length > 0 && [h('h3', { key: label }, `${label} ${count(list.length)}`),
    h('ul', { key: `list ${label}`, class: 'evidence', tabindex: '0', 'aria-label': label }, list.map((r) => h('li', { key: r.user_id },
      h('button', { class: 'link', type: 'button', dir: 'auto', onclick: () => void person(app, r.user_id) }, title(r.user_id)), when && r[when] && h('time', {}, exactTime(r[when])))))];
}
