// @ts-check
/** Marking the quoted words inside their passage. */

import { h } from "../look/dom.js";

/**
 * Fill `host` with the passage's paragraphs; the quote is marked where it stands, spaces and line ends not counted.
 *
 * @param {HTMLElement} host
 * @param {string} text
 * @param {string} quote
 * @param {string} label what the mark means, for those who cannot see it
 */
export function markQuote(host, text, quote, label) {
  const found = placeOf(text, quote);
  let from = 0;
  for (const paragraph of text.split(/(\n\s*\n)/)) {
    const to = from + paragraph.length;
    if (paragraph.trim()) host.append(h("p", {}, ...pieces(text, from, to, found, label)));
    from = to;
  }
}

/**
 * @param {string} text @param {number} from @param {number} to
 * @param {[number, number] | null} found @param {string} label
 * @returns {(string | HTMLElement)[]}
 */
function pieces(text, from, to, found, label) {
  const start = found ? Math.max(from, found[0]) : to;
  const end = found ? Math.min(to, found[1]) : to;
  if (start >= end) return [text.slice(from, to)];
  return [text.slice(from, start), h("mark", { title: label }, text.slice(start, end)), text.slice(end, to)];
}

/** @param {string} text @param {string} quote @returns {[number, number] | null} */
export function placeOf(text, quote) {
  const parts = quote.trim().split(/\s+/).filter(Boolean);
  if (parts.length === 0) return null;
  const pattern = parts.map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")).join("\\s+");
  const found = new RegExp(pattern, "u").exec(text);
  return found ? [found.index, found.index + found[0].length] : null;
}
