// @ts-check
/** `<passeur-tickets>`: the tickets, what is unread, and which ones to show. */

import { fill, h } from "../look/dom.js";
import { PasseurElement } from "../look/element.js";
import { icon } from "../look/icons.js";
import { words } from "../words/index.js";

/**
 * @typedef {object} Ticket
 * @property {string} id
 * @property {string} conversation_id
 * @property {string} title
 * @property {"OPEN" | "IN_PROGRESS" | "RESOLVED"} state
 * @property {{ id: string, name: string } | null} assignee
 * @property {string} updated_at
 * @property {number | null} unread_count
 * @property {{ id: string, subject: string | null }} visitor
 * @property {string} summary
 * @property {"pending" | "done" | "failed" | "none"} summary_state
 * @property {number} user_message_count
 * @property {{ role: string, text: string } | null} last_message
 */

/** What each filter asks the server for. */
export const FILTERS = {
  active: "state=OPEN,IN_PROGRESS",
  mine: "state=OPEN,IN_PROGRESS&assignee=me",
  none: "state=OPEN,IN_PROGRESS&assignee=none",
  resolved: "state=RESOLVED",
};
/** @typedef {keyof typeof FILTERS} Filter */

export class TicketList extends PasseurElement {
  /** @type {Ticket[]} */
  #tickets = [];
  #current = "";
  /** @type {Filter} */
  filter = "active";

  build() {
    this.heading = h("h2", { id: "tickets-title" });
    this.choice = h("div", { class: "filters", role: "group" });
    this.list = h("ul", { class: "tickets" });
    this.nothing = h("p", { class: "nothing" });
    this.more = h("button", { type: "button", class: "text-button", click: () => this.say("passeur-more") });
    this.more.hidden = true;
    this.questions = h("button", {
      type: "button",
      class: "button questions-button",
      click: () => this.say("passeur-questions"),
    });
    this.append(
      h(
        "nav",
        { "aria-labelledby": "tickets-title" },
        this.heading,
        this.choice,
        this.list,
        this.nothing,
        this.more,
        this.questions,
      ),
    );
  }

  reword() {
    const t = words.t.inbox;
    if (!this.heading || !this.choice || !this.nothing || !this.questions || !this.more) return;
    this.heading.textContent = t.tickets;
    this.choice.setAttribute("aria-label", t.filter);
    this.nothing.textContent = t.nothing;
    this.questions.textContent = t.questions;
    this.more.textContent = words.t.more;
    this.#drawFilters();
    this.#draw();
  }

  /** @param {Ticket[]} tickets newest activity first @param {boolean} hasMore */
  show(tickets, hasMore) {
    this.#tickets = tickets;
    if (this.more) this.more.hidden = !hasMore;
    this.#draw();
  }

  /** @param {string} id the ticket that is open */
  set current(id) {
    this.#current = id;
    this.#draw();
  }

  #drawFilters() {
    if (!this.choice) return;
    const names = words.t.inbox.filters;
    fill(this.choice, ...Object.keys(FILTERS).map((key) => this.#filterButton(/** @type {Filter} */ (key), names)));
  }

  /** @param {Filter} filter @param {Record<Filter, string>} names */
  #filterButton(filter, names) {
    const choose = () => {
      this.filter = filter;
      for (const each of this.choice?.children ?? []) each.setAttribute("aria-pressed", String(each === button));
      this.say("passeur-filter", { filter });
    };
    const button = h(
      "button",
      { type: "button", class: "filter", "aria-pressed": String(filter === this.filter), click: choose },
      names[filter],
    );
    return button;
  }

  #draw() {
    if (!this.list || !this.nothing) return;
    this.nothing.hidden = this.#tickets.length > 0;
    fill(this.list, ...this.#tickets.map((ticket) => this.#item(ticket)));
  }

  /** @param {Ticket} ticket */
  #item(ticket) {
    const t = words.t.inbox;
    const unread = ticket.unread_count ?? 0;
    const open = (/** @type {MouseEvent} */ event) => {
      if (event.ctrlKey || event.metaKey || event.shiftKey) return; // a new tab is a new tab
      event.preventDefault();
      this.say("passeur-choose", { id: ticket.id });
    };
    return h(
      "li",
      {},
      h(
        "a",
        {
          class: "ticket",
          href: `?t=${encodeURIComponent(ticket.id)}`,
          "data-state": ticket.state,
          "aria-current": ticket.id === this.#current ? "page" : null,
          click: open,
        },
        h("span", { class: "ticket-title" }, ticket.title || words.t.untitled),
        unread > 0
          ? h(
              "span",
              { class: "unread" },
              h("span", { "aria-hidden": "true" }, String(unread)),
              h("span", { class: "unseen" }, t.unread(unread)),
            )
          : null,
        h("span", { class: "ticket-last" }, ticket.last_message?.text ?? ""),
        h(
          "span",
          { class: "ticket-facts" },
          h("span", { class: "state" }, t.states[ticket.state]),
          ticket.assignee ? icon("person", 13) : null,
          ticket.assignee?.name ?? "",
          h("time", { datetime: ticket.updated_at }, words.time(ticket.updated_at)),
        ),
      ),
    );
  }
}

customElements.define("passeur-tickets", TicketList);
