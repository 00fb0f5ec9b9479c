// @ts-check
/** What a visitor wrote and the server does not have yet: drafts, and messages whose fate is unknown. Outlives a reload. */

/** @typedef {{ text: string, key: string, attachments: import("./model.js").AttachedFile[] }} Unsent */

export class Outbox {
  /** @param {string} owner separates projects that share an origin */
  constructor(owner) {
    this.owner = owner;
  }

  /** @param {string} conversation "" for one that does not exist yet */
  draft(conversation) {
    return this.#read("draft", conversation) ?? "";
  }

  /** @param {string} conversation @param {string} text */
  keepDraft(conversation, text) {
    this.#write("draft", conversation, text);
  }

  /** @param {string} conversation @returns {Unsent | null} */
  unsent(conversation) {
    try {
      return JSON.parse(this.#read("unsent", conversation) ?? "null");
    } catch {
      return null;
    }
  }

  /** @param {string} conversation @param {Unsent | null} unsent */
  keepUnsent(conversation, unsent) {
    this.#write("unsent", conversation, unsent ? JSON.stringify(unsent) : "");
  }

  /** @param {string} what @param {string} conversation */
  #read(what, conversation) {
    try {
      return localStorage.getItem(this.#name(what, conversation));
    } catch {
      return null;
    }
  }

  /** @param {string} what @param {string} conversation @param {string} text */
  #write(what, conversation, text) {
    try {
      if (text) localStorage.setItem(this.#name(what, conversation), text);
      else localStorage.removeItem(this.#name(what, conversation));
    } catch {
      // storage refused: it lives as long as the tab
    }
  }

  /** @param {string} what @param {string} conversation */
  #name(what, conversation) {
    return `passeur.${what}.${this.owner}.${conversation || "new"}`;
  }
}
