// All nodes of the group, as each of them describes itself to this one: its partitions, their
// state, and what they need.

import { own } from '/ui/api.js';
import { h, icon } from '/ui/dom.js';
import { grid, Order, row } from '/ui/grid.js';
import { Poll } from '/ui/poll.js';
import { bytes, count, duration, hostOf, plural } from '/ui/words.js';

const EVERY = 2000; // milliseconds between two readings

const sum = (node, f) => (node.report?.partitions ?? []).reduce((all, p) => all + f(p), 0);
const owned = (node) => sum(node, (p) => (p.standby ? 0 : 1));
const behind = (node) => sum(node, (p) => (p.standby ? 0 : p.lag));
const number = (name, by) => ({ name, right: true, by });

/** The columns of all nodes. A node that did not answer has no numbers. */
const nodeColumns = [
  { name: 'Node', by: (n) => n.url }, { name: 'State', by: (n) => n.report && (n.report.ready ? 'ready' : 'not ready') },
  ...[['Owns', owned], ['Standby', (n) => sum(n, (p) => (p.standby ? 1 : 0))], ['Behind', behind], ['Hot state', (n) => sum(n, (p) => p.hot_bytes)]].map(([name, of]) => number(name, (n) => n.report && of(n))),
  { name: 'Memory', by: (n) => n.report?.memory_bytes }, number('Disk', (n) => n.report && sum(n, (p) => p.disk_bytes)),
  { name: 'Roles' }, { name: 'Version', by: (n) => n.report?.version },
];

/** The columns of all partitions. */
const partitionColumns = [
  { name: 'Partition', by: (p) => p.n }, { name: 'State', by: (p) => p.told?.state ?? 'unknown' }, { name: 'Owner', by: (p) => p.owner || undefined },
  { name: 'Standbys', by: (p) => p.standbys.length || undefined }, { name: 'Position', by: (p) => p.told && p.told.position.reduce((a, b) => a + b, 0) },
  number('Behind', (p) => p.told?.lag), number('Hot state', (p) => p.told?.hot_bytes), number('Disk', (p) => p.told?.disk_bytes),
];

export class Cluster {
  now;
  trouble = '';
  node = ''; // the node whose partitions are listed; empty: all
  only = ''; // which partitions: '', 'wrong' or 'behind'
  #poll = new Poll(EVERY, () => this.#read());

  constructor(redraw) {
    this.redraw = redraw;
    this.nodeOrder = new Order(redraw);
    this.order = new Order(redraw);
  }

  /** Polls while the view is shown. */
  watch(on) { this.#poll.watch(on); }

  async #read() {
    try {
      this.now = await own('cluster');
      this.trouble = '';
    } catch (err) {
      this.trouble = err.message;
    }
    this.redraw();
  }

  /** A row for each partition: its owner, the state that the owner reports, and its standbys. */
  get partitions() {
    const rows = this.now.owners.map((owner, n) => ({ n, owner, standbys: [] }));
    for (const node of this.now.nodes) {
      for (const p of node.report?.partitions ?? []) {
        const row = rows[p.partition];
        if (!row) continue;
        if (p.standby) row.standbys.push(node);
        else if (!row.told || node.url === row.owner) Object.assign(row, { told: p, node });
      }
    }
    return rows;
  }

  choose(change) {
    Object.assign(this, change);
    this.redraw();
  }

  render() {
    const main = (...kids) => h('main', { class: 'operators', id: 'main', tabindex: '-1', key: 'cluster' }, kids);
    const trouble = this.trouble && h('p', { key: 'trouble', class: 'trouble', role: 'alert' }, `The node does not answer: ${this.trouble}. Trying again every two seconds.`);
    if (!this.now) return main(trouble || h('p', { class: 'empty middle' }, 'Asking all nodes …'));
    return main(trouble, this.now.error && h('p', { key: 'error', class: 'trouble' }, this.now.error), this.#nodes(), this.#partitions());
  }

  #nodes() {
    const { nodes } = this.now;
    const silent = nodes.filter((n) => !n.report);
    return h('section', { key: 'nodes', class: 'card', 'aria-labelledby': 'h-nodes' },
      h('div', { class: 'card-head' }, h('h2', { id: 'h-nodes' }, plural(nodes.length, 'node')),
        silent.length > 0 && h('span', { class: 'health bad' }, icon('pause'), `${count(silent.length)} did not answer`)),
      grid('h-nodes', nodeColumns, this.nodeOrder, this.nodeOrder.of(nodeColumns, nodes).map((n) => this.#node(n))),
      h('p', { class: 'note' }, 'Kafka lists the members of the group; this node asks each of them. Nodes and gateways without a fold are not members: name them in --nodes to see them here. Memory is that of the Go runtime, beside the limit of --memory.'));
  }

  #node(n) {
    const r = n.report;
    const name = h('th', { scope: 'row', class: 'node-name' }, link(n), h('small', {}, [n.instance_id, n.self && 'this node', n.outside && 'not in the group', n.host?.replace(/^\/|:\d+$/g, '')].filter(Boolean).join(' · ')));
    if (!r) return h('tr', { key: n.url + n.instance_id, 'data-node': n.url, class: 'silent-node' }, name, h('td', { class: 'wide-cell', colspan: '9' }, h('b', { class: 'state-failed' }, 'did not answer'), h('small', { class: 'wrong' }, n.error)));
    const owns = owned(n);
    return row(nodeColumns, { key: n.url, 'data-node': n.url }, [name,
      h('td', {}, h('span', { class: r.ready ? 'state-live' : 'state-failed' }, r.ready ? 'ready' : 'not ready'), !n.self && h('small', {}, `answered in ${duration(n.seconds)}`)),
      h('td', { class: 'right' }, h('button', { class: 'link', type: 'button', 'aria-pressed': String(this.node === n.url), 'aria-label': `${plural(owns, 'partition')} of ${hostOf(n.url)}: list them`, onclick: () => this.choose({ node: this.node === n.url ? '' : n.url }) }, count(owns))),
      h('td', { class: 'right' }, count(r.partitions.length - owns)),
      h('td', { class: 'right' }, count(behind(n))),
      h('td', { class: 'right' }, bytes(sum(n, (p) => p.hot_bytes))),
      h('td', {}, r.memory_limit > 0 && h('span', { class: `bars ${r.memory_bytes > r.memory_limit * 0.9 ? 'tight' : ''}`, 'aria-hidden': 'true' }, h('i', { vars: { '--share': `${Math.min(100, (r.memory_bytes / r.memory_limit) * 100).toFixed(0)}%` } })), r.memory_limit > 0 ? `${bytes(r.memory_bytes)} of ${bytes(r.memory_limit)}` : bytes(r.memory_bytes)),
      h('td', { class: 'right' }, bytes(sum(n, (p) => p.disk_bytes))),
      h('td', { class: 'roles' }, r.roles.replaceAll(',', ', ')), h('td', {}, r.version)]);
  }

  #partitions() {
    const all = this.partitions;
    const kinds = { '': ['all', () => true], wrong: ['not live', (p) => p.told?.state !== 'live'], behind: ['behind', (p) => p.told?.lag > 0] };
    const mine = all.filter((p) => !this.node || p.owner === this.node);
    const list = mine.filter(kinds[this.only][1]);
    return h('section', { key: 'partitions', class: 'card', 'aria-labelledby': 'h-all-partitions' },
      h('div', { class: 'card-head' }, h('h2', { id: 'h-all-partitions' }, this.node ? `Partitions of ${hostOf(this.node)}` : plural(all.length, 'partition')),
        h('div', { class: 'chips', role: 'group', 'aria-label': 'Which partitions' },
          Object.entries(kinds).map(([kind, [label, want]]) => h('button', { key: kind || 'all', class: 'chip', type: 'button', 'data-only': kind || 'all', 'aria-pressed': String(this.only === kind), onclick: () => this.choose({ only: kind }) }, label, h('b', {}, count(mine.filter(want).length)))),
          this.node && h('button', { key: 'every', class: 'chip', type: 'button', onclick: () => this.choose({ node: '' }) }, icon('close'), 'of all nodes'))),
      list.length ? grid('h-all-partitions', partitionColumns, this.order, this.order.of(partitionColumns, list).map((p) => this.#partition(p)))
        : h('p', { class: 'empty' }, 'None.'));
  }

  #partition({ n, owner, told, standbys }) {
    const by = this.now.nodes.find((x) => x.url === owner);
    const state = told ? told.state : owner ? 'unknown' : 'unowned';
    return row(partitionColumns, { key: n, 'data-all-partition': n }, [
      h('th', { scope: 'row' }, n),
      h('td', {}, h('span', { class: `state-${state}` }, state), told?.state === 'opening' && ` ${Math.round(told.progress * 100)} %${told.eta_seconds ? `, ${duration(told.eta_seconds)} left` : ''}`,
        (told?.error || (!told && owner && by?.error)) && h('small', { class: 'wrong' }, told?.error || `its owner did not answer: ${by.error}`)),
      h('td', { class: 'node-name' }, owner ? link(by ?? { url: owner }) : '–', by?.self && h('small', { class: 'inline' }, 'this node')),
      h('td', { class: 'node-name' }, standbys.length ? standbys.map((s) => h('span', { key: s.url }, link(s), ' ')) : '–'),
      h('td', {}, told ? h('span', { class: 'position' }, told.position.map((x, i) => h('span', { key: i, title: `its log ends at ${told.ends[i]}` }, count(x)))) : '–'),
      h('td', { class: 'right' }, told ? count(told.lag) : '–'), h('td', { class: 'right' }, told?.hot_bytes ? bytes(told.hot_bytes) : '–'), h('td', { class: 'right' }, told?.disk_bytes ? bytes(told.disk_bytes) : '–')]);
  }
}

/** A node's name, with a link to its own page if it serves one. */
const link = (n) => {
  if (!n.url) return 'no address';
  return n.report?.page ? h('a', { href: n.self ? '#operators' : `${n.url.replace(/\/$/, '')}/#operators`, title: `The page of ${n.url}` }, hostOf(n.url)) : h('span', { title: n.report ? 'It serves no page: --ui' : undefined }, hostOf(n.url));
};
