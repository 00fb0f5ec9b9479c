// @ts-check
/** `<passeur-ticket>`: one ticket: whose it is, how it stands, its summary, what was said, and where one replies. */

import { fill, h } from "../look/dom.js";
import { PasseurElement } from "../look/element.js";
import { icon } from "../look/icons.js";
import { Attention, FADES_MS } from "../talk/attention.js";
import { Composer } from "../talk/composer.js";
import { asProblem, explain } from "../talk/explain.js";
import { answerFile } from "../talk/files.js";
import { Conversation } from "../talk/model.js";
import { PassagePanel } from "../talk/passage.js";
import { Transcript } from "../talk/transcript.js";
import { newKey } from "../wire/api.js";
import { Problem } from "../wire/problem.js";
import { words } from "../words/index.js";

/** @typedef {import("./ticket_list.js").Ticket} Ticket */
/** @typedef {import("./staff_session.js").Member} Member */
/** @typedef {"online" | "away" | "offline"} Status */

export class TicketView extends PasseurElement {
  /** @type {Ticket | null} */
  ticket = null;
  /** @type {import("../wire/api.js").Api | null} */
  #api = null;
  /** @type {Attention | null} */
  #attention = null;
  /** @type {Member | null} */
  #me = null;
  /** @type {Member[]} */
  #colleagues = [];
  /** @type {Status} */
  #visitorIs = "offline";
  #conversation = new Conversation("", "admin");
  #typingTimer = 0;
  #trouble = "";

  build() {
    this.head = h("header", { class: "ticket-head" });
    this.transcript = new Transcript();
    this.composer = new Composer();
    this.composer.texts = () => ({
      label: words.t.inbox.reply,
      placeholder: words.t.inbox.replyPlaceholder,
      hint: words.t.inbox.replyHint,
    });
    this.notice = h("div", { class: "notice", role: "status" });
    this.passage = new PassagePanel();
    const dock = h("div", { class: "dock" }, h("div", { class: "dock-inner" }, this.notice, this.composer));
    this.append(h("div", { class: "dialogue-main" }, this.head, this.transcript, dock), this.passage);
  }

  connected() {
    /** @type {Record<string, (detail: any) => void>} */
    const answers = {
      "passeur-send": ({ text }) => this.#reply(this.#conversation.addOwn(text, newKey())),
      "passeur-retry": ({ message }) => this.#reply(message),
      "passeur-edit": ({ message }) => this.#edit(message),
      "passeur-file": (wish) => this.#api && answerFile(this.#api, wish),
      "passeur-earlier": () => this.#earlier(),
      "passeur-draft": ({ text }) => this.#attention?.writes(this.#conversation.id, text !== ""),
      "passeur-citation": ({ citation, number }) =>
        this.passage?.open(citation, number, async () => ({
          ...citation,
          heading: "",
          text: citation.quote,
          language: "",
          service: "",
        })),
    };
    for (const [type, answer] of Object.entries(answers)) {
      this.addEventListener(type, (event) => answer(/** @type {CustomEvent} */ (event).detail), { signal: this.alive });
    }
    document.addEventListener("visibilitychange", () => this.#seen(), { signal: this.alive });
  }

  /** @param {import("../wire/api.js").Api} api @param {Member} me @param {Member[]} colleagues */
  use(api, me, colleagues) {
    this.#api = api;
    this.#attention = new Attention(api);
    this.#me = me;
    this.#colleagues = colleagues.filter((each) => each.active);
  }

  reword() {
    this.#drawHead();
    if (this.ticket) this.reload();
  }

  /** @param {string} id */
  async show(id) {
    this.passage?.close();
    this.#leave();
    this.ticket = null;
    this.#conversation = new Conversation("", "admin");
    this.transcript?.follow(this.#conversation);
    if (!id) return this.#drawHead();
    await this.reload(id);
    this.transcript?.toEnd();
  }

  /** Fetch what is shown again: after a gap, or in another language. @param {string} [id] */
  async reload(id = this.ticket?.id ?? "") {
    if (!this.#api || !id) return;
    try {
      const path = `tickets/${encodeURIComponent(id)}`;
      const [{ ticket, presence }, list] = await Promise.all([
        this.#api.json(path),
        this.#api.json(`${path}/messages`),
      ]);
      const isOther = this.#conversation.id !== ticket.conversation_id;
      if (isOther) this.#begin(ticket.conversation_id);
      this.ticket = ticket;
      this.#visitorIs = presence.status;
      this.#conversation.load(list.messages);
      if (isOther) this.#conversation.earlier = list.next_cursor;
      this.transcript?.toEnd();
      this.#drawHead();
      this.#seen();
    } catch (cause) {
      this.#tell(cause);
    }
  }

  /** @param {string} conversationId */
  #begin(conversationId) {
    this.#conversation = new Conversation(conversationId, "admin");
    this.#conversation.addEventListener("said", () => this.#seen());
    this.#conversation.addEventListener("gap", () => this.reload());
    this.transcript?.follow(this.#conversation);
    this.#api
      ?.send(`conversations/${encodeURIComponent(conversationId)}/open`, { method: "POST" })
      .catch((cause) => this.#tell(cause));
  }

  #leave() {
    const { id } = this.#conversation;
    if (id) this.#api?.send(`conversations/${encodeURIComponent(id)}/close`, { method: "POST" }).catch(() => {}); // the next one opened closes it too
  }

  /** @param {string} type @param {Record<string, any>} data */
  apply(type, data) {
    if (type === "ticket.updated" && data.ticket.id === this.ticket?.id) {
      this.ticket = { ...data.ticket, unread_count: 0 };
      this.#drawHead();
    } else if (type === "user.status" && data.visitor_id === this.ticket?.visitor.id) {
      this.#visitorIs = data.status;
      this.#drawHead();
    } else if (data.conversation_id === this.#conversation.id) this.#hear(type, data);
  }

  /** @param {string} type @param {Record<string, any>} data */
  #hear(type, data) {
    const named = type === "typing" ? { ...data, author: { name: words.t.inbox.someoneTypes } } : data;
    this.#conversation.apply(type, named, false);
    if (type !== "typing") return;
    clearTimeout(this.#typingTimer);
    const conversation = this.#conversation;
    this.#typingTimer = setTimeout(() => conversation.setTyping(""), FADES_MS);
  }

  #drawHead() {
    const { head, ticket, composer } = this;
    if (!head || !composer) return;
    const t = words.t.inbox;
    this.toggleAttribute("data-chosen", ticket !== null);
    const back = h(
      "button",
      {
        type: "button",
        class: "icon-button back",
        "aria-label": t.back,
        click: () => this.say("passeur-choose", { id: "" }),
      },
      icon("back"),
    );
    if (!ticket) fill(head, h("p", { class: "choose" }, t.choose));
    else
      fill(
        head,
        h("div", { class: "ticket-line" }, back, this.#titleOf(ticket), this.#actions(ticket)),
        this.#summary(ticket),
      );
    composer.hidden = !ticket || ticket.state === "RESOLVED";
    this.#drawNotice();
  }

  /** @param {Ticket} ticket */
  #titleOf(ticket) {
    const t = words.t.inbox;
    const who = ticket.visitor.subject ?? t.anonymous;
    return h(
      "div",
      { class: "ticket-name" },
      h("h2", { tabindex: "-1" }, ticket.title || words.t.untitled),
      h(
        "p",
        {},
        h("span", { class: "state", "data-state": ticket.state }, t.states[ticket.state]),
        h("span", {}, `${who}, ${t.visitorIs[this.#visitorIs]}`),
      ),
    );
  }

  /** @param {Ticket} ticket */
  #actions(ticket) {
    const t = words.t.inbox;
    const select = h("select", {
      class: "plain-select",
      "aria-label": t.assignee,
      change: () => this.#act("assign", { assignee_id: select.value }),
    });
    if (!ticket.assignee) select.append(h("option", { value: "", disabled: true, selected: true }, t.nobody));
    for (const each of this.#colleagues)
      select.append(h("option", { value: each.id, selected: each.id === ticket.assignee?.id }, each.name));
    const isResolved = ticket.state === "RESOLVED";
    const take =
      ticket.assignee || isResolved
        ? null
        : h(
            "button",
            { type: "button", class: "button", click: () => this.#act("assign", { assignee_id: this.#me?.id }) },
            t.take,
          );
    const turn = h(
      "button",
      {
        type: "button",
        class: isResolved ? "button" : "button primary",
        click: () => this.#act(isResolved ? "reopen" : "resolve"),
      },
      isResolved ? t.reopen : t.resolve,
    );
    return h("div", { class: "ticket-actions" }, isResolved ? null : select, take, turn);
  }

  /** @param {Ticket} ticket */
  #summary(ticket) {
    const t = words.t.inbox;
    if (ticket.summary_state === "none") return null;
    const text = ticket.summary_state === "done" ? ticket.summary : t.summaries[ticket.summary_state];
    return h("details", { class: "summary", open: true }, h("summary", {}, t.summary), h("p", {}, text));
  }

  /** @param {string} what @param {unknown} [body] */
  async #act(what, body) {
    const { ticket } = this;
    if (!this.#api || !ticket) return;
    try {
      const now = await this.#api.json(`tickets/${encodeURIComponent(ticket.id)}/${what}`, { method: "POST", body });
      if (this.ticket?.id === now.id) this.ticket = now;
      this.#trouble = "";
    } catch (cause) {
      this.#tell(cause);
    }
    this.#drawHead();
    this.say("passeur-changed");
  }

  /** @param {import("../talk/model.js").Message} message */
  async #reply(message) {
    const { ticket } = this;
    const conversation = this.#conversation;
    if (!this.#api || !ticket) return;
    conversation.setState(message, "sending");
    this.#attention?.writes(conversation.id, false);
    try {
      const path = `tickets/${encodeURIComponent(ticket.id)}/reply`;
      const said = await this.#api.json(path, { body: { text: message.text }, key: message.key });
      conversation.apply("message.created", said, true);
      if (message.id.startsWith("own-")) conversation.remove(message); // its event was here first
    } catch (cause) {
      const problem = asProblem(cause) ?? new Problem("internal");
      if (!problem.unknownOutcome) message.key = newKey();
      conversation.setState(message, "unsent", problem);
    }
    this.composer?.focus();
    this.say("passeur-changed");
  }

  /** @param {import("../talk/model.js").Message} message */
  #edit(message) {
    this.#conversation.remove(message);
    if (this.composer) this.composer.text = [message.text, this.composer.text].filter(Boolean).join("\n");
    this.composer?.focus();
  }

  async #earlier() {
    const conversation = this.#conversation;
    if (!this.#api || !this.ticket || !conversation.earlier) return;
    try {
      const list = await this.#api.json(
        `tickets/${encodeURIComponent(this.ticket.id)}/messages?cursor=${encodeURIComponent(conversation.earlier)}`,
      );
      conversation.earlier = list.next_cursor;
      this.transcript?.holding(() => conversation.load(list.messages));
    } catch (cause) {
      this.#tell(cause);
    }
  }

  #seen() {
    const last = this.#conversation.messages.filter((message) => message.role === "user").at(-1);
    if (last && document.visibilityState === "visible") this.#attention?.hasRead(this.#conversation.id, last.id);
  }

  /** @param {unknown} cause */
  #tell(cause) {
    const problem = asProblem(cause);
    if (!problem) throw cause;
    this.#trouble = explain(problem);
    this.#drawNotice();
  }

  #drawNotice() {
    if (!this.notice) return;
    const text = this.#trouble || (this.ticket?.state === "RESOLVED" ? words.t.inbox.isResolved : "");
    this.notice.hidden = text === "";
    this.notice.textContent = text;
  }
}

customElements.define("passeur-ticket", TicketView);
