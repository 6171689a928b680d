// Commands and values that people copy.

import { announce, h, icon } from '/ui/dom.js';

/** An argument, quoted for a shell. */
export const quoted = (text) => (/^[\w.,:@%+=/-]+$/.test(text) ? text : `'${String(text).replaceAll("'", "'\\''")}'`);

/** Copies a text. Browsers deny the clipboard to pages that came by plain HTTP from another
 * machine; then the text is selected, and the user copies it. */
async function copy(text, pre) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    getSelection().selectAllChildren(pre);
    return document.execCommand('copy');
  }
}

/** A command or a value, with a button that copies it. */
export function copyable(command, label = 'Command', kind = undefined) {
  return h('div', { class: 'copyable' },
    h('pre', { class: kind, tabindex: '0', 'aria-label': label }, command),
    h('button', {
      class: 'plain copy', type: 'button', 'aria-label': `Copy: ${command.split('\n')[0].slice(0, 80)}`, title: 'Copy', onclick: async (e) => {
        const button = e.currentTarget;
        const done = await copy(command, button.parentElement.querySelector('pre'));
        announce(done ? 'Copied' : 'Not copied: the browser does not allow it');
        if (!done) return;
        button.classList.add('copied');
        setTimeout(() => button.classList.remove('copied'), 1500);
      },
    }, icon('copy')));
}
