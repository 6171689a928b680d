import { tell } from './tell.js';

/**
 * A value with listeners. It has the shape of a Svelte store, and a React component reads it with
 * `useSyncExternalStore(o.listen, () => o.value)`. `undefined` means that the value is not known
 * yet, and listeners are not called with it.
 * @template T what `value` may be
 * @template [K=T] what listeners are told: T without `undefined`
 */
export class Observable {
  /** @type {Set<(value: K) => void>} */
  #listeners = new Set();

  /** @param {T} value */
  constructor(value) {
    /** The current value. It is replaced, never changed in place. */
    this.value = value;
  }

  /** Calls `fn` with the current value, if it is known, and with each later one. The returned
   * function ends that.
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
    const own = (v) => fn(v); // the same function may subscribe twice
    this.#listeners.add(own);
    return () => { this.#listeners.delete(own); };
  };

  /** Replaces the value. An equal value calls no listener.
   * @param {T} value */
  set(value) {
    if (Object.is(value, this.value)) return;
    this.value = value;
    for (const fn of [...this.#listeners]) {
      if (this.value !== value) return; // a listener has set a newer value, which all listeners got
      if (value !== undefined) tell(fn, /** @type {any} */ (value));
    }
  }
}
