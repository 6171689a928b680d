// The page: its users, the view that is shown, and what all views share.

import { currentToken, own, refused, tell, useToken } from '/ui/api.js';
import { Cluster } from '/ui/cluster.js';
import { Device } from '/ui/device.js';
import { Comparison } from '/ui/comparison.js';
import { announce, avatar, drawing, h, icon } from '/ui/dom.js';
import { help, strip } from '/ui/help.js';
import { Hidden } from '/ui/hidden.js';
import { follow } from '/ui/layers.js';
import { message } from '/ui/look.js';
import { Messages } from '/ui/messages.js';
import { Operators } from '/ui/operators.js';
import { watchPartitions } from '/ui/outage.js';
import { pane, STOPPED } from '/ui/pane.js';
import { search } from '/ui/search.js';
import * as sheet from '/ui/sheet.js';
import { capped, duration, names, title } from '/ui/words.js';

/** Scrolls a device into view; at once for users who prefer reduced motion. */
const smooth = () => (matchMedia('(prefers-reduced-motion: reduce)').matches ? 'instant' : 'smooth');

/** The views: the fragment of the address, and its name. */
const views = [['people', 'People'], ['operators', 'Operators'], ['cluster', 'Nodes'], ['compare', 'Compare']];

const themes = { auto: 'light dark', light: 'light', dark: 'dark' };
const store = { // the browser may deny a page its storage
  get: (k) => { try { return localStorage.getItem(k); } catch { return null; } },
  set: (k, v) => { try { localStorage.setItem(k, v); } catch { /* then it is not remembered */ } },
};

class App {
  devices = [];
  active;
  about = { dev: false, demo: null };
  theme = store.get('theme') ?? 'auto';
  stopped = ''; // the node's message about a partition that it does not serve, while devices are connected
  latency = NaN; // seconds from a post to the first number on another device
  hidden = new Hidden();
  #clocks = new Map();
  #ids = 0;

  constructor() {
    this.messages = new Messages();
    this.operators = new Operators(() => this.redraw());
    this.cluster = new Cluster(() => this.redraw());
    this.compare = new Comparison(this);
    this.redraw = drawing(document.getElementById('app'), () => {
      sheet.redraw();
      return this.render();
    });
    this.messages.changed.listen(() => {
      if (!this.devices.length) this.cast();
      for (const d of this.devices) if (d.active) d.look();
      this.redraw();
    });
    this.setTheme(this.theme);
    refused.listen((why) => {
      if (!why) void this.start();
      else this.route();
    });
    addEventListener('hashchange', () => this.route()); // layers.js has closed the dialog: one that opened since stays
    addEventListener('keydown', (e) => this.keys(e));
    document.addEventListener('visibilitychange', () => this.devices.forEach((d) => d.look()));
    watchPartitions(() => this.devices.some((d) => d.connected), (says) => {
      if (Boolean(says) !== Boolean(this.stopped)) announce(says ? `${STOPPED} The node says: ${says}` : 'All numbers are up to date again');
      this.stopped = says;
      this.redraw();
    });
    void this.start();
  }

  get view() { return views.find(([name]) => location.hash === `#${name}`)?.[0] ?? 'people'; }

  /** Whether the node accepts events of this kind, or with this field: the page offers no
   * others. */
  can(part) { return this.about.unfolded?.includes(part) === false; }

  route() {
    this.operators.watch(this.view === 'operators' && !refused.value);
    this.cluster.watch(this.view === 'cluster' && !refused.value);
    this.redraw();
    document.querySelector('main')?.focus({ preventScroll: true });
  }

  async start() {
    try {
      this.about = await own('about');
    } catch { /* the views that need it report the error */ }
    this.operators.about = this.about;
    if (!this.devices.length && !refused.value) this.cast();
    this.route();
  }

  /** The users on the page: those in the address (`?people=ann,bob:phone`), or the three who are
   * in most channels. */
  cast() {
    const asked = new URLSearchParams(location.search).get('people');
    const list = asked ? asked.split(',').filter(Boolean) : this.messages.people.slice(0, 3).map((p) => p.user_id);
    for (const item of list.slice(0, 6)) {
      const [user, kind] = item.split(':');
      this.add(user, kind === 'phone' ? 'phone' : 'laptop');
    }
  }

  add(user, kind = this.devices.some((d) => d.user === user) ? 'phone' : 'laptop') {
    const device = new Device(this, { id: `device-${++this.#ids}`, user, kind });
    this.devices.push(device);
    this.shareCast();
    this.redraw();
    return device;
  }

  /** Scrolls a device into view, from either view of the page. */
  show(device) {
    if (this.view !== 'people') follow('');
    this.activate(device);
    setTimeout(() => document.getElementById(device.id)?.scrollIntoView({ behavior: smooth(), inline: 'start', block: 'nearest' }), 200);
  }

  remove(device) {
    device.close();
    this.devices = this.devices.filter((d) => d !== device);
    if (this.active === device) this.active = undefined;
    this.shareCast();
    announce(`${title(device.user)}'s ${device.kind} is gone from the page`);
    this.redraw();
  }

  /** Makes the demo leave out the users on the page, so that their numbers change only by what
   * happens here. */
  shareCast() {
    const away = [...new Set(this.devices.map((d) => d.user))];
    if (this.about.demo) void this.setDemo({ ...this.about.demo, away });
  }

  async setDemo(state) {
    this.about = { ...this.about, demo: state };
    try {
      this.about = { ...this.about, demo: await tell('demo', state) };
    } catch { /* the next change sends it again */ }
    this.redraw();
  }

  /** At most one device at a time is in use, and at first none: only that one marks messages
   * read. */
  activate(device, target) {
    // A click on the list, or on a button above it, is not yet a look at the open messages.
    const attentive = this.active === device && device.attentive || Boolean(target?.closest('.conversation'));
    if (this.active === device && device.attentive === attentive) return;
    this.active = device;
    device.attentive = attentive;
    for (const d of this.devices) d.look();
    this.redraw();
  }

  showReceipts(device, m, readers) { void message(this, device.selected, m.message_id, readers); }

  // Latency, measured here

  clock(messageId) {
    this.#clocks.set(messageId, performance.now());
    if (this.#clocks.size > 50) this.#clocks.delete(this.#clocks.keys().next().value);
  }

  timed(update) {
    const began = this.#clocks.get(update.latest?.message_id);
    if (began === undefined || !update.unread) return;
    this.latency = (performance.now() - began) / 1000;
    this.#clocks.delete(update.latest.message_id);
  }

  setTheme(theme) {
    this.theme = theme in themes ? theme : 'auto';
    store.set('theme', this.theme);
    document.documentElement.dataset.theme = this.theme;
    document.querySelector('meta[name=color-scheme]').content = themes[this.theme];
    this.redraw?.();
  }

  keys(e) {
    const view = views[/^[1-4]$/.test(e.key) ? Number(e.key) - 1 : -1];
    const open = view ? () => follow(view[0] === 'people' ? '' : `#${view[0]}`) : { '?': help, '/': () => search(this) }[e.key];
    if (open && !refused.value && !e.ctrlKey && !e.altKey && !e.metaKey && !e.target.closest?.('input, textarea, select, dialog[open]')) {
      e.preventDefault();
      open();
      return;
    }
    const n = e.altKey && /^Digit[1-6]$/.test(e.code) ? Number(e.code.at(-1)) : 0;
    const device = this.devices[n - 1];
    if (!n || !device) return;
    e.preventDefault();
    const el = document.getElementById(device.id);
    el?.scrollIntoView({ block: 'nearest', inline: 'nearest' });
    (el?.querySelector('.say') ?? el?.querySelector('.row-open'))?.focus();
  }

  // Drawing

  render() {
    const unread = Math.max(0, ...this.devices.map((d) => d.inbox.badge ?? 0));
    document.title = this.view === 'people' && unread ? `(${capped(unread)}) Tidemark` : 'Tidemark';
    return [
      h('a', { class: 'skip', href: '#main', onclick: (e) => { e.preventDefault(); document.querySelector('main')?.focus(); } }, 'Skip to the content'),
      this.top(),
      refused.value ? this.signIn() : this.view === 'people' ? this.people() : this[this.view].render(),
    ];
  }

  /** Asks for a token, because this node has keys. */
  signIn() {
    return h('main', { class: 'people', id: 'main', tabindex: '-1', key: 'sign in' },
      h('form', {
        class: 'welcome sign-in', onsubmit: (e) => {
          e.preventDefault();
          const text = e.currentTarget.querySelector('input').value.trim();
          e.currentTarget.reset();
          if (text) useToken(text);
        },
      },
      h('h2', {}, 'This node has keys'),
      h('p', {}, 'The page shows what everybody sees and writes as anybody, so it needs a token of scope ', h('code', {}, 'service'), '. It stays in this tab and goes to this address only.'),
      currentToken() && h('p', { class: 'trouble', role: 'alert' }, refused.value),
      h('label', { class: 'field' }, h('span', {}, 'Token'), h('input', { type: 'password', class: 'say', name: 'token', autocomplete: 'off', spellcheck: 'false', required: true })),
      h('p', {}, h('button', { class: 'primary', type: 'submit' }, 'Open the page'))));
  }

  top() {
    const tab = (view, label) => h('a', { key: view, class: 'tab', href: view === 'people' ? '#' : `#${view}`, 'aria-current': this.view === view ? 'page' : undefined }, label);
    const { demo } = this.about;
    const next = { auto: 'light', light: 'dark', dark: 'auto' }[this.theme];
    return h('header', { class: 'top' },
      h('h1', { class: 'brand' }, h('svg', { viewBox: '0 0 32 32', class: 'logo', 'aria-hidden': 'true' },
        h('path', { d: 'M5 12c3.700-3 7.300-3 11 0s7.300 3 11 0' }), h('path', { class: 'second', d: 'M5 19c3.700-3 7.300-3 11 0s7.300 3 11 0' }), h('path', { class: 'mark', d: 'M5 26h22' })), 'Tidemark'),
      h('nav', { class: 'tabs', 'aria-label': 'Views' }, views.map(([name, label]) => tab(name, label))),
      !refused.value && h('button', { class: 'finder', type: 'button', 'aria-keyshortcuts': '/', 'aria-label': 'Search: a user, a channel, a message', title: 'Search (/)', onclick: () => search(this) }, icon('search'), h('span', { class: 'finder-text' }, 'Search', h('span', { class: 'wide' }, ' users, channels, messages')), h('kbd', { 'aria-hidden': 'true' }, '/')),
      h('span', { class: 'grow' }),
      Number.isFinite(this.latency) && this.view === 'people' && h('span', { class: 'latency', title: 'From sending the last message to the changed number on another device' }, 'post to badge ', h('b', {}, duration(this.latency))),
      this.view === 'people' && this.messages.people.length > 0 && this.devices.length < 6 && this.adder(),
      demo && h('button', { class: 'chip', type: 'button', 'aria-pressed': String(!demo.paused), title: demo.paused ? 'Let the demo talk' : 'Pause the demo', onclick: () => this.setDemo({ ...demo, paused: !demo.paused }) },
        icon(demo.paused ? 'play' : 'pause'), h('span', { class: 'wide' }, demo.paused ? 'Demo paused' : 'Demo')),
      h('button', { class: 'plain', type: 'button', 'aria-label': 'Help: keys and signs', 'aria-keyshortcuts': '?', title: 'Keys and signs (?)', onclick: help }, h('b', { 'aria-hidden': 'true' }, '?')),
      h('button', { class: 'plain', type: 'button', 'aria-label': `Colours: ${this.theme}. Change to ${next}`, title: `Colours: ${this.theme}`, onclick: () => this.setTheme(next) }, icon({ auto: 'auto', light: 'sun', dark: 'moon' }[this.theme])));
  }

  /** Adds a device to the page. */
  adder() {
    const here = new Set(this.devices.map((d) => d.user));
    const others = this.messages.people.filter((p) => !here.has(p.user_id)).slice(0, 40);
    return h('label', { class: 'adder', title: 'Add a device to the page' }, icon('plus'),
      h('select', {
        'aria-label': 'Add a device', onchange: (e) => {
          const user = e.currentTarget.value;
          e.currentTarget.value = '';
          if (user) this.show(this.add(user));
        },
      },
      h('option', { value: '' }, 'Add a device'),
      here.size > 0 && h('optgroup', { label: 'Another device of' }, [...here].map((u) => h('option', { key: u, value: u }, title(u)))),
      others.length > 0 && h('optgroup', { label: 'Somebody else' }, others.map((p) => h('option', { key: p.user_id, value: p.user_id }, title(p.user_id))))));
  }

  people() {
    return h('main', { class: 'people', id: 'main', tabindex: '-1', key: 'people' },
      h('div', { class: 'cast', role: 'group', 'aria-label': 'Devices on this page' },
        this.devices.map((d) => h('button', {
          key: d.id, class: `cast-tab ${d === this.active ? 'here' : ''}`, type: 'button', 'aria-pressed': String(d === this.active), 'aria-label': `${title(d.user)}, ${d.kind}`, onclick: () => this.show(d),
        }, avatar(d.user, 'tiny'), h('span', { class: 'cast-name', dir: 'auto' }, title(d.user)), icon(d.kind), d.inbox.badge > 0 && h('span', { class: 'pip' }, capped(d.inbox.badge))))),
      this.devices.length > 0 && strip(this.redraw),
      this.devices.length
        ? h('div', { class: 'devices' }, this.devices.map((d) => pane(d)))
        : this.messages.peopleKnown && h('div', { class: 'welcome' }, h('h2', {}, 'Nobody is here yet'),
          h('p', {}, 'The topics are empty. Write two events, and the people in them appear here:'),
          h('pre', {}, `echo '{"topic":"chat.messages","event":{"channel_id":"general","members_joined":{"user_ids":["ann","bob"]}}}' | tidemark emit\necho '{"topic":"chat.messages","event":{"channel_id":"general","message_posted":{"message_id":"m1","sender_id":"bob","preview":"hello"}}}' | tidemark emit`),
          h('p', {}, h('button', { class: 'primary', type: 'button', onclick: () => this.found() }, 'Or let this page write them'))));
  }

  /** Writes the first events to an empty stack. */
  async found() {
    const { publish } = await import('/ui/api.js');
    const members = ['ann', 'bob', 'cleo'];
    await publish(
      { message: { channel_id: 'general', members_joined: { user_ids: members } } },
      { message: { channel_id: 'dm:ann:bob', members_joined: { user_ids: ['ann', 'bob'], count_history: true } } },
      { message: { channel_id: 'general', message_posted: { message_id: `hello-${Date.now()}`, sender_id: 'bob', preview: `hello ${names(members)}` } } },
    );
    setTimeout(() => void this.messages.loadPeople(), 300);
  }
}

window.tidemark = new App(); // for the developer tools
