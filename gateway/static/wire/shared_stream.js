// @ts-check
/**
 * One event stream for all tabs: the tab that holds the lock reads it and passes everything on.
 *
 * A browser allows six connections to a host over HTTP/1.1; without this the seventh tab would hang. When the leading
 * tab closes, its lock falls to the next one, which resumes from the cursor it heard last, so nothing is lost.
 */

import { replaceFrom } from "./delta.js";
import { EventStream } from "./event_stream.js";

/** @typedef {import("./sse.js").ServerEvent} ServerEvent */
/** @typedef {import("./event_stream.js").StreamState} StreamState */
/** @typedef {{ kind: "event", event: ServerEvent } | { kind: "resync" } | { kind: "cursor", cursor: string } | { kind: "state", state: StreamState } | { kind: "hello" }} Word */

export class SharedStream {
  /**
   * @param {import("./api.js").Api} api
   * @param {object} hooks
   * @param {(event: ServerEvent) => void} hooks.onEvent
   * @param {() => void} hooks.onResync
   * @param {() => void} hooks.onBegin from now on everything is heard: what was fetched before may be old
   * @param {(state: StreamState) => void} hooks.onState
   */
  constructor(api, hooks) {
    this.api = api;
    this.hooks = hooks;
    this.cursor = "";
    this.leads = false;
    this.begun = false;
    /** Text still being written, by message, and its latest step: what a tab that opens now has not heard. */
    this.running = new RunningText();
  }

  /**
   * Take part until the signal fires.
   *
   * @param {string} name one stream a visitor: the lock's and the channel's name
   * @param {AbortSignal} signal
   */
  async run(name, signal) {
    if (!navigator.locks || !("BroadcastChannel" in globalThis)) return this.#read(null, signal);
    const channel = new BroadcastChannel(name);
    channel.onmessage = ({ data }) => this.#hear(data, channel);
    signal.addEventListener("abort", () => channel.close());
    channel.postMessage({ kind: "hello" });
    try {
      await navigator.locks.request(name, { signal }, () => this.#lead(channel, signal));
    } catch (cause) {
      if (!signal.aborted) throw cause;
    }
  }

  /** @param {BroadcastChannel} channel @param {AbortSignal} signal */
  #lead(channel, signal) {
    this.leads = true;
    return this.#read(channel, signal);
  }

  /** @param {BroadcastChannel | null} channel @param {AbortSignal} signal */
  #read(channel, signal) {
    /** @param {Word} word */
    const tell = (word) => {
      if (!signal.aborted) channel?.postMessage(word);
    };
    const stream = new EventStream(this.api, {
      onEvent: (event) => {
        tell({ kind: "event", event });
        this.#take(event);
      },
      onResync: () => {
        tell({ kind: "resync" });
        this.running.clear();
        this.hooks.onResync();
      },
      onBegin: () => this.#begin(),
      onCursor: (cursor) => {
        this.cursor = cursor;
        tell({ kind: "cursor", cursor });
      },
      onState: (state) => {
        this.state = state;
        tell({ kind: "state", state });
        this.hooks.onState(state);
      },
    });
    stream.cursor = this.cursor;
    return stream.run(signal);
  }

  /** @param {Word} word @param {BroadcastChannel} channel */
  #hear(word, channel) {
    if (word.kind === "hello" && this.leads) {
      if (this.state) channel.postMessage({ kind: "state", state: this.state });
      for (const event of this.running.events()) channel.postMessage({ kind: "event", event });
    }
    if (this.leads) return;
    if (word.kind === "event") this.#take(word.event);
    else if (word.kind === "state") {
      this.#begin();
      this.hooks.onState(word.state);
    } else if (word.kind === "resync") {
      this.running.clear();
      this.hooks.onResync();
    } else if (word.kind === "cursor") this.cursor = word.cursor;
  }

  #begin() {
    if (!this.begun) this.hooks.onBegin();
    this.begun = true;
  }

  /** @param {ServerEvent} event */
  #take(event) {
    this.running.note(event);
    this.hooks.onEvent(event);
  }
}

/** What is being written right now, kept so that a newcomer can be told. */
class RunningText {
  constructor() {
    /** @type {Map<string, { text: string, frame: Record<string, unknown> }>} */
    this.texts = new Map();
    /** @type {Map<string, ServerEvent>} */
    this.steps = new Map();
  }

  clear() {
    this.texts.clear();
    this.steps.clear();
  }

  /** @param {ServerEvent} event */
  note(event) {
    if (!["message.delta", "message.created", "turn.step"].includes(event.type)) return;
    const data = JSON.parse(event.data);
    if (event.type === "message.delta") {
      const { text, start, ...frame } = data;
      const whole = replaceFrom(this.texts.get(data.message_id)?.text ?? "", start, text);
      if (whole !== null) this.texts.set(data.message_id, { text: whole, frame });
    } else if (event.type === "message.created") {
      this.texts.delete((data.message ?? data).id);
    } else if (data.step === "done") this.steps.delete(data.conversation_id);
    else this.steps.set(data.conversation_id, { ...event, id: "" });
  }

  /** @returns {Iterable<ServerEvent>} */
  *events() {
    yield* this.steps.values();
    for (const { text, frame } of this.texts.values()) {
      yield { type: "message.delta", id: "", data: JSON.stringify({ ...frame, start: 0, text }) };
    }
  }
}
