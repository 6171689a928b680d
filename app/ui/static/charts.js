// Small live charts, drawn as SVG.

import { h } from '/ui/dom.js';

const W = 240;
const H = 56;

/** A line over time with its area. `points` are [seconds ago, value], oldest first. */
export function spark(label, points, format, { floor = 1 } = {}) {
  const span = Math.max(20, ...points.map((p) => p[0]));
  const top = Math.max(floor, ...points.map((p) => p[1])) * 1.15;
  const xy = points.map(([ago, v]) => [W - (ago / span) * W, H - 2 - (v / top) * (H - 6)]);
  const path = xy.map(([x, y], i) => `${i ? 'L' : 'M'}${x.toFixed(1)} ${y.toFixed(1)}`).join('');
  const last = xy.at(-1);
  return h('svg', { class: 'spark', viewBox: `0 0 ${W} ${H}`, preserveAspectRatio: 'none', role: 'img', 'aria-label': `${label}: ${points.length ? format(points.at(-1)[1]) : 'nothing yet'}, highest of the last ${Math.round(span)} seconds ${points.length ? format(Math.max(...points.map((p) => p[1]))) : 'unknown'}` },
    h('line', { class: 'axis', x1: 0, y1: H - 1.5, x2: W, y2: H - 1.5 }),
    xy.length > 1 && h('path', { class: 'area', d: `${path}L${last[0].toFixed(1)} ${H}L${xy[0][0].toFixed(1)} ${H}Z` }),
    xy.length > 1 && h('path', { class: 'stroke', d: path }));
}

/** A bar whose parts add up. `parts` are [class, label, value]. */
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

/** A quantile of the observations between two cumulative histograms, in the unit of their bounds; NaN without any. */
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
