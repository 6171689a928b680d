// Reading again and again while somebody looks.

export class Poll {
  #every;
  #read;
  #timer;
  #watched = false;

  /** read is called every so many milliseconds after it has ended, while the view is watched. */
  constructor(every, read) {
    this.#every = every;
    this.#read = read;
  }

  watch(on) {
    if (on === this.#watched) return;
    this.#watched = on;
    clearTimeout(this.#timer);
    if (on) void this.#turn();
  }

  async #turn() {
    await this.#read();
    clearTimeout(this.#timer); // of a reading that was under way when the view was left and entered again
    if (this.#watched) this.#timer = setTimeout(() => void this.#turn(), this.#every);
  }
}
