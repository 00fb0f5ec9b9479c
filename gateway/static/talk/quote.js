// @ts-check
/** A passage as its document had it: paragraphs, code, and the quoted words marked where they stand. */

import { h } from "../look/dom.js";

/** How the server marks code in a passage: between two lines of backticks, or within a line. */
const FENCED = /^(`{3,10})\n([^]*?)\n\1`*$/gm;
const INLINE = /(?<!`)(`{1,3})(?!`)(.+?)(?<!`)\1(?!`)/g;

/**
 * Fill `host` with the passage's paragraphs and code; the quote is marked where it stands, spaces, line ends and marks
 * of code not counted.
 *
 * @param {HTMLElement} host
 * @param {string} text
 * @param {string} quote
 * @param {string} label what the mark means, for those who cannot see it
 */
export function markQuote(host, text, quote, label) {
  const found = placeOf(text, quote);
  const marked = (/** @type {number} */ from, /** @type {number} */ to) => pieces(text, from, to, found, label);
  let from = 0;
  for (const fenced of text.matchAll(FENCED)) {
    const [whole, fence, code] = fenced;
    const begin = fenced.index + fence.length + 1;
    host.append(...paragraphs(text, from, fenced.index, marked));
    host.append(h("pre", {}, h("code", {}, ...marked(begin, begin + code.length))));
    from = fenced.index + whole.length;
  }
  host.append(...paragraphs(text, from, text.length, marked));
}

/**
 * @param {string} text @param {number} from @param {number} to
 * @param {(from: number, to: number) => (string | HTMLElement)[]} marked
 */
function paragraphs(text, from, to, marked) {
  const found = [];
  let at = from;
  for (const part of text.slice(from, to).split(/(\n\s*\n)/)) {
    const begin = at + part.length - part.trimStart().length;
    const end = at + part.trimEnd().length;
    if (begin < end) found.push(h("p", {}, ...withCode(text, begin, end, marked)));
    at += part.length;
  }
  return found;
}

/**
 * @param {string} text @param {number} from @param {number} to
 * @param {(from: number, to: number) => (string | HTMLElement)[]} marked
 */
function withCode(text, from, to, marked) {
  const parts = [];
  let at = from;
  for (const code of text.slice(from, to).matchAll(INLINE)) {
    const [whole, mark, inside] = code;
    const begin = from + code.index + mark.length;
    parts.push(...marked(at, from + code.index));
    parts.push(h("code", {}, ...marked(begin, begin + inside.length)));
    at = from + code.index + whole.length;
  }
  return [...parts, ...marked(at, to)];
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
  // Marks of code may stand between any two characters: quotes kept from before there were marks have none.
  const literal = (/** @type {string} */ each) => each.replace(/[.*+?^${}()|[\]\\]/, "\\$&");
  const pattern = parts.map((part) => Array.from(part, literal).join("`*")).join("`*\\s+`*");
  const found = new RegExp(pattern, "u").exec(text);
  return found ? [found.index, found.index + found[0].length] : null;
}
