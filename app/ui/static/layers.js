// Layers that open over something else. Back closes the uppermost one: on a phone it would
// otherwise leave the page.

const open = []; // the open layers, the uppermost last
let asked = false; // settle runs at the end of the task
let goingBack = false; // the history is going back to as many entries as there are layers
let next; // the fragment that follow() was called with meanwhile

/** A layer covers what was visible: a dialog, a thread, the messages of a narrow device. `close`
 * removes it. */
export class Layer {
  /** @param {() => void} close is called when the user goes back
   * @param {boolean} stays whether it stays open under a view that the user turns to */
  constructor(close, stays = false) { Object.assign(this, { close, stays }); }

  /** The layer was opened. Further calls do nothing. */
  opened() {
    if (open.includes(this)) return;
    open.push(this);
    settle();
  }

  /** The layer was closed, but not by Back. */
  closed() {
    const at = open.indexOf(this);
    if (at < 0) return;
    open.splice(at, 1);
    settle();
  }
}

// A link has just added an entry without a state. After a reload, no layer of an earlier entry is
// open.
history.replaceState({ layers: 0 }, '');

const depth = () => history.state?.layers ?? 0;

/** Gives the history as many entries as there are layers. It waits for the end of the task, and
 * while the history goes back for the end of that, because history.back() takes effect later
 * than adding an entry. */
function settle() {
  if (asked || goingBack) return;
  asked = true;
  setTimeout(() => {
    asked = false;
    for (let n = depth() + 1; n <= open.length; n++) history.pushState({ layers: n }, '');
    if (depth() > open.length) {
      goingBack = true;
      history.go(open.length - depth());
    } else if (next !== undefined) {
      location.hash = next;
      next = undefined;
    }
  });
}

/** Turns to the view with a fragment. While the history goes back, this would add an entry, and the
 * history would leave that entry instead. So it waits for the end of that. */
export function follow(fragment) {
  if (goingBack) next = fragment;
  else location.hash = fragment;
}

addEventListener('click', (e) => {
  const link = e.target.closest?.('a[href^="#"]');
  if (!goingBack || !link) return;
  e.preventDefault();
  follow(link.hash);
}, true);

addEventListener('popstate', () => {
  if (goingBack) { // layers that were opened since are not part of it
    goingBack = false;
    settle();
    return;
  }
  if (history.state === null) { // a link was followed
    for (const layer of open.filter((l) => !l.stays).reverse()) {
      open.splice(open.indexOf(layer), 1);
      layer.close();
    }
    history.replaceState({ layers: open.length }, '');
    return;
  }
  while (open.length > depth()) open.pop().close();
  if (depth() > open.length) history.replaceState({ layers: open.length }, ''); // forward again: closed layers stay closed
});
