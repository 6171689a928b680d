// Small live charts, drawn as SVG.

import { announce, h } from '/ui/dom.js';
import { secondsOf, timeOf } from '/ui/words.js';

const W = 240;
const H = 56;

/** The smallest of 1, 2, 3, 4, 5, 6, 8, 10, 20 … that is not below a value: the end of an axis. */
function roundUp(v) {
  const power = 10 ** Math.floor(Math.log10(v));
  return [1, 2, 3, 4, 5, 6, 8, 10].find((n) => n * power >= v * 0.9999) * power;
}

const hovered = new Map(); // by chart: the time under the pointer

/** A line over time with its axes. `points` are [Unix milliseconds, value], oldest first, and
 * NaN is a gap; `from` and `to` are the ends of the time axis. Hovering and the arrow keys show
 * single values. */
export function chart(label, points, format, { from, to, floor = 1, redraw }) {
  const known = points.filter((p) => p[0] >= from && Number.isFinite(p[1]));
  const top = roundUp(Math.max(floor, ...known.map((p) => p[1])));
  const x = (t) => ((t - from) / (to - from)) * W;
  const y = (v) => H - (v / top) * H;
  let path = '';
  let open = false;
  for (const [t, v] of points) {
    if (t < from) continue;
    if (Number.isFinite(v)) path += `${open ? 'L' : 'M'}${x(t).toFixed(1)} ${y(v).toFixed(1)}`;
    open = Number.isFinite(v);
  }
  const at = hovered.get(label);
  const near = at === undefined ? undefined : known.reduce((best, p) => (!best || Math.abs(p[0] - at) < Math.abs(best[0] - at) ? p : best), undefined);
  const clock = to - from < 600_000 ? secondsOf : timeOf;
  const point = (t) => {
    if (hovered.get(label) === t) return;
    hovered.set(label, t);
    redraw();
  };
  const leave = () => { if (hovered.delete(label)) redraw(); };
  const summary = known.length ? `${label}: ${format(known.at(-1)[1])} now, at most ${format(Math.max(...known.map((p) => p[1])))} since ${clock(Math.max(from, known[0][0]))}` : `${label}: nothing yet`;
  return h('div', { class: 'chart' },
    h('div', { class: 'ticks-y', 'aria-hidden': 'true' }, [top, top / 2, 0].map((v) => h('span', { key: v }, format(v)))),
    h('div', {
      class: 'plot', role: 'img', tabindex: '0', 'aria-label': summary,
      onpointermove: (e) => { const box = e.currentTarget.getBoundingClientRect(); point(from + ((e.clientX - box.left) / box.width) * (to - from)); },
      onpointerleave: leave, onblur: leave,
      onkeydown: (e) => {
        const step = { ArrowLeft: -1, ArrowRight: 1 }[e.key];
        if (!step || !known.length) return;
        e.preventDefault();
        const i = near ? Math.max(0, Math.min(known.length - 1, known.indexOf(near) + step)) : known.length - 1;
        point(known[i][0]);
        announce(`${clock(known[i][0])}: ${format(known[i][1])}`);
      },
    },
    h('svg', { class: 'spark', viewBox: `0 0 ${W} ${H}`, preserveAspectRatio: 'none', 'aria-hidden': 'true' },
      [0, H / 2, H].map((v) => h('line', { key: v, class: 'axis', x1: 0, y1: v, x2: W, y2: v })),
      path.includes('L') && h('path', { class: 'stroke', d: path }),
      near && h('line', { key: 'at', class: 'at-line', x1: x(near[0]), y1: 0, x2: x(near[0]), y2: H })),
    near && h('span', { class: `tip ${x(near[0]) > W / 2 ? 'left' : ''}`, vars: { '--x': `${(x(near[0]) / W) * 100}%` } }, h('b', {}, format(near[1])), ` ${clock(near[0])}`)),
    h('div', { class: 'ticks-x', 'aria-hidden': 'true' }, [from, (from + to) / 2, to].map((t, i) => h('span', { key: i }, clock(t)))));
}

/** A bar of parts that add up. `parts` are [class, label, value]. */
export function stacked(label, parts, format) {
  const sum = parts.reduce((n, p) => n + p[2], 0);
  let x = 0;
  return h('svg', { class: 'stacked', viewBox: '0 0 1000 20', preserveAspectRatio: 'none', role: 'img', 'aria-label': `${label}: ${parts.map(([, name, v]) => `${name} ${format(v)}`).join(', ')}` },
    h('rect', { class: 'empty-bar', x: 0, y: 0, width: 1000, height: 20 }),
    parts.map(([kind, name, v]) => {
      const width = sum ? (v / sum) * 1000 : 0;
      const r = h('rect', { key: name, class: kind, x: x.toFixed(1), y: 0, width: width.toFixed(1), height: 20 }, h('title', {}, `${name}: ${format(v)}`));
      x += width;
      return r;
    }));
}

/** A quantile of the observations between two cumulative histograms, in the unit of their
 * bounds; NaN if there are none. */
export function quantile(now, before, q) {
  const n = now.count - (before?.count ?? 0);
  if (n <= 0) return NaN;
  let low = 0;
  let below = 0;
  for (const [i, [bound, total]] of now.buckets.entries()) {
    const upTo = total - (before?.buckets[i]?.[1] ?? 0);
    if (upTo >= q * n) return low + (bound - low) * ((q * n - below) / Math.max(1, upTo - below));
    low = bound;
    below = upTo;
  }
  return low;
}
