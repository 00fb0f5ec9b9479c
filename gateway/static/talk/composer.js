// @ts-check
/** `<passeur-composer>`: where one writes. Grows with the text, counts, dictates, keeps what was begun. */

import { h } from "../look/dom.js";
import { PasseurElement } from "../look/element.js";
import { icon } from "../look/icons.js";
import { words } from "../words/index.js";
import { Attachments } from "./attachments.js";
import { Dictation } from "./dictation.js";

/** The gateway's own limit (`TEXT_LIMIT`), in code points. */
export const MAX_CHARACTERS = 20_000;
/** The count shows from here on. */
const COUNT_FROM = 0.8;

export class Composer extends PasseurElement {
  #running = false;
  /** Other words than the visitor's page uses; asked for at each change of language. @type {() => { label: string, placeholder: string, hint: string }} */
  texts = () => ({ label: words.t.composer, placeholder: words.t.placeholder, hint: words.t.hint });

  build() {
    this.field = h("textarea", {
      id: "composer-field",
      rows: "1",
      enterkeyhint: "send",
      autocomplete: "off",
      dir: "auto",
    });
    this.field.addEventListener("input", () => this.#typed());
    this.field.addEventListener("keydown", (event) => this.#key(event));
    this.label = h("label", { class: "unseen", for: "composer-field" });
    this.hint = h("p", { class: "composer-hint", id: "composer-hint" });
    this.told = h("p", { class: "composer-told", role: "status" });
    this.count = h("p", { class: "composer-count", id: "composer-count", role: "status" });
    this.field.setAttribute("aria-describedby", "composer-hint composer-count");
    this.attachments = new Attachments();
    this.attachments.addEventListener("passeur-attached", () => this.#measure());
    this.clip = h(
      "button",
      { type: "button", class: "icon-button", click: () => this.attachments?.choose() },
      icon("clip"),
    );
    this.#takeFiles();
    this.dictation = new Dictation();
    this.dictation.addEventListener("passeur-heard", (event) => this.#heard(/** @type {CustomEvent} */ (event).detail));
    this.sendButton = h("button", { type: "submit", class: "round-button" }, icon("send"));
    this.stopButton = h(
      "button",
      { type: "button", class: "round-button stop", click: () => this.say("passeur-stop") },
      icon("stop"),
    );
    this.stopButton.hidden = true;
    const form = h(
      "form",
      { class: "composer-box", submit: (/** @type {Event} */ event) => this.#submit(event) },
      this.label,
      this.clip,
      this.field,
      this.dictation,
      this.sendButton,
      this.stopButton,
    );
    /** Below the box; whoever holds the composer may add to it. */
    this.notes = h("div", { class: "composer-notes" }, this.hint, this.told, this.count);
    this.append(this.attachments, form, this.notes);
    this.#typed();
  }

  reword() {
    const { t } = words;
    if (!this.field || !this.label || !this.hint || !this.sendButton || !this.stopButton) return;
    const { label, placeholder, hint } = this.texts();
    this.label.textContent = label;
    this.field.placeholder = placeholder;
    this.hint.textContent = hint;
    if (this.clip) this.clip.hidden = !this.attachments?.isOffered;
    for (const [button, text] of /** @type {[HTMLButtonElement, string][]} */ ([
      [this.sendButton, t.send],
      [this.stopButton, t.stop],
      [this.clip, t.attach],
    ])) {
      button.setAttribute("aria-label", text);
      button.title = text;
    }
    this.#measure();
  }

  get text() {
    return this.field?.value ?? "";
  }

  set text(text) {
    if (!this.field) return;
    this.field.value = text;
    this.#measure();
  }

  focus() {
    this.field?.focus();
  }

  /** While an answer is written the button stops it; one can go on writing. @param {boolean} running @param {boolean} stopping */
  setRunning(running, stopping) {
    const root = /** @type {Document | ShadowRoot} */ (this.getRootNode());
    const hadFocus = root.activeElement === this.stopButton;
    this.#running = running;
    if (!running) this.#tell("");
    if (this.sendButton) this.sendButton.hidden = running;
    if (this.stopButton) {
      this.stopButton.hidden = !running;
      this.stopButton.setAttribute("aria-disabled", String(stopping)); // `disabled` would throw the focus away
    }
    if (hadFocus && !running) this.focus(); // the stop button under the finger is gone
  }

  /** Files may also be dropped or pasted. */
  #takeFiles() {
    this.addEventListener("paste", (event) => {
      const files = event.clipboardData?.files;
      if (!files?.length || !this.attachments?.isOffered) return;
      event.preventDefault();
      this.attachments.add(files);
    });
    this.addEventListener("dragover", (event) => event.dataTransfer?.types.includes("Files") && event.preventDefault());
    this.addEventListener("drop", (event) => {
      if (!event.dataTransfer?.files.length) return;
      event.preventDefault();
      this.attachments?.add(event.dataTransfer.files);
    });
  }

  #typed() {
    this.#measure();
    this.say("passeur-draft", { text: this.text });
  }

  #measure() {
    const { field, count, sendButton } = this;
    if (!field || !count || !sendButton) return;
    field.style.height = "auto";
    // Not shown yet, it measures 0: then its rows decide, and typing measures again.
    if (field.scrollHeight > 0) field.style.height = `${field.scrollHeight}px`;
    const length = [...field.value].length;
    const left = MAX_CHARACTERS - length;
    const { charactersLeft, charactersOver } = words.t;
    count.textContent =
      length < MAX_CHARACTERS * COUNT_FROM
        ? ""
        : left >= 0
          ? charactersLeft(words.number(left))
          : charactersOver(words.number(-left));
    count.classList.toggle("alarm", left < 0);
    field.setAttribute("aria-invalid", String(left < 0));
    sendButton.disabled = field.value.trim() === "" || left < 0 || (this.attachments?.isBusy ?? false);
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    // While an input method composes, Enter chooses a word (229 is how Safari says so).
    if (event.key !== "Enter" || event.shiftKey || event.isComposing || event.keyCode === 229) return;
    event.preventDefault();
    this.#submit(event);
  }

  /** @param {Event} event */
  #submit(event) {
    event.preventDefault();
    if (this.#running && this.text.trim()) this.#tell(words.t.waitOrStop);
    if (this.#running || this.sendButton?.disabled) return;
    const { text } = this;
    this.dictation?.stop();
    this.text = "";
    this.say("passeur-draft", { text: "" });
    this.say("passeur-send", { text: text.trim(), attachments: this.attachments?.take() ?? [] });
  }

  /** Say, in place of the hint, why nothing was sent. @param {string} text */
  #tell(text) {
    if (this.told && this.told.textContent !== text) this.told.textContent = text;
    if (this.hint) this.hint.hidden = text !== "";
  }

  /** @param {{ text: string, from: number }} heard dictated words replace what was heard of them before */
  #heard({ text, from }) {
    const start = from < 0 ? this.text.length : from;
    const before = this.text.slice(0, start);
    this.text = before + (before && !/\s$/.test(before) ? " " : "") + text;
    this.say("passeur-draft", { text: this.text });
  }
}

customElements.define("passeur-composer", Composer);
