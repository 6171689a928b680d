// Which messages people have hidden for themselves. Tidemark leaves them out of all numbers, and tells no list of them: which
// they are, the message store of the chat product knows. Here this tab remembers it.

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

  /** Whether a message does not exist for a user: by their own word, or because they ignore its sender. */
  has(user, channel, m) {
    return m.hidden_from?.includes(user) || this.#all.has(name(user, channel, m.message_id));
  }
}
