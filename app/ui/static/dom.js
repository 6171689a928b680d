// Drawing: h describes an element, and draw makes a parent's children match the description. It
// changes only what differs, so focus, selection and scroll positions stay. Text is only ever set
// as text.

import { hue, initial } from '/ui/words.js';

const SVG = 'http://www.w3.org/2000/svg';
const made = new WeakMap(); // by node: its description

/** Describes an element. Props: `key` identifies it among its siblings, `onclick` and the like
 * are listeners, `ref` is called with the element after each drawing, `value` and `checked` are
 * set as properties, everything else is an attribute. */
export function h(tag, props, ...kids) {
  return { tag, props: props ?? {}, kids: kids.flat(9).filter((k) => k !== null && k !== undefined && k !== false && k !== true) };
}

/** Makes the children of `parent` match `list`. */
export function draw(parent, list) {
  const wanted = [list].flat(9).filter((k) => k !== null && k !== undefined && k !== false && k !== true);
  const old = new Map();
  let n = 0;
  for (const node of parent.childNodes) old.set(keyOf(made.get(node)) ?? `#${n++}`, node);
  n = 0;
  let at = parent.firstChild;
  for (const want of wanted) {
    const key = keyOf(want) ?? `#${n++}`;
    let node = old.get(key);
    if (node && !fits(node, want)) node = undefined;
    else old.delete(key);
    node ??= make(want, parent);
    if (node === at) at = at.nextSibling;
    else move(parent, node, at);
    update(node, want);
  }
  while (at) {
    const next = at.nextSibling;
    at.remove();
    at = next;
  }
}

/** Puts a node before another. A moved node loses the focus, and gets it back. */
function move(parent, node, before) {
  const focused = node.isConnected && node.contains(document.activeElement) ? document.activeElement : undefined;
  parent.insertBefore(node, before);
  focused?.focus({ preventScroll: true });
}

const keyOf = (d) => (d?.props?.key === undefined ? undefined : `${d.tag} ${d.props.key}`);

function fits(node, want) {
  const was = made.get(node);
  return typeof want === 'object' ? was?.tag === want.tag : node.nodeType === 3;
}

function make(want, parent) {
  if (typeof want !== 'object') return document.createTextNode('');
  const svg = want.tag === 'svg' || (parent.namespaceURI === SVG && parent.tagName !== 'foreignObject');
  return svg ? document.createElementNS(SVG, want.tag) : document.createElement(want.tag);
}

function update(node, want) {
  if (typeof want !== 'object') {
    const text = String(want);
    if (node.data !== text) node.data = text;
    return;
  }
  const was = made.get(node)?.props ?? {};
  const { props } = want;
  made.set(node, want);
  for (const name in was) if (!(name in props)) set(node, name, undefined);
  for (const name in props) if (props[name] !== was[name] || name === 'value' || name === 'checked') set(node, name, props[name]);
  if (!props.own) draw(node, want.kids); // an element that draws its own content is left alone
  props.ref?.(node);
}

function set(node, name, value) {
  if (name === 'key' || name === 'ref' || name === 'own') return;
  if (name === 'onfocusin') listen(node, 'focusin', value); // elements have no such property
  else if (name.startsWith('on')) node[name] = value ?? null;
  else if (name === 'checked' || (name === 'value' && node.tagName !== 'OPTION')) { // an option without the attribute has its text as value
    if (node[name] !== value) node[name] = value ?? '';
  } else if (name === 'vars') { // CSS variables: the policy forbids a style attribute
    for (const v in value) node.style.setProperty(v, value[v]);
  } else if (value === undefined || value === null || value === false) node.removeAttribute(name);
  else node.setAttribute(name, value === true ? '' : String(value));
}

const listeners = new WeakMap();

function listen(node, type, fn) {
  if (!listeners.has(node)) node.addEventListener(type, (e) => listeners.get(node)?.(e));
  listeners.set(node, fn);
}

/** Returns a function that draws with `render` into `parent`, at most once a frame. A hidden
 * page draws later: timers run there, frames do not. */
export function drawing(parent, render) {
  let asked = false;
  return () => {
    if (asked) return;
    asked = true;
    const go = () => {
      if (!asked) return;
      asked = false;
      draw(parent, render());
    };
    requestAnimationFrame(go);
    setTimeout(go, 100);
  };
}

const shapes = {
  mute: 'M4 9v6h4l5 4V5L8 9H4m12 0 5 6m0-6-5 6', bell: 'M6 16V11a6 6 0 0 1 12 0v5l2 2H4zM10 21h4', unread: 'M12 5v14m0-14L6 11m6-6 6 6',
  thread: 'M4 5h16v11H9l-5 4z', close: 'M6 6l12 12M18 6 6 18', back: 'M15 5l-7 7 7 7', plus: 'M12 5v14M5 12h14', check: 'M5 12l5 5L20 7',
  laptop: 'M5 5h14v10H5zM2 19h20', phone: 'M8 3h8v18H8zM11 18h2', send: 'M4 12 20 4l-5 16-4-6zM11 14l9-10', up: 'M12 19V5m-6 6 6-6 6 6',
  pause: 'M8 5v14M16 5v14', play: 'M7 5l12 7-12 7z', sun: 'M12 8a4 4 0 1 0 0 8 4 4 0 0 0 0-8M12 2v2m0 16v2M2 12h2m16 0h2M5 5l1.500 1.500m11 11L19 19M19 5l-1.500 1.500m-11 11L5 19',
  moon: 'M20 14A8 8 0 0 1 10 4a8 8 0 1 0 10 10z', auto: 'M12 3a9 9 0 1 0 0 18zM12 3a9 9 0 0 1 0 18', readall: 'M2 13l4 4L14 8M11 16l1 1L21 8', look: 'M2 12s4-7 10-7 10 7 10 7-4 7-10 7S2 12 2 12m10-3a3 3 0 1 0 0 6 3 3 0 0 0 0-6',
  more: 'M5 12h.500M12 12h.500M19 12h.500', archive: 'M4 5h16v4H4zM6 9v10h12V9M10 13h4', pin: 'M9 4h6l-1 6 3 3H7l3-3zM12 13v7', clock: 'M12 4a8 8 0 1 0 0 16 8 8 0 0 0 0-16M12 8v4l3 2',
  some: 'M6 16v-5a6 6 0 0 1 8-5.600M18 12v4l2 2H4l2-2M10 21h4M18 5h1v1h-1z',
  mic: 'M9 6a3 3 0 0 1 6 0v5a3 3 0 0 1-6 0zM5 11a7 7 0 0 0 14 0M12 18v3',
  at: 'M16 12a4 4 0 1 1-8 0 4 4 0 0 1 8 0v1.500a2.500 2.500 0 0 0 5 0V12a9 9 0 1 0-4 7.500', flag: 'M6 21V4h12l-3 4 3 4H6', mark: 'M7 4h10v16l-5-4-5 4z', clear: 'M5 7h14M9 7V4h6v3M7 7l1 13h8l1-13',
  hide: 'M4 4l16 16M9.500 5.500C15 4 19.500 8 22 12c-.700 1.200-1.600 2.300-2.600 3.300M6 8c-1.600 1.200-3 2.600-4 4 3 5 8 8.500 14 6M10 10a3 3 0 0 0 4 4',
  search: 'M10.500 4a6.500 6.500 0 1 0 0 13 6.500 6.500 0 0 0 0-13M15.500 15.500 20 20', copy: 'M8 8h11v12H8zM16 8V4H5v12h3', lens: 'M4 20V10m5.500 10V4M15 20v-7m5 7V8',
  reply: 'M10 6 4 12l6 6M4 12h10a6 6 0 0 1 6 6',
};

/** An icon. Screen readers skip it: the element around it has a label. */
export const icon = (name) => h('svg', { class: 'icon', viewBox: '0 0 24 24', 'aria-hidden': 'true', focusable: 'false' }, h('path', { d: shapes[name] }));

/** An avatar: a letter in the colour of the name. */
export const avatar = (user, size = '') => h('span', { class: `avatar ${size}`, 'aria-hidden': 'true', vars: { '--hue': hue(user) } }, initial(user));

/** Announces a text to screen readers. */
export function announce(text) {
  const status = document.getElementById('status');
  if (status.textContent !== text) status.textContent = text;
}
