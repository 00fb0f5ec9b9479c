// @ts-check
/** Text that arrives in pieces. The wire counts code points, a browser's strings count UTF-16 units. */

/**
 * Put a piece in its place: what stood from `start` on is replaced.
 *
 * @param {string} text what is known so far
 * @param {number} start in code points
 * @param {string} piece
 * @returns {string | null} `null` when something between is missing
 */
export function replaceFrom(text, start, piece) {
  const at = unitsOf(text, start);
  return at === null ? null : text.slice(0, at) + piece;
}

/** @param {string} text @param {number} points @returns {number | null} the same place in units; null past the end */
function unitsOf(text, points) {
  let units = 0;
  for (let left = points; left > 0; left -= 1) {
    if (units >= text.length) return null;
    units += /** @type {number} */ (text.codePointAt(units)) > 0xffff ? 2 : 1;
  }
  return units;
}
