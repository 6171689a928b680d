// The view of those who run it: what this node does, partition by partition, live.

import { own, tell } from '/ui/api.js';
import { quantile, spark, stacked } from '/ui/charts.js';
import { announce, h, icon } from '/ui/dom.js';
import { show } from '/ui/sheet.js';
import { bytes, count, duration, exactTime, hostOf, plural, rate } from '/ui/words.js';

const EVERY = 1000; // milliseconds between two readings
const KEPT = 90;
const LETTERS_EVERY = 3000; // other nodes write dead letters too, and this node counts one before it is written
const phases = ['decode', 'fold', 'drain', 'publish', 'cut', 'apply', 'commit'];
const meaning = {
  decode: 'records to events, checked', fold: 'events into the state', drain: 'changes to output records', publish: 'until the brokers have acknowledged',
  cut: 'dirty state to a batch', apply: 'writing that batch', commit: 'group offsets',
};

export class Operators {
  about = {};
  readings = []; // newest last
  letters;
  lettersError = '';
  #lettersAt = -Infinity;
  #loading = false;
  trouble = '';
  #timer;
  #watched = false;

  constructor(redraw) { this.redraw = redraw; }

  /** Reads while somebody looks. */
  watch(on) {
    if (on === this.#watched) return;
    this.#watched = on;
    clearTimeout(this.#timer);
    if (on) void this.#read();
  }

  async #read() {
    try {
      const r = await own('operators');
      this.trouble = '';
      const last = this.readings.at(-1);
      if (last && r.at <= last.at) this.readings = []; // another clock, another process
      this.readings.push(r);
      if (this.readings.length > KEPT) this.readings.shift();
    } catch (err) {
      this.trouble = err.message;
    }
    this.redraw();
    if (performance.now() - this.#lettersAt >= LETTERS_EVERY) void this.#readLetters();
    clearTimeout(this.#timer); // of a reading that was under way when the view was left and entered again
    if (this.#watched) this.#timer = setTimeout(() => void this.#read(), EVERY);
  }

  /** Lists the dead letters, one answer at a time: an older one never replaces a newer one. */
  async #readLetters() {
    if (this.#loading) return;
    this.#loading = true;
    try {
      this.letters = await own(`deadletters?version=${this.letters?.version ?? ''}`) ?? this.letters;
      this.lettersError = '';
    } catch (err) {
      this.lettersError = err.message;
    }
    this.#loading = false;
    this.#lettersAt = performance.now();
    this.redraw();
  }

  // Numbers

  get now() { return this.readings.at(-1); }

  /** Points of a counter's rate a second. */
  rates(value) {
    const out = [];
    for (let i = 1; i < this.readings.length; i++) {
      const [a, b] = [this.readings[i - 1], this.readings[i]];
      out.push([(this.now.at - b.at) / 1000, Math.max(0, value(b) - value(a)) / ((b.at - a.at) / 1000)]);
    }
    return out;
  }

  /** The phases' histograms of ten seconds ago, which what is shown is counted from. A node that has published nothing
   * since is measured from its start: no figure beside one that is told would look like a contradiction. */
  recent() {
    const was = (this.readings.at(-11) ?? this.readings[0])?.histograms['processor_phase_seconds'] ?? {};
    const published = (h) => h?.publish?.count ?? 0;
    return published(this.now.histograms['processor_phase_seconds']) > published(was)
      ? { since: was, over: 'over the last ten seconds' }
      : { since: {}, over: 'since the start' };
  }

  points(value) { return this.readings.map((r) => [(this.now.at - r.at) / 1000, value(r)]); }

  /** Rate over the last few readings, so that a table does not flicker. */
  steady(value) {
    const from = this.readings.at(-6) ?? this.readings[0];
    const seconds = (this.now.at - from.at) / 1000;
    return seconds > 0 ? Math.max(0, (value(this.now) - value(from)) / seconds) : 0;
  }

  // Drawing

  render() {
    const r = this.now;
    return h('main', { class: 'operators', id: 'main', tabindex: '-1', key: 'operators' },
      this.trouble && h('p', { class: 'trouble', role: 'alert' }, `The node does not answer: ${this.trouble}. Trying again every second.`),
      r ? [this.head(r), this.tiles(r), this.partitions(r), h('div', { class: 'two' }, this.phases(r), this.store(r)), this.dead(), this.verify()]
        : h('p', { class: 'empty middle' }, 'Reading …'));
  }

  head(r) {
    const a = this.about;
    return h('section', { class: 'node-head', 'aria-label': 'This node' },
      h('span', { class: `health ${r.ready ? 'good' : 'bad'}` }, icon(r.ready ? 'check' : 'pause'), r.ready ? 'ready' : 'not ready'),
      h('h2', {}, 'Group ', h('b', {}, a.group ?? '')),
      h('dl', { class: 'facts' }, [['node', a.url], ['Kafka', a.broker], ['Redis', a.redis], ['roles', a.roles?.replaceAll(',', ', ')], ['version', a.version]].filter((f) => f[1])
        .map(([k, v]) => h('div', { key: k }, h('dt', {}, k), h('dd', {}, v)))));
  }

  tiles(r) {
    const v = (name) => (x) => x.values[name] ?? 0;
    const lag = (x) => x.partitions.reduce((n, p) => n + p.lag, 0);
    const events = v('processor_events_total');
    const deltas = (x) => x.histograms['processor_batch_deltas']?.['']?.sum ?? 0;
    const dead = v('processor_dead_letters_total');
    const batch = (x, i) => quantile(x.histograms['processor_phase_seconds']?.publish ?? { count: 0 }, this.readings[Math.max(0, i - 5)]?.histograms['processor_phase_seconds']?.publish, 0.5);
    const publish = this.readings.map((x, i) => [(r.at - x.at) / 1000, batch(x, i)]).filter((p) => Number.isFinite(p[1]));
    const { since, over } = this.recent();
    const median = quantile(r.histograms['processor_phase_seconds']?.publish ?? { count: 0 }, since.publish, 0.5);
    const tile = (label, value, chart, more, bad) => h('div', { class: `tile ${bad ? 'bad' : ''}`, role: 'group', 'aria-label': label }, h('h3', {}, label), h('p', { class: 'figure' }, value), chart, h('p', { class: 'note' }, more));
    return h('div', { class: 'tiles' },
      tile('Events a second', rate(this.steady(events)), spark('Events a second', this.rates(events), rate), `${count(events(r))} since the start`),
      tile('Deltas a second', rate(this.steady(deltas)), spark('Deltas a second', this.rates(deltas), rate), `${(deltas(r) / Math.max(1, events(r))).toFixed(2)} for each event`),
      tile('Records behind', count(lag(r)), spark('Records behind', this.points(lag), count, { floor: 5 }), lag(r) ? 'records wait to be folded' : 'everything is folded', lag(r) > 10_000),
      tile('Publish, median', duration(median), spark('Publish', publish, duration, { floor: 0.002 }), `until acknowledged by all replicas, ${over}`),
      tile('Dead letters', count(this.letters?.total ?? dead(r)), spark('Dead letters', this.points(dead), count, { floor: 1 }), dead(r) ? `${count(dead(r))} since the start` : 'none since the start', false));
  }

  partitions(r) {
    const inputs = ['messages', 'reads', 'deliveries'];
    return h('section', { class: 'card', 'aria-labelledby': 'h-partitions' }, h('h2', { id: 'h-partitions' }, 'Partitions'),
      h('div', { class: 'scroll', tabindex: '0', role: 'group', 'aria-labelledby': 'h-partitions' }, h('table', { class: 'grid' },
        h('thead', {}, h('tr', {}, ['Partition', 'State', 'Owner', 'Position', 'Behind', 'Events/s', 'Digest of the store'].map((t, i) => h('th', { key: t, scope: 'col', class: i === 4 || i === 5 ? 'right' : undefined }, t)))),
        h('tbody', {}, r.partitions.map((p) => h('tr', { key: p.partition, 'data-partition': p.partition },
          h('th', { scope: 'row' }, p.partition),
          h('td', {}, h('span', { class: `state-${p.state}` }, p.state === 'live' ? 'live' : p.state), p.state === 'opening' && ` ${Math.round(p.progress * 100)} %${p.eta_seconds ? `, ${duration(p.eta_seconds)} left` : ''}`, p.error && h('small', { class: 'wrong' }, p.error)),
          h('td', { class: 'owner' }, p.owner ? h('a', { href: '#cluster', title: 'All nodes' }, hostOf(p.owner)) : '–', p.here && p.state === 'live' && h('small', {}, 'this node')),
          h('td', {}, p.position ? h('span', { class: 'position' }, p.position.map((n, i) => h('span', { key: i, title: `next offset of chat.${inputs[i]}; its log ends at ${p.ends?.[i] ?? '?'}` }, count(n)))) : '–'),
          h('td', { class: 'right' }, p.position ? count(p.lag) : '–'),
          h('td', { class: 'right' }, p.position ? rate(this.steady((x) => x.partitions[p.partition]?.position?.reduce((a, b) => a + b, 0) ?? 0)) : '–'),
          h('td', {}, p.digest ? print(p.digest, `${p.digest}, at position ${p.stored.join(', ')}`) : '–')))))),
      h('p', { class: 'note' }, 'A position is the next offset of messages, reads and deliveries. Two stores with the same position have the same digest, whoever folded them and in whatever order.'));
  }

  phases(r) {
    const now = r.histograms['processor_phase_seconds'] ?? {};
    const { since: before, over } = this.recent();
    const list = phases.filter((p) => now[p]).map((p) => {
      const n = now[p].count - (before[p]?.count ?? 0);
      return { name: p, mean: n > 0 ? (now[p].sum - (before[p]?.sum ?? 0)) / n : 0, p50: quantile(now[p], before[p], 0.5), p99: quantile(now[p], before[p], 0.99) };
    });
    return h('section', { class: 'card', 'aria-labelledby': 'h-phases' }, h('h2', { id: 'h-phases' }, 'Where a batch spends its time'),
      stacked('Mean time of each phase', list.map((p) => [`phase-${p.name}`, p.name, p.mean]), duration),
      h('table', { class: 'grid' }, h('thead', {}, h('tr', {}, ['Phase', 'Median', '99 %'].map((t, i) => h('th', { key: t, scope: 'col', class: i ? 'right' : undefined }, t)))),
        h('tbody', {}, list.map((p) => h('tr', { key: p.name }, h('th', { scope: 'row', title: meaning[p.name] }, h('span', { class: `swatch phase-${p.name}` }), p.name, h('small', {}, meaning[p.name])), h('td', { class: 'right' }, duration(p.p50)), h('td', { class: 'right' }, duration(p.p99)))))),
      h('p', { class: 'note' }, `${over[0].toUpperCase()}${over.slice(1)}.`));
  }

  store(r) {
    const v = r.values;
    const facts = [
      ['channels', count(v['processor_store_entries{channels,0}'] ?? sumOf(v, 'channels'))], ['pairs of user and channel', count(sumOf(v, 'pairs'))], ['users', count(sumOf(v, 'users'))],
      ['memory of the hot state', bytes(v['processor_hot_bytes'] ?? 0)], ['heap in use', bytes(v['go_memstats_heap_inuse_bytes'] ?? 0)], ['process', bytes(v['process_resident_memory_bytes'] ?? 0)],
      ['sockets', count(v['gateway_connections'] ?? v['gateway_sockets'] ?? 0)], ['watches', count(v['processor_watchers'] ?? 0)],
    ];
    return h('section', { class: 'card', 'aria-labelledby': 'h-store' }, h('h2', { id: 'h-store' }, 'State and snapshots'),
      h('dl', { class: 'pairs' }, facts.map(([k, x]) => h('div', { key: k }, h('dt', {}, k), h('dd', {}, x)))),
      h('h3', {}, 'Snapshots'),
      r.snapshots_error && h('p', { class: 'trouble' }, r.snapshots_error),
      r.snapshots_error && !r.snapshots?.length ? undefined
        : !r.snapshots?.length ? h('p', { class: 'empty' }, r.snapshots ? 'None was taken yet.' : ['This node keeps none: ', h('code', {}, '--snapshots file:///dir'), ' or ', h('code', {}, 's3://bucket'), ' turns them on.'])
          : h('div', { class: 'scroll few', tabindex: '0', role: 'group', 'aria-label': 'Snapshots' }, h('table', { class: 'grid' }, h('thead', {}, h('tr', {}, ['Partition', 'Taken', 'Position', 'Size', 'Kept', 'Digest'].map((t, i) => h('th', { key: t, scope: 'col', class: i === 3 || i === 4 ? 'right' : undefined }, t)))),
            h('tbody', {}, r.snapshots.map((s) => h('tr', { key: s.partition, 'data-snapshot': s.partition }, h('th', { scope: 'row' }, s.partition),
              h('td', { title: exactTime(s.at) }, ago(r.at - Date.parse(s.at))), h('td', {}, h('span', { class: 'position' }, s.position.map((n, i) => h('span', { key: i }, count(n))))),
              h('td', { class: 'right' }, bytes(s.bytes)), h('td', { class: 'right' }, count(s.count)), h('td', {}, print(s.digest, s.digest))))))));
  }

  dead() {
    const all = this.letters?.letters ?? [];
    const reasons = new Map();
    for (const l of all) reasons.set(l.reason, (reasons.get(l.reason) ?? 0) + 1);
    if (!reasons.has(this.reason)) this.reason = '';
    const list = all.filter((l) => !this.reason || l.reason === this.reason);
    const choose = (reason) => { this.reason = reason; this.redraw(); };
    const chip = (reason, label, n) => h('button', { key: reason, class: 'chip', type: 'button', 'data-reason': reason || 'all', 'aria-pressed': String((this.reason ?? '') === reason), onclick: () => choose(reason) }, label, h('b', {}, count(n)));
    return h('section', { class: 'card', 'aria-labelledby': 'h-dead' }, h('h2', { id: 'h-dead' }, 'Dead letters'),
      this.lettersError && h('p', { class: 'trouble' }, this.lettersError),
      reasons.size > 0 && h('p', { class: 'reasons', role: 'group', 'aria-label': 'Dead letters by reason' }, chip('', 'all', all.length), [...reasons].map(([reason, n]) => chip(reason, reason, n))),
      list.length ? h('div', { class: 'scroll', tabindex: '0', role: 'group', 'aria-labelledby': 'h-dead' }, h('table', { class: 'grid' },
        h('thead', {}, h('tr', {}, ['Written', 'Reason', 'From', 'Key', 'What is wrong', ''].map((t, i) => h('th', { key: i, scope: 'col' }, t || h('span', { class: 'hidden-text' }, 'Actions'))))),
        h('tbody', {}, list.map((l) => h('tr', { key: `${l.partition}/${l.offset}`, 'data-letter': `${l.partition}/${l.offset}` },
          h('td', {}, exactTime(l.written)), h('td', {}, h('span', { class: 'reason' }, l.reason)), h('td', {}, h('code', {}, `${l.topic}/${l.from}`)), h('td', { class: 'key' }, l.key), h('td', { class: 'detail' }, wrong(l)),
          h('td', { class: 'right' }, h('button', { class: 'chip', type: 'button', onclick: () => this.look(l) }, icon('look'), 'Look')))))))
        : this.letters && h('p', { class: 'empty' }, 'None. A record that cannot be used would be here with why, and its partition would go on.'),
      list.length > 0 && h('p', { class: 'note' }, `${plural(this.letters.total, 'dead letter')} in all; they stay 30 days.${this.letters.total > all.length ? ` These are the newest ${count(all.length)}.` : ''} Once the cause is mended, this writes ${this.reason ? 'those of this reason' : 'them'} again; without --dry-run it does:`),
      list.length > 0 && h('pre', { tabindex: '0', 'aria-label': 'Command' }, `tidemark deadletters replay${this.about.broker && this.about.broker !== '127.0.0.1:9092' ? ` --brokers ${this.about.broker}` : ''}${this.reason ? ` --reason ${this.reason}` : ''} --dry-run`));
  }

  look(l) {
    const done = (text, bad) => this.drawLetter(l, h('p', { class: bad ? 'trouble' : 'done', role: 'status' }, text));
    this.replay = async () => {
      try {
        const { after } = await tell('deadletters/replay', { partition: l.partition, offset: l.offset });
        done(`Written again, as ${after}.`);
        announce('Written again');
      } catch (err) {
        done(err.message, true);
      }
    };
    this.drawLetter(l);
  }

  drawLetter(l, more) {
    show(`Dead letter ${l.partition}/${l.offset}`, [
      h('dl', { class: 'pairs' }, [['reason', l.reason], ['what is wrong', wrong(l)], ['from', `${l.topic}/${l.from}`], ['key', l.key], ['size', bytes(l.bytes)]].map(([k, v]) => h('div', { key: k }, h('dt', {}, k), h('dd', {}, v)))),
      h('pre', { class: l.hex ? 'bytes' : undefined, tabindex: '0', 'aria-label': 'The value as it was' }, l.hex ? l.value : pretty(l.value), l.cut && '\n…'),
      more,
      h('p', { class: 'actions' }, h('button', { class: 'primary', type: 'button', disabled: !l.usable, onclick: () => void this.replay() }, 'Write it again'),
        h('span', { class: 'note' }, l.usable ? 'To its topic, with its channel as key and its own time.' : 'This build would refuse it again.')),
    ]);
  }

  verify() {
    const a = this.about;
    const flag = (name, value, usual) => (value && value !== usual ? ` --${name} ${value}` : '');
    const kafka = flag('brokers', a.broker, '127.0.0.1:9092');
    const commands = [
      ['Rebuild all state from the topics, and compare every record with this node\'s stores and with Redis. The node goes on meanwhile; run it on the node\'s machine:',
        `tidemark verify --node ${a.url ?? ''}${kafka}${flag('redis', a.redis, 'redis://127.0.0.1:6379')}`],
      ...(a.snapshots ? [
        ['Bring the newest snapshots into an empty directory, rebuild the same state, and compare:',
          `tidemark snapshot restore --snapshots ${a.snapshots} --data-dir check\ntidemark verify${kafka} --data-dir check --no-redis`],
        ['Download each snapshot and check every byte and the digest of all records:', `tidemark snapshot verify --snapshots ${a.snapshots}`],
      ] : []),
    ];
    const links = [['/readyz', 'a line for each partition'], ['/metrics', 'for Prometheus'], ['/healthz', 'alive']];
    return h('section', { class: 'card', 'aria-labelledby': 'h-verify' }, h('h2', { id: 'h-verify' }, 'Do not believe it, check it'),
      h('div', { class: 'checks' }, commands.map(([why, command]) => h('div', { key: why }, h('p', {}, why), h('pre', { tabindex: '0', 'aria-label': 'Command' }, command)))),
      h('p', { class: 'links' }, links.map(([href, what]) => h('a', { key: href, href }, h('code', {}, href), ` ${what}`))));
  }
}

/** Six colours that stand for a digest: equal ones look equal at a glance. */
const swatch = (digest) => h('svg', { class: 'print', viewBox: '0 0 18 6', 'aria-hidden': 'true' },
  [0, 1, 2, 3, 4, 5].map((i) => h('rect', { key: i, x: i * 3, y: 0, width: 3, height: 6, class: `tone-${parseInt(digest.slice(i * 2, i * 2 + 2), 16) % 8}` })));

/** A digest, short; that of no record at all is a word. */
const print = (digest, title) => (/^0+$/.test(digest) ? h('span', { class: 'note' }, 'empty') : h('code', { class: 'digest', title }, swatch(digest), digest.slice(0, 12)));

/** What is wrong with a dead letter, without the reason that stands beside it. */
const wrong = (l) => (l.detail.startsWith(`${l.reason}: `) ? l.detail.slice(l.reason.length + 2) : l.detail);

/** How long ago, from milliseconds. */
const ago = (ms) => (ms < 1500 ? 'just now' : `${ms < 120_000 ? `${Math.round(ms / 1000)} s` : ms < 7_200_000 ? `${Math.round(ms / 60_000)} min` : ms < 172_800_000 ? `${Math.round(ms / 3_600_000)} h` : `${Math.round(ms / 86_400_000)} days`} ago`);

const sumOf = (values, what) => Object.entries(values).reduce((n, [k, v]) => n + (k.startsWith('processor_store_entries{') && k.slice(24, -1).split(',').includes(what) ? v : 0), 0);

function pretty(text) {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}
