// @ts-check
/**
 * A conversation as the page knows it: pure bookkeeping, no network, no elements.
 *
 * Events may come twice (from the turn's own response and from the visitor's stream), late, or after a gap. All of it is
 * idempotent: messages by id, text by replacement from a start, and what is finished stays finished.
 */

import { replaceFrom } from "../wire/delta.js";
import { Problem, problemFrom } from "../wire/problem.js";

/** @typedef {"user" | "ai" | "admin" | "system"} Role */
/** @typedef {{ id: string, title: string, url: string | null, quote: string }} Citation */
/** @typedef {{ id: string, kind: "image" | "document", name: string, size: number }} AttachedFile */
/** @typedef {{ label: string, reply: string }} Choice */
/** @typedef {"sending" | "unsent" | "streaming" | "whole"} State */
/**
 * @typedef {object} Message
 * @property {string} id
 * @property {Role} role
 * @property {string} kind
 * @property {string} text
 * @property {string} html
 * @property {Citation[]} citations
 * @property {number | null} confidence
 * @property {string} model
 * @property {number | null} cost_nanousd
 * @property {boolean} economy
 * @property {string} notice why an answer is not whole, in the server's words
 * @property {string} outcome
 * @property {number | null} duration_ms
 * @property {string} created_at
 * @property {string} language
 * @property {AttachedFile[]} attachments
 * @property {Choice[]} choices what one may answer by a button
 * @property {string} author who of the team wrote it
 * @property {boolean} unverified rests on what the visitor's browser said
 * @property {State} state
 * @property {Problem | null} problem
 * @property {string} key idempotency key of a message of ours that may still be unsent
 */
/** @typedef {{ turnId: string, step: string, stopping: boolean, own: boolean }} Running */
/** @typedef {{ message: Message, how: "added" | "changed" | "text" | "renamed" | "removed", was?: string }} Change */

/** Outcomes after which the same question may be asked again. */
export const FAILED = new Set(["failed", "interrupted"]);

export class Conversation extends EventTarget {
  /**
   * @param {string} [id] empty until the server has made it
   * @param {"user" | "admin"} [ownRole] whose side the reader is on
   */
  constructor(id = "", ownRole = "user") {
    super();
    this.id = id;
    this.ownRole = ownRole;
    this.title = "";
    /** @type {Message[]} */
    this.messages = [];
    /** @type {Running | null} */
    this.running = null;
    /** @type {Problem | null} why the last turn gave no answer */
    this.failure = null;
    this.handedOver = false;
    /** Who on the other side is writing: "" for nobody. */
    this.typing = "";
    /** Where older messages can be had: null when there are none, undefined before we know. @type {string | null | undefined} */
    this.earlier = undefined;
  }

  /** @param {string} id */
  find(id) {
    return this.messages.find((message) => message.id === id);
  }

  /** The question that the last turn was about. */
  get lastQuestion() {
    return this.messages.filter((message) => message.role === "user").at(-1);
  }

  /**
   * Take the server's list as the truth; what is still unsent stays.
   *
   * @param {Record<string, any>[]} list
   */
  load(list) {
    for (const raw of list) this.#place(messageFrom(raw), false);
  }

  /**
   * Show a message of ours before the server has it.
   *
   * @param {string} text
   * @param {string} key
   * @param {AttachedFile[]} [attachments]
   * @param {State} [state]
   * @returns {Message}
   */
  addOwn(text, key, attachments = [], state = "sending") {
    const message = {
      ...messageFrom({ id: `own-${key}`, role: this.ownRole, text, attachments, created_at: new Date().toISOString() }),
      key,
      state,
    };
    this.#fail(null);
    this.messages.push(message);
    this.#changed({ message, how: "added" });
    return message;
  }

  /** @param {Message} message @param {State} state @param {Problem | null} [problem] */
  setState(message, state, problem = null) {
    Object.assign(message, { state, problem });
    this.#changed({ message, how: "changed" });
  }

  /** @param {Message} message */
  remove(message) {
    this.messages = this.messages.filter((other) => other !== message);
    this.#changed({ message, how: "removed" });
  }

  /** @param {Partial<Running> | null} part what is now known of the running turn */
  setRunning(part) {
    if (!part && !this.running) return;
    this.running = part && { turnId: "", step: "waiting", stopping: false, own: false, ...this.running, ...part };
    this.dispatchEvent(new Event("turn"));
  }

  /**
   * Take an event of the stream.
   *
   * @param {string} type
   * @param {Record<string, any>} data
   * @param {boolean} own from the response to our own question, which alone delivers its text while it lasts
   */
  apply(type, data, own) {
    if (type === "message.created") this.#place(messageFrom(data.message ?? data), true);
    else if (type === "message.delta") {
      if (own || !this.running?.own) this.#extend(data);
    } else if (type === "turn.step") this.#step(data, own);
    else if (type === "ticket.updated") this.#handOver(data.ticket.state !== "RESOLVED");
    else if (type === "typing" && data.by === (this.ownRole === "user" ? "staff" : "visitor"))
      this.setTyping(data.typing ? (data.author?.name ?? "…") : "");
  }

  /** @param {string} name */
  setTyping(name) {
    if (name === this.typing) return;
    this.typing = name;
    this.dispatchEvent(new Event("turn"));
  }

  /** @param {boolean} open */
  #handOver(open) {
    this.handedOver = open;
    this.dispatchEvent(new Event("turn"));
  }

  /** @param {Message} message @param {boolean} isNew worth announcing */
  #place(message, isNew) {
    const known = this.find(message.id) ?? this.#ownTwin(message);
    if (known) {
      const was = known.id;
      const isFinished = known.state !== "whole";
      Object.assign(known, message, { key: known.key });
      const isRenamed = was !== message.id;
      if (isRenamed) this.#insert(known);
      this.#changed({ message: known, how: isRenamed ? "renamed" : "changed", was });
      if (isNew && isFinished) this.#said(known);
      return;
    }
    this.#insert(message);
    this.#changed({ message, how: "added" });
    if (isNew) this.#said(message);
    if (["user", "admin"].includes(message.role) && message.role !== this.ownRole) this.setTyping("");
  }

  /** Put a message in its place, taking it from another if need be. @param {Message} message */
  #insert(message) {
    const others = this.messages.filter((other) => other !== message);
    const after = others.findIndex((other) => comesAfter(other, message));
    others.splice(after < 0 ? others.length : after, 0, message);
    this.messages = others;
  }

  /** The message we showed before the server had it. @param {Message} message */
  #ownTwin(message) {
    if (message.role !== this.ownRole) return undefined;
    const isTwin = (/** @type {Message} */ own) => own.id.startsWith("own-") && own.text.trim() === message.text.trim();
    return this.messages.find(isTwin);
  }

  /** @param {Record<string, any>} data */
  #extend(data) {
    let message = this.find(data.message_id);
    if (message?.state === "whole") return; // late
    if (!message) {
      const raw = { id: data.message_id, role: "ai", text: "", created_at: new Date().toISOString() };
      message = { ...messageFrom(raw), state: "streaming" };
      if (data.start === 0) {
        this.#place(message, false);
      }
    }
    const text = replaceFrom(message.text, data.start, data.text);
    if (text === null) {
      this.dispatchEvent(new Event("gap"));
      return;
    }
    message.text = text;
    this.#changed({ message, how: "text" });
  }

  /** @param {Record<string, any>} data @param {boolean} own */
  #step(data, own) {
    if (data.step !== "done") {
      if (!own && this.running?.own) return;
      this.#fail(null);
      this.setRunning({ turnId: data.turn_id ?? this.running?.turnId ?? "", step: data.step, own });
      return;
    }
    if (data.turn_id && this.running?.turnId && data.turn_id !== this.running.turnId) return; // an older turn's end
    const detail = typeof data.detail === "object" && data.detail !== null ? data.detail : data;
    this.setRunning(null);
    this.endStreaming(String(detail.outcome ?? ""));
    if (detail.outcome === "handed_over") this.#handOver(true);
    // Mostly the server has said so in a message; when it could not, we do.
    const isTold = this.messages.at(-1)?.role !== "user";
    if (FAILED.has(detail.outcome) && !isTold) this.#fail(problemFrom(detail.problem ?? { type: "internal" }));
  }

  /** What was being written ends here, whole or not. @param {string} outcome */
  endStreaming(outcome) {
    for (const message of this.messages.filter((each) => each.state === "streaming")) {
      message.outcome = outcome;
      this.setState(message, "whole");
    }
  }

  /** @param {Problem | null} problem */
  #fail(problem) {
    if (this.failure === problem) return;
    this.failure = problem;
    this.dispatchEvent(new Event("failure"));
  }

  /** @param {Change} change */
  #changed(change) {
    this.dispatchEvent(new CustomEvent("message", { detail: change }));
  }

  /** @param {Message} message */
  #said(message) {
    if (message.role !== this.ownRole) this.dispatchEvent(new CustomEvent("said", { detail: message }));
  }
}

/** The part of a UUIDv7 that tells the millisecond. */
const TIME_DIGITS = 13;

/**
 * Ids are UUIDv7, which sort by time; a question and its answer may be of the same millisecond, and then the time of
 * writing decides, or else who came first. What could not be sent comes last; what is being sent comes before its
 * answer, even if the answer's first words overtake the server's word that it has the question.
 *
 * @param {Message} one @param {Message} other
 */
function comesAfter(one, other) {
  if (one.id.startsWith("own-")) return one.state === "unsent" || other.role === "user";
  const [a, b] = [one.id.slice(0, TIME_DIGITS), other.id.slice(0, TIME_DIGITS)];
  if (a !== b) return a > b;
  return one.state === "whole" && other.state === "whole" && one.created_at > other.created_at;
}

/**
 * @param {Record<string, any>} raw as the wire has it; any member may be missing
 * @returns {Message}
 */
export function messageFrom(raw) {
  return {
    id: String(raw.id ?? ""),
    role: /** @type {Role} */ (String(raw.role ?? "ai").toLowerCase()),
    kind: raw.kind ?? "",
    text: raw.text ?? "",
    html: raw.html ?? "",
    citations: raw.citations ?? [],
    confidence: raw.confidence ?? null,
    model: raw.model ?? "",
    cost_nanousd: raw.cost_nanousd ?? null,
    economy: Boolean(raw.economy),
    notice: raw.notice ?? "",
    outcome: raw.outcome ?? "",
    duration_ms: raw.duration_ms ?? null,
    created_at: raw.created_at ?? "",
    language: raw.language ?? "",
    attachments: raw.attachments ?? [],
    choices: raw.choices ?? [],
    author: raw.author?.name ?? "",
    unverified: Boolean(raw.unverified),
    state: "whole",
    problem: null,
    key: "",
  };
}
