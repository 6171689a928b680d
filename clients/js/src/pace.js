/** The share of the user's limit that one device uses: pongs count too, and the user may have other
 * devices. */
const RATE = 0.8;
const BURST = 0.5;
/** The longest pause after a refusal, in milliseconds; it lasts at least half as long. */
const PAUSE = 1000;

/**
 * Decides when the next frame may be sent, with a token bucket like the gateway's for each user,
 * but a smaller one.
 *
 * The gateway sends its limits in `hello`. The bucket outlasts a connection, because the gateway's
 * does. Other devices of the same user take tokens from the gateway's bucket unseen: so a refusal
 * empties this bucket and halves its rate, which grows again with each accepted frame.
 */
export class Pace {
  #full = 50 * RATE; // tokens a second, without refusals
  #rate = this.#full;
  #burst = 200 * BURST;
  #tokens = this.#burst;
  #at = 0; // when #tokens was counted
  #pausedUntil = -Infinity; // nothing is sent before

  /**
   * @param {() => number} [now] a clock in milliseconds, which may jump
   * @param {() => number} [random]
   */
  constructor(now = Date.now, random = Math.random) {
    this.now = now;
    this.random = random;
    this.#at = now();
  }

  /** Sets the limits of a gateway: `frames_per_second` and `frames_burst`. Missing ones stay as
   * they are.
   * @param {Record<string, number>} limits */
  allow(limits) {
    const { frames_per_second: perSecond, frames_burst: burst } = limits;
    if (perSecond !== undefined && perSecond > 0 && perSecond * RATE !== this.#full) {
      this.#full = perSecond * RATE;
      this.#rate = this.#full;
    }
    if (burst !== undefined && burst > 0) {
      const most = Math.max(1, Math.floor(burst * BURST));
      this.#tokens = this.#tokens === this.#burst ? most : Math.min(this.#tokens, most); // a full bucket stays full
      this.#burst = most;
    }
  }

  /** Takes a token, if there is one. */
  take() {
    if (this.wait() > 0) return false;
    this.#tokens--;
    return true;
  }

  /** Milliseconds until there is a token; 0: now. */
  wait() {
    const now = this.now();
    if (now < this.#at) this.#pausedUntil -= this.#at - now; // the clock was set back: the rest of a pause keeps its length
    this.#tokens = Math.min(this.#burst, this.#tokens + Math.max(0, now - this.#at) * this.#rate / 1000);
    this.#at = now;
    if (now < this.#pausedUntil) return Math.ceil(this.#pausedUntil - now);
    return this.#tokens >= 1 ? 0 : Math.max(1, Math.ceil((1 - this.#tokens) * 1000 / this.#rate));
  }

  /** The gateway has refused a frame because there were too many. Refusals during a pause are for
   * frames that were sent before it. */
  refused() {
    const now = this.now();
    if (now < this.#pausedUntil) return;
    this.#tokens = 0;
    this.#at = now;
    this.#rate = Math.max(this.#full / 64, this.#rate / 2);
    this.#pausedUntil = now + PAUSE / 2 * (1 + this.random());
  }

  /** The gateway has accepted a frame. */
  accepted() { this.#rate = Math.min(this.#full, this.#rate + this.#full / 100); }
}
