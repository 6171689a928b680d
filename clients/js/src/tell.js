/**
 * Calls a listener. An error of the listener is reported like an error of a page's event handler,
 * and affects neither other listeners nor the connection.
 * @template T
 * @param {(value: T) => void} fn
 * @param {T} value
 */
export function tell(fn, value) {
  try {
    fn(value);
  } catch (err) {
    if (typeof globalThis.reportError === 'function') globalThis.reportError(err);
    else console.error(err);
  }
}
