/**
 * A stamp: how far the state behind a value was folded, `fold_version.m.r.d`.
 * @typedef {readonly [number, number, number, number]} Stamp
 */

/**
 * Parses a stamp. An invalid one is an error, because comparing with it would let an old value
 * replace a new one.
 * @param {string} text
 * @returns {Stamp}
 */
export function parseStamp(text) {
  const parts = text.split('.');
  const numbers = parts.map((p) => (/^\d{1,16}$/.test(p) ? Number(p) : NaN));
  if (parts.length !== 4 || !numbers.every(Number.isSafeInteger)) {
    throw new TypeError(`stamp ${JSON.stringify(text)} is not fold_version.m.r.d`);
  }
  return /** @type {[number, number, number, number]} */ (numbers);
}

/**
 * Whether every part of `a` is at or beyond that of `b`.
 * @param {string} a
 * @param {string} b
 */
export function dominates(a, b) {
  const x = parseStamp(a);
  const y = parseStamp(b);
  return x.every((n, i) => n >= /** @type {number} */ (y[i]));
}
