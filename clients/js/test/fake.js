// A fake gateway: sockets whose other end is the test.

/** Makes a WebSocket class whose instances the test drives, newest last in `all`. Sent frames also
 * go to `taken`. */
export function sockets(taken = () => {}) {
  const all = [];
  class FakeSocket {
    readyState = 0;
    sent = [];
    constructor(url, protocols = []) {
      Object.assign(this, { url, protocols });
      all.push(this);
    }
    send(text) {
      this.sent.push(JSON.parse(text));
      taken(this, this.sent.at(-1));
    }
    close(code) { this.readyState = 3; this.closedWith ??= code; }
    /** The gateway sends frames. */
    says(...frames) {
      this.readyState = 1;
      for (const f of frames) this.onmessage({ data: typeof f === 'string' ? f : JSON.stringify(f) });
    }
    /** The gateway or the network closes the connection. */
    ends(code = 1006, reason = '') { this.readyState = 3; this.onclose({ code, reason }); }
    /** The sent frames of a type. */
    of(type) { return this.sent.filter((f) => f.type === type); }
  }
  return { Socket: FakeSocket, all, get last() { return all.at(-1); } };
}

export const hello = (n = 1) => ({ type: 'hello', user_id: 'ann', instance_id: `i${n}`, limits: {} });
export const totals = (unread, more = {}) => ({
  unread, mentions: 0, unread_channels: Number(unread > 0), thread_unread: 0, thread_mentions: 0, ...more,
});
export const channel = (id, unread, more = {}) => ({ channel_id: id, member: true, unread, mentions: 0, muted: false, ...more });
export const inbox = (channels, sum = channels.reduce((n, c) => n + c.unread, 0)) => ({
  type: 'inbox', channels, threads: [], totals: totals(sum),
});

/** The limits of a gateway (gateway/limit.go), with delayed answers: one bucket for all connections
 * of a user. `done` has the accepted frames, `refused` the refused ones. */
export class Limited {
  done = [];
  refused = [];
  constructor({ perSecond = 50, burst = 200 } = {}) {
    Object.assign(this, { perSecond, burst, tokens: burst, at: Date.now() });
    this.net = sockets((socket, frame) => this.take(socket, frame));
  }
  get hello() { return { ...hello(), limits: { frame_bytes: 65_536, focused: 128, message_ids: 1000, frames_per_second: this.perSecond, frames_burst: this.burst } }; }
  take(socket, frame) {
    this.tokens = Math.min(this.burst, this.tokens + (Date.now() - this.at) * this.perSecond / 1000);
    this.at = Date.now();
    const accepted = this.tokens >= 1;
    if (accepted) this.tokens--;
    (accepted ? this.done : this.refused).push(frame);
    socket.strikes = accepted ? Math.max(0, (socket.strikes ?? 0) - 1) : (socket.strikes ?? 0) + 1;
    if (socket.strikes > this.burst) throw new Error('the gateway would close this connection');
    setTimeout(() => socket.says(accepted
      ? { type: 'ack', id: frame.id, after: [] }
      : { type: 'error', id: frame.id, code: 'resource_exhausted', message: 'too many frames: wait a little' }), 40);
  }
}

/** A page that a test shows and hides. */
export class FakePage extends EventTarget {
  visibilityState = 'visible';
  show(visible) {
    this.visibilityState = visible ? 'visible' : 'hidden';
    this.dispatchEvent(new Event('visibilitychange'));
  }
}

/** Resolves after all pending promises have run. */
export const settled = () => new Promise((resolve) => { setImmediate(resolve); });
