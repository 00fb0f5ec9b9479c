// @ts-check
/** Requests to the gateway: the token, the reader's language and the idempotency key are put on here and nowhere else. */

import { Problem, problemOf } from "./problem.js";

/** How long a plain request may take before it counts as lost. */
export const REQUEST_TIMEOUT_MS = 30_000;

/**
 * @typedef {object} Wish
 * @property {string} [method]
 * @property {unknown} [body] sent as JSON
 * @property {Blob} [bytes] sent as they are
 * @property {string} [type] what the bytes are
 * @property {string} [key] idempotency key
 * @property {string} [accept]
 * @property {Record<string, string>} [headers]
 * @property {AbortSignal} [signal]
 * @property {boolean} [endless] a stream: no timeout
 */

/** @typedef {{ token: (refused?: string) => Promise<string> }} Tokens a visitor's session, or a staff member's */

export class Api {
  /**
   * @param {URL} base the address of `/v1/`
   * @param {Tokens} session
   * @param {() => string} language what the reader reads, as a language tag
   */
  constructor(base, session, language) {
    this.base = base;
    this.session = session;
    this.language = language;
  }

  /**
   * Send a request; a refused token is renewed once.
   *
   * @param {string} path below `/v1/`
   * @param {Wish} [wish]
   * @returns {Promise<Response>} always a success
   */
  async send(path, wish = {}) {
    const token = await this.session.token();
    let response = await this.#once(path, wish, token);
    if (response.status === 401) response = await this.#once(path, wish, await this.session.token(token));
    if (!response.ok) throw await problemOf(response);
    return response;
  }

  /**
   * Send a request and read its JSON.
   *
   * @param {string} path
   * @param {Wish} [wish]
   * @returns {Promise<any>} `null` for an empty answer
   */
  async json(path, wish = {}) {
    const response = await this.send(path, wish);
    if (response.status === 204) return null;
    try {
      return await response.json();
    } catch {
      throw new Problem("network", { status: 0 });
    }
  }

  /** @param {string} path @param {Wish} wish @param {string} token */
  async #once(path, wish, token) {
    /** @type {Record<string, string>} */
    const headers = {
      authorization: `Bearer ${token}`,
      accept: wish.accept ?? "application/json",
      "accept-language": this.language(),
      ...wish.headers,
    };
    if (wish.key) headers["idempotency-key"] = wish.key;
    if (wish.body !== undefined) headers["content-type"] = "application/json";
    if (wish.bytes) headers["content-type"] = wish.type ?? "application/octet-stream";
    const body = wish.bytes ?? (wish.body === undefined ? undefined : JSON.stringify(wish.body));
    const signals = [wish.signal, wish.endless ? undefined : AbortSignal.timeout(REQUEST_TIMEOUT_MS)];
    const given = /** @type {AbortSignal[]} */ (signals.filter(Boolean));
    try {
      return await fetch(new URL(path, this.base), {
        method: wish.method ?? (body === undefined ? "GET" : "POST"),
        headers,
        body,
        signal: given.length > 0 ? AbortSignal.any(given) : undefined,
        credentials: "omit",
        cache: "no-store",
      });
    } catch (cause) {
      if (wish.signal?.aborted) throw cause;
      throw new Problem("network");
    }
  }
}

/** The gateway's address as seen from this file, so that a path prefix of a reverse proxy is kept. */
export function apiBase() {
  return new URL("../../v1/", import.meta.url);
}

/** A fresh idempotency key. `crypto.randomUUID` needs a secure context; this does not. */
export function newKey() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
