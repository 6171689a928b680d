// The form of docs/sizing.md: the formulas of the page, for numbers that a reader types. It loads
// nothing and sends nothing. Without scripts the page has its formulas and examples only.
//
// A test (internal/test/tutorials) compares the constants and results with those of the page.

'use strict';

const tidemarkSizing = (() => {
  const constants = {
    pairMemory: 155, pairDisk: 8.6, connectionMemory: 17.1 * 1024, connections: 20_000,
    foldCost: 3.7e-6, publishCost: 8.3e-6, redisCost: 30e-6,
    redis: { json: 960, packed: 460, inbox: 100 },
    pairsOfPartition: 10_000_000, hotShare: 39 / 80,
  };

  const thousands = (n) => n.toFixed(0).replace(/\B(?=(\d{3})+$)/g, ',');
  const bytes = (n) => {
    if (n >= 1e9) return `${(n / 1e9).toFixed(1)} GB`;
    return n >= 1e7 ? `${(n / 1e6).toFixed(0)} MB` : `${(n / 1e6).toFixed(1)} MB`;
  };

  /** Returns the results by name, in the order of the page. Each is a text with its unit. */
  function results({ users, channels, devices, events, standbys = 0, redis = 'packed', node = 32 }) {
    const c = constants;
    const pairs = users * channels;
    const memory = pairs * c.pairMemory * (1 + standbys);
    const nodes = Math.ceil(memory / (node * 1e9 * c.hotShare)) + 1;
    const rows = {
      pairs: thousands(pairs),
      'memory of all owners': bytes(pairs * c.pairMemory),
    };
    if (standbys > 0) rows[standbys === 1 ? 'with one standby' : `with ${standbys} standbys`] = bytes(memory);
    rows['nodes, with one to spare'] = thousands(nodes);
    rows['partitions at least'] = thousands(Math.max(Math.ceil(pairs / c.pairsOfPartition), 2 * nodes));
    rows['disk for pairs'] = bytes(pairs * c.pairDisk);
    rows['memory of gateways'] = bytes(devices * c.connectionMemory);
    rows.gateways = thousands(Math.ceil(devices / c.connections));
    rows['cores to fold, fan-out off'] = (events * c.foldCost).toFixed(3);
    rows['cores to fold and publish, fan-out 50'] = (events * c.publishCost).toFixed(3);
    if (redis === 'json') rows['cores with Redis filled, JSON'] = (events * c.redisCost).toFixed(3);
    const name = { json: 'Redis, JSON', packed: 'Redis, packed', inbox: 'Redis, packed and --redis-keys inbox' }[redis];
    if (name) rows[name] = bytes(pairs * c.redis[redis]);
    return rows;
  }

  const fields = [
    { name: 'users', label: 'Users', value: 1_000_000, least: 1 },
    { name: 'channels', label: 'Channels of each user, on average', value: 50, least: 1 },
    { name: 'devices', label: 'Devices online at once', value: 200_000, least: 0 },
    { name: 'events', label: 'Events a second', value: 5000, least: 0 },
    { name: 'standbys', label: 'Standbys of each partition', value: 1, least: 0, most: 5 },
    { name: 'node', label: '--memory of a node, in GB', value: 32, least: 1 },
  ];
  const values = { none: 'none', json: 'JSON', packed: 'packed', inbox: 'packed, inboxes only' };

  // The theme of the site removes borders of fields.
  const style = `.sizing p { display: flex; flex-wrap: wrap; gap: .2em 1em; margin: .5em 0 }
    .sizing label { flex: 0 0 17em }
    .sizing input, .sizing select { width: 10em; padding: .2em .4em; border: 1px solid; color: inherit; background: transparent; font: inherit }
    .sizing option { color: initial }
    .sizing table { margin-top: 1em }
    .sizing th, .sizing td { text-align: start }`;

  const element = (name, attributes = {}, ...children) => {
    const e = Object.assign(document.createElement(name), attributes);
    e.append(...children);
    return e;
  };

  /** Draws the form into an element of the page. */
  function draw(place) {
    const inputs = {};
    const form = element('form', { noValidate: true, className: 'sizing' });
    const set = element('fieldset', {}, element('legend', { textContent: 'Your numbers' }));
    const line = (label, input, ...more) => set.append(element('p', {}, element('label', { htmlFor: input.id, textContent: label }), ' ', input, ...more));
    for (const f of fields) {
      const trouble = element('span', { id: `sizing-${f.name}-trouble` });
      const input = element('input', { id: `sizing-${f.name}`, type: 'number', inputMode: 'decimal', min: f.least, step: 'any', value: f.value, required: true });
      if (f.most !== undefined) input.max = f.most;
      input.setAttribute('aria-describedby', trouble.id);
      inputs[f.name] = { ...f, input, trouble };
      line(f.label, input, ' ', trouble);
    }
    const select = element('select', { id: 'sizing-redis' }, ...Object.entries(values).map(([value, textContent]) => element('option', { value, textContent })));
    select.value = 'packed';
    line('Values in Redis', select);
    const body = element('tbody');
    const table = element('table', {}, element('caption', { textContent: 'What they need, as measured: plan for a third more' }), body);
    const said = element('p', { id: 'sizing-said' });
    said.setAttribute('role', 'status'); // read aloud once the reader stops typing
    form.append(element('style', { textContent: style }), set, table, said);
    form.addEventListener('submit', (e) => e.preventDefault());

    let timer;
    const update = () => {
      const numbers = { redis: select.value };
      let good = true;
      for (const { name, least, most = Infinity, input, trouble } of Object.values(inputs)) {
        const n = input.valueAsNumber;
        const whole = name === 'channels' || name === 'events' || name === 'node' || Number.isInteger(n);
        const fits = n >= least && n <= most && whole;
        input.setAttribute('aria-invalid', String(!fits));
        trouble.textContent = fits ? '' : `${whole ? 'a' : 'a whole'} number${most === Infinity ? ` of ${least} or more` : ` from ${least} to ${most}`}`;
        numbers[name] = n;
        good = good && fits;
      }
      table.hidden = !good;
      const rows = good ? results(numbers) : {};
      body.replaceChildren(...Object.entries(rows).map(([name, value]) => element('tr', {}, element('th', { scope: 'row', textContent: name }), element('td', { textContent: value }))));
      clearTimeout(timer);
      timer = setTimeout(() => {
        const memory = Object.keys(rows).find((name) => name.startsWith('with ')) ?? 'memory of all owners';
        said.textContent = good ? `${rows[memory]} of memory, ${rows['nodes, with one to spare']} nodes, ${rows.gateways} gateways` : 'Some of the numbers are missing or out of range.';
      }, 700);
    };
    form.addEventListener('input', update);
    place.replaceChildren(form);
    update();
  }

  return { constants, results, draw };
})();

if (typeof document === 'object') {
  const place = document.getElementById('sizing-form');
  if (place) tidemarkSizing.draw(place);
} else {
  module.exports = tidemarkSizing; // for the test
}
