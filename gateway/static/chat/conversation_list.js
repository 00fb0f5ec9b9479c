// @ts-check
/** `<passeur-conversations>`: the visitor's conversations; a column on a desk, a drawer on a phone. */

import { fill, h } from "../look/dom.js";
import { PasseurElement } from "../look/element.js";
import { icon } from "../look/icons.js";
import { words } from "../words/index.js";

/** @typedef {{ id: string, title: string, updated_at: string, unread_count?: number }} Entry */

export class ConversationList extends PasseurElement {
  /** @type {Entry[]} */
  #entries = [];
  #current = "";

  build() {
    this.heading = h("h2", { class: "unseen", id: "conversations-title" });
    this.fresh = h("button", {
      type: "button",
      class: "button new-conversation",
      click: () => this.say("passeur-choose", { id: "" }),
    });
    this.list = h("ul", { class: "conversation-list" });
    this.more = h("button", { type: "button", class: "text-button", click: () => this.say("passeur-more") });
    this.more.hidden = true;
    this.empty = h("p", { class: "no-conversations" });
    this.append(
      h(
        "nav",
        { "aria-labelledby": "conversations-title" },
        this.heading,
        this.fresh,
        this.list,
        this.more,
        this.empty,
      ),
    );
    this.#buildQuestion();
  }

  /** Asked before anything is deleted. */
  #buildQuestion() {
    this.question = h("p", { id: "delete-question" });
    this.no = h("button", { type: "button", class: "button", click: () => this.dialog?.close() });
    this.yes = h("button", { type: "button", class: "button danger", click: () => this.dialog?.close("yes") });
    this.dialog = h(
      "dialog",
      { class: "ask", "aria-labelledby": "delete-question" },
      this.question,
      h("div", { class: "actions" }, this.no, this.yes),
    );
    this.append(this.dialog);
  }

  reword() {
    const { t } = words;
    if (!this.heading || !this.fresh || !this.empty || !this.no || !this.yes) return;
    this.heading.textContent = t.conversations;
    fill(this.fresh, icon("plus", 18), t.newConversation);
    if (this.more) this.more.textContent = t.more;
    this.empty.textContent = t.noConversations;
    this.no.textContent = t.cancel;
    this.yes.textContent = t.deleteYes;
    this.#draw();
  }

  /** @param {Entry[]} entries newest first @param {boolean} hasMore */
  show(entries, hasMore) {
    this.#entries = entries;
    if (this.more) this.more.hidden = !hasMore;
    this.#draw();
  }

  /** @param {string} id the one that is open, "" for a new one */
  set current(id) {
    this.#current = id;
    this.#draw();
  }

  #draw() {
    if (!this.list || !this.empty) return;
    this.empty.hidden = this.#entries.length > 0;
    fill(this.list, ...this.#entries.map((entry) => this.#item(entry)));
  }

  /** @param {Entry} entry */
  #item(entry) {
    const title = entry.title || words.t.untitled;
    const link = h(
      "a",
      {
        href: `?c=${encodeURIComponent(entry.id)}`,
        class: "conversation",
        "aria-current": entry.id === this.#current ? "page" : null,
        click: (/** @type {MouseEvent} */ event) => this.#follow(event, entry.id),
      },
      h("span", { class: "conversation-title" }, title),
      entry.unread_count && entry.id !== this.#current ? this.#unread(entry.unread_count) : null,
      h("time", { datetime: entry.updated_at }, words.time(entry.updated_at)),
    );
    const remove = h(
      "button",
      {
        type: "button",
        class: "icon-button",
        "aria-label": words.t.deleteConversation(title),
        click: () => this.#remove(entry, title),
      },
      icon("trash", 17),
    );
    return h("li", {}, link, remove);
  }

  /** Messages of the team that were not read. @param {number} count */
  #unread(count) {
    return h(
      "span",
      { class: "unread" },
      h("span", { "aria-hidden": "true" }, String(count)),
      h("span", { class: "unseen" }, words.t.inbox.unread(count)),
    );
  }

  /** @param {MouseEvent} event @param {string} id */
  #follow(event, id) {
    if (event.ctrlKey || event.metaKey || event.shiftKey || event.button !== 0) return; // a new tab is a new tab
    event.preventDefault();
    this.say("passeur-choose", { id });
  }

  /** @param {Entry} entry @param {string} title */
  #remove(entry, title) {
    const { dialog, question } = this;
    if (!dialog || !question) return;
    question.textContent = words.t.deleteAsk(title);
    dialog.returnValue = "";
    dialog.addEventListener(
      "close",
      () => dialog.returnValue === "yes" && this.say("passeur-delete", { id: entry.id }),
      { once: true },
    );
    dialog.showModal();
  }
}

customElements.define("passeur-conversations", ConversationList);
