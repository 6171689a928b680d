import { tell } from './tell.js';

/**
 * A value that changes and tells so. It has the shape of a Svelte store, and a React component reads it with
 * `useSyncExternalStore(o.listen, () => o.value)`. A value of `undefined` is not known yet, and nobody is told it.
 * @template T what `value` may be
 * @template [K=T] what listeners are told: T without `undefined`
 */
export class Observable {
  /** @type {Set<(value: K) => void>} */
  #listeners = new Set();

  /** @param {T} value */
  constructor(value) {
    /** The value now. It is replaced, never changed in place. */
    this.value = value;
  }

  /** Calls `fn` with the value now, if it is known, and with each later one, until the function that it returns is
   * called.
   * @param {(value: K) => void} fn */
  subscribe = (fn) => {
    const stop = this.listen(fn);
    if (this.value !== undefined) tell(fn, /** @type {any} */ (this.value));
    return stop;
  };

  /** Calls `fn` with each later value.
   * @param {(value: K) => void} fn */
  listen = (fn) => {
    /** @param {K} v */
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
      if (value !== undefined) tell(fn, /** @type {any} */ (value));
    }
  }
}
