/** An error that the gateway answered, or a command without an answer. */
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
