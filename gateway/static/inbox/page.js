// @ts-check
/** `<passeur-inbox>`: the team's page: who is signed in, which tickets, which one is open, and the project's live events. */

import { fill, h, must } from "../look/dom.js";
import { PasseurElement } from "../look/element.js";
import { icon } from "../look/icons.js";
import "../look/preferences.js";
import { asProblem } from "../talk/explain.js";
import { Notices } from "../talk/notices.js";
import { Api, apiBase } from "../wire/api.js";
import { SharedStream } from "../wire/shared_stream.js";
import { words } from "../words/index.js";
import { Questions } from "./questions.js";
import { SignIn } from "./sign_in.js";
import { StaffSession } from "./staff_session.js";
import { FILTERS, TicketList } from "./ticket_list.js";
import { TicketView } from "./ticket_view.js";

/** The list is fetched again at most this often. */
const LIST_REST_MS = 500;
const LIST_EVENTS = new Set(["ticket.updated", "message.created", "read"]);
/** The part of the address that shows the unanswered questions. */
const QUESTIONS = "questions";

export class InboxPage extends PasseurElement {
  #listTimer = 0;
  #pages = 1;
  /** @type {AbortController | null} */
  #working = null;
  #status = "online";

  build() {
    this.session = new StaffSession(apiBase());
    this.api = new Api(apiBase(), this.session, () => words.language);
    this.mark = must(this, ".wordmark", HTMLElement);
    this.me = must(this, ".inbox-me", HTMLElement);
    this.notices = must(this, "passeur-notices", Notices);
    this.main = must(this, "main", HTMLElement);
  }

  connected() {
    /** @type {Record<string, (detail: any) => void>} */
    const answers = {
      "passeur-signed-in": () => this.#begin(),
      "passeur-choose": ({ id }) => this.#choose(id),
      "passeur-notice": ({ ticket_id: id }) => this.#choose(id),
      "passeur-questions": () => this.#choose(QUESTIONS),
      "passeur-filter": () => this.#filtered(),
      "passeur-changed": () => this.#listSoon(),
      "passeur-more": () => {
        this.#pages += 1;
        this.#fetchList();
      },
    };
    for (const [type, answer] of Object.entries(answers)) {
      this.addEventListener(type, (event) => answer(/** @type {CustomEvent} */ (event).detail), { signal: this.alive });
    }
    this.session?.addEventListener("ended", () => this.#end(), { signal: this.alive });
    addEventListener("popstate", () => this.#open(addressed()), { signal: this.alive });
    if (this.session?.member) this.#begin();
    else this.#end();
  }

  reword() {
    const { t } = words;
    document.title = `${t.inbox.title} · ${t.title}`;
    if (this.mark) {
      const name = h("span", { class: "wordmark-name" }, t.title);
      fill(this.mark, icon("mark", 26), name, h("span", { class: "wordmark-where" }, t.inbox.title));
    }
    this.#drawMe();
  }

  /** Someone is in: show their work. */
  async #begin() {
    const { session, api, main } = this;
    if (!session?.member || !api || !main) return;
    this.#working?.abort();
    this.#working = new AbortController();
    const { signal } = this.#working;
    this.list = new TicketList();
    this.view = new TicketView();
    this.questions = new Questions();
    this.questions.api = api;
    this.questions.hidden = true;
    fill(main, this.list, this.view, this.questions);
    this.#drawMe();
    this.notices?.use(api);
    try {
      const { staff } = await api.json("staff");
      this.view.use(api, session.member, staff);
      await Promise.all([this.#fetchList(), this.#open(addressed())]);
    } catch (cause) {
      if (!asProblem(cause)) throw cause; // an ended session shows the sign-in; the rest is told by what is asked next
    }
    this.#declare(this.#status);
    const shared = new SharedStream(api, {
      onEvent: (event) => this.#take(event),
      onResync: () => this.#resync(),
      onBegin: () => this.#resync(),
      onState: (state) => this.toggleAttribute("data-cut", state === "waiting"),
    });
    if (!signal.aborted && session.member) await shared.run(`${session.name}.${session.member.id}`, signal);
  }

  #end() {
    this.#working?.abort();
    this.notices?.use(null);
    const form = new SignIn();
    form.session = this.session ?? null;
    if (this.main) fill(this.main, form);
    this.#drawMe();
  }

  #drawMe() {
    const { me, session } = this;
    if (!me || !session) return;
    me.hidden = session.member === null;
    const t = words.t.inbox;
    const select = h("select", {
      class: "plain-select",
      "aria-label": t.me,
      change: () => this.#declare(select.value),
    });
    for (const [value, name] of Object.entries(t.presence))
      select.append(h("option", { value, selected: value === this.#status }, name));
    const out = h(
      "button",
      { type: "button", class: "icon-button", "aria-label": t.signOut, title: t.signOut, click: () => session.close() },
      icon("leave"),
    );
    fill(me, h("span", { class: "me-name" }, session.member?.name ?? ""), select, out);
  }

  /** @param {string} status */
  #declare(status) {
    this.#status = status;
    this.api?.json("presence", { method: "PUT", body: { status } }).catch(() => {
      // being seen as here or away can wait for the next change
    });
  }

  /** @param {import("../wire/sse.js").ServerEvent} event */
  #take(event) {
    const data = JSON.parse(event.data);
    this.view?.apply(event.type, data);
    this.notices?.apply(event.type, data);
    if (LIST_EVENTS.has(event.type)) this.#listSoon();
  }

  #resync() {
    this.view?.reload();
    this.notices?.refresh();
    this.#fetchList();
  }

  #filtered() {
    this.#pages = 1;
    this.#fetchList();
  }

  /** @param {string} id */
  #choose(id) {
    const address = new URL(location.href);
    if (id) address.searchParams.set("t", id);
    else address.searchParams.delete("t");
    if (address.href !== location.href) history.pushState(null, "", address);
    this.#open(id).then(() => (id ? this.view?.querySelector("h2") : this.list?.querySelector("a"))?.focus());
  }

  /** @param {string} id a ticket, `questions`, or "" for none */
  async #open(id) {
    const { list, view, questions } = this;
    if (!list || !view || !questions) return;
    const isQuestions = id === QUESTIONS;
    this.toggleAttribute("data-chosen", id !== "");
    questions.hidden = !isQuestions;
    view.hidden = isQuestions;
    list.current = id;
    await view.show(isQuestions ? "" : id);
    if (isQuestions) await questions.load();
  }

  #listSoon() {
    clearTimeout(this.#listTimer);
    this.#listTimer = setTimeout(() => this.#fetchList(), LIST_REST_MS);
  }

  async #fetchList() {
    const { list, api } = this;
    if (!list || !api) return;
    try {
      /** @type {import("./ticket_list.js").Ticket[]} */
      const tickets = [];
      /** @type {string | null} */
      let cursor = "";
      for (let page = 0; page < this.#pages && cursor !== null; page += 1) {
        /** @type {any} */
        const found = await api.json(
          `tickets?${FILTERS[list.filter]}${cursor && `&cursor=${encodeURIComponent(cursor)}`}`,
        );
        tickets.push(...found.tickets);
        cursor = found.next_cursor;
      }
      list.show(tickets, cursor !== null);
    } catch (cause) {
      if (!asProblem(cause)) throw cause; // the list stays as it was
    }
  }
}

/** The ticket named in the page's address. */
function addressed() {
  return new URLSearchParams(location.search).get("t") ?? "";
}

customElements.define("passeur-inbox", InboxPage);
