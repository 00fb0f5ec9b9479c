// @ts-check
/** `<passeur-attachments>`: files that go with the next message: chosen, dropped or pasted, sent at once, removable. */

import { fill, h } from "../look/dom.js";
import { PasseurElement } from "../look/element.js";
import { icon } from "../look/icons.js";
import { newKey } from "../wire/api.js";
import { words } from "../words/index.js";
import { asProblem, explain } from "./explain.js";

/** What the gateway takes; see its /openapi.json. */
const TAKEN = [
  "image/png",
  "image/jpeg",
  "image/webp",
  "image/gif",
  "application/pdf",
  "text/plain",
  "text/csv",
  "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
];
/** Browsers leave the type of some files empty, or take a CSV for a spreadsheet. */
const BY_ENDING = /** @type {Record<string, string>} */ ({
  csv: "text/csv",
  txt: "text/plain",
  md: "text/plain",
  pdf: "application/pdf",
  docx: TAKEN[7],
});
/** Files with one message, as the gateway counts. */
const MOST_FILES = 8;

/** @typedef {import("./model.js").AttachedFile} AttachedFile */
/** @typedef {{ name: string, file: AttachedFile | null, trouble: string, stop: AbortController }} Entry */

export class Attachments extends PasseurElement {
  /** @type {import("../wire/api.js").Api | null} set by whoever can send files; without it nothing is offered */
  #api = null;
  /** @type {Entry[]} */
  #entries = [];

  build() {
    this.list = h("ul", { class: "attached" });
    this.append(this.list);
    this.#draw();
  }

  reword() {
    this.#draw();
  }

  /** @param {import("../wire/api.js").Api} api */
  use(api) {
    this.#api = api;
  }

  get isOffered() {
    return this.#api !== null;
  }

  /** Whether something is still on its way. */
  get isBusy() {
    return this.#entries.some((entry) => !entry.file && !entry.trouble);
  }

  /** Hand over what is ready and begin anew. @returns {AttachedFile[]} */
  take() {
    const ready = this.#entries.map((entry) => entry.file).filter((file) => file !== null);
    this.#entries = [];
    this.#draw();
    return ready;
  }

  choose() {
    const input = h("input", {
      type: "file",
      multiple: true,
      accept: [...TAKEN, ".csv", ".txt", ".md", ".docx"].join(","),
    });
    input.addEventListener("change", () => this.add(input.files ?? []));
    input.click();
  }

  /** @param {Iterable<File>} files */
  add(files) {
    if (!this.#api) return;
    for (const file of files) {
      if (this.#entries.length >= MOST_FILES) break;
      const entry = { name: file.name || words.t.picture, file: null, trouble: "", stop: new AbortController() };
      this.#entries.push(entry);
      this.#send(entry, file);
    }
    this.#draw();
  }

  /** @param {Entry} entry @param {File} file */
  async #send(entry, file) {
    try {
      const path = `attachments?name=${encodeURIComponent(entry.name)}`;
      entry.file = await this.#api?.json(path, {
        bytes: file,
        type: typeOf(file),
        key: newKey(),
        signal: entry.stop.signal,
        endless: true,
      });
    } catch (cause) {
      const problem = asProblem(cause);
      if (!problem) return; // taken away meanwhile
      entry.trouble = troubleOf(problem);
    }
    this.#draw();
  }

  #draw() {
    if (!this.list) return;
    this.hidden = this.#entries.length === 0;
    fill(this.list, ...this.#entries.map((entry) => this.#item(entry)));
    this.say("passeur-attached");
  }

  /** @param {Entry} entry */
  #item(entry) {
    const remove = () => {
      entry.stop.abort();
      this.#entries = this.#entries.filter((other) => other !== entry);
      this.#draw();
    };
    const state = entry.trouble || (entry.file ? "" : words.t.attaching);
    return h(
      "li",
      { class: entry.trouble ? "alarm" : null },
      icon("clip", 15),
      h("span", { class: "attached-name" }, entry.name),
      state ? h("span", { class: "attached-state", role: entry.trouble ? "alert" : "status" }, state) : null,
      h(
        "button",
        { type: "button", class: "icon-button", "aria-label": words.t.detach(entry.name), click: remove },
        icon("close", 15),
      ),
    );
  }
}

/** In the reader's words: the server's own are for whoever wrote a client. @param {import("../wire/problem.js").Problem} problem */
function troubleOf(problem) {
  const { fileUnreadable, fileType, fileTooLarge } = words.t;
  const said = { "invalid-request": fileUnreadable, "unsupported-media": fileType, "body-too-large": fileTooLarge };
  return said[/** @type {keyof typeof said} */ (problem.slug)] ?? explain(problem);
}

/** @param {File} file */
function typeOf(file) {
  if (TAKEN.includes(file.type)) return file.type;
  const ending = file.name.split(".").pop()?.toLowerCase() ?? "";
  return BY_ENDING[ending] ?? (file.type || "application/octet-stream");
}

customElements.define("passeur-attachments", Attachments);
