// The view for operators: what this node does, partition by partition, live.

import { own } from '/ui/api.js';
import { chart, quantile, stacked } from '/ui/charts.js';
import { checks, snapshotsNow } from '/ui/deeds.js';
import { h, icon } from '/ui/dom.js';
import { grid, row } from '/ui/grid.js';
import { Letters } from '/ui/letters.js';
import { Poll } from '/ui/poll.js';
import { bytes, count, duration, exactTime, hostOf, rate, short } from '/ui/words.js';

const EVERY = 1000; // milliseconds between two readings
const KEPT = 90;
const SERIES_EVERY = 10_000;
/** The ranges of the charts, in milliseconds. This tab has a value a second, the node's memory
 * one every ten seconds. */
const ranges = [['tab', 'This tab', KEPT * 1000], ['ten', '10 minutes', 600_000], ['hour', '1 hour', 3_600_000]];
const phases = ['decode', 'fold', 'drain', 'publish', 'cut', 'apply', 'commit'];
const meaning = {
  decode: 'records to events, checked', fold: 'events into the state', drain: 'changes to output records', publish: 'until the brokers have acknowledged',
  cut: 'dirty state to a batch', apply: 'writing that batch', commit: 'group offsets',
};

export class Operators {
  about = {};
  readings = []; // newest last
  series = []; // the node's samples of the last hour
  range = 'tab';
  #chosen = false; // the user has chosen the range
  #seriesAt = -Infinity;
  trouble = '';
  #poll = new Poll(EVERY, () => this.#read());

  constructor(redraw) {
    this.redraw = redraw;
    this.letters = new Letters(redraw, () => this.about);
  }

  /** Polls while the view is shown. */
  watch(on) { this.#poll.watch(on); }

  async #read() {
    try {
      const r = await own('operators');
      this.trouble = '';
      const last = this.readings.at(-1);
      if (last && r.at <= last.at) this.readings = []; // a new process, or the clock was set back
      this.readings.push(r);
      if (this.readings.length > KEPT) this.readings.shift();
    } catch (err) {
      this.trouble = err.message;
    }
    this.redraw();
    void this.letters.look();
    if (performance.now() - this.#seriesAt >= SERIES_EVERY) void this.#readSeries();
  }

  async #readSeries() {
    this.#seriesAt = performance.now();
    try {
      const before = this.series.length;
      this.series = (await own('series')).samples;
      // A new tab has nothing to show yet. The node has, if it has run for a minute.
      if (!this.#chosen && !before && this.series.length >= 6) this.range = 'ten';
    } catch { /* the next reading asks again */ }
    this.redraw();
  }

  // Numbers

  get now() { return this.readings.at(-1); }

  /** The points of a chart: from the readings of this tab, or from the node's samples. */
  points(ofReading, ofSample) {
    return this.range === 'tab' ? this.readings.map((r) => [r.at, ofReading(r)]) : this.series.map((s) => [s.at, ofSample(s) ?? NaN]);
  }

  /** The points of a counter, as its rate a second. */
  rates(ofReading, ofSample) {
    return this.points(ofReading, ofSample).flatMap(([at, v], i, all) => (i ? [[at, Math.max(0, v - all[i - 1][1]) / ((at - all[i - 1][0]) / 1000)]] : []));
  }

  /** The phases' histograms of ten seconds ago, which are subtracted from the current ones. If
   * the node has published nothing since, the histograms are from its start: a count without a
   * figure beside it would look like a contradiction. */
  recent() {
    const was = (this.readings.at(-11) ?? this.readings[0])?.histograms['processor_phase_seconds'] ?? {};
    const published = (h) => h?.publish?.count ?? 0;
    return published(this.now.histograms['processor_phase_seconds']) > published(was)
      ? { since: was, over: 'over the last ten seconds' }
      : { since: {}, over: 'since the start' };
  }

  /** Rate over the last few readings, so that a table does not flicker. */
  steady(value) {
    const from = this.readings.at(-6) ?? this.readings[0];
    const seconds = (this.now.at - from.at) / 1000;
    return seconds > 0 ? Math.max(0, (value(this.now) - value(from)) / seconds) : 0;
  }

  #choose(range) {
    this.#chosen = true;
    this.range = range;
    this.redraw();
  }

  // Drawing

  render() {
    const r = this.now;
    return h('main', { class: 'operators', id: 'main', tabindex: '-1', key: 'operators' },
      this.trouble && h('p', { class: 'trouble', role: 'alert' }, `The node does not answer: ${this.trouble}. Trying again every second.`),
      r ? [this.head(r), this.tiles(r), this.partitions(r), h('div', { class: 'two' }, this.phases(r), this.store(r)), this.letters.render(), checks(this)]
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
    const { since, over } = this.recent();
    const median = quantile(r.histograms['processor_phase_seconds']?.publish ?? { count: 0 }, since.publish, 0.5);
    const index = new Map(this.readings.map((x, i) => [x, i]));
    const [, , span] = ranges.find(([name]) => name === this.range);
    const axis = { from: r.at - span, to: r.at, redraw: this.redraw };
    const tile = (label, value, points, format, floor, more, bad) => h('div', { key: label, class: `tile ${bad ? 'bad' : ''}`, role: 'group', 'aria-label': label }, h('h3', {}, label), h('p', { class: 'figure' }, value), chart(label, points, format, { ...axis, floor }), h('p', { class: 'note' }, more));
    return h('section', { class: 'charts', 'aria-label': 'Charts' },
      h('div', { class: 'chips', role: 'group', 'aria-label': 'Range of the charts' }, ranges.map(([name, label]) => h('button', { key: name, class: 'chip', type: 'button', 'data-range': name, 'aria-pressed': String(this.range === name), onclick: () => this.#choose(name) }, label))),
      h('div', { class: 'tiles' },
        tile('Events a second', rate(this.steady(events)), this.rates(events, (s) => s.events), rate, 1, `${count(events(r))} since the start`),
        tile('Deltas a second', rate(this.steady(deltas)), this.rates(deltas, (s) => s.deltas), rate, 1, `${(deltas(r) / Math.max(1, events(r))).toFixed(2)} for each event`),
        tile('Records behind', count(lag(r)), this.points(lag, (s) => s.lag), short, 4, [lag(r) ? 'records wait to be folded' : 'everything is folded', ' ', h('a', { href: '#cluster' }, 'by partition')], lag(r) > 10_000),
        tile('Publish, median', duration(median), this.points((x) => batch(x, index.get(x)), (s) => s.publish), duration, 0.002, `until acknowledged by all replicas, ${over}`),
        tile('Dead letters', count(this.letters.page?.total ?? dead(r)), this.points(dead, (s) => s.dead), short, 4, [dead(r) ? `${count(dead(r))} by this node since its start` : 'none by this node since its start', ' ', this.letters.page?.total > 0 && h('button', { key: 'list', class: 'link', type: 'button', 'data-list': 'letters', onclick: () => this.letters.show() }, 'list them')])));
  }

  partitions(r) {
    const inputs = ['messages', 'reads', 'deliveries'];
    const columns = ['Partition', 'State', 'Owner', 'Position', 'Behind', 'Events/s', 'Digest of the store'].map((name, i) => ({ name, right: i === 4 || i === 5 }));
    return h('section', { class: 'card', 'aria-labelledby': 'h-partitions' }, h('h2', { id: 'h-partitions' }, 'Partitions'),
      grid('h-partitions', columns, undefined, r.partitions.map((p) => row(columns, { key: p.partition, 'data-partition': p.partition }, [
          h('th', { scope: 'row' }, p.partition),
          h('td', {}, h('span', { class: `state-${p.state}` }, p.state === 'live' ? 'live' : p.state), p.state === 'opening' && ` ${Math.round(p.progress * 100)} %${p.eta_seconds ? `, ${duration(p.eta_seconds)} left` : ''}`, p.error && h('small', { class: 'wrong' }, p.error)),
          h('td', { class: 'owner' }, p.owner ? h('a', { href: '#cluster', title: 'All nodes' }, hostOf(p.owner)) : '–', p.here && p.state === 'live' && h('small', { class: 'inline' }, 'this node')),
          h('td', {}, p.position ? h('span', { class: 'position' }, p.position.map((n, i) => h('span', { key: i, title: `next offset of chat.${inputs[i]}; its log ends at ${p.ends?.[i] ?? '?'}` }, count(n)))) : '–'),
          h('td', { class: 'right' }, p.position ? count(p.lag) : '–'),
          h('td', { class: 'right' }, p.position ? rate(this.steady((x) => x.partitions[p.partition]?.position?.reduce((a, b) => a + b, 0) ?? 0)) : '–'),
          h('td', {}, p.digest ? print(p.digest, `${p.digest}, at position ${p.stored.join(', ')}`) : '–')]))),
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
      h('div', { class: 'card-head' }, h('h3', {}, 'Snapshots'), snapshotsNow(this)),
      r.snapshots_error && h('p', { class: 'trouble' }, r.snapshots_error),
      r.snapshots_error && !r.snapshots?.length ? undefined
        : !r.snapshots?.length ? h('p', { class: 'empty' }, r.snapshots ? 'None was taken yet.' : ['This node keeps none: ', h('code', {}, '--snapshots file:///dir'), ' or ', h('code', {}, 's3://bucket'), ' turns them on.'])
          : h('div', { class: 'scroll few', tabindex: '0', role: 'group', 'aria-label': 'Snapshots' }, h('table', { class: 'grid' }, h('thead', {}, h('tr', {}, ['Partition', 'Taken', 'Position', 'Size', 'Kept', 'Digest'].map((t, i) => h('th', { key: t, scope: 'col', class: i === 3 || i === 4 ? 'right' : undefined }, t)))),
            h('tbody', {}, r.snapshots.map((s) => h('tr', { key: s.partition, 'data-snapshot': s.partition }, h('th', { scope: 'row' }, s.partition),
              h('td', { title: exactTime(s.at) }, ago(r.at - Date.parse(s.at))), h('td', {}, h('span', { class: 'position' }, s.position.map((n, i) => h('span', { key: i }, count(n))))),
              h('td', { class: 'right' }, bytes(s.bytes)), h('td', { class: 'right' }, count(s.count)), h('td', {}, print(s.digest, s.digest))))))));
  }
}

/** Six colours for a digest: equal digests look equal at a glance. */
const swatch = (digest) => h('svg', { class: 'print', viewBox: '0 0 18 6', 'aria-hidden': 'true' },
  [0, 1, 2, 3, 4, 5].map((i) => h('rect', { key: i, x: i * 3, y: 0, width: 3, height: 6, class: `tone-${parseInt(digest.slice(i * 2, i * 2 + 2), 16) % 8}` })));

/** A digest, shortened; a word for the digest of no records. */
const print = (digest, title) => (/^0+$/.test(digest) ? h('span', { class: 'note' }, 'empty') : h('code', { class: 'digest', title }, swatch(digest), digest.slice(0, 12)));

/** A duration of the past in words, from milliseconds. */
const ago = (ms) => (ms < 1500 ? 'just now' : `${ms < 120_000 ? `${Math.round(ms / 1000)} s` : ms < 7_200_000 ? `${Math.round(ms / 60_000)} min` : ms < 172_800_000 ? `${Math.round(ms / 3_600_000)} h` : `${Math.round(ms / 86_400_000)} days`} ago`);

const sumOf = (values, what) => Object.entries(values).reduce((n, [k, v]) => n + (k.startsWith('processor_store_entries{') && k.slice(24, -1).split(',').includes(what) ? v : 0), 0);
