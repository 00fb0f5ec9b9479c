// @ts-check
/** `<passeur-person>`: asking for a person, at any time. It asks once more first: the assistant is silent afterwards. */

import { fill, h } from "../look/dom.js";
import { PasseurElement } from "../look/element.js";
import { icon } from "../look/icons.js";
import { words } from "../words/index.js";

export class PersonButton extends PasseurElement {
  #isAsking = false;

  connected() {
    this.addEventListener(
      "keydown",
      (event) => {
        if (event.key === "Escape" && this.#isAsking) this.#ask(false);
      },
      { signal: this.alive },
    );
  }

  reword() {
    this.#draw();
  }

  /** @param {boolean} isAsking whether to ask if it is meant */
  #ask(isAsking) {
    this.#isAsking = isAsking;
    this.#draw();
    this.querySelector("button")?.focus();
  }

  #confirm() {
    this.#isAsking = false;
    this.#draw();
    const button = this.querySelector("button");
    button?.focus();
    this.say("passeur-human", { button });
  }

  #draw() {
    const { t } = words;
    if (!this.#isAsking) {
      fill(this, button("text-button", () => this.#ask(true), icon("person", 16), t.human));
      return;
    }
    const question = h("p", { id: "person-question" }, t.humanSure);
    fill(
      this,
      h(
        "div",
        { role: "group", "aria-labelledby": "person-question", class: "person-question" },
        question,
        button("button", () => this.#confirm(), icon("person", 16), t.humanYes),
        button("text-button", () => this.#ask(false), t.cancel),
      ),
    );
  }
}

/** @param {string} look @param {() => void} act @param {...(Node | string)} children */
function button(look, act, ...children) {
  return h("button", { type: "button", class: look, click: act }, ...children);
}

customElements.define("passeur-person", PersonButton);
