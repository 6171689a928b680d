// What opens over something else, and that Back closes it: on a phone Back would leave the page otherwise.

const open = []; // the layers that are open, the uppermost last
let asked = false; // settle runs at the end of the task
let goingBack = false; // the history is on its way to as many entries as there are layers
let next; // the fragment of the link that the person followed meanwhile

/** Something that covers what was there: a dialog, a thread, the messages of a narrow device. `close` takes it away. */
export class Layer {
  /** @param {() => void} close is called when the person goes back
   * @param {boolean} stays whether it stays open under a view that the person turns to */
  constructor(close, stays = false) { Object.assign(this, { close, stays }); }

  /** The layer was opened. Opening it twice is opening it once. */
  opened() {
    if (open.includes(this)) return;
    open.push(this);
    settle();
  }

  /** The layer was closed by other means than Back. */
  closed() {
    const at = open.indexOf(this);
    if (at < 0) return;
    open.splice(at, 1);
    settle();
  }
}

// An entry without a state is one that a link has just added. One of before a reload has nothing open any more.
history.replaceState({ layers: 0 }, '');

const depth = () => history.state?.layers ?? 0;

/** Gives the history as many entries as there are layers. It waits for the end of the task, and while the history goes back
 * for the end of that: going back takes effect later than adding an entry. */
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

// A link that is followed while the history goes back adds an entry, and Back would leave that one instead: it is followed
// afterwards.
addEventListener('click', (e) => {
  const link = e.target.closest?.('a[href^="#"]');
  if (!goingBack || !link) return;
  e.preventDefault();
  next = link.hash;
}, true);

addEventListener('popstate', () => {
  if (goingBack) { // what was opened since is no part of it
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
  if (depth() > open.length) history.replaceState({ layers: open.length }, ''); // forward again: what was closed stays so
});
