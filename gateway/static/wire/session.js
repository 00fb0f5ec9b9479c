// @ts-check
/**
 * The visitor's session: made from the project's public key, kept in localStorage, renewed before it ends.
 *
 * Tabs take turns (Web Locks), so that opening three at once makes one visitor and not three.
 */

import { problemOf, Problem } from "./problem.js";

/** Renew when less than this is left of the token. */
const MARGIN_MS = 60_000;

/** @typedef {{ token: string, visitor_id: string, expires_at: string }} Kept */

export class Session extends EventTarget {
  /**
   * @param {URL} base the address of `/v1/`
   * @param {string} publicKey
   */
  constructor(base, publicKey) {
    super();
    this.base = base;
    this.publicKey = publicKey;
    this.name = `passeur.session.${base.host}.${publicKey}`;
    /** @type {Kept | null} */
    this.kept = null;
  }

  /** The visitor's id, or "" before the first token. */
  get visitor() {
    return this.kept?.visitor_id ?? "";
  }

  /**
   * A token that is good for the next minute.
   *
   * @param {string} [refused] a token the server just refused, which must not be offered again
   * @returns {Promise<string>}
   */
  async token(refused = "") {
    const ready = this.#read();
    if (ready && ready.token !== refused && !isOld(ready)) return ready.token;
    return exclusively(this.name, async () => {
      const other = this.#read(); // another tab may have renewed it while we waited
      if (other && other.token !== refused && !isOld(other)) return other.token;
      return (await this.#renew(other)).token;
    });
  }

  /** @param {Kept | null} old @returns {Promise<Kept>} */
  async #renew(old) {
    let response = await this.#ask(old?.token);
    if (response.status === 401 && old) response = await this.#ask(undefined); // too old to renew: a new visitor
    if (!response.ok) throw await problemOf(response);
    /** @type {Kept} */
    const kept = await response.json();
    const changed = old !== null && old.visitor_id !== kept.visitor_id;
    this.kept = kept;
    try {
      localStorage.setItem(this.name, JSON.stringify(kept));
    } catch {
      // storage refused (private window, full): the session lives as long as the tab
    }
    if (changed) this.dispatchEvent(new Event("visitor-changed"));
    return kept;
  }

  /** @param {string | undefined} token */
  async #ask(token) {
    /** @type {Record<string, string>} */
    const headers = { "content-type": "application/json" };
    if (token) headers.authorization = `Bearer ${token}`;
    try {
      const body = JSON.stringify({ public_key: this.publicKey });
      return await fetch(new URL("sessions", this.base), { method: "POST", headers, body, credentials: "omit" });
    } catch {
      throw new Problem("network");
    }
  }

  /** @returns {Kept | null} */
  #read() {
    try {
      const text = localStorage.getItem(this.name);
      if (text) this.kept = JSON.parse(text);
    } catch {
      // unreadable storage is the same as none
    }
    return this.kept;
  }
}

/** @param {Kept} kept */
function isOld(kept) {
  return Date.parse(kept.expires_at) - Date.now() < MARGIN_MS;
}

/**
 * @template T
 * @param {string} name
 * @param {() => Promise<T>} act
 * @returns {Promise<T>}
 */
async function exclusively(name, act) {
  if (!navigator.locks) return act(); // plain HTTP on another machine: a secure context is missing
  return /** @type {Promise<T>} */ (navigator.locks.request(name, act));
}
