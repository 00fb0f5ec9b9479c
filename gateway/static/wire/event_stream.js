// @ts-check
/**
 * The visitor's event stream: resumes exactly by `Last-Event-ID`, comes back by itself with backoff and jitter, and says
 * `resync` when the server cannot tell what was missed.
 */

import { Problem } from "./problem.js";
import { EventParser, readEvents } from "./sse.js";

/** The server pings every 15 s; silence for this long means the line is dead. */
export const SILENCE_MS = 40_000;
/** First and longest wait between two attempts. */
export const FIRST_WAIT_MS = 500;
export const LONGEST_WAIT_MS = 20_000;

/** @typedef {import("./sse.js").ServerEvent} ServerEvent */
/** @typedef {"opening" | "open" | "waiting"} StreamState */

export class EventStream {
  /**
   * @param {import("./api.js").Api} api
   * @param {object} hooks
   * @param {(event: ServerEvent) => void} hooks.onEvent every event but `resync`
   * @param {() => void} hooks.onResync something may have been missed: fetch again
   * @param {() => void} [hooks.onBegin] it tells what happens from now on: what was fetched before may be old
   * @param {(state: StreamState) => void} [hooks.onState]
   * @param {(cursor: string) => void} [hooks.onCursor] the server moved the cursor, perhaps without an event
   * @param {string} [channels]
   */
  constructor(api, { onEvent, onResync, onBegin = () => {}, onState = () => {}, onCursor = () => {} }, channels = "account,support") {
    this.api = api;
    this.onEvent = onEvent;
    this.onResync = onResync;
    this.onBegin = onBegin;
    this.onState = onState;
    this.onCursor = onCursor;
    this.channels = channels;
    /** The id of the last event seen, "" for none. */
    this.cursor = "";
  }

  /**
   * Hold the stream until the signal fires.
   *
   * @param {AbortSignal} signal
   * @returns {Promise<void>}
   */
  async run(signal) {
    let failures = 0;
    while (!signal.aborted) {
      this.onState("opening");
      try {
        await this.#connect(signal, () => {
          failures = 0;
        });
      } catch {
        // Refused, cut, silent or unreadable: all are answered by waiting and asking again from the cursor.
      }
      if (signal.aborted) return;
      this.onState("waiting");
      await rest(waitFor(failures), signal);
      failures += 1;
    }
  }

  /** @param {AbortSignal} signal @param {() => void} onAlive */
  async #connect(signal, onAlive) {
    const silence = new AbortController();
    const both = AbortSignal.any([signal, silence.signal]);
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    let timer;
    const alive = () => {
      clearTimeout(timer);
      timer = setTimeout(() => silence.abort(), SILENCE_MS);
    };
    alive();
    try {
      let begins = !this.cursor;
      const headers = this.cursor ? { "last-event-id": this.cursor } : undefined;
      const path = `events?channels=${this.channels}`;
      const wish = { accept: "text/event-stream", headers, signal: both, endless: true };
      const response = await this.api.send(path, wish);
      if (!response.body) throw new Problem("network");
      this.onState("open");
      const parser = new EventParser((event) => this.#take(event), this.cursor);
      await readEvents(response.body, parser, () => {
        alive();
        onAlive();
        this.#move(parser.lastId);
        if (begins) this.onBegin();
        begins = false;
      });
    } finally {
      clearTimeout(timer);
      silence.abort();
    }
  }

  /** @param {string} id */
  #move(id) {
    if (!id || id === this.cursor) return;
    this.cursor = id;
    this.onCursor(id);
  }

  /** @param {ServerEvent} event */
  #take(event) {
    this.#move(event.id);
    if (event.type === "resync") this.onResync();
    else this.onEvent(event);
  }
}

/**
 * How long to wait after so many failures: doubling, capped, and anywhere between half and whole so that a thousand
 * pages do not come back at the same instant.
 *
 * @param {number} failures
 * @param {() => number} [dice] 0 inclusive to 1 exclusive
 */
export function waitFor(failures, dice = Math.random) {
  const whole = Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** Math.min(failures, 10));
  return whole / 2 + (whole / 2) * dice();
}

/**
 * Wait, but not past the signal, and no longer once the machine is back on line.
 *
 * @param {number} milliseconds
 * @param {AbortSignal} signal
 * @returns {Promise<void>}
 */
export function rest(milliseconds, signal) {
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer);
      removeEventListener("online", end);
      signal.removeEventListener("abort", end);
      resolve();
    };
    const timer = setTimeout(end, milliseconds);
    addEventListener("online", end);
    signal.addEventListener("abort", end);
  });
}
