// Tables of the views for operators: columns that sort, and cells that name their column, because
// on a phone each row is a card.

import { h } from '/ui/dom.js';

/** A column of a table: its name, whether it is a number, and what to sort a row by. A column
 * without `by` does not sort.
 * @typedef {{name: string, right?: boolean, by?: (row: any) => any}} Column */

/** The order of a table's rows: the order in which they come, or that of a column. */
export class Order {
  #name = '';
  #down = false;

  constructor(redraw) { this.redraw = redraw; }

  /** A column's button: first its natural direction, then the other one, then no order. Numbers
   * begin with the largest, texts with the first. */
  #turn(column) {
    const first = Boolean(column.right);
    if (this.#name !== column.name) [this.#name, this.#down] = [column.name, first];
    else if (this.#down === first) this.#down = !first;
    else this.#name = '';
    this.redraw();
  }

  /** The rows in this order. Rows without a value are last, whatever the direction.
   * @param {Column[]} columns
   * @param {any[]} rows */
  of(columns, rows) {
    const by = columns.find((c) => c.name === this.#name)?.by;
    if (!by) return rows;
    const known = rows.filter((r) => by(r) !== undefined);
    const way = this.#down ? -1 : 1;
    known.sort((a, b) => way * (by(a) < by(b) ? -1 : by(a) > by(b) ? 1 : 0));
    return [...known, ...rows.filter((r) => by(r) === undefined)];
  }

  /** The heading of a column.
   * @param {Column} column */
  head(column) {
    const { name } = column;
    const on = this.#name === name;
    const way = !on ? 'none' : this.#down ? 'descending' : 'ascending';
    return h('th', { key: name, scope: 'col', class: column.right ? 'right' : undefined, 'aria-sort': column.by && on ? way : undefined },
      column.by ? h('button', { class: 'sort', type: 'button', 'data-sort': name, title: `Sort by ${name.toLowerCase()}`, onclick: () => this.#turn(column) }, name) : name);
  }
}

/** A table with its headings. A single row needs no order.
 * @param {string} label the id of its heading
 * @param {Column[]} columns
 * @param {Order | undefined} order
 * @param {any[]} rows */
export const grid = (label, columns, order, rows) => h('div', { key: 'grid', class: 'scroll', tabindex: '0', role: 'group', 'aria-labelledby': label },
  h('table', { class: 'grid cards' },
    h('thead', {}, h('tr', {}, columns.map((c) => (order && rows.length > 1 ? order.head(c) : h('th', { key: c.name, scope: 'col', class: c.right ? 'right' : undefined }, c.name || h('span', { class: 'hidden-text' }, 'Actions')))))),
    h('tbody', {}, rows)));

/** A row whose cells know the names of their columns.
 * @param {Column[]} columns
 * @param {any} props
 * @param {any[]} cells */
export const row = (columns, props, cells) => h('tr', props, cells.map((c, i) => ({ ...c, props: { ...c.props, 'data-label': columns[i].name || undefined } })));
