// The messages of channels, from the message store of the chat product. Tidemark itself keeps no
// text: `dev` has a small store of its own, read from chat.messages.

import { Observable } from '/ui/client/index.js';
import { follow, own, refused } from '/ui/api.js';

const AGAIN = 1000; // milliseconds before an ended stream is opened again

class Channel {
  messages = []; // oldest first
  byId = new Map();
  members = [];
  more = false;
  revision = 0;
  loaded = false;
  busy = false;
  again = false;
}

/** All channels that were opened. `changed` counts changes, so that views know when to draw. */
export class Messages {
  #channels = new Map();
  changed = new Observable(0);
  peopleKnown = false;
  #people = [];

  constructor() {
    void this.#follow();
  }

  /** Follows the changes for as long as the page exists. */
  async #follow() {
    const opened = () => {
      for (const id of this.#channels.keys()) void this.load(id, true); // changes since the last stream were not reported
      void this.loadPeople();
    };
    const told = ({ channels }) => {
      for (const id of channels ?? []) if (this.#channels.has(id)) void this.load(id);
      if (!this.#people.length) void this.loadPeople();
    };
    for (;;) {
      try {
        await follow('changes', opened, told);
      } catch { /* the node is away, or wants a token */ }
      if (refused.value) await new Promise((resolve) => { const stop = refused.listen((why) => { if (!why) { stop(); resolve(); } }); });
      else await new Promise((resolve) => { setTimeout(resolve, AGAIN); });
    }
  }

  channel(id) {
    let c = this.#channels.get(id);
    if (!c) {
      c = new Channel();
      this.#channels.set(id, c);
      void this.load(id);
    }
    return c;
  }

  get people() { return this.#people; }

  async loadPeople() {
    try {
      this.#people = (await own('people')).people;
      this.peopleKnown = true;
      this.changed.set(this.changed.value + 1);
    } catch { /* the next connection asks again */ }
  }

  async load(id, anew = false) {
    const c = this.#channels.get(id);
    if (anew) c.revision = 0;
    if (c.busy) {
      c.again = true;
      return;
    }
    c.busy = true;
    try {
      const since = c.revision;
      const got = await own(`history?channel_id=${encodeURIComponent(id)}&since=${since}`);
      if (c.revision !== since) c.again = true; // everything was requested meanwhile, and this is a part, perhaps from another process
      else this.#take(c, since, got);
    } catch { /* a change, or the next connection, asks again */ } finally {
      c.busy = false;
    }
    if (c.again) {
      c.again = false;
      void this.load(id);
    }
  }

  /** Applies the changes of a channel since a revision. */
  #take(c, since, got) {
    if (got.revision < since || since === 0) { // the node was restarted: its revisions begin again
      c.messages = [];
      c.byId.clear();
    }
    for (const m of got.messages) this.#put(c, m);
    Object.assign(c, { members: got.members, more: got.more, loaded: true });
    if (got.revision >= since) c.revision = got.revision;
    else { c.revision = 0; c.again = true; }
    this.changed.set(this.changed.value + 1);
  }

  #put(c, m) {
    const was = c.byId.get(m.message_id);
    if (was) Object.assign(was, { preview: '', deleted: false, edited: false, mentions: [] }, m);
    else {
      m.index = c.messages.length;
      c.messages.push(m);
      c.byId.set(m.message_id, m);
    }
  }

  /** The index of a message in its channel: -1 if it is older than the kept ones, or not there
   * yet. */
  indexOf(id, messageId) {
    return this.#channels.get(id)?.byId.get(messageId)?.index ?? -1;
  }
}
