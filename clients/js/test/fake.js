// A gateway as far as a client can tell: sockets whose other end is the test.

/** Makes a WebSocket class whose instances the test drives, newest last in `all`. */
export function sockets() {
  const all = [];
  class FakeSocket {
    readyState = 0;
    sent = [];
    constructor(url, protocols = []) {
      Object.assign(this, { url, protocols });
      all.push(this);
    }
    send(text) { this.sent.push(JSON.parse(text)); }
    close(code) { this.readyState = 3; this.closedWith ??= code; }
    /** The gateway says something. */
    says(...frames) {
      this.readyState = 1;
      for (const f of frames) this.onmessage({ data: typeof f === 'string' ? f : JSON.stringify(f) });
    }
    /** The gateway, or the network, ends it. */
    ends(code = 1006, reason = '') { this.readyState = 3; this.onclose({ code, reason }); }
    /** What was sent of a type. */
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

/** A page that a test shows and hides. */
export class FakePage extends EventTarget {
  visibilityState = 'visible';
  show(visible) {
    this.visibilityState = visible ? 'visible' : 'hidden';
    this.dispatchEvent(new Event('visibilitychange'));
  }
}

/** Lets everything that waits for a promise go on. */
export const settled = () => new Promise((resolve) => { setImmediate(resolve); });
