// Operations that the page starts: comparing a partition with its topics, and taking snapshots.
// Each asks for confirmation first, and shows its command.

import { stream } from '/ui/api.js';
import { copyable, quoted } from '/ui/copy.js';
import { announce, h, icon } from '/ui/dom.js';
import { open } from '/ui/sheet.js';
import { bytes, count, plural } from '/ui/words.js';

/** Asks for confirmation, and shows the progress. `begin` draws it into its argument. */
function deed(label, why, button, command, begin) {
  const sheet = open(label, []);
  const draw = (more) => sheet.set([h('p', {}, why), more, !more && h('p', { class: 'actions' }, h('button', { class: 'primary', type: 'button', onclick: () => void run() }, button)), copyable(command, 'The same at the command line')]);
  const run = async () => {
    draw(h('p', { class: 'empty', role: 'status' }, 'It begins …'));
    try {
      await begin(draw);
    } catch (err) {
      draw(h('p', { class: 'trouble', role: 'alert' }, err.message));
    }
  };
  draw();
}

const bar = (share, text) => h('div', { class: 'progress' }, h('progress', { max: '1', value: share, 'aria-label': text }), h('span', { class: 'note', role: 'status' }, text));

/** Asks whether to compare a partition. */
function askVerify(p, command) {
  deed(`Verify partition ${p.partition}?`, `This rebuilds partition ${p.partition} from the topics, beside a copy of its store, and compares record by record. It reads the whole log of the partition, and takes memory for a second hot state, disk for a second store, and a part of this node's processor until it ends. Closing the page ends it. Nothing is changed.`,
    'Verify it', command, async (draw) => {
      let result;
      let failed = '';
      await stream('verify', { partition: p.partition }, (x) => {
        result = x.result;
        failed = x.error ?? '';
        if (x.progress !== undefined) draw(bar(x.progress, `${Math.floor(x.progress * 100)} % of the log is folded again`));
      });
      if (failed || !result) throw new Error(failed || 'The node ended its answer too early.');
      const done = result.partitions[0];
      const said = result.total ? plural(result.total, 'difference') : 'No difference';
      announce(said);
      draw([
        h('p', { key: 'result', class: 'result', 'data-differences': result.total }, h('b', {}, result.total ? count(result.total) : icon('check')), ` ${said.replace(/^[\d,]+ /, '')}`),
        h('p', { key: 'fact', class: 'fact' }, `up to ${done.position.map(count).join(' · ')}, digest `, h('code', {}, done.digest.slice(0, 12))),
        result.total > 0 && h('ul', { key: 'list', class: 'evidence tall', tabindex: '0', 'aria-label': 'Differences' }, result.differences.map((d, i) => h('li', { key: i }, `${[d.channel && `#${d.channel}`, d.user].filter(Boolean).join(', ')} ${d.field} is ${d.is}, the topics say ${d.want}`))),
      ]);
    });
}

/** Asks whether to take snapshots. */
function askSnapshots(place, partitions, command) {
  deed('Take snapshots now?', `This takes a snapshot of each partition that this node owns (${count(partitions)}) and uploads the new files to ${place}. The fold continues meanwhile.`,
    'Take them', command, async (draw) => {
      const rows = new Map();
      let ended = false;
      await stream('admin/snapshots', {}, (x) => {
        ended ||= x.end === true;
        if (x.end) return;
        rows.set(x.partition, x.error ? { text: x.error, bad: true }
          : x.taken ? { text: x.taken.empty ? 'its store is still empty' : x.taken.unchanged ? 'is there already, of just this position' : `taken, ${bytes(x.taken.stats.UploadedBytes)} uploaded` }
            : { text: `${x.progress.Phase} …` });
        show(draw, rows, false);
      });
      if (!ended) throw new Error('The node ended its answer too early. The reported snapshots are complete.');
      announce('All snapshots are done');
      show(draw, rows, true);
    });
}

const show = (draw, rows, ended) => draw([
  h('ul', { key: 'rows', class: 'evidence tall', tabindex: '0', 'aria-label': 'Partitions' }, [...rows].map(([n, { text, bad }]) => h('li', { key: n, class: bad ? 'trouble' : undefined }, h('b', {}, `partition ${n}`), ` ${text}`))),
  h('p', { key: 'end', class: ended ? 'done' : 'note', role: 'status' }, ended ? 'All partitions are done.' : 'In progress …'),
]);

const node = (about) => ` --node ${quoted(about.url ?? '')}`;
const owned = (reading) => reading.partitions.filter((p) => p.here && p.state === 'live');

/** A button that takes snapshots, if this node may. */
export const snapshotsNow = ({ about: a, now: r }) => a.deeds?.snapshots
  && h('button', { key: 'snapshots', class: 'chip', type: 'button', 'data-deed': 'snapshots', onclick: () => askSnapshots(a.snapshots, owned(r).length, `tidemark snapshot create${node(a)}`) }, icon('archive'), 'Take snapshots now');

/** The possible checks, with their buttons and commands. */
export function checks({ about: a, now: r }) {
  const flag = (name, value, usual) => (value && value !== usual ? ` --${name} ${quoted(value)}` : '');
  const kafka = flag('brokers', a.broker, '127.0.0.1:9092');
  const verify = `tidemark verify${node(a)}${kafka}${flag('redis', a.redis, 'redis://127.0.0.1:6379')}`;
  const live = owned(r);
  const commands = [
    ['Rebuild all state from the topics, and compare every record with this node\'s stores and with Redis. The node keeps running; run it on the node\'s machine:', verify],
    ...(a.snapshots ? [
      ['Bring the newest snapshots into an empty directory, rebuild the same state, and compare:', `tidemark snapshot restore --snapshots ${a.snapshots} --data-dir check\ntidemark verify${kafka} --data-dir check --no-redis`],
      ['Download each snapshot and check every byte and the digest of all records:', `tidemark snapshot verify --snapshots ${a.snapshots}`],
    ] : []),
  ];
  const links = [['/readyz', 'a line for each partition'], ['/metrics', 'for Prometheus'], ['/healthz', 'alive']];
  return h('section', { class: 'card', 'aria-labelledby': 'h-verify' }, h('h2', { id: 'h-verify' }, 'Do not believe it, check it'),
    a.deeds?.verify && h('div', { class: 'chips', role: 'group', 'aria-label': 'What this node can do now' },
      live.map((p) => h('button', { key: p.partition, class: 'chip', type: 'button', 'data-verify': p.partition, onclick: () => askVerify(p, `${verify} --partition ${p.partition}`) }, icon('readall'), `Verify partition ${p.partition}`))),
    h('div', { class: 'checks' }, commands.map(([why, command]) => h('div', { key: why }, h('p', {}, why), copyable(command)))),
    h('p', { class: 'links' }, links.map(([href, what]) => h('a', { key: href, href }, h('code', {}, href), ` ${what}`))));
}
