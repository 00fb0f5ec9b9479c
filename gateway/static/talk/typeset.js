// @ts-check
/** What a careful printer would do to French: no line begins with a lonely mark. */

/** French sets a narrow space before these, and the line must not break there. */
const BEFORE = /[ \u00a0](?=[;:!?»](?!\S*\/\/))/g;
const AFTER = /(?<=«)[ \u00a0]/g;
const NARROW = "\u202f";

/**
 * Bind the spaces of French punctuation; code stays as it is.
 *
 * @param {HTMLElement} body
 * @param {string} language what the text is written in
 */
export function typeset(body, language) {
  if (!language.startsWith("fr")) return;
  const texts = document.createTreeWalker(body, NodeFilter.SHOW_TEXT);
  for (let node = texts.nextNode(); node; node = texts.nextNode()) {
    if (node.parentElement?.closest("code, pre")) continue;
    const set = (node.nodeValue ?? "").replace(BEFORE, NARROW).replace(AFTER, NARROW);
    if (set !== node.nodeValue) node.nodeValue = set;
  }
}
