// Dead letters: by reason, in pages, with replay.

import { own, tell } from '/ui/api.js';
import { copyable } from '/ui/copy.js';
import { announce, h, icon } from '/ui/dom.js';
import { open } from '/ui/sheet.js';
import { bytes, count, exactTime, plural } from '/ui/words.js';

const EVERY = 3000; // other nodes write dead letters too, and this node counts a letter before it is written

export class Letters {
  page; // {letters, next, total, version, reasons, counted}
  reason = '';
  error = '';
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
    const { reason } = this;
    const cursor = this.#cursor;
    try {
      const page = await own(`deadletters?version=${version ?? ''}&reason=${encodeURIComponent(reason)}&at=${encodeURIComponent(cursor)}`);
      if (page && reason === this.reason && cursor === this.#cursor) this.page = page;
      this.error = '';
    } catch (err) {
      this.error = err.message;
    }
    this.#loading = false;
    this.#at = performance.now();
    this.redraw();
    if (reason !== this.reason || cursor !== this.#cursor) await this.#read('');
  }

  choose(reason) {
    this.reason = reason;
    this.#before = [];
    this.#cursor = '';
    void this.#read('');
    this.redraw();
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
    return h('section', { class: 'card', 'aria-labelledby': 'h-dead' }, h('h2', { id: 'h-dead' }, 'Dead letters'),
      this.error && h('p', { key: 'error', class: 'trouble' }, this.error),
      page?.total > 0 && h('p', { key: 'reasons', class: 'reasons', role: 'group', 'aria-label': 'Dead letters by reason' }, chip('', 'all', page.total), Object.entries(page.reasons).sort((a, b) => b[1] - a[1]).map(([reason, n]) => chip(reason, reason, n))),
      page?.counted < page?.total && h('p', { key: 'counted', class: 'note' }, `The reasons are those of the newest ${count(page.counted)}.`),
      page && this.#list(page));
  }

  #list(page) {
    if (!page.total) return h('p', { key: 'none', class: 'empty' }, 'None. A record that cannot be used would be here with why, and its partition would go on.');
    const of = this.reason ? ` of the reason ${this.reason}` : '';
    const { broker } = this.about();
    const number = this.#before.length + 1;
    return [
      page.letters.length > 0 && h('div', { key: 'list', class: 'scroll', tabindex: '0', role: 'group', 'aria-labelledby': 'h-dead' }, h('table', { class: 'grid' },
        h('thead', {}, h('tr', {}, ['Written', 'Reason', 'From', 'Key', 'What is wrong', ''].map((t, i) => h('th', { key: i, scope: 'col' }, t || h('span', { class: 'hidden-text' }, 'Actions'))))),
        h('tbody', {}, page.letters.map((l) => h('tr', { key: `${l.partition}/${l.offset}`, 'data-letter': `${l.partition}/${l.offset}` },
          h('td', {}, exactTime(l.written)), h('td', {}, h('span', { class: 'reason' }, l.reason), l.code && h('small', {}, l.code)), h('td', {}, h('code', {}, `${l.topic}/${l.from}`)), h('td', { class: 'key' }, l.key), h('td', { class: 'detail' }, wrong(l)),
          h('td', { class: 'right' }, h('button', { class: 'chip', type: 'button', onclick: () => look(l) }, icon('look'), 'Look'))))))),
      !page.letters.length && h('p', { key: 'empty', class: 'empty' }, page.next ? `None${of} among the ones looked at; there are older ones.` : `No more${of}.`),
      h('p', { key: 'pages', class: 'actions' },
        h('button', { class: 'chip', type: 'button', 'data-page': 'newer', disabled: number === 1, onclick: () => this.turn(true) }, icon('back'), 'Newer'),
        h('span', { class: 'note' }, `page ${count(number)}`),
        h('button', { class: 'chip', type: 'button', 'data-page': 'older', disabled: !page.next, onclick: () => this.turn(false) }, 'Older'),
        h('button', { class: 'chip replay-all', type: 'button', onclick: () => this.#askReplay() }, icon('unread'), this.reason ? `Write all of ${this.reason} again` : 'Write all again')),
      h('p', { key: 'note', class: 'note' }, `${plural(page.total, 'dead letter')} in all; they stay 30 days. Once the cause is mended, this writes ${this.reason ? 'those of this reason' : 'them'} again; without --dry-run it does:`),
      h('div', { key: 'command' }, copyable(`tidemark deadletters replay${broker && broker !== '127.0.0.1:9092' ? ` --brokers ${broker}` : ''}${this.reason ? ` --reason ${this.reason}` : ''} --dry-run`)),
    ];
  }

  /** Asks for confirmation before it writes all letters of a reason again. */
  #askReplay() {
    const { reason } = this;
    const { version, reasons, total } = this.page;
    const n = reason ? reasons[reason] ?? 0 : total;
    const sheet = open('Write dead letters again?', []);
    const draw = (more) => sheet.set([
      h('p', {}, `This writes ${reason ? `the dead letters of the reason ${reason}` : 'all dead letters'} (${count(n)}) to their topics again, the oldest first: those that this build would take now. It looks at the newest 2,000; the command has no limit. Their events are then in the log for ever.`),
      more,
      !more && h('p', { class: 'actions' }, h('button', { class: 'primary', type: 'button', onclick: write }, 'Write them again')),
    ]);
    const write = async () => {
      draw(h('p', { class: 'empty', role: 'status' }, 'Writing …'));
      try {
        const { written, left_out: leftOut, more } = await tell('deadletters/replay', { reason, version });
        const said = `${plural(written, 'record')} written${leftOut ? `, ${count(leftOut)} left out: this build would refuse them again` : ''}${more ? '; there are older ones, for the command' : ''}.`;
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
    h('dl', { class: 'pairs' }, [['reason', l.reason], ['code', l.code], ['what is wrong', wrong(l)], ['from', `${l.topic}/${l.from}`], ['key', l.key], ['size', bytes(l.bytes)]].filter((f) => f[1]).map(([k, v]) => h('div', { key: k }, h('dt', {}, k), h('dd', {}, v)))),
    h('pre', { class: l.hex ? 'bytes' : undefined, tabindex: '0', 'aria-label': 'The value as it was' }, l.hex ? l.value : pretty(l.value), l.cut && '\n…'),
    more,
    h('p', { class: 'actions' }, h('button', { class: 'primary', type: 'button', disabled: !l.usable, onclick: () => void again() }, 'Write it again'),
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
