// @ts-check
/** Citations: small numbers inside the text where they stand, and the list of sources under it. */

import { h } from "../look/dom.js";
import { words } from "../words/index.js";

/** @typedef {import("./model.js").Citation} Citation */

/** Word joiner: a number never begins a line, apart from the words it belongs to. */
const GLUE = "\u2060";

/**
 * Make the marks in the text press-able and add the list.
 *
 * @param {import("./model.js").Message} message
 * @param {HTMLElement} body already holding the text
 * @param {(citation: Citation, number: number) => void} open
 */
export function sourcesOf(message, body, open) {
  if (message.citations.length === 0) return;
  for (const mark of body.querySelectorAll("[data-citation]")) {
    const at = message.citations.findIndex((citation) => citation.id === mark.getAttribute("data-citation"));
    if (at < 0)
      mark.remove(); // nothing stands behind it
    else mark.replaceWith(GLUE, button("citation-mark", message.citations[at], at + 1, open, false), GLUE);
  }
  const items = message.citations.map((citation, index) =>
    h("li", {}, button("source", citation, index + 1, open, true)),
  );
  body.append(
    h(
      "div",
      { class: "sources" },
      h("p", { class: "sources-title" }, words.t.sources(items.length)),
      h("ol", {}, ...items),
    ),
  );
}

/**
 * @param {string} look
 * @param {Citation} citation
 * @param {number} number
 * @param {(citation: Citation, number: number) => void} open
 * @param {boolean} titled
 */
function button(look, citation, number, open, titled) {
  return h(
    "button",
    {
      type: "button",
      class: look,
      "aria-label": titled ? null : words.t.openSource(number, citation.title),
      "aria-haspopup": "dialog",
      title: titled ? null : citation.title,
      click: () => open(citation, number),
    },
    h("span", { class: "source-number", "aria-hidden": "true" }, String(number)),
    titled ? h("span", { class: "unseen" }, `${words.t.sourceNumber(number)} `) : null,
    titled ? h("span", { class: "source-title" }, citation.title) : null,
  );
}
