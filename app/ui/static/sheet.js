// The dialog of the page: what opens over everything, and follows what it shows. What opens from a dialog lies over it, and
// Back leads to it again.

import { draw, h, icon } from '/ui/dom.js';
import { Layer } from '/ui/layers.js';

let dialog;
const stack = []; // what is open, the uppermost last; the dialog shows that one

/** One thing that the dialog shows. */
class Sheet {
  constructor(label, content) {
    Object.assign(this, { label, content });
    this.layer = new Layer(() => leave(this));
  }

  /** Shows other content, if the sheet is still open.
   * @param {any} content */
  set(content) {
    this.content = content;
    if (stack.at(-1) === this) redraw();
  }
}

/** Nothing is open any more. */
function clear() {
  for (const s of stack.splice(0).reverse()) s.layer.closed();
}

function ensure() {
  if (dialog) return;
  dialog = document.createElement('dialog');
  dialog.addEventListener('click', (e) => { if (e.target === dialog) hide(); });
  dialog.addEventListener('cancel', (e) => { // Escape
    e.preventDefault();
    hide();
  });
  dialog.addEventListener('close', () => { if (!dialog.open) clear(); }); // of the browser's own accord
  document.body.append(dialog);
}

/** Opens a sheet, over the one that is open. Content that is a function is asked again with each drawing of the page;
 * undefined from it: what the sheet is about has gone.
 * @param {string} label
 * @param {any} content */
export function open(label, content) {
  ensure();
  const sheet = new Sheet(label, content);
  stack.push(sheet);
  redraw();
  if (!stack.includes(sheet)) return sheet;
  if (!dialog.open) dialog.showModal();
  else focusIn();
  sheet.layer.opened();
  return sheet;
}

/** Opens a sheet, or gives the one that is open another label and content.
 * @param {string} label
 * @param {any} content */
export function show(label, content) {
  const top = stack.at(-1);
  if (!top) return open(label, content);
  top.label = label;
  top.set(content);
  return top;
}

/** Leaves a sheet for the one below it. */
function leave(sheet) {
  const at = stack.indexOf(sheet);
  if (at < 0) return;
  if (at === 0) {
    hide();
    return;
  }
  for (const s of stack.splice(at).reverse()) s.layer.closed();
  redraw();
  focusIn();
}

/** Puts the focus where the sheet wants it: into its field, else on its heading. */
const focusIn = () => (dialog.querySelector('[autofocus]') ?? dialog.querySelector('h2'))?.focus();

/** Draws the dialog that is open, as what it shows is now. */
export function redraw() {
  const top = stack.at(-1);
  if (!top) return;
  const { label, content } = top;
  const kids = typeof content === 'function' ? content() : content;
  if (kids === undefined) {
    leave(top);
    return;
  }
  dialog.setAttribute('aria-label', label);
  draw(dialog, h('div', { class: 'sheet' },
    h('header', {},
      stack.length > 1 && h('button', { key: 'back', class: 'plain', type: 'button', 'aria-label': `Back to: ${stack.at(-2).label}`, title: 'Back', onclick: () => leave(top) }, icon('back')),
      h('h2', { tabindex: '-1' }, label), h('button', { key: 'close', class: 'plain', type: 'button', 'aria-label': 'Close', onclick: hide }, icon('close'))), kids));
}

/** Closes the dialog: what it is about is not shown any more. */
export function hide() {
  clear();
  dialog?.close();
}
