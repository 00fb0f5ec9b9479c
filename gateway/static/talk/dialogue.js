// @ts-check
/**
 * `<passeur-dialogue>`: one conversation to look at and to write in. The page and the widget are both built around it.
 *
 * It says `passeur-made` when the server has a new conversation, and `passeur-renewed` when a turn ended.
 */

import { fill, h } from "../look/dom.js";
import { PasseurElement } from "../look/element.js";
import { icon } from "../look/icons.js";
import { newKey } from "../wire/api.js";
import { words } from "../words/index.js";
import { Attention, FADES_MS } from "./attention.js";
import { Composer } from "./composer.js";
import { asProblem, explain } from "./explain.js";
import { answerFile } from "./files.js";
import { Conversation } from "./model.js";
import { Outbox } from "./outbox.js";
import { PassagePanel } from "./passage.js";
import { PersonButton } from "./person.js";
import { Transcript } from "./transcript.js";
import { ask, exist } from "./turn.js";

/** After a cut response, how long the visitor's stream may take to bring the end before we ask for it. */
const SETTLE_MS = 4_000;

export class Dialogue extends PasseurElement {
  /** @type {import("../wire/api.js").Api | null} */
  #api = null;
  /** @type {Attention | null} */
  #attention = null;
  #typingTimer = 0;
  #outbox = new Outbox("");
  #conversation = new Conversation();
  /** @type {AbortController | null} */
  #listening = null;
  /** @type {"" | "offline" | "reconnecting"} */
  #line = "";
  #loading = 0;

  build() {
    this.transcript = new Transcript();
    this.composer = new Composer();
    this.composer.texts = () => this.#composerTexts();
    this.person = new PersonButton();
    this.passage = new PassagePanel();
    this.notice = h("div", { class: "notice", role: "status" });
    this.notice.hidden = true;
    this.dock = h("div", { class: "dock" }, h("div", { class: "dock-inner" }, this.notice, this.composer));
    this.append(h("div", { class: "dialogue-main" }, this.transcript, this.dock), this.passage);
    this.composer.notes?.append(this.person);
  }

  connected() {
    /** @type {Record<string, (detail: any) => void>} */
    const answers = {
      "passeur-send": ({ text, attachments }) => this.#send(this.#conversation.addOwn(text, newKey(), attachments)),
      "passeur-file": (wish) => this.#api && answerFile(this.#api, wish),
      "passeur-retry": ({ message }) => this.#retry(message),
      "passeur-edit": ({ message }) => this.#edit(message),
      "passeur-again": () => this.#again(),
      "passeur-earlier": () => this.#earlier(),
      "passeur-stop": () => this.#stop(),
      "passeur-human": ({ button }) => this.#human(button),
      "passeur-draft": ({ text }) => this.#drafted(text),
      "passeur-citation": ({ message, citation, number }) => this.#open(message, citation, number),
      "passeur-passage": ({ open }) => this.toggleAttribute("data-passage", open),
    };
    for (const [type, answer] of Object.entries(answers)) {
      this.addEventListener(type, (event) => answer(/** @type {CustomEvent} */ (event).detail), { signal: this.alive });
    }
    document.addEventListener("visibilitychange", () => this.#seen(), { signal: this.alive });
    for (const type of ["online", "offline"]) addEventListener(type, () => this.#drawNotice(), { signal: this.alive });
  }

  /** Whoever reads what one writes is named where one writes. */
  #composerTexts() {
    const { t } = words;
    return this.#conversation.handedOver
      ? { label: t.composerPerson, placeholder: t.placeholderPerson, hint: t.hint }
      : { label: t.composer, placeholder: t.placeholder, hint: t.hint };
  }

  reword() {
    this.#drawNotice();
    // Texts that the server writes come in the reader's language, so they are asked for again.
    if (this.#api && this.#conversation.id) this.reload();
  }

  get conversation() {
    return this.#conversation;
  }

  /** @param {import("../wire/api.js").Api} api @param {string} owner whose drafts these are */
  use(api, owner) {
    this.#api = api;
    this.#attention = new Attention(api);
    this.composer?.attachments?.use(api);
    this.composer?.reword();
    this.own(owner);
  }

  /** @param {string} owner whose drafts these are from now on */
  own(owner) {
    this.#outbox = new Outbox(owner);
  }

  /**
   * Say, in place of a conversation, why there can be none.
   *
   * @param {() => string[]} says title and explanation
   * @param {boolean} mayHelp whether beginning again may help
   */
  refuse(says, mayHelp) {
    this.toggleAttribute("data-refused", true);
    this.transcript?.sayInstead(says, mayHelp);
    if (this.dock) this.dock.hidden = true;
  }

  /**
   * Show a conversation, "" for a new one.
   *
   * @param {string} id
   * @returns {Promise<void>} when its messages are there, or the problem is told
   */
  async show(id) {
    this.passage?.close();
    this.#listening?.abort();
    this.#listening = new AbortController();
    const { signal } = this.#listening;
    const conversation = new Conversation(id);
    this.#conversation = conversation;
    conversation.addEventListener("turn", () => this.#turn(), { signal });
    conversation.addEventListener("said", () => this.#seen(), { signal });
    conversation.addEventListener("gap", () => this.reload(), { signal });
    conversation.addEventListener("made", () => this.#made(), { signal });
    this.transcript?.follow(conversation);
    if (this.composer) this.composer.text = this.#outbox.draft(id);
    this.#turn();
    if (id) await this.reload();
    this.#restoreUnsent();
    this.transcript?.toEnd();
  }

  /** Fetch the messages again: after a gap, a cut, or in another language. */
  async reload() {
    const conversation = this.#conversation;
    if (!this.#api || !conversation.id) return;
    this.#loading += 1;
    const asked = this.#loading;
    try {
      const path = `conversations/${encodeURIComponent(conversation.id)}`;
      const [facts, list] = await Promise.all([this.#api.json(path), this.#api.json(`${path}/messages`)]);
      if (asked !== this.#loading || conversation !== this.#conversation) return;
      this.#take(conversation, facts, list);
    } catch (cause) {
      const problem = asProblem(cause);
      if (problem?.status === 404) this.say("passeur-gone", { id: conversation.id });
      else if (problem) this.#tell(explain(problem));
    }
  }

  /** @param {Conversation} conversation @param {Record<string, any>} facts @param {Record<string, any>} list */
  #take(conversation, facts, list) {
    conversation.title = facts.title ?? "";
    conversation.handedOver = Boolean(facts.escalated);
    conversation.load(list.messages);
    if (conversation.earlier === undefined) conversation.earlier = list.next_cursor;
    const turnId = facts.running_turn_id ?? "";
    if (turnId) conversation.setRunning({ turnId });
    else if (!conversation.running?.own) {
      conversation.setRunning(null);
      conversation.endStreaming("");
    }
    this.#turn();
    if (facts.unread_count > 0 || list.messages.at(-1)?.role === "SYSTEM") this.#seen();
  }

  async #earlier() {
    const conversation = this.#conversation;
    if (!this.#api || !conversation.earlier) return;
    try {
      const path = `conversations/${encodeURIComponent(conversation.id)}/messages?cursor=${encodeURIComponent(conversation.earlier)}`;
      const list = await this.#api.json(path);
      conversation.earlier = list.next_cursor;
      this.transcript?.holding(() => conversation.load(list.messages));
    } catch (cause) {
      const problem = asProblem(cause);
      if (problem) this.#tell(explain(problem));
    }
  }

  /**
   * Take an event of the visitor's stream.
   *
   * @param {string} type
   * @param {Record<string, any>} data
   */
  apply(type, data) {
    const about = data.conversation_id ?? data.ticket?.conversation_id;
    if (about !== this.#conversation.id) return;
    this.#conversation.apply(type, data, false);
    if (type !== "typing") return;
    clearTimeout(this.#typingTimer);
    const conversation = this.#conversation;
    this.#typingTimer = setTimeout(() => conversation.setTyping(""), FADES_MS);
  }

  /** @param {string} text */
  #drafted(text) {
    const { id, handedOver } = this.#conversation;
    this.#outbox.keepDraft(id, text);
    if (handedOver) this.#attention?.writes(id, text !== "");
  }

  /** The team may know what was read: only what was on a screen that someone could see. */
  #seen() {
    const { id, messages } = this.#conversation;
    const last = messages.filter((message) => message.role !== "user" && message.state === "whole").at(-1);
    // A notice of the team's work, such as that it is done, is read like a word of theirs.
    if (id && (last?.role === "admin" || last?.role === "system") && document.visibilityState === "visible") this.#attention?.hasRead(id, last.id);
  }

  /** @param {import("../wire/event_stream.js").StreamState} state */
  showLine(state) {
    this.#line = state === "waiting" ? "reconnecting" : "";
    this.#drawNotice();
  }

  focus() {
    this.composer?.focus();
  }

  /** @param {import("./model.js").Message} message */
  async #send(message) {
    const conversation = this.#conversation;
    if (!this.#api) return;
    const where = conversation.id;
    const { text, attachments } = message;
    this.#outbox.keepUnsent(where, { text, attachments, key: message.key });
    const end = await ask(this.#api, conversation, message, () => this.#outbox.keepUnsent(where, null));
    if (end === "refused") {
      this.#outbox.keepUnsent(where, null); // it may belong to a conversation that exists by now
      this.#outbox.keepUnsent(conversation.id, { text, attachments, key: message.key });
    }
    if (end === "cut") setTimeout(() => this.#settle(conversation), SETTLE_MS);
    this.say("passeur-renewed", { id: conversation.id });
  }

  /** The stream may have missed the end of a turn whose response was cut. @param {Conversation} conversation */
  #settle(conversation) {
    if (conversation === this.#conversation && conversation.running) this.reload();
  }

  /** @param {import("./model.js").Message} message */
  #retry(message) {
    this.#conversation.setState(message, "sending");
    this.#send(message);
    this.focus();
  }

  /** @param {import("./model.js").Message} message */
  #edit(message) {
    this.#conversation.remove(message);
    this.#outbox.keepUnsent(this.#conversation.id, null);
    if (!this.composer) return;
    this.composer.text = [message.text, this.composer.text].filter(Boolean).join("\n");
    this.#outbox.keepDraft(this.#conversation.id, this.composer.text);
    this.focus();
  }

  /** The turn failed after the question was taken: ask the same again. */
  #again() {
    const question = this.#conversation.lastQuestion;
    if (question) this.#send(this.#conversation.addOwn(question.text, newKey()));
    this.focus();
  }

  async #stop() {
    const { running, id } = this.#conversation;
    if (!running || running.stopping || !this.#api) return;
    this.#conversation.setRunning({ stopping: true });
    try {
      const path = `conversations/${encodeURIComponent(id)}/turns/${encodeURIComponent(running.turnId)}/stop`;
      await this.#api.json(path, { method: "POST" });
    } catch (cause) {
      this.#conversation.setRunning({ stopping: false });
      const problem = asProblem(cause);
      if (problem?.status === 404)
        await this.reload(); // it ended by itself meanwhile
      else if (problem) this.#tell(explain(problem));
    }
  }

  /** @param {HTMLButtonElement} button */
  async #human(button) {
    const conversation = this.#conversation;
    if (!this.#api) return;
    button.disabled = true;
    this.#tell(words.t.humanAsking, "person");
    try {
      await exist(this.#api, conversation, newKey());
      const path = `conversations/${encodeURIComponent(conversation.id)}/escalate`;
      await this.#api.json(path, { method: "POST", key: newKey() });
      button.disabled = false; // hidden while the team has it, there again afterwards
      conversation.apply("ticket.updated", { ticket: { state: "OPEN" } }, false);
      this.#tell(words.t.humanAsked, "person");
      this.focus();
    } catch (cause) {
      button.disabled = false;
      const problem = asProblem(cause);
      const absent = problem?.status === 404 || problem?.status === 405 || problem?.status === 501;
      this.#tell(absent || !problem ? words.t.humanAbsent : `${words.t.humanFailed} ${explain(problem)}`);
    }
  }

  /** @param {import("./model.js").Message} message @param {import("./model.js").Citation} citation @param {number} number */
  #open(message, citation, number) {
    const path = `conversations/${encodeURIComponent(this.#conversation.id)}/citations/${encodeURIComponent(citation.id)}`;
    this.passage?.open(citation, number, () => /** @type {import("../wire/api.js").Api} */ (this.#api).json(path));
  }

  #made() {
    const { id } = this.#conversation;
    const draft = this.#outbox.draft("");
    this.#outbox.keepDraft("", "");
    this.#outbox.keepDraft(id, draft);
    this.say("passeur-made", { id });
  }

  /** What could not be sent before a reload is still there. */
  #restoreUnsent() {
    const unsent = this.#outbox.unsent(this.#conversation.id);
    if (unsent && !this.#conversation.running?.own) {
      this.#conversation.addOwn(unsent.text, unsent.key, unsent.attachments ?? [], "unsent");
    }
  }

  #turn() {
    const { running } = this.#conversation;
    this.toggleAttribute("data-handed-over", this.#conversation.handedOver);
    if (this.person) this.person.hidden = this.#conversation.handedOver;
    if (this.composer?.field?.placeholder !== this.#composerTexts().placeholder) this.composer?.reword();
    this.composer?.setRunning(running !== null, running?.stopping ?? false);
    this.#drawNotice();
  }

  /** @param {string} text @param {"warn" | "person"} [sign] */
  #tell(text, sign = "warn") {
    this.#told = text;
    this.#drawNotice(sign);
    this.#told = "";
  }

  #told = "";

  /** @param {"warn" | "person"} [toldSign] */
  #drawNotice(toldSign = "warn") {
    if (!this.notice) return;
    const offline = !navigator.onLine;
    const text =
      this.#told ||
      (offline
        ? words.t.offline
        : this.#line
          ? words.t.reconnecting
          : this.#conversation.handedOver
            ? words.t.handedOver
            : "");
    this.notice.hidden = text === "";
    const sign = offline || this.#line ? "cloudOff" : this.#told ? toldSign : "person";
    if (this.notice.textContent !== text)
      fill(this.notice, text ? icon(sign, 18) : null, text ? h("span", {}, text) : null);
  }
}

customElements.define("passeur-dialogue", Dialogue);
