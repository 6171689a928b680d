// The view of a comparison with another product's numbers: the histogram, the reasons, and the
// lines, each with an explanation of Tidemark's number.

import { copyable } from '/ui/copy.js';
import { announce, h, icon } from '/ui/dom.js';
import { explain } from '/ui/explain.js';
import { buckets, KEPT, read } from '/ui/lines.js';
import { person } from '/ui/look.js';
import { count, plural } from '/ui/words.js';

const PAGE = 50;

export class Comparison {
  found;
  error = '';
  progress; // from 0 to 1, while a file is read
  bucket = ''; // the bucket whose lines are listed; empty: all that differ
  reason = ''; // the reason whose lines are listed, without its numbers
  sieve = ''; // a part of a user, channel or thread
  page = 0;
  over = false; // a file is dragged over the page

  constructor(app) { this.app = app; }

  choose(change) {
    Object.assign(this, { page: 0 }, change);
    this.app.redraw();
  }

  /** Reads a file or a text. It stays in this tab and is sent nowhere. */
  async open(blob, name) {
    if (this.progress !== undefined) return;
    Object.assign(this, { progress: 0, error: '', over: false, bucket: '', reason: '', sieve: '', page: 0 });
    this.app.redraw();
    try {
      const found = await read(blob, (share) => { this.progress = share; this.app.redraw(); });
      found.name = name;
      if (found.total) this.found = found;
      else this.error = `${name} has no line of a comparison${found.unread ? `: ${plural(found.unread, 'line')} could not be read` : ''}. Give it the output of tidemark compare --json, or what --follow serves at /metrics.`;
      announce(this.error || `${plural(found.total, 'number')} compared`);
    } catch (err) {
      this.error = `${name} cannot be read: ${err.message}`;
    }
    this.progress = undefined;
    this.app.redraw();
  }

  render() {
    const drop = (e) => {
      e.preventDefault();
      const [file] = e.dataTransfer.files;
      const text = e.dataTransfer.getData('text');
      if (file) void this.open(file, file.name);
      else if (text) void this.open(new Blob([text]), 'what was dropped');
      else this.choose({ over: false });
    };
    return h('main', {
      class: 'operators', id: 'main', tabindex: '-1', key: 'compare', ondragover: (e) => { e.preventDefault(); if (!this.over) this.choose({ over: true, page: this.page }); },
      ondragleave: (e) => { if (!e.currentTarget.contains(e.relatedTarget)) this.choose({ over: false, page: this.page }); }, ondrop: drop,
    },
    this.error && h('p', { key: 'error', class: 'trouble', role: 'alert' }, this.error),
    this.progress !== undefined ? h('section', { key: 'progress', class: 'card' }, h('progress', { max: '1', value: this.progress, 'aria-label': 'Reading' }), h('p', { class: 'note', role: 'status' }, `${Math.floor(this.progress * 100)} % is read`))
      : this.found ? [this.#summary(), !this.found.metrics && this.#reasons(), !this.found.metrics && this.#lines()] : this.#ask());
  }

  #ask() {
    return h('section', { key: 'ask', class: 'card', 'aria-labelledby': 'h-compare' }, h('h2', { id: 'h-compare' }, 'Their numbers beside these'),
      h('p', {}, 'tidemark compare asks another product and Tidemark for every unread count, and says of each difference why it is there. This view shows its output:'),
      copyable('tidemark compare mattermost --source postgres://reader@db/mattermost --all --json > compare.ndjson'),
      h('div', { class: `drop ${this.over ? 'over' : ''}` },
        h('label', { class: 'field' }, h('span', {}, 'Drop compare.ndjson anywhere here, or choose it'),
          h('input', { type: 'file', name: 'file', accept: '.json,.ndjson,.jsonl,.txt', onchange: (e) => { const [file] = e.currentTarget.files; if (file) void this.open(file, file.name); } })),
        h('label', { class: 'field', for: 'pasted' }, h('span', {}, 'or paste its lines, or what --follow --listen serves at /metrics')),
        h('textarea', { id: 'pasted', name: 'pasted', spellcheck: 'false', rows: '3', placeholder: '{"user_id":"ann","channel_id":"general", …}', onpaste: (e) => {
          const text = e.clipboardData.getData('text');
          if (!text.trim()) return;
          e.preventDefault();
          void this.open(new Blob([text]), 'what was pasted');
        } })),
      h('p', { class: 'note' }, 'It is read in this tab and sent nowhere. A file may be as large as you like: it is read piece by piece.'));
  }

  #summary() {
    const f = this.found;
    const most = Math.max(1, ...Object.values(f.counts));
    const wrong = f.counts.theirs_wrong + f.counts.ours_wrong;
    return h('section', { key: 'summary', class: 'card', 'aria-labelledby': 'h-found' },
      h('div', { class: 'card-head' }, h('h2', { id: 'h-found', dir: 'auto' }, `${plural(f.total, 'number')} compared`), h('span', { class: `health ${wrong ? 'bad' : 'good'}` }, icon(wrong ? 'flag' : 'check'), wrong ? `${count(wrong)} wrong on one side` : 'nothing is wrong'),
        h('button', { class: 'chip', type: 'button', onclick: () => { this.found = undefined; this.choose({ error: '' }); } }, icon('close'), 'Another one')),
      h('div', { class: 'histogram', role: 'group', 'aria-label': 'By bucket' }, Object.entries(buckets).map(([b, [name, what]]) => {
        const n = f.counts[b];
        const share = `${((n / f.total) * 100).toFixed(n && n / f.total < 0.001 ? 3 : 1)} %`;
        const body = [h('span', {}, h('b', {}, name), h('small', {}, what)), h('span', { class: `track fill-${b}`, 'aria-hidden': 'true' }, n > 0 && h('i', { vars: { '--share': `${(n / most) * 100}%` } })), h('span', { class: 'figures' }, h('b', {}, count(n)), h('small', {}, share))];
        return f.metrics || b === 'equal' ? h('div', { key: b, class: 'bucket', 'data-bucket': b }, body)
          : h('button', { key: b, class: 'bucket', type: 'button', 'data-bucket': b, 'aria-pressed': String(this.bucket === b), disabled: !n, onclick: () => this.choose({ bucket: this.bucket === b ? '' : b, reason: '' }) }, body);
      })),
      h('p', { class: 'note' }, `${f.name}.${f.metrics ? ' Metrics have counts only: for the lines take the output of --json.' : ''}${f.unread ? ` ${plural(f.unread, 'line')} could not be read and ${f.unread === 1 ? 'is' : 'are'} left out.` : ''} Compare says theirs and ours as of one moment; a number that has moved since may be another one now.`));
  }

  #reasons() {
    const list = [...this.found.reasons.values()].filter((r) => !this.bucket || r.bucket === this.bucket).sort((a, b) => b.n - a.n).slice(0, 12);
    return list.length > 0 && h('section', { key: 'reasons', class: 'card', 'aria-labelledby': 'h-reasons' }, h('h2', { id: 'h-reasons' }, 'Why they differ'),
      h('div', { class: 'scroll', tabindex: '0', role: 'group', 'aria-labelledby': 'h-reasons' }, h('table', { class: 'grid' },
        h('thead', {}, h('tr', {}, ['Reason, with n for its numbers', 'Bucket', 'Pairs'].map((t, i) => h('th', { key: t, scope: 'col', class: i === 2 ? 'right' : undefined }, t)))),
        h('tbody', {}, list.map((r) => h('tr', { key: r.bucket + r.reason },
          h('td', { class: 'detail' }, h('button', { class: 'link', type: 'button', 'aria-pressed': String(this.reason === r.reason && this.bucket === r.bucket), onclick: () => this.choose(this.reason === r.reason ? { reason: '' } : { bucket: r.bucket, reason: r.reason }) }, r.reason || 'no reason')),
          h('td', {}, buckets[r.bucket][0]), h('td', { class: 'right' }, count(r.n))))))));
  }

  #lines() {
    const f = this.found;
    const text = this.sieve.toLowerCase();
    const list = f.lines.filter((x) => (!this.bucket || x.bucket === this.bucket) && (!this.reason || x.reason.replace(/\d+/g, 'n') === this.reason) && (!text || `${x.user_id} ${x.channel_id} ${x.thread_id ?? ''}`.toLowerCase().includes(text)));
    const pages = Math.max(1, Math.ceil(list.length / PAGE));
    const page = Math.min(this.page, pages - 1);
    const from = page * PAGE;
    return h('section', { key: 'lines', class: 'card', 'aria-labelledby': 'h-lines' },
      h('div', { class: 'card-head' }, h('h2', { id: 'h-lines' }, `${plural(list.length, 'line')}${this.bucket ? ` of ${buckets[this.bucket][0]}` : ' that differ'}`),
        h('input', { class: 'sieve', type: 'text', name: 'sieve', 'aria-label': 'Only lines with this user, channel or thread', placeholder: 'user, channel or thread', spellcheck: 'false', value: this.sieve, oninput: (e) => this.choose({ sieve: e.currentTarget.value }) }),
        (this.bucket || this.reason) && h('button', { key: 'all', class: 'chip', type: 'button', onclick: () => this.choose({ bucket: '', reason: '' }) }, icon('close'), 'All that differ')),
      list.length > 0 ? h('div', { class: 'scroll', tabindex: '0', role: 'group', 'aria-labelledby': 'h-lines' }, h('table', { class: 'grid' },
        h('thead', {}, h('tr', {}, ['User', 'Channel', 'Theirs', 'Ours', 'Bucket', 'Reason', ''].map((t, i) => h('th', { key: i, scope: 'col', class: i === 2 || i === 3 ? 'right' : undefined }, t || h('span', { class: 'hidden-text' }, 'Actions'))))),
        h('tbody', {}, list.slice(from, from + PAGE).map((x) => this.#line(x)))))
        : h('p', { class: 'empty' }, 'None.'),
      pages > 1 && h('p', { key: 'pages', class: 'actions' },
        h('button', { class: 'chip', type: 'button', disabled: page === 0, onclick: () => this.choose({ page: page - 1 }) }, icon('back'), 'Before'),
        h('span', { class: 'note' }, `${count(from + 1)} to ${count(Math.min(list.length, from + PAGE))} of ${count(list.length)}`),
        h('button', { class: 'chip', type: 'button', disabled: page === pages - 1, onclick: () => this.choose({ page: page + 1 }) }, 'Next')),
      f.dropped > 0 && h('p', { key: 'dropped', class: 'note' }, `The list has the first ${count(KEPT)} lines that differ; ${count(f.dropped)} more are counted above.`));
  }

  #line(x) {
    const { app } = this;
    const bad = { theirs_wrong: 'theirs', ours_wrong: 'ours' }[x.bucket];
    const number = (side) => h('td', { class: `right ${bad === side ? 'worse' : ''}` }, count(x[side].unread), x[side].mentions > 0 && h('small', {}, `${count(x[side].mentions)} @`));
    return h('tr', { key: `${x.user_id}\0${x.channel_id}\0${x.thread_id ?? ''}`, 'data-line': x.user_id },
      h('th', { scope: 'row', class: 'key' }, h('button', { class: 'link', type: 'button', dir: 'auto', onclick: () => void person(app, x.user_id) }, x.user_id)),
      h('td', { class: 'key', dir: 'auto' }, x.channel_id, x.thread_id && h('small', {}, `thread ${x.thread_id}`)), number('theirs'), number('ours'),
      h('td', {}, buckets[x.bucket][0]), h('td', { class: 'detail' }, x.reason),
      h('td', { class: 'right' }, h('button', { class: 'chip', type: 'button', onclick: () => void explain({ user: x.user_id, app }, x.channel_id, x.thread_id || undefined) }, icon('look'), 'Why ours')));
  }
}
