// @ts-check
/** What a careful printer would do to French: no line begins with a lonely mark. */

/** French sets a narrow space before these, a whole one before a colon and inside quotes; no line breaks there. */
const NARROW = / (?=[;!?])/g;
const WHOLE = / (?=[:»])|(?<=«) /g;

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
    const set = (node.nodeValue ?? "").replace(NARROW, "\u202f").replace(WHOLE, "\u00a0");
    if (set !== node.nodeValue) node.nodeValue = set;
  }
}
