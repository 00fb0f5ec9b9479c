// @ts-check
/** `<passeur-transcript>`: the messages of one conversation, in order, and the line that tells what is being done. */

import { fill, h } from "../look/dom.js";
import { PasseurElement } from "../look/element.js";
import { icon } from "../look/icons.js";
import { project } from "../wire/project.js";
import { words } from "../words/index.js";
import { explain } from "./explain.js";
import { MessageElement } from "./message.js";
import { Progress } from "./progress.js";
import { safeHtml } from "./safe_html.js";

/** Nearer than this to the end, the page follows the text. */
const NEAR_PX = 96;
/** What is read out of a long answer; the rest is there to be read. */
const ANNOUNCED_CHARACTERS = 600;

/** @typedef {import("./model.js").Conversation} Conversation */

export class Transcript extends PasseurElement {
  /** @type {Conversation | null} */
  #conversation = null;
  /** @type {AbortController | null} */
  #listening = null;
  /** @type {Map<string, MessageElement>} */
  #elements = new Map();
  #follows = true;
  /** @type {(() => string[]) | null} */
  #instead = null;
  #mayHelp = false;

  build() {
    this.welcome = h("div", { class: "welcome" });
    this.earlier = h("button", {
      type: "button",
      class: "text-button earlier",
      click: () => this.say("passeur-earlier"),
    });
    this.list = h("ol", { class: "messages" });
    this.progress = new Progress();
    this.typing = h("p", { class: "typing", role: "status" });
    this.failure = h("div", { class: "failure", role: "alert" });
    this.column = h(
      "div",
      { class: "column" },
      this.welcome,
      this.earlier,
      this.list,
      this.progress,
      this.typing,
      this.failure,
    );
    // Focusable, so that the keyboard can scroll it.
    this.pane = h("div", { class: "pane", tabindex: "0", role: "region", scroll: () => this.#scrolled() }, this.column);
    this.below = h("button", { type: "button", class: "below", click: () => this.toEnd(true) }, icon("down", 18));
    this.below.hidden = true;
    this.announcer = h("div", { class: "unseen", role: "status", "aria-live": "polite" });
    this.append(this.pane, this.below, this.announcer);
    this.addEventListener("passeur-grown", () => this.#grown());
    this.addEventListener("passeur-announce", (event) => this.announce(/** @type {CustomEvent} */ (event).detail));
  }

  connected() {
    const watch = new ResizeObserver(() => this.#grown());
    if (this.pane) watch.observe(this.pane);
    this.alive.addEventListener("abort", () => watch.disconnect());
  }

  reword() {
    const { t } = words;
    this.pane?.setAttribute("aria-label", t.transcript);
    this.below?.setAttribute("aria-label", t.toBottom);
    if (this.below) this.below.title = t.toBottom;
    if (this.earlier) fill(this.earlier, t.earlier);
    const [heading, text] = this.#instead?.() ?? [project.greeting[words.language] ?? t.welcome, t.welcomeHow];
    const again = this.#mayHelp && h("button", { type: "button", class: "button", click: () => location.reload() }, t.retry);
    if (this.welcome) fill(this.welcome, icon("mark", 44), h("h2", {}, heading), h("p", {}, text), again);
    this.#drawFailure();
  }

  /**
   * Stand for a conversation that there cannot be.
   *
   * @param {() => string[]} says title and explanation
   * @param {boolean} mayHelp whether beginning again may help
   */
  sayInstead(says, mayHelp) {
    this.#instead = says;
    this.#mayHelp = mayHelp;
    this.reword();
    this.welcome?.setAttribute("role", "alert");
  }

  /** @param {Conversation} conversation shown from now on */
  follow(conversation) {
    this.#listening?.abort();
    this.#listening = new AbortController();
    const { signal } = this.#listening;
    this.#conversation = conversation;
    this.#elements.clear();
    this.list?.replaceChildren();
    for (const message of conversation.messages) this.#add(message);
    conversation.addEventListener("message", (event) => this.#change(/** @type {CustomEvent} */ (event).detail), {
      signal,
    });
    conversation.addEventListener("turn", () => this.#turn(), { signal });
    conversation.addEventListener("failure", () => this.#drawFailure(), { signal });
    conversation.addEventListener("said", (event) => this.#announce(/** @type {CustomEvent} */ (event).detail), {
      signal,
    });
    this.#turn();
    this.#drawFailure();
    this.toEnd();
  }

  /** Go to the end and follow again. @param {boolean} [smoothly] */
  toEnd(smoothly = false) {
    this.#follows = true;
    this.pane?.scrollTo({ top: this.pane.scrollHeight, behavior: smoothly ? "smooth" : "instant" });
    if (this.below) this.below.hidden = true;
  }

  /** Tell those who listen rather than look. @param {string} text */
  announce(text) {
    if (!this.announcer) return;
    this.announcer.replaceChildren(); // the same words twice are two announcements
    this.announcer.append(text);
  }

  /** @param {import("./model.js").Change} change */
  #change({ message, how, was }) {
    const element = this.#elements.get(was ?? message.id);
    if (how === "removed") {
      element?.parentElement?.remove();
      this.#elements.delete(message.id);
    } else if (!element) this.#add(message);
    else if (how === "text") element.drawText();
    else {
      this.#elements.delete(was ?? message.id);
      this.#elements.set(message.id, element);
      if (how === "renamed" && element.parentElement)
        this.list?.insertBefore(element.parentElement, this.#itemAfter(message));
      element.draw();
    }
    this.#emptiness();
    this.#turn();
    this.#grown();
  }

  /** @param {import("./model.js").Message} message */
  #add(message) {
    const element = MessageElement.of(message);
    this.#elements.set(message.id, element);
    this.list?.insertBefore(h("li", {}, element), this.#itemAfter(message));
    this.#emptiness();
    if (message.state === "sending") this.toEnd();
  }

  /** The list's item that comes after a message, null for the end. @param {import("./model.js").Message} message */
  #itemAfter(message) {
    const all = this.#conversation?.messages ?? [];
    const after = all.slice(all.indexOf(message) + 1).map((other) => this.#elements.get(other.id)?.parentElement);
    return after.find((item) => item?.parentElement === this.list) ?? null;
  }

  /** Let older messages come in above without moving what is being read. @param {() => void} act */
  holding(act) {
    const { pane } = this;
    const before = pane ? pane.scrollHeight - pane.scrollTop : 0;
    this.#follows = false;
    act();
    if (pane) pane.scrollTop = pane.scrollHeight - before;
  }

  #emptiness() {
    if (this.earlier) this.earlier.hidden = !this.#conversation?.earlier;
    if (this.welcome) this.welcome.hidden = this.#elements.size > 0;
    this.toggleAttribute("data-empty", this.#elements.size === 0);
  }

  #turn() {
    const running = this.#conversation?.running ?? null;
    this.progress?.show(running);
    const typing = this.#conversation?.typing ?? "";
    if (this.typing) {
      this.typing.hidden = typing === "";
      const text = typing ? words.t.typing(typing) : "";
      if (this.typing.textContent !== text) this.typing.textContent = text;
    }
    this.list?.setAttribute("aria-busy", String(running !== null));
    this.#emptiness();
    this.#grown();
  }

  #drawFailure() {
    if (!this.failure) return;
    const failure = this.#conversation?.failure ?? null;
    this.failure.hidden = failure === null;
    if (!failure) return this.failure.replaceChildren();
    const retry = h(
      "button",
      { type: "button", class: "button", click: () => this.say("passeur-again") },
      icon("retry", 18),
      words.t.retry,
    );
    fill(this.failure, icon("warn"), h("p", {}, explain(failure)), retry);
    this.#grown();
  }

  /** @param {import("./model.js").Message} message */
  #announce(message) {
    const plain = message.html ? (safeHtml(message.html).textContent ?? "") : message.text;
    const text = plain.trim().slice(0, ANNOUNCED_CHARACTERS);
    this.announce(message.role === "ai" ? words.t.answerReady(text) : text);
    if (!this.#follows && this.below) {
      this.below.hidden = false;
      this.below.setAttribute("aria-label", words.t.newBelow);
    }
  }

  #grown() {
    if (this.#follows) this.pane?.scrollTo({ top: this.pane.scrollHeight, behavior: "instant" });
    else this.#scrolled();
  }

  #scrolled() {
    if (!this.pane || !this.below) return;
    const left = this.pane.scrollHeight - this.pane.scrollTop - this.pane.clientHeight;
    this.#follows = left < NEAR_PX;
    this.below.hidden = this.#follows;
    if (this.#follows) this.below.setAttribute("aria-label", words.t.toBottom);
  }
}

customElements.define("passeur-transcript", Transcript);
