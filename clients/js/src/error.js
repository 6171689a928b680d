/** An answer of the gateway that says no, or a command that got none. */
export class TidemarkError extends Error {
  /**
   * @param {string} code of the gateway (`not_found`, `invalid_argument`, …), or `timeout`, `closed`, `overflow` or `unsupported` from here
   * @param {string} message
   */
  constructor(code, message) {
    super(message);
    this.name = 'TidemarkError';
    this.code = code;
  }
}
