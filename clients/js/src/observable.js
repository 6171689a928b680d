import { tell } from './tell.js';

/**
 * A value that changes and tells so. It has the shape of a Svelte store, and a React component reads it with
 * `useSyncExternalStore(o.listen, () => o.value)`.
 * @template T
 */
export class Observable {
  /** @type {Set<(value: T) => void>} */
  #listeners = new Set();

  /** @param {T} value */
  constructor(value) {
    /** The value now. It is replaced, never changed in place. */
    this.value = value;
  }

  /** Calls `fn` with the value now and with each later one, until the function that it returns is called.
   * @param {(value: T) => void} fn */
  subscribe = (fn) => {
    const stop = this.listen(fn);
    tell(fn, this.value);
    return stop;
  };

  /** Calls `fn` with each later value.
   * @param {(value: T) => void} fn */
  listen = (fn) => {
    /** @param {T} v */
    const own = (v) => fn(v); // subscribing one function twice is two subscriptions
    this.#listeners.add(own);
    return () => { this.#listeners.delete(own); };
  };

  /** Replaces the value. The same value again tells nobody.
   * @param {T} value */
  set(value) {
    if (Object.is(value, this.value)) return;
    this.value = value;
    for (const fn of [...this.#listeners]) {
      if (this.value !== value) return; // a listener has set a newer one, and all were told of that
      tell(fn, value);
    }
  }
}
