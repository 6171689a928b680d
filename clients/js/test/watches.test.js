// Plays the watches that all clients share: clients/conformance/watches.json. The test is the node.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { test } from 'node:test';
import { Tidemark } from '../server/index.js';

const END = 2; // the flag of a stream's last message

function envelope(message, flags = 0) {
  const body = Buffer.from(JSON.stringify(message));
  const head = Buffer.alloc(5);
  head[0] = flags;
  head.writeUInt32BE(body.length, 1);
  return Buffer.concat([head, body]);
}

/** Values that a step takes one after the other, as soon as they come. */
class Queue {
  values = [];
  wake = () => {};
  put(value) { this.values.push(value); this.wake(); }
  async take(what) {
    const timer = setTimeout(() => this.wake('late'), 60_000);
    try {
      while (this.values.length === 0) {
        if (await new Promise((resolve) => { this.wake = resolve; }) === 'late') assert.fail(`never: ${what}`);
      }
      return this.values.shift();
    } finally {
      clearTimeout(timer);
    }
  }
}

class Watch {
  streams = new Queue();
  shown = new Queue();
  failed = new Queue();
  ended = 0; // when the last stream ended
  tokens = 0;

  async begin(t, after, { quiet } = {}) {
    const server = createServer(async (req, res) => {
      const chunks = [];
      for await (const chunk of req) chunks.push(chunk);
      const left = new Promise((resolve) => { res.on('close', resolve); });
      this.streams.put({ token: req.headers.authorization, request: JSON.parse(Buffer.concat(chunks).subarray(5)), res, left });
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    t.after(() => { server.closeAllConnections(); server.close(); });
    const client = new Tidemark({
      url: `http://127.0.0.1:${server.address().port}`, token: () => `t${++this.tokens}`, ...(quiet && { quietTimeout: quiet * 1000 }),
    });
    const read = async () => { for await (const e of client.watch('ann', { after })) this.shown.put((e.snapshot ?? e.update).totals.badge); };
    read().catch((err) => this.failed.put(err));
  }

  async accepts(token, { after, waited = 0 }) {
    this.stream = await this.streams.take('a stream');
    const { user_id: user, after: got = [] } = this.stream.request;
    assert.deepEqual({ user, token: this.stream.token, after: got.sort() }, { user: 'ann', token: `Bearer ${token}`, after: after.sort() });
    assert.ok(Date.now() - this.ended >= waited * 1000 - 5, 'it comes too early'); // timers of Node are up to 1 ms early
  }

  async sends(messages) { for (const m of messages) this.stream.res.write(envelope(m)); }

  cuts(message) {
    const all = envelope(message);
    this.stream.res.write(all.subarray(0, all.length / 2), () => this.breaks());
  }

  breaks() { this.end(() => this.stream.res.destroy()); }

  refuses(status, { code, retry_after: seconds }) {
    this.end((res) => {
      res.writeHead(status, seconds ? { 'Retry-After': String(seconds) } : {});
      res.end(JSON.stringify({ code, message: 'planned' }));
    });
  }

  ends(code) { this.end((res) => res.end(envelope(code ? { error: { code, message: 'planned' } } : {}, END))); }

  end(how) {
    this.ended = Date.now();
    how(this.stream.res);
  }

  async leaves() { await this.stream.left; }
  passes(seconds) { return new Promise((resolve) => { setTimeout(resolve, seconds * 1000); }); }
  async shows(badge) { assert.equal(await this.shown.take(`the badge ${badge}`), badge); }

  async fails(code) {
    assert.equal((await this.failed.take(code)).code, code);
    assert.deepEqual(this.shown.values, []);
  }
}

const path = new URL('../../conformance/watches.json', import.meta.url);
for (const { name, after, timing, steps } of JSON.parse(await readFile(path, 'utf8'))) {
  test(`watch: ${name}`, { timeout: 120_000 }, async (t) => {
    const watch = new Watch();
    await watch.begin(t, after, timing);
    for (const step of steps) {
      const [[kind, value]] = Object.entries(step);
      await watch[kind](value, step);
    }
  });
}
