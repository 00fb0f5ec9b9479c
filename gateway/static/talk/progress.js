// @ts-check
/** `<passeur-progress>`: what the turn is doing, as one quiet line: a boat that crosses as the steps go by. */

import { h } from "../look/dom.js";
import { PasseurElement } from "../look/element.js";
import { icon } from "../look/icons.js";
import { words } from "../words/index.js";

/** How far the crossing is at each step; an unknown step changes nothing. */
const REACHED = {
  waiting: 4,
  saving: 8,
  intent: 24,
  retrieval: 46,
  tool_preview: 58,
  api_call: 72,
  formatting: 92,
  clarify: 92,
};
/** @typedef {keyof typeof REACHED} StepName */

export class Progress extends PasseurElement {
  /** @type {import("./model.js").Running | null} */
  #running = null;

  build() {
    this.boat = h("span", { class: "boat" }, icon("boat", 17));
    this.line = h("span", { class: "crossing", "aria-hidden": "true" }, this.boat);
    this.words = h("span", { class: "progress-words" });
    this.append(this.line, this.words);
    this.hidden = true;
  }

  /** @param {import("./model.js").Running | null} running */
  show(running) {
    this.#running = running;
    this.hidden = running === null;
    this.reword();
  }

  reword() {
    if (!this.#running || !this.words || !this.boat) return;
    const step = /** @type {StepName} */ (this.#running.step);
    const { steps, stopping } = words.t;
    this.words.textContent = this.#running.stopping ? stopping : (steps[step] ?? steps.waiting);
    if (step in REACHED) this.boat.style.setProperty("--reached", `${REACHED[step]}%`);
  }
}

customElements.define("passeur-progress", Progress);
