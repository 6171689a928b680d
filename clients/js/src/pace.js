/** Of what the gateway allows a user, one device takes so much: pongs count, too, and they may have others. */
const RATE = 0.8;
const BURST = 0.5;
/** How long nothing is sent after a refusal, at most; at least half of it. */
const HOLD = 1000;

/**
 * When the next frame may be sent: a bucket of tokens, as the gateway has one for each user, with less in it.
 *
 * The gateway says in its `hello` what it allows. The bucket stays from one connection to the next, for the gateway's does.
 * Other devices of the same user take from the gateway's bucket what nobody says here: so a refusal empties this one and
 * halves its rate, which grows again with each frame that is accepted.
 */
export class Pace {
  #full = 50 * RATE; // tokens a second, while nobody is refused
  #rate = this.#full;
  #burst = 200 * BURST;
  #tokens = this.#burst;
  #at = 0; // when #tokens was counted
  #held = -Infinity; // until then nothing is sent

  /**
   * @param {() => number} [now] a clock in milliseconds, which may jump
   * @param {() => number} [random]
   */
  constructor(now = Date.now, random = Math.random) {
    this.now = now;
    this.random = random;
    this.#at = now();
  }

  /** Takes over what a gateway allows: `frames_per_second` and `frames_burst`. What is not said is as before.
   * @param {Record<string, number>} limits */
  allow(limits) {
    const { frames_per_second: perSecond, frames_burst: burst } = limits;
    if (perSecond !== undefined && perSecond > 0 && perSecond * RATE !== this.#full) {
      this.#full = perSecond * RATE;
      this.#rate = this.#full;
    }
    if (burst !== undefined && burst > 0) {
      const most = Math.max(1, Math.floor(burst * BURST));
      this.#tokens = this.#tokens === this.#burst ? most : Math.min(this.#tokens, most); // one that was full is
      this.#burst = most;
    }
  }

  /** Takes a token, if there is one. */
  take() {
    if (this.wait() > 0) return false;
    this.#tokens--;
    return true;
  }

  /** Milliseconds until there is a token; 0: there is. */
  wait() {
    const now = this.now();
    if (now < this.#at) this.#held -= this.#at - now; // the clock was set back: what is left of a hold stays as long
    this.#tokens = Math.min(this.#burst, this.#tokens + Math.max(0, now - this.#at) * this.#rate / 1000);
    this.#at = now;
    if (now < this.#held) return Math.ceil(this.#held - now);
    return this.#tokens >= 1 ? 0 : Math.max(1, Math.ceil((1 - this.#tokens) * 1000 / this.#rate));
  }

  /** The gateway has refused a frame: there were too many. Those that it refuses while nothing is sent were on their way. */
  refused() {
    const now = this.now();
    if (now < this.#held) return;
    this.#tokens = 0;
    this.#at = now;
    this.#rate = Math.max(this.#full / 64, this.#rate / 2);
    this.#held = now + HOLD / 2 * (1 + this.random());
  }

  /** The gateway has accepted a frame. */
  accepted() { this.#rate = Math.min(this.#full, this.#rate + this.#full / 100); }
}
