// @ts-check
/**
 * Text while it is being written: enough of Markdown to look like the finished answer, so that nothing jumps when the
 * server's own rendering replaces it. Only text nodes; links stay words.
 */

import { h } from "../look/dom.js";

export class StreamingText {
  /** @param {HTMLElement} host emptied, then owned */
  constructor(host) {
    this.host = host;
    /** @type {string[]} */
    this.shown = [];
    host.replaceChildren();
  }

  /** @param {string} text the whole text so far; only blocks that changed are drawn again */
  show(text) {
    const blocks = blocksOf(text);
    blocks.forEach((block, index) => {
      if (this.shown[index] === block) return;
      const drawn = draw(block);
      const old = this.host.children[index];
      if (old) old.replaceWith(drawn);
      else this.host.append(drawn);
    });
    while (this.host.children.length > blocks.length) this.host.lastElementChild?.remove();
    this.shown = blocks;
  }
}

/**
 * Cut at blank lines, but not inside a code fence.
 *
 * @param {string} text
 * @returns {string[]} never holds an empty block
 */
export function blocksOf(text) {
  /** @type {string[][]} */
  const blocks = [[]];
  let fenced = false;
  for (const line of text.split("\n")) {
    const isFence = line.trimStart().startsWith("```");
    if (!fenced && (line.trim() === "" || isFence)) blocks.push([]);
    if (line.trim() !== "" || fenced) blocks[blocks.length - 1].push(line);
    if (isFence) {
      fenced = !fenced;
      if (!fenced) blocks.push([]);
    }
  }
  return blocks.map((lines) => lines.join("\n")).filter(Boolean);
}

/** @param {string} block @returns {HTMLElement} */
function draw(block) {
  const lines = block.split("\n");
  const first = lines[0].trimStart();
  if (first.startsWith("```")) {
    const closed = lines.length > 1 && lines[lines.length - 1].trim() === "```";
    return h("pre", {}, h("code", {}, lines.slice(1, closed ? -1 : undefined).join("\n")));
  }
  const heading = /^(#{1,6})\s+(.*)$/.exec(first);
  if (heading) {
    const level = /** @type {"h3"} */ (`h${Math.min(6, heading[1].length + 2)}`);
    return h(
      "div",
      {},
      h(level, {}, ...inline(heading[2])),
      ...(lines.length > 1 ? [draw(lines.slice(1).join("\n"))] : []),
    );
  }
  if (ITEM.test(first)) return list(lines);
  if (first.startsWith(">")) {
    return h("blockquote", {}, h("p", {}, ...inline(lines.map((line) => line.replace(/^\s*>\s?/, "")).join("\n"))));
  }
  return h("p", {}, ...inline(block));
}

const ITEM = /^\s*(?:[-*+]|(\d{1,9})[.)])\s+/;

/** @param {string[]} lines the first is an item; a line that is none goes on with the one before */
function list(lines) {
  const number = ITEM.exec(lines[0])?.[1];
  const holder = number ? h("ol", { start: number === "1" ? null : number }) : h("ul");
  /** @type {string[]} */
  const items = [];
  for (const line of lines) {
    if (ITEM.test(line)) items.push(line.replace(ITEM, ""));
    else items[items.length - 1] += `\n${line.trim()}`;
  }
  holder.append(...items.map((item) => h("li", {}, ...inline(item))));
  return holder;
}

const INLINE = /`([^`\n]+)`|\*\*([^*]+)\*\*|\*([^*\s](?:[^*]*[^*\s])?)\*|!?\[([^\]\n]*)\]\([^)\n]*\)/g;

/** @param {string} text @returns {(string | HTMLElement)[]} */
function inline(text) {
  /** @type {(string | HTMLElement)[]} */
  const parts = [];
  let from = 0;
  for (const found of text.matchAll(INLINE)) {
    parts.push(text.slice(from, found.index));
    const [whole, code, strong, emphasis, label] = found;
    if (code !== undefined) parts.push(h("code", {}, code));
    else if (strong !== undefined) parts.push(h("strong", {}, strong));
    else if (emphasis !== undefined) parts.push(h("em", {}, emphasis));
    else parts.push(label);
    from = found.index + whole.length;
  }
  parts.push(text.slice(from).replace(/\*\*(?=[^*\s][^*]*$)/, "")); // bold that has begun but not ended
  return parts;
}
