// @ts-check
/** `<passeur-message>`: one message, whoever wrote it. */

import { fill, h } from "../look/dom.js";
import { PasseurElement } from "../look/element.js";
import { icon } from "../look/icons.js";
import { words } from "../words/index.js";
import { explain } from "./explain.js";
import { factsOf } from "./facts.js";
import { filesOf } from "./files.js";
import { FAILED } from "./model.js";
import { safeHtml } from "./safe_html.js";
import { sourcesOf } from "./sources.js";
import { StreamingText } from "./streaming_text.js";
import { typeset } from "./typeset.js";

/** @typedef {import("./model.js").Message} Message */

export class MessageElement extends PasseurElement {
  /** @type {Message | null} */
  message = null;
  /** @type {StreamingText | null} */
  #streaming = null;
  #frame = 0;

  /** @param {Message} message @returns {MessageElement} */
  static of(message) {
    const element = /** @type {MessageElement} */ (document.createElement("passeur-message"));
    element.message = message;
    return element;
  }

  build() {
    this.name = h("span", { class: "message-name" });
    this.head = h("div", { class: "message-head" }, this.name);
    this.body = h("div", { class: "message-body" });
    this.foot = h("div", { class: "message-foot" });
    this.append(h("article", { class: "message-frame" }, this.head, this.body, this.foot));
  }

  reword() {
    this.draw();
  }

  /** Draw everything again. */
  draw() {
    const { message } = this;
    if (!message || !this.isConnected) return;
    this.dataset.role = message.role;
    this.dataset.kind = message.kind || "plain";
    this.dataset.state = message.state;
    this.#drawHead(message);
    if (message.state === "streaming") this.#stream();
    else this.#drawWhole(message);
    fill(this.#part("foot"), ...(message.state === "streaming" ? [] : this.#footOf(message)));
  }

  /** Draw the text only, at most once a frame: for pieces that keep coming. */
  drawText() {
    if (this.#frame) return;
    this.#frame = requestAnimationFrame(() => {
      this.#frame = 0;
      if (this.message?.state === "streaming" && this.isConnected) {
        this.#stream();
        this.say("passeur-grown");
      }
    });
  }

  #stream() {
    this.#streaming ??= new StreamingText(this.#part("body"));
    this.#streaming.show(this.message?.text ?? "");
  }

  /** @param {Message} message */
  #drawHead(message) {
    const names = {
      user: this.closest("passeur-ticket") ? words.t.inbox.visitor : words.t.you,
      ai: words.t.assistant,
      admin: words.t.staff,
      system: words.t.system,
    };
    const label = { rephrase: words.t.rephraseLabel }[message.kind];
    this.#part("name").textContent = message.author || names[message.role];
    fill(
      this.#part("head"),
      message.role === "ai" ? icon("mark", 18) : null,
      this.name,
      label ? h("span", { class: "badge" }, label) : null,
      message.unverified ? h("span", { class: "badge" }, words.t.unverified) : null,
      message.economy ? h("span", { class: "badge", title: words.t.economyHelp }, words.t.economy) : null,
    );
  }

  /** @param {Message} message */
  #drawWhole(message) {
    this.#streaming = null;
    const body = this.#part("body");
    body.lang = message.language;
    if (message.role === "ai" && message.html) fill(body, safeHtml(message.html));
    else if (message.role === "ai") new StreamingText(body).show(message.text);
    else body.textContent = message.text;
    if (message.role !== "user") typeset(body, message.language || words.language);
    sourcesOf(message, body, (citation, number) => this.say("passeur-citation", { message, citation, number }));
  }

  /** @param {Message} message @returns {(Node | null)[]} */
  #footOf(message) {
    const { t } = words;
    if (message.state === "unsent") return this.#unsentFoot(message);
    const ends = /** @type {Record<string, string>} */ ({
      stopped: t.stopped,
      truncated: t.truncated,
      interrupted: t.interrupted,
    });
    const end = message.kind === "notice" ? "" : message.notice || ends[message.outcome];
    const failed = message.role === "ai" && FAILED.has(message.outcome);
    return [
      filesOf(message.attachments, (file, then) => this.say("passeur-file", { file, then })),
      message.choices.length > 0 ? this.#choices(message.choices) : null,
      end ? h("p", { class: "message-end" }, end) : null,
      failed ? this.#button("passeur-again", "retry", words.t.retry, "button again-button") : null,
      message.kind === "suggest_human" ? this.#humanButton() : null,
      h("div", { class: "facts" }, ...factsOf(message)),
    ];
  }

  /** @param {Message} message */
  #unsentFoot(message) {
    const problem = message.problem;
    return [
      h("p", { class: "message-end alarm" }, h("strong", {}, words.t.notSent), problem ? ` — ${explain(problem)}` : ""),
      h(
        "div",
        { class: "actions" },
        this.#button("passeur-retry", "retry", words.t.retry, "text-button"),
        this.#button("passeur-edit", "edit", words.t.edit, "text-button"),
      ),
    ];
  }

  /** @param {string} says @param {string} sign @param {string} text @param {string} look */
  #button(says, sign, text, look) {
    return h(
      "button",
      { type: "button", class: look, click: () => this.say(says, { message: this.message }) },
      icon(sign, 16),
      text,
    );
  }

  /** @param {import("./model.js").Choice[]} choices */
  #choices(choices) {
    const buttons = choices.map(({ label, reply }) =>
      h(
        "button",
        {
          type: "button",
          class: "button choice",
          click: () => this.say("passeur-send", { text: reply, attachments: [] }),
        },
        label,
      ),
    );
    return h("div", { class: "choices" }, ...buttons);
  }

  #humanButton() {
    const button = h("button", { type: "button", class: "button human-button" }, icon("person", 18), words.t.human);
    button.addEventListener("click", () => this.say("passeur-human", { button }));
    return button;
  }

  /** @param {"name" | "head" | "body" | "foot"} part @returns {HTMLElement} built before anything draws */
  #part(part) {
    return /** @type {HTMLElement} */ (this[part]);
  }
}

customElements.define("passeur-message", MessageElement);
