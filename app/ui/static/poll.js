// Polling while a view is shown.

export class Poll {
  #every;
  #read;
  #timer;
  #watched = false;

  /** read is called `every` milliseconds after its last call ended, while the view is shown. */
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
    clearTimeout(this.#timer); // of a call that was in progress when the view was left and entered again
    if (this.#watched) this.#timer = setTimeout(() => void this.#turn(), this.#every);
  }
}
