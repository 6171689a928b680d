// Dead letters: by reason, by a text in them, in pages, with replay.

import { own, tell } from '/ui/api.js';
import { copyable } from '/ui/copy.js';
import { announce, h, icon } from '/ui/dom.js';
import { grid, row } from '/ui/grid.js';
import { open } from '/ui/sheet.js';
import { bytes, count, exactWhen, plural } from '/ui/words.js';

const EVERY = 3000; // other nodes write dead letters too, and this node counts a letter before it is written
const PAUSE = 250; // milliseconds without a key before the node searches
const columns = ['Written', 'Reason', 'From', 'Key', 'What is wrong', ''].map((name) => ({ name }));

export class Letters {
  page; // {letters, next, total, version, reasons, counted}
  reason = '';
  text = ''; // only letters that have it in their key, value, place or detail
  error = '';
  #typing;
  #before = []; // the cursors of the pages before this one
  #cursor = '';
  #at = -Infinity;
  #loading = false;

  constructor(redraw, about) { Object.assign(this, { redraw, about }); }

  /** Polls for new letters while the newest are shown. */
  async look() {
    if (!this.#cursor && performance.now() - this.#at >= EVERY) await this.#read();
  }

  /** Reads a page, one at a time, so that an older answer never replaces a newer one. */
  async #read(version = this.page?.version) {
    if (this.#loading) return;
    this.#loading = true;
    const { reason, text } = this;
    const cursor = this.#cursor;
    const changed = () => reason !== this.reason || text !== this.text || cursor !== this.#cursor;
    try {
      const page = await own(`deadletters?version=${version ?? ''}&reason=${encodeURIComponent(reason)}&q=${encodeURIComponent(text)}&at=${encodeURIComponent(cursor)}`);
      if (page && !changed()) this.page = page;
      this.error = '';
    } catch (err) {
      this.error = err.message;
    }
    this.#loading = false;
    this.#at = performance.now();
    this.redraw();
    if (changed()) await this.#read('');
  }

  choose(reason) { this.#show({ reason }); }

  /** Searches once the user pauses. */
  #type(text) {
    clearTimeout(this.#typing);
    this.#typing = setTimeout(() => this.#show({ text: text.trim() }), PAUSE);
  }

  /** Shows the newest letters of another reason or text. */
  #show(change) {
    Object.assign(this, change);
    this.#before = [];
    this.#cursor = '';
    void this.#read('');
    this.redraw();
  }

  /** Scrolls the list into view, for users who come from its number. */
  show() {
    const heading = document.getElementById('h-dead');
    heading.scrollIntoView({ block: 'start' });
    heading.focus({ preventScroll: true });
  }

  turn(back) {
    if (back) this.#cursor = this.#before.pop();
    else {
      this.#before.push(this.#cursor);
      this.#cursor = this.page.next;
    }
    void this.#read('');
    document.getElementById('h-dead')?.scrollIntoView({ block: 'start' });
  }

  render() {
    const { page } = this;
    const chip = (reason, label, n) => h('button', { key: reason, class: 'chip', type: 'button', 'data-reason': reason || 'all', 'aria-pressed': String(this.reason === reason), onclick: () => this.choose(reason) }, label, h('b', {}, count(n)));
    return h('section', { class: 'card', 'aria-labelledby': 'h-dead' },
      h('div', { class: 'card-head' }, h('h2', { id: 'h-dead', tabindex: '-1' }, 'Dead letters'),
        page?.total > 0 && h('input', { key: 'sieve', class: 'sieve', type: 'search', name: 'dead-letters', placeholder: 'Find a key, place or value', 'aria-label': 'Search the dead letters', autocomplete: 'off', spellcheck: 'false', oninput: (e) => this.#type(e.currentTarget.value) })),
      this.error && h('p', { key: 'error', class: 'trouble' }, this.error),
      page?.total > 0 && h('p', { key: 'reasons', class: 'reasons', role: 'group', 'aria-label': 'Dead letters by reason' }, chip('', 'all', page.total), Object.entries(page.reasons).sort((a, b) => b[1] - a[1]).map(([reason, n]) => chip(reason, reason, n))),
      page?.counted < page?.total && h('p', { key: 'counted', class: 'note' }, `The reasons are those of the newest ${count(page.counted)}.`),
      page && this.#list(page));
  }

  #list(page) {
    if (!page.total) return h('p', { key: 'none', class: 'empty' }, 'None. A record that cannot be used would be here with why, and its partition would go on.');
    const of = `${this.reason ? ` of the reason ${this.reason}` : ''}${this.text ? ` with “${this.text}”` : ''}`;
    const { broker } = this.about();
    const number = this.#before.length + 1;
    return [
      page.letters.length > 0 && grid('h-dead', columns, undefined, page.letters.map((l) => row(columns, { key: `${l.partition}/${l.offset}`, 'data-letter': `${l.partition}/${l.offset}` }, [
        h('td', { title: l.written }, exactWhen(l.written)), h('td', {}, h('span', { class: 'reason' }, l.reason), l.code && h('small', {}, l.code)), h('td', {}, h('code', {}, `${l.topic}/${l.from}`)), h('td', { class: 'key' }, l.key),
        h('td', { class: 'detail', title: wrong(l) }, h('span', { class: 'clamp' }, wrong(l))),
        h('td', { class: 'right' }, h('button', { class: 'chip', type: 'button', onclick: () => look(l) }, icon('look'), 'Look'))]))),
      !page.letters.length && h('p', { key: 'empty', class: 'empty' }, page.next ? `None${of} among the ones looked at; there are older ones.` : `${number === 1 ? 'None' : 'No more'}${of}.`),
      h('p', { key: 'pages', class: 'actions' },
        h('button', { class: 'chip', type: 'button', 'data-page': 'newer', disabled: number === 1, onclick: () => this.turn(true) }, icon('back'), 'Newer'),
        h('span', { class: 'note' }, `page ${count(number)}`),
        h('button', { class: 'chip', type: 'button', 'data-page': 'older', disabled: !page.next, onclick: () => this.turn(false) }, 'Older'),
        !this.text && h('button', { key: 'replay', class: 'chip replay-all', type: 'button', onclick: () => this.#askReplay() }, icon('unread'), this.reason ? `Replay all of ${this.reason}` : 'Replay all')),
      h('p', { key: 'note', class: 'note' }, `${plural(page.total, 'dead letter')} in all; they stay 30 days. Once the cause is mended, replay ${this.reason ? 'those of this reason' : 'them'}: that writes them to their topics again. This command shows what it would write, and without --dry-run it writes it:`),
      h('div', { key: 'command' }, copyable(`tidemark deadletters replay${broker && broker !== '127.0.0.1:9092' ? ` --brokers ${broker}` : ''}${this.reason ? ` --reason ${this.reason}` : ''} --dry-run`)),
    ];
  }

  /** Asks for confirmation before it writes all letters of a reason again. */
  #askReplay() {
    const { reason } = this;
    const { version, reasons, total } = this.page;
    const n = reason ? reasons[reason] ?? 0 : total;
    const sheet = open('Replay dead letters?', []);
    const draw = (more) => sheet.set([
      h('p', {}, `This writes ${reason ? `the dead letters of the reason ${reason}` : 'all dead letters'} (${count(n)}) to their topics again, the oldest first: those that this build would take now. It looks at the newest 2,000; the command has no limit. Their events are then in the log for ever.`),
      more,
      !more && h('p', { class: 'actions' }, h('button', { class: 'primary', type: 'button', onclick: write }, 'Replay them')),
    ]);
    const write = async () => {
      draw(h('p', { class: 'empty', role: 'status' }, 'Writing …'));
      try {
        const { written, left_out: leftOut, more } = await tell('deadletters/replay', { reason, version });
        const said = `${plural(written, 'record')} written${leftOut ? `, ${count(leftOut)} left out: this build would refuse them again` : ''}${more ? '; there are older ones, for the command' : ''}. ${written ? 'They stay in this list until they expire. A second replay changes no number.' : ''}`.trim();
        draw(h('p', { class: 'done', role: 'status' }, said));
        announce(said);
      } catch (err) {
        draw(h('p', { class: 'trouble', role: 'alert' }, err.message));
      }
    };
    draw();
  }
}

/** Shows a letter with its value. */
function look(l) {
  const sheet = open(`Dead letter ${l.partition}/${l.offset}`, []);
  const draw = (more) => sheet.set([
    h('dl', { class: 'pairs' }, [['written', exactWhen(l.written)], ['reason', l.reason], ['code', l.code], ['what is wrong', wrong(l)], ['from', `${l.topic}/${l.from}`], ['key', l.key], ['size', bytes(l.bytes)]].filter((f) => f[1]).map(([k, v]) => h('div', { key: k }, h('dt', {}, k), h('dd', {}, v)))),
    copyable(`${l.hex ? l.value : pretty(l.value)}${l.cut ? '\n…' : ''}`, 'The value as it was', l.hex ? 'bytes' : undefined),
    more,
    h('p', { class: 'actions' }, h('button', { class: 'primary', type: 'button', disabled: !l.usable, onclick: () => void again() }, 'Replay it'),
      h('span', { class: 'note' }, l.usable ? 'To its topic, with its channel as key and its own time.' : 'This build would refuse it again.')),
    copyable(`tidemark deadletters replay --at ${l.partition}/${l.offset}`),
  ]);
  const again = async () => {
    try {
      const { after } = await tell('deadletters/replay', { partition: l.partition, offset: l.offset });
      draw(h('p', { class: 'done', role: 'status' }, `Written again, as ${after}.`));
      announce('Written again');
    } catch (err) {
      draw(h('p', { class: 'trouble', role: 'status' }, err.message));
    }
  };
  draw();
}

/** The problem of a dead letter, without the reason that is shown beside it. */
const wrong = (l) => (l.detail.startsWith(`${l.reason}: `) ? l.detail.slice(l.reason.length + 2) : l.detail);

function pretty(text) {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}
