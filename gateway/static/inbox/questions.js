// @ts-check
/** `<passeur-questions>`: what people asked in vain, so that someone can see what to write next. */

import { fill, h } from "../look/dom.js";
import { PasseurElement } from "../look/element.js";
import { icon } from "../look/icons.js";
import { asProblem, explain } from "../talk/explain.js";
import { words } from "../words/index.js";

/** @typedef {{ text: string, cause: string, turn_id: string | null, asked_at: string }} Example */
/** @typedef {{ text: string, count: number, insufficient_count: number, escalated_count: number, last_at: string, examples: Example[] }} Group */

export class Questions extends PasseurElement {
  /** @type {import("../wire/api.js").Api | null} */
  api = null;
  /** @type {Group[] | null} */
  #groups = null;
  #trouble = "";

  build() {
    this.pane = h("div", { class: "questions", tabindex: "0", role: "region" });
    this.append(this.pane);
  }

  async load() {
    try {
      this.#groups = (await this.api?.json("questions"))?.groups ?? [];
      this.#trouble = "";
    } catch (cause) {
      const problem = asProblem(cause);
      if (!problem) throw cause;
      this.#trouble = explain(problem);
    }
    this.reword();
  }

  reword() {
    if (!this.pane) return;
    const t = words.t.inbox;
    this.pane.setAttribute("aria-label", t.questions);
    const back = h(
      "button",
      {
        type: "button",
        class: "icon-button back",
        "aria-label": t.back,
        click: () => this.say("passeur-choose", { id: "" }),
      },
      icon("back"),
    );
    const groups = this.#groups ?? [];
    const empty = this.#trouble || (this.#groups ? t.noQuestions : words.t.loading);
    fill(
      this.pane,
      h(
        "div",
        { class: "ticket-line" },
        back,
        h("div", { class: "ticket-name" }, h("h2", {}, t.questions), h("p", {}, t.questionsHow)),
      ),
      groups.length > 0
        ? h("ol", { class: "groups" }, ...groups.map((group) => this.#group(group)))
        : h("p", { class: "nothing", role: "status" }, empty),
    );
  }

  /** @param {Group} group */
  #group(group) {
    const t = words.t.inbox;
    const facts = [
      t.questionCount(group.count),
      group.escalated_count > 0 ? t.questionEscalated(group.escalated_count) : "",
      words.time(group.last_at),
    ];
    const near = h("details", { class: "near" }, h("summary", {}, t.near));
    near.addEventListener("toggle", () => near.open && this.#near(near, group), { once: true });
    const hasTurn = group.examples.some((example) => example.turn_id);
    const others = group.examples.map((example) => example.text).filter((text) => text !== group.text);
    return h(
      "li",
      {},
      h("p", { class: "group-text" }, group.text),
      h("p", { class: "group-facts" }, facts.filter(Boolean).join(" · ")),
      others.length > 0 ? h("ul", { class: "others" }, ...others.map((text) => h("li", {}, text))) : null,
      hasTurn ? near : null,
    );
  }

  /** @param {HTMLElement} holder @param {Group} group */
  async #near(holder, group) {
    const turn = group.examples.find((example) => example.turn_id)?.turn_id ?? "";
    const t = words.t.inbox;
    let items;
    try {
      /** @type {{ title: string, distance: number | null, kept: boolean }[]} */
      const passages = (await this.api?.json(`questions/${encodeURIComponent(turn)}/passages`))?.passages ?? [];
      items = passages.map((passage) =>
        h("li", {}, passage.title, passage.distance === null ? "" : ` (${words.number(passage.distance, 2)})`),
      );
    } catch (cause) {
      const problem = asProblem(cause);
      items = [h("li", {}, problem ? explain(problem) : words.t.problems.internal)];
    }
    holder.append(items.length > 0 ? h("ul", {}, ...items) : h("p", {}, t.nearNone));
  }
}

customElements.define("passeur-questions", Questions);
