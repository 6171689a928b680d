// Plays the sessions that all clients share: clients/conformance/sessions.json. The test is the
// gateway.

import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { TidemarkClient } from '../src/index.js';
import { sockets } from './fake.js';

/** Waits until a function returns something. */
async function until(what, fn) {
  for (const deadline = Date.now() + 60_000; Date.now() < deadline;) {
    const value = fn();
    if (value) return value;
    await new Promise((resolve) => { setTimeout(resolve, 1); });
  }
  return assert.fail(`never: ${what()}`);
}

class Session {
  net = sockets();
  accepted = 0;
  received = 0; // frames of the connection that were looked at
  ids = [];
  results = [];
  tokens = 0;

  paused = []; // between connections, as the client states them

  constructor(t, { quiet, answer, least = 0.001, most = 0.002 } = {}) {
    this.client = new TidemarkClient({
      url: 'ws://gateway.test/v1/socket', page: null, WebSocket: this.net.Socket, token: () => `t${++this.tokens}`,
      backoff: { min: least * 1000, max: most * 1000 }, ...(quiet && { quietTimeout: quiet * 1000 }), ...(answer && { answerTimeout: answer * 1000 }),
    });
    this.client.on('disconnected', (f) => this.paused.push(f.retry_in / 1000));
    t.after(() => this.client.close());
    this.client.connect();
  }

  get socket() { return this.net.all[this.accepted - 1]; }

  async accepts(token) {
    await until(() => 'a connection', () => this.net.all.length > this.accepted);
    this.accepted++;
    this.received = 0;
    this.used = new Set(); // ids, on this connection
    assert.deepEqual(this.socket.protocols, ['tidemark.v1', `tidemark.bearer.${token}`]);
    assert.ok(!this.socket.url.includes(token), this.socket.url);
  }

  sends(frames) { this.socket.says(...frames); }
  closes(code) { this.socket.ends(code); }
  async leaves() { await until(() => 'it leaves', () => this.socket.readyState === 3); }

  calls({ command, channel, message }) {
    const [name, isCommand] = { focus: ['focus'], blur: ['blur'], mark_read: ['markRead', true], mark_unread: ['markUnread', true] }[command];
    const result = this.client[name](channel, message);
    if (!isCommand) return;
    result.catch(() => {}); // a later step looks at it
    this.results.push(result);
  }

  async receives(want) {
    const frame = await until(() => `${JSON.stringify(want)}; it sent ${JSON.stringify(this.socket.sent)}`, () => this.socket.sent[this.received]);
    this.received++;
    assert.deepEqual(Object.fromEntries(Object.keys(want).map((k) => [k, frame[k]])), want);
    if (frame.id) assert.ok(!this.used.has(frame.id), `the id ${frame.id} is used again`);
    this.used.add(frame.id);
    this.ids.push(frame.id);
  }

  answers(n, { after, code }) {
    this.socket.says(code ? { type: 'error', id: this.ids[n - 1], code, message: 'planned' } : { type: 'ack', id: this.ids[n - 1], after });
  }

  async returns(after) { assert.deepEqual((await this.results.shift()).after, after); }
  waits({ least, most }) {
    const wait = this.paused.shift();
    assert.ok(wait >= least && wait <= most, `it waits for ${wait} s, want ${least} to ${most} s`);
  }

  async fails(code) { await assert.rejects(this.results.shift(), { name: 'TidemarkError', code }); }

  async shows(want) {
    const shown = () => {
      const { channels } = this.client.inbox.value;
      return { badge: this.client.badge.value ?? null, unread: Object.fromEntries([...channels].map(([id, c]) => [id, c.unread])) };
    };
    if (want.badge === null) return assert.equal(shown().badge, null);
    await until(() => `${JSON.stringify(want)}; it shows ${JSON.stringify(shown())}`, () => {
      try { assert.deepEqual(shown(), want); return true; } catch { return false; }
    });
  }
}

const path = new URL('../../conformance/sessions.json', import.meta.url);
for (const { name, timing, steps } of JSON.parse(await readFile(path, 'utf8'))) {
  test(`session: ${name}`, async (t) => {
    const session = new Session(t, timing);
    for (const step of steps) {
      const [[kind, value]] = Object.entries(step);
      await session[kind](value, step);
    }
  });
}
