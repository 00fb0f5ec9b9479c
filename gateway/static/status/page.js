// @ts-check
/** `<passeur-status>`: what `/readyz` says, for people. Asked again every few seconds while someone looks. */

import { fill, h } from "../look/dom.js";
import { PasseurElement } from "../look/element.js";
import { icon } from "../look/icons.js";
import "../look/preferences.js";
import { words } from "../words/index.js";

const EVERY_MS = 5_000;
const TIMEOUT_MS = 8_000;

/** @typedef {{ state: string, reasons?: string[], reason?: string, since?: string }} Part */
/** @typedef {{ state: string, dependencies: Record<string, Part> }} Readiness */

export class StatusPage extends PasseurElement {
  /** @type {Readiness | null} */
  #seen = null;
  #checked = new Date();

  build() {
    document.querySelector(".wordmark")?.prepend(icon("mark", 26));
    this.verdict = h("div", { class: "verdict", role: "status" });
    this.parts = h("section", { "aria-labelledby": "parts-title" });
    this.checked = h("p", { class: "checked" });
    this.toChat = h("a", { class: "button", href: new URL("../../chat", import.meta.url).pathname });
    this.append(this.verdict, this.parts, this.checked, this.toChat);
  }

  connected() {
    const timer = setInterval(() => document.visibilityState === "visible" && this.#check(), EVERY_MS);
    this.alive.addEventListener("abort", () => clearInterval(timer));
    document.addEventListener("visibilitychange", () => document.visibilityState === "visible" && this.#check(), {
      signal: this.alive,
    });
    this.#check();
  }

  async #check() {
    try {
      const response = await fetch(new URL("../../readyz", import.meta.url), {
        cache: "no-store",
        signal: AbortSignal.timeout(TIMEOUT_MS),
      });
      this.#seen = await response.json(); // 503 carries the same document
    } catch {
      this.#seen = null;
    }
    this.#checked = new Date();
    this.reword();
  }

  reword() {
    const { t } = words;
    document.title = `${t.status.title} · ${t.title}`;
    if (!this.verdict || !this.parts || !this.checked || !this.toChat) return;
    const state = this.#seen ? known(this.#seen.state) : "down";
    this.dataset.state = state;
    const head = this.#seen ? t.status[state] : t.status.unreachable;
    const sign = { ready: "check", degraded: "warn", down: "close" }[state];
    const said = `${head} ${t.status.explain[state]}`;
    if (this.verdict.dataset.said !== said) {
      this.verdict.dataset.said = said; // read out only when it changes
      fill(this.verdict, icon(sign, 30), h("h1", {}, head), h("p", {}, t.status.explain[state]));
    }
    fill(this.parts, h("h2", { id: "parts-title" }, t.status.parts), h("ul", {}, ...this.#items()));
    this.parts.hidden = !this.#seen;
    this.checked.textContent = t.status.checked(this.#checked.toLocaleTimeString(words.language));
    this.toChat.textContent = t.status.toChat;
  }

  #items() {
    const { t } = words;
    return Object.entries(this.#seen?.dependencies ?? {}).map(([name, part]) => {
      const state = known(part.state);
      const reasons = part.reasons ?? (part.reason ? [part.reason] : []);
      const names = /** @type {Record<string, string>} */ (t.status.names);
      return h(
        "li",
        { "data-state": state },
        h("span", { class: "dot", "aria-hidden": "true" }),
        h("span", { class: "part-name" }, names[name] ?? name),
        h("span", { class: "part-state" }, t.status.states[state]),
        reasons.length > 0
          ? h("ul", { class: "reasons" }, ...reasons.map((reason) => h("li", { lang: "en" }, reason)))
          : null,
      );
    });
  }
}

/** @param {string} state @returns {"ready" | "degraded" | "down"} */
function known(state) {
  return state === "ready" || state === "degraded" ? state : "down";
}

customElements.define("passeur-status", StatusPage);
