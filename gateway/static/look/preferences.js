// @ts-check
/** `<passeur-preferences>`: the reader's language and the light. */

import { LANGUAGE_NAMES, LANGUAGES, words } from "../words/index.js";
import { h } from "./dom.js";
import { PasseurElement } from "./element.js";
import { icon } from "./icons.js";

const KEPT_UNDER = "passeur.theme";
/** @typedef {"auto" | "light" | "dark"} Theme */
/** @type {readonly Theme[]} */
const THEMES = ["auto", "light", "dark"];
const ICONS = { auto: "auto", light: "sun", dark: "moon" };

export class Preferences extends PasseurElement {
  build() {
    this.select = h("select", { class: "quiet-select", change: () => words.use(this.select?.value ?? "") });
    for (const language of LANGUAGES) {
      this.select.append(h("option", { value: language, lang: language }, LANGUAGE_NAMES[language]));
    }
    this.theme = h("button", { type: "button", class: "icon-button", click: () => this.#nextTheme() });
    const choice = h("label", { class: "select-wrap" }, icon("globe", 18), this.select);
    choice.hidden = LANGUAGES.length < 2;
    this.append(choice, this.theme);
  }

  reword() {
    document.documentElement.lang = words.language;
    if (!this.select || !this.theme) return;
    this.select.value = words.language;
    this.select.setAttribute("aria-label", words.t.language);
    const theme = currentTheme();
    const label = `${words.t.theme}: ${words.t.themes[theme]}`;
    this.theme.replaceChildren(icon(ICONS[theme]));
    this.theme.setAttribute("aria-label", label);
    this.theme.title = label;
  }

  #nextTheme() {
    const next = THEMES[(THEMES.indexOf(currentTheme()) + 1) % THEMES.length];
    const root = document.documentElement;
    if (next === "auto") delete root.dataset.theme;
    else root.dataset.theme = next;
    try {
      localStorage.setItem(KEPT_UNDER, next);
    } catch {
      // not kept then
    }
    this.reword();
  }
}

/** @returns {Theme} */
function currentTheme() {
  const set = document.documentElement.dataset.theme;
  return set === "light" || set === "dark" ? set : "auto";
}

customElements.define("passeur-preferences", Preferences);
