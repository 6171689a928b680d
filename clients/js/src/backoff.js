/**
 * The wait before the next attempt: its bound doubles from `min` to `max`, and the wait is random
 * between half of the bound and the bound. So the clients of a stopped gateway do not all reconnect
 * at the same moment, and nobody hammers a gateway that is down.
 */
export class Backoff {
  #tries = 0;

  /** @param {{min?: number, max?: number, random?: () => number}} options times in milliseconds */
  constructor({ min = 250, max = 20_000, random = Math.random } = {}) {
    if (!(min > 0) || !(max >= min)) throw new RangeError(`backoff: min ${min} and max ${max} make no range`);
    this.min = min;
    this.max = max;
    this.random = random;
  }

  /** The next wait in milliseconds.
   * @param {number} [bound] of it, at least, as far as `max` allows */
  next(bound = 0) {
    bound = Math.min(this.max, Math.max(bound, this.min * 2 ** Math.min(this.#tries++, 30)));
    return bound / 2 + (bound / 2) * this.random();
  }

  /** Starts again, after a connection has proved good. */
  reset() { this.#tries = 0; }
}
