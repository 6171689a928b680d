// The dialog of the page, which updates with the data that it shows. A dialog that opens from
// another one lies over it, and Back returns to the lower one.

import { draw, h, icon } from '/ui/dom.js';
import { Layer } from '/ui/layers.js';

let dialog;
const stack = []; // the open sheets, the uppermost last; the dialog shows that one

/** One content of the dialog. */
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

/** Forgets all sheets. */
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
  dialog.addEventListener('close', () => { if (!dialog.open) clear(); }); // closed by the browser itself
  document.body.append(dialog);
}

/** Opens a sheet over the open one. If content is a function, each drawing of the page calls it;
 * undefined means that the subject of the sheet no longer exists.
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

/** Opens a sheet, or replaces the label and content of the open one.
 * @param {string} label
 * @param {any} content */
export function show(label, content) {
  const top = stack.at(-1);
  if (!top) return open(label, content);
  top.label = label;
  top.set(content);
  return top;
}

/** Closes a sheet and shows the one below it. */
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

/** Moves the focus to the field of the sheet, or to its heading. */
const focusIn = () => (dialog.querySelector('[autofocus]') ?? dialog.querySelector('h2'))?.focus();

/** Draws the open dialog with the current data. */
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

/** Closes the dialog, because its subject is no longer shown. */
export function hide() {
  clear();
  dialog?.close();
}
