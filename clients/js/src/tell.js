/**
 * Calls a listener. What it throws is its own affair: it is reported, as what an event handler of a page throws is, and
 * neither the other listeners nor the connection suffer.
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
