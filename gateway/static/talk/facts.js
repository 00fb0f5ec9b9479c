// @ts-check
/** The small line under a message: copy, when, and how it came to be. */

import { h } from "../look/dom.js";
import { icon } from "../look/icons.js";
import { words } from "../words/index.js";

/** How long "Copied" stays. */
const COPIED_MS = 2_000;
/** Shorter than this is "at once", not a figure. */
const SHOWN_FROM_MS = 100;

/** @param {import("./model.js").Message} message @returns {Node[]} */
export function factsOf(message) {
  const { t } = words;
  /** @type {Node[]} */
  const facts = [];
  if (message.role === "ai" && message.text && ["answer", "greeting", ""].includes(message.kind))
    facts.push(copyButton(message.text));
  if (message.created_at) facts.push(h("time", { datetime: message.created_at }, words.time(message.created_at)));
  if (message.role !== "ai") return facts;
  if (message.model) facts.push(fact(message.model.includes("extractive") ? t.quoted : t.model(message.model)));
  if (message.duration_ms !== null && message.duration_ms >= SHOWN_FROM_MS && message.kind === "answer") {
    facts.push(fact(t.seconds(words.number(message.duration_ms / 1000, 1))));
  }
  // Where nothing is paid, figures beside every answer are noise: they are for those who weigh a model's cost.
  if (!message.cost_nanousd) return facts;
  facts.push(fact(t.cost(words.money(message.cost_nanousd))));
  if (message.confidence !== null) {
    facts.push(fact(t.closeness(`${words.number(message.confidence * 100)} %`), t.closenessHelp));
  }
  return facts;
}

/** @param {string} text @param {string} [help] */
function fact(text, help) {
  return h("span", { class: "fact", title: help }, text);
}

/** @param {string} text */
function copyButton(text) {
  const label = h("span", {}, words.t.copy);
  const button = h("button", { type: "button", class: "text-button copy-button" }, icon("copy", 15), label);
  button.addEventListener("click", async () => {
    let done = true;
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      done = false; // no permission, or not a secure context
    }
    label.textContent = done ? words.t.copied : words.t.copyFailed;
    button.dispatchEvent(new CustomEvent("passeur-announce", { bubbles: true, detail: label.textContent }));
    setTimeout(() => {
      label.textContent = words.t.copy;
    }, COPIED_MS);
  });
  return button;
}
