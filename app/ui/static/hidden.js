// The messages that users have hidden for themselves. Tidemark leaves them out of all numbers, but
// has no list of them: that is in the message store of the chat product. Here this tab remembers
// them.

const KEY = 'hidden';
const name = (user, channel, id) => JSON.stringify([user, channel, id]);

export class Hidden {
  #all = new Set();

  constructor() {
    try { this.#all = new Set(JSON.parse(sessionStorage.getItem(KEY) ?? '[]')); } catch { /* then it lasts as long as the page */ }
  }

  add(user, channel, ids) {
    for (const id of ids) this.#all.add(name(user, channel, id));
    try { sessionStorage.setItem(KEY, JSON.stringify([...this.#all])); } catch { /* as above */ }
  }

  /** Whether a message is hidden from a user: they have hidden it, or they ignore its sender. */
  has(user, channel, m) {
    return m.hidden_from?.includes(user) || this.#all.has(name(user, channel, m.message_id));
  }
}
