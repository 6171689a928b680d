// The dialog of the page: what opens over everything, and follows what it shows.

import { draw, h, icon } from '/ui/dom.js';
import { Layer } from '/ui/layers.js';

let dialog;
let kept; // what the dialog that is open shows, for as long as it is open
const layer = new Layer(() => dialog.close());

/** Opens a dialog, or draws the one that is open anew. Content that is a function is asked again with each drawing of the page;
 * undefined from it: what the dialog is about has gone.
 * @param {string} label
 * @param {any} content */
export function show(label, content) {
  if (!dialog) {
    dialog = document.createElement('dialog');
    dialog.addEventListener('click', (e) => { if (e.target === dialog) dialog.close(); });
    dialog.addEventListener('close', () => {
      kept = undefined;
      layer.closed();
    });
    document.body.append(dialog);
  }
  dialog.setAttribute('aria-label', label);
  kept = { label, content };
  redraw();
  if (!dialog.open) dialog.showModal();
  layer.opened();
}

/** Draws the dialog that is open, as what it shows is now. */
export function redraw() {
  if (!kept) return;
  const { label, content } = kept;
  const kids = typeof content === 'function' ? content() : content;
  if (kids === undefined) {
    hide();
    return;
  }
  draw(dialog, h('div', { class: 'sheet' },
    h('header', {}, h('h2', {}, label), h('button', { class: 'plain', type: 'button', 'aria-label': 'Close', onclick: () => dialog.close() }, icon('close'))), kids));
}

/** Closes the dialog: what it is about is not shown any more. */
export const hide = () => dialog?.close();
