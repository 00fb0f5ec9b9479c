// @ts-check
/** The interface's language and its texts. One module a language; the keys are the same in each (a test compares). */

import { project } from "../wire/project.js";
import en from "./en.js";
import es from "./es.js";
import fr from "./fr.js";

/** @typedef {typeof en} Texts */
/** @typedef {"fr" | "en" | "es"} Language */

/** @type {Record<Language, Texts>} */
export const TEXTS = { fr, en, es };
/** @type {readonly Language[]} */
const SPOKEN = ["fr", "en", "es"];
/** Those that the reader can choose: the project's, and every one where the page belongs to no project. */
export const LANGUAGES = SPOKEN.filter((language) => !project.languages.length || project.languages.includes(language));
export const LANGUAGE_NAMES = { fr: "Français", en: "English", es: "Español" };
const KEPT_UNDER = "passeur.language";

class Words extends EventTarget {
  /** @type {Language} */
  language = firstLanguage();

  /** The current language's texts: `words.t.send`. */
  get t() {
    return TEXTS[this.language];
  }

  /** @param {string} wanted @param {boolean} [keep] remember it for next time */
  use(wanted, keep = true) {
    const language = supported(wanted);
    if (!language || language === this.language) return;
    this.language = language;
    try {
      if (keep) localStorage.setItem(KEPT_UNDER, language);
    } catch {
      // not kept then
    }
    this.dispatchEvent(new Event("change"));
  }

  /** @param {string | Date} when @returns {string} "14:05", with the date when it is another day */
  time(when) {
    const moment = new Date(when);
    if (Number.isNaN(moment.getTime())) return "";
    const isToday = moment.toDateString() === new Date().toDateString();
    /** @type {Intl.DateTimeFormatOptions} */
    const parts = { hour: "numeric", minute: "2-digit" };
    if (!isToday) Object.assign(parts, { day: "numeric", month: "short" });
    return moment.toLocaleString(this.language, parts);
  }

  /** @param {number} nanodollars @returns {string} as many digits as it takes to see something */
  money(nanodollars) {
    const dollars = nanodollars / 1e9;
    const digits = dollars === 0 || dollars >= 0.01 ? 2 : Math.min(9, Math.ceil(-Math.log10(dollars)) + 1);
    return dollars.toLocaleString(this.language, { style: "currency", currency: "USD", maximumFractionDigits: digits });
  }

  /** @param {number} count @param {number} [digits] */
  number(count, digits = 0) {
    return count.toLocaleString(this.language, { minimumFractionDigits: digits, maximumFractionDigits: digits });
  }
}

/** @param {string} tag @returns {Language | undefined} */
function supported(tag) {
  const short = tag.slice(0, 2).toLowerCase();
  return LANGUAGES.find((language) => language === short);
}

/** @returns {Language} the address first, then what was chosen before, then the browser's wishes */
function firstLanguage() {
  let kept = "";
  try {
    kept = localStorage.getItem(KEPT_UNDER) ?? "";
  } catch {
    // no storage, no memory
  }
  const asked = new URLSearchParams(globalThis.location?.search ?? "").get("lang") ?? "";
  const wishes = [asked, kept, ...(navigator.languages ?? [navigator.language])];
  const otherwise = supported(project.defaultLanguage) ?? LANGUAGES[0] ?? "en";
  return wishes.map(supported).find((language) => language !== undefined) ?? otherwise;
}

export const words = new Words();
