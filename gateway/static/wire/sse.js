// @ts-check
/**
 * A strict event-stream parser, written from the WHATWG text (HTML, section "Parsing an event stream").
 *
 * Bytes go in as they arrive, cut anywhere, even inside a character; events come out whole.
 */

/** The longest event we hold before calling the stream broken, in UTF-16 units. */
export const MAX_EVENT_UNITS = 2_000_000;

/** @typedef {{ type: string, data: string, id: string }} ServerEvent */

export class EventParser {
  /**
   * @param {(event: ServerEvent) => void} onEvent called for each event, in order
   * @param {string} [lastId] the cursor to start from; kept until the stream gives another
   */
  constructor(onEvent, lastId = "") {
    this.onEvent = onEvent;
    /** The id that a reconnection should send. */
    this.lastId = lastId;
    /** @type {number | null} milliseconds the server asked to wait before reconnecting */
    this.retry = null;
    this.decoder = new TextDecoder("utf-8"); // drops one leading byte-order mark, as the text asks
    this.rest = "";
    this.afterCarriageReturn = false;
    this.type = "";
    /** @type {string[]} */
    this.lines = [];
    this.units = 0;
    this.id = lastId;
  }

  /** @param {Uint8Array} bytes a piece of the body, cut anywhere */
  push(bytes) {
    this.pushText(this.decoder.decode(bytes, { stream: true }));
  }

  /** @param {string} text a decoded piece */
  pushText(text) {
    let start = 0;
    for (let at = 0; at < text.length; at += 1) {
      const unit = text.charCodeAt(at);
      const isReturn = unit === 13;
      if (unit === 10 && this.afterCarriageReturn) {
        start = at + 1; // the second half of CR LF ends nothing
      } else if (unit === 10 || isReturn) {
        this.#line(this.rest + text.slice(start, at));
        this.rest = "";
        start = at + 1;
      }
      this.afterCarriageReturn = isReturn;
    }
    this.rest += text.slice(start);
    if (this.rest.length + this.units > MAX_EVENT_UNITS) throw new RangeError("event too long");
  }

  /** @param {string} line without its terminator */
  #line(line) {
    if (line === "") {
      this.#dispatch();
      return;
    }
    const colon = line.indexOf(":");
    if (colon === 0) return; // a comment, which keeps the connection warm
    const field = colon < 0 ? line : line.slice(0, colon);
    let value = colon < 0 ? "" : line.slice(colon + 1);
    if (value.startsWith(" ")) value = value.slice(1);
    if (field === "data") {
      this.lines.push(value);
      this.units += value.length + 1;
    } else if (field === "event") this.type = value;
    else if (field === "id" && !value.includes("\0")) this.id = value;
    else if (field === "retry" && /^\d+$/.test(value)) this.retry = Number(value);
  }

  #dispatch() {
    this.lastId = this.id;
    if (this.lines.length > 0) {
      this.onEvent({ type: this.type || "message", data: this.lines.join("\n"), id: this.lastId });
    }
    this.type = "";
    this.lines = [];
    this.units = 0;
  }
}

/**
 * Read a response body to its end, handing over each event.
 *
 * @param {ReadableStream<Uint8Array>} body
 * @param {EventParser} parser
 * @param {() => boolean | void} [onBytes] called after each piece, comments included: a sign of life; `true` ends the reading
 * @returns {Promise<void>} resolves when the server ends the stream; an unfinished event is dropped
 */
export async function readEvents(body, parser, onBytes = () => {}) {
  const reader = body.getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      parser.push(value);
      if (onBytes()) return;
    }
  } finally {
    // Whoever stops early wants no more of it; after the end this does nothing.
    reader.cancel().catch(() => {});
  }
}
