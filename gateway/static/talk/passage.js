// @ts-check
/**
 * `<passeur-passage>`: the passage behind a citation. Beside the conversation where there is room, as a sheet from below
 * on a phone. Escape closes; the focus goes back to the button that opened it.
 */

import { fill, h } from "../look/dom.js";
import { PasseurElement } from "../look/element.js";
import { icon } from "../look/icons.js";
import { words } from "../words/index.js";
import { asProblem, explain } from "./explain.js";
import { markQuote } from "./quote.js";
import { webAddress } from "./safe_html.js";
import { typeset } from "./typeset.js";

/** From this width on the passage stands beside the text, and both can be used. */
const WIDE = "(min-width: 68rem)";

/**
 * @typedef {{ title: string, url: string | null, heading: string, text: string, language: string, quote: string,
 *   service: string }} Passage
 */

export class PassagePanel extends PasseurElement {
  /** @type {HTMLElement | null} */
  #opener = null;
  #asked = 0;

  build() {
    this.heading = h("h2", { id: "passage-title", tabindex: "-1" });
    this.kicker = h("p", { class: "passage-kicker" });
    this.body = h("div", { class: "passage-body", tabindex: "0", role: "group" });
    this.closeButton = h("button", { type: "button", class: "icon-button", click: () => this.close() }, icon("close"));
    this.dialog = h(
      "dialog",
      { class: "passage", "aria-labelledby": "passage-title" },
      h("header", {}, h("div", {}, this.kicker, this.heading), this.closeButton),
      this.body,
    );
    this.dialog.addEventListener("close", () => this.#closed());
    this.dialog.addEventListener("click", (event) => {
      if (event.target === this.dialog) this.close(); // outside the sheet
    });
    this.append(this.dialog);
  }

  connected() {
    // A dialog that is not modal does not close by Escape itself; beside the text it closes from anywhere.
    const onKey = (/** @type {KeyboardEvent} */ event) => {
      if (event.key !== "Escape" || !this.dialog?.open) return;
      event.preventDefault(); // or the host's widget would close with it
      this.close();
    };
    document.addEventListener("keydown", onKey, { signal: this.alive });
  }

  reword() {
    this.closeButton?.setAttribute("aria-label", words.t.close);
    this.body?.setAttribute("aria-label", words.t.passage);
  }

  /**
   * @param {import("./model.js").Citation} citation
   * @param {number} number
   * @param {() => Promise<Passage>} fetchIt
   */
  async open(citation, number, fetchIt) {
    const { dialog, heading, kicker, body } = this;
    if (!dialog || !heading || !kicker || !body) return;
    this.#asked += 1;
    const asked = this.#asked;
    this.#opener?.removeAttribute("aria-expanded");
    this.#opener = deepActive();
    this.#opener?.setAttribute("aria-expanded", "true");
    kicker.textContent = words.t.sourceNumber(number);
    heading.textContent = citation.title;
    fill(body, h("p", { class: "passage-wait" }, words.t.passageLoading));
    this.#show(dialog);
    heading.focus();
    try {
      const passage = await fetchIt();
      if (asked === this.#asked) fill(body, ...contentOf(passage, citation));
    } catch (cause) {
      if (asked === this.#asked) fill(body, ...failureOf(cause, citation));
    }
  }

  close() {
    if (this.dialog?.open) this.dialog.close();
  }

  /** @param {HTMLDialogElement} dialog */
  #show(dialog) {
    const isWide = matchMedia(WIDE).matches && !this.closest("[data-narrow]");
    if (dialog.open) return;
    this.toggleAttribute("data-beside", isWide);
    if (isWide) dialog.show();
    else dialog.showModal();
    this.say("passeur-passage", { open: true });
  }

  #closed() {
    this.#asked += 1;
    this.removeAttribute("data-beside");
    this.say("passeur-passage", { open: false });
    this.#opener?.removeAttribute("aria-expanded");
    if (this.#opener?.isConnected) this.#opener.focus();
    this.#opener = null;
  }
}

/** @param {Passage} passage @param {import("./model.js").Citation} citation @returns {Node[]} */
function contentOf(passage, citation) {
  const text = h("blockquote", { class: "passage-text", lang: passage.language || null });
  markQuote(text, passage.text, passage.quote || citation.quote, words.t.passageQuoted);
  typeset(text, passage.language);
  const { service, title } = passage;
  const told = service ? h("h3", {}, words.t.passageService(service)) : null;
  const heading = passage.heading && passage.heading !== title ? h("h3", {}, passage.heading) : null;
  const label = service ? words.t.passageOpenService(service) : words.t.passageOpen;
  const link = documentLink(passage.url ?? citation.url, label);
  return [told, heading, passage.text ? text : null, link].filter((each) => each !== null);
}

/** @param {unknown} cause @param {import("./model.js").Citation} citation */
function failureOf(cause, citation) {
  const problem = asProblem(cause);
  const gone = problem?.status === 404 || problem?.status === 403;
  const text = gone || !problem ? words.t.passageGone : explain(problem);
  const quote = gone || !citation.quote ? null : h("blockquote", { class: "passage-text" });
  if (quote) markQuote(quote, citation.quote, "", "");
  return [h("p", { class: "passage-wait alarm", role: "alert" }, text), quote].filter((each) => each !== null);
}

/** @param {string | null} url from the document's own metadata @param {string} label */
function documentLink(url, label) {
  const address = url ? webAddress(url) : null;
  if (!address) return null;
  return h(
    "a",
    { class: "button", href: address, target: "_blank", rel: "noopener noreferrer" },
    label,
    icon("out", 17),
  );
}

/** The focused element, through shadow roots. */
function deepActive() {
  let active = document.activeElement;
  while (active?.shadowRoot?.activeElement) active = active.shadowRoot.activeElement;
  return active instanceof HTMLElement ? active : null;
}

customElements.define("passeur-passage", PassagePanel);
