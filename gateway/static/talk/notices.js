// @ts-check
/**
 * `<passeur-notices>`: what a person should know when they come back, behind a bell. On both pages.
 *
 * It says `passeur-notice` with what a chosen notice is about; the page opens it.
 */

import { fill, h } from "../look/dom.js";
import { PasseurElement } from "../look/element.js";
import { icon } from "../look/icons.js";
import { words } from "../words/index.js";
import { asProblem } from "./explain.js";

/** Events after which the list is another. */
const CHANGES = new Set(["notification.created", "read"]);
/** The list is fetched again at most this often. */
const REST_MS = 400;
/** The most notices that "mark all" marks at once: a page of the list. */
const PAGE = 50;

/** @typedef {{ id: string, kind: string, text: string, target: Record<string, string>, created_at: string, read_at: string | null }} Notice */

export class Notices extends PasseurElement {
  /** @type {import("../wire/api.js").Api | null} */
  #api = null;
  /** @type {Notice[]} */
  #notices = [];
  #unread = 0;
  #timer = 0;

  build() {
    this.panel = h("div", { class: "notices-panel", id: "notices-panel", popover: "auto", role: "region" });
    this.button = h("button", { type: "button", class: "icon-button notices-button", popovertarget: "notices-panel" });
    this.spoken = h("p", { class: "unseen", role: "status" });
    this.append(this.button, this.panel, this.spoken);
    this.hidden = true;
  }

  reword() {
    this.#draw();
    if (this.#api) this.refresh();
  }

  /** @param {import("../wire/api.js").Api | null} api null when nobody is signed in any more */
  use(api) {
    this.#api = api;
    this.#notices = [];
    this.#unread = 0;
    this.hidden = api === null;
    this.#draw();
    if (api) this.refresh();
  }

  /** @param {string} type @param {Record<string, any>} data an event of the reader's stream */
  apply(type, data) {
    if (type === "notification.created" && this.spoken) this.spoken.textContent = data.notification.text;
    if (!CHANGES.has(type)) return;
    this.#timer ||= setTimeout(() => {
      this.#timer = 0;
      this.refresh();
    }, REST_MS);
  }

  /** Fetch the list again. */
  async refresh() {
    await this.#try(async (api) => {
      const found = await api.json(`notifications?limit=${PAGE}`);
      this.#notices = found.notifications;
      this.#unread = found.unread_count;
    });
    this.#draw();
  }

  /** @param {Notice[]} notices */
  async #markRead(notices) {
    const unread = notices.filter((notice) => notice.read_at === null);
    await this.#try((api) =>
      Promise.all(
        unread.map((notice) => api.send(`notifications/${encodeURIComponent(notice.id)}/read`, { method: "POST" })),
      ),
    );
    await this.refresh();
  }

  /** @param {(api: import("../wire/api.js").Api) => Promise<unknown>} act */
  async #try(act) {
    try {
      if (this.#api) await act(this.#api);
    } catch (cause) {
      if (!asProblem(cause)) throw cause; // the list stays as it was
    }
  }

  #draw() {
    const { button, panel } = this;
    if (!button || !panel) return;
    const t = words.t.notices;
    const count = this.#unread;
    const name = count > 0 ? `${t.title}, ${t.unread(count)}` : t.title;
    button.setAttribute("aria-label", name);
    button.title = name;
    const badge = h("span", { class: "unread", "aria-hidden": "true" }, String(count));
    fill(button, icon("bell"), count > 0 ? badge : null);
    panel.setAttribute("aria-label", t.title);
    const all = h(
      "button",
      { type: "button", class: "text-button", click: () => this.#markRead(this.#notices) },
      icon("check", 15),
      t.markAll,
    );
    fill(
      panel,
      h("div", { class: "notices-head" }, h("h2", {}, t.title), count > 0 ? all : null),
      this.#notices.length === 0
        ? h("p", { class: "nothing" }, t.none)
        : h("ul", {}, ...this.#notices.map((notice) => this.#item(notice))),
    );
  }

  /** @param {Notice} notice */
  #item(notice) {
    const choose = () => {
      this.panel?.hidePopover();
      this.#markRead([notice]);
      this.say("passeur-notice", notice.target);
    };
    const isNew = notice.read_at === null;
    return h(
      "li",
      { "data-new": isNew },
      h(
        "button",
        { type: "button", class: "notice-item", click: choose },
        h("span", {}, notice.text),
        h("time", { datetime: notice.created_at }, words.time(notice.created_at)),
        isNew ? h("span", { class: "unseen" }, `, ${words.t.notices.isNew}`) : null,
      ),
    );
  }
}

customElements.define("passeur-notices", Notices);
