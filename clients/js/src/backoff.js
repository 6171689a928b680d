/**
 * How long to wait before the next try: the bound doubles from `min` to `max`, and the wait is anywhere between half of
 * it and all of it. So a gateway that stops is not met by all its clients in the same moment, and nobody hammers one that
 * is down.
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

  /** Begins anew: a connection has proved good. */
  reset() { this.#tries = 0; }
}
