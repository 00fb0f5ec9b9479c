// @ts-check
/**
 * `<passeur-dictation>`: speech to text, where the browser has it; otherwise nothing is shown.
 *
 * Which microphone: browsers whose recogniser takes an audio track let one choose; elsewhere the system's choice holds.
 */

import { fill, h } from "../look/dom.js";
import { PasseurElement } from "../look/element.js";
import { icon } from "../look/icons.js";
import { words } from "../words/index.js";

/** @type {any} */
const Recognition =
  /** @type {any} */ (globalThis).SpeechRecognition ?? /** @type {any} */ (globalThis).webkitSpeechRecognition;
const TAGS = { fr: "fr-FR", en: "en-GB", es: "es-ES" };

export class Dictation extends PasseurElement {
  /** @type {any} */
  #recogniser = null;
  /** @type {MediaStreamTrack | null} */
  #track = null;

  build() {
    this.hidden = !Recognition;
    if (this.hidden) return;
    this.button = h(
      "button",
      { type: "button", class: "icon-button", "aria-pressed": "false", click: () => this.#toggle() },
      icon("mic"),
    );
    this.choice = h("select", { class: "quiet-select microphones" });
    this.choice.hidden = true;
    this.note = h("p", { class: "dictation-note", role: "status" });
    this.note.hidden = true;
    this.append(this.choice, this.button, this.note);
  }

  reword() {
    if (!this.button || !this.choice) return;
    const label = this.#recogniser ? words.t.dictateStop : words.t.dictate;
    this.button.setAttribute("aria-label", label);
    this.button.title = label;
    this.choice.setAttribute("aria-label", words.t.microphone);
  }

  /** End dictation; nothing happens when none runs. */
  stop() {
    this.#recogniser?.stop();
  }

  #toggle() {
    if (this.#recogniser) this.stop();
    else this.#start();
  }

  async #start() {
    const recogniser = new Recognition();
    this.#recogniser = recogniser;
    recogniser.lang = TAGS[words.language];
    recogniser.interimResults = true;
    recogniser.continuous = true;
    let from = -1;
    recogniser.addEventListener("result", (/** @type {any} */ event) => {
      const text = Array.from(event.results, (result) => result[0].transcript).join("");
      if (from < 0) from = this.#written();
      this.say("passeur-heard", { text: text.trim(), from });
    });
    recogniser.addEventListener("error", (/** @type {any} */ event) => this.#tell(event.error));
    recogniser.addEventListener("end", () => this.#ended());
    this.button?.setAttribute("aria-pressed", "true");
    this.#show(`${words.t.dictateListening} ${words.t.dictateNote}`);
    this.reword();
    try {
      this.#track = await this.#chosenTrack();
      if (this.#track) recogniser.start(this.#track);
      else recogniser.start();
      await this.#offerMicrophones();
    } catch (cause) {
      this.#tell(cause instanceof DOMException && cause.name === "NotAllowedError" ? "not-allowed" : "other");
      this.#ended();
    }
  }

  /** Where dictated text begins: after what is already there. */
  #written() {
    return this.closest("form")?.querySelector("textarea")?.value.length ?? 0;
  }

  /** @returns {Promise<MediaStreamTrack | null>} null: let the browser choose */
  async #chosenTrack() {
    const id = this.choice?.value ?? "";
    if (!id) return null;
    const stream = await navigator.mediaDevices.getUserMedia({ audio: { deviceId: { exact: id } } });
    return stream.getAudioTracks()[0] ?? null;
  }

  /** Only where the recogniser takes a track, and only when there is something to choose between. */
  async #offerMicrophones() {
    if (Recognition.prototype.start.length < 1 && !("processLocally" in Recognition.prototype)) return;
    const devices = (await navigator.mediaDevices?.enumerateDevices()) ?? [];
    const microphones = devices.filter((device) => device.kind === "audioinput" && device.deviceId && device.label);
    if (!this.choice || microphones.length < 2) return;
    const chosen = this.choice.value;
    fill(
      this.choice,
      h("option", { value: "" }, words.t.microphoneDefault),
      ...microphones.map((each) => h("option", { value: each.deviceId }, each.label)),
    );
    this.choice.value = chosen;
    this.choice.hidden = false;
  }

  /** @param {string} error */
  #tell(error) {
    if (error === "aborted") return;
    const errors = words.t.dictateErrors;
    this.#show(errors[/** @type {keyof typeof errors} */ (error)] ?? errors.other);
    this.#failed = true;
  }

  #failed = false;

  #ended() {
    this.#track?.stop();
    this.#track = null;
    this.#recogniser = null;
    this.button?.setAttribute("aria-pressed", "false");
    if (!this.#failed) this.#show("");
    this.#failed = false;
    this.reword();
  }

  /** @param {string} text */
  #show(text) {
    if (!this.note) return;
    this.note.textContent = text;
    this.note.hidden = text === "";
  }
}

customElements.define("passeur-dictation", Dictation);
