// @ts-check
/** What our custom elements share: drawn once, drawn again when the language changes, listeners that end with them. */

import { words } from "../words/index.js";

export class PasseurElement extends HTMLElement {
  /** @type {AbortController | null} */
  #alive = null;
  #drawn = false;

  /** Ends when the element leaves the page: pass it to `addEventListener`. */
  get alive() {
    this.#alive ??= new AbortController();
    return this.#alive.signal;
  }

  connectedCallback() {
    if (!this.#drawn) {
      this.#drawn = true;
      this.build();
    }
    this.reword();
    words.addEventListener("change", () => this.reword(), { signal: this.alive });
    this.connected();
  }

  disconnectedCallback() {
    this.#alive?.abort();
    this.#alive = null;
  }

  /** Make the children, once. */
  build() {}

  /** Put the current language's texts in place. */
  reword() {}

  /** Listen to the outside; ends by `this.alive`. */
  connected() {}

  /**
   * Tell those around; bubbles, and crosses the widget's shadow root.
   *
   * @param {string} type
   * @param {unknown} [detail]
   */
  say(type, detail) {
    this.dispatchEvent(new CustomEvent(type, { bubbles: true, composed: true, detail }));
  }
}
